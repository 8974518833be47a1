#include "support.h"

#include "cost_fixture.h"

/* Llama-3.1-8B, one layer: 4096 (4096 + 1024 + 1024 + 4096) + 3 * 4096 * 14336 matrix parameters. */
static const double llama_parameters = 41943040.0 + 176160768.0;

static lcp_layer_cost price(const cost_fixture *f, int64_t offset, int64_t length, bool has_successor)
{
    lcp_segment segment;
    lcp_chunk chunk = fixture_chunk(&segment, offset, length, has_successor);
    lcp_layer_cost out;
    lcp_cost_layer(&f->cost, 0, &chunk, &out);
    return out;
}

static void prepare_llama(cost_fixture *f, int64_t nodes, lcp_layout layout)
{
    fixture_llama(f);
    fixture_ideal_cluster(f, nodes);
    f->layout = layout;
    fixture_prepare(f);
}

/* One sequence of 131072 tokens, TP 4, Ulysses 2, on a device of 1e15 flops/s and 1e13 bytes/s without overheads. */
static void compute_of_a_layer(void **state)
{
    (void)state;
    cost_fixture f;
    prepare_llama(&f, 1, fixture_layout(1, 1, 4, 2, 1));
    lcp_layer_cost c = price(&f, 0, 131072, false);
    double tokens = 131072;
    double pairs = tokens * (tokens + 1) / 2;
    double products = 2 * tokens * llama_parameters / 8 / 1e15;
    double core = 4 * 4096 * pairs / 8 / 1e15;
    /* Two norms (read, write), two residual sums (2 reads, write); rotary on 40 heads; gate and up to product. */
    double widths = 2 * 5 * 4096 + 2 * 40 * 128 + 3 * 14336;
    double elementwise = tokens * 2 * widths / 8 / 1e13;
    assert_close(c.forward.compute, products + core + elementwise, 1e-12);
    double backward_widths = 2 * 6 * 4096 + 2 * 40 * 128 + 5 * 14336;
    double backward = tokens * 2 * backward_widths / 8 / 1e13;
    assert_close(c.input_grad.compute, products + 2.5 * core + backward, 1e-12);
    assert_close(c.weight_grad.compute, products, 1e-12);
    assert_close(c.forward_flops, 2 * tokens * llama_parameters + 4 * 4096 * pairs, 1e-12);
}

static void traffic_of_a_layer(void **state)
{
    (void)state;
    cost_fixture f;
    prepare_llama(&f, 1, fixture_layout(1, 1, 4, 2, 1));
    lcp_layer_cost c = price(&f, 0, 131072, false);
    double local = 131072.0 / 2;
    /* Two gathers and two scatters of 65536 x 4096 in 16 bits, 3/4 of each on the wire. */
    double tp = 4 * 0.75 * 2 * 4096 * local;
    assert_close(c.forward.exposed_tp, tp / 100e9, 1e-12);
    assert_close(c.input_grad.exposed_tp, tp / 100e9, 1e-12);
    /* Each tp rank has 8 query and 2 key/value heads: q, k, v, o = (8 + 2 + 2 + 8) * 128 wide; half of it leaves. */
    double cp = 0.5 * 2 * 20 * 128 * local;
    assert_close(c.forward.exposed_cp, cp / 100e9, 1e-12);
    assert_close(c.communicated_bytes, 2 * (tp + cp), 1e-12);
    assert_true(c.weight_grad.exposed_tp == 0 && c.forward.exposed_ep == 0 && c.forward.exposed_dp == 0);
}

static void overlap_ratio_hides_its_share(void **state)
{
    (void)state;
    cost_fixture f;
    prepare_llama(&f, 1, fixture_layout(1, 1, 8, 1, 1));
    double exposed = price(&f, 0, 8192, false).forward.exposed_tp;
    f.training.tp_overlap_ratio = 0.75;
    fixture_prepare(&f);
    assert_close(price(&f, 0, 8192, false).forward.exposed_tp, exposed / 4, 1e-12);
}

