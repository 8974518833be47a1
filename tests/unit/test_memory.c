#include "support.h"

#include "cost_fixture.h"

#include <string.h>

static lcp_layer_cost price(const cost_fixture *f, int64_t offset, int64_t length, bool has_successor)
{
    lcp_segment segment;
    lcp_chunk chunk = fixture_chunk(&segment, offset, length, has_successor);
    lcp_layer_cost out;
    lcp_cost_layer(&f->cost, 0, &chunk, &out);
    return out;
}

/* Bytes kept for each token of a Llama-3.1-8B layer, 16 bits, h = 4096, f = 14336:
 * two inputs and two norm outputs 8 h; q 2 h; k, v 2 * 2 * 1024; core output 2 h; log-sum-exp 4 * 32; gate, up and
 * their product 6 f. */
typedef struct kept_row {
    lcp_recompute policy;
    int64_t bytes;
} kept_row;

static const kept_row kept_rows[] = {
    {LCP_RECOMPUTE_NONE, 8 * 4096 + 2 * 4096 + 4 * 1024 + 2 * 4096 + 128 + 6 * 14336},
    {LCP_RECOMPUTE_ACTIVATION, 4 * 4096 + 2 * 4096 + 4 * 1024 + 2 * 4096 + 128 + 4 * 14336},
    {LCP_RECOMPUTE_MLP, 4 * 4096 + 2 * 4096 + 4 * 1024 + 2 * 4096 + 128},
    {LCP_RECOMPUTE_ATTENTION_OUTPUT, 2 * 4096 + 2 * 4096 + 128},
    {LCP_RECOMPUTE_FULL, 2 * 4096},
};

static void kept_bytes_by_policy(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_llama(&f);
    fixture_ideal_cluster(&f, 1);
    fixture_prepare(&f);
    lcp_layer_cost c = price(&f, 0, 131072, false);
    for (size_t i = 0; i < LCP_RECOMPUTE_COUNT; i++) {
        assert_int_equal(c.kept_bytes[kept_rows[i].policy], kept_rows[i].bytes * 131072);
    }
    assert_int_equal(c.kv_bytes, 0);
    assert_int_equal(c.kv_grad_bytes, 0);
    /* TP 4 and ring 2 divide everything. */
    f.layout = fixture_layout(1, 1, 4, 1, 2);
    fixture_prepare(&f);
    c = price(&f, 0, 131072, false);
    for (size_t i = 0; i < LCP_RECOMPUTE_COUNT; i++) {
        assert_int_equal(c.kept_bytes[kept_rows[i].policy], kept_rows[i].bytes * 131072 / 8);
    }
    /* Under Ulysses the core output exists by heads and by tokens. */
    f.layout = fixture_layout(1, 1, 4, 2, 1);
    fixture_prepare(&f);
    c = price(&f, 0, 131072, false);
    assert_int_equal(c.kept_bytes[LCP_RECOMPUTE_NONE], (kept_rows[0].bytes + 2 * 4096) * 131072 / 8);
}

static void dropped_keys_survive_for_later_slices(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_llama(&f);
    fixture_ideal_cluster(&f, 1);
    fixture_prepare(&f);
    lcp_layer_cost last = price(&f, 4096, 8192, false);
    lcp_layer_cost inner = price(&f, 4096, 8192, true);
    int64_t kv = 8192 * 2 * 2 * 1024;
    assert_int_equal(inner.kv_bytes, kv);
    assert_int_equal(inner.kv_grad_bytes, 2 * kv);
    assert_int_equal(inner.kept_bytes[LCP_RECOMPUTE_FULL], last.kept_bytes[LCP_RECOMPUTE_FULL] + kv);
    assert_int_equal(inner.kept_bytes[LCP_RECOMPUTE_ATTENTION_OUTPUT],
                     last.kept_bytes[LCP_RECOMPUTE_ATTENTION_OUTPUT] + kv);
    assert_int_equal(inner.kept_bytes[LCP_RECOMPUTE_NONE], last.kept_bytes[LCP_RECOMPUTE_NONE]);
    assert_int_equal(inner.kept_bytes[LCP_RECOMPUTE_MLP], last.kept_bytes[LCP_RECOMPUTE_MLP]);
    f.training.kv_gradient_bytes = 2;
    fixture_prepare(&f);
    assert_int_equal(price(&f, 4096, 8192, true).kv_grad_bytes, kv);
}

/* MEMO (arXiv 2407.12117) counts 16 elements of 16 bits a token, layer and hidden unit, and 4096 GB for 7B at 1M
 * tokens; the log-sum-exp (4 bytes a head) is not in that count. */
