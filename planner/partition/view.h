/* The cost tables of one pipeline as the programs need them: plain arrays, relative to a base policy. */
#ifndef LCP_PARTITION_VIEW_H
#define LCP_PARTITION_VIEW_H

#include "partition/partition.h"

/* Index helpers: K chunks, C classes, P stages, L layers, Q = LCP_RECOMPUTE_COUNT policies. The base policy is the
 * allowed one that recomputes least; recompute seconds and freed bytes of the others are relative to it. */
typedef struct lcp_view {
    const lcp_partition_input *input;
    const lcp_cost *cost;
    const lcp_pipeline_tables *tables;
    int32_t stages, classes, chunks, layers;
    int32_t base;
    double *forward;         /* [K * C] */
    double *backward;        /* [K * C], base policy included */
    double *extra_seconds;   /* [(K * C) * Q] over base; meaningless where not useful */
    int64_t *freed_bytes;    /* [(K * C) * Q] against base; 0 = not useful (not allowed, dominated) */
    int64_t *kept_bytes;     /* [K * C] under base */
    double *end_forward[2];  /* embedding, head: [K] */
    double *end_backward[2]; /* [K] */
    double overhead_seconds; /* per pass */
    double *step_seconds;    /* [C]: per layer, after the last pass */
    double end_step_seconds[2];
    int64_t *static_bytes; /* [C] per layer */
    int64_t end_static_bytes[2];
    int64_t fixed_bytes;  /* buffers and reserve */
    int32_t *prefix;      /* [C * (L + 1)]: layers of a class among the first l */
    int32_t *forward_at;  /* [P * K]: place of F in its rank's order */
    int32_t *backward_at; /* [P * K] */
} lcp_view;

lcp_status lcp_view_build(lcp_view *out, const lcp_partition_input *input, int32_t pipeline, lcp_error *err);
void lcp_view_dispose(lcp_view *view);

/* Layers of class c in [first, last). */
static inline int32_t lcp_view_layers(const lcp_view *view, int32_t layer_class, int32_t first, int32_t last)
{
    const int32_t *prefix = &view->prefix[(size_t)layer_class * (size_t)(view->layers + 1)];
    return prefix[last] - prefix[first];
}

static inline size_t lcp_view_cell(const lcp_view *view, int32_t chunk, int32_t layer_class)
{
    return (size_t)chunk * (size_t)view->classes + (size_t)layer_class;
}

/* Seconds over base and bytes freed against base of a policy in the cell whose policies start at `policies`; 0 for
 * base. */
static inline double lcp_view_extra(const lcp_view *view, size_t policies, int32_t policy)
{
    return policy == view->base ? 0 : view->extra_seconds[policies + (size_t)policy];
}
static inline int64_t lcp_view_freed(const lcp_view *view, size_t policies, int32_t policy)
{
    return policy == view->base ? 0 : view->freed_bytes[policies + (size_t)policy];
}

/* One step along the lower hull of (bytes freed, seconds) of a cell: from one policy to the next richer one, per layer.
 */
typedef struct lcp_hull_step {
    double bytes, seconds;
} lcp_hull_step;
/* Steps ascend in seconds per byte. Returns how many. */
int32_t lcp_view_hull(lcp_hull_step steps[LCP_RECOMPUTE_COUNT], const lcp_view *view, int32_t chunk,
                      int32_t layer_class);

/* Working bytes of a chunk on a stage: the largest over the classes present and the stage's ends. */
int64_t lcp_view_working(const lcp_view *view, int32_t stage, int32_t chunk, const int32_t *class_layers);
/* What the ends keep of a chunk on a stage. */
int64_t lcp_view_end_kept(const lcp_view *view, int32_t stage, int32_t chunk);

#endif
