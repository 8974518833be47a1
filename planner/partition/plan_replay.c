/* Times of a finished plan: its decisions put back into the tables they came from. */
#include "partition/partition.h"

#include <stdlib.h>
#include <string.h>

typedef struct replaying {
    const lcp_plan *plan;
    const lcp_problem *problem;
    lcp_cost cost;
    lcp_chunk *chunks;       /* [plan->chunk_count] */
    lcp_partition decisions; /* the members that timing reads */
    lcp_error *err;
} replaying;

static lcp_status no_memory(lcp_error *err)
{
    return lcp_fail(err, LCP_NOMEM, "", "cannot hold the times of a plan");
}

/* Chunks of a dp rank are consecutive. */
static int32_t first_chunk(const lcp_plan *plan, int32_t dp)
{
    int32_t first = 0;
    while (first < plan->chunk_count && plan->chunks[first].chunk.dp < dp) {
        first++;
    }
    return first;
}

static lcp_status take_counts(replaying *r, int32_t dp, int32_t first, int32_t end)
{
    const lcp_plan *plan = r->plan;
    size_t classes = (size_t)r->problem->model.class_count;
    size_t per_chunk = (size_t)plan->stage_count * classes * LCP_RECOMPUTE_COUNT;
    int32_t *counts = calloc((size_t)(end - first) * per_chunk, sizeof *counts);
    if (counts == NULL) {
        return no_memory(r->err);
    }
    r->decisions.recompute_counts[dp] = counts;
    for (int32_t k = first; k < end; k++) {
        for (int32_t i = 0; i < plan->chunks[k].recompute_count; i++) {
            const lcp_chunk_recompute *entry = &plan->chunks[k].recompute[i];
            size_t row = (size_t)entry->stage * classes + (size_t)entry->layer_class;
            counts[(size_t)(k - first) * per_chunk + row * LCP_RECOMPUTE_COUNT + (size_t)entry->policy] +=
                entry->layers;
        }
    }
    return LCP_OK;
}

static lcp_status take_decisions(replaying *r)
{
    const lcp_plan *plan = r->plan;
    r->chunks = malloc((size_t)plan->chunk_count * sizeof *r->chunks);
    r->decisions = (lcp_partition){.stage_count = plan->stage_count, .pipeline_count = plan->layout.dp};
    r->decisions.stage_layers = malloc((size_t)plan->stage_count * sizeof *r->decisions.stage_layers);
    r->decisions.recompute_counts = calloc((size_t)plan->layout.dp, sizeof *r->decisions.recompute_counts);
    if (r->chunks == NULL || r->decisions.stage_layers == NULL || r->decisions.recompute_counts == NULL) {
        return no_memory(r->err);
    }
    for (int32_t s = 0; s < plan->stage_count; s++) {
        r->decisions.stage_layers[s] = plan->stages[s].layer_count;
    }
    for (int32_t k = 0; k < plan->chunk_count; k++) {
        r->chunks[k] = plan->chunks[k].chunk;
    }
    return LCP_OK;
}

/* The plan's order instead of the generator's, chunks counted from the pipeline's first. */
static lcp_status take_order(lcp_schedule *out, const lcp_schedule *planned, int32_t first, lcp_error *err)
{
    for (int32_t r = 0; r < planned->rank_count; r++) {
        size_t size = (size_t)planned->op_count[r] * sizeof *out->ops[r];
        lcp_op *ops = malloc(size > 0 ? size : 1);
        if (ops == NULL) {
            return no_memory(err);
        }
        memcpy(ops, planned->ops[r], size);
        for (int32_t i = 0; i < planned->op_count[r]; i++) {
            ops[i].chunk -= first;
        }
        free(out->ops[r]);
        out->ops[r] = ops;
        out->op_count[r] = planned->op_count[r];
    }
    return LCP_OK;
}

static lcp_status replay_one(lcp_replay *out, replaying *r, int32_t dp)
{
    int32_t first = first_chunk(r->plan, dp);
    int32_t end = first_chunk(r->plan, dp + 1);
    lcp_pipeline_tables tables = {0};
    const lcp_schedule_kind *kind = lcp_schedule_find(r->plan->schedule_name);
    if (kind == NULL) {
        return lcp_fail(r->err, LCP_INPUT, "$.schedule.name", "unknown schedule %s", r->plan->schedule_name);
    }
    lcp_status status = take_counts(r, dp, first, end);
    if (status == LCP_OK) {
        status = lcp_pipeline_tables_build(&tables, &r->cost, r->chunks + first, end - first, kind, r->err);
    }
    if (status == LCP_OK) {
        status = take_order(&tables.schedule, &r->plan->pipelines[dp], first, r->err);
    }
    if (status == LCP_OK) {
        status = lcp_pipeline_replay(out, &r->cost, &tables, &r->decisions, dp, r->err);
    }
    lcp_pipeline_tables_dispose(&tables);
    return status;
}

static void replaying_dispose(replaying *r)
{
    for (int32_t d = 0; r->decisions.recompute_counts != NULL && d < r->decisions.pipeline_count; d++) {
        free(r->decisions.recompute_counts[d]);
    }
    free(r->decisions.recompute_counts);
    free(r->decisions.stage_layers);
    free(r->chunks);
}

lcp_status lcp_plan_replay(lcp_replay *out, const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    replaying r = {.plan = plan, .problem = problem, .err = err};
    int32_t done = 0;
    lcp_status status =
        lcp_cost_prepare(&r.cost, &problem->model, &problem->cluster, &plan->layout, &problem->options.training, err);
    if (status == LCP_OK) {
        status = take_decisions(&r);
    }
    while (status == LCP_OK && done < plan->layout.dp) {
        status = replay_one(&out[done], &r, done);
        done++;
    }
    for (int32_t d = 0; status != LCP_OK && d < done; d++) {
        lcp_replay_dispose(&out[d]);
    }
    replaying_dispose(&r);
    return status;
}
