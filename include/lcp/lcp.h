/* All of the library: what is read, what is planned, what is held against its inputs.
 *
 * Ownership: inputs are borrowed for the call. A struct filled through an out parameter is the caller's and has a
 * lcp_<type>_dispose that frees the inside and accepts a zeroed struct. */
#ifndef LCP_LCP_H
#define LCP_LCP_H

#include "lcp/cluster.h"
#include "lcp/cost.h"
#include "lcp/model.h"
#include "lcp/plan.h"
#include "lcp/problem.h"
#include "lcp/schedule.h"
#include "lcp/status.h"
#include "lcp/stream.h"
#include "lcp/workload.h"

#define LCP_VERSION_MAJOR 0
#define LCP_VERSION_MINOR 1
#define LCP_VERSION_PATCH 0
#define LCP_VERSION "0.1.0"

/* Fills problem->model, ->cluster, ->workload and their sources; options stay as they are. model_path: a Hugging Face
 * config.json or lcplan.model/1; cluster: a file or DEVICE:NODESxPER_NODE. */
lcp_status lcp_problem_read_files(lcp_problem *problem, const char *model_path, const char *cluster,
                                  const char *workload_path, lcp_error *err);

/* Searches to the end; LCP_INFEASIBLE names the limit that binds. */
lcp_status lcp_problem_plan(lcp_plan *out, const lcp_problem *problem, lcp_error *err);

/* lcplan.plan/1. Reading fills the problem from the documents inside the plan. Writing is whole or not at all; "-" is
 * standard output. */
lcp_status lcp_plan_read_file(lcp_plan *plan, lcp_problem *problem, const char *path, lcp_error *err);
lcp_status lcp_plan_write_file(const char *path, const lcp_plan *plan, const lcp_problem *problem, lcp_error *err);

/* LCP_FALSE: err names the place in the plan and the rule that is broken. */
lcp_status lcp_plan_verify(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err);

#endif
