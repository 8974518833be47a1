#include "support.h"

#include "export/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 16 heads over 8 kv heads, experts in half of the layers, 16 layers, 64 devices; legal for all in some degrees. */
typedef struct fixture {
    lcp_model model;
    lcp_layer_class classes[2];
    int32_t layer_class[16];
    lcp_setup run;
} fixture;

static void make_fixture(fixture *x)
{
    *x = (fixture){.layer_class = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}};
    x->classes[0].attention =
        (lcp_attention){.kind = LCP_ATTENTION_GROUPED, .heads = 16, .kv_heads = 8, .head_dim = 64};
    x->classes[0].ffn = (lcp_ffn){.kind = LCP_FFN_GATED, .size = 1024};
    x->classes[1] = x->classes[0];
    x->classes[1].ffn = (lcp_ffn){.kind = LCP_FFN_MOE, .size = 128, .experts = 8, .top_k = 2};
    x->model = (lcp_model){.class_count = 2, .classes = x->classes, .layer_count = 16, .layer_class = x->layer_class};
    x->run = (lcp_setup){
        .model = &x->model,
        .layout = {.dp = 64, .pp = 1, .vpp = 1, .tp = 1, .ulysses = 1, .ring = 1, .ep = 1},
        .devices = 64,
        .sequence_tokens = 4096,
        .equal_lengths = true,
        .sequences = 128,
        .micro_sequences = 1,
        .microbatches = 2,
        .stage_count = 1,
        .stage_layers = {16},
    };
}

static void stages(lcp_setup *run, int32_t count, const int32_t *layers)
{
    run->stage_count = count;
    memcpy(run->stage_layers, layers, (size_t)count * sizeof *layers);
}

/* What has to change for a rule to break; nothing is kept consistent with other rules. */
static void break_world(fixture *x)
{
    x->run.devices = 72;
}

static void break_expert_world(fixture *x)
{
    x->run.layout.ep = 3;
    x->classes[1].ffn.experts = 9;
}

static void break_heads(fixture *x)
{
    x->run.layout.tp = 3;
}

static void break_kv_heads(fixture *x)
{
    x->run.layout.tp = 16;
    x->classes[0].attention.kv_heads = 6;
}

static void break_a2a(fixture *x)
{
    x->run.layout.ulysses = 3;
}

static void break_state_heads(fixture *x)
{
    x->classes[0].attention = (lcp_attention){.kind = LCP_ATTENTION_STATE_SPACE, .heads = 6, .groups = 2};
    x->run.layout.ring = 4;
}

static void break_linear_heads(fixture *x)
{
    x->classes[0].attention = (lcp_attention){.kind = LCP_ATTENTION_LINEAR, .heads = 16, .kv_heads = 6};
    x->run.layout.ring = 4;
}

static void break_length(fixture *x)
{
    x->run.sequence_tokens = 4097;
    x->run.layout.ring = 2;
    x->run.layout.ulysses = 2;
}

static void break_positions(fixture *x)
{
    x->model.learned_positions = true;
    x->model.max_position_tokens = 2048;
}

static void break_split(fixture *x)
{
    static const int32_t layers[] = {3, 5, 4, 4};
    x->run.layout.pp = 4;
    stages(&x->run, 4, layers);
}

static void break_sum(fixture *x)
{
    static const int32_t layers[] = {8, 9};
    x->run.layout.pp = 2;
    stages(&x->run, 2, layers);
}

static void break_interleaving(fixture *x)
{
    x->run.layout.vpp = 2;
}

static void break_stage_count(fixture *x)
{
    x->run.layout.pp = 19;
}

static void break_tied(fixture *x)
{
    x->model.tied_embeddings = true;
    x->run.layout.pp = 2;
}

static void break_mtp(fixture *x)
{
    x->model.mtp_count = 1;
    x->run.layout.pp = 2;
}

static void break_batch(fixture *x)
{
    x->run.sequences = 127;
}

static void break_micro(fixture *x)
{
    x->run.micro_sequences = 4;
}

static void break_rounds(fixture *x)
{
    x->run.layout.pp = 4;
    x->run.layout.vpp = 2;
    x->run.microbatches = 9;
}

static void break_filling(fixture *x)
{
    x->run.layout.pp = 4;
    x->run.microbatches = 1;
}

static void break_experts(fixture *x)
{
    x->run.layout.ep = 16;
}

static void break_no_experts(fixture *x)
{
    x->classes[1] = x->classes[0];
    x->run.layout.ep = 2;
}

static void break_levels(fixture *x)
{
    x->run.layout.ulysses = 2;
    x->run.layout.ring = 2;
    x->run.layout.ring_method = LCP_RING_ALL_GATHER;
}

static void break_window(fixture *x)
{
    x->classes[1].attention.window_tokens = 128;
    x->run.layout.ring = 2;
}

static void break_sinks(fixture *x)
{
    x->model.attention_needs_all_keys = true;
    x->run.layout.ring = 2;
}

static void break_zero_two(fixture *x)
{
    x->run.layout.zero_stage = 2;
    x->run.layout.pp = 2;
}

