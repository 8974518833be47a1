#include "support.h"

#include "search/candidates.h"
#include "search/legality.h"

#include <stdio.h>
#include <string.h>

/* 8 heads, 2 kv heads, a dense and a mixture layer, 4 layers, 16 nodes of 8; everything below divides. */
typedef struct fixture {
    lcp_problem problem;
    lcp_layer_class classes[2];
    int32_t layer_class[4];
    lcp_group group;
    int64_t lengths[64];
} fixture;

static void make_fixture(fixture *x)
{
    *x = (fixture){.layer_class = {0, 1, 1, 1}};
    x->classes[0].attention = (lcp_attention){.kind = LCP_ATTENTION_GROUPED, .heads = 8, .kv_heads = 2, .head_dim = 64};
    x->classes[0].ffn = (lcp_ffn){.kind = LCP_FFN_GATED, .size = 1000};
    x->classes[1] = x->classes[0];
    x->classes[1].ffn = (lcp_ffn){.kind = LCP_FFN_MOE, .size = 100, .experts = 12, .top_k = 2};
    x->problem.model = (lcp_model){.class_count = 2, .classes = x->classes, .layer_count = 4};
    x->problem.model.layer_class = x->layer_class;
    x->group = (lcp_group){.nodes = 16, .devices_per_node = 8};
    x->problem.cluster = (lcp_cluster){.group_count = 1, .groups = &x->group};
    for (size_t i = 0; i < 64; i++) {
        x->lengths[i] = 4096;
    }
    x->problem.workload = (lcp_workload){.max_length_tokens = 4096, .sequence_count = 64, .lengths_tokens = x->lengths};
}

typedef struct rule_row {
    const char *reason; /* NULL: legal */
    lcp_layout layout;
} rule_row;

#define LAYOUT(...)                                                                                                    \
    {                                                                                                                  \
        .vpp = 1, __VA_ARGS__                                                                                          \
    }
static const rule_row rows[] = {
    {NULL, LAYOUT(.dp = 4, .pp = 2, .tp = 2, .ulysses = 4, .ring = 2, .ep = 4, .zero_stage = 1)},
    {NULL, LAYOUT(.dp = 16, .pp = 1, .tp = 8, .ulysses = 1, .ring = 1, .ep = 1, .zero_stage = 2)},
    {"nodes", LAYOUT(.dp = 1, .pp = 1, .tp = 16, .ulysses = 1, .ring = 8, .ep = 1)},
    {"heads", LAYOUT(.dp = 1, .pp = 1, .tp = 8, .ulysses = 2, .ring = 8, .ep = 1)},
    {"kv_heads", LAYOUT(.dp = 1, .pp = 1, .tp = 1, .ulysses = 1, .ring = 1, .ep = 1)},
    {"ffn", LAYOUT(.dp = 1, .pp = 1, .tp = 8, .ulysses = 1, .ring = 1, .ep = 1)},
    {"layers", LAYOUT(.dp = 16, .pp = 8, .tp = 1, .ulysses = 1, .ring = 1, .ep = 1)},
    {"experts", LAYOUT(.dp = 16, .pp = 1, .tp = 8, .ulysses = 1, .ring = 1, .ep = 8)},
    {"expert_group", LAYOUT(.dp = 2, .pp = 4, .tp = 4, .ulysses = 1, .ring = 4, .ep = 3)},
    {"sinks", LAYOUT(.dp = 16, .pp = 1, .tp = 1, .ulysses = 1, .ring = 8, .ep = 1)},
    {"ring", LAYOUT(.dp = 16, .pp = 1, .tp = 1, .ulysses = 1, .ring = 8, .ep = 1)},
    {"batch", LAYOUT(.dp = 128, .pp = 1, .tp = 1, .ulysses = 1, .ring = 1, .ep = 1)},
    {"alignment", LAYOUT(.dp = 1, .pp = 1, .tp = 4, .ulysses = 2, .ring = 512, .ep = 1)},
    {"zero", LAYOUT(.dp = 32, .pp = 4, .tp = 1, .ulysses = 1, .ring = 1, .ep = 1, .zero_stage = 2)},
    {"equal_chunks", LAYOUT(.dp = 24, .pp = 1, .tp = 1, .ulysses = 1, .ring = 1, .ep = 1)},
    {"trainer", LAYOUT(.dp = 16, .pp = 1, .tp = 1, .ulysses = 8, .ring = 1, .ep = 1)},
};

