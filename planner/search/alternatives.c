#include "search/alternatives.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same_layout(const lcp_layout *a, const lcp_layout *b)
{
    return a->dp == b->dp && a->pp == b->pp && a->vpp == b->vpp && a->tp == b->tp && a->ulysses == b->ulysses &&
           a->ring == b->ring && a->ep == b->ep && a->zero_stage == b->zero_stage && a->ring_method == b->ring_method;
}

static void remove_at(lcp_alternatives *alternatives, int32_t at)
{
    alternatives->count--;
    memmove(&alternatives->items[at], &alternatives->items[at + 1],
            (size_t)(alternatives->count - at) * sizeof alternatives->items[0]);
}

/* A plan that was built says more than a bound: it wins over a bound of the same layout. */
static bool replaces(const lcp_evaluation *evaluation, bool found, double seconds)
{
    double own = evaluation->found ? evaluation->iteration_seconds : evaluation->bound_seconds;
    return evaluation->found != found ? evaluation->found : own < seconds;
}

void lcp_alternatives_add(lcp_alternatives *alternatives, const lcp_evaluation *evaluation)
{
    if (!evaluation->fits) {
        return;
    }
    for (int32_t i = 0; i < alternatives->count; i++) {
        if (same_layout(&alternatives->items[i].layout, &evaluation->candidate.layout)) {
            if (!replaces(evaluation, alternatives->items[i].found, alternatives->items[i].seconds)) {
                return;
            }
            remove_at(alternatives, i);
            break;
        }
    }
    double seconds = evaluation->found ? evaluation->iteration_seconds : evaluation->bound_seconds;
    int32_t at = alternatives->count;
    while (at > 0 && seconds < alternatives->items[at - 1].seconds) {
        at--;
    }
    if (at >= LCP_ALTERNATIVES) {
        return;
    }
    if (alternatives->count == LCP_ALTERNATIVES) {
        alternatives->count--;
    }
    memmove(&alternatives->items[at + 1], &alternatives->items[at],
            (size_t)(alternatives->count - at) * sizeof alternatives->items[0]);
    alternatives->items[at].layout = evaluation->candidate.layout;
    alternatives->items[at].found = evaluation->found;
    alternatives->items[at].seconds = seconds;
    alternatives->items[at].breakdown = evaluation->predicted.breakdown;
    alternatives->count++;
}

typedef struct cause {
    const char *name;
    double extra_seconds;
} cause;

/* The part of the breakdown that grows most against the plan. */
static cause largest_cause(const lcp_breakdown *other, const lcp_breakdown *plan)
{
    const cause causes[] = {
        {"compute", other->compute - plan->compute},
        {"recompute", other->recompute - plan->recompute},
        {"exposed tensor-parallel traffic", other->exposed_tp - plan->exposed_tp},
        {"exposed context-parallel traffic", other->exposed_cp - plan->exposed_cp},
        {"exposed stage-to-stage sends", other->exposed_pp - plan->exposed_pp},
        {"exposed expert traffic", other->exposed_ep - plan->exposed_ep},
        {"exposed data-parallel traffic", other->exposed_dp - plan->exposed_dp},
        {"optimizer", other->optimizer - plan->optimizer},
        {"bubble", other->bubble - plan->bubble},
    };
    cause largest = causes[0];
    for (size_t i = 1; i < sizeof causes / sizeof causes[0]; i++) {
        if (causes[i].extra_seconds > largest.extra_seconds) {
            largest = causes[i];
        }
    }
    return largest;
}

static void give_reason(lcp_alternative *out, bool found, const lcp_breakdown *breakdown, const lcp_evaluation *best)
{
    double slower = out->iteration_seconds / best->iteration_seconds - 1;
    if (!found) {
        snprintf(out->reason, sizeof out->reason, "not built: its lower bound is %.1f %% %s the plan",
                 100 * fabs(slower), slower < 0 ? "below" : "above");
        return;
    }
    cause main_cause = largest_cause(breakdown, &best->predicted.breakdown);
    snprintf(out->reason, sizeof out->reason, "%.1f %% slower: %s costs %.3g s more", 100 * slower, main_cause.name,
             main_cause.extra_seconds);
}

lcp_status lcp_alternatives_list(lcp_plan *plan, const lcp_alternatives *alternatives, const lcp_evaluation *best,
                                 lcp_error *err)
{
    plan->alternatives = calloc(LCP_ALTERNATIVES, sizeof *plan->alternatives);
    if (plan->alternatives == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold the alternatives");
    }
    for (int32_t i = 0; i < alternatives->count; i++) {
        if (same_layout(&alternatives->items[i].layout, &plan->layout)) {
            continue;
        }
        lcp_alternative *out = &plan->alternatives[plan->alternative_count++];
        out->layout = alternatives->items[i].layout;
        out->iteration_seconds = alternatives->items[i].seconds;
        give_reason(out, alternatives->items[i].found, &alternatives->items[i].breakdown, best);
    }
    return LCP_OK;
}
