/* Parts of the plan reader. Each takes the cursor of its own object and what was read before it. */
#ifndef LCP_PLAN_READ_INTERNAL_H
#define LCP_PLAN_READ_INTERNAL_H

#include "lcp/problem.h"
#include "plan_fields.h"

/* calloc for `count` >= 1 elements; fails with LCP_NOMEM. */
lcp_status lcp_plan_allocate(void **out, size_t count, size_t size, const lcp_json_cursor *at, lcp_error *err);
/* object[key] must be the integer `index`: elements are numbered in order. */
lcp_status lcp_plan_read_index(const lcp_json_cursor *object, const char *key, size_t index, lcp_error *err);
/* "parallelism" of the plan or of an alternative. */
lcp_status lcp_plan_read_layout(lcp_layout *out, const lcp_json_cursor *object, lcp_error *err);

/* Needs layout, stages and the model's classes. */
lcp_status lcp_plan_read_chunks(lcp_plan *plan, const lcp_problem *problem, const lcp_json_cursor *root,
                                lcp_error *err);
/* Needs layout, stages, chunks. */
lcp_status lcp_plan_read_schedule(lcp_plan *plan, const lcp_json_cursor *root, lcp_error *err);
/* "predicted", "certificate", "alternatives"; need the stages. */
lcp_status lcp_plan_read_proof(lcp_plan *plan, const lcp_json_cursor *root, lcp_error *err);

#endif
