/* Arithmetic of an estimate that can be done by hand, and what adds up whatever the configuration. */
#include "support.h"

#include "cost_fixture.h"

#include "lcp/estimate.h"

#include <math.h>
#include <string.h>

#define HIDDEN 8192.0
#define TOKENS 8192.0
#define VOCABULARY 50304.0
#define LAYERS 8
#define PEAK 1e15

/* Only FLOPs take time: everything else is as fast as can be. */
static void flops_alone(cost_fixture *f)
{
    fixture_gpt(f, (int64_t)HIDDEN, 64, LAYERS);
    fixture_ideal_cluster(f, 8);
    f->groups[0].device.memory_bandwidth_bytes_per_second = 1e30;
    f->groups[0].device.memory_bytes = INT64_C(1) << 50;
    f->groups[0].intra_node.bandwidth_bytes_per_second = 1e30;
    f->groups[0].inter_node.bandwidth_bytes_per_second = 1e30;
    f->groups[0].host.bandwidth_bytes_per_second = 1e30;
}

static lcp_run run_of(const cost_fixture *f, int64_t batch)
{
    lcp_run run = lcp_run_default();
    run.sequence_length_tokens = (int64_t)TOKENS;
    run.global_batch_sequences = batch;
    run.training = f->training;
    run.layout = f->layout;
    return run;
}

static lcp_estimate estimate(const cost_fixture *f, const lcp_run *run)
{
    lcp_estimate out;
    lcp_error err = {0};
    if (lcp_estimate_run(&out, &f->model, &f->cluster, run, &err) != LCP_OK) {
        fail_msg("%s", err.text);
    }
    return out;
}

static double visible(const lcp_estimate_seconds *s)
{
    return s->matmul + s->attention + s->elementwise + s->host + s->recompute + s->exposed_tp + s->exposed_cp +
           s->exposed_ep + s->exposed_dp + s->exposed_pp + s->exposed_offload + s->bubble + s->optimizer +
           s->step_overhead;
}

/* Forward, one layer: 24 h^2 FLOPs a token and 4 h a causal pair. */
static double products(void)
{
    return 24 * HIDDEN * HIDDEN * TOKENS / PEAK;
}

static double attention(void)
{
    return 4 * HIDDEN * TOKENS * (TOKENS + 1) / 2 / PEAK;
}

static double layer_forward(void)
{
    return products() + attention();
}

static double layer_backward(void)
{
    return 2 * products() + 2.5 * attention();
}

static double head_forward(void)
{
    return 2 * HIDDEN * VOCABULARY * TOKENS / PEAK;
}

static void one_device(void **state)
{
    (void)state;
    cost_fixture f;
    flops_alone(&f);
    lcp_run run = run_of(&f, 3);
    lcp_estimate e = estimate(&f, &run);
    double passes = LAYERS * (layer_forward() + layer_backward()) + 3 * head_forward();
    assert_close(e.iteration_seconds, 3 * passes, 1e-12);
    assert_close(e.seconds.attention, 3 * LAYERS * 3.5 * attention(), 1e-12);
    assert_close(e.seconds.matmul, 3 * (LAYERS * 3 * products() + 3 * head_forward()), 1e-12);
    assert_close(e.tokens_per_second_per_device, TOKENS / passes, 1e-12);
    double model = LAYERS * 3 * layer_forward() + 3 * head_forward();
    assert_close(e.mfu_ratio, model / passes, 1e-12);
    assert_close(e.hfu_ratio, model / passes, 1e-12);
    assert_int_equal(e.microbatches, 3);
    assert_int_equal(e.stage_count, 1);
    assert_true(e.seconds.bubble == 0 && e.seconds.exposed_pp == 0 && e.fits);
}

