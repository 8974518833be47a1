/* Breadth-first: every chunk through a virtual stage before the next virtual stage; backward mirrored. Sharded
 * parameters are gathered once a virtual stage and direction. */
#include "schedule/schedule_internal.h"

#include <stdlib.h>

static const char *unsupported(const lcp_schedule_input *input)
{
    return lcp_schedule_refuse_empty(input);
}

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    int32_t n = input->chunk_count;
    int32_t stages_a_rank = lcp_schedule_virtual(input, 2);
    lcp_status status = lcp_schedule_allocate(out, input, stages_a_rank, 0, 2 * (int64_t)n * stages_a_rank, err);
    int32_t *backward = malloc((size_t)n * sizeof *backward);
    if (status == LCP_OK && backward == NULL) {
        lcp_schedule_dispose(out);
        status = lcp_fail(err, LCP_NOMEM, "", "cannot order %d chunks", n);
    }
    if (status == LCP_OK) {
        lcp_schedule_backward_order(backward, input);
    }
    for (int32_t r = 0; status == LCP_OK && r < input->rank_count; r++) {
        for (int32_t v = 0; v < stages_a_rank; v++) {
            for (int32_t k = 0; k < n; k++) {
                lcp_schedule_append(out, r, LCP_OP_FORWARD, k, v * input->rank_count + r);
            }
        }
        for (int32_t v = stages_a_rank - 1; v >= 0; v--) {
            for (int32_t i = 0; i < n; i++) {
                lcp_schedule_append(out, r, LCP_OP_BACKWARD, backward[i], v * input->rank_count + r);
            }
        }
    }
    free(backward);
    return status;
}

const lcp_schedule_kind lcp_schedule_breadth_first = {
    .name = "breadth-first",
    .help = "looped stages; all chunks through one virtual stage before the next",
    .needs = "memory for every chunk of the pipeline",
    .synchronous = true,
    .unsupported = unsupported,
    .build = build,
};
