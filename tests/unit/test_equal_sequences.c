/* Whole sequences of one length cost what the same segments cost one by one. */
#include "support.h"

#include "cost_fixture.h"

#include <string.h>

#define MOST 7

static void assert_seconds(const lcp_seconds *a, const lcp_seconds *b)
{
    assert_close(a->compute, b->compute, 1e-12);
    assert_close(a->exposed_tp, b->exposed_tp, 1e-12);
    assert_close(a->exposed_cp, b->exposed_cp, 1e-9);
    assert_close(a->exposed_ep, b->exposed_ep, 1e-12);
    assert_close(a->exposed_dp, b->exposed_dp, 1e-9);
}

static void assert_bytes(int64_t a, int64_t b)
{
    assert_close((double)a, (double)b, 1e-12);
}

static void assert_layers(const lcp_layer_cost *a, const lcp_layer_cost *b)
{
    assert_seconds(&a->forward, &b->forward);
    assert_seconds(&a->input_grad, &b->input_grad);
    assert_seconds(&a->weight_grad, &b->weight_grad);
    for (int32_t p = 0; p < LCP_RECOMPUTE_COUNT; p++) {
        assert_seconds(&a->recompute[p], &b->recompute[p]);
        assert_bytes(a->kept_bytes[p], b->kept_bytes[p]);
    }
    assert_bytes(a->kv_bytes, b->kv_bytes);
    assert_bytes(a->kv_grad_bytes, b->kv_grad_bytes);
    assert_bytes(a->working_bytes, b->working_bytes);
    assert_bytes(a->working_none_bytes, b->working_none_bytes);
    const double *x = (const double *)&a->forward_kernels;
    const double *y = (const double *)&b->forward_kernels;
    for (int32_t i = 0; i < 6; i++) { /* both directions, three classes */
        assert_close(x[i], y[i], 1e-9);
    }
    assert_close(a->hidden_cp, b->hidden_cp, 1e-9);
    assert_close(a->hidden_dp, b->hidden_dp, 1e-9);
    assert_close(a->forward_flops, b->forward_flops, 1e-12);
    assert_close(a->communicated_bytes, b->communicated_bytes, 1e-12);
}

static void assert_ends(const lcp_end_cost *a, const lcp_end_cost *b)
{
    assert_seconds(&a->forward, &b->forward);
    assert_seconds(&a->input_grad, &b->input_grad);
    assert_seconds(&a->weight_grad, &b->weight_grad);
    assert_bytes(a->kept_bytes, b->kept_bytes);
    assert_bytes(a->working_bytes, b->working_bytes);
    assert_close(a->forward_flops, b->forward_flops, 1e-12);
}

static void compare(const cost_fixture *f, int32_t sequences, int64_t length)
{
    lcp_segment segments[MOST];
    for (int32_t i = 0; i < sequences; i++) {
        segments[i] = (lcp_segment){.sequence = i, .length_tokens = length};
    }
    lcp_chunk chunk = {.segment_count = sequences, .segments = segments};
    lcp_layer_cost layer, layer_equal;
    lcp_end_cost end, end_equal;
    lcp_cost_layer(&f->cost, 0, &chunk, &layer);
    lcp_cost_layer_equal(&f->cost, 0, sequences, length, &layer_equal);
    assert_layers(&layer_equal, &layer);
    lcp_cost_embedding(&f->cost, &chunk, &end);
    lcp_cost_embedding_equal(&f->cost, sequences, length, &end_equal);
    assert_ends(&end_equal, &end);
    lcp_cost_head(&f->cost, &chunk, &end);
    lcp_cost_head_equal(&f->cost, sequences, length, &end_equal);
    assert_ends(&end_equal, &end);
    int64_t padded = lcp_cost_padded_tokens(&f->cost, &chunk);
    assert_int_equal(lcp_cost_padded_tokens_equal(&f->cost, sequences, length), padded);
    assert_true(lcp_cost_hop_seconds_of_tokens(&f->cost, padded) == lcp_cost_hop_seconds(&f->cost, &chunk));
}

static void set_case(cost_fixture *f, int32_t number)
{
    const int32_t degrees[][3] = {{1, 1, 1}, {4, 1, 1}, {2, 4, 1}, {1, 1, 8}, {2, 2, 2}};
    if (number % 3 == 0) {
        fixture_llama(f);
    } else if (number % 3 == 1) {
        fixture_deepseek(f);
        f->model.mtp_count = 1;
    } else {
        fixture_gpt(f, 4096, 32, 16);
        f->classes[0].attention.window_tokens = 300;
    }
    f->model.mtp_class = f->model.mtp_count > 0 ? 0 : -1;
    fixture_a100_cluster(f, 4);
    const int32_t *d = degrees[number % 5];
    f->layout = fixture_layout(2, 1 + number % 2, d[0], d[1], d[2]);
    f->layout.zero_stage = number % 4;
    f->layout.ring_method = (lcp_ring_method)(number % 3);
    f->training.attention_core = (lcp_attention_core)(number / 3 % 2);
    f->training.dropout = number % 2 == 1;
    f->training.loss = (lcp_loss)(number % 5);
    f->groups[0].device.layer_host_seconds = number % 4 == 2 ? 1e-3 : 0;
    fixture_prepare(f);
}

static void one_by_one(void **state)
{
    (void)state;
    const int64_t lengths[] = {1, 17, 512, 1000, 4096, 65536};
    for (int32_t number = 0; number < 60; number++) {
        cost_fixture f;
        set_case(&f, number);
        for (int32_t sequences = 1; sequences <= MOST; sequences++) {
            for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
                compare(&f, sequences, lengths[i]);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_by_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
