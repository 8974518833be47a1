/* What exporters write, against files that were read by hand, and what they say they lose. A text that differs is left
 * as NAME.new in the folder that the argument names (the current one). */
#include "support.h"

#include "export_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *work = ".";

static const export_case uneven = {
    .model = "llama-3.1-70b",
    .cluster = "h100-sxm:4x8",
    .layout = {.dp = 1, .pp = 4, .vpp = 1, .tp = 4, .ulysses = 1, .ring = 2, .ep = 1, .zero_stage = 1},
    .sequence_tokens = 32768,
    .sequences = 16,
    .micro_sequences = 1,
    .stage_layers = {19, 20, 21, 20},
    .policy = LCP_RECOMPUTE_FULL,
    .recompute_layers = 5,
};
static const export_case levels = {
    .model = "llama-3.1-8b",
    .cluster = "h100-sxm:2x8",
    .layout = {.dp = 2, .pp = 2, .vpp = 1, .tp = 1, .ulysses = 2, .ring = 2, .ep = 1, .zero_stage = 1},
    .sequence_tokens = 16384,
    .sequences = 32,
    .micro_sequences = 2,
    .stage_layers = {16, 16},
    .policy = LCP_RECOMPUTE_FULL,
    .recompute_layers = 16,
};
static const export_case experts = {
    .model = "qwen3-30b-a3b",
    .cluster = "h100-sxm:2x8",
    .layout = {.dp = 4, .pp = 1, .vpp = 1, .tp = 4, .ulysses = 1, .ring = 1, .ep = 8, .zero_stage = 1},
    .sequence_tokens = 8192,
    .sequences = 16,
    .micro_sequences = 1,
    .stage_layers = {48},
    .policy = LCP_RECOMPUTE_MLP,
    .recompute_layers = 48,
};
static const export_case sharded = {
    .model = "llama-3.1-8b",
    .cluster = "h100-sxm:1x8",
    .layout = {.dp = 2, .pp = 1, .vpp = 1, .tp = 1, .ulysses = 4, .ring = 1, .ep = 1, .zero_stage = 3},
    .sequence_tokens = 65536,
    .sequences = 8,
    .micro_sequences = 1,
    .stage_layers = {32},
};
static const export_case fsdp = {
    .model = "llama-3.1-8b",
    .cluster = "h100-sxm:1x8",
    .layout = {.dp = 2, .pp = 2, .vpp = 1, .tp = 2, .ulysses = 1, .ring = 1, .ep = 1, .zero_stage = 3},
    .sequence_tokens = 8192,
    .sequences = 16,
    .micro_sequences = 2,
    .stage_layers = {15, 17},
    .policy = LCP_RECOMPUTE_FULL,
    .recompute_layers = 17,
};
static const export_case ring = {
    .model = "llama-3.1-8b",
    .cluster = "h100-sxm:1x8",
    .layout = {.dp = 1, .pp = 2, .vpp = 1, .tp = 2, .ulysses = 1, .ring = 2, .ep = 1, .zero_stage = 1},
    .sequence_tokens = 8192,
    .sequences = 4,
    .micro_sequences = 1,
    .stage_layers = {16, 16},
};
static const export_case pipeline = {
    .model = "llama-3.2-1b",
    .cluster = "h100-sxm:1x4",
    .layout = {.dp = 1, .pp = 4, .vpp = 1, .tp = 1, .ulysses = 1, .ring = 1, .ep = 1},
    .sequence_tokens = 4096,
    .sequences = 6,
    .micro_sequences = 1,
    .stage_layers = {4, 4, 4, 4},
};

static const struct {
    const char *name, *trainer;
    const export_case *plan;
} goldens[] = {
    {"megatron-lm-uneven", "megatron-lm", &uneven},
    {"megatron-lm-two-levels", "megatron-lm@0.12", &levels},
    {"megatron-lm-experts", "megatron-lm@0.15", &experts},
    {"megatron-lm-sharded", "megatron-lm", &sharded},
    {"nemo-uneven", "nemo", &uneven},
    {"nemo-two-levels", "nemo@2", &levels},
    {"verl-ring", "verl", &ring},
    {"verl-sharded", "verl", &sharded},
    {"deepspeed-sharded", "deepspeed", &sharded},
    {"torchtitan-python", "torchtitan@0.3", &fsdp},
    {"torchtitan-toml", "torchtitan@0.2", &fsdp},
    {"nanotron-ring", "nanotron", &ring},
    {"torch-pipelining", "torch-pipelining", &pipeline},
    {"torchrun-ring", "torchrun", &ring},
};
#define GOLDEN_COUNT (sizeof goldens / sizeof goldens[0])

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    char *text = calloc(1, 65536);
    assert_non_null(text);
    assert_true(fread(text, 1, 65535, file) < 65535);
    fclose(file);
    return text;
}

