#include "json_case.h"
#include "plan_fixture.h"

#include "output/plan_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *plan_document(const lcp_replay *times)
{
    plan_fixture f;
    fixture_plan(&f);
    json_t *document = lcp_plan_to_json(&f.plan, &f.problem, times);
    assert_non_null(document);
    fixture_plan_dispose(&f);
    return document;
}

static char *text_of(const json_t *document)
{
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(lcp_json_text(&text, &size, document, NULL), LCP_OK);
    assert_int_equal(strlen(text), size);
    return text;
}

static void written_plans_read_back(void **state)
{
    (void)state;
    json_t *document = plan_document(NULL);
    char *text = text_of(document);
    json_t *parsed = NULL;
    lcp_error err = {0};
    assert_int_equal(lcp_json_load_bytes(&parsed, text, strlen(text), "t", &err), LCP_OK);
    plan_fixture again = {0};
    if (lcp_plan_from_json(&again.plan, &again.problem, parsed, "t", &err) != LCP_OK) {
        fail_msg("%s: %s", err.where, err.text);
    }
    json_t *twice = lcp_plan_to_json(&again.plan, &again.problem, NULL);
    char *second = text_of(twice);
    assert_string_equal(text, second);
    assert_int_equal(again.plan.pipelines[0].chunk_count, 2);
    assert_true(again.plan.segments[0].has_successor);
    assert_false(again.plan.segments[1].has_successor);
    assert_int_equal(again.plan.chunks[0].recompute[1].policy, LCP_RECOMPUTE_ATTENTION_OUTPUT);
    assert_int_equal(again.plan.layout.ring_method, LCP_RING_ALL_GATHER);
    assert_close(again.plan.predicted.mfu_ratio, 1.0 / 3, 0);
    fixture_plan_dispose(&again);
    free(text);
    free(second);
    json_decref(parsed);
    json_decref(document);
    json_decref(twice);
}

static int64_t rank_member(const json_t *document, size_t rank, const char *key)
{
    const json_t *place = json_array_get(json_object_get(document, "ranks"), rank);
    return json_integer_value(json_object_get(place, key));
}

/* 2 nodes of 4, tp 2, dp 2, pp 2: rank 5 is the second device of node 1, on stage 1, pipeline 0, tensor rank 1. */
static void ranks_follow_the_order(void **state)
{
    (void)state;
    json_t *document = plan_document(NULL);
    static const int64_t places[8][5] = {/* node, local_rank, tp, dp, pp */
                                         {0, 0, 0, 0, 0}, {0, 1, 1, 0, 0}, {0, 2, 0, 1, 0}, {0, 3, 1, 1, 0},
                                         {1, 0, 0, 0, 1}, {1, 1, 1, 0, 1}, {1, 2, 0, 1, 1}, {1, 3, 1, 1, 1}};
    static const char *const keys[] = {"node", "local_rank", "tp", "dp", "pp"};
    for (size_t r = 0; r < 8; r++) {
        for (size_t k = 0; k < 5; k++) {
            assert_int_equal(rank_member(document, r, keys[k]), places[r][k]);
        }
    }
    json_decref(document);
}

static void keys_are_those_of_the_format(void **state)
{
    (void)state;
    static const char *const keys[] = {"format",   "generator", "inputs",      "parallelism",
                                       "ranks",    "stages",    "sequences",   "chunks",
                                       "schedule", "predicted", "certificate", "alternatives"};
    json_t *document = plan_document(NULL);
    void *at = json_object_iter(document);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        assert_string_equal(json_object_iter_key(at), keys[i]);
        at = json_object_iter_next(document, at);
    }
    assert_null(at);
    json_t *options = json_object_get(json_object_get(document, "inputs"), "options");
    assert_null(json_object_get(options, "threads"));
    json_decref(document);
}

static void times_follow_their_ops(void **state)
{
    (void)state;
    double start[2][8];
    double end[2][8];
    int64_t first[2][3] = {{0, 4, 8}, {0, 2, 4}};
    lcp_replay times[2];
    for (int d = 0; d < 2; d++) {
        for (int i = 0; i < 8; i++) {
            start[d][i] = 10 * d + i;
            end[d][i] = 10 * d + i + 0.5;
        }
        times[d] = (lcp_replay){.rank_first = first[d], .start_seconds = start[d], .end_seconds = end[d]};
    }
    json_t *document = plan_document(times);
    char *text = text_of(document);
    assert_non_null(strstr(text, "[\"F\", 0, 0, 0, 0.5]"));
    assert_non_null(strstr(text, "[\"F\", 0, 1, 4, 4.5]"));
    assert_non_null(strstr(text, "[\"B\", 2, 1, 13, 13.5]"));
    plan_fixture again;
    assert_int_equal(lcp_plan_from_json(&again.plan, &again.problem, document, "t", NULL), LCP_OK);
    fixture_plan_dispose(&again);
    free(text);
    json_decref(document);
}

