/* Which layouts a model, a cluster and a batch allow. One rule a row; the row's name is the rejection reason. */
#ifndef LCP_LEGALITY_H
#define LCP_LEGALITY_H

#include "lcp/problem.h"

typedef struct lcp_legality_rule {
    const char *reason;
    const char *help; /* what the rule demands */
    bool (*holds)(const lcp_problem *problem, const lcp_layout *layout);
} lcp_legality_rule;
extern const lcp_legality_rule lcp_legality_rules[];
extern const size_t lcp_legality_rule_count;

/* Index of the first broken rule, or -1 if the layout is legal. */
int32_t lcp_legality_broken(const lcp_problem *problem, const lcp_layout *layout);

/* Tokens to which slice boundaries are aligned: the kernels' 128-row tile and what context parallelism needs. */
int64_t lcp_slice_alignment(const lcp_layout *layout);

#endif
