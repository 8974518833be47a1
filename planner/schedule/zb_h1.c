/* ZB-H1: the memory of 1F1B, a third of its bubble when F, I and W take the same time. */
#include "schedule/schedule_internal.h"

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    return lcp_schedule_split_1f1b(out, input, 1, err);
}

const lcp_schedule_kind lcp_schedule_zb_h1 = {
    .name = "zb-h1",
    .help = "1F1B with I and W apart, each rank holding what rank 0 holds",
    .needs = "kernels that split the backward pass; every rank keeps p chunks, slices - 1 more if sliced",
    .synchronous = true,
    .unsupported = lcp_schedule_refuse_virtual,
    .build = build,
};
