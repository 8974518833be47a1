/* List scheduling over any placement: for stages of unequal time, and wherever memory is short. */
#include "schedule/greedy.h"

#include <string.h>

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    int32_t stages_a_rank = lcp_schedule_virtual(input, 1);
    int64_t cells = (int64_t)input->chunk_count * stages_a_rank * input->rank_count;
    int64_t most = input->stage_rank != NULL ? 3 * cells : 3 * cells / input->rank_count;
    lcp_status status = lcp_schedule_allocate(out, input, stages_a_rank, 0, most, err);
    if (status != LCP_OK) {
        return status;
    }
    if (input->stage_rank != NULL) {
        memcpy(out->stage_rank, input->stage_rank, (size_t)out->stage_count * sizeof *out->stage_rank);
    }
    status = lcp_greedy_best(out, input, !input->whole_backward, input->limit_bytes, err);
    if (status != LCP_OK) {
        lcp_schedule_dispose(out);
    }
    return status;
}

const lcp_schedule_kind lcp_schedule_list = {
    .name = "list",
    .help = "the best of many list schedules: uneven stages, any placement, gaps filled with W, a limit of memory kept",
    .needs = "a limit that holds one sequence on every rank; kernels that split the backward pass",
    .synchronous = true,
    .unsupported = lcp_schedule_refuse_empty,
    .build = build,
};