/* What has to be changed in the fixture for a rule to be the one that breaks. */
static void prepare_for(fixture *x, const char *reason)
{
    if (reason == NULL) {
        return;
    }
    if (strcmp(reason, "kv_heads") == 0) {
        x->classes[0].attention.kv_heads = 3;
    } else if (strcmp(reason, "ffn") == 0) {
        x->classes[0].ffn.size = 1001;
    } else if (strcmp(reason, "sinks") == 0) {
        x->problem.model.attention_needs_all_keys = true;
    } else if (strcmp(reason, "equal_chunks") == 0) {
        x->problem.options.equal_chunks = true;
    } else if (strcmp(reason, "trainer") == 0) { /* two kv heads do not go round among eight ranks */
        snprintf(x->problem.options.trainer, sizeof x->problem.options.trainer, "megatron-lm@0.16");
    } else if (strcmp(reason, "ring") == 0) {
        for (int c = 0; c < 2; c++) {
            x->classes[c].attention = (lcp_attention){.kind = LCP_ATTENTION_STATE_SPACE, .heads = 8};
        }
    }
}

static void each_rule_breaks_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture x;
        make_fixture(&x);
        prepare_for(&x, rows[i].reason);
        lcp_layout layout = rows[i].layout;
        if (rows[i].reason != NULL && strcmp(rows[i].reason, "kv_heads") == 0) {
            layout.tp = 2;
        }
        int32_t broken = lcp_legality_broken(&x.problem, &layout);
        const char *found = broken < 0 ? "legal" : lcp_legality_rules[broken].reason;
        assert_string_equal(found, rows[i].reason == NULL ? "legal" : rows[i].reason);
    }
}

static void every_rule_has_a_row(void **state)
{
    (void)state;
    for (size_t r = 0; r < lcp_legality_rule_count; r++) {
        bool named = false;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            named = named || (rows[i].reason != NULL && strcmp(rows[i].reason, lcp_legality_rules[r].reason) == 0);
        }
        if (!named) {
            fail_msg("rule %s has no row", lcp_legality_rules[r].reason);
        }
    }
}

static void slices_align_to_tile_and_ranks(void **state)
{
    (void)state;
    const lcp_layout one = LAYOUT(.tp = 1, .ulysses = 1, .ring = 1);
    const lcp_layout twelve = LAYOUT(.tp = 3, .ulysses = 2, .ring = 2);
    assert_int_equal(lcp_slice_alignment(&one), 128);
    assert_int_equal(lcp_slice_alignment(&twelve), 384); /* lcm(128, 2 * 2 * 2 * 3) */
}

static void summary_keeps_counts_and_tokens(void **state)
{
    (void)state;
    int64_t lengths[1000];
    double tokens = 0;
    for (int i = 0; i < 1000; i++) {
        lengths[i] = 1 + (int64_t)i * i % 7919;
        tokens += (double)lengths[i];
    }
    lcp_workload workload = {.sequence_count = 1000, .lengths_tokens = lengths};
    lcp_length_summary summary;
    assert_int_equal(lcp_length_summarize(&summary, &workload, NULL), LCP_OK);
    double sum = 0;
    int64_t count = 0;
    for (int32_t g = 0; g < summary.count; g++) {
        sum += summary.groups[g].mean_tokens * (double)summary.groups[g].count;
        count += summary.groups[g].count;
        assert_true((double)summary.groups[g].shortest_tokens <= summary.groups[g].mean_tokens);
    }
    assert_int_equal(count, 1000);
    assert_close(sum, tokens, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_breaks_alone),
        cmocka_unit_test(every_rule_has_a_row),
        cmocka_unit_test(slices_align_to_tile_and_ranks),
        cmocka_unit_test(summary_keeps_counts_and_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
