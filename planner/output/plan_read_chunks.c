#include "plan_read_internal.h"

#define MAX_CHUNKS 10000000

static const char *const chunk_keys[] = {"chunk", "dp", "segments", "recompute", NULL};

static lcp_status read_segment(lcp_segment *out, const lcp_workload *workload, const lcp_json_cursor *at,
                               lcp_error *err)
{
    lcp_status status = lcp_fields_read_only(out, at, lcp_segment_fields, err);
    if (status == LCP_OK && out->sequence >= workload->sequence_count) {
        status = lcp_json_fail(at, "sequence", err, "found %lld, expected less than %lld, the number of sequences",
                               (long long)out->sequence, (long long)workload->sequence_count);
    }
    if (status == LCP_OK) {
        out->has_successor = out->offset_tokens + out->length_tokens < workload->lengths_tokens[out->sequence];
    }
    return status;
}

static lcp_status read_segments(lcp_chunk *chunk, lcp_segment *segments, const lcp_workload *workload,
                                const lcp_json_cursor *at, lcp_error *err)
{
    lcp_json_cursor array;
    lcp_status status = lcp_json_array(&array, at, "segments", 1, INT32_MAX, err);
    size_t count = status == LCP_OK ? json_array_size(array.value) : 0;
    for (size_t i = 0; status == LCP_OK && i < count; i++) {
        lcp_json_cursor segment = lcp_json_element(&array, i);
        status = read_segment(&segments[i], workload, &segment, err);
    }
    chunk->segments = segments;
    chunk->segment_count = (int32_t)count;
    return status;
}

static lcp_status read_policy(lcp_recompute *out, const lcp_json_cursor *at, lcp_error *err)
{
    const char *names[LCP_RECOMPUTE_COUNT + 1] = {NULL};
    int32_t policy = 0;
    for (int32_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
        names[q] = lcp_recompute_rows[q].name;
    }
    lcp_status status = lcp_json_choice(&policy, at, "policy", names, err);
    *out = (lcp_recompute)policy;
    return status;
}

static lcp_status read_recompute_entry(lcp_chunk_recompute *out, const lcp_plan *plan, int32_t class_count,
                                       const lcp_json_cursor *at, lcp_error *err)
{
    static const char *const allowed[] = {"stage", "policy", "layers", "layer_class", NULL};
    lcp_status status = lcp_json_only_keys(at, allowed, err);
    if (status == LCP_OK) {
        status = lcp_json_int32(&out->stage, at, "stage", 0, plan->stage_count - 1, err);
    }
    if (status == LCP_OK) {
        status = read_policy(&out->policy, at, err);
    }
    if (status == LCP_OK) {
        status = lcp_json_int32(&out->layers, at, "layers", 1, LCP_MAX_LAYERS, err);
    }
    if (status == LCP_OK && (class_count > 1 || lcp_json_has(at, "layer_class"))) {
        status = lcp_json_int32(&out->layer_class, at, "layer_class", 0, class_count - 1, err);
    }
    return status;
}

static lcp_status read_recompute(lcp_plan_chunk *chunk, const lcp_plan *plan, int32_t class_count,
                                 const lcp_json_cursor *at, lcp_error *err)
{
    lcp_json_cursor array;
    void *entries = NULL;
    lcp_status status = lcp_json_array(&array, at, "recompute", 0, INT32_MAX, err);
    size_t count = status == LCP_OK ? json_array_size(array.value) : 0;
    if (count > 0) {
        status = lcp_plan_allocate(&entries, count, sizeof *chunk->recompute, at, err);
        chunk->recompute = entries;
    }
    for (size_t i = 0; status == LCP_OK && i < count; i++) {
        lcp_json_cursor entry = lcp_json_element(&array, i);
        status = read_recompute_entry(&chunk->recompute[i], plan, class_count, &entry, err);
    }
    chunk->recompute_count = status == LCP_OK ? (int32_t)count : 0;
    return status;
}

/* Room for all segments; what is no array counts nothing and is found later. */
static size_t count_segments(const lcp_json_cursor *array)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(array->value); i++) {
        count += json_array_size(json_object_get(json_array_get(array->value, i), "segments"));
    }
    return count;
}

static lcp_status allocate(lcp_plan *plan, const lcp_json_cursor *array, lcp_error *err)
{
    void *chunks = NULL;
    void *segments = NULL;
    size_t count = json_array_size(array->value);
    lcp_status status = lcp_plan_allocate(&chunks, count, sizeof *plan->chunks, array, err);
    if (status == LCP_OK) {
        plan->chunks = chunks;
        plan->chunk_count = (int32_t)count;
        status = lcp_plan_allocate(&segments, count_segments(array) + 1, sizeof *plan->segments, array, err);
        plan->segments = segments;
    }
    return status;
}

lcp_status lcp_plan_read_chunks(lcp_plan *plan, const lcp_problem *problem, const lcp_json_cursor *root, lcp_error *err)
{
    lcp_json_cursor array;
    lcp_status status = lcp_json_array(&array, root, "chunks", 1, MAX_CHUNKS, err);
    if (status == LCP_OK) {
        status = allocate(plan, &array, err);
    }
    lcp_segment *next = plan->segments;
    for (int32_t k = 0; status == LCP_OK && k < plan->chunk_count; k++) {
        lcp_json_cursor at = lcp_json_element(&array, (size_t)k);
        lcp_plan_chunk *chunk = &plan->chunks[k];
        status = lcp_json_only_keys(&at, chunk_keys, err);
        if (status == LCP_OK) {
            status = lcp_plan_read_index(&at, "chunk", (size_t)k, err);
        }
        if (status == LCP_OK) {
            status = lcp_json_int32(&chunk->chunk.dp, &at, "dp", 0, plan->layout.dp - 1, err);
        }
        if (status == LCP_OK) {
            status = read_segments(&chunk->chunk, next, &problem->workload, &at, err);
        }
        if (status == LCP_OK) {
            next += chunk->chunk.segment_count;
            status = read_recompute(chunk, plan, problem->model.class_count, &at, err);
        }
    }
    return status;
}