static void gpt_7b_at_a_million_tokens(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_gpt(&f, 4096, 32, 32);
    fixture_ideal_cluster(&f, 1);
    fixture_prepare(&f);
    lcp_layer_cost c = price(&f, 0, INT64_C(1) << 20, false);
    double gib = 32.0 * (double)c.kept_bytes[LCP_RECOMPUTE_NONE] / 1073741824.0;
    assert_close(gib, 4096, 2e-3);
    assert_int_equal(c.kept_bytes[LCP_RECOMPUTE_NONE], (INT64_C(1) << 20) * (32 * 4096 + 4 * 32));
}

static void policies_never_keep_more(const cost_fixture *f, int64_t offset, int64_t length, bool has_successor)
{
    lcp_layer_cost c = price(f, offset, length, has_successor);
    const int64_t *kept = c.kept_bytes;
    assert_true(kept[LCP_RECOMPUTE_NONE] >= kept[LCP_RECOMPUTE_ACTIVATION]);
    assert_true(kept[LCP_RECOMPUTE_ACTIVATION] >= kept[LCP_RECOMPUTE_MLP]);
    assert_true(kept[LCP_RECOMPUTE_NONE] >= kept[LCP_RECOMPUTE_ATTENTION_OUTPUT]);
    assert_true(kept[LCP_RECOMPUTE_ATTENTION_OUTPUT] >= kept[LCP_RECOMPUTE_FULL]);
    assert_true(kept[LCP_RECOMPUTE_FULL] >= c.kv_bytes);
    assert_true(c.working_bytes >= c.working_none_bytes && c.working_none_bytes > 0);
    const double full = lcp_seconds_sum(&c.recompute[LCP_RECOMPUTE_FULL]);
    for (int p = 0; p < LCP_RECOMPUTE_COUNT; p++) {
        double seconds = lcp_seconds_sum(&c.recompute[p]);
        assert_true(seconds >= 0 && seconds <= full * (1 + 1e-12));
    }
}

static void set_kind(cost_fixture *f, lcp_attention_kind kind)
{
    if (kind == LCP_ATTENTION_LATENT) {
        fixture_deepseek(f);
    } else {
        fixture_llama(f);
    }
    lcp_attention *a = &f->classes[0].attention;
    if (kind == LCP_ATTENTION_STATE_SPACE) {
        *a = (lcp_attention){.kind = kind, .heads = 128, .head_dim = 64, .state_size = 128, .groups = 8};
    } else if (kind == LCP_ATTENTION_LINEAR) {
        *a = (lcp_attention){.kind = kind, .heads = 32, .kv_heads = 16, .head_dim = 128, .v_head_dim = 128};
    } else if (kind == LCP_ATTENTION_NONE) {
        *a = (lcp_attention){0};
    }
}

static void every_kind_is_monotone_in_the_policy(void **state)
{
    (void)state;
    const int32_t degrees[][3] = {{1, 1, 1}, {4, 1, 1}, {1, 8, 1}, {1, 1, 8}, {2, 2, 2}, {8, 2, 1}};
    for (int kind = 0; kind < LCP_ATTENTION_KIND_COUNT; kind++) {
        for (size_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++) {
            for (int expanded = 0; expanded < 2; expanded++) {
                cost_fixture f;
                set_kind(&f, (lcp_attention_kind)kind);
                fixture_a100_cluster(&f, 2);
                f.layout = fixture_layout(1, 1, degrees[i][0], degrees[i][1], degrees[i][2]);
                f.training.mla_keeps_expanded_kv = expanded == 1;
                fixture_prepare(&f);
                policies_never_keep_more(&f, 0, 30001, false);
                policies_never_keep_more(&f, 0, 16384, true);
                policies_never_keep_more(&f, 65536, 777, true);
            }
        }
    }
}

/* Dense layer of Llama-3.1-8B under TP 4: (218103808 / 4 + 8192) parameters a rank, 8 * 2 replicas. */
typedef struct zero_row {
    const char *name;
    int32_t zero;
    double parameters, gradients, optimizer; /* bytes a parameter before division */
    double parameter_shards, gradient_shards, optimizer_shards;
} zero_row;

static const zero_row zero_rows[] = {
    {"zero 0", 0, 2, 4, 12, 1, 1, 1},
    {"zero 1", 1, 2, 4, 12, 1, 1, 16},
    {"zero 2", 2, 2, 4, 12, 1, 16, 16},
    {"zero 3", 3, 2, 4, 12, 16, 16, 16},
};
#define ZERO_ROWS (sizeof zero_rows / sizeof zero_rows[0])

