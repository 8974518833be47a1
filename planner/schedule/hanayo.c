/* Hanayo: stages run down and up the ranks in waves, whole backward passes go first. */
#include "schedule/greedy.h"

static const char *unsupported(const lcp_schedule_input *input)
{
    if (input->virtual_count % 2 != 0) {
        return "hanayo needs an even number of virtual stages a rank, two a wave";
    }
    return lcp_schedule_refuse_empty(input);
}

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    static const lcp_greedy_rule rule = {.order = LCP_GREEDY_BACKWARD_FIRST, .deep = true};
    int32_t stages_a_rank = lcp_schedule_virtual(input, 2);
    lcp_status status =
        lcp_schedule_allocate(out, input, stages_a_rank, 0, 2 * (int64_t)input->chunk_count * stages_a_rank, err);
    if (status != LCP_OK) {
        return status;
    }
    lcp_greedy_result result;
    lcp_schedule_place_wave(out);
    status = lcp_greedy_fill(out, &result, input, &rule, input->limit_bytes, NULL, err);
    if (status != LCP_OK) {
        lcp_schedule_dispose(out);
    }
    return status;
}

const lcp_schedule_kind lcp_schedule_hanayo = {
    .name = "hanayo",
    .help = "stages in waves down and up the ranks, backward passes first",
    .needs = "an even number of virtual stages a rank; memory for the chunks in flight, as many as come",
    .synchronous = true,
    .unsupported = unsupported,
    .build = build,
};