/* One change of a good plan: the value at `path` (keys and indices between slashes) becomes `value`; NULL removes it.
 */
typedef struct change {
    const char *path;
    const char *value;
    const char *where;
    const char *text;
} change;

static change changes[] = {
    {"format", "['lcplan.plan/2']", "t: $.format", "found \"lcplan.plan/2\", expected one of: lcplan.plan/1"},
    {"extra", "[1]", "t: $.extra", "unknown key, expected one of: format, generator, ..."},
    {"generator/name", NULL, "t: $.generator.name", "missing, expected a string"},
    {"generator/build", "[1]", "t: $.generator.build", "unknown key, expected one of: name, version"},
    {"inputs/model/sha256", "[5]", "t: $.inputs.model.sha256", "found 5, expected a string"},
    {"inputs/model/size", "[5]", "t: $.inputs.model.size", "unknown key, expected one of: name, sha256, document"},
    {"inputs/model/document/hidden_size", "[0]", "t: $.inputs.model.document: $.hidden_size", "found 0, ..."},
    {"inputs/cluster/document/groups/0/nodes", "[0]", "t: $.inputs.cluster.document: $.groups[0].nodes",
     "found 0, ..."},
    {"inputs/workload/document/lengths", "[{}]", "t: $.inputs.workload.document: $.lengths", "found no lengths, ..."},
    {"inputs/options/gap_ratio", "[2]", "t: $.inputs.options.gap_ratio", "found 2, expected a number in [0, 1]"},
    {"inputs/notes", "[2]", "t: $.inputs.notes", "unknown key, expected one of: model, cluster, workload, options"},
    {"parallelism/dp", "[0]", "t: $.parallelism.dp", "found 0, expected an integer in [1, 1048576]"},
    {"parallelism/tp", "[4]", "t: $.parallelism", "found dp * pp * tp * ulysses * ring above 8 devices"},
    {"parallelism/zero_stage", "[4]", "t: $.parallelism.zero_stage", "found 4, expected an integer in [0, 3]"},
    {"parallelism/ring_method", "['x']", "t: $.parallelism.ring_method",
     "found \"x\", expected one of: p2p, all-gather"},
    {"parallelism/rank_order", "['x']", "t: $.parallelism.rank_order", "found \"x\", expected one of: tp-cp-dp-pp"},
    {"parallelism/sp", "['x']", "t: $.parallelism.sp", "unknown key, ..."},
    {"ranks/3/tp", "[0]", "t: $.ranks[3]",
     "expected rank 3 in group \"0\", node 0, local_rank 3, dp 1, pp 0, cp 0, tp 1: the order is tp-cp-dp-pp"},
    {"ranks/3/group", "['b']", "t: $.ranks[3]", "expected rank 3 ..."},
    {"ranks/7", NULL, "t: $.ranks", "found an array of 7 elements, expected an array of 8 to 8 elements"},
    {"stages/1/stage", "[0]", "t: $.stages[1].stage", "found 0, expected 1: elements are numbered in order"},
    {"stages/1/pp", "[2]", "t: $.stages[1].pp", "found 2, expected less than pp, 2"},
    {"stages/1/virtual", "[1]", "t: $.stages[1].virtual", "found 1, expected less than vpp, 1"},
    {"stages/1/layers", "[1]", "t: $.stages[1].layers", "unknown key, ..."},
    {"stages/0", "[7]", "t: $.stages[0]", "found 7, expected an object"},
    {"sequences/2/length_tokens", "[2049]", "t: $.sequences[2].length_tokens",
     "found 2049, expected 2048, the length in the workload"},
    {"sequences/2", NULL, "t: $.sequences", "found an array of 2 elements, expected an array of 3 to 3 elements"},
    {"chunks/0/chunk", "[1]", "t: $.chunks[0].chunk", "found 1, expected 0: elements are numbered in order"},
    {"chunks/0/dp", "[2]", "t: $.chunks[0].dp", "found 2, expected an integer in [0, 1]"},
    {"chunks/0/segments", "[[]]", "t: $.chunks[0].segments", "found an array of 0 elements, ..."},
    {"chunks/0/segments/0/sequence", "[3]", "t: $.chunks[0].segments[0].sequence",
     "found 3, expected less than 3, the number of sequences"},
    {"chunks/0/segments/0/length_tokens", "[0]", "t: $.chunks[0].segments[0].length_tokens",
     "found 0, expected an integer in [1, 2147483647]"},
    {"chunks/0/segments/0/tokens", "[0]", "t: $.chunks[0].segments[0].tokens", "unknown key, ..."},
    {"chunks/0/recompute/0/stage", "[2]", "t: $.chunks[0].recompute[0].stage",
     "found 2, expected an integer in [0, 1]"},
    {"chunks/0/recompute/0/policy", "['all']", "t: $.chunks[0].recompute[0].policy",
     "found \"all\", expected one of: none, activation, mlp, attention-output, full"},
    {"chunks/0/recompute/0/layers", "[0]", "t: $.chunks[0].recompute[0].layers",
     "found 0, expected an integer in [1, 1024]"},
    {"chunks/0/recompute/0/layer_class", NULL, "t: $.chunks[0].recompute[0].layer_class",
     "missing, expected an integer in [0, 1]"},
    {"schedule/synchronous", "[false]", "t: $.schedule.synchronous",
     "found false, but schedule \"elastic-1f1b\" is the other kind"},
    {"schedule/order", "[1]", "t: $.schedule.order", "unknown key, expected one of: name, synchronous, pipelines"},
    {"schedule/pipelines/1", NULL, "t: $.schedule.pipelines", "found an array of 1 elements, ..."},
    {"schedule/pipelines/1/dp", "[0]", "t: $.schedule.pipelines[1].dp",
     "found 0, expected 1: elements are numbered in order"},
    {"schedule/pipelines/1/ranks/0", NULL, "t: $.schedule.pipelines[1].ranks", "found an array of 1 elements, ..."},
    {"schedule/pipelines/1/ranks/0/pp", "[1]", "t: $.schedule.pipelines[1].ranks[0].pp", "found 1, expected 0: ..."},
    {"schedule/pipelines/0/ranks/1/ops/2", "[['F', 0]]", "t: $.schedule.pipelines[0].ranks[1].ops[2]",
     "expected an operation, [kind, chunk, stage]"},
    {"schedule/pipelines/0/ranks/1/ops/2/0", "['X']", "t: $.schedule.pipelines[0].ranks[1].ops[2][0]",
     "found \"X\", expected one of: F, B, I, W, R, O, L"},
    {"schedule/pipelines/0/ranks/1/ops/2/1", "[3]", "t: $.schedule.pipelines[0].ranks[1].ops[2][1]",
     "found 3, expected an integer in [0, 2]"},
    {"schedule/pipelines/0/ranks/1/ops/2/2", "[-1]", "t: $.schedule.pipelines[0].ranks[1].ops[2][2]",
     "found -1, expected an integer in [0, 1]"},
    {"schedule/pipelines/0/ranks/1/ops/2", "[['F', 0, 0, 0, 'x']]", "t: $.schedule.pipelines[0].ranks[1].ops[2][4]",
     "found \"x\", expected a number of at least 0"},
    {"schedule/pipelines/0/ranks/1/ops/2", "[['F', 0, 0, 'x']]", "t: $.schedule.pipelines[0].ranks[1].ops[2][3]",
     "found \"x\", expected an integer in [0, 2147483647]"},
    {"predicted/iteration_seconds", "[0]", "t: $.predicted.iteration_seconds", "found 0, expected a number above 0"},
    {"predicted/flops", "[0]", "t: $.predicted.flops", "unknown key, ..."},
    {"predicted/breakdown_seconds/bubble", NULL, "t: $.predicted.breakdown_seconds.bubble",
     "missing, expected a number"},
    {"predicted/stages/1/memory_bytes/kv", "[-1]", "t: $.predicted.stages[1].memory_bytes.kv", "found -1, ..."},
    {"predicted/stages/1/stage", "[0]", "t: $.predicted.stages[1].stage", "found 0, expected 1: ..."},
    {"predicted/stages/1", NULL, "t: $.predicted.stages", "found an array of 1 elements, ..."},
    {"certificate/gap_ratio", "['0']", "t: $.certificate.gap_ratio", "found \"0\", expected a number"},
    {"certificate/candidates/rejected/heads", "[-1]", "t: $.certificate.candidates.rejected.heads",
     "found -1, expected an integer of at least 0"},
    {"certificate/candidates/lost", "[1]", "t: $.certificate.candidates.lost", "unknown key, ..."},
    {"certificate/solver/name", NULL, "t: $.certificate.solver.name", "missing, expected a string"},
    {"certificate/solver/seed", "[1]", "t: $.certificate.solver.seed", "unknown key, ..."},
    {"certificate/proof", "[1]", "t: $.certificate.proof", "unknown key, ..."},
    {"alternatives/0/reason", NULL, "t: $.alternatives[0].reason", "missing, expected a string"},
    {"alternatives/0/parallelism/ep", "[0]", "t: $.alternatives[0].parallelism.ep", "found 0, ..."},
    {"alternatives/0/rank", "[1]", "t: $.alternatives[0].rank", "unknown key, ..."},
};