static void zero_divides_states(void **state)
{
    const zero_row *row = *state;
    cost_fixture f;
    fixture_llama(&f);
    f.classes[0].norm_parameters = 8192;
    fixture_ideal_cluster(&f, 8);
    f.layout = fixture_layout(8, 1, 4, 2, 1);
    f.layout.zero_stage = row->zero;
    fixture_prepare(&f);
    double local = 218103808.0 / 4 + 8192;
    const lcp_static_bytes *bytes = &f.cost.layer_static[0];
    assert_close((double)bytes->parameters, local * row->parameters / row->parameter_shards, 1e-7);
    assert_close((double)bytes->gradients, local * row->gradients / row->gradient_shards, 1e-7);
    assert_close((double)bytes->optimizer, local * row->optimizer / row->optimizer_shards, 1e-7);
}

static void experts_shard_over_their_own_replicas(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_deepseek(&f);
    fixture_ideal_cluster(&f, 4);
    f.layout = fixture_layout(16, 1, 2, 1, 1);
    f.layout.ep = 8;
    f.layout.zero_stage = 1;
    fixture_prepare(&f);
    double experts = 64 * 3.0 * 2048 * 1408 / 8;
    /* q, kv up, o and the shared experts under TP 2; kv down, router and norms whole. */
    double dense =
        (2048.0 * 3072 + 512.0 * 4096 + 2048.0 * 2048 + 3.0 * 2048 * 2816) / 2 + 2048.0 * 576 + 2048 * 64 + 2 * 2048;
    assert_close((double)f.cost.layer_static[0].parameters, 2 * (experts + dense), 1e-9);
    assert_close((double)f.cost.layer_static[0].optimizer, 12 * (experts / 4 + dense / 16), 1e-7);
}

static void optimizers_and_precisions(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_llama(&f);
    fixture_ideal_cluster(&f, 1);
    double count = 218103808.0 + 2 * 4096;
    f.training.optimizer = LCP_OPTIMIZER_SGD;
    fixture_prepare(&f);
    assert_close((double)f.cost.layer_static[0].optimizer, 8 * count, 1e-12);
    double sgd_step = f.cost.layer_step[0].optimizer;
    f.training.optimizer = LCP_OPTIMIZER_MUON;
    fixture_prepare(&f);
    assert_close((double)f.cost.layer_static[0].optimizer, 8 * count, 1e-12);
    assert_true(f.cost.layer_step[0].optimizer > 2 * sgd_step);
    f.training.precision = LCP_PRECISION_FP32;
    f.training.optimizer = LCP_OPTIMIZER_ADAM;
    fixture_prepare(&f);
    assert_close((double)f.cost.layer_static[0].optimizer, 8 * count, 1e-12);
    assert_close((double)f.cost.layer_static[0].parameters, 4 * count, 1e-12);
}

static void tied_table_is_copied_to_the_last_stage(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_llama(&f);
    fixture_ideal_cluster(&f, 1);
    f.model.tied_embeddings = true;
    fixture_prepare(&f);
    assert_int_equal(f.cost.head_static.parameters, 0);
    f.layout = fixture_layout(1, 2, 4, 1, 1);
    fixture_prepare(&f);
    assert_int_equal(f.cost.head_static.parameters, 2 * 4096 * 128256 / 4);
    assert_int_equal(f.cost.embedding_static.parameters, 2 * 4096 * 128256 / 4);
}

typedef struct loss_row {
    const char *name;
    lcp_loss loss;
    double kept, working; /* bytes a logit */
    double hidden;        /* bytes a hidden unit */
} loss_row;

static const loss_row loss_rows[] = {
    {"eager loss", LCP_LOSS_EAGER, 6, 4, 2},
    {"fused loss", LCP_LOSS_FUSED, 2, 0, 2},
    {"chunked loss", LCP_LOSS_CHUNKED, 0, 0.25, 4},
};
#define LOSS_ROWS (sizeof loss_rows / sizeof loss_rows[0])

static void logits_by_loss(void **state)
{
    const loss_row *row = *state;
    cost_fixture f;
    fixture_llama(&f);
    fixture_ideal_cluster(&f, 1);
    f.training.loss = row->loss;
    f.layout = fixture_layout(1, 1, 4, 2, 1);
    fixture_prepare(&f);
    lcp_segment segment;
    lcp_chunk chunk = fixture_chunk(&segment, 0, 8192, false);
    lcp_end_cost head;
    lcp_cost_head(&f.cost, &chunk, &head);
    assert_close((double)head.kept_bytes, 8192 / 8.0 * (row->kept * 128256 + row->hidden * 4096), 1e-12);
    assert_close((double)head.working_bytes, 8192 / 8.0 * row->working * 128256, 1e-12);
    assert_close(head.forward_flops, 2.0 * 8192 * 4096 * 128256, 1e-12);
}

