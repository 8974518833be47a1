/* One candidate, cut, split, timed: what a worker thread does, and what it hands back. */
#ifndef LCP_EVALUATION_H
#define LCP_EVALUATION_H

#include "chunking/chunking.h"
#include "partition/partition.h"
#include "search/candidates.h"

typedef struct lcp_evaluation {
    lcp_candidate candidate;
    lcp_cost cost;
    lcp_chunking chunking;
    lcp_pipeline_tables *pipelines; /* [layout.dp] */
    lcp_partition partition;
    lcp_prediction predicted; /* filled when found */
    bool found;               /* a plan that fits exists here; the fields above are filled */
    bool fits;                /* false: no split or recompute fits in memory */
    int64_t missing_bytes;    /* when it does not fit */
    double iteration_seconds; /* when found */
    double bound_seconds;     /* valid whether or not a plan was found; infinity when nothing fits */
    int64_t lp_solves, mip_nodes;
} lcp_evaluation;
void lcp_evaluation_dispose(lcp_evaluation *evaluation);

/* cutoff_seconds: a candidate whose bound reaches it is given up (found stays false). */
lcp_status lcp_evaluate_candidate(lcp_evaluation *out, const lcp_problem *problem, const lcp_candidate *candidate,
                                  double cutoff_seconds, lcp_error *err);

/* Evaluates candidates[0..count) on `threads` threads; results[i] belongs to candidates[i] whatever the timing. The
 * first error in index order is returned. */
lcp_status lcp_evaluate_batch(lcp_evaluation *results, const lcp_problem *problem, const lcp_candidate *candidates,
                              int32_t count, double cutoff_seconds, int32_t threads, lcp_error *err);

/* The schedule that the options name; "auto" is elastic 1F1B. */
const lcp_schedule_kind *lcp_chosen_schedule(const lcp_options *options);

/* Builds the plan's own copy of every decision. */
lcp_status lcp_plan_assemble(lcp_plan *out, const lcp_problem *problem, const lcp_evaluation *evaluation,
                             lcp_error *err);

#endif
