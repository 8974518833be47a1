/* Plans from text in memory, and answers of a stream as single lines. */
#ifndef LCP_PLAN_LINE_H
#define LCP_PLAN_LINE_H

#include "lcp/plan.h"
#include "lcp/problem.h"

/* A document lcplan.plan/1 in memory; fills both. */
lcp_status lcp_plan_from_text(lcp_plan *plan, lcp_problem *problem, const char *text, size_t size, lcp_error *err);

/* sequences, chunks, schedule and predicted on one line, without the newline; the caller frees *line. */
lcp_status lcp_plan_line(char **line, const lcp_plan *plan, const lcp_problem *problem, lcp_error *err);

/* {"error": message}. */
lcp_status lcp_error_line(char **line, const lcp_error *err);

#endif
