/* ZB-V: stages down the ranks and up again, I and W apart, in the memory of 1F1B on every rank; the order is searched.
 */
#include "schedule/greedy.h"

#include <stdlib.h>

static const char *unsupported(const lcp_schedule_input *input)
{
    if (input->virtual_count != 0 && input->virtual_count != 2) {
        return "zb-v needs two virtual stages a rank";
    }
    return lcp_schedule_refuse_empty(input);
}

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    int64_t *limits = malloc((size_t)input->rank_count * sizeof *limits);
    lcp_status status = lcp_schedule_allocate(out, input, 2, 0, 6 * (int64_t)input->chunk_count, err);
    if (status == LCP_OK && limits == NULL) {
        status = lcp_fail(err, LCP_NOMEM, "", "cannot order %d chunks", input->chunk_count);
    }
    if (status == LCP_OK) {
        lcp_schedule_place_wave(out);
        lcp_greedy_limits(limits, out, input, input->rank_count);
        status = lcp_greedy_best(out, input, true, limits, err);
    }
    free(limits);
    if (status != LCP_OK) {
        lcp_schedule_dispose(out);
    }
    return status;
}

const lcp_schedule_kind lcp_schedule_zb_v = {
    .name = "zb-v",
    .help = "stages down and up the ranks, I and W apart, in the memory of 1F1B",
    .needs = "two virtual stages a rank; kernels that split the backward pass; every rank keeps p chunks",
    .synchronous = true,
    .unsupported = unsupported,
    .build = build,
};