static bool is_index(const char *word)
{
    return word[0] != '\0' && strspn(word, "0123456789") == strlen(word);
}

static json_t *child(json_t *at, const char *word)
{
    return is_index(word) ? json_array_get(at, (size_t)atoi(word)) : json_object_get(at, word);
}

static void put(json_t *at, const char *word, json_t *value)
{
    int result = 0;
    if (is_index(word)) {
        size_t index = (size_t)atoi(word);
        result = value != NULL ? json_array_set(at, index, value) : json_array_remove(at, index);
    } else {
        result = value != NULL ? json_object_set(at, word, value) : json_object_del(at, word);
    }
    assert_int_equal(result, 0);
}

static void apply(json_t *document, const change *c)
{
    char words[200];
    json_t *at = document;
    json_t *wrapped = c->value != NULL ? json_of(c->value) : NULL;
    snprintf(words, sizeof words, "%s", c->path);
    char *word = words;
    for (char *slash = strchr(word, '/'); slash != NULL; slash = strchr(word, '/')) {
        *slash = '\0';
        at = child(at, word);
        assert_non_null(at);
        word = slash + 1;
    }
    put(at, word, json_array_get(wrapped, 0));
    json_decref(wrapped);
}

static void changed_plan_is_refused(void **state)
{
    const change *c = *state;
    json_t *document = plan_document(NULL);
    apply(document, c);
    plan_fixture again;
    lcp_error err = {0};
    assert_int_equal(lcp_plan_from_json(&again.plan, &again.problem, document, "t", &err), LCP_INPUT);
    assert_error(&err, c->where, c->text);
    assert_null(again.plan.chunks);
    assert_null(again.problem.workload.lengths_tokens);
    json_decref(document);
}

