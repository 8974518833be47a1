/* Configurations that are not possible, and what an estimate says of them. */
#include "support.h"

#include "cost_fixture.h"

#include "lcp/estimate.h"

#include <string.h>

typedef struct bad_row {
    const char *name;
    void (*spoil)(cost_fixture *f, lcp_run *run);
    const char *message;
} bad_row;

#define SPOIL(name, ...)                                                                                               \
    static void name(cost_fixture *f, lcp_run *run)                                                                    \
    {                                                                                                                  \
        (void)f;                                                                                                       \
        (void)run;                                                                                                     \
        __VA_ARGS__;                                                                                                   \
    }

SPOIL(no_degree, run->layout.tp = 0)
SPOIL(negative_degree, run->layout.ring = -2)
SPOIL(too_many_devices, run->layout.dp = 32; run->global_batch_sequences = 32)
SPOIL(far_too_many_devices, run->layout.dp = 1048576; run->layout.tp = 1048576; run->layout.pp = 1048576)
SPOIL(too_many_stages, run->layout.pp = 8; run->layout.vpp = 5)
SPOIL(virtual_gpipe, run->layout.pp = 2; run->layout.vpp = 2; run->schedule = LCP_RUN_GPIPE)
SPOIL(odd_experts, run->layout.ep = 3)
SPOIL(odd_groups, run->layout.dp = 8; run->layout.shard_ranks = 3)
SPOIL(negative_groups, run->layout.shard_ranks = -1)
SPOIL(odd_heads, run->layout.tp = 3)
SPOIL(too_many_exchanged, run->layout.ulysses = 8; run->layout.tp = 2; f->classes[0].attention.heads = 8)
SPOIL(odd_kv_heads, run->layout.tp = 4; f->classes[0].attention.kv_heads = 6)
SPOIL(odd_width, run->layout.tp = 4; f->classes[0].ffn.size = 14338)
SPOIL(experts_over_ranks, fixture_deepseek(f); fixture_ideal_cluster(f, 2); run->layout.dp = 3; run->layout.ep = 3;
      run->global_batch_sequences = 3)
SPOIL(no_tokens, run->sequence_length_tokens = 0)
SPOIL(no_batch, run->global_batch_sequences = 0)
SPOIL(no_microbatch, run->microbatch_sequences = -1)
SPOIL(too_many_tokens, run->sequence_length_tokens = INT64_C(1) << 40; run->microbatch_sequences = INT64_C(1) << 30)
SPOIL(batch_of_parts, run->layout.dp = 4; run->microbatch_sequences = 3)
SPOIL(negative_stage, run->layout.pp = 4; run->first_stage_layers = -3)
SPOIL(long_stage, run->layout.pp = 4; run->first_stage_layers = 2147483647; run->last_stage_layers = 2147483647)
SPOIL(long_last_stage, run->layout.pp = 4; run->last_stage_layers = 33)
SPOIL(no_layers_left, run->layout.pp = 4; run->first_stage_layers = 16; run->last_stage_layers = 15)
SPOIL(layers_left_over, run->layout.pp = 2; run->first_stage_layers = 16; run->last_stage_layers = 15)
SPOIL(two_ends_of_one, run->first_stage_layers = 16; run->last_stage_layers = 16)
SPOIL(empty_block, run->recompute.method = LCP_METHOD_BLOCK)
SPOIL(empty_group, run->recompute.method = LCP_METHOD_UNIFORM)
SPOIL(share_above_one, run->recompute = (lcp_run_recompute){.method = LCP_METHOD_POLICY, .share = 1.5})
SPOIL(offload_above_one, run->activation_offload_ratio = 2)
SPOIL(offload_nowhere, run->activation_offload_ratio = 0.5; f->groups[0].host.bandwidth_bytes_per_second = 0)
SPOIL(optimizer_nowhere, run->optimizer_on_host = true; f->groups[0].host.bandwidth_bytes_per_second = 0)
SPOIL(too_large, f->model.hidden_size = INT64_C(1) << 40; f->classes[0].ffn.size = INT64_C(1) << 40)