static void write_new(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.new", work, name);
    FILE *file = fopen(path, "wb");
    if (file != NULL) {
        fputs(text, file);
        fclose(file);
    }
}

static bool differs(size_t i)
{
    export_fixture f;
    lcp_target target;
    lcp_error err = {0};
    char *text = NULL;
    size_t size = 0;
    char path[256];
    assert_true(lcp_target_parse(&target, goldens[i].trainer));
    export_fixture_make(&f, goldens[i].plan);
    if (lcp_export_check(&target, &f.plan, &f.problem, false, false, &err) != LCP_OK) {
        fail_msg("%s: %s %s", goldens[i].name, err.where, err.text);
    }
    assert_int_equal(lcp_export_write(&text, &size, &target, &f.plan, &f.problem, "plan.json", &err), LCP_OK);
    assert_int_equal(strlen(text), size);
    snprintf(path, sizeof path, "export/%s.golden", goldens[i].name);
    char *expected = read_all(path);
    bool different = expected == NULL || strcmp(expected, text) != 0;
    if (different) {
        write_new(goldens[i].name, text);
        print_message("%s is not what was expected:\n%s", goldens[i].name, text);
    }
    free(expected);
    free(text);
    export_fixture_dispose(&f);
    return different;
}

static void files_are_as_expected(void **state)
{
    (void)state;
    int different = 0;
    for (size_t i = 0; i < GOLDEN_COUNT; i++) {
        different += differs(i);
    }
    assert_int_equal(different, 0);
}

/* Every trainer has a golden file. */
static void every_trainer_is_written(void **state)
{
    (void)state;
    for (size_t t = 0; t < lcp_trainer_count(); t++) {
        int files = 0;
        for (size_t i = 0; i < GOLDEN_COUNT; i++) {
            size_t length = strcspn(goldens[i].trainer, "@");
            files += lcp_trainer_find(goldens[i].trainer, length) == lcp_trainer_at(t);
        }
        assert_true(files > 0);
    }
}

static bool loses(export_fixture *f, const char *trainer, lcp_feature feature)
{
    lcp_target target;
    lcp_loss_list losses;
    assert_true(lcp_target_parse(&target, trainer));
    lcp_losses_find(&losses, &target, &f->plan, &f->problem, false);
    for (int32_t i = 0; i < losses.count; i++) {
        if (losses.items[i].feature == feature) {
            assert_int_equal(losses.items[i].path[0], '$');
            return true;
        }
    }
    return false;
}

/* Changes of a plan that is exported whole, one for each feature. */
static void cut_sequence(export_fixture *f)
{
    f->plan.segments[0].has_successor = true;
}

static void change_length(export_fixture *f)
{
    f->problem.workload.lengths_tokens[1] = 100;
}

static void change_chunk_size(export_fixture *f)
{
    f->plan.chunks[1].chunk.segment_count = 0;
}

static void change_pipeline(export_fixture *f)
{
    f->plan.pipelines[1].chunk_count++;
}

static void move_layer(export_fixture *f)
{
    f->plan.stages[0].layer_count--;
    f->plan.stages[1].layer_count++;
}

static void interleave(export_fixture *f)
{
    f->plan.stages[1].virtual_index = 1;
}

static void move_stage(export_fixture *f)
{
    f->plan.stages[1].pp = 0;
}

static void swap_ops(export_fixture *f)
{
    lcp_op *ops = f->plan.pipelines[0].ops[0];
    lcp_op first = ops[0];
    ops[0] = ops[1];
    ops[1] = first;
}

static void recompute_ahead(export_fixture *f)
{
    f->plan.pipelines[0].ops[0][1].kind = LCP_OP_RECOMPUTE;
}

static void use_old_weights(export_fixture *f)
{
    f->plan.pipelines[0].ops[0][1].version = 1;
}

static void recompute_less(export_fixture *f)
{
    f->plan.chunks[1].recompute[0].layers--;
}

static void set_policy(export_fixture *f, lcp_recompute policy, int32_t layers)
{
    for (int32_t k = 0; k < f->plan.chunk_count; k++) {
        for (int32_t i = 0; i < f->plan.chunks[k].recompute_count; i++) {
            f->plan.chunks[k].recompute[i].policy = policy;
            f->plan.chunks[k].recompute[i].layers = layers;
        }
    }
}

static void recompute_block(export_fixture *f)
{
    set_policy(f, LCP_RECOMPUTE_FULL, 3);
}

static void recompute_full(export_fixture *f)
{
    set_policy(f, LCP_RECOMPUTE_FULL, 16);
}

static void recompute_mlp(export_fixture *f)
{
    set_policy(f, LCP_RECOMPUTE_MLP, 16);
}

static void recompute_part(export_fixture *f)
{
    set_policy(f, LCP_RECOMPUTE_ACTIVATION, 16);
}