static void too_many_reasons_are_refused(void **state)
{
    (void)state;
    json_t *document = plan_document(NULL);
    json_t *candidates = json_object_get(json_object_get(document, "certificate"), "candidates");
    json_t *rejected = json_object_get(candidates, "rejected");
    for (int i = 0; i < LCP_MAX_REASONS; i++) {
        char reason[32];
        snprintf(reason, sizeof reason, "reason %d", i);
        assert_int_equal(json_object_set_new(rejected, reason, json_integer(1)), 0);
    }
    plan_fixture again;
    lcp_error err = {0};
    assert_int_equal(lcp_plan_from_json(&again.plan, &again.problem, document, "t", &err), LCP_INPUT);
    assert_error(&err, "t: $.certificate.candidates.rejected", "found 34 reasons, expected at most 32");
    json_decref(document);
}

#define CHANGES (sizeof changes / sizeof changes[0])

int main(void)
{
    static struct CMUnitTest refusals[CHANGES];
    for (size_t i = 0; i < CHANGES; i++) {
        refusals[i] = (struct CMUnitTest){changes[i].path, changed_plan_is_refused, NULL, NULL, &changes[i]};
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_plans_read_back),      cmocka_unit_test(ranks_follow_the_order),
        cmocka_unit_test(keys_are_those_of_the_format), cmocka_unit_test(times_follow_their_ops),
        cmocka_unit_test(too_many_reasons_are_refused),
    };
    int failed = cmocka_run_group_tests(refusals, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
