/* Sums over all layers: what a sequence costs at least, what a segment and a chunk cost about, model FLOPs.
 *
 * Every kernel is the larger of two affine functions with non-negative parts, so either alone bounds it from below; the
 * prepared `linear` terms took the steeper one of each. A bound that is linear in tokens, pairs and reach stays valid
 * however sequences share chunks. */
#include "internal.h"

#include <math.h>

double lcp_cost_pass_overhead_seconds(const lcp_cost *cost)
{
    return cost->device->pass_overhead_seconds;
}

/* Pairs of one segment in both passes, where they are not measured. */
static double pair_seconds(const lcp_layer_terms *t, double pairs, double length)
{
    double reach = pairs / length;
    const lcp_core_terms *forward = &t->core_forward;
    const lcp_core_terms *backward = &t->core_backward;
    double seconds = 0;
    if (t->measured_forward < 0) {
        seconds += forward->seconds_per_pair * (pairs + forward->half_rows * reach);
    }
    if (t->measured_input_grad < 0) {
        seconds += backward->seconds_per_pair * (pairs + backward->half_rows * reach);
    }
    return seconds;
}

static double layers_of(const lcp_cost *cost, int32_t c)
{
    double modules = c == cost->model->mtp_class ? (double)cost->model->mtp_count : 0;
    return cost->layer_terms[c].layers + modules;
}

static double end_slope(const lcp_cost *cost)
{
    return cost->embedding_terms.linear.per_token + cost->head_terms.linear.per_token;
}

double lcp_cost_sequence_lower_bound_seconds(const lcp_cost *cost, int64_t length_tokens)
{
    double length = (double)length_tokens;
    double seconds = end_slope(cost) * length;
    for (int32_t c = 0; c < cost->model->class_count; c++) {
        const lcp_layer_terms *t = &cost->layer_terms[c];
        double pairs = lcp_causal_pairs(0, length_tokens, t->window_tokens);
        /* Slices see at least the reach of the whole: their reaches sum to more than their weighted mean. */
        seconds += layers_of(cost, c) * (t->linear.per_token * length + pair_seconds(t, pairs, length));
    }
    return seconds;
}

/* Ring traffic of one segment that its own attention does not hide, and prefixes expanded again. */
static double prefix_seconds(const lcp_layer_terms *t, int64_t offset_tokens, double length, double pairs)
{
    int64_t window = t->window_tokens;
    double seen = (double)(window > 0 && window < offset_tokens ? window : offset_tokens);
    const lcp_core_terms *cores[] = {&t->core_forward, &t->core_backward};
    const lcp_line rings[] = {t->ring_forward, t->ring_backward};
    double seconds = 0;
    for (int32_t i = 0; i < 2; i++) {
        double expansion = cores[i]->seconds_per_prefix * (double)offset_tokens + cores[i]->seconds_per_key * seen;
        double rows = cores[i]->half_rows + cores[i]->fill_rows;
        double core = cores[i]->seconds_per_pair * (pairs + rows * pairs / length) + expansion;
        double wire = rings[i].per_token * (seen + length);
        seconds += expansion + fmax(0, wire - t->ring_hidden_ratio * core);
        seconds += cores[i]->seconds_per_pair * cores[i]->fill_rows * pairs / length;
    }
    return seconds;
}

double lcp_cost_segment_seconds(const lcp_cost *cost, int64_t offset_tokens, int64_t length_tokens)
{
    double length = (double)length_tokens;
    double seconds = end_slope(cost) * length;
    for (int32_t c = 0; c < cost->model->class_count; c++) {
        const lcp_layer_terms *t = &cost->layer_terms[c];
        double pairs = lcp_causal_pairs(offset_tokens, length_tokens, t->window_tokens);
        double layer = t->linear.per_token * length + pair_seconds(t, pairs, length);
        seconds += layers_of(cost, c) * (layer + prefix_seconds(t, offset_tokens, length, pairs));
    }
    return seconds;
}

double lcp_cost_chunk_fixed_seconds(const lcp_cost *cost)
{
    double stages = (double)cost->layout.pp * cost->layout.vpp;
    double seconds = 2 * stages * lcp_cost_pass_overhead_seconds(cost);
    seconds += cost->embedding_terms.linear.fixed + cost->head_terms.linear.fixed;
    for (int32_t c = 0; c < cost->model->class_count; c++) {
        seconds += layers_of(cost, c) * cost->layer_terms[c].linear.fixed;
    }
    return seconds;
}

/* Forward flops of all layers of a class, mtp modules included. */
static double class_flops(const lcp_model *model, int32_t c, int64_t length_tokens, const lcp_sharding *s)
{
    const lcp_layer_class *layer = &model->classes[c];
    lcp_product products[LCP_MAX_PRODUCTS];
    lcp_mixer mixer;
    int32_t count = lcp_layer_products(products, layer, s);
    lcp_describe_mixer(&mixer, &layer->attention, s);
    double per_token = mixer.token_flops;
    for (int32_t i = 0; i < count; i++) {
        per_token += 2 * (double)products[i].inner * (double)products[i].outer * products[i].rows_per_token;
    }
    double layers = c == model->mtp_class ? (double)model->mtp_count : 0;
    for (int32_t l = 0; l < model->layer_count; l++) {
        layers += model->layer_class[l] == c ? 1 : 0;
    }
    double pairs = lcp_causal_pairs(0, length_tokens, layer->attention.window_tokens);
    return layers * (per_token * (double)length_tokens + mixer.pair_flops * pairs);
}

double lcp_cost_sequence_flops(const lcp_model *model, int64_t length_tokens)
{
    const lcp_layout one = {.dp = 1, .pp = 1, .vpp = 1, .tp = 1, .ulysses = 1, .ring = 1, .ep = 1};
    lcp_training training = lcp_training_default();
    lcp_sharding s = lcp_sharding_of(model, &one, &training);
    double hidden = (double)model->hidden_size;
    double modules = model->mtp_count;
    double head = 2 * hidden * (double)model->vocab_size * (1 + modules);
    double flops = (head + 4 * hidden * hidden * modules) * (double)length_tokens;
    for (int32_t c = 0; c < model->class_count; c++) {
        flops += class_flops(model, c, length_tokens, &s);
    }
    return 3 * flops;
}
