/* Lower bounds that need neither chunks nor stages. Every inequality is an average over ranks (the slowest is not
 * faster than the mean) or a relaxation, so the bound holds for every cut, split and recompute choice. */
#include "search/candidates.h"

#include <math.h>
#include <stdlib.h>

static int by_length_descending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

/* The longest sequences one by one, the rest in runs whose longest is at most 6 % above its shortest or, near the end
 * of the table, all that is left. */
lcp_status lcp_length_summarize(lcp_length_summary *out, const lcp_workload *workload, lcp_error *err)
{
    *out = (lcp_length_summary){0};
    int64_t n = workload->sequence_count;
    int64_t *sorted = malloc((size_t)n * sizeof *sorted);
    if (sorted == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot sort %lld lengths", (long long)n);
    }
    for (int64_t i = 0; i < n; i++) {
        sorted[i] = workload->lengths_tokens[i];
        out->total_tokens += sorted[i];
    }
    qsort(sorted, (size_t)n, sizeof *sorted, by_length_descending);
    out->longest_tokens = sorted[0];
    int64_t first = 0;
    while (first < n) {
        bool alone = out->count < 16;
        bool rest = out->count == LCP_LENGTH_GROUPS - 1;
        double sum = 0;
        int64_t last = first;
        while (last < n &&
               (rest || last == first || (!alone && (double)sorted[last] * 1.06 >= (double)sorted[first]))) {
            sum += (double)sorted[last];
            last++;
        }
        out->groups[out->count].mean_tokens = sum / (double)(last - first);
        out->groups[out->count].shortest_tokens = sorted[last - 1];
        out->groups[out->count].count = last - first;
        out->count++;
        first = last;
    }
    free(sorted);
    return LCP_OK;
}

uint32_t lcp_recompute_mask(lcp_recompute_mode mode)
{
    switch (mode) {
    case LCP_RECOMPUTE_MODE_NONE:
        return 1U << LCP_RECOMPUTE_NONE;
    case LCP_RECOMPUTE_MODE_SELECTIVE:
        return (1U << LCP_RECOMPUTE_ACTIVATION) | (1U << LCP_RECOMPUTE_MLP) | (1U << LCP_RECOMPUTE_ATTENTION_OUTPUT);
    case LCP_RECOMPUTE_MODE_FULL:
        return 1U << LCP_RECOMPUTE_FULL;
    case LCP_RECOMPUTE_MODE_BLOCK:
        return (1U << LCP_RECOMPUTE_NONE) | (1U << LCP_RECOMPUTE_FULL);
    case LCP_RECOMPUTE_MODE_AUTO:
        break;
    }
    return (1U << LCP_RECOMPUTE_COUNT) - 1U;
}

/* Sums over all layers and ends of one layout. */
typedef struct whole_model {
    double static_bytes;
    double kept_bytes;       /* one whole sequence, the most that any allowed policy keeps */
    double leanest_bytes;    /* the least */
    double seconds_per_byte; /* cheapest way to give up a byte */
    double forced_seconds;   /* recompute that even the richest allowed policy needs */
    double tail_seconds;
} whole_model;

/* What recompute costs beyond the part that a chunk pays once however many sequences share it. */
static double shared_out(const lcp_layer_cost *layer, const lcp_layer_cost *one_token, int32_t policy)
{
    double seconds = lcp_seconds_sum(&layer->recompute[policy]) - lcp_seconds_sum(&one_token->recompute[policy]);
    return fmax(seconds, 0);
}

/* layer[0]: the sequence; layer[1]: one token. */
static void add_layer(whole_model *sum, const lcp_cost *cost, int32_t layer_class, double layers,
                      const lcp_layer_cost layer[2], uint32_t mask)
{
    const lcp_static_bytes *resident = &cost->layer_static[layer_class];
    sum->static_bytes += layers * (double)(resident->parameters + resident->gradients + resident->optimizer);
    sum->tail_seconds += layers * (cost->layer_step[layer_class].exposed_dp + cost->layer_step[layer_class].optimizer);
    double most = 0;
    double least = HUGE_VAL;
    double forced = HUGE_VAL;
    for (int32_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
        if ((mask >> q & 1U) != 0) {
            most = fmax(most, (double)layer[0].kept_bytes[q]);
            least = fmin(least, (double)layer[0].kept_bytes[q]);
            forced = fmin(forced, shared_out(&layer[0], &layer[1], q));
        }
    }
    for (int32_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
        double freed = most - (double)layer[0].kept_bytes[q];
        if ((mask >> q & 1U) != 0 && freed > 0) {
            double extra = shared_out(&layer[0], &layer[1], q) - forced;
            sum->seconds_per_byte = fmin(sum->seconds_per_byte, fmax(extra, 0) / freed);
        }
    }
    sum->kept_bytes += layers * most;
    sum->leanest_bytes += layers * least;
    sum->forced_seconds += layers * forced;
}

static void add_end(whole_model *sum, const lcp_static_bytes *resident, const lcp_step_seconds *step)
{
    sum->static_bytes += (double)(resident->parameters + resident->gradients + resident->optimizer);
    sum->tail_seconds += step->exposed_dp + step->optimizer;
}