/* Ring of 4 over 4 nodes: 10e9 * 0.85 bytes/s a port. 8 key/value heads of 128 in 16 bits, keys and values. */
static void ring_moves_prefix_and_slice(void **state)
{
    (void)state;
    cost_fixture f;
    prepare_llama(&f, 4, fixture_layout(1, 1, 8, 1, 4));
    lcp_layer_cost c = price(&f, 98304, 1024, false);
    /* Three of four quarters of the keys pass every rank; a tp rank holds one head. */
    double bytes = 0.75 * (98304 + 1024) * 2 * 256;
    double wire = bytes / 8.5e9;
    double core = 4 * 4096 * (1024.0 * 98304 + 1024.0 * 1025 / 2) / 32 / 1e15;
    assert_true(wire > core);
    /* Each step adds its result to a sum of 32 bits: 10 bytes for each of 4 x 128 elements of the output; backward also
     * for 256 of a key and value. */
    double merge = 10.0 * 1024 * 512 / 1e13;
    double merge_grad = 10.0 * 1024 * (512 + 256) / 1e13;
    assert_close(c.forward.exposed_cp, wire - 0.75 * (core + merge), 1e-9);
    assert_close(c.input_grad.exposed_cp, 2 * wire - 0.75 * (2.5 * core + merge_grad), 1e-9);
    /* A long slice hides it all. */
    assert_true(price(&f, 0, 1048576, false).forward.exposed_cp == 0);
}

static void gathered_ring_hides_nothing(void **state)
{
    (void)state;
    cost_fixture f;
    prepare_llama(&f, 4, fixture_layout(1, 1, 8, 1, 4));
    f.layout.ring_method = LCP_RING_ALL_GATHER;
    fixture_prepare(&f);
    double bytes = 0.75 * 1048576 * 2 * 256;
    assert_close(price(&f, 0, 1048576, false).forward.exposed_cp, bytes / 8.5e9, 1e-12);
}

static void window_limits_keys_and_pairs(void **state)
{
    (void)state;
    cost_fixture f;
    prepare_llama(&f, 4, fixture_layout(1, 1, 8, 1, 4));
    lcp_layer_cost full = price(&f, 98304, 1024, true);
    f.classes[0].attention.window_tokens = 512;
    fixture_prepare(&f);
    lcp_layer_cost windowed = price(&f, 98304, 1024, true);
    assert_true(windowed.forward.compute < full.forward.compute);
    assert_close(windowed.communicated_bytes - full.communicated_bytes, 3 * 0.75 * (512 - 98304) * 2 * 256, 1e-9);
    /* Later slices see the last 512 tokens of 1024. */
    assert_int_equal(windowed.kv_bytes * 2, full.kv_bytes);
}

static void one_rank_sends_nothing(void **state)
{
    (void)state;
    cost_fixture f;
    prepare_llama(&f, 1, fixture_layout(1, 1, 1, 1, 1));
    lcp_layer_cost c = price(&f, 5000, 3000, true);
    assert_true(c.communicated_bytes == 0);
    assert_true(c.forward.exposed_tp + c.forward.exposed_cp + c.forward.exposed_ep + c.forward.exposed_dp == 0);
}

static void slices_cost_what_the_sequence_costs(void **state)
{
    (void)state;
    cost_fixture f;
    prepare_llama(&f, 1, fixture_layout(1, 1, 4, 2, 1));
    lcp_layer_cost whole = price(&f, 0, 65536, false);
    lcp_layer_cost first = price(&f, 0, 40960, true);
    lcp_layer_cost last = price(&f, 40960, 24576, false);
    assert_close(fixture_layer_seconds(&first) + fixture_layer_seconds(&last), fixture_layer_seconds(&whole), 1e-9);
    assert_close(first.forward_flops + last.forward_flops, whole.forward_flops, 1e-12);
    assert_close(first.communicated_bytes + last.communicated_bytes, whole.communicated_bytes, 1e-12);
}