static const struct {
    void (*change)(export_fixture *f);
    const char *loser; /* a trainer without the feature */
} losses[LCP_FEATURE_COUNT] = {
    [LCP_FEATURE_SLICES] = {cut_sequence, "megatron-lm"},
    [LCP_FEATURE_PACKS] = {change_length, "megatron-lm"},
    [LCP_FEATURE_CHUNK_SIZES] = {change_chunk_size, "megatron-lm"},
    [LCP_FEATURE_PIPELINES] = {change_pipeline, "megatron-lm"},
    [LCP_FEATURE_SPLIT] = {move_layer, "nanotron"},
    [LCP_FEATURE_INTERLEAVING] = {interleave, "nanotron"},
    [LCP_FEATURE_PLACEMENT] = {move_stage, "megatron-lm"},
    [LCP_FEATURE_ORDERS] = {swap_ops, "megatron-lm"},
    [LCP_FEATURE_RECOMPUTE_AHEAD] = {recompute_ahead, "torch-pipelining"},
    [LCP_FEATURE_VERSIONS] = {use_old_weights, "torch-pipelining"},
    [LCP_FEATURE_MIXED_RECOMPUTE] = {recompute_less, "megatron-lm"},
    [LCP_FEATURE_BLOCK_RECOMPUTE] = {recompute_block, "torchtitan"},
    [LCP_FEATURE_FULL_RECOMPUTE] = {recompute_full, "deepspeed"},
    [LCP_FEATURE_MLP_RECOMPUTE] = {recompute_mlp, "torchtitan"},
    [LCP_FEATURE_PART_RECOMPUTE] = {recompute_part, "megatron-lm"},
};

static void every_feature_is_seen(void **state)
{
    (void)state;
    for (int32_t feature = 0; feature < LCP_FEATURE_COUNT; feature++) {
        export_fixture f;
        assert_non_null(losses[feature].change);
        export_fixture_make(&f, &levels);
        bool before = loses(&f, losses[feature].loser, (lcp_feature)feature);
        losses[feature].change(&f);
        bool after = loses(&f, losses[feature].loser, (lcp_feature)feature);
        bool said = loses(&f, "torchrun", (lcp_feature)feature);
        bool was_there = feature == LCP_FEATURE_FULL_RECOMPUTE;
        if (before != was_there || !after || said) {
            fail_msg("%s: lost before the change %d, after it %d, by torchrun %d", lcp_feature_rows[feature].name,
                     before, after, said);
        }
        export_fixture_dispose(&f);
    }
}

/* A mixed setting becomes one that recomputes at least as much everywhere. */
static void lossy_is_leaner(void **state)
{
    (void)state;
    export_fixture f;
    lcp_target target;
    char *text = NULL;
    size_t size = 0;
    lcp_error err = {0};
    assert_true(lcp_target_parse(&target, "megatron-lm"));
    export_fixture_make(&f, &levels);
    set_policy(&f, LCP_RECOMPUTE_ACTIVATION, 5);
    f.plan.chunks[2].recompute[1].layers = 7;
    assert_int_equal(lcp_export_check(&target, &f.plan, &f.problem, false, false, &err), LCP_FALSE);
    assert_non_null(strstr(err.text, "$.chunks["));
    assert_int_equal(lcp_export_check(&target, &f.plan, &f.problem, true, false, NULL), LCP_OK);
    assert_int_equal(lcp_export_write(&text, &size, &target, &f.plan, &f.problem, "p", NULL), LCP_OK);
    assert_non_null(strstr(text, "--recompute-method block\n    --recompute-num-layers 7\n"));
    free(text);
    export_fixture_dispose(&f);
}

/* Whatever the recompute, a lossy export writes something for every trainer and version. */
static void everything_is_written_lossily(void **state)
{
    (void)state;
    static void (*const changes[])(export_fixture *) = {recompute_block, recompute_full, recompute_mlp, recompute_part,
                                                        recompute_less,  change_length,  move_layer};
    for (size_t t = 0; t < lcp_trainer_count(); t++) {
        for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
            lcp_target target = {.trainer = lcp_trainer_at(t)};
            for (; target.trainer->versions[target.version] != NULL; target.version++) {
                export_fixture f;
                char *text = NULL;
                size_t size = 0;
                export_fixture_make(&f, &levels);
                changes[i](&f);
                assert_int_equal(lcp_export_write(&text, &size, &target, &f.plan, &f.problem, "p", NULL), LCP_OK);
                assert_true(size > 0);
                assert_null(strstr(text, "(null)"));
                free(text);
                export_fixture_dispose(&f);
            }
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_as_expected),         cmocka_unit_test(every_trainer_is_written),
        cmocka_unit_test(every_feature_is_seen),         cmocka_unit_test(lossy_is_leaner),
        cmocka_unit_test(everything_is_written_lossily),
    };
    work = argc > 1 ? argv[1] : work;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
