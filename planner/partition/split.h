/* Contiguous splits of layers over stages by dynamic programming over (stage, first layer, last layer). */
#ifndef LCP_PARTITION_SPLIT_H
#define LCP_PARTITION_SPLIT_H

#include "partition/view.h"

/* Price of stage `stage` holding layers [first, last); infinity if impossible; never falls when the range grows at its
 * front. */
typedef double (*lcp_stage_price)(const void *context, int32_t stage, int32_t first, int32_t last);

/* Minimises the largest price over the stages, each with at least one layer. stage_layers[stages] may be NULL. Returns
 * the optimum, infinity if there is none. Ties: fewer layers on later stages first. */
lcp_status lcp_split_minmax(double *optimum, int32_t *stage_layers, const lcp_view *view, lcp_stage_price price,
                            const void *context, lcp_error *err);

/* What any plan with these chunks in this order must spend, per stage and layer range: fill + busy + least recompute
 * that the memory windows force + drain + tail. Also the least memory a range needs. Built once per pipeline. */
typedef struct lcp_window {
    double kept_bytes; /* what the ends keep, plus the smallest working bytes */
} lcp_window;

/* The i-th hull steps of all chunks of a window in one class, at the price of the cheapest: per layer. */
typedef struct lcp_window_step {
    double bytes, seconds_per_byte;
    int32_t layer_class;
} lcp_window_step;

/* A turn: the path leaves a stage with the forward pass of a chunk, goes down to the last stage and comes back with its
 * backward pass, past what the stage does meanwhile. The first turn is that of the first backward pass, the last turn
 * that of the last forward pass; with both, the path of 1F1B on equal stages has its true length. */
typedef struct lcp_turn {
    int32_t chunk;           /* -1: there is none */
    double skipped_overhead; /* passes the path goes past */
    double skipped_ends[2];  /* their embedding and head seconds, if the stage has them */
} lcp_turn;

typedef struct lcp_stage_bounds {
    const lcp_view *view;
    double capacity_bytes;
    double *busy_seconds;   /* [C]: sum over chunks of F + B of one layer */
    double *fill_seconds;   /* [C]: F of the first chunk on one layer */
    double *drain_seconds;  /* [C]: B of the last chunk to go back on one layer */
    double ends_seconds[2]; /* embedding, head: sum over chunks of F + B */
    int32_t first_chunk, last_chunk;
    lcp_turn *turns;         /* [stages * 2] */
    double *skipped_seconds; /* [(stage * 2 + turn) * C]: passes gone past, one layer */
    bool *window_skipped;    /* [window]: has a chunk whose backward pass the last turn goes past */
    int32_t *window_first;   /* [stages + 1]: disjoint windows of a stage */
    lcp_window *windows;
    lcp_window_step *window_steps; /* [(window * C) * Q]: ascending in price; bytes 0 where there is none */
    double *window_kept;           /* [window * C]: bytes of one layer under the base policy, KV gradients included */
    double *window_least;          /* [window * C]: under the leanest */
} lcp_stage_bounds;

lcp_status lcp_stage_bounds_build(lcp_stage_bounds *out, const lcp_view *view, lcp_error *err);
void lcp_stage_bounds_dispose(lcp_stage_bounds *bounds);
/* lcp_stage_price functions; context is the lcp_stage_bounds. */
double lcp_stage_seconds_bound(const void *context, int32_t stage, int32_t first, int32_t last);
/* Bytes that the leanest policies need in the windows looked at: at most lcp_stage_least_bytes. */
double lcp_stage_bytes_bound(const void *context, int32_t stage, int32_t first, int32_t last);

/* Exact least peak bytes of a stage over all its operations, everything at its leanest policy. */
double lcp_stage_least_bytes(const void *view, int32_t stage, int32_t first, int32_t last);

#endif
