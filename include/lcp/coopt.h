/* Layers to stages, stages to ranks and the order of passes, chosen together: for models whose layers differ. */
#ifndef LCP_COOPT_H
#define LCP_COOPT_H

#include "lcp/schedule.h"

typedef struct lcp_coopt_input {
    int32_t rank_count, chunk_count;
    int32_t layer_count;               /* what cannot be cut further, in order: embedding and head are layers, too */
    const double *forward_seconds;     /* [layer_count], of one chunk */
    const double *input_grad_seconds;  /* [layer_count] */
    const double *weight_grad_seconds; /* [layer_count] */
    const double *chunk_scale;         /* [chunk_count], of all times and bytes; NULL = 1 */
    const int64_t *kept_bytes;         /* [layer_count], after F; NULL: memory is not limited */
    const int64_t *held_bytes;         /* [layer_count], after I; NULL = kept_bytes */
    const int64_t *static_bytes;       /* [layer_count], of parameters and their optimizer; NULL = 0 */
    int64_t capacity_bytes;            /* of a rank; read if kept_bytes is given */
    double hop_seconds;                /* between ranks */
    double pass_seconds;               /* overhead of every pass */
    int32_t max_stages_a_rank;         /* on average; at least 1 */
    int64_t trials;                    /* list schedules that the search may make */
    uint64_t seed;                     /* same seed, same result */
} lcp_coopt_input;

typedef struct lcp_coopt {
    int32_t stage_count;
    int32_t *stage_layers; /* [stage_count] */
    int32_t *stage_rank;   /* [stage_count] */
    lcp_schedule schedule;
    double makespan_seconds;    /* replayed */
    double lower_bound_seconds; /* of every partition, placement and order with split backward passes */
} lcp_coopt;
void lcp_coopt_dispose(lcp_coopt *coopt);

/* Fails with LCP_INFEASIBLE if nothing found fits. */
lcp_status lcp_schedule_coopt(lcp_coopt *out, const lcp_coopt_input *input, lcp_error *err);

/* All work shared by all ranks, which cannot all start at once: the k-th to start waits for k - 1 layers to go forward.
 * Nor faster than the slowest layer's passes of all chunks, or one chunk's way there and back. */
double lcp_coopt_lower_bound(const lcp_coopt_input *input);

#endif
