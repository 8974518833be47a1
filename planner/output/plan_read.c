#include "input/input.h"
#include "plan_json.h"
#include "plan_read_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

lcp_status lcp_plan_allocate(void **out, size_t count, size_t size, const lcp_json_cursor *at, lcp_error *err)
{
    *out = calloc(count, size);
    return *out != NULL ? LCP_OK : lcp_fail(err, LCP_NOMEM, at->file, "no memory for %zu elements", count);
}

lcp_status lcp_plan_read_index(const lcp_json_cursor *object, const char *key, size_t index, lcp_error *err)
{
    int64_t value = 0;
    lcp_status status = lcp_json_int(&value, object, key, 0, INT32_MAX, err);
    if (status == LCP_OK && value != (int64_t)index) {
        status = lcp_json_fail(object, key, err, "found %lld, expected %zu: elements are numbered in order",
                               (long long)value, index);
    }
    return status;
}

/* What the readers of documents call their file. */
typedef struct document_place {
    char words[700];
} document_place;

/* inputs[key]: a name, the digest, the document. */
static lcp_status read_input(json_t **document, document_place *place, lcp_source *source,
                             const lcp_json_cursor *inputs, const char *key, lcp_error *err)
{
    static const char *const allowed[] = {"name", "sha256", "document", NULL};
    lcp_json_cursor at;
    lcp_json_cursor child;
    char name[LCP_NAME_SIZE];
    lcp_status status = lcp_json_object(&at, inputs, key, err);
    if (status == LCP_OK) {
        status = lcp_json_only_keys(&at, allowed, err);
    }
    if (status == LCP_OK) {
        status = lcp_json_string(name, sizeof name, &at, "name", err);
    }
    if (status == LCP_OK) {
        status = lcp_json_string(source->sha256, sizeof source->sha256, &at, "sha256", err);
    }
    if (status == LCP_OK) {
        status = lcp_json_object(&child, &at, "document", err);
    }
    if (status == LCP_OK) {
        *document = child.value;
        snprintf(place->words, sizeof place->words, "%.500s: $.inputs.%s.document", inputs->file, key);
    }
    return status;
}

static lcp_status read_model(lcp_problem *out, const lcp_json_cursor *inputs, lcp_error *err)
{
    json_t *document = NULL;
    document_place place;
    lcp_status status = read_input(&document, &place, &out->model_source, inputs, "model", err);
    return status != LCP_OK ? status : lcp_model_from_json(&out->model, document, place.words, err);
}

static lcp_status read_cluster(lcp_problem *out, const lcp_json_cursor *inputs, lcp_error *err)
{
    json_t *document = NULL;
    document_place place;
    lcp_status status = read_input(&document, &place, &out->cluster_source, inputs, "cluster", err);
    return status != LCP_OK ? status : lcp_cluster_from_json(&out->cluster, document, place.words, err);
}

static lcp_status read_workload(lcp_problem *out, const lcp_json_cursor *inputs, lcp_error *err)
{
    json_t *document = NULL;
    document_place place;
    lcp_status status = read_input(&document, &place, &out->workload_source, inputs, "workload", err);
    return status != LCP_OK ? status : lcp_workload_from_json(&out->workload, document, place.words, NULL, err);
}

static lcp_status read_options(lcp_problem *out, const lcp_json_cursor *inputs, lcp_error *err)
{
    lcp_json_cursor at;
    lcp_status status = lcp_json_object(&at, inputs, "options", err);
    return status != LCP_OK ? status : lcp_options_read(&out->options, &at, err);
}

typedef lcp_status input_reader(lcp_problem *out, const lcp_json_cursor *inputs, lcp_error *err);
static input_reader *const input_readers[] = {read_model, read_cluster, read_workload, read_options};

static lcp_status read_inputs(lcp_problem *out, const lcp_json_cursor *root, lcp_error *err)
{
    static const char *const allowed[] = {"model", "cluster", "workload", "options", NULL};
    lcp_json_cursor inputs;
    lcp_status status = lcp_json_object(&inputs, root, "inputs", err);
    if (status == LCP_OK) {
        status = lcp_json_only_keys(&inputs, allowed, err);
    }
    for (size_t i = 0; status == LCP_OK && i < sizeof input_readers / sizeof input_readers[0]; i++) {
        status = input_readers[i](out, &inputs, err);
    }
    return status;
}