static void packs_do_not_attend_to_each_other(void **state)
{
    (void)state;
    cost_fixture f;
    prepare_llama(&f, 1, fixture_layout(1, 1, 1, 1, 1));
    lcp_segment segments[] = {{.length_tokens = 4096}, {.sequence = 1, .length_tokens = 4096}};
    lcp_chunk chunk = {.segment_count = 2, .segments = segments};
    lcp_layer_cost pack;
    lcp_cost_layer(&f.cost, 0, &chunk, &pack);
    lcp_layer_cost alone = price(&f, 0, 4096, false);
    assert_close(fixture_layer_seconds(&pack), 2 * fixture_layer_seconds(&alone), 1e-12);
    lcp_layer_cost long_one = price(&f, 0, 8192, false);
    assert_true(fixture_layer_seconds(&pack) < 0.99 * fixture_layer_seconds(&long_one));
}

/* A product of n rows takes what n + half_rows rows take, and each launch costs its overhead. */
static void curves_are_affine(void **state)
{
    (void)state;
    cost_fixture f;
    prepare_llama(&f, 1, fixture_layout(1, 1, 1, 1, 1));
    double ideal = price(&f, 0, 8192, false).weight_grad.compute;
    f.groups[0].device.matmul = (lcp_rate){.ratio = 0.5, .half_rows = 2048, .overhead_seconds = 1e-5};
    fixture_prepare(&f);
    /* q, kv, o, gate-up and down: five products. */
    double expected = 2 * ideal * (8192.0 + 2048) / 8192 + 5e-5;
    assert_close(price(&f, 0, 8192, false).weight_grad.compute, expected, 1e-12);
    f.groups[0].device.attention_forward.half_rows = 512;
    double before = price(&f, 0, 8192, false).forward.compute;
    fixture_prepare(&f);
    double core = 4 * 4096 * 8192.0 * 8193 / 2 / 1e15;
    assert_close(price(&f, 0, 8192, false).forward.compute - before, core * 512 / 8192, 1e-9);
}

static void padding_is_paid_but_not_counted(void **state)
{
    (void)state;
    cost_fixture f;
    prepare_llama(&f, 1, fixture_layout(1, 1, 2, 1, 4));
    /* Each segment to 2 * 4 * 2 = 16 tokens. */
    assert_int_equal(f.cost.segment_alignment_tokens, 16);
    lcp_layer_cost odd = price(&f, 0, 1009, false);
    lcp_layer_cost even = price(&f, 0, 1024, false);
    assert_close(fixture_layer_seconds(&odd), fixture_layer_seconds(&even), 1e-12);
    assert_close(odd.forward_flops, 2 * 1009 * llama_parameters + 4 * 4096 * 1009.0 * 1010 / 2, 1e-12);
}

static void recompute_reruns_what_it_dropped(void **state)
{
    (void)state;
    cost_fixture f;
    prepare_llama(&f, 1, fixture_layout(1, 1, 4, 2, 1));
    lcp_layer_cost c = price(&f, 0, 131072, false);
    double tokens = 131072;
    assert_true(lcp_seconds_sum(&c.recompute[LCP_RECOMPUTE_NONE]) == 0);
    assert_close(lcp_seconds_sum(&c.recompute[LCP_RECOMPUTE_FULL]), lcp_seconds_sum(&c.forward), 1e-12);
    /* Two norms, and gate and up to product. */
    double norms = tokens * 2 * (2 * 2 * 4096 + 3 * 14336) / 8 / 1e13;
    assert_close(c.recompute[LCP_RECOMPUTE_ACTIVATION].compute, norms, 1e-12);
    double up = 2 * tokens * 4096 * 2 * 14336 / 8 / 1e15;
    assert_close(c.recompute[LCP_RECOMPUTE_MLP].compute, norms + up, 1e-12);
    double attention = 2 * tokens * 41943040 / 8 / 1e15;
    double middle = tokens * 2 * (2 * 2 * 4096 + 3 * 4096 + 2 * 40 * 128 + 3 * 14336) / 8 / 1e13;
    assert_close(c.recompute[LCP_RECOMPUTE_ATTENTION_OUTPUT].compute, attention + up + middle, 1e-12);
    /* Both gathers and one scatter of four messages; q, k, v and the output, which is kept by heads. */
    assert_close(c.recompute[LCP_RECOMPUTE_ATTENTION_OUTPUT].exposed_tp, 0.75 * c.forward.exposed_tp, 1e-12);
    assert_close(c.recompute[LCP_RECOMPUTE_ATTENTION_OUTPUT].exposed_cp, c.forward.exposed_cp, 1e-12);
}

