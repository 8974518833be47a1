/* 1F1B (DAPPLE, PipeDream-flush): elastic 1F1B where no sequence is cut, so that rank r keeps p - r chunks in flight.
 */
#include "schedule/schedule_internal.h"

static const char *unsupported(const lcp_schedule_input *input)
{
    if (lcp_schedule_is_sliced(input)) {
        return "1f1b runs whole sequences only: use elastic-1f1b for slices";
    }
    return lcp_schedule_elastic_1f1b.unsupported(input);
}

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    return lcp_schedule_elastic_1f1b.build(out, input, err);
}

const lcp_schedule_kind lcp_schedule_one_f_one_b = {
    .name = "1f1b",
    .help = "one forward, one backward; no sequence is cut",
    .needs = "whole sequences; rank r of p keeps p - r chunks",
    .synchronous = true,
    .planned = true,
    .unsupported = unsupported,
    .build = build,
};
