/* The best other layouts that were looked at, one entry a layout, with the reason they lost. */
#ifndef LCP_ALTERNATIVES_H
#define LCP_ALTERNATIVES_H

#include "search/evaluation.h"

#define LCP_ALTERNATIVES 8

typedef struct lcp_alternatives {
    int32_t count;
    struct {
        lcp_layout layout;
        bool found; /* a plan was built; else seconds is the bound that ruled the layout out */
        double seconds;
        lcp_breakdown breakdown; /* when found */
    } items[LCP_ALTERNATIVES];   /* ascending in seconds */
} lcp_alternatives;

/* Keeps the best of each layout, and the best LCP_ALTERNATIVES layouts. */
void lcp_alternatives_add(lcp_alternatives *alternatives, const lcp_evaluation *evaluation);

/* Writes plan->alternatives: every kept layout but the plan's own, with the reason. */
lcp_status lcp_alternatives_list(lcp_plan *plan, const lcp_alternatives *alternatives, const lcp_evaluation *best,
                                 lcp_error *err);

#endif
