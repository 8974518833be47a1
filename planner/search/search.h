/* Candidates, bounds, best-first search, certificate. */
#ifndef LCP_SEARCH_H
#define LCP_SEARCH_H

#include "lcp/plan.h"
#include "lcp/problem.h"

typedef struct lcp_progress {
    int64_t candidates_left, solved;
    double incumbent_seconds; /* 0 = none yet */
    double lower_bound_seconds;
} lcp_progress;

typedef struct lcp_search_hooks {
    void (*progress)(void *context, const lcp_progress *progress); /* may be NULL */
    bool (*interrupted)(void *context);                            /* may be NULL; polled between candidates */
    void *context;
} lcp_search_hooks;

/* LCP_INFEASIBLE: err names the binding limit and the smallest change that helps. */
lcp_status lcp_plan_search(lcp_plan *out, const lcp_problem *problem, const lcp_search_hooks *hooks, lcp_error *err);

/* Whether any plan exists: stops at the first that fits, without a diagnosis. */
lcp_status lcp_search_fits(bool *found, const lcp_problem *problem, lcp_error *err);

#endif
