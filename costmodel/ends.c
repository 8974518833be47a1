/* Embedding, and the head with its loss and multi-token-prediction modules. */
#include "internal.h"

#include <math.h>

/* Share of the logits that a chunked loss holds at a time. */
#define LOSS_PIECES 8.0
/* Element-wise traffic of the loss, bytes per logit: eager casts to fp32 and keeps a gradient of its own. */
#define EAGER_LOSS_BYTES 14.0
#define EAGER_LOSS_GRAD_BYTES 10.0
#define FUSED_LOSS_WIDTHS 2.0

typedef struct loss_row {
    double forward_bytes, backward_bytes; /* traffic per logit */
    double kept_bytes, working_bytes;     /* held per logit */
    double kept_hidden;                   /* times the hidden states: themselves, and their gradient */
} loss_row;

static loss_row loss_of(lcp_loss loss, double e, double pieces)
{
    const loss_row rows[] = {
        [LCP_LOSS_EAGER] = {EAGER_LOSS_BYTES, EAGER_LOSS_GRAD_BYTES, e + 4, 4, 1},
        [LCP_LOSS_FUSED] = {FUSED_LOSS_WIDTHS * e, FUSED_LOSS_WIDTHS * e, e, 0, 1},
        [LCP_LOSS_CHUNKED] = {FUSED_LOSS_WIDTHS * e, 0, 0, e / LOSS_PIECES, 2},
        [LCP_LOSS_PARALLEL] = {EAGER_LOSS_BYTES, EAGER_LOSS_GRAD_BYTES, e + 4, 0, 1},
        [LCP_LOSS_FUSED_LINEAR] = {FUSED_LOSS_WIDTHS * e, 0, 0, e / pieces, 2},
    };
    return rows[loss];
}

static lcp_line product_line(const lcp_product_terms *product)
{
    lcp_line both = lcp_line_times(lcp_line_steeper(product->compute, product->memory), 2);
    return lcp_line_sum(both, lcp_line_steeper(product->compute, product->weight_grad_memory));
}

static void set_linear(lcp_end_terms *out)
{
    lcp_line once = lcp_line_sum(out->elementwise_forward, out->elementwise_backward);
    once = lcp_line_sum(once, lcp_line_sum(out->tp_forward, out->tp_backward));
    if (out->product_count > 0) {
        once = lcp_line_sum(once, product_line(&out->product));
    }
    out->linear = lcp_line_times(once, out->repeats);
    if (out->projections > 0) {
        out->linear = lcp_line_sum(out->linear, lcp_line_times(product_line(&out->projection), out->projections));
    }
}

void lcp_embedding_terms_of(lcp_end_terms *out, const lcp_cost *cost, const lcp_sharding *s)
{
    *out = (lcp_end_terms){.repeats = 1};
    lcp_rates rates = lcp_rates_of(cost->device, cost->training.precision);
    double hidden = s->element_bytes * (double)s->model->hidden_size;
    /* Read a row, write a row; backward reads a row and adds it to the table's gradient. */
    double gradient = 2 * (double)cost->training.gradient_bytes * (double)s->model->hidden_size;
    out->elementwise_forward = lcp_elementwise_line(&rates, 2 * hidden / s->token_ranks, 1);
    out->elementwise_backward = lcp_elementwise_line(&rates, (hidden + gradient) / s->token_ranks, 1);
    bool scattered = cost->layout.sequence_parallel;
    double bytes = hidden / s->token_ranks;
    lcp_collective leave = scattered ? LCP_COLLECTIVE_REDUCE_SCATTER : LCP_COLLECTIVE_ALL_REDUCE;
    out->tp_forward = lcp_collective_line(leave, bytes, &cost->tp);
    out->tp_backward = lcp_collective_line(LCP_COLLECTIVE_ALL_GATHER, scattered ? bytes : 0, &cost->tp);
    out->working_bytes = hidden / s->residual_ranks;
    set_linear(out);
}

