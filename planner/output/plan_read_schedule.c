#include "plan_read_internal.h"

#include <float.h>
#include <string.h>

/* [kind, chunk, stage], with [..., weight_version] and [..., start_seconds, end_seconds] where they are given. */
#define OP_SIZE 3
#define OP_MAX_SIZE 6

static lcp_status read_op_kind(lcp_op_kind *out, const lcp_json_cursor *op, lcp_error *err)
{
    const char *word = NULL;
    lcp_status status = lcp_json_element_string(&word, op, 0, err);
    for (int32_t kind = 0; status == LCP_OK && kind < LCP_OP_KIND_COUNT; kind++) {
        if (strcmp(word, lcp_op_names[kind]) == 0) {
            *out = (lcp_op_kind)kind;
            return LCP_OK;
        }
    }
    lcp_json_cursor at = lcp_json_element(op, 0);
    return status != LCP_OK
               ? status
               : lcp_json_fail(&at, NULL, err, "found \"%.20s\", expected one of: F, B, I, W, R, O, L", word);
}

static lcp_status read_op(lcp_op *out, const lcp_plan *plan, const lcp_json_cursor *op, lcp_error *err)
{
    int64_t chunk = 0;
    int64_t stage = 0;
    int64_t version = 0;
    size_t size = json_array_size(op->value);
    if (!json_is_array(op->value) || size < OP_SIZE || size > OP_MAX_SIZE) {
        return lcp_json_fail(op, NULL, err, "expected an operation, [kind, chunk, stage]");
    }
    lcp_status status = read_op_kind(&out->kind, op, err);
    if (status == LCP_OK) {
        status = lcp_json_element_int(&chunk, op, 1, 0, plan->chunk_count - 1, err);
    }
    if (status == LCP_OK) {
        status = lcp_json_element_int(&stage, op, 2, 0, plan->stage_count - 1, err);
    }
    if (status == LCP_OK && size % 2 == 0) {
        status = lcp_json_element_int(&version, op, 3, 0, INT32_MAX, err);
    }
    for (size_t i = size - 2; status == LCP_OK && size > OP_SIZE + 1 && i < size; i++) {
        double seconds = 0;
        status = lcp_json_element_real(&seconds, op, i, 0, DBL_MAX, err);
    }
    out->chunk = (int32_t)chunk;
    out->stage = (int32_t)stage;
    out->version = (int32_t)version;
    return status;
}

static lcp_status read_ops(lcp_schedule *out, int32_t rank, const lcp_plan *plan, const lcp_json_cursor *at,
                           lcp_error *err)
{
    static const char *const allowed[] = {"pp", "ops", NULL};
    lcp_json_cursor array;
    void *ops = NULL;
    lcp_status status = lcp_json_only_keys(at, allowed, err);
    if (status == LCP_OK) {
        status = lcp_plan_read_index(at, "pp", (size_t)rank, err);
    }
    if (status == LCP_OK) {
        status = lcp_json_array(&array, at, "ops", 0, INT32_MAX, err);
    }
    size_t count = status == LCP_OK ? json_array_size(array.value) : 0;
    if (status == LCP_OK) {
        status = lcp_plan_allocate(&ops, count + 1, sizeof **out->ops, at, err);
        out->ops[rank] = ops;
    }
    for (size_t i = 0; status == LCP_OK && i < count; i++) {
        lcp_json_cursor op = lcp_json_element(&array, i);
        status = read_op(&out->ops[rank][i], plan, &op, err);
    }
    out->op_count[rank] = status == LCP_OK ? (int32_t)count : 0;
    return status;
}

static lcp_status allocate(lcp_schedule *out, const lcp_plan *plan, const lcp_json_cursor *at, lcp_error *err)
{
    void *parts[3] = {NULL};
    size_t ranks = (size_t)plan->layout.pp;
    lcp_status status = lcp_plan_allocate(&parts[0], (size_t)plan->stage_count, sizeof *out->stage_rank, at, err);
    if (status == LCP_OK) {
        status = lcp_plan_allocate(&parts[1], ranks, sizeof *out->op_count, at, err);
    }
    if (status == LCP_OK) {
        status = lcp_plan_allocate(&parts[2], ranks, sizeof *out->ops, at, err);
    }
    out->stage_rank = parts[0];
    out->op_count = parts[1];
    out->ops = parts[2];
    out->rank_count = plan->layout.pp;
    out->stage_count = plan->stage_count;
    for (int32_t s = 0; status == LCP_OK && s < plan->stage_count; s++) {
        out->stage_rank[s] = plan->stages[s].pp;
    }
    return status;
}

static lcp_status read_pipeline(lcp_schedule *out, int32_t dp, const lcp_plan *plan, const lcp_json_cursor *at,
                                lcp_error *err)
{
    static const char *const allowed[] = {"dp", "ranks", NULL};
    lcp_json_cursor array;
    size_t ranks = (size_t)plan->layout.pp;
    lcp_status status = lcp_json_only_keys(at, allowed, err);
    if (status == LCP_OK) {
        status = lcp_plan_read_index(at, "dp", (size_t)dp, err);
    }
    if (status == LCP_OK) {
        status = lcp_json_array(&array, at, "ranks", ranks, ranks, err);
    }
    if (status == LCP_OK) {
        status = allocate(out, plan, at, err);
    }
    for (int32_t k = 0; k < plan->chunk_count; k++) {
        out->chunk_count += plan->chunks[k].chunk.dp == dp;
    }
    for (int32_t r = 0; status == LCP_OK && r < plan->layout.pp; r++) {
        lcp_json_cursor rank = lcp_json_element(&array, (size_t)r);
        status = read_ops(out, r, plan, &rank, err);
    }
    return status;
}

static lcp_status read_name(lcp_plan *plan, const lcp_json_cursor *at, lcp_error *err)
{
    static const char *const allowed[] = {"name", "synchronous", "pipelines", NULL};
    bool synchronous = true;
    lcp_status status = lcp_json_only_keys(at, allowed, err);
    if (status == LCP_OK) {
        status = lcp_json_string(plan->schedule_name, sizeof plan->schedule_name, at, "name", err);
    }
    if (status == LCP_OK) {
        status = lcp_json_bool(&synchronous, at, "synchronous", err);
    }
    const lcp_schedule_kind *kind = status == LCP_OK ? lcp_schedule_find(plan->schedule_name) : NULL;
    if (kind != NULL && kind->synchronous != synchronous) {
        status = lcp_json_fail(at, "synchronous", err, "found %s, but schedule \"%s\" is the other kind",
                               synchronous ? "true" : "false", kind->name);
    }
    return status;
}

lcp_status lcp_plan_read_schedule(lcp_plan *plan, const lcp_json_cursor *root, lcp_error *err)
{
    lcp_json_cursor at;
    lcp_json_cursor array;
    void *pipelines = NULL;
    size_t count = (size_t)plan->layout.dp;
    lcp_status status = lcp_json_object(&at, root, "schedule", err);
    if (status == LCP_OK) {
        status = read_name(plan, &at, err);
    }
    if (status == LCP_OK) {
        status = lcp_json_array(&array, &at, "pipelines", count, count, err);
    }
    if (status == LCP_OK) {
        status = lcp_plan_allocate(&pipelines, count, sizeof *plan->pipelines, root, err);
        plan->pipelines = pipelines;
    }
    for (int32_t d = 0; status == LCP_OK && d < plan->layout.dp; d++) {
        lcp_json_cursor pipeline = lcp_json_element(&array, (size_t)d);
        status = read_pipeline(&plan->pipelines[d], d, plan, &pipeline, err);
    }
    return status;
}
