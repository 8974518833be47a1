/* The cost model against figures that others measured. */
#include "support.h"

#include "cost_fixture.h"

typedef struct flexsp_row {
    const char *name;
    int64_t hidden, heads;
    int32_t layers;
    double quadratic_ms, linear_ms; /* per token^2 and per token, forward + backward on one A100 */
} flexsp_row;

/* Coefficients that FlexSP (arXiv 2412.01523) fitted to its measurements, from its release. */
static const flexsp_row flexsp_rows[] = {
    {"FlexSP GPT-7B", 4096, 32, 32, 5.128e-6, 0.1840},
    {"FlexSP GPT-13B", 5120, 40, 40, 9.285e-6, 0.3060},
    {"FlexSP GPT-30B", 6656, 52, 60, 15.43e-6, 0.8036},
};
#define FLEXSP_ROWS (sizeof flexsp_rows / sizeof flexsp_rows[0])

static void follows_flexsp_on_a100(void **state)
{
    const flexsp_row *row = *state;
    cost_fixture f;
    fixture_gpt(&f, row->hidden, row->heads, row->layers);
    fixture_a100_cluster(&f, 1);
    fixture_prepare(&f);
    double rates[2];
    const int64_t lengths[] = {32768, 131072};
    for (int i = 0; i < 2; i++) {
        lcp_segment segment;
        lcp_chunk chunk = fixture_chunk(&segment, 0, lengths[i], false);
        rates[i] = fixture_chunk_seconds(&f.cost, &chunk) / (double)lengths[i] * 1e3;
    }
    double quadratic = (rates[1] - rates[0]) / (double)(lengths[1] - lengths[0]);
    double linear = rates[0] - quadratic * (double)lengths[0];
    assert_close(quadratic, row->quadratic_ms, 0.27);
    assert_close(linear, row->linear_ms, 0.25);
}

/* zhuzilin/ring-flash-attention, zigzag, 65536 tokens on 8 A100 with NVLink, 32 heads and 8 of keys and values:
 * 38.2 forward and 10.6 forward + backward calls a second. Nothing of the traffic shows. */
static void ring_attention_on_eight_a100(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_llama(&f);
    fixture_a100_cluster(&f, 1);
    f.layout = fixture_layout(1, 1, 1, 1, 8);
    fixture_prepare(&f);
    lcp_segment segment;
    lcp_chunk chunk = fixture_chunk(&segment, 0, 65536, false);
    lcp_layer_cost c;
    lcp_cost_layer(&f.cost, 0, &chunk, &c);
    assert_true(c.forward.exposed_cp == 0 && c.input_grad.exposed_cp == 0);
    const lcp_core_terms *cores[] = {&f.cost.layer_terms[0].core_forward, &f.cost.layer_terms[0].core_backward};
    double seconds[2];
    double pairs = lcp_causal_pairs(0, 65536, 0);
    for (int i = 0; i < 2; i++) {
        double effective = pairs * (1 + (cores[i]->half_rows + cores[i]->fill_rows) / 65536);
        seconds[i] = cores[i]->fixed_seconds + cores[i]->seconds_per_pair * effective;
        seconds[i] += cores[i]->seconds_per_token * 65536;
    }
    assert_close(1 / seconds[0], 38.2, 0.15);
    assert_close(1 / (seconds[0] + seconds[1]), 10.6, 0.15);
}

typedef struct hydraulis_row {
    const char *name;
    int64_t hidden, heads, size;
    int32_t layers, tp;
    double quadratic_ms, linear_ms, fixed_ms;
} hydraulis_row;

/* Coefficients that Hydraulis (arXiv 2412.07894) fitted to forward + backward of Llama models on A800-80GB (NVLink at
 * 200e9 bytes/s), one stage, from its release. Nothing here was fitted to them. */
static const hydraulis_row hydraulis_rows[] = {
    {"Hydraulis 7B tp 2", 4096, 32, 11008, 32, 2, 2.05448457e-06, 0.0967076442, 65.179},
    {"Hydraulis 7B tp 4", 4096, 32, 11008, 32, 4, 1.0304334e-06, 0.0564777342, 56.6978},
    {"Hydraulis 7B tp 8", 4096, 32, 11008, 32, 8, 5.06885473e-07, 0.0366182377, 44.3175},
    {"Hydraulis 13B tp 2", 5120, 40, 13824, 40, 2, 2.93719955e-06, 0.180090146, 75.874},
    {"Hydraulis 13B tp 4", 5120, 40, 13824, 40, 4, 1.62871921e-06, 0.0997626395, 76.4382},
    {"Hydraulis 13B tp 8", 5120, 40, 13824, 40, 8, 6.59233262e-07, 0.0666817542, 50.3769},
    {"Hydraulis 32B tp 8", 6656, 52, 17920, 60, 8, 2.12548718e-06, 0.141411593, 122.9102},
};
#define HYDRAULIS_ROWS (sizeof hydraulis_rows / sizeof hydraulis_rows[0])

static void follows_hydraulis_on_a800(void **state)
{
    const hydraulis_row *row = *state;
    cost_fixture f;
    fixture_dense(&f, row->hidden, row->heads, row->heads, row->size, row->layers);
    f.model.vocab_size = 32000;
    fixture_a100_cluster(&f, 1);
    f.groups[0].intra_node.bandwidth_bytes_per_second = 200e9;
    f.layout = fixture_layout(1, 1, row->tp, 1, 1);
    fixture_prepare(&f);
    const int64_t lengths[] = {16384, 32768};
    for (int i = 0; i < 2; i++) {
        lcp_segment segment;
        lcp_chunk chunk = fixture_chunk(&segment, 0, lengths[i], false);
        double n = (double)lengths[i];
        double measured = row->quadratic_ms * n * n + row->linear_ms * n + row->fixed_ms;
        assert_close(fixture_chunk_seconds(&f.cost, &chunk) * 1e3, measured, 0.1);
    }
}

int main(void)
{
    struct CMUnitTest tests[FLEXSP_ROWS + HYDRAULIS_ROWS + 1];
    size_t count = 0;
    for (size_t i = 0; i < FLEXSP_ROWS; i++) {
        tests[count++] = (struct CMUnitTest){.name = flexsp_rows[i].name,
                                             .test_func = follows_flexsp_on_a100,
                                             .initial_state = (void *)(uintptr_t)&flexsp_rows[i]};
    }
    for (size_t i = 0; i < HYDRAULIS_ROWS; i++) {
        tests[count++] = (struct CMUnitTest){.name = hydraulis_rows[i].name,
                                             .test_func = follows_hydraulis_on_a800,
                                             .initial_state = (void *)(uintptr_t)&hydraulis_rows[i]};
    }
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(ring_attention_on_eight_a100);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
