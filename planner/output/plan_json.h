/* lcplan.plan/1 to and from JSON, and writing files whole or not at all. */
#ifndef LCP_PLAN_JSON_H
#define LCP_PLAN_JSON_H

#include "lcp/plan.h"
#include "lcp/problem.h"

#include <jansson.h>

/* times adds start_seconds and end_seconds to each op: one replay for each pipeline, or NULL to leave them out. New
 * reference; NULL = out of memory or a number that is not finite. */
json_t *lcp_plan_to_json(const lcp_plan *plan, const lcp_problem *problem, const lcp_replay *times);
/* What changes from batch to batch: sequences, chunks, schedule, predicted. New reference; NULL as above. */
json_t *lcp_plan_batch_to_json(const lcp_plan *plan, const lcp_problem *problem);
/* Fills both plan and problem (model, cluster, workload, options from the resolved documents). */
lcp_status lcp_plan_from_json(lcp_plan *plan, lcp_problem *problem, json_t *root, const char *file, lcp_error *err);
lcp_status lcp_read_plan(lcp_plan *plan, lcp_problem *problem, const char *path, lcp_error *err);

/* Temporary name in the same directory, fsync, rename; path NULL or "-" writes to standard output and checks that
 * closing succeeds. */
lcp_status lcp_write_file(const char *path, const char *bytes, size_t size, lcp_error *err);
/* The plan's document to a file, or to standard output. */
lcp_status lcp_plan_write(const char *path, const lcp_plan *plan, const lcp_problem *problem, bool with_times,
                          lcp_error *err);
/* Deterministic text of a document: insertion order, 17 significant digits, newline at the end. */
lcp_status lcp_json_text(char **out, size_t *size, const json_t *document, lcp_error *err);

#endif
