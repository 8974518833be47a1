/* Sliced 1F1B (Seq1F1B): elastic 1F1B where every sequence is cut into the same number of slices. */
#include "schedule/schedule_internal.h"

/* Slices of the sequence that starts at chunk `first`. */
static int32_t slices_from(const lcp_schedule_input *input, int32_t first)
{
    int32_t count = 1;
    while (input->links[first + count - 1].next_slice >= 0) {
        count++;
    }
    return count;
}

static const char *unsupported(const lcp_schedule_input *input)
{
    const char *reason = lcp_schedule_elastic_1f1b.unsupported(input);
    int32_t slices = reason == NULL ? slices_from(input, 0) : 0;
    for (int32_t k = 0; reason == NULL && k < input->chunk_count; k += slices) {
        if (slices_from(input, k) != slices) {
            reason = "sliced-1f1b wants every sequence in equally many slices: use elastic-1f1b for mixtures";
        }
    }
    return reason;
}

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    return lcp_schedule_elastic_1f1b.build(out, input, err);
}

const lcp_schedule_kind lcp_schedule_sliced_1f1b = {
    .name = "sliced-1f1b",
    .help = "1F1B whose units are slices, all sequences cut alike",
    .needs = "equally many slices of every sequence; rank r of p keeps p - 1 - r + slices of them",
    .synchronous = true,
    .unsupported = unsupported,
    .build = build,
};