static void multi_token_prediction_adds_a_layer_and_a_head(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_llama(&f);
    fixture_ideal_cluster(&f, 1);
    fixture_prepare(&f);
    lcp_segment segment;
    lcp_chunk chunk = fixture_chunk(&segment, 0, 8192, false);
    lcp_end_cost plain;
    lcp_cost_head(&f.cost, &chunk, &plain);
    lcp_static_bytes before = f.cost.head_static;
    lcp_layer_cost layer = price(&f, 0, 8192, false);
    f.model.mtp_count = 1;
    f.model.mtp_class = 0;
    fixture_prepare(&f);
    lcp_end_cost head;
    lcp_cost_head(&f.cost, &chunk, &head);
    double projection = 2.0 * 8192 * 2 * 4096 * 4096;
    assert_close(head.forward_flops, 2 * plain.forward_flops + projection + layer.forward_flops, 1e-12);
    assert_close((double)(f.cost.head_static.parameters - before.parameters),
                 (double)f.cost.layer_static[0].parameters + 2 * (2.0 * 4096 * 4096 + 2 * 4096), 1e-9);
    assert_true(head.kept_bytes >= plain.kept_bytes + layer.kept_bytes[LCP_RECOMPUTE_NONE]);
}

static void reserve_and_buffers(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_llama(&f);
    fixture_ideal_cluster(&f, 4);
    f.groups[0].device.fixed_memory_bytes = 1000;
    fixture_prepare(&f);
    assert_int_equal(f.cost.capacity_bytes, 100000000000);
    assert_close((double)f.cost.reserve_bytes, 10000000000.0, 1e-9);
    assert_int_equal(lcp_cost_buffer_bytes(&f.cost, 0), 1000);
    f.layout = fixture_layout(1, 2, 4, 2, 2);
    fixture_prepare(&f);
    /* Four boundary tensors; two ring blocks of keys and values (a quarter of 8 heads over Ulysses and ring 2); one
     * side of the exchange: 20 heads of 128 for a quarter of the tokens. */
    int64_t boundary = 4 * 2 * 4096 / 16;
    int64_t blocks = 2 * 2 * 256 / 2;
    int64_t exchange = 2 * 20 * 128 / 4;
    assert_int_equal(lcp_cost_buffer_bytes(&f.cost, 8192), 1000 + 8192 * (boundary + blocks + exchange));
    lcp_segment segment;
    lcp_chunk chunk = fixture_chunk(&segment, 0, 8192, false);
    assert_int_equal(lcp_cost_hop_bytes(&f.cost, &chunk), 8192 * boundary / 4);
    assert_close(lcp_cost_hop_seconds(&f.cost, &chunk), 8192.0 * (double)boundary / 4 / 8.5e9, 1e-12);
    f.layout = fixture_layout(1, 1, 4, 2, 2);
    fixture_prepare(&f);
    assert_true(lcp_cost_hop_seconds(&f.cost, &chunk) == 0);
}

static void impossible_sizes_are_refused(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_llama(&f);
    fixture_ideal_cluster(&f, 1);
    f.classes[0].ffn.size = (INT64_C(1) << 31) - 1;
    f.model.hidden_size = (INT64_C(1) << 31) - 1;
    lcp_error err = {0};
    lcp_status status = lcp_cost_prepare(&f.cost, &f.model, &f.cluster, &f.layout, &f.training, &err);
    assert_int_equal(status, LCP_INPUT);
    assert_int_equal(err.status, LCP_INPUT);
}

int main(void)
{
    const struct CMUnitTest plain[] = {
        cmocka_unit_test(kept_bytes_by_policy),
        cmocka_unit_test(dropped_keys_survive_for_later_slices),
        cmocka_unit_test(gpt_7b_at_a_million_tokens),
        cmocka_unit_test(every_kind_is_monotone_in_the_policy),
        cmocka_unit_test(experts_shard_over_their_own_replicas),
        cmocka_unit_test(optimizers_and_precisions),
        cmocka_unit_test(tied_table_is_copied_to_the_last_stage),
        cmocka_unit_test(multi_token_prediction_adds_a_layer_and_a_head),
        cmocka_unit_test(reserve_and_buffers),
        cmocka_unit_test(impossible_sizes_are_refused),
    };
    const size_t plain_count = sizeof plain / sizeof plain[0];
    struct CMUnitTest tests[sizeof plain / sizeof plain[0] + ZERO_ROWS + LOSS_ROWS];
    memcpy(tests, plain, sizeof plain);
    for (size_t i = 0; i < ZERO_ROWS; i++) {
        tests[plain_count + i] = (struct CMUnitTest){.name = zero_rows[i].name,
                                                     .test_func = zero_divides_states,
                                                     .initial_state = (void *)(uintptr_t)&zero_rows[i]};
    }
    for (size_t i = 0; i < LOSS_ROWS; i++) {
        tests[plain_count + ZERO_ROWS + i] = (struct CMUnitTest){
            .name = loss_rows[i].name, .test_func = logits_by_loss, .initial_state = (void *)(uintptr_t)&loss_rows[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