static void everything_runs_again(void **state)
{
    (void)state;
    cost_fixture f;
    flops_alone(&f);
    lcp_run run = run_of(&f, 2);
    double plain = estimate(&f, &run).iteration_seconds;
    run.recompute.method = LCP_METHOD_FULL;
    lcp_estimate e = estimate(&f, &run);
    assert_close(e.iteration_seconds, plain + 2 * LAYERS * layer_forward(), 1e-12);
    assert_close(e.seconds.recompute, 2 * LAYERS * layer_forward(), 1e-12);
    double model = 2 * (LAYERS * 3 * layer_forward() + 3 * head_forward());
    assert_close(e.hfu_ratio, (model + 2 * LAYERS * layer_forward()) / e.iteration_seconds, 1e-12);
    assert_close(e.mfu_ratio, model / e.iteration_seconds, 1e-12);
    run.recompute = (lcp_run_recompute){.method = LCP_METHOD_BLOCK, .layers = 3};
    assert_close(estimate(&f, &run).seconds.recompute, 2 * 3 * layer_forward(), 1e-12);
    run.recompute = (lcp_run_recompute){.method = LCP_METHOD_UNIFORM, .layers = 3};
    assert_close(estimate(&f, &run).seconds.recompute, 2 * LAYERS * layer_forward(), 1e-12);
    run.recompute = (lcp_run_recompute){LCP_METHOD_POLICY, 0, 0, LCP_RECOMPUTE_NONE, 0.75};
    assert_close(estimate(&f, &run).seconds.recompute, 2 * 0.25 * LAYERS * layer_forward(), 1e-12);
    run.recompute = (lcp_run_recompute){.method = LCP_METHOD_SELECTIVE, .modules = 1U << LCP_MODULE_CORE_ATTENTION};
    assert_close(estimate(&f, &run).seconds.recompute, 2 * LAYERS * attention(), 1e-12);
}

/* The last stage has the head and is the slowest, so that all others are hidden but once. */
static void pipelines(void **state)
{
    (void)state;
    cost_fixture f;
    flops_alone(&f);
    f.layout = fixture_layout(1, 4, 1, 1, 1);
    lcp_run run = run_of(&f, 12);
    double forward = LAYERS / 4 * layer_forward();
    double backward = LAYERS / 4 * layer_backward();
    double last = forward + backward + 3 * head_forward();
    lcp_estimate e = estimate(&f, &run);
    assert_close(e.iteration_seconds, 3 * (forward + backward) + 12 * last, 1e-12);
    assert_close(e.seconds.bubble, 3 * (forward + backward), 1e-9);
    run.schedule = LCP_RUN_GPIPE;
    assert_close(estimate(&f, &run).iteration_seconds, 3 * (forward + backward) + 12 * last, 1e-12);
    run.schedule = LCP_RUN_INTERLEAVED;
    run.layout.vpp = 2;
    e = estimate(&f, &run);
    assert_close(e.iteration_seconds, 3 * (forward + backward) / 2 + 12 * last, 1e-12);
    assert_close(e.seconds.bubble, 3 * (forward + backward) / 2, 1e-9);
}

/* One hop: 2 bytes an element at 100 GB/s. Equal stages without a head: (m + p - 1)(F + B) and the hops. */
static void hops(void **state)
{
    (void)state;
    cost_fixture f;
    flops_alone(&f);
    f.groups[0].intra_node.bandwidth_bytes_per_second = 100e9;
    f.model.vocab_size = 1;
    f.layout = fixture_layout(1, 2, 1, 1, 1);
    lcp_run run = run_of(&f, 1);
    double hop = 2 * HIDDEN * TOKENS / 100e9;
    double once = LAYERS * (layer_forward() + layer_backward());
    lcp_estimate e = estimate(&f, &run);
    assert_close(e.iteration_seconds, once + 2 * hop, 1e-5);
    assert_close(e.seconds.exposed_pp, 2 * hop, 1e-9);
    run.layout.vpp = 2;
    run.schedule = LCP_RUN_INTERLEAVED;
    run.global_batch_sequences = 2;
    assert_close(estimate(&f, &run).seconds.exposed_pp, 6 * hop, 1e-9);
}

static double parameters(void)
{
    return LAYERS * 12 * HIDDEN * HIDDEN + 2 * VOCABULARY * HIDDEN;
}

/* All-reduce of 4-byte gradients over 4 replicas at 100 GB/s: 2 * 3 / 4 of the buffer; half of what the last backward
 * pass can cover is hidden. */
