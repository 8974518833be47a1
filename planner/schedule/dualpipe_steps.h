/* The eight steps of DualPipe, which the form with two directions and the V form share. */
#ifndef LCP_DUALPIPE_STEPS_H
#define LCP_DUALPIPE_STEPS_H

#include "schedule/schedule_internal.h"

/* One of the two streams of passes on a rank. */
typedef struct lcp_dual_phase {
    int32_t stage;
    int32_t first_chunk, chunk_step; /* chunks first, first + step, ... */
    int32_t forward, backward;       /* passes so far */
} lcp_dual_phase;

/* half: half the stages of a chunk's way; near: 0 at the ends of it, growing towards its middle; chunks: of one phase.
 */
typedef struct lcp_dual_rank {
    int32_t rank, half, near, chunks;
    lcp_dual_phase phase[2];
} lcp_dual_rank;

lcp_status lcp_dualpipe_fill(lcp_schedule *out, lcp_dual_rank *rank, lcp_error *err);

#endif
