/* Blocks of passes on a V of stages that repeat every six slots (Qi et al. 2024, controllable memory). */
#ifndef LCP_V_BLOCK_H
#define LCP_V_BLOCK_H

#include "schedule/schedule_internal.h"

/* Slots of the passes of the first chunk on a rank; later chunks come six slots later each. */
typedef struct lcp_v_block {
    int32_t forward_down, forward_up, backward_down, backward_up;
} lcp_v_block;

/* The order of the block, or a list schedule in the memory of the block if that is faster on these durations. */
lcp_status lcp_v_block_build(lcp_schedule *out, const lcp_schedule_input *input,
                             lcp_v_block (*block)(int32_t rank, int32_t rank_count), lcp_error *err);

const char *lcp_v_block_unsupported(const lcp_schedule_input *input);

#endif
