/* Integer recompute choices of one pipeline under a fixed split: durations and memory kept up to date as they change.
 */
#ifndef LCP_PARTITION_FILL_H
#define LCP_PARTITION_FILL_H

#include "partition/view.h"

typedef struct lcp_fill {
    const lcp_view *view;
    int32_t *layers;  /* [stages * C]: layers of a class on a stage */
    int32_t *counts;  /* [((k * stages + s) * C + c) * Q + q], the layout of lcp_partition; base counted as rest */
    double *forward;  /* [stages * K] */
    double *backward; /* [stages * K] */
    double *tail;     /* [stages] */
    int64_t *memory;  /* [stages * 2K]: bytes at each op of the rank's order */
    int64_t capacity_bytes;
    double makespan_seconds; /* of the last lcp_fill_replay */
    bool *critical;          /* [stages * K]: B of the cell lies on the critical path of that replay */
} lcp_fill;

/* All layers under the base policy. stage_layers as in lcp_partition. */
lcp_status lcp_fill_build(lcp_fill *out, const lcp_view *view, const int32_t *stage_layers, lcp_error *err);
void lcp_fill_dispose(lcp_fill *fill);

static inline size_t lcp_fill_at(const lcp_fill *fill, int32_t chunk, int32_t stage, int32_t layer_class)
{
    const lcp_view *v = fill->view;
    return (((size_t)chunk * (size_t)v->stages + (size_t)stage) * (size_t)v->classes + (size_t)layer_class) *
           LCP_RECOMPUTE_COUNT;
}

/* Layers of a cell change policy (the base policy included). The caller checked that the cell has them under `from`. */
typedef struct lcp_fill_change {
    int32_t chunk, stage, layer_class;
    int32_t from, to;
    int32_t layers;
} lcp_fill_change;
void lcp_fill_move(lcp_fill *fill, const lcp_fill_change *change);
/* Layers of a cell under a policy, base included. */
int32_t lcp_fill_count(const lcp_fill *fill, int32_t chunk, int32_t stage, int32_t layer_class, int32_t policy);

/* Starts from wanted fractional layers (same layout as counts; NULL = none): rounds by running sums along each stage's
 * order, repairs until every op fits, then gives back what is not needed. false: a stage cannot fit. */
bool lcp_fill_round(lcp_fill *fill, const double *wanted);
/* Repairs one stage; false if it cannot fit. */
bool lcp_fill_repair(lcp_fill *fill, int32_t stage);
/* Gives back recompute that memory does not need, dearest first. */
void lcp_fill_trim(lcp_fill *fill);
/* Prices the choices; fills makespan_seconds and critical. */
lcp_status lcp_fill_replay(lcp_fill *fill, lcp_error *err);
/* Moves recompute off the critical path while that shortens the makespan; at most `replays` replays. */
lcp_status lcp_fill_improve(lcp_fill *fill, int32_t replays, lcp_error *err);

#endif
