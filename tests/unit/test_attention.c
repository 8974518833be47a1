#include "support.h"

#include "cost_fixture.h"
#include "internal.h"

typedef struct pairs_row {
    const char *name;
    int64_t offset, length, window;
} pairs_row;

static const pairs_row pairs_rows[] = {
    {"one token", 0, 1, 0},     {"whole", 0, 7, 0},
    {"prefix", 5, 4, 0},        {"window not full", 0, 4, 9},
    {"window fills", 3, 10, 6}, {"window full from the start", 20, 5, 6},
    {"window of one", 4, 3, 1}, {"window equals end", 2, 6, 8},
};

static void pairs_match_counting(void **state)
{
    const pairs_row *row = *state;
    double counted = 0;
    for (int64_t i = 1; i <= row->length; i++) {
        int64_t seen = row->offset + i;
        counted += (double)(row->window > 0 && row->window < seen ? row->window : seen);
    }
    assert_close(lcp_causal_pairs(row->offset, row->length, row->window), counted, 0);
}

static void slices_sum_to_the_whole(void **state)
{
    (void)state;
    for (int64_t window = 0; window <= 40; window += 8) {
        for (int64_t cut = 1; cut < 50; cut++) {
            double parts = lcp_causal_pairs(0, cut, window) + lcp_causal_pairs(cut, 50 - cut, window);
            assert_close(parts, lcp_causal_pairs(0, 50, window), 0);
            assert_true(lcp_causal_pairs(cut, 50 - cut, window) <= lcp_causal_pairs(cut, 50 - cut, 0));
        }
    }
}

/* Parameters of the products of a mixer, over all ranks once. */
static double mixer_parameters(const cost_fixture *f)
{
    lcp_sharding s = lcp_sharding_of(&f->model, &f->layout, &f->training);
    lcp_mixer mixer;
    lcp_describe_mixer(&mixer, &f->classes[0].attention, &s);
    double parameters = 0;
    for (int32_t i = 0; i < mixer.product_count; i++) {
        parameters += lcp_product_parameters(&mixer.products[i]);
    }
    return parameters;
}

static void projections_have_the_published_sizes(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_llama(&f);
    /* q 4096 x 4096, k and v 4096 x 1024 each, o 4096 x 4096 */
    assert_close(mixer_parameters(&f), 4096.0 * (4096 + 1024 + 1024 + 4096), 0);
    f.classes[0].attention.output_gate = true;
    assert_close(mixer_parameters(&f), 4096.0 * (2 * 4096 + 1024 + 1024 + 4096), 0);
    fixture_deepseek(&f);
    /* q 2048 x 16 * 192, kv down 2048 x 576, kv up 512 x 16 * 256, o 2048 x 2048 */
    assert_close(mixer_parameters(&f), 2048.0 * 3072 + 2048.0 * 576 + 512.0 * 4096 + 2048.0 * 2048, 0);
    f.classes[0].attention.q_rank = 1536;
    assert_close(mixer_parameters(&f), 2048.0 * 1536 + 1536.0 * 3072 + 2048.0 * 576 + 512.0 * 4096 + 2048.0 * 2048, 0);
}

static void recurrent_projections(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_dense(&f, 4096, 32, 32, 1, 1);
    f.classes[0].attention = (lcp_attention){.kind = LCP_ATTENTION_STATE_SPACE,
                                             .heads = 128,
                                             .head_dim = 64,
                                             .state_size = 128,
                                             .groups = 8,
                                             .conv_width = 4};
    /* z and x 8192 each, B and C 8 * 128 each, a step size per head; then 8192 back to 4096 */
    assert_close(mixer_parameters(&f), 4096.0 * (2 * 8192 + 2 * 1024 + 128) + 8192.0 * 4096, 0);
    f.classes[0].attention = (lcp_attention){
        .kind = LCP_ATTENTION_LINEAR, .heads = 32, .kv_heads = 16, .head_dim = 128, .v_head_dim = 128, .conv_width = 4};
    /* q, k 2048 each, v and gate 4096 each, two scalars per value head; then 4096 back */
    assert_close(mixer_parameters(&f), 4096.0 * (2 * 2048 + 2 * 4096 + 64) + 4096.0 * 4096, 0);
}

static lcp_mixer describe(const cost_fixture *f)
{
    lcp_sharding s = lcp_sharding_of(&f->model, &f->layout, &f->training);
    lcp_mixer mixer;
    lcp_describe_mixer(&mixer, &f->classes[0].attention, &s);
    return mixer;
}

static void key_value_heads_are_replicated_when_few(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_llama(&f);
    /* 8 heads of 2 * 128 elements of 2 bytes */
    assert_close(describe(&f).kv_bytes, 2.0 * 8 * 256, 0);
    f.layout = fixture_layout(1, 1, 4, 2, 1);
    assert_close(describe(&f).kv_bytes, 2.0 * 1 * 256, 0);
    f.layout = fixture_layout(1, 1, 4, 8, 1);
    assert_close(describe(&f).kv_bytes, 2.0 * 1 * 256, 1e-15);
    f.layout = fixture_layout(1, 1, 16, 1, 1);
    assert_close(describe(&f).products[1].replication, 2, 0);
    f.layout = fixture_layout(1, 1, 1, 1, 4);
    assert_close(describe(&f).kv_bytes, 2.0 * 8 * 256 / 4, 0);
}

static void latent_ring_sends_the_smaller_form(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_deepseek(&f);
    f.layout = fixture_layout(1, 1, 1, 1, 4);
    /* latent 576 elements against 16 heads of 192 + 128 */
    assert_close(describe(&f).ring_bytes, 2.0 * 576 / 4, 0);
    assert_true(describe(&f).ring_key_flops > 0);
    f.layout = fixture_layout(1, 1, 4, 4, 4);
    /* one head a rank: 320 elements */
    assert_close(describe(&f).ring_bytes, 2.0 * 320 / 4, 0);
    assert_true(describe(&f).ring_key_flops == 0);
}

static void kept_latents_cost_their_expansion(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_deepseek(&f);
    assert_true(describe(&f).prefix_flops == 0);
    f.training.mla_keeps_expanded_kv = false;
    /* 2 * 512 * 16 * (128 + 128) flops a prefix token; 576 elements kept instead of 16 * 320 */
    assert_close(describe(&f).prefix_flops, 2.0 * 512 * 16 * 256, 0);
    assert_close(describe(&f).kv_bytes, 2.0 * 576, 0);
}

int main(void)
{
    struct CMUnitTest tests[sizeof pairs_rows / sizeof pairs_rows[0] + 6];
    size_t count = 0;
    for (; count < sizeof pairs_rows / sizeof pairs_rows[0]; count++) {
        tests[count] = (struct CMUnitTest){.name = pairs_rows[count].name,
                                           .test_func = pairs_match_counting,
                                           .initial_state = (void *)(uintptr_t)&pairs_rows[count]};
    }
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(slices_sum_to_the_whole);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(projections_have_the_published_sizes);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(recurrent_projections);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(key_value_heads_are_replicated_when_few);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(latent_ring_sends_the_smaller_form);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(kept_latents_cost_their_expansion);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