static void break_zero_one(fixture *x)
{
    x->run.layout.zero_stage = 1;
}

static void break_pp(fixture *x)
{
    x->run.layout.pp = 2;
}

static void break_ring(fixture *x)
{
    x->run.layout.ring = 2;
}

static void break_ulysses(fixture *x)
{
    x->run.layout.ulysses = 2;
}

static void break_ep(fixture *x)
{
    x->run.layout.ep = 2;
}

static void break_tp(fixture *x)
{
    x->run.layout.tp = 2;
}

static void break_gather(fixture *x)
{
    x->run.layout.ring = 2;
    x->run.layout.ring_method = LCP_RING_ALL_GATHER;
}

typedef struct breaking {
    const char *trainer; /* NULL: any that has the rule */
    const char *id;
    void (*apply)(fixture *x);
    int64_t below, above;                /* nearest legal values, 0 = none */
    bool (*holds)(const lcp_setup *run); /* of two rules with one id, this one; NULL = any */
} breaking;

static const breaking breakings[] = {
    {NULL, "W1", break_world, 64, 0, NULL},
    {NULL, "W2", break_expert_world, 2, 4, NULL},
    {NULL, "W3", break_world, 64, 0, NULL},
    {NULL, "W4", break_expert_world, 2, 4, NULL},
    {NULL, "H1", break_heads, 2, 4, NULL},
    {"nanotron", "H2", break_kv_heads, 6, 0, NULL},
    {NULL, "H2", break_kv_heads, 2, 24, lcp_rule_kv_tp_either},
    {NULL, "H2", break_kv_heads, 2, 0, NULL},
    {NULL, "H4", break_a2a, 2, 4, NULL},
    {NULL, "H5", break_a2a, 2, 4, NULL},
    {NULL, "H6", break_state_heads, 0, 0, NULL},
    {NULL, "H7", break_linear_heads, 0, 0, NULL},
    {"nanotron", "S1", break_length, 4096, 4100, NULL},
    {NULL, "S1", break_length, 4096, 4104, NULL},
    {NULL, "S2", break_length, 4096, 4098, NULL},
    {NULL, "S3", break_length, 4096, 4100, NULL},
    {NULL, "S6", break_positions, 2048, 0, NULL},
    {NULL, "S7", break_length, 4096, 4104, NULL},
    {NULL, "P1", break_split, 0, 0, NULL},
    {NULL, "P3", break_split, 0, 0, NULL},
    {NULL, "P6", break_interleaving, 0, 2, NULL},
    {NULL, "P8", break_sum, 0, 0, NULL},
    {NULL, "P9", break_stage_count, 18, 0, NULL},
    {NULL, "P10", break_tied, 1, 0, NULL},
    {NULL, "P11", break_mtp, 1, 0, NULL},
    {NULL, "M1", break_batch, 64, 128, NULL},
    {NULL, "M1b", break_micro, 0, 256, NULL},
    {NULL, "M2", break_rounds, 8, 12, NULL},
    {NULL, "M3", break_rounds, 8, 10, NULL},
    {"torchtitan", "M4", break_filling, 0, 4, NULL},
    {"nanotron", "M4", break_filling, 0, 3, NULL},
    {NULL, "E1", break_experts, 8, 0, NULL},
    {NULL, "E2", break_no_experts, 1, 0, NULL},
    {NULL, "C1", break_levels, 1, 0, NULL},
    {NULL, "C3", break_window, 1, 0, NULL},
    {NULL, "C4", break_sinks, 1, 0, NULL},
    {"torchtitan", "Z1", break_zero_one, 0, 2, NULL},
    {"torch-pipelining", "Z1", break_zero_one, 0, 0, NULL},
    {NULL, "Z1", break_zero_two, 1, 0, NULL},
    {"torchtitan", "Z2", break_zero_two, 1, 3, NULL},
    {NULL, "Z2", break_zero_two, 1, 0, NULL},
    {NULL, "D1", break_pp, 1, 0, NULL},
    {NULL, "D2", break_interleaving, 1, 0, NULL},
    {NULL, "D3", break_ulysses, 1, 0, NULL},
    {NULL, "D4", break_ring, 1, 0, NULL},
    {NULL, "D5", break_ep, 1, 0, NULL},
    {NULL, "D6", break_tp, 1, 0, NULL},
    {NULL, "D7", break_gather, 1, 0, NULL},
    {NULL, "D8", break_ring, 1, 0, NULL},
};

static const breaking *breaking_of(const char *trainer, const char *id, bool (*holds)(const lcp_setup *run))
{
    for (size_t i = 0; i < sizeof breakings / sizeof breakings[0]; i++) {
        bool own = breakings[i].trainer == NULL || strcmp(breakings[i].trainer, trainer) == 0;
        own = own && (breakings[i].holds == NULL || breakings[i].holds == holds);
        if (own && strcmp(breakings[i].id, id) == 0) {
            return &breakings[i];
        }
    }
    fail_msg("no case breaks rule %s of %s", id, trainer);
    return NULL;
}

