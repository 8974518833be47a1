/* Bytes that stay: parameters, gradients and optimizer state by ZeRO stage; buffers. */
#include "internal.h"

#include <math.h>

int64_t lcp_bytes_up(double bytes)
{
    /* More than any machine has; several of them still add up in 64 bits. */
    const double most = 1e18;
    return (int64_t)ceil(fmin(bytes, most));
}

/* Bytes of optimizer state for each parameter. In 16 bits: fp32 master copy, and two moments (Adam) or one (momentum
 * of SGD and Muon). In fp32 the weights are their own master copy. */
static double optimizer_bytes(const lcp_training *training)
{
    static const double moments[] = {
        [LCP_OPTIMIZER_ADAM] = 8,
        [LCP_OPTIMIZER_SGD] = 4,
        [LCP_OPTIMIZER_MUON] = 4,
    };
    double master = training->precision == LCP_PRECISION_FP32 ? 0 : 4;
    return master + moments[training->optimizer];
}

static void add_state(lcp_static_bytes *out, const lcp_cost *cost, double parameters, int64_t replicas)
{
    int32_t zero = cost->layout.zero_stage;
    double shards = (double)replicas;
    double optimizer = optimizer_bytes(&cost->training) * parameters;
    double gradients = (double)cost->training.gradient_bytes * parameters;
    double weights = lcp_element_bytes(cost->training.precision) * parameters;
    out->optimizer += lcp_bytes_up(optimizer / (zero >= 1 ? shards : 1));
    out->gradients += lcp_bytes_up(gradients / (zero >= 2 ? shards : 1));
    out->parameters += lcp_bytes_up(weights / (zero >= 3 ? shards : 1));
}

lcp_static_bytes lcp_static_bytes_of(const lcp_cost *cost, const lcp_local_parameters *parameters)
{
    lcp_static_bytes out = {0};
    add_state(&out, cost, parameters->dense, cost->shard.ranks);
    add_state(&out, cost, parameters->expert, cost->expert_dp.ranks);
    return out;
}

lcp_local_parameters lcp_layer_local_parameters(const lcp_layer_class *layer, const lcp_sharding *s)
{
    lcp_product products[LCP_MAX_PRODUCTS];
    int32_t count = lcp_layer_products(products, layer, s);
    lcp_local_parameters out = {0};
    for (int32_t i = 0; i < count; i++) {
        double local = lcp_product_local_parameters(&products[i], s);
        *(products[i].shard == LCP_SHARD_EXPERT ? &out.expert : &out.dense) += local;
    }
    /* Norms, biases and the like are small; held whole on every tp rank. */
    out.dense += (double)(layer->norm_parameters + layer->attention.extra_parameters + layer->ffn.extra_parameters);
    out.expert += (double)(layer->ffn.expert_extra_parameters * layer->ffn.experts) / s->ep;
    return out;
}

lcp_local_parameters lcp_embedding_local_parameters(const lcp_sharding *s)
{
    const lcp_model *model = s->model;
    double table = (double)model->vocab_size * (double)model->hidden_size / s->tp;
    return (lcp_local_parameters){.dense = table + (double)model->position_parameters};
}

lcp_local_parameters lcp_head_local_parameters(const lcp_sharding *s)
{
    const lcp_model *model = s->model;
    double hidden = (double)model->hidden_size;
    lcp_local_parameters out = {.dense = (double)model->final_extra_parameters};
    /* A tied table is the embedding's own unless the head sits on another stage. */
    if (!model->tied_embeddings || s->layout->pp > 1) {
        out.dense += (double)model->vocab_size * hidden / s->tp;
    }
    if (model->mtp_count > 0) {
        lcp_local_parameters layer = lcp_layer_local_parameters(&model->classes[model->mtp_class], s);
        double modules = (double)model->mtp_count;
        out.dense += modules * (layer.dense + 2 * hidden * hidden / s->tp + 2 * hidden);
        out.expert += modules * layer.expert;
    }
    return out;
}

