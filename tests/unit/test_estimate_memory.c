/* Memory of an estimate: published formulas, replay of memory, and what more recomputation must not raise. */
#include "support.h"

#include "cost_fixture.h"

#include "lcp/estimate.h"
#include "lcp/schedule.h"

#include <string.h>

#define TOKENS 2048
/* Of each query and head; counted beside the published formula, which has none where attention is unfused. */
#define LOG_SUM_EXP_BYTES 4

static void gpt(cost_fixture *f)
{
    fixture_gpt(f, 4096, 32, 16);
    fixture_ideal_cluster(f, 16);
    f->groups[0].host.bandwidth_bytes_per_second = 1e11;
}

static lcp_run run_of(const cost_fixture *f, int64_t batch)
{
    lcp_run run = lcp_run_default();
    run.sequence_length_tokens = TOKENS;
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

static int64_t activations(const cost_fixture *f, const lcp_run *run)
{
    return estimate(f, run).memory[0].activations;
}

/* Korthikanti et al., arXiv 2205.05198, table 2: bytes a layer keeps, s tokens, b sequences, h hidden, a heads, t
 * tensor ranks; 16 bits, dropout, attention unfused. */
typedef struct korthikanti_row {
    const char *name;
    int32_t t;
    bool sequence_parallel;
    double whole, shared, scores; /* of s b h, of s b h / t, of a s^2 b / t */
} korthikanti_row;

static const korthikanti_row korthikanti_rows[] = {
    {"one device", 1, false, 0, 34, 5},
    {"tensor parallel", 8, false, 10, 24, 5},
    {"tensor and sequence parallel", 8, true, 0, 34, 5},
};

static void korthikanti(void **state)
{
    const korthikanti_row *row = *state;
    cost_fixture f;
    gpt(&f);
    f.training.dropout = true;
    f.training.attention_core = LCP_ATTENTION_CORE_UNFUSED;
    f.layout = fixture_layout(1, 1, row->t, 1, 1);
    f.layout.sequence_parallel = row->sequence_parallel;
    lcp_run run = run_of(&f, 4);
    run.microbatch_sequences = 4;
    double sbh = TOKENS * 4.0 * 4096;
    double scores = row->scores * 32 * TOKENS * (double)TOKENS * 4 / row->t;
    double layer = row->whole * sbh + row->shared * sbh / row->t + scores;
    double sum = (double)LOG_SUM_EXP_BYTES * TOKENS * 4 * 32 / row->t;
    assert_close((double)activations(&f, &run), 16 * (layer + sum), 1e-12);
    /* Selective recompute of the core drops the scores; full keeps the input, 2 s b h. */
    run.recompute = (lcp_run_recompute){.method = LCP_METHOD_SELECTIVE, .modules = 1U << LCP_MODULE_CORE_ATTENTION};
    assert_close((double)activations(&f, &run), 16 * (layer + sum - scores), 1e-12);
    run.recompute = (lcp_run_recompute){.method = LCP_METHOD_FULL};
    double shard = row->sequence_parallel ? row->t : 1;
    assert_close((double)activations(&f, &run), 16 * 2 * sbh / shard, 1e-12);
}

typedef struct pipeline {
    lcp_run_schedule kind;
    int32_t ranks, virtual, chunks;
} pipeline;

static int32_t fill_gpipe(lcp_op *ops, const pipeline *p, int32_t rank)
{
    for (int32_t k = 0; k < p->chunks; k++) {
        ops[k] = (lcp_op){.kind = LCP_OP_FORWARD, .chunk = k, .stage = rank};
        ops[p->chunks + k] = (lcp_op){.kind = LCP_OP_BACKWARD, .chunk = k, .stage = rank};
    }
    return 2 * p->chunks;
}

static lcp_op op_of(const pipeline *p, int32_t rank, int32_t i, bool backward)
{
    int32_t inside = i % (p->ranks * p->virtual) / p->ranks;
    int32_t stage = (backward ? p->virtual - 1 - inside : inside) * p->ranks + rank;
    int32_t chunk = i / (p->ranks * p->virtual) * p->ranks + i % p->ranks;
    return (lcp_op){.kind = backward ? LCP_OP_BACKWARD : LCP_OP_FORWARD, .chunk = chunk, .stage = stage};
}

/* 1F1B is the case of one virtual stage, with half the passes ahead. */
static int32_t fill_1f1b(lcp_op *ops, const pipeline *p, int32_t rank)
{
    int32_t passes = p->chunks * p->virtual;
    int32_t later = p->ranks - 1 - rank;
    int32_t ahead = p->virtual > 1 ? 2 * later + (p->virtual - 1) * p->ranks : later;
    int32_t at = 0;
    int32_t forward = 0;
    while (forward < passes && forward < ahead) {
        ops[at++] = op_of(p, rank, forward++, false);
    }
    for (int32_t i = 0; i < passes; i++) {
        if (forward < passes) {
            ops[at++] = op_of(p, rank, forward++, false);
        }
        ops[at++] = op_of(p, rank, i, true);
    }
    return at;
}

/* Peaks of what is kept, by replay of every rank's order. */
static void replay_peaks(lcp_memory_peak *peaks, const pipeline *p, const int64_t *stage_bytes)
{
    static lcp_op ops[8][1024];
    static int64_t kept[64 * 64];
    static int64_t zeros[64 * 64];
    static lcp_chunk_link links[64];
    lcp_op *lists[8];
    int32_t counts[8];
    int32_t stage_rank[64];
    int32_t stages = p->ranks * p->virtual;
    for (int32_t r = 0; r < p->ranks; r++) {
        lists[r] = ops[r];
        counts[r] = p->kind == LCP_RUN_GPIPE ? fill_gpipe(ops[r], p, r) : fill_1f1b(ops[r], p, r);
    }
    for (int32_t k = 0; k < p->chunks; k++) {
        links[k] = (lcp_chunk_link){-1, -1};
        for (int32_t s = 0; s < stages; s++) {
            kept[s * p->chunks + k] = stage_bytes[s];
            stage_rank[s] = s % p->ranks;
        }
    }
    lcp_schedule schedule = {.rank_count = p->ranks,
                             .stage_count = stages,
                             .chunk_count = p->chunks,
                             .stage_rank = stage_rank,
                             .op_count = counts,
                             .ops = lists};
    lcp_memory_input input = {
        .kept_bytes = kept, .kv_grad_bytes = zeros, .working_bytes = zeros, .static_bytes = zeros};
    lcp_error err = {0};
    if (lcp_memory_replay(peaks, &schedule, links, &input, &err) != LCP_OK) {
        fail_msg("%s", err.text);
    }
}

/* Activations and logits of every rank at its peak. */
static void compare(const pipeline *p, int32_t layers, double tolerance)
{
    cost_fixture f;
    gpt(&f);
    f.model.layer_count = layers;
    lcp_run run = run_of(&f, p->chunks);
    run.schedule = p->kind;
    run.layout.pp = p->ranks;
    run.layout.vpp = p->virtual;
    lcp_estimate e = estimate(&f, &run);
    fixture_prepare(&f);
    lcp_layer_cost layer;
    lcp_end_cost embedding;
    lcp_end_cost head;
    lcp_cost_layer_equal(&f.cost, 0, 1, TOKENS, &layer);
    lcp_cost_embedding_equal(&f.cost, 1, TOKENS, &embedding);
    lcp_cost_head_equal(&f.cost, 1, TOKENS, &head);
    int32_t stages = p->ranks * p->virtual;
    int64_t bytes[64];
    for (int32_t s = 0; s < stages; s++) {
        bytes[s] = layer.kept_bytes[LCP_RECOMPUTE_NONE] * (layers / stages + (s < layers % stages ? 1 : 0));
    }
    bytes[0] += embedding.kept_bytes;
    bytes[stages - 1] += head.kept_bytes;
    lcp_memory_peak peaks[8];
    replay_peaks(peaks, p, bytes);
    for (int32_t r = 0; r < p->ranks; r++) {
        int64_t held = e.memory[r].activations + e.memory[r].logits;
        assert_close((double)held, (double)peaks[r].peak_bytes, tolerance);
    }
}

static void peaks_follow_replay(void **state)
{
    (void)state;
    for (int32_t ranks = 1; ranks <= 8; ranks++) {
        for (int32_t chunks = 1; chunks <= 20; chunks++) {
            compare(&(pipeline){LCP_RUN_1F1B, ranks, 1, chunks}, 30, 0);
            compare(&(pipeline){LCP_RUN_GPIPE, ranks, 1, chunks}, 30, 0);
        }
    }
}

static void interleaved_peaks_follow_replay(void **state)
{
    (void)state;
    for (int32_t ranks = 2; ranks <= 8; ranks++) {
        for (int32_t virtual = 2; virtual <= 3; virtual ++) {
            for (int32_t groups = 1; groups <= 4; groups++) {
                pipeline p = {LCP_RUN_INTERLEAVED, ranks, virtual, groups * ranks};
                compare(&p, 2 * ranks * virtual, 0);
                /* The mix of long and short virtual stages changes from pass to pass. */
                compare(&p, 4 * ranks * virtual + 1, 0.06);
            }
        }
    }
}

/* From what keeps most to what keeps least. */
static const lcp_run_recompute lean[] = {
    {.method = LCP_METHOD_NONE},
    {.method = LCP_METHOD_SELECTIVE, .modules = 1U << LCP_MODULE_LAYERNORM},
    {.method = LCP_METHOD_SELECTIVE, .modules = 1U << LCP_MODULE_LAYERNORM | 1U << LCP_MODULE_ACTIVATION},
    {.method = LCP_METHOD_SELECTIVE, .modules = 1U << LCP_MODULE_LAYERNORM | 1U << LCP_MODULE_MLP},
    {.method = LCP_METHOD_FULL},
};

static const lcp_run_recompute blocks[] = {
    {.method = LCP_METHOD_NONE},
    {.method = LCP_METHOD_BLOCK, .layers = 1},
    {.method = LCP_METHOD_BLOCK, .layers = 2},
    {.method = LCP_METHOD_BLOCK, .layers = 3},
    {.method = LCP_METHOD_BLOCK, .layers = 4},
    {.method = LCP_METHOD_FULL},
};

static const lcp_run_recompute groups[] = {
    {.method = LCP_METHOD_NONE},
    {.method = LCP_METHOD_UNIFORM, .layers = 1},
    {.method = LCP_METHOD_UNIFORM, .layers = 2},
    {.method = LCP_METHOD_UNIFORM, .layers = 4},
};

static const lcp_run_recompute policies[] = {
    {LCP_METHOD_POLICY, 0, 0, LCP_RECOMPUTE_NONE, 1}, {LCP_METHOD_POLICY, 0, 0, LCP_RECOMPUTE_ACTIVATION, 1},
    {LCP_METHOD_POLICY, 0, 0, LCP_RECOMPUTE_MLP, 1},  {LCP_METHOD_POLICY, 0, 0, LCP_RECOMPUTE_MLP, 0.5},
    {LCP_METHOD_POLICY, 0, 0, LCP_RECOMPUTE_MLP, 0},
};

static void never_more_memory_nor_less_time(const cost_fixture *f, const lcp_run_recompute *list, size_t count)
{
    lcp_run run = run_of(f, 8);
    run.recompute = list[0];
    lcp_estimate before = estimate(f, &run);
    for (size_t i = 1; i < count; i++) {
        run.recompute = list[i];
        lcp_estimate e = estimate(f, &run);
        for (int32_t s = 0; s < e.stage_count; s++) {
            assert_true(e.memory[s].activations <= before.memory[s].activations);
        }
        assert_true(e.iteration_seconds >= before.iteration_seconds * (1 - 1e-12));
        assert_true(e.seconds.recompute >= before.seconds.recompute);
        before = e;
    }
    run.recompute = list[0];
    assert_true(before.memory[0].activations < estimate(f, &run).memory[0].activations);
}

static void recompute_is_monotone(void **state)
{
    (void)state;
    for (int32_t kind = 0; kind < 3; kind++) {
        cost_fixture f;
        gpt(&f);
        if (kind == 1) {
            fixture_llama(&f);
        } else if (kind == 2) {
            fixture_deepseek(&f);
            f.model.layer_count = 28;
        }
        fixture_a100_cluster(&f, 8);
        f.layout = fixture_layout(2, 4, 2, 1, 1);
        never_more_memory_nor_less_time(&f, lean, sizeof lean / sizeof lean[0]);
        never_more_memory_nor_less_time(&f, blocks, sizeof blocks / sizeof blocks[0]);
        never_more_memory_nor_less_time(&f, groups, sizeof groups / sizeof groups[0]);
        never_more_memory_nor_less_time(&f, policies, sizeof policies / sizeof policies[0]);
    }
}

/* 16 layers, groups of 5: the inputs of 4 groups; inside a pass, a whole group. */
static void groups_keep_whole_inputs(void **state)
{
    (void)state;
    cost_fixture f;
    gpt(&f);
    lcp_run run = run_of(&f, 1);
    int64_t input = 2 * 4096 * TOKENS;
    run.recompute = (lcp_run_recompute){.method = LCP_METHOD_FULL};
    assert_int_equal(activations(&f, &run), 16 * input);
    lcp_estimate full = estimate(&f, &run);
    run.recompute = (lcp_run_recompute){.method = LCP_METHOD_UNIFORM, .layers = 5};
    lcp_estimate e = estimate(&f, &run);
    assert_int_equal(e.memory[0].activations, 4 * input);
    fixture_prepare(&f);
    lcp_layer_cost layer;
    lcp_cost_layer_equal(&f.cost, 0, 1, TOKENS, &layer);
    assert_int_equal(e.memory[0].working - full.memory[0].working, 4 * layer.kept_bytes[LCP_RECOMPUTE_NONE]);
    run.recompute.layers = 100;
    assert_int_equal(activations(&f, &run), input);
    run.recompute = (lcp_run_recompute){.method = LCP_METHOD_BLOCK, .layers = 100};
    assert_int_equal(activations(&f, &run), 16 * input);
}

typedef struct loss_row {
    lcp_loss loss;
    double per_logit, per_hidden;
} loss_row;

static void logits_by_loss(void **state)
{
    (void)state;
    const loss_row rows[] = {{LCP_LOSS_EAGER, 6, 2},
                             {LCP_LOSS_FUSED, 2, 2},
                             {LCP_LOSS_CHUNKED, 0, 4},
                             {LCP_LOSS_PARALLEL, 6, 2},
                             {LCP_LOSS_FUSED_LINEAR, 0, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cost_fixture f;
        gpt(&f);
        f.layout = fixture_layout(1, 2, 4, 1, 1);
        f.training.loss = rows[i].loss;
        lcp_run run = run_of(&f, 8);
        double bytes = TOKENS / 4.0 * (rows[i].per_logit * 50304 + rows[i].per_hidden * 4096);
        lcp_estimate e = estimate(&f, &run);
        assert_int_equal(e.memory[0].logits, 0);
        assert_close((double)e.memory[1].logits, bytes, 1e-12);
        run.schedule = LCP_RUN_GPIPE; /* eight microbatches forward before the first backward */
        assert_close((double)estimate(&f, &run).memory[1].logits, 8 * bytes, 1e-12);
    }
}

static void states_by_zero_group(void **state)
{
    (void)state;
    cost_fixture f;
    gpt(&f);
    f.layout = fixture_layout(16, 1, 1, 1, 1);
    lcp_run run = run_of(&f, 16);
    lcp_estimate_memory plain = estimate(&f, &run).memory[0];
    for (int32_t zero = 1; zero <= 3; zero++) {
        for (int32_t group = 2; group <= 64; group *= 2) {
            double shards = group < 16 ? group : 16;
            run.layout.zero_stage = zero;
            run.layout.shard_ranks = group;
            lcp_estimate_memory m = estimate(&f, &run).memory[0];
            assert_close((double)m.optimizer, (double)plain.optimizer / shards, 1e-6);
            assert_close((double)m.gradients, (double)plain.gradients / (zero >= 2 ? shards : 1), 1e-6);
            assert_close((double)m.parameters, (double)plain.parameters / (zero >= 3 ? shards : 1), 1e-6);
        }
    }
    run.optimizer_on_host = true;
    assert_int_equal(estimate(&f, &run).memory[0].optimizer, 0);
}

static void layers_of_stages(void **state)
{
    (void)state;
    const struct {
        int32_t layers, pp, vpp, first, last;
        int32_t expected[4];
    } rows[] = {
        {16, 4, 1, 0, 0, {4, 4, 4, 4}}, {16, 4, 1, 1, 0, {1, 5, 5, 5}}, {16, 4, 1, 0, 1, {5, 5, 5, 1}},
        {16, 4, 1, 3, 3, {3, 5, 5, 3}}, {14, 4, 1, 0, 0, {4, 4, 3, 3}}, {16, 2, 2, 0, 0, {8, 8}},
        {16, 2, 2, 2, 4, {7, 9}},       {4, 2, 3, 0, 0, {2, 2}},        {1, 1, 1, 1, 0, {1}},
        {1, 2, 1, 0, 0, {1, 0}},        {2, 3, 1, 0, 0, {0, 2, 0}},     {2, 4, 1, 0, 0, {0, 1, 1, 0}},
        {1, 3, 1, 0, 0, {0, 1, 0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cost_fixture f;
        gpt(&f);
        f.model.layer_count = rows[i].layers;
        f.model.vocab_size = 1;
        f.layout = fixture_layout(1, rows[i].pp, 1, 1, 1);
        f.layout.vpp = rows[i].vpp;
        lcp_run run = run_of(&f, 12);
        run.schedule = rows[i].vpp > 1 ? LCP_RUN_INTERLEAVED : LCP_RUN_1F1B;
        run.first_stage_layers = rows[i].first;
        run.last_stage_layers = rows[i].last;
        lcp_estimate e = estimate(&f, &run);
        double layer = 2 * 12.0 * 4096 * 4096;
        for (int32_t s = 0; s < rows[i].pp; s++) {
            assert_close((double)e.memory[s].parameters / layer + 1, rows[i].expected[s] + 1, 1e-3);
        }
    }
}

/* A byte more or less decides. */
static void fits_to_the_byte(void **state)
{
    (void)state;
    cost_fixture f;
    gpt(&f);
    f.groups[0].usable_memory_ratio = 1;
    lcp_run run = run_of(&f, 1);
    lcp_estimate e = estimate(&f, &run);
    int64_t total = e.memory[0].total;
    assert_int_equal(e.reserve_bytes, 0);
    f.groups[0].device.memory_bytes = total;
    assert_true(estimate(&f, &run).fits);
    f.groups[0].device.memory_bytes = total - 1;
    assert_false(estimate(&f, &run).fits);
    f.groups[0].device.memory_bytes = 2 * total;
    f.groups[0].usable_memory_ratio = 0.5;
    assert_true(estimate(&f, &run).fits);
    f.groups[0].usable_memory_ratio = 0.4999;
    assert_false(estimate(&f, &run).fits);
}

/* Scores of a trillion tokens: more bytes than 64 bits hold, and no nonsense. */
static void beyond_all_machines(void **state)
{
    (void)state;
    cost_fixture f;
    gpt(&f);
    f.training.attention_core = LCP_ATTENTION_CORE_UNFUSED;
    lcp_run run = run_of(&f, 1);
    run.sequence_length_tokens = INT64_C(1000000000000);
    lcp_estimate e = estimate(&f, &run);
    assert_false(e.fits);
    assert_true(e.memory[0].total > INT64_C(1000000000000000000) && e.memory[0].total > e.memory[0].activations);
}

#define KORTHIKANTI (sizeof korthikanti_rows / sizeof korthikanti_rows[0])

int main(void)
{
    const struct CMUnitTest plain[] = {
        cmocka_unit_test(peaks_follow_replay),   cmocka_unit_test(interleaved_peaks_follow_replay),
        cmocka_unit_test(recompute_is_monotone), cmocka_unit_test(groups_keep_whole_inputs),
        cmocka_unit_test(logits_by_loss),        cmocka_unit_test(states_by_zero_group),
        cmocka_unit_test(layers_of_stages),      cmocka_unit_test(fits_to_the_byte),
        cmocka_unit_test(beyond_all_machines),
    };
    const size_t plain_count = sizeof plain / sizeof plain[0];
    struct CMUnitTest tests[sizeof plain / sizeof plain[0] + KORTHIKANTI];
    memcpy(tests, plain, sizeof plain);
    for (size_t i = 0; i < KORTHIKANTI; i++) {
        tests[plain_count + i] = (struct CMUnitTest){.name = korthikanti_rows[i].name,
                                                     .test_func = korthikanti,
                                                     .initial_state = (void *)(uintptr_t)&korthikanti_rows[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