static void gradient_exchange(void **state)
{
    (void)state;
    cost_fixture f;
    flops_alone(&f);
    f.classes[0].norm_parameters = 0;
    f.groups[0].intra_node.bandwidth_bytes_per_second = 100e9;
    f.layout = fixture_layout(4, 1, 1, 1, 1);
    lcp_run run = run_of(&f, 8);
    double exchange = 2 * 0.75 * 4 * parameters() / 100e9;
    double backward = LAYERS * layer_backward() + 2 * head_forward();
    lcp_estimate e = estimate(&f, &run);
    double hidden = 0.5 * fmin(exchange, backward);
    assert_close(e.seconds.exposed_dp, exchange - hidden, 1e-9);
    assert_close(e.seconds.hidden_dp, hidden, 1e-9);
    run.training.dp_overlap_ratio = 0;
    assert_close(estimate(&f, &run).seconds.exposed_dp, exchange, 1e-9);
    run.training.dp_overlap_ratio = 1;
    assert_close(estimate(&f, &run).seconds.exposed_dp, exchange - fmin(exchange, backward), 1e-9);
}

/* Adam moves 12 bytes of state twice, reads 4 of gradient, writes 2 of weight; ZeRO 1 leaves a share to each. */
static void optimizer(void **state)
{
    (void)state;
    cost_fixture f;
    flops_alone(&f);
    f.classes[0].norm_parameters = 0;
    f.groups[0].device.memory_bandwidth_bytes_per_second = 1e13;
    f.groups[0].device.step_overhead_seconds = 0.125;
    lcp_run run = run_of(&f, 8);
    double update = (2 * 12 + 4 + 2) * parameters() / 1e13;
    lcp_estimate e = estimate(&f, &run);
    assert_close(e.seconds.optimizer, update, 1e-9);
    assert_close(e.seconds.step_overhead, 0.125, 1e-12);
    run.layout.dp = 8;
    assert_close(estimate(&f, &run).seconds.optimizer, update, 1e-9);
    run.layout.zero_stage = 1;
    assert_close(estimate(&f, &run).seconds.optimizer, update / 8, 1e-9);
    run.layout.shard_ranks = 4;
    assert_close(estimate(&f, &run).seconds.optimizer, update / 4, 1e-9);
    /* On the host: the same bytes over its link. */
    f.groups[0].host.bandwidth_bytes_per_second = 1e10;
    run.optimizer_on_host = true;
    assert_close(estimate(&f, &run).seconds.optimizer, update / 4 * 1000, 1e-9);
}