/* One whole sequence of `tokens`, seen by every layer. */
static whole_model sum_model(const lcp_cost *cost, int64_t tokens, uint32_t mask)
{
    const lcp_segment segments[2] = {{.length_tokens = tokens}, {.length_tokens = 1}};
    const lcp_chunk sequence = {.segment_count = 1, .segments = &segments[0]};
    const lcp_chunk one_token = {.segment_count = 1, .segments = &segments[1]};
    whole_model sum = {.seconds_per_byte = HUGE_VAL};
    int32_t layers[LCP_MAX_LAYER_CLASSES] = {0};
    for (int32_t l = 0; l < cost->model->layer_count; l++) {
        layers[cost->model->layer_class[l]]++;
    }
    for (int32_t c = 0; c < cost->model->class_count; c++) {
        if (layers[c] > 0) {
            lcp_layer_cost layer[2];
            lcp_cost_layer(cost, c, &sequence, &layer[0]);
            lcp_cost_layer(cost, c, &one_token, &layer[1]);
            add_layer(&sum, cost, c, layers[c], layer, mask);
        }
    }
    add_end(&sum, &cost->embedding_static, &cost->embedding_step);
    add_end(&sum, &cost->head_static, &cost->head_step);
    return sum;
}

/* When the last slice of a sequence starts its backward pass on a stage, that stage holds all slices of it. Summed over
 * stages: static + kept <= pp * (capacity - reserve - smallest buffers). The KV that full recompute must also keep for
 * slices with successors, KV gradients and working bytes only add. */
static double spare_bytes(const lcp_cost *cost, const whole_model *sum)
{
    double room = (double)(cost->capacity_bytes - cost->reserve_bytes - lcp_cost_buffer_bytes(cost, 0));
    return (double)cost->layout.pp * room - sum->static_bytes;
}

static double forced_recompute(const lcp_cost *cost, const lcp_length_summary *lengths, uint32_t mask)
{
    double seconds = 0;
    for (int32_t g = 0; g < lengths->count; g++) {
        whole_model sum = sum_model(cost, lengths->groups[g].shortest_tokens, mask);
        double excess = sum.kept_bytes - spare_bytes(cost, &sum);
        if (!(excess > 0) && !(sum.forced_seconds > 0)) {
            break; /* groups go from long to short */
        }
        double extra = excess > 0 && isfinite(sum.seconds_per_byte) ? excess * sum.seconds_per_byte : 0;
        seconds += (double)lengths->groups[g].count * (sum.forced_seconds + extra);
    }
    return seconds;
}

void lcp_layout_bound_compute(lcp_layout_bound *out, const lcp_cost *cost, const lcp_length_summary *lengths,
                              const lcp_options *options)
{
    *out = (lcp_layout_bound){0};
    uint32_t mask = lcp_recompute_mask(options->recompute);
    whole_model longest = sum_model(cost, lengths->longest_tokens, mask);
    double missing = longest.leanest_bytes - spare_bytes(cost, &longest);
    if (missing > 0) {
        out->missing_bytes = (int64_t)ceil(missing / (double)cost->layout.pp);
        return;
    }
    for (int32_t g = 0; g < lengths->count; g++) {
        int64_t tokens = (int64_t)lengths->groups[g].mean_tokens; /* rounding down keeps the bound valid */
        out->work_seconds += (double)lengths->groups[g].count * lcp_cost_sequence_lower_bound_seconds(cost, tokens);
    }
    out->recompute_seconds = forced_recompute(cost, lengths, mask);
    out->fixed_seconds = lcp_cost_chunk_fixed_seconds(cost);
    out->tail_seconds = longest.tail_seconds / (double)cost->layout.pp;
    double tokens = (double)lengths->longest_tokens;
    out->kept_bytes_per_token = longest.kept_bytes / tokens;
    out->leanest_bytes_per_token = longest.leanest_bytes / tokens;
    out->seconds_per_byte = longest.seconds_per_byte;
    out->room_bytes = spare_bytes(cost, &longest);
    out->longest_seconds = lcp_cost_sequence_lower_bound_seconds(cost, lengths->longest_tokens);
}

double lcp_layout_bound_iteration(const lcp_layout_bound *bound, const lcp_layout *layout, int32_t chunks_per_rank,
                                  bool slicing)
{
    double per_rank = (bound->work_seconds + bound->recompute_seconds) / (double)layout->dp;
    double busy = (per_rank + (double)chunks_per_rank * bound->fixed_seconds) / (double)layout->pp;
    double path = slicing ? 0 : bound->longest_seconds;
    return fmax(busy, path) + bound->tail_seconds;
}

double lcp_layout_estimate(const lcp_layout_bound *bound, const lcp_layout *layout, int32_t chunks_per_rank,
                           const lcp_length_summary *lengths)
{
    double stages = layout->pp;
    double tokens = (double)lengths->total_tokens / layout->dp;
    double chunk = tokens / chunks_per_rank;
    /* The first stage holds the longest sequence's slices and one chunk more for every stage after it. */
    double held = fmax(chunk, (double)lengths->longest_tokens) + (stages - 1) * chunk;
    held = fmin(held, tokens);
    double excess = held * bound->kept_bytes_per_token - bound->room_bytes;
    double givable = held * (bound->kept_bytes_per_token - bound->leanest_bytes_per_token);
    double share = excess > 0 ? excess / fmax(givable, 1) : 0; /* of the layers that recompute; above 1: does not fit */
    double per_token = (bound->kept_bytes_per_token - bound->leanest_bytes_per_token) * bound->seconds_per_byte;
    double recompute = isfinite(per_token) ? fmin(share, 1) * tokens * per_token : 0;
    double busy = (bound->work_seconds / layout->dp + recompute + chunks_per_rank * bound->fixed_seconds) / stages;
    double bubble = (stages - 1) / chunks_per_rank;
    return (busy * (1 + bubble) + bound->tail_seconds) * (1 + fmax(0, share - 1));
}
