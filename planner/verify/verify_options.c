/* The plan keeps to the options it was made with. */
#include "verify/verify_internal.h"

#include "export/trainer.h"

#include <stdio.h>
#include <string.h>

static lcp_status check_degree(const lcp_degree *allowed, const char *key, int32_t found, lcp_error *err)
{
    char path[64];
    for (int32_t i = 0; i < allowed->count; i++) {
        if (allowed->values[i] == found) {
            return LCP_OK;
        }
    }
    snprintf(path, sizeof path, "$.parallelism.%s", key);
    return allowed->count == 0 ? LCP_OK : lcp_fail(err, LCP_FALSE, path, "%d is not among the degrees allowed", found);
}

static lcp_status check_layout(const lcp_layout *l, const lcp_options *o, lcp_error *err)
{
    const struct {
        const lcp_degree *allowed;
        const char *key;
        int32_t found;
    } degrees[] = {
        {&o->dp, "dp", l->dp},
        {&o->pp, "pp", l->pp},
        {&o->vpp, "vpp", l->vpp},
        {&o->tp, "tp", l->tp},
        {&o->ulysses, "ulysses", l->ulysses},
        {&o->ring, "ring", l->ring},
        {&o->ep, "ep", l->ep},
    };
    lcp_status status = LCP_OK;
    for (size_t i = 0; status == LCP_OK && i < sizeof degrees / sizeof degrees[0]; i++) {
        status = check_degree(degrees[i].allowed, degrees[i].key, degrees[i].found, err);
    }
    if (status == LCP_OK && o->zero_stage >= 0 && l->zero_stage != o->zero_stage) {
        status = lcp_fail(err, LCP_FALSE, "$.parallelism.zero_stage", "%d, asked for %d", l->zero_stage, o->zero_stage);
    }
    return status;
}

static lcp_status check_cuts(const lcp_plan *plan, const lcp_options *o, lcp_error *err)
{
    for (int32_t k = 0; k < plan->chunk_count; k++) {
        const lcp_chunk *chunk = &plan->chunks[k].chunk;
        for (int32_t i = 0; i < chunk->segment_count; i++) {
            const lcp_segment *s = &chunk->segments[i];
            const char *text = NULL;
            if (s->has_successor && (!o->slicing || strcmp(o->schedule, "1f1b") == 0)) {
                text = "a sequence is cut, and none may be";
            } else if (s->has_successor && s->length_tokens < o->min_slice_tokens) {
                text = "a slice shorter than min_slice_tokens that is no tail";
            }
            if (text != NULL) {
                return lcp_broken(err, text, "$.chunks[%d].segments[%d]", k, i);
            }
        }
    }
    return LCP_OK;
}

static bool policy_allowed(lcp_recompute_mode mode, lcp_recompute policy)
{
    switch (mode) {
    case LCP_RECOMPUTE_MODE_NONE:
        return policy == LCP_RECOMPUTE_NONE;
    case LCP_RECOMPUTE_MODE_SELECTIVE:
        return policy != LCP_RECOMPUTE_NONE && policy != LCP_RECOMPUTE_FULL;
    case LCP_RECOMPUTE_MODE_FULL:
        return policy == LCP_RECOMPUTE_FULL;
    case LCP_RECOMPUTE_MODE_BLOCK:
        return policy == LCP_RECOMPUTE_NONE || policy == LCP_RECOMPUTE_FULL;
    case LCP_RECOMPUTE_MODE_AUTO:
        break;
    }
    return true;
}

/* Counts were found to be within the stages' layers before, so layers named nowhere keep everything. */
static lcp_status check_policies(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    lcp_recompute_mode mode = problem->options.recompute;
    for (int32_t k = 0; k < plan->chunk_count; k++) {
        const lcp_plan_chunk *chunk = &plan->chunks[k];
        int32_t named = 0;
        for (int32_t i = 0; i < chunk->recompute_count; i++) {
            if (!policy_allowed(mode, chunk->recompute[i].policy)) {
                return lcp_broken(err, "a policy that the recompute option does not allow",
                                  "$.chunks[%d].recompute[%d]", k, i);
            }
            named += chunk->recompute[i].layers;
        }
        if (named < problem->model.layer_count && !policy_allowed(mode, LCP_RECOMPUTE_NONE)) {
            return lcp_broken(err, "layers keep everything, which the recompute option does not allow",
                              "$.chunks[%d].recompute", k);
        }
    }
    return LCP_OK;
}

