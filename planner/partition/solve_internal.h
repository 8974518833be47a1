/* Shared by the ways of solving a partition. */
#ifndef LCP_PARTITION_SOLVE_INTERNAL_H
#define LCP_PARTITION_SOLVE_INTERNAL_H

#include "partition/fill.h"
#include "partition/master.h"
#include "partition/split.h"

/* All pipelines' views and the answer under construction. */
typedef struct lcp_solve {
    const lcp_partition_input *input;
    lcp_view *views;          /* [pipeline_count] */
    lcp_stage_bounds *bounds; /* [pipeline_count]; built unless pp is 1 */
    int32_t master_pipeline;  /* the one with the largest bound: its programs are solved */
    lcp_partition *out;
    lcp_error *err;
} lcp_solve;

/* Takes a complete set of fills (one a pipeline) as the new answer if it is faster than the answer so far. */
lcp_status lcp_solve_take(lcp_solve *solve, const lcp_fill *fills, const int32_t *stage_layers);

/* pp = 1: chunks do not touch each other, each is a small knapsack. */
lcp_status lcp_solve_single_stage(lcp_solve *solve);
/* One recompute setting everywhere. */
lcp_status lcp_solve_uniform(lcp_solve *solve, const int32_t *stage_layers);
/* Sizes that differ by at most one, larger first. */
void lcp_equal_split(int32_t *stage_layers, int32_t stages, int32_t layers);

#endif
