/* Stages, segments, slices. */
#include "verify/verify_internal.h"

#include <stdlib.h>
#include <string.h>

/* Where a schedule has a stage: on ranks in turn, or down and up them; anywhere for one that takes any placement. */
static bool placed_well(const lcp_plan *plan, int32_t stage)
{
    static const char *const waves[] = {"zb-v", "v-half", "v-min", "dualpipe-v", "hanayo"};
    int32_t pp = plan->layout.pp;
    int32_t place = stage % pp;
    for (size_t i = 0; i < sizeof waves / sizeof waves[0]; i++) {
        bool up = strcmp(plan->schedule_name, waves[i]) == 0 && stage / pp % 2 != 0;
        place = up ? pp - 1 - stage % pp : place;
    }
    bool anywhere = strcmp(plan->schedule_name, "list") == 0;
    int32_t rank = plan->stages[stage].pp;
    return anywhere ? rank >= 0 && rank < pp : rank == place;
}

lcp_status lcp_verify_stages(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    int32_t next = 0;
    if (plan->stage_count != plan->layout.pp * plan->layout.vpp) {
        return lcp_broken(err, "not pp x vpp stages", "$.stages");
    }
    for (int32_t s = 0; s < plan->stage_count; s++) {
        const lcp_stage *stage = &plan->stages[s];
        if (!placed_well(plan, s) || stage->first_layer != next || stage->layer_count < 1) {
            return lcp_broken(err, "not the rank that the schedule has it on, not the next layer, or no layer",
                              "$.stages[%d]", s);
        }
        if (stage->embedding != (s == 0) || stage->head != (s == plan->stage_count - 1)) {
            return lcp_broken(err, "the embedding belongs to the first stage and the head to the last", "$.stages[%d]",
                              s);
        }
        next += stage->layer_count;
    }
    return next == problem->model.layer_count ? LCP_OK
                                              : lcp_broken(err, "the stages do not hold all layers", "$.stages");
}

void lcp_verify_stage_classes(const lcp_plan *plan, const lcp_model *model, int32_t stage, int32_t *layers)
{
    for (int32_t c = 0; c < model->class_count; c++) {
        layers[c] = 0;
    }
    for (int32_t l = 0; l < plan->stages[stage].layer_count; l++) {
        layers[model->layer_class[plan->stages[stage].first_layer + l]]++;
    }
}

static int64_t cut_unit(const lcp_layout *l)
{
    int64_t ranks = (int64_t)l->tp * l->ulysses * l->ring;
    return l->ring > 1 ? 2 * ranks : ranks;
}

/* How far each sequence is covered, and by which dp rank; -1 = none yet. */
typedef struct coverage {
    int64_t *tokens;
    int32_t *dp;
} coverage;

static lcp_status cover(coverage *c, const lcp_plan *plan, const lcp_workload *workload, int32_t chunk, int32_t segment,
                        lcp_error *err)
{
    const lcp_chunk *owner = &plan->chunks[chunk].chunk;
    const lcp_segment *s = &owner->segments[segment];
    const char *text = NULL;
    if (s->sequence < 0 || s->sequence >= workload->sequence_count) {
        text = "no such sequence";
    } else if (s->offset_tokens != c->tokens[s->sequence]) {
        text = "does not continue where the sequence's segments before it end (hole, overlap or wrong order)";
    } else if (s->length_tokens < 1 || s->length_tokens > workload->lengths_tokens[s->sequence] - s->offset_tokens) {
        text = "empty, or beyond the end of its sequence";
    } else if (c->dp[s->sequence] >= 0 && c->dp[s->sequence] != owner->dp) {
        text = "the slices of a sequence are on different data-parallel ranks";
    } else if (s->offset_tokens % cut_unit(&plan->layout) != 0) {
        text = "cut at an offset that is not aligned";
    } else if (s->has_successor != (s->offset_tokens + s->length_tokens < workload->lengths_tokens[s->sequence])) {
        text = "claims a successor and has none, or the reverse";
    }
    if (text != NULL) {
        return lcp_broken(err, text, "$.chunks[%d].segments[%d]", chunk, segment);
    }
    c->tokens[s->sequence] += s->length_tokens;
    c->dp[s->sequence] = owner->dp;
    return LCP_OK;
}

static lcp_status check_chunk(const lcp_plan *plan, int32_t k, int32_t previous_dp, lcp_error *err)
{
    const lcp_chunk *chunk = &plan->chunks[k].chunk;
    int32_t sliced = 0;
    for (int32_t i = 0; i < chunk->segment_count; i++) {
        sliced += chunk->segments[i].offset_tokens > 0 || chunk->segments[i].has_successor;
    }
    if (chunk->segment_count < 1 || sliced > 1) {
        return lcp_broken(err, "a chunk has at least one segment and at most one that is cut", "$.chunks[%d].segments",
                          k);
    }
    if (chunk->dp < previous_dp || chunk->dp >= plan->layout.dp) {
        return lcp_broken(err, "data-parallel ranks ascend and are below dp", "$.chunks[%d].dp", k);
    }
    return LCP_OK;
}

