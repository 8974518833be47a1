/* Recompute by module: what each of a layer's modules keeps, and what running it again costs. */
#include "modules.h"

#include <math.h>

const lcp_module_row lcp_module_rows[LCP_MODULE_COUNT] = {
    [LCP_MODULE_CORE_ATTENTION] = {"core_attn", "the attention core: scores, softmax, dropout"},
    [LCP_MODULE_LAYERNORM] = {"layernorm", "the norms before each block"},
    [LCP_MODULE_ACTIVATION] = {"moe_act", "the activation function of the ffn or of the experts"},
    [LCP_MODULE_MLP] = {"mlp", "the whole ffn, experts and their exchange included"},
    [LCP_MODULE_MLA_UP] = {"mla_up_proj", "up-projections of latent attention"},
};

typedef struct module_view {
    const lcp_cost *cost;
    const lcp_layer_class *layer;
    const lcp_layer_terms *terms;
    lcp_sharding s;
    lcp_mixer mixer;
    lcp_ffn_block ffn;
    lcp_rates rates;
    double tokens, scores;
    double residual_bytes, blocks;
    double core_forward_seconds;
} module_view;

static double elementwise(const module_view *v, double bytes_per_token, double kernels)
{
    return lcp_line_at(lcp_elementwise_line(&v->rates, bytes_per_token, kernels), v->tokens);
}

/* Products of some parts, forward. */
static double products(const module_view *v, bool (*is_of)(const lcp_product *, const lcp_layer_class *))
{
    lcp_product list[LCP_MAX_PRODUCTS];
    int32_t count = lcp_layer_products(list, v->layer, &v->s);
    double seconds = 0;
    for (int32_t i = 0; i < count; i++) {
        const lcp_product_terms *t = &v->terms->products[i];
        bool mine = is_of(&list[i], v->layer);
        seconds += mine ? fmax(lcp_line_at(t->compute, v->tokens), lcp_line_at(t->memory, v->tokens)) : 0;
    }
    return seconds;
}

static bool of_ffn(const lcp_product *product, const lcp_layer_class *layer)
{
    (void)layer;
    return product->part == LCP_PART_FFN_IN || product->part == LCP_PART_FFN_OUT;
}

static bool up_projection(const lcp_product *product, const lcp_layer_class *layer)
{
    const lcp_attention *a = &layer->attention;
    return product->part == LCP_PART_MIXER_IN &&
           (product->inner == a->kv_rank || (a->q_rank > 0 && product->inner == a->q_rank));
}

static lcp_module_cost core_attention(const module_view *v)
{
    return (lcp_module_cost){.dropped_bytes = v->terms->score_bytes * v->scores, .seconds = v->core_forward_seconds};
}

static lcp_module_cost layernorm(const module_view *v)
{
    double width = v->blocks * v->residual_bytes;
    return (lcp_module_cost){.dropped_bytes = width * v->tokens, .seconds = elementwise(v, 2 * width, v->blocks)};
}

static lcp_module_cost activation(const module_view *v)
{
    return (lcp_module_cost){.dropped_bytes = v->ffn.kept_activation_bytes * v->tokens,
                             .seconds = elementwise(v, v->ffn.rebuilt_bytes, 1)};
}

static lcp_module_cost mlp(const module_view *v)
{
    double seconds = products(v, of_ffn) + elementwise(v, v->ffn.pointwise_bytes, v->ffn.kernels);
    double traffic = lcp_line_at(v->terms->traffic_forward.ep, v->tokens);
    traffic += lcp_line_at(v->terms->traffic_rebuilt[LCP_RECOMPUTE_MLP].tp, v->tokens);
    return (lcp_module_cost){.dropped_bytes = v->ffn.kept_inside_bytes * v->tokens, .seconds = seconds + traffic};
}

static lcp_module_cost mla_up(const module_view *v)
{
    const lcp_attention *a = &v->layer->attention;
    if (a->kind != LCP_ATTENTION_LATENT) {
        return (lcp_module_cost){0};
    }
    double width = (double)a->heads * (double)(2 * (a->nope_head_dim + a->rope_head_dim) + a->v_head_dim);
    return (lcp_module_cost){.dropped_bytes = v->s.element_bytes * width / v->s.ranks * v->tokens,
                             .seconds = products(v, up_projection)};
}

static lcp_module_cost (*const price[LCP_MODULE_COUNT])(const module_view *) = {
    [LCP_MODULE_CORE_ATTENTION] = core_attention,
    [LCP_MODULE_LAYERNORM] = layernorm,
    [LCP_MODULE_ACTIVATION] = activation,
    [LCP_MODULE_MLP] = mlp,
    [LCP_MODULE_MLA_UP] = mla_up,
};

lcp_module_cost lcp_cost_modules_equal(const lcp_cost *cost, int32_t layer_class, int64_t sequences,
                                       int64_t length_tokens, double core_forward_seconds, uint32_t modules)
{
    module_view v = {.cost = cost, .layer = &cost->model->classes[layer_class]};
    v.terms = &cost->layer_terms[layer_class];
    v.s = lcp_sharding_of(cost->model, &cost->layout, &cost->training);
    lcp_describe_mixer(&v.mixer, &v.layer->attention, &v.s);
    lcp_describe_ffn(&v.ffn, &v.layer->ffn, &v.s);
    v.rates = lcp_rates_of(cost->device, cost->training.precision);
    v.tokens = (double)lcp_cost_padded_tokens_equal(cost, sequences, length_tokens);
    v.scores = v.tokens * v.tokens / (double)sequences;
    v.residual_bytes = v.s.element_bytes * (double)cost->model->hidden_size / v.s.residual_ranks;
    v.blocks = (v.mixer.product_count > 0 ? 1 : 0) + (v.ffn.product_count > 0 ? 1 : 0);
    v.core_forward_seconds = core_forward_seconds;
    lcp_module_cost out = {0};
    for (uint32_t m = 0; m < LCP_MODULE_COUNT; m++) {
        bool inside = m == LCP_MODULE_ACTIVATION && (modules >> LCP_MODULE_MLP & 1U) != 0;
        if ((modules >> m & 1U) != 0 && !inside) {
            lcp_module_cost one = price[m](&v);
            out.dropped_bytes +=
                one.dropped_bytes * (m == LCP_MODULE_CORE_ATTENTION ? 1 : cost->device->activation_ratio);
            out.seconds += one.seconds;
        }
    }
    return out;
}