static lcp_status check_equal_layers(const lcp_plan *plan, lcp_error *err)
{
    int32_t least = plan->stages[0].layer_count;
    int32_t most = least;
    for (int32_t s = 1; s < plan->stage_count; s++) {
        int32_t layers = plan->stages[s].layer_count;
        least = layers < least ? layers : least;
        most = layers > most ? layers : most;
    }
    return most - least <= 1 ? LCP_OK : lcp_broken(err, "stages differ by more than one layer", "$.stages");
}

static const lcp_chunk_recompute *entry_of(const lcp_plan_chunk *chunk, int32_t stage, int32_t layer_class)
{
    for (int32_t i = 0; i < chunk->recompute_count; i++) {
        if (chunk->recompute[i].stage == stage && chunk->recompute[i].layer_class == layer_class) {
            return &chunk->recompute[i];
        }
    }
    return NULL;
}

static lcp_status check_setting(const lcp_plan *plan, const lcp_model *model, int32_t chunk,
                                const lcp_chunk_recompute *setting, lcp_error *err)
{
    const lcp_plan_chunk *owner = &plan->chunks[chunk];
    for (int32_t s = 0; s < plan->stage_count; s++) {
        int32_t there[LCP_MAX_LAYER_CLASSES];
        lcp_verify_stage_classes(plan, model, s, there);
        for (int32_t c = 0; c < model->class_count; c++) {
            const lcp_chunk_recompute *entry = entry_of(owner, s, c);
            int32_t expected = setting->layers < there[c] ? setting->layers : there[c];
            int32_t found = entry != NULL && entry->policy == setting->policy ? entry->layers : 0;
            if (found != expected) {
                return lcp_broken(err, "not the one setting of all stages and chunks", "$.chunks[%d].recompute", chunk);
            }
        }
    }
    return LCP_OK;
}

/* One policy, and one number of layers that stages with fewer of a class are clipped to. */
static lcp_status check_uniform(const lcp_plan *plan, const lcp_model *model, lcp_error *err)
{
    lcp_chunk_recompute setting = {.policy = LCP_RECOMPUTE_NONE};
    for (int32_t k = 0; k < plan->chunk_count; k++) {
        for (int32_t i = 0; i < plan->chunks[k].recompute_count; i++) {
            const lcp_chunk_recompute *entry = &plan->chunks[k].recompute[i];
            if (setting.layers > 0 && entry->policy != setting.policy) {
                return lcp_broken(err, "more than one policy, and one setting for all was asked for",
                                  "$.chunks[%d].recompute[%d]", k, i);
            }
            setting.policy = entry->policy;
            setting.layers = entry->layers > setting.layers ? entry->layers : setting.layers;
        }
    }
    lcp_status status = LCP_OK;
    for (int32_t k = 0; status == LCP_OK && k < plan->chunk_count; k++) {
        status = check_setting(plan, model, k, &setting, err);
    }
    return status;
}

static lcp_status check_equal_chunks(const lcp_plan *plan, lcp_error *err)
{
    for (int32_t k = 1; k < plan->chunk_count; k++) {
        if (plan->chunks[k].chunk.segment_count != plan->chunks[0].chunk.segment_count) {
            return lcp_broken(err, "not as many sequences as the first chunk, and equal chunks were asked for",
                              "$.chunks[%d].segments", k);
        }
    }
    return LCP_OK;
}

/* The trainer that the plan was made for can be told all of it. */
static lcp_status check_trainer(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    lcp_target target;
    if (problem->options.trainer[0] == '\0') {
        return LCP_OK;
    }
    if (!lcp_target_parse(&target, problem->options.trainer)) {
        return lcp_broken(err, "no trainer and version that 'lcplan list trainers' has", "$.inputs.options.trainer");
    }
    return lcp_export_check(&target, plan, problem, false, true, err);
}

lcp_status lcp_verify_options(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    const lcp_options *o = &problem->options;
    lcp_status status = check_layout(&plan->layout, o, err);
    if (status == LCP_OK && strcmp(o->schedule, "auto") != 0 && strcmp(o->schedule, plan->schedule_name) != 0) {
        status = lcp_fail(err, LCP_FALSE, "$.schedule.name", "%s, asked for %s", plan->schedule_name, o->schedule);
    }
    if (status == LCP_OK) {
        status = check_cuts(plan, o, err);
    }
    if (status == LCP_OK) {
        status = check_policies(plan, problem, err);
    }
    if (status == LCP_OK && o->equal_layers) {
        status = check_equal_layers(plan, err);
    }
    if (status == LCP_OK && o->uniform_recompute) {
        status = check_uniform(plan, &problem->model, err);
    }
    if (status == LCP_OK && o->equal_chunks) {
        status = check_equal_chunks(plan, err);
    }
    return status == LCP_OK ? check_trainer(plan, problem, err) : status;
}