/* A version in which the rule is in force. */
static lcp_target target_with(const lcp_trainer *trainer, const lcp_trainer_rule *rule)
{
    lcp_target target = {.trainer = trainer};
    while (trainer->versions[target.version] != NULL && !lcp_rule_applies(rule, &target)) {
        target.version++;
    }
    assert_non_null(trainer->versions[target.version]);
    return target;
}

static bool is_broken(const lcp_target *target, const lcp_setup *run, const lcp_trainer_rule *wanted)
{
    const lcp_trainer_rule *rule = NULL;
    while ((rule = lcp_rule_broken(target, run, rule)) != NULL && rule != wanted) {
    }
    return rule == wanted;
}

static void check_nearest(const lcp_trainer *trainer, const lcp_trainer_rule *rule, const fixture *x,
                          const breaking *how)
{
    lcp_nearest_values near = lcp_rule_nearest(rule, &x->run);
    lcp_setup changed = x->run;
    if (near.has_below) {
        lcp_setup_set(&changed, rule->field, near.below);
        assert_true(rule->holds(&changed));
    }
    if (near.has_above) {
        lcp_setup_set(&changed, rule->field, near.above);
        assert_true(rule->holds(&changed));
    }
    if (near.below != how->below || near.above != how->above) {
        fail_msg("%s %s: nearest %lld and %lld, expected %lld and %lld", trainer->name, rule->id, (long long)near.below,
                 (long long)near.above, (long long)how->below, (long long)how->above);
    }
}

static void every_rule_breaks(void **state)
{
    (void)state;
    for (size_t t = 0; t < lcp_trainer_count(); t++) {
        const lcp_trainer *trainer = lcp_trainer_at(t);
        for (const lcp_trainer_rule *rule = trainer->rules; rule->id != NULL; rule++) {
            fixture *x = malloc(sizeof *x);
            assert_non_null(x);
            const breaking *how = breaking_of(trainer->name, rule->id, rule->holds);
            lcp_target target = target_with(trainer, rule);
            make_fixture(x);
            if (is_broken(&target, &x->run, rule)) {
                fail_msg("%s %s is broken from the start", trainer->name, rule->id);
            }
            how->apply(x);
            if (!is_broken(&target, &x->run, rule)) {
                fail_msg("%s %s does not break", trainer->name, rule->id);
            }
            check_nearest(trainer, rule, x, how);
            free(x);
        }
    }
}

static void legal_for_all(void **state)
{
    (void)state;
    fixture x;
    for (size_t t = 0; t < lcp_trainer_count(); t++) {
        lcp_target target;
        assert_true(lcp_target_parse(&target, lcp_trainer_at(t)->name));
        make_fixture(&x);
        assert_null(lcp_rule_broken(&target, &x.run, NULL));
    }
}

/* Rules that only some versions have. */
static void versions_differ(void **state)
{
    (void)state;
    static const struct {
        const char *trainer, *id;
        bool broken;
    } rows[] = {
        {"megatron-lm@0.15", "H2", true},  {"megatron-lm@0.16.1", "H2", false}, {"megatron-lm@0.12.3", "P3", true},
        {"megatron-lm@0.13", "P3", false}, {"torchtitan@0.2.2", "D8", false},   {"torchtitan@0.3.0", "D8", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture x;
        lcp_target target;
        make_fixture(&x);
        assert_true(lcp_target_parse(&target, rows[i].trainer));
        breaking_of(target.trainer->name, rows[i].id, NULL)->apply(&x);
        if (strcmp(rows[i].id, "H2") == 0) {
            x.classes[0].attention.kv_heads = 8; /* tp is a multiple of them */
        }
        bool broken = false;
        const lcp_trainer_rule *rule = NULL;
        while ((rule = lcp_rule_broken(&target, &x.run, rule)) != NULL) {
            broken = broken || strcmp(rule->id, rows[i].id) == 0;
        }
        if (broken != rows[i].broken) {
            fail_msg("%s %s", rows[i].trainer, rows[i].id);
        }
    }
}

static void words_are_parsed(void **state)
{
    (void)state;
    lcp_target target;
    assert_true(lcp_target_parse(&target, "megatron-lm"));
    assert_string_equal(lcp_target_version(&target), "0.16");
    assert_true(lcp_target_parse(&target, "megatron-lm@0.15.3"));
    assert_string_equal(lcp_target_version(&target), "0.15");
    assert_true(lcp_target_since(&target, "0.14"));
    assert_false(lcp_target_since(&target, "0.16"));
    static const char *const bad[] = {"",
                                      "@",
                                      "megatron",
                                      "megatron-lm@",
                                      "megatron-lm@0.1",
                                      "megatron-lm@0.160",
                                      "Megatron-LM",
                                      "megatron-lm@0.16@",
                                      "@0.16"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (lcp_target_parse(&target, bad[i])) {
            fail_msg("'%s' is taken", bad[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_breaks),
        cmocka_unit_test(legal_for_all),
        cmocka_unit_test(versions_differ),
        cmocka_unit_test(words_are_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