static void experts_run_small_batches(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_deepseek(&f);
    fixture_ideal_cluster(&f, 1);
    f.training.expert_imbalance = 1.25;
    f.layout = fixture_layout(8, 1, 1, 1, 1);
    f.layout.ep = 8;
    fixture_prepare(&f);
    lcp_layer_cost c = price(&f, 0, 65536, false);
    /* Dispatch and combine: 65536 tokens to 6 experts, 2048 wide in 16 bits, 7/8 leave, the hottest rank 1.25. */
    double bytes = 65536.0 * 6 * 1.25 * 2048 * 2;
    assert_close(c.forward.exposed_ep, 2 * 0.875 * bytes / 100e9, 1e-12);
    /* half_rows is paid by every local expert; not by the router, which waits for memory. */
    double before = c.weight_grad.compute;
    f.groups[0].device.matmul.half_rows = 100;
    fixture_prepare(&f);
    double dense = 2048.0 * 3072 + 2048.0 * 576 + 512.0 * 4096 + 2048.0 * 2048 + 3.0 * 2048 * 2816;
    double expert = 8 * 3.0 * 2048 * 1408;
    double added = price(&f, 0, 65536, false).weight_grad.compute - before;
    assert_close(added, 2 * 100 * (dense + expert) / 1e15, 1e-9);
}

static void expanding_latents_costs_by_the_prefix(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_deepseek(&f);
    fixture_ideal_cluster(&f, 1);
    fixture_prepare(&f);
    double kept = price(&f, 65536, 4096, false).forward.compute;
    f.training.mla_keeps_expanded_kv = false;
    fixture_prepare(&f);
    double expanded = price(&f, 65536, 4096, false).forward.compute;
    assert_close(expanded - kept, 65536 * 2.0 * 512 * 16 * 256 / 1e15, 1e-9);
}

static void zero_traffic_hides_behind_compute(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_llama(&f);
    fixture_ideal_cluster(&f, 1);
    f.layout = fixture_layout(8, 1, 1, 1, 1);
    f.layout.zero_stage = 3;
    fixture_prepare(&f);
    double gather = 0.875 * 2 * (llama_parameters + 2 * 4096) / 100e9;
    assert_close(f.cost.layer_gather_seconds[0], gather, 1e-12);
    assert_close(f.cost.layer_reduce_seconds[0], 2 * gather, 1e-12);
    lcp_layer_cost small = price(&f, 0, 64, false);
    assert_close(small.forward.exposed_dp, gather - small.forward.compute, 1e-12);
    assert_true(price(&f, 0, 65536, false).forward.exposed_dp == 0);
}

static void measured_seconds_replace_compute(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_llama(&f);
    fixture_ideal_cluster(&f, 1);
    f.classes[0].measured = (lcp_measured_layer){1e-6, 2e-6, 3e-6, 1000};
    f.layout = fixture_layout(1, 1, 2, 1, 1);
    fixture_prepare(&f);
    lcp_layer_cost c = price(&f, 0, 8192, false);
    assert_close(c.forward.compute, 8192 * 1e-6 / 2, 1e-12);
    assert_close(c.input_grad.compute, 8192 * 2e-6 / 2, 1e-12);
    assert_close(c.weight_grad.compute, 8192 * 3e-6 / 2, 1e-12);
    assert_int_equal(c.kept_bytes[LCP_RECOMPUTE_NONE], 8192 * 500);
    assert_int_equal(c.kept_bytes[LCP_RECOMPUTE_FULL], 8192 * 500);
}