/* Offload is hidden while it is shorter than the pass beside it. */
static void offload(void **state)
{
    (void)state;
    cost_fixture f;
    flops_alone(&f);
    lcp_run run = run_of(&f, 2);
    lcp_estimate before = estimate(&f, &run);
    f.groups[0].host.bandwidth_bytes_per_second = 1e12;
    run.activation_offload_ratio = 0.5;
    lcp_estimate e = estimate(&f, &run);
    assert_close(e.iteration_seconds, before.iteration_seconds, 1e-12);
    assert_close((double)e.memory[0].activations, 0.5 * (double)before.memory[0].activations, 1e-9);
    assert_true(e.seconds.hidden_offload > 0 && e.seconds.exposed_offload == 0);
    double moved = 0.5 * (double)before.memory[0].activations;
    assert_close(e.seconds.hidden_offload, 2 * 2 * moved / 1e12, 1e-9);
    f.groups[0].host.bandwidth_bytes_per_second = 1e9;
    e = estimate(&f, &run);
    double way = 2 * moved / 1e9;
    double passes = 2 * LAYERS * (layer_forward() + layer_backward());
    assert_close(e.seconds.exposed_offload, 2 * way - passes, 1e-9);
    assert_close(e.iteration_seconds, before.iteration_seconds + 2 * way - passes, 1e-9);
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static int32_t power(uint64_t *state, int32_t most)
{
    return 1 << (int32_t)(next_random(state) % (uint64_t)(most + 1));
}

static void any_model(cost_fixture *f, uint64_t *state)
{
    switch (next_random(state) % 3) {
    case 0:
        fixture_llama(f);
        break;
    case 1:
        fixture_gpt(f, 4096, 32, 24);
        break;
    default:
        fixture_deepseek(f);
        break;
    }
    fixture_a100_cluster(f, 256);
    f->groups[0].host.bandwidth_bytes_per_second = 25e9;
    f->groups[0].device.layer_host_seconds = next_random(state) % 2 == 0 ? 0 : 2e-3;
    f->groups[0].device.step_overhead_seconds = 0.01;
    f->model.tied_embeddings = next_random(state) % 2 == 0;
}

static lcp_run any_run(const cost_fixture *f, uint64_t *state)
{
    lcp_run run = run_of(f, 1);
    lcp_layout *l = &run.layout;
    *l = fixture_layout(power(state, 3), power(state, 3), power(state, 2), power(state, 1), power(state, 2));
    l->vpp = l->pp > 1 && next_random(state) % 3 == 0 ? 2 : 1;
    l->ep = f->classes[0].ffn.kind == LCP_FFN_MOE ? power(state, 2) : 1;
    l->ep = (l->tp * l->ulysses * l->ring * l->dp) % l->ep == 0 ? l->ep : 1;
    l->zero_stage = (int32_t)(next_random(state) % 4);
    l->shard_ranks = next_random(state) % 2 == 0 ? 0 : power(state, 2);
    l->shard_ranks = l->dp * l->ulysses * l->ring % (l->shard_ranks > 0 ? l->shard_ranks : 1) == 0 ? l->shard_ranks : 0;
    l->sequence_parallel = l->tp > 1 && next_random(state) % 2 == 0;
    l->ring_method = (lcp_ring_method)(next_random(state) % 3);
    run.sequence_length_tokens = 1024 * power(state, 6);
    run.microbatch_sequences = power(state, 2);
    run.global_batch_sequences = run.microbatch_sequences * l->dp * (l->vpp > 1 ? l->pp : 1) * power(state, 4);
    run.schedule = l->vpp > 1 ? LCP_RUN_INTERLEAVED : next_random(state) % 3 == 0 ? LCP_RUN_GPIPE : LCP_RUN_1F1B;
    run.recompute = (lcp_run_recompute){.method = (lcp_recompute_method)(next_random(state) % 6),
                                        .modules = 1 + (uint32_t)(next_random(state) % 31),
                                        .layers = power(state, 2),
                                        .policy = (lcp_recompute)(next_random(state) % LCP_RECOMPUTE_COUNT),
                                        .share = 0.25 * (double)(next_random(state) % 5)};
    run.training.loss = (lcp_loss)(next_random(state) % 5);
    run.training.dropout = next_random(state) % 2 == 0;
    run.training.attention_core = (lcp_attention_core)(next_random(state) % 2);
    run.training.tp_overlap_ratio = 0.5 * (double)(next_random(state) % 2);
    run.training.tp_grad_overlap_ratio = 0.5 * (double)(next_random(state) % 3);
    run.activation_offload_ratio = next_random(state) % 3 == 0 ? 0.5 : 0;
    run.optimizer_on_host = next_random(state) % 4 == 0;
    return run;
}

static void check_memory(const lcp_estimate *e)
{
    int64_t most = 0;
    for (int32_t s = 0; s < e->stage_count; s++) {
        const lcp_estimate_memory *m = &e->memory[s];
        assert_true(m->parameters > 0 && m->gradients > 0 && m->optimizer >= 0 && m->activations >= 0);
        assert_true(m->logits >= 0 && m->working >= 0 && m->buffers >= 0);
        assert_int_equal(m->total, m->parameters + m->gradients + m->optimizer + m->activations + m->logits +
                                       m->working + m->buffers);
        most = m->total > most ? m->total : most;
    }
    assert_int_equal(e->memory[e->fullest_stage].total, most);
    assert_int_equal(e->fits, most + e->reserve_bytes <= e->capacity_bytes);
}

static void everything_adds_up(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int32_t i = 0; i < 5000; i++) {
        cost_fixture f;
        any_model(&f, &seed);
        lcp_run run = any_run(&f, &seed);
        lcp_estimate e = estimate(&f, &run);
        assert_close(visible(&e.seconds), e.iteration_seconds, 1e-9);
        const double *members = (const double *)&e.seconds;
        for (size_t m = 0; m < sizeof e.seconds / sizeof *members; m++) {
            assert_true(isfinite(members[m]) && members[m] >= -1e-12 * e.iteration_seconds);
        }
        assert_true(e.mfu_ratio > 0 && e.mfu_ratio < 1 && e.hfu_ratio >= e.mfu_ratio);
        check_memory(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_device), cmocka_unit_test(everything_runs_again), cmocka_unit_test(pipelines),
        cmocka_unit_test(hops),       cmocka_unit_test(gradient_exchange),     cmocka_unit_test(optimizer),
        cmocka_unit_test(offload),    cmocka_unit_test(everything_adds_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
