/* Elastic 1F1B: slices of long sequences and packs of short ones in one pipeline (Seq1F1B's warm-up with one depth for
 * the whole pipeline, InfiniPipe section III). Rank r of p runs min(n, p - 1 - r + N) forward passes before its first
 * backward pass, N = slices of the most sliced sequence; then backward and forward alternate. */
#include "schedule/schedule_internal.h"

#include <stdlib.h>

static void fill_rank(lcp_schedule *out, int32_t rank, const int32_t *backward, int32_t slices)
{
    int32_t n = out->chunk_count;
    int32_t warm_up = out->rank_count - 1 - rank + slices;
    int32_t forward = 0;
    while (forward < n && forward < warm_up) {
        lcp_schedule_append(out, rank, LCP_OP_FORWARD, forward++, rank);
    }
    for (int32_t i = 0; i < n; i++) {
        lcp_schedule_append(out, rank, LCP_OP_BACKWARD, backward[i], rank);
        if (forward < n) {
            lcp_schedule_append(out, rank, LCP_OP_FORWARD, forward++, rank);
        }
    }
}

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    int32_t *backward = malloc((size_t)input->chunk_count * sizeof *backward);
    if (backward == NULL) {
        *out = (lcp_schedule){0};
        return lcp_fail(err, LCP_NOMEM, "", "cannot order %d chunks", input->chunk_count);
    }
    lcp_status status = lcp_schedule_allocate(out, input, 1, 0, 2 * (int64_t)input->chunk_count, err);
    if (status == LCP_OK) {
        int32_t slices = lcp_schedule_backward_order(backward, input);
        for (int32_t r = 0; r < input->rank_count; r++) {
            fill_rank(out, r, backward, slices);
        }
    }
    free(backward);
    return status;
}

const lcp_schedule_kind lcp_schedule_elastic_1f1b = {
    .name = "elastic-1f1b",
    .help = "1F1B over slices and packs: slices forward ascending, backward descending",
    .needs = "no more than its memory: rank r of p keeps p - 1 - r + N chunks, N = slices of the most sliced sequence",
    .synchronous = true,
    .planned = true,
    .unsupported = lcp_schedule_refuse_virtual,
    .build = build,
};
