/* The hand-made zero-bubble orders (Qi et al. 2024, section 2): 1F1B whose backward pass is split into I and W. With
 * depth d rank r runs d (p - 1 - r) forward passes ahead, and W starts to follow I when that many and the I's so far
 * reach d (p - 1): then rank r holds what rank 0 holds. */
#include "schedule/schedule_internal.h"

#include <stdlib.h>

static void fill_rank(lcp_schedule *out, int32_t rank, const int32_t *backward, int32_t depth, int32_t slices)
{
    int32_t n = out->chunk_count;
    int32_t ahead = depth * (out->rank_count - 1 - rank);
    int32_t late = depth * rank;
    int32_t forward = 0;
    int32_t weight = 0;
    while (forward < n && forward < ahead + slices) {
        lcp_schedule_append(out, rank, LCP_OP_FORWARD, forward++, rank);
    }
    for (int32_t i = 0; i < n; i++) {
        lcp_schedule_append(out, rank, LCP_OP_INPUT_GRAD, backward[i], rank);
        if (i >= late) {
            lcp_schedule_append(out, rank, LCP_OP_WEIGHT_GRAD, backward[weight++], rank);
        }
        if (forward < n) {
            lcp_schedule_append(out, rank, LCP_OP_FORWARD, forward++, rank);
        }
    }
    while (weight < n) {
        lcp_schedule_append(out, rank, LCP_OP_WEIGHT_GRAD, backward[weight++], rank);
    }
}

lcp_status lcp_schedule_split_1f1b(lcp_schedule *out, const lcp_schedule_input *input, int32_t depth, lcp_error *err)
{
    int32_t *backward = malloc((size_t)input->chunk_count * sizeof *backward);
    if (backward == NULL) {
        *out = (lcp_schedule){0};
        return lcp_fail(err, LCP_NOMEM, "", "cannot order %d chunks", input->chunk_count);
    }
    lcp_status status = lcp_schedule_allocate(out, input, 1, 0, 3 * (int64_t)input->chunk_count, err);
    if (status == LCP_OK) {
        int32_t slices = lcp_schedule_backward_order(backward, input);
        for (int32_t r = 0; r < input->rank_count; r++) {
            fill_rank(out, r, backward, depth, slices);
        }
    }
    free(backward);
    return status;
}
