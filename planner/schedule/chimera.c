/* Chimera: sequences go down and up two copies of the pipeline in turn; each direction is 1F1B with its own depth, and
 * the two fill each other's gaps. */
#include "schedule/greedy.h"

#include <stdlib.h>

static const char *unsupported(const lcp_schedule_input *input)
{
    if (input->rank_count % 2 != 0) {
        return "chimera needs an even number of pipeline ranks";
    }
    return lcp_schedule_refuse_virtual(input);
}

/* In flight: what 1F1B has, slices - 1 more. */
static int32_t *windows(const lcp_schedule *schedule, const lcp_schedule_input *input)
{
    int32_t stages = schedule->stage_count;
    int32_t *window = malloc((size_t)(2 * stages + input->chunk_count) * sizeof *window);
    if (window != NULL) {
        int32_t slices = lcp_schedule_backward_order(window + 2 * stages, input);
        for (int32_t i = 0; i < 2 * stages; i++) {
            window[i] = stages - 1 - i % stages + slices;
        }
    }
    return window;
}

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    static const lcp_greedy_rule rule = {.order = LCP_GREEDY_BACKWARD_FIRST, .deep = true};
    lcp_status status = lcp_schedule_allocate(out, input, 1, 0, 2 * (int64_t)input->chunk_count, err);
    if (status == LCP_OK) {
        status = lcp_schedule_alternate_directions(out, input, err);
    }
    if (status != LCP_OK) {
        return status;
    }
    int32_t *window = windows(out, input);
    lcp_greedy_result result;
    status = window != NULL ? lcp_greedy_fill(out, &result, input, &rule, input->limit_bytes, window, err)
                            : lcp_fail(err, LCP_NOMEM, "", "cannot order %d chunks", input->chunk_count);
    free(window);
    if (status != LCP_OK) {
        lcp_schedule_dispose(out);
    }
    return status;
}

const lcp_schedule_kind lcp_schedule_chimera = {
    .name = "chimera",
    .help = "two 1F1B pipelines over the same ranks, in opposite directions",
    .needs = "an even number of ranks; memory for two copies of the weights, whose gradients are summed; best with a "
             "multiple of p sequences",
    .synchronous = true,
    .unsupported = unsupported,
    .build = build,
};