static lcp_status read_generator(const lcp_json_cursor *root, lcp_error *err)
{
    static const char *const allowed[] = {"name", "version", NULL};
    lcp_json_cursor at;
    char word[64];
    lcp_status status = lcp_json_object(&at, root, "generator", err);
    if (status == LCP_OK) {
        status = lcp_json_only_keys(&at, allowed, err);
    }
    if (status == LCP_OK) {
        status = lcp_json_string(word, sizeof word, &at, "name", err);
    }
    return status != LCP_OK ? status : lcp_json_string(word, sizeof word, &at, "version", err);
}

lcp_status lcp_plan_read_layout(lcp_layout *out, const lcp_json_cursor *object, lcp_error *err)
{
    static const char *const extra[] = {"rank_order", NULL};
    static const char *const orders[] = {LCP_RANK_ORDER, NULL};
    lcp_json_cursor at;
    int32_t order = 0;
    lcp_status status = lcp_json_object(&at, object, "parallelism", err);
    if (status == LCP_OK) {
        status = lcp_fields_only(&at, lcp_layout_fields, extra, err);
    }
    if (status == LCP_OK) {
        status = lcp_fields_read(out, &at, lcp_layout_fields, err);
    }
    return status != LCP_OK ? status : lcp_json_choice(&order, &at, "rank_order", orders, err);
}

static bool same_place(const lcp_rank_place *a, const lcp_rank_place *b)
{
    return a->rank == b->rank && a->node == b->node && a->local_rank == b->local_rank && a->dp == b->dp &&
           a->pp == b->pp && a->cp == b->cp && a->tp == b->tp;
}

static lcp_status read_rank(const lcp_json_cursor *at, const lcp_rank_place *expected, const char *group_name,
                            lcp_error *err)
{
    static const char *const extra[] = {"group", NULL};
    lcp_rank_place place = {0};
    char name[LCP_NAME_SIZE];
    lcp_status status = lcp_fields_only(at, lcp_rank_fields, extra, err);
    if (status == LCP_OK) {
        status = lcp_fields_read(&place, at, lcp_rank_fields, err);
    }
    if (status == LCP_OK) {
        status = lcp_json_string(name, sizeof name, at, "group", err);
    }
    if (status == LCP_OK && (!same_place(&place, expected) || strcmp(name, group_name) != 0)) {
        status = lcp_json_fail(at, NULL, err,
                               "expected rank %lld in group \"%s\", node %lld, local_rank %lld, dp %lld, pp %lld, cp "
                               "%lld, tp %lld: the order is " LCP_RANK_ORDER,
                               (long long)expected->rank, group_name, (long long)expected->node,
                               (long long)expected->local_rank, (long long)expected->dp, (long long)expected->pp,
                               (long long)expected->cp, (long long)expected->tp);
    }
    return status;
}

static lcp_status read_ranks(const lcp_plan *plan, const lcp_problem *problem, const lcp_json_cursor *root,
                             lcp_error *err)
{
    lcp_json_cursor array;
    int64_t ranks = lcp_layout_ranks(&plan->layout);
    int64_t devices = lcp_cluster_devices(&problem->cluster);
    if (ranks > devices) {
        return lcp_json_fail(root, "parallelism", err, "found dp * pp * tp * ulysses * ring above %lld devices",
                             (long long)devices);
    }
    lcp_status status = lcp_json_array(&array, root, "ranks", (size_t)ranks, (size_t)ranks, err);
    for (int64_t r = 0; status == LCP_OK && r < ranks; r++) {
        lcp_json_cursor at = lcp_json_element(&array, (size_t)r);
        lcp_rank_place place = lcp_rank_place_of(&plan->layout, &problem->cluster, r);
        status = read_rank(&at, &place, problem->cluster.groups[place.group].name, err);
    }
    return status;
}

static lcp_status read_stage(lcp_stage *out, size_t index, const lcp_plan *plan, const lcp_json_cursor *at,
                             lcp_error *err)
{
    static const char *const extra[] = {"stage", NULL};
    lcp_status status = lcp_fields_only(at, lcp_stage_fields, extra, err);
    if (status == LCP_OK) {
        status = lcp_plan_read_index(at, "stage", index, err);
    }
    if (status == LCP_OK) {
        status = lcp_fields_read(out, at, lcp_stage_fields, err);
    }
    if (status == LCP_OK && out->pp >= plan->layout.pp) {
        status = lcp_json_fail(at, "pp", err, "found %d, expected less than pp, %d", out->pp, plan->layout.pp);
    }
    if (status == LCP_OK && out->virtual_index >= plan->layout.vpp) {
        status = lcp_json_fail(at, "virtual", err, "found %d, expected less than vpp, %d", out->virtual_index,
                               plan->layout.vpp);
    }
    return status;
}

