#include "chunking/chunking_internal.h"

#include <stdlib.h>

static double both_passes(const lcp_seconds *forward, const lcp_seconds *input_grad, const lcp_seconds *weight_grad)
{
    return lcp_seconds_sum(forward) + lcp_seconds_sum(input_grad) + lcp_seconds_sum(weight_grad);
}

double lcp_exact_seconds(const lcp_cost *cost, const lcp_segment *segments, int32_t count)
{
    const lcp_chunk chunk = {.segment_count = count, .segments = segments};
    const lcp_model *model = cost->model;
    double seconds = 2 * cost->layout.pp * lcp_cost_pass_overhead_seconds(cost) - lcp_cost_chunk_fixed_seconds(cost);
    for (int32_t c = 0; c < model->class_count; c++) {
        lcp_layer_cost layer;
        double layers = cost->layer_terms[c].layers;
        if (layers > 0) {
            lcp_cost_layer(cost, c, &chunk, &layer);
            seconds += layers * both_passes(&layer.forward, &layer.input_grad, &layer.weight_grad);
        }
    }
    lcp_end_cost end;
    lcp_cost_embedding(cost, &chunk, &end);
    seconds += both_passes(&end.forward, &end.input_grad, &end.weight_grad);
    lcp_cost_head(cost, &chunk, &end);
    return seconds + both_passes(&end.forward, &end.input_grad, &end.weight_grad);
}

static int by_length_then_number(const void *a, const void *b)
{
    const lcp_item *x = a;
    const lcp_item *y = b;
    if (x->tokens != y->tokens) {
        return x->tokens > y->tokens ? -1 : 1;
    }
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

lcp_status lcp_items_build(lcp_item **out, const lcp_chunking_input *input, lcp_error *err)
{
    int64_t count = input->workload->sequence_count;
    lcp_item *items = malloc((size_t)count * sizeof *items);
    *out = items;
    if (items == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot sort %lld sequences", (long long)count);
    }
    for (int64_t i = 0; i < count; i++) {
        items[i] = (lcp_item){.sequence = i, .tokens = input->workload->lengths_tokens[i]};
    }
    qsort(items, (size_t)count, sizeof *items, by_length_then_number);
    for (int64_t i = 0; i < count; i++) {
        bool repeated = i > 0 && items[i].tokens == items[i - 1].tokens;
        items[i].seconds = repeated ? items[i - 1].seconds : lcp_cost_segment_seconds(input->cost, 0, items[i].tokens);
    }
    return LCP_OK;
}

/* Binary heap of ranks, least loaded on top, ties to the lower number. */
typedef struct load {
    double seconds;
    int32_t rank;
} load;

static bool lighter(const load *a, const load *b)
{
    return a->seconds < b->seconds || (!(b->seconds < a->seconds) && a->rank < b->rank);
}

static void sink(load *heap, int32_t count)
{
    int32_t at = 0;
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child >= count) {
            return;
        }
        if (child + 1 < count && lighter(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (!lighter(&heap[child], &heap[at])) {
            return;
        }
        load swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
        at = child;
    }
}

lcp_status lcp_items_to_ranks(int32_t *rank_of, const lcp_item *items, int64_t count, int32_t ranks, lcp_error *err)
{
    load *heap = malloc((size_t)ranks * sizeof *heap);
    if (heap == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot balance %d ranks", ranks);
    }
    for (int32_t r = 0; r < ranks; r++) {
        heap[r] = (load){.seconds = 0, .rank = r};
    }
    for (int64_t i = 0; i < count; i++) {
        rank_of[i] = heap[0].rank;
        heap[0].seconds += items[i].seconds;
        sink(heap, ranks);
    }
    free(heap);
    return LCP_OK;
}
