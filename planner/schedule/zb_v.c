/* ZB-V: stages down the ranks and up again, I and W apart, in the memory of 1F1B on every rank. The order by hand (Qi
 * et al. 2024) counts passes of the way down (0) and up (1) on rank r of p: 2(p-r)-1 x F0    r x {F1, F0}    p-r x {F1,
 * I1, W1}    then {F0, I0, W0, F1, I1, W1} as long as there are forward passes    r x {I0, I1}    p-r x {I0, W0} what
 * is left of W1 and W0 It is right when F, I and W take the same time; it is improved, and list schedules are tried, on
 * the durations given.
 */
#include "schedule/backfill.h"
#include "schedule/greedy.h"

#include <stdlib.h>

static const char *unsupported(const lcp_schedule_input *input)
{
    if (input->virtual_count != 0 && input->virtual_count != 2) {
        return "zb-v needs two virtual stages a rank";
    }
    return lcp_schedule_refuse_empty(input);
}

/* Passes so far by kind, on the way down and up. */
typedef struct writer {
    lcp_schedule *out;
    const int32_t *backward;
    int32_t rank;
    int32_t done[2][LCP_OP_KIND_COUNT];
} writer;

/* Chunks that do not exist are left out: fewer than 2p - 1 run as a part of that many. */
static void run(writer *w, lcp_op_kind kind, int32_t way)
{
    int32_t i = w->done[way][kind]++;
    if (i < w->out->chunk_count) {
        int32_t stage = way == 0 ? w->rank : 2 * w->out->rank_count - 1 - w->rank;
        lcp_schedule_append(w->out, w->rank, kind, kind == LCP_OP_FORWARD ? i : w->backward[i], stage);
    }
}

static void warm_up(writer *w, int32_t depth)
{
    for (int32_t i = 0; i < 2 * depth - 1; i++) {
        run(w, LCP_OP_FORWARD, 0);
    }
    for (int32_t i = 0; i < w->rank; i++) {
        run(w, LCP_OP_FORWARD, 1);
        run(w, LCP_OP_FORWARD, 0);
    }
    for (int32_t i = 0; i < depth; i++) {
        run(w, LCP_OP_FORWARD, 1);
        run(w, LCP_OP_INPUT_GRAD, 1);
        run(w, LCP_OP_WEIGHT_GRAD, 1);
    }
}

static void fill_rank(writer *w)
{
    int32_t depth = w->out->rank_count - w->rank;
    int32_t least = 2 * w->out->rank_count - 1;
    int32_t n = w->out->chunk_count > least ? w->out->chunk_count : least;
    warm_up(w, depth);
    while (w->done[1][LCP_OP_FORWARD] < n) {
        for (int32_t way = 0; way < 2; way++) {
            run(w, LCP_OP_FORWARD, way);
            run(w, LCP_OP_INPUT_GRAD, way);
            run(w, LCP_OP_WEIGHT_GRAD, way);
        }
    }
    for (int32_t i = 0; i < w->rank; i++) {
        run(w, LCP_OP_INPUT_GRAD, 0);
        run(w, LCP_OP_INPUT_GRAD, 1);
    }
    for (int32_t i = 0; i < depth; i++) {
        run(w, LCP_OP_INPUT_GRAD, 0);
        run(w, LCP_OP_WEIGHT_GRAD, 0);
    }
    for (int32_t way = 1; way >= 0; way--) {
        while (w->done[way][LCP_OP_WEIGHT_GRAD] < n) {
            run(w, LCP_OP_WEIGHT_GRAD, way);
        }
    }
}

/* Without slices, and within the limits. */
static bool by_hand(lcp_schedule *out, const lcp_schedule_input *input, const int64_t *limits, int32_t *backward)
{
    if (lcp_schedule_is_sliced(input)) {
        return false;
    }
    for (int32_t r = 0; r < out->rank_count; r++) {
        writer w = {.out = out, .backward = backward, .rank = r};
        fill_rank(&w);
        if (lcp_schedule_peak_kept(out, input, r) > limits[r]) {
            return false;
        }
    }
    return true;
}

static lcp_status search(lcp_schedule *out, const lcp_schedule_input *input, int64_t *limits, int32_t *backward,
                         lcp_error *err)
{
    int32_t slices = lcp_schedule_backward_order(backward, input);
    lcp_greedy_limits(limits, out, input, input->rank_count + slices - 1);
    bool start = by_hand(out, input, limits, backward);
    return lcp_search_order(out, input, true, limits, start, err);
}

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    int64_t *limits = malloc((size_t)input->rank_count * sizeof *limits);
    int32_t *backward = malloc((size_t)input->chunk_count * sizeof *backward);
    lcp_status status = lcp_schedule_allocate(out, input, 2, 0, 6 * (int64_t)input->chunk_count, err);
    if (status == LCP_OK && (limits == NULL || backward == NULL)) {
        status = lcp_fail(err, LCP_NOMEM, "", "cannot order %d chunks", input->chunk_count);
    }
    if (status == LCP_OK) {
        lcp_schedule_place_wave(out);
        status = search(out, input, limits, backward, err);
    }
    free(limits);
    free(backward);
    if (status != LCP_OK) {
        lcp_schedule_dispose(out);
    }
    return status;
}

const lcp_schedule_kind lcp_schedule_zb_v = {
    .name = "zb-v",
    .help = "stages down and up the ranks, I and W apart, in the memory of 1F1B",
    .needs = "two virtual stages a rank; kernels that split the backward pass; every rank keeps p chunks, "
             "slices - 1 more if sliced",
    .synchronous = true,
    .unsupported = unsupported,
    .build = build,
};
