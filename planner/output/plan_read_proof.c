#include "plan_read_internal.h"

#include <stdio.h>
#include <string.h>

#define MAX_ALTERNATIVES 1000

static lcp_status read_part(void *out, const lcp_json_cursor *object, const char *key, const lcp_field *fields,
                            lcp_error *err)
{
    lcp_json_cursor at;
    lcp_status status = lcp_json_object(&at, object, key, err);
    return status != LCP_OK ? status : lcp_fields_read_only(out, &at, fields, err);
}

static lcp_status read_stage(lcp_stage_prediction *out, size_t index, const lcp_json_cursor *at, lcp_error *err)
{
    static const char *const extra[] = {"stage", "memory_bytes", NULL};
    lcp_status status = lcp_fields_only(at, lcp_stage_prediction_fields, extra, err);
    if (status == LCP_OK) {
        status = lcp_plan_read_index(at, "stage", index, err);
    }
    if (status == LCP_OK) {
        status = lcp_fields_read(out, at, lcp_stage_prediction_fields, err);
    }
    return status != LCP_OK ? status : read_part(&out->memory, at, "memory_bytes", lcp_memory_fields, err);
}

static lcp_status read_prediction(lcp_prediction *out, size_t stage_count, const lcp_json_cursor *root, lcp_error *err)
{
    static const char *const extra[] = {"breakdown_seconds", "stages", NULL};
    lcp_json_cursor at;
    lcp_json_cursor array;
    void *stages = NULL;
    lcp_status status = lcp_json_object(&at, root, "predicted", err);
    if (status == LCP_OK) {
        status = lcp_fields_only(&at, lcp_prediction_fields, extra, err);
    }
    if (status == LCP_OK) {
        status = lcp_fields_read(out, &at, lcp_prediction_fields, err);
    }
    if (status == LCP_OK) {
        status = read_part(&out->breakdown, &at, "breakdown_seconds", lcp_breakdown_fields, err);
    }
    if (status == LCP_OK) {
        status = lcp_json_array(&array, &at, "stages", stage_count, stage_count, err);
    }
    if (status == LCP_OK) {
        status = lcp_plan_allocate(&stages, stage_count, sizeof *out->stages, root, err);
        out->stages = stages;
    }
    for (size_t i = 0; status == LCP_OK && i < stage_count; i++) {
        lcp_json_cursor stage = lcp_json_element(&array, i);
        status = read_stage(&out->stages[i], i, &stage, err);
    }
    return status;
}

static lcp_status read_rejected(lcp_certificate *out, const lcp_json_cursor *candidates, lcp_error *err)
{
    lcp_json_cursor at;
    lcp_status status = lcp_json_object(&at, candidates, "rejected", err);
    if (status == LCP_OK && json_object_size(at.value) > LCP_MAX_REASONS) {
        status = lcp_json_fail(&at, NULL, err, "found %zu reasons, expected at most %d", json_object_size(at.value),
                               LCP_MAX_REASONS);
    }
    if (status != LCP_OK) {
        return status;
    }
    for (void *i = json_object_iter(at.value); status == LCP_OK && i != NULL; i = json_object_iter_next(at.value, i)) {
        const char *reason = json_object_iter_key(i);
        lcp_reason_count *row = &out->rejected[out->rejected_count++];
        if (strlen(reason) >= sizeof row->reason) {
            return lcp_json_fail(&at, reason, err, "found a reason of %zu bytes, expected less than %zu",
                                 strlen(reason), sizeof row->reason);
        }
        snprintf(row->reason, sizeof row->reason, "%s", reason);
        status = lcp_json_int(&row->count, &at, reason, 0, INT64_MAX, err);
    }
    return status;
}

static lcp_status read_candidates(lcp_certificate *out, const lcp_json_cursor *certificate, lcp_error *err)
{
    static const char *const extra[] = {"rejected", NULL};
    lcp_json_cursor at;
    lcp_status status = lcp_json_object(&at, certificate, "candidates", err);
    if (status == LCP_OK) {
        status = lcp_fields_only(&at, lcp_candidate_fields, extra, err);
    }
    if (status == LCP_OK) {
        status = lcp_fields_read(out, &at, lcp_candidate_fields, err);
    }
    return status != LCP_OK ? status : read_rejected(out, &at, err);
}

static lcp_status read_solver(lcp_certificate *out, const lcp_json_cursor *certificate, lcp_error *err)
{
    static const char *const extra[] = {"name", NULL};
    lcp_json_cursor at;
    char name[32];
    lcp_status status = lcp_json_object(&at, certificate, "solver", err);
    if (status == LCP_OK) {
        status = lcp_fields_only(&at, lcp_solver_fields, extra, err);
    }
    if (status == LCP_OK) {
        status = lcp_json_string(name, sizeof name, &at, "name", err);
    }
    return status != LCP_OK ? status : lcp_fields_read(out, &at, lcp_solver_fields, err);
}

static lcp_status read_certificate(lcp_certificate *out, const lcp_json_cursor *root, lcp_error *err)
{
    static const char *const extra[] = {"candidates", "solver", NULL};
    lcp_json_cursor at;
    lcp_status status = lcp_json_object(&at, root, "certificate", err);
    if (status == LCP_OK) {
        status = lcp_fields_only(&at, lcp_certificate_fields, extra, err);
    }
    if (status == LCP_OK) {
        status = lcp_fields_read(out, &at, lcp_certificate_fields, err);
    }
    if (status == LCP_OK) {
        status = read_candidates(out, &at, err);
    }
    return status != LCP_OK ? status : read_solver(out, &at, err);
}

static lcp_status read_alternative(lcp_alternative *out, const lcp_json_cursor *at, lcp_error *err)
{
    static const char *const extra[] = {"parallelism", NULL};
    lcp_status status = lcp_fields_only(at, lcp_alternative_fields, extra, err);
    if (status == LCP_OK) {
        status = lcp_plan_read_layout(&out->layout, at, err);
    }
    return status != LCP_OK ? status : lcp_fields_read(out, at, lcp_alternative_fields, err);
}

static lcp_status read_alternatives(lcp_plan *plan, const lcp_json_cursor *root, lcp_error *err)
{
    lcp_json_cursor array;
    void *alternatives = NULL;
    lcp_status status = lcp_json_array(&array, root, "alternatives", 0, MAX_ALTERNATIVES, err);
    size_t count = status == LCP_OK ? json_array_size(array.value) : 0;
    if (count > 0) {
        status = lcp_plan_allocate(&alternatives, count, sizeof *plan->alternatives, root, err);
        plan->alternatives = alternatives;
    }
    for (size_t i = 0; status == LCP_OK && i < count; i++) {
        lcp_json_cursor at = lcp_json_element(&array, i);
        status = read_alternative(&plan->alternatives[i], &at, err);
        plan->alternative_count++;
    }
    return status;
}

lcp_status lcp_plan_read_proof(lcp_plan *plan, const lcp_json_cursor *root, lcp_error *err)
{
    lcp_status status = read_prediction(&plan->predicted, (size_t)plan->stage_count, root, err);
    if (status == LCP_OK) {
        status = read_certificate(&plan->certificate, root, err);
    }
    return status != LCP_OK ? status : read_alternatives(plan, root, err);
}
