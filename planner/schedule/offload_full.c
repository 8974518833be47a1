/* 1F1B whose activations go to host memory between the passes (PipeOffload): of every stage. */
#include "schedule/offload.h"

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    return lcp_schedule_build_offload(out, input, 1, err);
}

const lcp_schedule_kind lcp_schedule_offload_full = {
    .name = "offload-full",
    .help = "1F1B, interleaved over several stages a rank, all activations in host memory",
    .needs =
        "a link to host memory that is free while passes run; what interleaved needs if a rank holds several stages",
    .synchronous = true,
    .unsupported = lcp_schedule_offload_unsupported,
    .build = build,
};
