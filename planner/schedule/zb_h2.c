/* ZB-H2: twice the memory of 1F1B, no bubble inside when F, I and W take the same time and ranks need not wait for each
 * other at the optimizer step. */
#include "schedule/schedule_internal.h"

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    return lcp_schedule_split_1f1b(out, input, 2, err);
}

const lcp_schedule_kind lcp_schedule_zb_h2 = {
    .name = "zb-h2",
    .help = "zb-h1 with twice the forward passes ahead",
    .needs =
        "kernels that split the backward pass; every rank keeps 2p - 1 chunks; pays off from 2p chunks on and with "
        "an optimizer step that ranks take without waiting for each other",
    .synchronous = true,
    .unsupported = lcp_schedule_refuse_virtual,
    .build = build,
};
