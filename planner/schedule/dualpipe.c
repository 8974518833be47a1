/* DualPipe: chunks enter at both ends of the pipeline, each rank holds two stages of the two copies of the model. */
#include "schedule/dualpipe_steps.h"

static const char *unsupported(const lcp_schedule_input *input)
{
    if (input->rank_count % 2 != 0) {
        return "dualpipe needs an even number of pipeline ranks";
    }
    if (input->chunk_count % 2 != 0) {
        return "dualpipe needs an even number of chunks, half from each end";
    }
    if (input->chunk_count < 2 * input->rank_count) {
        return "dualpipe needs at least two chunks a pipeline rank";
    }
    const char *reason = lcp_schedule_refuse_slices(input);
    return reason != NULL ? reason : lcp_schedule_refuse_virtual(input);
}

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    int32_t ranks = input->rank_count;
    lcp_status status = lcp_schedule_allocate(out, input, 1, 0, 3 * (int64_t)input->chunk_count, err);
    if (status == LCP_OK) {
        status = lcp_schedule_alternate_directions(out, input, err);
    }
    for (int32_t r = 0; status == LCP_OK && r < ranks; r++) {
        int32_t mirror = ranks - 1 - r;
        bool upper = r < ranks / 2;
        lcp_dual_phase down = {.stage = r, .first_chunk = 0, .chunk_step = 2};
        lcp_dual_phase up = {.stage = mirror, .first_chunk = 1, .chunk_step = 2};
        lcp_dual_rank rank = {.rank = r,
                              .half = ranks / 2,
                              .near = upper ? r : mirror,
                              .chunks = input->chunk_count / 2,
                              .phase = {upper ? down : up, upper ? up : down}};
        status = lcp_dualpipe_fill(out, &rank, err);
    }
    if (status != LCP_OK) {
        lcp_schedule_dispose(out);
    }
    return status;
}

const lcp_schedule_kind lcp_schedule_dualpipe = {
    .name = "dualpipe",
    .help = "two directions, forward and backward passes overlapped in pairs",
    .needs =
        "an even number of ranks and of chunks, two chunks a rank; whole sequences; a kernel for overlapped pairs; "
        "memory for two copies of the weights",
    .synchronous = true,
    .unsupported = unsupported,
    .build = build,
};
