/* Prices one layer for one chunk from the prepared terms. */
#include "internal.h"

#include <assert.h>
#include <math.h>

double lcp_seconds_sum(const lcp_seconds *seconds)
{
    return seconds->compute + seconds->exposed_tp + seconds->exposed_cp + seconds->exposed_ep + seconds->exposed_dp;
}

static int64_t round_up(int64_t tokens, int64_t multiple)
{
    return (tokens + multiple - 1) / multiple * multiple;
}

int64_t lcp_cost_padded_tokens(const lcp_cost *cost, const lcp_chunk *chunk)
{
    int64_t tokens = 0;
    for (int32_t i = 0; i < chunk->segment_count; i++) {
        tokens += round_up(chunk->segments[i].length_tokens, cost->segment_alignment_tokens);
    }
    return round_up(tokens, cost->chunk_alignment_tokens);
}

/* What a layer class sees of a chunk. */
typedef struct chunk_view {
    double tokens;      /* padded */
    double real_tokens; /* as given */
    double pairs;       /* padded causal pairs */
    double reach;       /* sum over segments of pairs / length: keys an average query sees */
    double real_pairs;
    double prefix;     /* tokens before the prefixed segment */
    double keys;       /* prefix within the window, and padded tokens */
    double kept_keys;  /* tokens that later slices can still see */
    double successors; /* segments with later slices */
    double scores;     /* padded queries times keys, masked ones too */
} chunk_view;

static void view_segment(chunk_view *view, const lcp_segment *segment, int64_t alignment, int64_t window)
{
    int64_t padded = round_up(segment->length_tokens, alignment);
    int64_t offset = segment->offset_tokens;
    double pairs = lcp_causal_pairs(offset, padded, window);
    bool same = padded == segment->length_tokens;
    view->pairs += pairs;
    view->reach += pairs / (double)padded;
    view->real_tokens += (double)segment->length_tokens;
    view->real_pairs += same ? pairs : lcp_causal_pairs(offset, segment->length_tokens, window);
    view->prefix += (double)offset;
    view->scores += (double)padded * (double)(offset + padded);
    view->keys += (double)(window > 0 && window < offset ? window : offset) + (double)padded;
    if (segment->has_successor) {
        view->kept_keys += (double)(window > 0 && window < padded ? window : padded);
        view->successors += 1;
    }
}

static chunk_view view_chunk(const lcp_cost *cost, const lcp_chunk *chunk, int64_t window)
{
    chunk_view view = {0};
    int64_t tokens = 0;
    for (int32_t i = 0; i < chunk->segment_count; i++) {
        view_segment(&view, &chunk->segments[i], cost->segment_alignment_tokens, window);
        tokens += round_up(chunk->segments[i].length_tokens, cost->segment_alignment_tokens);
    }
    view.tokens = (double)round_up(tokens, cost->chunk_alignment_tokens);
    return view;
}

int64_t lcp_cost_padded_tokens_equal(const lcp_cost *cost, int64_t sequences, int64_t length_tokens)
{
    int64_t tokens = round_up(length_tokens, cost->segment_alignment_tokens) * sequences;
    return round_up(tokens, cost->chunk_alignment_tokens);
}

/* The view of one segment, of which there are several. */
static chunk_view view_equal(const lcp_cost *cost, int64_t sequences, int64_t length, int64_t window)
{
    lcp_segment segment = {.length_tokens = length};
    chunk_view view = {0};
    double count = (double)sequences;
    view_segment(&view, &segment, cost->segment_alignment_tokens, window);
    view.tokens = (double)lcp_cost_padded_tokens_equal(cost, sequences, length);
    view.pairs *= count;
    view.reach *= count;
    view.real_tokens *= count;
    view.real_pairs *= count;
    view.keys *= count;
    view.scores *= count;
    return view;
}

static double core_seconds(const lcp_core_terms *core, const chunk_view *view)
{
    double rows = view->pairs * (1 + core->fill_rows / view->tokens) + core->half_rows * view->reach;
    double compute = core->seconds_per_pair * rows;
    compute += core->seconds_per_token * view->tokens + core->seconds_per_prefix * view->prefix;
    compute += core->seconds_per_key * view->keys;
    double memory = core->memory_per_token * view->tokens + core->memory_per_key * view->keys;
    return core->fixed_seconds + fmax(compute, memory) + core->seconds_per_score * view->scores;
}

