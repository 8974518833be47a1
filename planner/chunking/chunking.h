/* ILP 1: sequences to chunks, chunks to data-parallel ranks. */
#ifndef LCP_CHUNKING_H
#define LCP_CHUNKING_H

#include "lcp/cost.h"
#include "lcp/workload.h"

typedef struct lcp_chunking_input {
    const lcp_cost *cost;
    const lcp_workload *workload;
    int32_t chunks_per_rank;        /* wanted number K of chunks on each dp rank (the chunk budget); a plan may end with
                                       more if tokens or whole sequences force it */
    int64_t max_chunk_tokens;       /* hard limit (padded tokens of a chunk), 0 = none */
    bool slicing;                   /* false: every sequence stays whole */
    int64_t min_slice_tokens;       /* slices are at least this long, but for a tail that shares its chunk */
    int64_t slice_alignment_tokens; /* offsets of cuts are multiples of this */
    bool columns_generated;         /* false: first-fit decreasing only (ablation) */
} lcp_chunking_input;

/* Chunks ordered by dp, then in forward order: slices of a sequence ascending, longest sequences first. */
typedef struct lcp_chunking {
    int32_t chunk_count;
    lcp_chunk *chunks;     /* [chunk_count] */
    lcp_segment *segments; /* owns all segments */
    int32_t *rank_first;   /* [dp + 1]: first chunk of each dp rank */
    double target_seconds; /* chunk time aimed at */
    int64_t lp_solves, mip_nodes;
} lcp_chunking;
void lcp_chunking_dispose(lcp_chunking *chunking);

/* Deterministic. Fails with LCP_INFEASIBLE if a sequence cannot fit (slicing off and longer than max_chunk_tokens). */
lcp_status lcp_chunking_solve(lcp_chunking *out, const lcp_chunking_input *input, lcp_error *err);

#endif