static lcp_status read_stages(lcp_plan *plan, const lcp_json_cursor *root, lcp_error *err)
{
    lcp_json_cursor array;
    void *stages = NULL;
    size_t count = (size_t)plan->layout.pp * (size_t)plan->layout.vpp;
    lcp_status status = lcp_json_array(&array, root, "stages", count, count, err);
    if (status == LCP_OK) {
        status = lcp_plan_allocate(&stages, count, sizeof *plan->stages, root, err);
    }
    if (status != LCP_OK) {
        return status;
    }
    plan->stages = stages;
    plan->stage_count = (int32_t)count;
    for (size_t i = 0; status == LCP_OK && i < count; i++) {
        lcp_json_cursor at = lcp_json_element(&array, i);
        status = read_stage(&plan->stages[i], i, plan, &at, err);
    }
    return status;
}

static lcp_status read_sequence(const lcp_json_cursor *at, size_t index, int64_t length_tokens, lcp_error *err)
{
    static const char *const allowed[] = {"sequence", "length_tokens", NULL};
    int64_t found = 0;
    lcp_status status = lcp_json_only_keys(at, allowed, err);
    if (status == LCP_OK) {
        status = lcp_plan_read_index(at, "sequence", index, err);
    }
    if (status == LCP_OK) {
        status = lcp_json_int(&found, at, "length_tokens", 1, INT32_MAX, err);
    }
    if (status == LCP_OK && found != length_tokens) {
        status = lcp_json_fail(at, "length_tokens", err, "found %lld, expected %lld, the length in the workload",
                               (long long)found, (long long)length_tokens);
    }
    return status;
}

static lcp_status read_sequences(const lcp_workload *workload, const lcp_json_cursor *root, lcp_error *err)
{
    lcp_json_cursor array;
    size_t count = (size_t)workload->sequence_count;
    lcp_status status = lcp_json_array(&array, root, "sequences", count, count, err);
    for (size_t i = 0; status == LCP_OK && i < count; i++) {
        lcp_json_cursor at = lcp_json_element(&array, i);
        status = read_sequence(&at, i, workload->lengths_tokens[i], err);
    }
    return status;
}

static lcp_status read_root(lcp_plan *plan, lcp_problem *problem, const lcp_json_cursor *root, lcp_error *err)
{
    static const char *const allowed[] = {"format",      "generator",    "inputs", "parallelism", "ranks",
                                          "stages",      "sequences",    "chunks", "schedule",    "predicted",
                                          "certificate", "alternatives", NULL};
    lcp_status status = lcp_json_format(root, LCP_PLAN_FORMAT, err);
    if (status == LCP_OK) {
        status = lcp_json_only_keys(root, allowed, err);
    }
    if (status == LCP_OK) {
        status = read_generator(root, err);
    }
    if (status == LCP_OK) {
        status = read_inputs(problem, root, err);
    }
    if (status == LCP_OK) {
        status = lcp_plan_read_layout(&plan->layout, root, err);
    }
    if (status == LCP_OK) {
        status = read_ranks(plan, problem, root, err);
    }
    if (status == LCP_OK) {
        status = read_stages(plan, root, err);
    }
    if (status == LCP_OK) {
        status = read_sequences(&problem->workload, root, err);
    }
    if (status == LCP_OK) {
        status = lcp_plan_read_chunks(plan, problem, root, err);
    }
    if (status == LCP_OK) {
        status = lcp_plan_read_schedule(plan, root, err);
    }
    return status != LCP_OK ? status : lcp_plan_read_proof(plan, root, err);
}

lcp_status lcp_plan_from_json(lcp_plan *plan, lcp_problem *problem, json_t *root, const char *file, lcp_error *err)
{
    lcp_json_cursor cursor = lcp_json_root(file, root);
    *plan = (lcp_plan){0};
    *problem = (lcp_problem){0};
    lcp_status status = read_root(plan, problem, &cursor, err);
    if (status != LCP_OK) {
        lcp_plan_dispose(plan);
        lcp_problem_dispose(problem);
    }
    return status;
}

lcp_status lcp_read_plan(lcp_plan *plan, lcp_problem *problem, const char *path, lcp_error *err)
{
    json_t *root = NULL;
    *plan = (lcp_plan){0};
    *problem = (lcp_problem){0};
    lcp_status status = lcp_json_load_file(&root, path, NULL, err);
    if (status == LCP_OK) {
        status = lcp_plan_from_json(plan, problem, root, strcmp(path, "-") == 0 ? "standard input" : path, err);
    }
    json_decref(root);
    return status;
}