/* Exposed part; *hidden grows by the rest. */
static double ring_exposed(lcp_line line, double hidden_ratio, double core, double keys, double *hidden)
{
    double wire = lcp_line_at(line, keys);
    double under = fmin(wire, hidden_ratio * core);
    *hidden += under;
    return wire - under;
}

/* Products of a pass; mask 0 takes all, else those with a common bit. */
static double product_seconds(const lcp_layer_terms *t, double tokens, uint32_t mask)
{
    double seconds = 0;
    for (int32_t i = 0; i < t->product_count; i++) {
        const lcp_product_terms *product = &t->products[i];
        if (mask == 0 || (product->rebuilt & mask) != 0) {
            seconds += fmax(lcp_line_at(product->compute, tokens), lcp_line_at(product->memory, tokens));
        }
    }
    return seconds;
}

static double weight_grad_seconds(const lcp_layer_terms *t, double tokens)
{
    if (t->measured_weight_grad >= 0) {
        return t->measured_weight_grad * tokens;
    }
    double seconds = 0;
    for (int32_t i = 0; i < t->product_count; i++) {
        const lcp_product_terms *product = &t->products[i];
        seconds += fmax(lcp_line_at(product->compute, tokens), lcp_line_at(product->weight_grad_memory, tokens));
    }
    return seconds;
}

static lcp_seconds traffic_seconds(const lcp_traffic_terms *traffic, double tokens)
{
    return (lcp_seconds){
        .exposed_tp = lcp_line_at(traffic->tp, tokens),
        .exposed_cp = lcp_line_at(traffic->cp, tokens),
        .exposed_ep = lcp_line_at(traffic->ep, tokens),
    };
}

static void price_passes(lcp_layer_cost *out, const lcp_layer_terms *t, const chunk_view *view)
{
    double tokens = view->tokens;
    double products = product_seconds(t, tokens, 0);
    double forward = core_seconds(&t->core_forward, view);
    double backward = core_seconds(&t->core_backward, view);
    out->hidden_cp = 0;
    out->forward_kernels = (lcp_kernel_seconds){forward, lcp_line_at(t->elementwise_forward, tokens), 0};
    out->backward_kernels = (lcp_kernel_seconds){backward, lcp_line_at(t->elementwise_input_grad, tokens), 0};
    out->forward = traffic_seconds(&t->traffic_forward, tokens);
    out->forward.compute = products + forward + lcp_line_at(t->elementwise_forward, tokens);
    out->forward.exposed_cp +=
        ring_exposed(t->ring_forward, t->ring_hidden_ratio, forward, view->keys, &out->hidden_cp);
    out->input_grad = traffic_seconds(&t->traffic_input_grad, tokens);
    out->input_grad.compute = products + backward + lcp_line_at(t->elementwise_input_grad, tokens);
    out->input_grad.exposed_cp +=
        ring_exposed(t->ring_backward, t->ring_hidden_ratio, backward, view->keys, &out->hidden_cp);
    out->weight_grad = (lcp_seconds){.compute = weight_grad_seconds(t, tokens)};
    if (t->measured_forward >= 0) {
        out->forward.compute = t->measured_forward * tokens;
    }
    if (t->measured_input_grad >= 0) {
        out->input_grad.compute = t->measured_input_grad * tokens;
    }
}

/* A pass lasts at least as long as the host needs to launch it. */
static void wait_for_host(lcp_seconds *pass, double others, double host, lcp_kernel_seconds *kernels)
{
    kernels->host = fmax(0, host - pass->compute - others);
    pass->compute += kernels->host;
}

static void price_recompute(lcp_layer_cost *out, const lcp_layer_terms *t, double tokens)
{
    out->recompute[LCP_RECOMPUTE_NONE] = (lcp_seconds){0};
    for (uint32_t p = 1; p < LCP_RECOMPUTE_FULL; p++) {
        lcp_seconds seconds = traffic_seconds(&t->traffic_rebuilt[p], tokens);
        double compute = product_seconds(t, tokens, 1U << p) + lcp_line_at(t->elementwise_rebuilt[p], tokens);
        seconds.compute = fmin(compute, out->forward.compute);
        out->recompute[p] = seconds;
    }
    out->recompute[LCP_RECOMPUTE_FULL] = out->forward;
}

