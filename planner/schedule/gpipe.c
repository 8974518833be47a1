/* GPipe: all forward passes, then all backward passes. */
#include "schedule/schedule_internal.h"

#include <stdlib.h>

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    int32_t n = input->chunk_count;
    lcp_status status = lcp_schedule_allocate(out, input, 1, 0, 2 * (int64_t)n, err);
    int32_t *backward = malloc((size_t)n * sizeof *backward);
    if (status == LCP_OK && backward == NULL) {
        lcp_schedule_dispose(out);
        status = lcp_fail(err, LCP_NOMEM, "", "cannot order %d chunks", n);
    }
    if (status == LCP_OK) {
        lcp_schedule_backward_order(backward, input);
    }
    for (int32_t r = 0; status == LCP_OK && r < input->rank_count; r++) {
        for (int32_t k = 0; k < n; k++) {
            lcp_schedule_append(out, r, LCP_OP_FORWARD, k, r);
        }
        for (int32_t i = 0; i < n; i++) {
            lcp_schedule_append(out, r, LCP_OP_BACKWARD, backward[i], r);
        }
    }
    free(backward);
    return status;
}

const lcp_schedule_kind lcp_schedule_gpipe = {
    .name = "gpipe",
    .help = "all forward passes, then all backward passes",
    .needs = "memory for every chunk of the pipeline",
    .synchronous = true,
    .unsupported = lcp_schedule_refuse_virtual,
    .build = build,
};
