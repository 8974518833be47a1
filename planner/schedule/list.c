/* List scheduling over any placement: for stages of unequal time, and wherever memory is short. */
#include "schedule/backfill.h"
#include "schedule/greedy.h"

#include <stdlib.h>
#include <string.h>

/* The largest depth of a zero-bubble order by hand that the limits admit goes along, where each rank has one stage. */
static bool by_hand(lcp_schedule *out, const lcp_schedule_input *input, const int64_t *limits, int32_t depth)
{
    lcp_schedule split;
    if (lcp_schedule_split_1f1b(&split, input, depth, NULL) != LCP_OK) {
        return false;
    }
    bool fits = true;
    for (int32_t r = 0; r < input->rank_count; r++) {
        fits = fits && lcp_schedule_peak_kept(&split, input, r) <= limits[r];
    }
    for (int32_t r = 0; fits && r < input->rank_count; r++) {
        memcpy(out->ops[r], split.ops[r], (size_t)split.op_count[r] * sizeof *split.ops[r]);
        out->op_count[r] = split.op_count[r];
    }
    lcp_schedule_dispose(&split);
    return fits;
}

static lcp_status search(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    int64_t *limits = malloc((size_t)input->rank_count * sizeof *limits);
    if (limits == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot order %d chunks", input->chunk_count);
    }
    lcp_greedy_limits(limits, out, input, input->chunk_count);
    bool plain = input->stage_rank == NULL && out->stage_count == out->rank_count && !input->whole_backward;
    bool known = plain && (by_hand(out, input, limits, 2) || by_hand(out, input, limits, 1));
    lcp_status status = lcp_search_order(out, input, !input->whole_backward, limits, known, err);
    free(limits);
    return status;
}

static int32_t stage_count(const lcp_schedule_input *input)
{
    return input->stage_rank != NULL && input->stage_count > 0 ? input->stage_count
                                                               : input->rank_count * lcp_schedule_virtual(input, 1);
}

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    int32_t stages = stage_count(input);
    int64_t passes = 3 * (int64_t)input->chunk_count * stages;
    int64_t most = input->stage_rank != NULL ? passes : passes / input->rank_count;
    lcp_status status = lcp_schedule_allocate_stages(out, input, stages, most, err);
    if (status != LCP_OK) {
        return status;
    }
    if (input->stage_rank != NULL) {
        memcpy(out->stage_rank, input->stage_rank, (size_t)stages * sizeof *out->stage_rank);
    }
    status = search(out, input, err);
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