static void linear_mixers_have_no_quadratic_part(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_dense(&f, 4096, 32, 32, 8192, 1);
    f.classes[0].attention = (lcp_attention){.kind = LCP_ATTENTION_STATE_SPACE,
                                             .heads = 128,
                                             .head_dim = 64,
                                             .state_size = 128,
                                             .groups = 8,
                                             .conv_width = 4};
    fixture_ideal_cluster(&f, 1);
    fixture_prepare(&f);
    lcp_layer_cost one = price(&f, 0, 8192, true);
    lcp_layer_cost four = price(&f, 0, 32768, true);
    assert_close(fixture_layer_seconds(&four), 4 * fixture_layer_seconds(&one), 1e-9);
    /* A state of 128 x 64 x 128 in 4 bytes goes to the next slice, whatever the length. */
    assert_int_equal(one.kv_bytes, 4 * 128 * 64 * 128);
    assert_int_equal(four.kv_bytes, one.kv_bytes);
}

static void precision_changes_rates_and_bytes(void **state)
{
    (void)state;
    cost_fixture f;
    prepare_llama(&f, 1, fixture_layout(1, 1, 1, 1, 1));
    lcp_layer_cost half = price(&f, 0, 65536, false);
    f.training.precision = LCP_PRECISION_FP32;
    fixture_prepare(&f);
    lcp_layer_cost single = price(&f, 0, 65536, false);
    assert_close(single.weight_grad.compute, 2 * half.weight_grad.compute, 1e-12);
    assert_close((double)single.kept_bytes[LCP_RECOMPUTE_FULL], 2 * (double)half.kept_bytes[LCP_RECOMPUTE_FULL], 0);
    f.training.precision = LCP_PRECISION_FP8;
    f.groups[0].device.peak_fp8_flops_per_second = 2e15;
    fixture_prepare(&f);
    lcp_layer_cost eighth = price(&f, 0, 65536, false);
    assert_true(eighth.weight_grad.compute < half.weight_grad.compute);
    assert_int_equal(eighth.kept_bytes[LCP_RECOMPUTE_NONE], half.kept_bytes[LCP_RECOMPUTE_NONE]);
}

/* Llama-3.1-8B: 3 * (2 * (32 * 218103808 + 4096 * 128256) n + 32 * 4 * 4096 * pairs). */
static void model_flops(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_llama(&f);
    double n = 131072;
    double expected = 3 * (2 * (32 * llama_parameters + 4096.0 * 128256) * n + 32 * 4.0 * 4096 * n * (n + 1) / 2);
    assert_close(lcp_cost_sequence_flops(&f.model, 131072), expected, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compute_of_a_layer),
        cmocka_unit_test(traffic_of_a_layer),
        cmocka_unit_test(overlap_ratio_hides_its_share),
        cmocka_unit_test(ring_moves_prefix_and_slice),
        cmocka_unit_test(gathered_ring_hides_nothing),
        cmocka_unit_test(window_limits_keys_and_pairs),
        cmocka_unit_test(one_rank_sends_nothing),
        cmocka_unit_test(slices_cost_what_the_sequence_costs),
        cmocka_unit_test(packs_do_not_attend_to_each_other),
        cmocka_unit_test(curves_are_affine),
        cmocka_unit_test(padding_is_paid_but_not_counted),
        cmocka_unit_test(recompute_reruns_what_it_dropped),
        cmocka_unit_test(experts_run_small_batches),
        cmocka_unit_test(expanding_latents_costs_by_the_prefix),
        cmocka_unit_test(zero_traffic_hides_behind_compute),
        cmocka_unit_test(measured_seconds_replace_compute),
        cmocka_unit_test(linear_mixers_have_no_quadratic_part),
        cmocka_unit_test(precision_changes_rates_and_bytes),
        cmocka_unit_test(model_flops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
