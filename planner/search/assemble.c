/* From the decisions of one evaluation to a plan that owns everything it names. */
#include "search/evaluation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lcp_status no_memory(lcp_error *err)
{
    return lcp_fail(err, LCP_NOMEM, "", "cannot hold the plan");
}

static lcp_status fill_stages(lcp_plan *out, const lcp_evaluation *e, lcp_error *err)
{
    out->stage_count = e->partition.stage_count;
    out->stages = calloc((size_t)out->stage_count, sizeof *out->stages);
    if (out->stages == NULL) {
        return no_memory(err);
    }
    int32_t first = 0;
    for (int32_t s = 0; s < out->stage_count; s++) {
        out->stages[s] = (lcp_stage){
            .pp = s,
            .first_layer = first,
            .layer_count = e->partition.stage_layers[s],
            .embedding = s == 0,
            .head = s == out->stage_count - 1,
        };
        first += e->partition.stage_layers[s];
    }
    return LCP_OK;
}

static lcp_status fill_segments(lcp_plan *out, const lcp_evaluation *e, lcp_error *err)
{
    int64_t total = 0;
    if (e->chunking.chunk_count < 1) {
        return lcp_fail(err, LCP_INTERNAL, "", "a plan without chunks");
    }
    for (int32_t k = 0; k < e->chunking.chunk_count; k++) {
        total += e->chunking.chunks[k].segment_count;
    }
    out->chunk_count = e->chunking.chunk_count;
    out->chunks = calloc((size_t)out->chunk_count, sizeof *out->chunks);
    out->segments = malloc((size_t)total * sizeof *out->segments);
    if (out->chunks == NULL || out->segments == NULL) {
        return no_memory(err);
    }
    lcp_segment *next = out->segments;
    for (int32_t k = 0; k < out->chunk_count; k++) {
        const lcp_chunk *chunk = &e->chunking.chunks[k];
        memcpy(next, chunk->segments, (size_t)chunk->segment_count * sizeof *next);
        out->chunks[k].chunk = (lcp_chunk){.dp = chunk->dp, .segment_count = chunk->segment_count, .segments = next};
        next += chunk->segment_count;
    }
    return LCP_OK;
}

/* Visits the recompute entries of one chunk in the order of the plan; entries == NULL only counts. */
static int32_t list_recompute(lcp_chunk_recompute *entries, const lcp_evaluation *e, int32_t pipeline, int32_t chunk)
{
    int32_t stages = e->partition.stage_count;
    int32_t classes = e->cost.model->class_count;
    int32_t count = 0;
    for (int32_t s = 0; s < stages; s++) {
        for (int32_t c = 0; c < classes; c++) {
            size_t base =
                (((size_t)chunk * (size_t)stages + (size_t)s) * (size_t)classes + (size_t)c) * LCP_RECOMPUTE_COUNT;
            for (int32_t q = LCP_RECOMPUTE_NONE + 1; q < LCP_RECOMPUTE_COUNT; q++) {
                int32_t layers = e->partition.recompute_counts[pipeline][base + (size_t)q];
                if (layers > 0 && entries != NULL) {
                    entries[count] = (lcp_chunk_recompute){
                        .stage = s, .layer_class = c, .policy = (lcp_recompute)q, .layers = layers};
                }
                count += layers > 0;
            }
        }
    }
    return count;
}

static lcp_status fill_recompute(lcp_plan *out, const lcp_evaluation *e, lcp_error *err)
{
    for (int32_t k = 0; k < out->chunk_count; k++) {
        int32_t pipeline = out->chunks[k].chunk.dp;
        int32_t local = k - e->chunking.rank_first[pipeline];
        int32_t count = list_recompute(NULL, e, pipeline, local);
        if (count == 0) {
            continue;
        }
        out->chunks[k].recompute = calloc((size_t)count, sizeof *out->chunks[k].recompute);
        if (out->chunks[k].recompute == NULL) {
            return no_memory(err);
        }
        out->chunks[k].recompute_count = list_recompute(out->chunks[k].recompute, e, pipeline, local);
    }
    return LCP_OK;
}

/* Copies a schedule, renumbering chunks from those of one pipeline to those of the plan. */
static lcp_status copy_schedule(lcp_schedule *out, const lcp_schedule *from, int32_t first_chunk, lcp_error *err)
{
    *out = (lcp_schedule){.rank_count = from->rank_count, .stage_count = from->stage_count};
    out->chunk_count = from->chunk_count;
    out->stage_rank = malloc((size_t)from->stage_count * sizeof *out->stage_rank);
    out->op_count = calloc((size_t)from->rank_count, sizeof *out->op_count);
    out->ops = calloc((size_t)from->rank_count, sizeof *out->ops);
    if (out->stage_rank == NULL || out->op_count == NULL || out->ops == NULL) {
        return no_memory(err);
    }
    memcpy(out->stage_rank, from->stage_rank, (size_t)from->stage_count * sizeof *out->stage_rank);
    for (int32_t r = 0; r < from->rank_count; r++) {
        out->ops[r] = malloc((size_t)from->op_count[r] * sizeof *out->ops[r]);
        if (out->ops[r] == NULL) {
            return no_memory(err);
        }
        out->op_count[r] = from->op_count[r];
        for (int32_t i = 0; i < from->op_count[r]; i++) {
            out->ops[r][i] = from->ops[r][i];
            out->ops[r][i].chunk += first_chunk;
        }
    }
    return LCP_OK;
}

static lcp_status fill_pipelines(lcp_plan *out, const lcp_evaluation *e, lcp_error *err)
{
    out->pipelines = calloc((size_t)out->layout.dp, sizeof *out->pipelines);
    if (out->pipelines == NULL) {
        return no_memory(err);
    }
    lcp_status status = LCP_OK;
    for (int32_t d = 0; status == LCP_OK && d < out->layout.dp; d++) {
        status = copy_schedule(&out->pipelines[d], &e->pipelines[d].schedule, e->chunking.rank_first[d], err);
    }
    return status;
}

static lcp_status fill_prediction(lcp_plan *out, const lcp_evaluation *e, lcp_error *err)
{
    out->predicted = e->predicted;
    out->predicted.stages = malloc((size_t)out->stage_count * sizeof *out->predicted.stages);
    if (out->predicted.stages == NULL) {
        return no_memory(err);
    }
    memcpy(out->predicted.stages, e->predicted.stages, (size_t)out->stage_count * sizeof *out->predicted.stages);
    return LCP_OK;
}

lcp_status lcp_plan_assemble(lcp_plan *out, const lcp_problem *problem, const lcp_evaluation *evaluation,
                             lcp_error *err)
{
    *out = (lcp_plan){.layout = evaluation->candidate.layout};
    snprintf(out->schedule_name, sizeof out->schedule_name, "%s", lcp_chosen_schedule(&problem->options)->name);
    lcp_status (*const steps[])(lcp_plan *, const lcp_evaluation *, lcp_error *) = {
        fill_stages, fill_segments, fill_recompute, fill_pipelines, fill_prediction,
    };
    lcp_status status = LCP_OK;
    for (size_t i = 0; status == LCP_OK && i < sizeof steps / sizeof steps[0]; i++) {
        status = steps[i](out, evaluation, err);
    }
    if (status != LCP_OK) {
        lcp_plan_dispose(out);
    }
    return status;
}
