/* DualPipe on one copy of the model: stages go down the ranks and up again, the way up takes the part of the second
 * direction. */
#include "schedule/dualpipe_steps.h"

static const char *unsupported(const lcp_schedule_input *input)
{
    if (input->virtual_count != 0 && input->virtual_count != 2) {
        return "dualpipe-v needs two virtual stages a rank";
    }
    if (input->chunk_count < 2 * input->rank_count) {
        return "dualpipe-v needs at least two chunks a pipeline rank";
    }
    return lcp_schedule_refuse_slices(input);
}

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    int32_t ranks = input->rank_count;
    lcp_status status = lcp_schedule_allocate(out, input, 2, 0, 6 * (int64_t)input->chunk_count, err);
    if (status == LCP_OK) {
        lcp_schedule_place_wave(out);
    }
    for (int32_t r = 0; status == LCP_OK && r < ranks; r++) {
        lcp_dual_phase down = {.stage = r, .chunk_step = 1};
        lcp_dual_phase up = {.stage = 2 * ranks - 1 - r, .chunk_step = 1};
        lcp_dual_rank rank = {.rank = r, .half = ranks, .near = r, .chunks = input->chunk_count, .phase = {down, up}};
        status = lcp_dualpipe_fill(out, &rank, err);
    }
    if (status != LCP_OK) {
        lcp_schedule_dispose(out);
    }
    return status;
}

const lcp_schedule_kind lcp_schedule_dualpipe_v = {
    .name = "dualpipe-v",
    .help = "dualpipe on one copy of the model, stages down and up the ranks",
    .needs = "two virtual stages a rank; two chunks a rank; whole sequences; a kernel for overlapped pairs",
    .synchronous = true,
    .unsupported = unsupported,
    .build = build,
};
