/* Slices of one sequence at equal time: later slices see a longer prefix and are shorter. */
#include "chunking/chunking_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double slice_cost(const lcp_chunking_input *input, int64_t offset, int64_t length)
{
    const lcp_segment slice = {.offset_tokens = offset, .length_tokens = length};
    return lcp_exact_seconds(input->cost, &slice, 1);
}

/* Aligned length of a slice at `offset` whose additive price comes nearest to `seconds`, at most what is left. */
static int64_t length_by_price(const lcp_chunking_input *input, int64_t offset, int64_t tokens, double seconds)
{
    int64_t unit = input->slice_alignment_tokens;
    int64_t low = 1;
    int64_t high = (tokens - offset + unit - 1) / unit;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (lcp_cost_segment_seconds(input->cost, offset, middle * unit) < seconds) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low > 1) {
        double over = lcp_cost_segment_seconds(input->cost, offset, low * unit) - seconds;
        double under = seconds - lcp_cost_segment_seconds(input->cost, offset, (low - 1) * unit);
        low -= under < over;
    }
    return low * unit < tokens - offset ? low * unit : tokens - offset;
}

/* End of a slice that costs `seconds` exactly: the additive price, corrected twice by what the slice really costs. */
static int64_t end_for_seconds(const lcp_chunking_input *input, int64_t offset, int64_t tokens, double seconds)
{
    double wanted = seconds;
    int64_t length = length_by_price(input, offset, tokens, wanted);
    for (int32_t round = 0; round < 2 && length < tokens - offset; round++) {
        wanted *= seconds / slice_cost(input, offset, length);
        length = length_by_price(input, offset, tokens, wanted);
    }
    return offset + length;
}

static int64_t shortest_slice(const lcp_chunking_input *input)
{
    int64_t unit = input->slice_alignment_tokens;
    int64_t wanted = input->min_slice_tokens > unit ? input->min_slice_tokens : unit;
    return (wanted + unit - 1) / unit * unit;
}

/* `end`, or an earlier end that leaves enough for one more slice, or the sequence's end where neither is possible. */
static int64_t end_before_tail(const lcp_chunking_input *input, int64_t offset, int64_t end, int64_t tokens)
{
    int64_t unit = input->slice_alignment_tokens;
    int64_t shortest = shortest_slice(input);
    int64_t latest = (tokens - shortest) / unit * unit;
    if (end <= latest || end >= tokens) {
        return end;
    }
    return latest >= offset + shortest ? latest : tokens;
}

/* Cuts at most `most` slices, the last takes the rest. Returns the number of slices. */
static int32_t cut_greedily(int64_t *offsets, const lcp_chunking_input *input, int64_t tokens, double seconds,
                            int32_t most)
{
    int64_t shortest = shortest_slice(input);
    int32_t count = 0;
    offsets[0] = 0;
    while (offsets[count] < tokens) {
        int64_t end = tokens;
        if (count + 1 < most) {
            end = end_for_seconds(input, offsets[count], tokens, seconds);
            end = end < offsets[count] + shortest ? offsets[count] + shortest : end;
            end = end_before_tail(input, offsets[count], end, tokens);
        }
        offsets[++count] = end < tokens ? end : tokens;
    }
    return count;
}

lcp_status lcp_cut_sequence(lcp_cut *out, const lcp_chunking_input *input, int64_t tokens, double slice_seconds,
                            int32_t slices, lcp_error *err)
{
    double whole = slice_cost(input, 0, tokens);
    int64_t by_length = tokens / shortest_slice(input);
    int64_t wanted = slice_seconds > 0 ? (int64_t)(whole / slice_seconds) + 2 : slices;
    int64_t most = wanted < by_length ? wanted : by_length;
    most = most < 1 ? 1 : most > 100000 ? 100000 : most;
    out->offsets = malloc(((size_t)most + 1) * sizeof *out->offsets);
    if (out->offsets == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot cut a sequence into %lld slices", (long long)most);
    }
    if (slice_seconds > 0) {
        out->count = cut_greedily(out->offsets, input, tokens, slice_seconds, (int32_t)most);
        return LCP_OK;
    }
    /* Slicing adds a little of its own (prefix traffic, tile rounding): what the last slice takes more or less than the
     * others is spread over all, a few times. */
    double each = whole / (double)most;
    for (int32_t step = 0; step < 12; step++) {
        out->count = cut_greedily(out->offsets, input, tokens, each, (int32_t)most);
        int64_t last = out->offsets[out->count - 1];
        double excess = slice_cost(input, last, tokens - last) - each;
        if (fabs(excess) <= 0.002 * each) {
            return LCP_OK;
        }
        each += excess / (double)out->count;
    }
    out->count = cut_greedily(out->offsets, input, tokens, each, (int32_t)most);
    return LCP_OK;
}

lcp_status lcp_cut_on_mesh(lcp_cut *out, const lcp_cut *mesh, const lcp_chunking_input *input, int64_t tokens,
                           lcp_error *err)
{
    int32_t full = 0;
    while (full + 1 < mesh->count && mesh->offsets[full + 1] + input->slice_alignment_tokens <= tokens) {
        full++;
    }
    out->count = full + 1;
    out->offsets = malloc(((size_t)out->count + 1) * sizeof *out->offsets);
    if (out->offsets == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot cut a sequence into %d slices", out->count);
    }
    memcpy(out->offsets, mesh->offsets, (size_t)out->count * sizeof *out->offsets);
    out->offsets[out->count] = tokens;
    return LCP_OK;
}
