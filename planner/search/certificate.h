/* The proof that goes with a plan: what was looked at, what was ruled out and why, and the bound. */
#ifndef LCP_CERTIFICATE_H
#define LCP_CERTIFICATE_H

#include "search/candidates.h"

typedef struct lcp_search_totals {
    const lcp_candidates *candidates;
    double iteration_seconds;
    double lower_bound_seconds;
    const char *stopped_by; /* NULL: ran to its end */
    int64_t solved, bounded, did_not_fit, lp_solves, mip_nodes;
} lcp_search_totals;

void lcp_certificate_fill(lcp_certificate *out, const lcp_problem *problem, const lcp_search_totals *totals);

#endif
