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
    lcp_stage_bounds *bounds; /* [pipeline_count]; built unless all chunks are alone */
    bool alone;               /* no pipeline ever holds two chunks at once */
    int32_t master_pipeline;  /* the one with the largest bound: its programs are solved */
    lcp_partition *out;
    lcp_error *err;
} lcp_solve;

/* Takes a complete set of fills (one a pipeline) as the new answer if it is faster than the answer so far. */
lcp_status lcp_solve_take(lcp_solve *solve, const lcp_fill *fills, const int32_t *stage_layers);

/* One stage that never holds two chunks at once. */
bool lcp_chunks_alone(const lcp_view *view);
/* For pipelines of such chunks only: each chunk is a small knapsack. */
lcp_status lcp_solve_single_stage(lcp_solve *solve);
/* One recompute setting everywhere. */
lcp_status lcp_solve_uniform(lcp_solve *solve, const int32_t *stage_layers);
/* The same under the split given and under equal stages; under the leanest split if neither fits. */
lcp_status lcp_solve_uniform_splits(lcp_solve *solve, int32_t *stage_layers);
/* All pipelines under one split. polish: spend programs and local search on those that are too slow. */
lcp_status lcp_solve_try_split(lcp_solve *solve, const int32_t *stage_layers, const double *wanted, bool polish);

/* How much more memory per device would do: the equal split at its leanest. stage_layers is scratch. */
int64_t lcp_missing_bytes(const lcp_view *view, int32_t *stage_layers);
/* The answer is that nothing fits. */
void lcp_solve_note_missing(lcp_solve *solve, int32_t *stage_layers);
/* lcp_stage_price, context the lcp_solve: least bytes of the pipeline that needs most. */
double lcp_least_bytes_of_all(const void *context, int32_t stage, int32_t first, int32_t last);
/* The split whose worst stage needs least memory with everything at its leanest; sets infeasible if that is too much.
 * Dearer prices are asked only if the split of a cheaper one does not fit: the windows of the bounds of one pipeline,
 * all its operations, all pipelines. What a cheaper one rules out is ruled out. */
lcp_status lcp_solve_leanest_split(lcp_solve *solve, int32_t *stage_layers);
/* Sizes that differ by at most one, larger first. */
void lcp_equal_split(int32_t *stage_layers, int32_t stages, int32_t layers);

#endif
