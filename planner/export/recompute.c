/* How a plan recomputes, said in the words of trainers: the same prefix of every stage, or every layer. */
#include "export/trainer.h"

#include <string.h>

/* Policies of the layers of one stage for one chunk; entries count layers of their class in order. */
static void stage_policies(lcp_recompute *policies, const lcp_plan *plan, const lcp_model *model, int32_t chunk,
                           int32_t stage)
{
    const lcp_stage *s = &plan->stages[stage];
    const lcp_plan_chunk *owner = &plan->chunks[chunk];
    for (int32_t l = 0; l < s->layer_count; l++) {
        policies[l] = LCP_RECOMPUTE_NONE;
    }
    bool taken[LCP_MAX_LAYERS] = {false};
    for (int32_t e = 0; e < owner->recompute_count; e++) {
        const lcp_chunk_recompute *entry = &owner->recompute[e];
        int32_t left = entry->stage == stage ? entry->layers : 0;
        for (int32_t l = 0; left > 0 && l < s->layer_count; l++) {
            if (!taken[l] && model->layer_class[s->first_layer + l] == entry->layer_class) {
                taken[l] = true;
                policies[l] = entry->policy;
                left--;
            }
        }
    }
}

/* Layers before the first that keeps everything; -1 if a later one does not, or policies differ from `policy`. */
static int32_t prefix(const lcp_recompute *policies, int32_t layers, lcp_recompute policy)
{
    int32_t length = 0;
    while (length < layers && policies[length] == policy) {
        length++;
    }
    for (int32_t l = length; l < layers; l++) {
        if (policies[l] != LCP_RECOMPUTE_NONE) {
            return -1;
        }
    }
    return length;
}

/* The first policy beside NONE, and the most layers of a stage that have any. */
static void first_policy(lcp_recompute_form *out, const lcp_plan *plan, const lcp_model *model)
{
    lcp_recompute policies[LCP_MAX_LAYERS];
    for (int32_t k = 0; k < plan->chunk_count; k++) {
        for (int32_t s = 0; plan->chunks[k].recompute_count > 0 && s < plan->stage_count; s++) {
            stage_policies(policies, plan, model, k, s);
            int32_t count = 0;
            for (int32_t l = 0; l < plan->stages[s].layer_count; l++) {
                count += policies[l] != LCP_RECOMPUTE_NONE;
                out->policy = out->policy == LCP_RECOMPUTE_NONE ? policies[l] : out->policy;
            }
            out->layers = count > out->layers ? count : out->layers;
        }
    }
}

/* The first chunk that departs from the setting, -1 if none does. */
static int32_t departing_chunk(const lcp_recompute_form *form, const lcp_plan *plan, const lcp_model *model)
{
    lcp_recompute policies[LCP_MAX_LAYERS];
    for (int32_t k = 0; k < plan->chunk_count; k++) {
        for (int32_t s = 0; s < plan->stage_count; s++) {
            int32_t there = plan->stages[s].layer_count;
            stage_policies(policies, plan, model, k, s);
            if (prefix(policies, there, form->policy) != (form->layers < there ? form->layers : there)) {
                return k;
            }
        }
    }
    return -1;
}

static bool covers_all(const lcp_recompute_form *form, const lcp_plan *plan)
{
    for (int32_t s = 0; s < plan->stage_count; s++) {
        if (plan->stages[s].layer_count > form->layers) {
            return false;
        }
    }
    return true;
}

void lcp_recompute_form_find(lcp_recompute_form *out, const lcp_plan *plan, const lcp_problem *problem)
{
    *out = (lcp_recompute_form){.policy = LCP_RECOMPUTE_NONE};
    first_policy(out, plan, &problem->model);
    if (out->policy == LCP_RECOMPUTE_NONE) {
        return;
    }
    int32_t departing = departing_chunk(out, plan, &problem->model);
    bool all = covers_all(out, plan);
    bool whole = out->policy == LCP_RECOMPUTE_FULL;
    if (departing >= 0 || (!all && !whole)) {
        out->feature = LCP_FEATURE_MIXED_RECOMPUTE;
        out->policy = LCP_RECOMPUTE_FULL;
        out->chunk = departing >= 0 ? departing : 0;
    } else if (whole) {
        out->feature = all ? LCP_FEATURE_FULL_RECOMPUTE : LCP_FEATURE_BLOCK_RECOMPUTE;
    } else {
        out->feature = out->policy == LCP_RECOMPUTE_MLP ? LCP_FEATURE_MLP_RECOMPUTE : LCP_FEATURE_PART_RECOMPUTE;
    }
}