/* ZeRO 3 gathers the next layer while one computes; ZeRO 2 and 3 hold one layer's whole gradients before reducing. */
static double zero_buffer_bytes(const lcp_cost *cost)
{
    double weights = lcp_element_bytes(cost->training.precision);
    double gathered = 0;
    double gradients = 0;
    lcp_sharding s = lcp_sharding_of(cost->model, &cost->layout, &cost->training);
    for (int32_t c = 0; c < cost->model->class_count && cost->layout.zero_stage >= 2; c++) {
        lcp_local_parameters local = lcp_layer_local_parameters(&cost->model->classes[c], &s);
        gradients = fmax(gradients, (local.dense + local.expert) * (double)cost->training.gradient_bytes);
        gathered = fmax(gathered, (local.dense + local.expert) * weights);
    }
    return gradients + (cost->layout.zero_stage >= 3 ? 2 * gathered : 0);
}

/* Ring: the block received and the one computed on (gathered: all of them). Ulysses: one side of the exchange. */
static double context_buffer_bytes(const lcp_cost *cost, double chunk_tokens)
{
    lcp_sharding s = lcp_sharding_of(cost->model, &cost->layout, &cost->training);
    double largest = 0;
    for (int32_t c = 0; c < cost->model->class_count; c++) {
        lcp_mixer mixer;
        lcp_describe_mixer(&mixer, &cost->model->classes[c].attention, &s);
        double blocks = cost->layout.ring_method == LCP_RING_ALL_GATHER ? s.ring : 2;
        double bytes = s.ring > 1 ? blocks * mixer.ring_bytes : 0;
        bytes += s.ulysses > 1 ? mixer.exchange_bytes : 0;
        largest = fmax(largest, bytes);
    }
    return largest * chunk_tokens;
}

static double hop_bytes(const lcp_cost *cost, double chunk_tokens)
{
    lcp_sharding s = lcp_sharding_of(cost->model, &cost->layout, &cost->training);
    return s.element_bytes * (double)cost->model->hidden_size * chunk_tokens / s.residual_ranks;
}

int64_t lcp_cost_hop_bytes(const lcp_cost *cost, const lcp_chunk *chunk)
{
    return lcp_bytes_up(hop_bytes(cost, (double)lcp_cost_padded_tokens(cost, chunk)));
}

double lcp_cost_hop_seconds(const lcp_cost *cost, const lcp_chunk *chunk)
{
    return lcp_cost_hop_seconds_of_tokens(cost, lcp_cost_padded_tokens(cost, chunk));
}

double lcp_cost_hop_seconds_of_tokens(const lcp_cost *cost, int64_t padded_tokens)
{
    if (cost->layout.pp <= 1) {
        return 0;
    }
    double bytes = hop_bytes(cost, (double)padded_tokens);
    double gather = 0;
    /* Where every tensor-parallel rank holds the whole tensor, each sends its share and gathers the others' again. */
    if (!cost->layout.sequence_parallel && cost->layout.tp > 1) {
        gather = lcp_collective_seconds(LCP_COLLECTIVE_ALL_GATHER, bytes, &cost->tp);
        bytes /= cost->layout.tp;
    }
    double send = lcp_collective_seconds(LCP_COLLECTIVE_SEND_RECV, bytes, &cost->pp);
    return cost->device->hop_overhead_seconds + send + gather;
}

int64_t lcp_cost_buffer_bytes(const lcp_cost *cost, int64_t chunk_tokens)
{
    double tokens = (double)chunk_tokens;
    double boundaries = cost->layout.pp > 1 ? 4 * hop_bytes(cost, tokens) : 0;
    double bytes = zero_buffer_bytes(cost) + context_buffer_bytes(cost, tokens) + boundaries;
    return cost->device->fixed_memory_bytes + lcp_bytes_up(bytes);
}
