/* 1F1B whose activations go to host memory between the passes (PipeOffload): of half of each rank's stages, those that
 * keep longest. */
#include "schedule/offload.h"

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    return lcp_schedule_build_offload(out, input, 0.5, err);
}

const lcp_schedule_kind lcp_schedule_offload_half = {
    .name = "offload-half",
    .help = "1F1B, interleaved over several stages a rank, half of the activations in host memory, those kept longest",
    .needs =
        "a link to host memory that is free while passes run; what interleaved needs if a rank holds several stages",
    .synchronous = true,
    .unsupported = lcp_schedule_offload_unsupported,
    .build = build,
};