static lcp_status cover_all(coverage *c, const lcp_plan *plan, const lcp_workload *workload, lcp_error *err)
{
    lcp_status status = LCP_OK;
    for (int64_t i = 0; i < workload->sequence_count; i++) {
        c->dp[i] = -1;
    }
    for (int32_t k = 0; status == LCP_OK && k < plan->chunk_count; k++) {
        status = check_chunk(plan, k, k > 0 ? plan->chunks[k - 1].chunk.dp : 0, err);
        for (int32_t i = 0; status == LCP_OK && i < plan->chunks[k].chunk.segment_count; i++) {
            status = cover(c, plan, workload, k, i, err);
        }
    }
    for (int64_t i = 0; status == LCP_OK && i < workload->sequence_count; i++) {
        if (c->tokens[i] != workload->lengths_tokens[i]) {
            status = lcp_broken(err, "not all tokens are in a chunk", "$.sequences[%lld]", (long long)i);
        }
    }
    return status;
}

lcp_status lcp_verify_segments(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    size_t count = (size_t)problem->workload.sequence_count;
    coverage c = {.tokens = calloc(count, sizeof *c.tokens), .dp = calloc(count, sizeof *c.dp)};
    lcp_status status = c.tokens != NULL && c.dp != NULL ? cover_all(&c, plan, &problem->workload, err)
                                                         : lcp_fail(err, LCP_NOMEM, "", "cannot check the segments");
    free(c.tokens);
    free(c.dp);
    return status;
}

void lcp_slices_dispose(lcp_slices *slices)
{
    free(slices->before);
    free(slices->after);
    *slices = (lcp_slices){0};
}

/* Segments were checked before: the slices of a sequence are in ascending order of chunks. */
lcp_status lcp_slices_find(lcp_slices *out, const lcp_plan *plan, lcp_error *err)
{
    int64_t sequences = 0;
    for (int32_t k = 0; k < plan->chunk_count; k++) {
        for (int32_t i = 0; i < plan->chunks[k].chunk.segment_count; i++) {
            int64_t sequence = plan->chunks[k].chunk.segments[i].sequence;
            sequences = sequence >= sequences ? sequence + 1 : sequences;
        }
    }
    int32_t *last = malloc(((size_t)sequences + 1) * sizeof *last);
    out->before = malloc(((size_t)plan->chunk_count + 1) * sizeof *out->before);
    out->after = malloc(((size_t)plan->chunk_count + 1) * sizeof *out->after);
    if (last == NULL || out->before == NULL || out->after == NULL) {
        free(last);
        lcp_slices_dispose(out);
        return lcp_fail(err, LCP_NOMEM, "", "cannot follow the slices");
    }
    for (int32_t k = 0; k < plan->chunk_count; k++) {
        out->before[k] = -1;
        out->after[k] = -1;
        for (int32_t i = 0; i < plan->chunks[k].chunk.segment_count; i++) {
            const lcp_segment *s = &plan->chunks[k].chunk.segments[i];
            if (s->offset_tokens > 0) {
                out->before[k] = last[s->sequence];
                out->after[last[s->sequence]] = k;
            }
            last[s->sequence] = k;
        }
    }
    free(last);
    return LCP_OK;
}

lcp_status lcp_verify_recompute(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    const lcp_model *model = &problem->model;
    for (int32_t k = 0; k < plan->chunk_count; k++) {
        const lcp_plan_chunk *chunk = &plan->chunks[k];
        for (int32_t i = 0; i < chunk->recompute_count; i++) {
            const lcp_chunk_recompute *entry = &chunk->recompute[i];
            bool named = entry->stage >= 0 && entry->stage < plan->stage_count && entry->layer_class >= 0 &&
                         entry->layer_class < model->class_count && entry->policy > LCP_RECOMPUTE_NONE &&
                         entry->policy < LCP_RECOMPUTE_COUNT && entry->layers >= 1;
            int32_t layers[LCP_MAX_LAYER_CLASSES] = {0};
            int64_t sum = 0;
            for (int32_t j = 0; named && j <= i; j++) {
                const lcp_chunk_recompute *other = &chunk->recompute[j];
                bool same = other->stage == entry->stage && other->layer_class == entry->layer_class;
                named = !(same && j < i && other->policy == entry->policy);
                sum += same ? other->layers : 0;
            }
            if (named) {
                lcp_verify_stage_classes(plan, model, entry->stage, layers);
            }
            if (!named || sum > layers[entry->layer_class]) {
                return lcp_broken(err, "no such stage, class or policy, named twice, or more layers than the stage has",
                                  "$.chunks[%d].recompute[%d]", k, i);
            }
        }
    }
    return LCP_OK;
}
