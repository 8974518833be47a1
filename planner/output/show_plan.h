/* A plan for people: the short summary of `plan`, its explanation, and the whole of it for `show`. */
#ifndef LCP_SHOW_PLAN_H
#define LCP_SHOW_PLAN_H

#include "lcp/plan.h"
#include "lcp/problem.h"

#include <jansson.h>
#include <stdio.h>

void lcp_plan_summary(FILE *out, const lcp_plan *plan, const lcp_problem *problem);
/* Breakdown of the iteration, what was rejected and why, runners-up. */
void lcp_plan_explanation(FILE *out, const lcp_plan *plan, const lcp_problem *problem);
/* Summary, stages, memory by term, chunk statistics, recompute, explanation. */
lcp_status lcp_show_plan(FILE *out, const lcp_plan *plan, const lcp_problem *problem, lcp_error *err);

/* The figures of the summary in base units. New reference; NULL = out of memory. */
json_t *lcp_plan_summary_json(const lcp_plan *plan, const lcp_problem *problem);

#endif
