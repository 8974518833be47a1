/* From what a trainer can say to what the search may choose. */
#include "export/trainer.h"

#include <stdio.h>
#include <string.h>

static bool has(const lcp_target *target, lcp_feature feature)
{
    return (target->trainer->expresses & LCP_HAS(feature)) != 0;
}

static lcp_status restrict_schedule(lcp_options *options, const lcp_target *target, lcp_error *err)
{
    if (has(target, LCP_FEATURE_ORDERS)) {
        return LCP_OK;
    }
    bool interleaved = strcmp(options->schedule, "interleaved") == 0 && has(target, LCP_FEATURE_INTERLEAVING);
    if (strcmp(options->schedule, "auto") == 0) {
        snprintf(options->schedule, sizeof options->schedule, "1f1b");
    } else if (strcmp(options->schedule, "1f1b") != 0 && !interleaved) {
        return lcp_fail(err, LCP_USAGE, "", "--schedule: found '%s', expected 1f1b: %s has no other", options->schedule,
                        target->trainer->name);
    }
    return LCP_OK;
}

/* Which whole-layer recompute the trainer has; a choice that somebody made already is held against that. */
static lcp_status restrict_recompute(lcp_options *options, const lcp_target *target, const lcp_model *model,
                                     bool *or_full, lcp_error *err)
{
    bool full = has(target, LCP_FEATURE_FULL_RECOMPUTE);
    /* One setting counts layers of each class; the first of a stage are those only where there is one class. */
    bool block = has(target, LCP_FEATURE_BLOCK_RECOMPUTE) && model->class_count == 1;
    *or_full = false;
    if (has(target, LCP_FEATURE_MIXED_RECOMPUTE)) {
        return LCP_OK;
    }
    options->uniform_recompute = true;
    switch (options->recompute) {
    case LCP_RECOMPUTE_MODE_AUTO:
        options->recompute = block ? LCP_RECOMPUTE_MODE_BLOCK : LCP_RECOMPUTE_MODE_NONE;
        *or_full = full && !block;
        return LCP_OK;
    case LCP_RECOMPUTE_MODE_NONE:
        return LCP_OK;
    case LCP_RECOMPUTE_MODE_FULL:
        if (full) {
            return LCP_OK;
        }
        break;
    case LCP_RECOMPUTE_MODE_BLOCK:
        if (block) {
            return LCP_OK;
        }
        break;
    case LCP_RECOMPUTE_MODE_SELECTIVE:
        break;
    }
    return lcp_fail(err, LCP_USAGE, "", "--recompute: %s can say %s only", target->trainer->name,
                    !full   ? "none"
                    : block ? "auto, none, block or full"
                            : "auto, none or full");
}

static bool equal_lengths(const lcp_problem *problem)
{
    lcp_setup run;
    const lcp_layout layout = {.dp = 1, .pp = 1, .vpp = 1, .tp = 1, .ulysses = 1, .ring = 1, .ep = 1};
    lcp_setup_of_layout(&run, problem, &layout);
    return run.equal_lengths;
}

static lcp_status check_lengths(const lcp_problem *problem, const lcp_target *target, lcp_error *err)
{
    if (equal_lengths(problem) || has(target, LCP_FEATURE_PACKS)) {
        return LCP_OK;
    }
    return lcp_fail(err, LCP_INFEASIBLE, "",
                    "%s cannot be told which sequences of unequal length share a chunk: give sequences of one length, "
                    "or plan without --for and export with --lossy",
                    target->trainer->name);
}

lcp_status lcp_target_restrict(lcp_problem *problem, bool *or_full, const lcp_target *target, lcp_error *err)
{
    lcp_options *options = &problem->options;
    const char *since = target->trainer->split_since;
    bool any_split = has(target, LCP_FEATURE_SPLIT) && (since == NULL || lcp_target_since(target, since));
    snprintf(options->trainer, sizeof options->trainer, "%s@%s", target->trainer->name, lcp_target_version(target));
    options->slicing = options->slicing && has(target, LCP_FEATURE_SLICES);
    options->equal_chunks = options->equal_chunks || (equal_lengths(problem) && !has(target, LCP_FEATURE_CHUNK_SIZES));
    options->equal_layers = options->equal_layers || !any_split;
    if (options->zero_stage < 0) {
        options->zero_stage = target->trainer->zero_stage;
    }
    lcp_status status = check_lengths(problem, target, err);
    if (status == LCP_OK) {
        status = restrict_schedule(options, target, err);
    }
    return status != LCP_OK ? status : restrict_recompute(options, target, &problem->model, or_full, err);
}
