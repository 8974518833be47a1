/* Holds a plan against its inputs without the search: shares only the cost model with it. */
#ifndef LCP_VERIFY_H
#define LCP_VERIFY_H

#include "lcp/plan.h"
#include "lcp/problem.h"

/* LCP_OK, or LCP_FALSE with the first broken rule; err->where is the JSON path inside the plan. Rules in order: inputs,
 * degrees and legality, ranks, stages, segments (coverage, alignment, order), chunks (one continuation, token limits),
 * schedule (coverage, order, deadlock), recompute, options, memory, times, certificate. */
lcp_status lcp_verify(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err);

typedef struct lcp_verify_rule {
    const char *name;
    const char *help;
    lcp_status (*check)(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err);
} lcp_verify_rule;
extern const lcp_verify_rule lcp_verify_rules[];
extern const size_t lcp_verify_rule_count;

#endif