/* ZeRO 3 gathers a layer's parameters beside the pass before; ZeRO 2 and 3 reduce beside the weight gradient. */
static void price_sharding(lcp_layer_cost *out, double gather, double reduce, double overlap)
{
    out->forward.exposed_dp = gather - overlap * fmin(gather, out->forward.compute);
    out->input_grad.exposed_dp = gather - overlap * fmin(gather, out->input_grad.compute);
    out->weight_grad.exposed_dp = reduce - overlap * fmin(reduce, out->weight_grad.compute);
    out->hidden_dp = 2 * gather + reduce - out->forward.exposed_dp - out->input_grad.exposed_dp;
    out->hidden_dp -= out->weight_grad.exposed_dp;
}

static void price_memory(lcp_layer_cost *out, const lcp_layer_terms *t, const chunk_view *view)
{
    int64_t handed_on = lcp_bytes_up(t->kv_bytes * view->kept_keys + t->state_bytes * view->successors);
    for (int32_t p = 0; p < LCP_RECOMPUTE_COUNT; p++) {
        bool dropped = !lcp_recompute_rules[p].keeps_mixer;
        double scores = lcp_recompute_rules[p].keeps_mixer ? t->score_bytes * view->scores : 0;
        out->kept_bytes[p] = lcp_bytes_up(t->kept_bytes[p] * view->tokens + scores);
        out->kept_bytes[p] += dropped || t->kv_apart ? handed_on : 0;
    }
    /* Measured bytes may be smaller than what the formulas keep. */
    for (int32_t p = 1; p < LCP_RECOMPUTE_COUNT; p++) {
        int64_t limit = out->kept_bytes[LCP_RECOMPUTE_NONE];
        out->kept_bytes[p] = out->kept_bytes[p] < limit ? out->kept_bytes[p] : limit;
    }
    out->kv_bytes = handed_on;
    out->kv_grad_bytes = lcp_bytes_up(t->kv_grad_bytes * view->kept_keys + t->state_grad_bytes * view->successors);
    out->working_none_bytes = lcp_bytes_up(t->gradient_bytes * view->tokens);
    out->working_bytes =
        out->working_none_bytes + out->kept_bytes[LCP_RECOMPUTE_NONE] - out->kept_bytes[LCP_RECOMPUTE_FULL];
}

static void price_layer(const lcp_cost *cost, int32_t layer_class, const chunk_view *view, lcp_layer_cost *out)
{
    const lcp_layer_terms *t = &cost->layer_terms[layer_class];
    double host = cost->device->layer_host_seconds;
    price_passes(out, t, view);
    wait_for_host(&out->forward, 0, host, &out->forward_kernels);
    wait_for_host(&out->input_grad, out->weight_grad.compute, host, &out->backward_kernels);
    price_recompute(out, t, view->tokens);
    price_sharding(out, cost->layer_gather_seconds[layer_class], cost->layer_reduce_seconds[layer_class],
                   cost->training.zero_overlap_ratio);
    price_memory(out, t, view);
    out->forward_flops = t->token_flops * view->real_tokens + t->pair_flops * view->real_pairs;
    out->communicated_bytes = lcp_line_at(t->wire_bytes, view->tokens) + t->wire_bytes_per_key * view->keys;
}

void lcp_cost_layer(const lcp_cost *cost, int32_t layer_class, const lcp_chunk *chunk, lcp_layer_cost *out)
{
    assert(layer_class >= 0 && layer_class < cost->model->class_count);
    chunk_view view = view_chunk(cost, chunk, cost->layer_terms[layer_class].window_tokens);
    price_layer(cost, layer_class, &view, out);
}

void lcp_cost_layer_equal(const lcp_cost *cost, int32_t layer_class, int64_t sequences, int64_t length_tokens,
                          lcp_layer_cost *out)
{
    assert(layer_class >= 0 && layer_class < cost->model->class_count);
    chunk_view view = view_equal(cost, sequences, length_tokens, cost->layer_terms[layer_class].window_tokens);
    price_layer(cost, layer_class, &view, out);
}