static void set_head_memory(lcp_end_terms *out, const loss_row *loss, const lcp_sharding *s, double seen)
{
    double vocabulary = (double)s->model->vocab_size / s->ranks;
    double hidden = s->element_bytes * (double)s->model->hidden_size / s->residual_ranks;
    double modules = (double)s->model->mtp_count;
    /* A module keeps its concatenated input and the projection's output besides its layer. */
    out->kept_bytes = (1 + modules) * (loss->kept_bytes * vocabulary + loss->kept_hidden * hidden);
    out->kept_bytes += modules * 3 * hidden;
    out->working_bytes = loss->working_bytes * vocabulary;
    out->kept_bytes *= seen;
    out->working_bytes *= seen;
}

void lcp_head_terms_of(lcp_end_terms *out, const lcp_cost *cost, const lcp_sharding *s)
{
    const lcp_model *model = s->model;
    *out = (lcp_end_terms){.product_count = 1, .projections = model->mtp_count, .repeats = 1 + model->mtp_count};
    lcp_product table = {model->hidden_size, model->vocab_size, 1, 1, 1, LCP_SHARD_TENSOR, LCP_PART_FFN_OUT};
    lcp_product projection = {2 * model->hidden_size, model->hidden_size, 1, 1, 1, LCP_SHARD_TENSOR, LCP_PART_FFN_OUT};
    out->product = lcp_product_terms_of(&table, s, cost->device);
    out->projection = lcp_product_terms_of(&projection, s, cost->device);
    lcp_rates rates = lcp_rates_of(cost->device, cost->training.precision);
    double hidden = s->element_bytes * (double)model->hidden_size;
    double vocabulary = (double)model->vocab_size / s->ranks;
    double pieces = fmax(1, (double)model->vocab_size / (double)model->hidden_size);
    loss_row loss = loss_of(cost->training.loss, s->element_bytes, pieces);
    double norm = 2 * hidden / s->residual_ranks;
    out->elementwise_forward = lcp_elementwise_line(&rates, norm + loss.forward_bytes * vocabulary, 3);
    out->elementwise_backward = lcp_elementwise_line(&rates, 1.5 * norm + loss.backward_bytes * vocabulary, 2);
    bool scattered = cost->layout.sequence_parallel;
    double bytes = hidden / s->token_ranks;
    lcp_collective leave = scattered ? LCP_COLLECTIVE_REDUCE_SCATTER : LCP_COLLECTIVE_ALL_REDUCE;
    out->tp_forward = lcp_collective_line(LCP_COLLECTIVE_ALL_GATHER, scattered ? bytes : 0, &cost->tp);
    out->tp_backward = lcp_collective_line(leave, bytes, &cost->tp);
    double projections = 2 * (double)model->hidden_size * (double)model->hidden_size * model->mtp_count;
    out->token_flops = 2 * (out->repeats * (double)model->hidden_size * (double)model->vocab_size + projections);
    set_head_memory(out, &loss, s, cost->device->activation_ratio);
    set_linear(out);
}

static double pass_seconds(const lcp_product_terms *product, double tokens)
{
    return fmax(lcp_line_at(product->compute, tokens), lcp_line_at(product->memory, tokens));
}

static double weight_seconds(const lcp_product_terms *product, double tokens)
{
    return fmax(lcp_line_at(product->compute, tokens), lcp_line_at(product->weight_grad_memory, tokens));
}

