/* Shared by the steps of ILP 1: sequences to ranks, cuts, packing, patterns. */
#ifndef LCP_CHUNKING_INTERNAL_H
#define LCP_CHUNKING_INTERNAL_H

#include "chunking/chunking.h"

/* A whole sequence with what it costs. */
typedef struct lcp_item {
    int64_t sequence;
    int64_t tokens;
    double seconds; /* marginal: without the fixed part of a chunk */
} lcp_item;

/* Seconds of a chunk, forward and backward over all stages, exactly as the cost model prices it, without its fixed
 * part. */
double lcp_exact_seconds(const lcp_cost *cost, const lcp_segment *segments, int32_t count);

/* All sequences, descending in length, ties by sequence number. Equal lengths are priced once. */
lcp_status lcp_items_build(lcp_item **out, const lcp_chunking_input *input, lcp_error *err);

/* rank_of[i] for items in descending order: each to the rank with least work so far, ties to the lower rank. */
lcp_status lcp_items_to_ranks(int32_t *rank_of, const lcp_item *items, int64_t count, int32_t ranks, lcp_error *err);

/* Cuts a sequence at equal times. */
typedef struct lcp_cut {
    int32_t count;
    int64_t *offsets; /* [count + 1], offsets[count] = length */
} lcp_cut;
/* slices of about slice_seconds each and a tail with the rest, or `slices` equal ones if slice_seconds is 0; fewer if
 * alignment or the least slice forbid more. */
lcp_status lcp_cut_sequence(lcp_cut *out, const lcp_chunking_input *input, int64_t tokens, double slice_seconds,
                            int32_t slices, lcp_error *err);

/* Cuts a shorter sequence at the places where a longer one was cut: they depend on the time of a slice alone. */
lcp_status lcp_cut_on_mesh(lcp_cut *out, const lcp_cut *mesh, const lcp_chunking_input *input, int64_t tokens,
                           lcp_error *err);

/* A chunk under construction: room for whole sequences beside an optional slice. */
typedef struct lcp_bin {
    double seconds; /* of its slice at first, then with what was packed */
    int64_t tokens;
} lcp_bin;

/* bin_of[i] for items in descending order of seconds; bins grow. Longest processing time first, then moves and swaps
 * between the fullest and the emptiest bin. Items that fit nowhere by tokens get bin -1. */
lcp_status lcp_pack_balanced(int32_t *bin_of, lcp_bin *bins, int32_t bin_count, const lcp_item *items,
                             int64_t item_count, int64_t max_tokens, lcp_error *err);

/* One data-parallel rank. */
typedef struct lcp_rank_work {
    const lcp_chunking_input *input;
    lcp_item *items; /* its sequences, descending */
    int64_t item_count;
    int64_t sliced_count; /* the first ones are cut */
    lcp_cut *cuts;        /* [sliced_count] */
    lcp_bin *bins;        /* tails of the sliced sequences, then bins of whole sequences */
    lcp_bin *empty_bins;  /* the same before packing */
    int32_t bin_count;
    int32_t *bin_of; /* [item_count - sliced_count] */
    double target_seconds;
    int64_t lp_solves, mip_nodes;
} lcp_rank_work;

/* Writes chunks and segments of all ranks into a zeroed answer. */
lcp_status lcp_chunking_write(lcp_chunking *out, const lcp_rank_work *work, int32_t ranks, lcp_error *err);

/* The cutting-stock program: smallest largest bin by patterns. Improves bin_of and bins if it finds a packing whose
 * fullest bin is lower. */
typedef struct lcp_patterns_result {
    int64_t lp_solves, mip_nodes;
} lcp_patterns_result;
lcp_status lcp_pack_patterns(lcp_patterns_result *out, int32_t *bin_of, lcp_bin *bins, const lcp_bin *empty_bins,
                             int32_t bin_count, const lcp_item *items, int64_t item_count, int64_t max_tokens,
                             lcp_error *err);

#endif
