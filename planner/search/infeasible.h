/* Says why nothing fits and what the smallest change is that would make it fit. */
#ifndef LCP_INFEASIBLE_H
#define LCP_INFEASIBLE_H

#include "search/candidates.h"

typedef struct lcp_shortage {
    const lcp_candidates *candidates;
    int64_t missing_bytes; /* least shortfall per device over all layouts, 0 = none came as far as memory */
    lcp_layout layout;     /* the layout that comes closest */
} lcp_shortage;

/* Returns LCP_INFEASIBLE with the message in err (or the error that stopped the diagnosis). */
lcp_status lcp_explain_infeasible(const lcp_problem *problem, const lcp_shortage *shortage, lcp_error *err);

#endif