static void price_end(lcp_end_cost *out, const lcp_end_terms *t, double tokens, double real_tokens)
{
    double repeats = t->repeats;
    double products = 0;
    double weights = 0;
    if (t->product_count > 0) {
        products = repeats * pass_seconds(&t->product, tokens);
        weights = repeats * weight_seconds(&t->product, tokens);
    }
    if (t->projections > 0) {
        products += t->projections * pass_seconds(&t->projection, tokens);
        weights += t->projections * weight_seconds(&t->projection, tokens);
    }
    *out = (lcp_end_cost){
        .forward = {.compute = products + repeats * lcp_line_at(t->elementwise_forward, tokens),
                    .exposed_tp = repeats * lcp_line_at(t->tp_forward, tokens)},
        .input_grad = {.compute = products + repeats * lcp_line_at(t->elementwise_backward, tokens),
                       .exposed_tp = repeats * lcp_line_at(t->tp_backward, tokens)},
        .weight_grad = {.compute = weights},
        .kept_bytes = lcp_bytes_up(t->kept_bytes * tokens),
        .working_bytes = lcp_bytes_up(t->working_bytes * tokens),
        .forward_flops = t->token_flops * real_tokens,
    };
}

static double real_tokens(const lcp_chunk *chunk)
{
    double tokens = 0;
    for (int32_t i = 0; i < chunk->segment_count; i++) {
        tokens += (double)chunk->segments[i].length_tokens;
    }
    return tokens;
}

static void price_embedding(const lcp_cost *cost, double tokens, double real, lcp_end_cost *out)
{
    price_end(out, &cost->embedding_terms, tokens, real);
    /* Nothing flows further back than the table. */
    out->weight_grad = out->input_grad;
    out->input_grad = (lcp_seconds){0};
}

void lcp_cost_embedding(const lcp_cost *cost, const lcp_chunk *chunk, lcp_end_cost *out)
{
    price_embedding(cost, (double)lcp_cost_padded_tokens(cost, chunk), real_tokens(chunk), out);
}

void lcp_cost_embedding_equal(const lcp_cost *cost, int64_t sequences, int64_t length_tokens, lcp_end_cost *out)
{
    double tokens = (double)lcp_cost_padded_tokens_equal(cost, sequences, length_tokens);
    price_embedding(cost, tokens, (double)sequences * (double)length_tokens, out);
}

static void add_seconds(lcp_seconds *sum, const lcp_seconds *part, double times)
{
    sum->compute += times * part->compute;
    sum->exposed_tp += times * part->exposed_tp;
    sum->exposed_cp += times * part->exposed_cp;
    sum->exposed_ep += times * part->exposed_ep;
    sum->exposed_dp += times * part->exposed_dp;
}

/* Multi-token-prediction modules: a layer each. */
static void add_modules(const lcp_cost *cost, const lcp_layer_cost *layer, lcp_end_cost *out)
{
    int32_t modules = cost->model->mtp_count;
    add_seconds(&out->forward, &layer->forward, modules);
    add_seconds(&out->input_grad, &layer->input_grad, modules);
    add_seconds(&out->weight_grad, &layer->weight_grad, modules);
    out->kept_bytes += modules * layer->kept_bytes[LCP_RECOMPUTE_NONE];
    int64_t working = layer->working_none_bytes;
    out->working_bytes = out->working_bytes > working ? out->working_bytes : working;
    out->forward_flops += modules * layer->forward_flops;
}

void lcp_cost_head(const lcp_cost *cost, const lcp_chunk *chunk, lcp_end_cost *out)
{
    price_end(out, &cost->head_terms, (double)lcp_cost_padded_tokens(cost, chunk), real_tokens(chunk));
    if (cost->model->mtp_count > 0) {
        lcp_layer_cost layer;
        lcp_cost_layer(cost, cost->model->mtp_class, chunk, &layer);
        add_modules(cost, &layer, out);
    }
}

void lcp_cost_head_equal(const lcp_cost *cost, int64_t sequences, int64_t length_tokens, lcp_end_cost *out)
{
    double tokens = (double)lcp_cost_padded_tokens_equal(cost, sequences, length_tokens);
    price_end(out, &cost->head_terms, tokens, (double)sequences * (double)length_tokens);
    if (cost->model->mtp_count > 0) {
        lcp_layer_cost layer;
        lcp_cost_layer_equal(cost, cost->model->mtp_class, sequences, length_tokens, &layer);
        add_modules(cost, &layer, out);
    }
}