static const bad_row bad_rows[] = {
    {"no degree", no_degree, "a degree is 0, expected at least 1"},
    {"negative degree", negative_degree, "a degree is -2, expected at least 1"},
    {"too many devices", too_many_devices, "the degrees multiply to 32 devices, the cluster has 16"},
    {"far too many devices", far_too_many_devices, "the degrees multiply to 1.15292e+18 devices, the cluster has 16"},
    {"too many stages", too_many_stages,
     "pp x vpp = 40 stages, expected at most 34 (layers, embedding, head) and 256 ranks"},
    {"gpipe with virtual stages", virtual_gpipe, "gpipe has no virtual stages, found vpp = 2"},
    {"ep does not divide", odd_experts, "ep = 3 does not divide tp x cp x dp"},
    {"ZeRO groups do not divide", odd_groups, "ZeRO groups of 3 ranks do not divide dp x cp = 8"},
    {"negative ZeRO groups", negative_groups, "ZeRO groups of -1 ranks do not divide dp x cp = 1"},
    {"heads do not divide", odd_heads, "32 attention heads are not a multiple of tp x ulysses = 3"},
    {"more ranks than heads", too_many_exchanged, "8 attention heads are not a multiple of tp x ulysses = 16"},
    {"kv heads do not divide", odd_kv_heads, "6 kv heads neither divide nor are divided by tp = 4 and tp x ulysses"},
    {"width does not divide", odd_width, "an ffn width of 14338 is not a multiple of tp = 4"},
    {"experts do not divide", experts_over_ranks, "64 experts are not a multiple of ep = 3"},
    {"no tokens", no_tokens, "sequence length, microbatch and global batch must be at least 1"},
    {"no batch", no_batch, "sequence length, microbatch and global batch must be at least 1"},
    {"no microbatch", no_microbatch, "sequence length, microbatch and global batch must be at least 1"},
    {"too many tokens", too_many_tokens, "a microbatch of 1.18059e+21 tokens, expected at most 1e+12"},
    {"batch does not divide", batch_of_parts,
     "a global batch of 16 sequences is not a multiple of microbatch x dp = 12"},
    {"negative stage", negative_stage, "first and last stage of -3 and 0 layers, expected 0 to 32"},
    {"long stages", long_stage, "first and last stage of 2147483647 and 2147483647 layers, expected 0 to 32"},
    {"long last stage", long_last_stage, "first and last stage of 0 and 33 layers, expected 0 to 32"},
    {"no layers left", no_layers_left, "first and last stage of 16 and 15 layers leave 1 layers for 2 others"},
    {"layers left over", layers_left_over, "first and last stage of 16 and 15 layers leave 1 layers for 0 others"},
    {"two ends of one stage", two_ends_of_one, "first and last stage of 16 and 16 layers leave 0 layers for -1 others"},
    {"empty block", empty_block, "recompute by block or group needs at least 1 layer"},
    {"empty group", empty_group, "recompute by block or group needs at least 1 layer"},
    {"share above one", share_above_one, "recompute: a share of 1.5, expected 0 to 1"},
    {"offload above one", offload_above_one, "offload: a share of 2 of the activations, expected 0 to 1"},
    {"offload nowhere", offload_nowhere, "offload: the cluster has no link to its hosts"},
    {"optimizer nowhere", optimizer_nowhere, "offload: the cluster has no link to its hosts"},
    {"too large", too_large, ""},
};

static void llama(cost_fixture *f, lcp_run *run)
{
    fixture_llama(f);
    fixture_ideal_cluster(f, 2);
    f->groups[0].host.bandwidth_bytes_per_second = 1e10;
    *run = lcp_run_default();
    run->global_batch_sequences = 16;
}

static void is_refused(void **state)
{
    const bad_row *row = *state;
    cost_fixture f;
    lcp_run run;
    lcp_estimate out;
    lcp_error err = {0};
    llama(&f, &run);
    assert_int_equal(lcp_estimate_run(&out, &f.model, &f.cluster, &run, NULL), LCP_OK);
    row->spoil(&f, &run);
    assert_int_equal(lcp_estimate_run(&out, &f.model, &f.cluster, &run, &err), LCP_INPUT);
    assert_int_equal(err.status, LCP_INPUT);
    if (row->message[0] != '\0') { /* else the cost model's own words */
        assert_string_equal(err.where, "");
        assert_string_equal(err.text, row->message);
    }
    assert_int_equal(lcp_estimate_run(&out, &f.model, &f.cluster, &run, NULL), LCP_INPUT);
}

/* What stands at the edge of a rule holds. */
static void edges_hold(void **state)
{
    (void)state;
    cost_fixture f;
    lcp_run run;
    lcp_estimate out;
    llama(&f, &run);
    run.layout.pp = 2;
    run.layout.vpp = 17; /* 32 layers, embedding and head on 34 stages */
    run.schedule = LCP_RUN_INTERLEAVED;
    assert_int_equal(lcp_estimate_run(&out, &f.model, &f.cluster, &run, NULL), LCP_OK);
    llama(&f, &run);
    run.layout.tp = 16; /* two ranks a kv head */
    assert_int_equal(lcp_estimate_run(&out, &f.model, &f.cluster, &run, NULL), LCP_OK);
    run.layout.tp = 1;
    run.layout.dp = 16;
    run.layout.shard_ranks = 1000; /* more than there are: all */
    run.layout.zero_stage = 3;
    assert_int_equal(lcp_estimate_run(&out, &f.model, &f.cluster, &run, NULL), LCP_OK);
    llama(&f, &run);
    run.layout.pp = 2;
    run.first_stage_layers = 31;
    run.last_stage_layers = 1;
    assert_int_equal(lcp_estimate_run(&out, &f.model, &f.cluster, &run, NULL), LCP_OK);
}

#define BAD (sizeof bad_rows / sizeof bad_rows[0])

int main(void)
{
    struct CMUnitTest tests[BAD + 1];
    for (size_t i = 0; i < BAD; i++) {
        tests[i] = (struct CMUnitTest){
            .name = bad_rows[i].name, .test_func = is_refused, .initial_state = (void *)(uintptr_t)&bad_rows[i]};
    }
    tests[BAD] = (struct CMUnitTest)cmocka_unit_test(edges_hold);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
