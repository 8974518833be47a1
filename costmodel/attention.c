/* Sequence mixers: one function and one row each. Sources in docs/cost-model.md, "Attention kinds". */
#include "internal.h"

#include <assert.h>
#include <math.h>

#define LOG_SUM_EXP_BYTES 4.0
#define STATE_BYTES 4.0
#define SCAN_CHUNK_TOKENS 64.0

static void add(lcp_mixer *out, lcp_shard shard, lcp_part part, int64_t inner, int64_t outer)
{
    assert(out->product_count < LCP_MAX_BLOCK_PRODUCTS);
    out->products[out->product_count++] = (lcp_product){.inner = inner,
                                                        .outer = outer,
                                                        .copies = 1,
                                                        .rows_per_token = 1,
                                                        .replication = 1,
                                                        .shard = shard,
                                                        .part = part};
}

/* Softmax attention once queries, keys and values exist: heads on tp * ulysses ranks, tokens on the ring. */
typedef struct softmax_shape {
    double heads, kv_heads, query_width, value_width;
} softmax_shape;

static void describe_softmax(lcp_mixer *out, const softmax_shape *a, const lcp_sharding *s)
{
    double head_ranks = s->tp * s->ulysses;
    double kv_heads = fmax(a->kv_heads, head_ranks) / s->ranks;
    double heads = a->heads / s->ranks;
    double kv_width = a->query_width + a->value_width;
    double e = s->element_bytes;
    out->pair_flops = 2 * a->heads * kv_width;
    out->core_bytes = e * heads * kv_width;
    out->core_key_bytes = e * kv_heads * kv_width;
    out->exchange_bytes = e * (heads + kv_heads) * kv_width;
    out->ring_bytes = e * kv_heads * kv_width;
    out->kv_elements = kv_heads * kv_width;
    out->kv_bytes = e * out->kv_elements;
    out->kept_inside_bytes = e * (heads * a->query_width + kv_heads * kv_width);
    /* Under Ulysses the core keeps its output by heads and the next product keeps it by tokens. */
    out->kept_core_bytes = e * heads * a->value_width + LOG_SUM_EXP_BYTES * heads;
    out->kept_exchanged_bytes = s->ulysses > 1 ? e * heads * a->value_width : 0;
}

static void describe_grouped(lcp_mixer *out, const lcp_attention *a, const lcp_sharding *s)
{
    int64_t hidden = s->model->hidden_size;
    int64_t query = a->heads * a->head_dim;
    int64_t gate = a->output_gate ? query : 0;
    add(out, LCP_SHARD_TENSOR, LCP_PART_MIXER_IN, hidden, query + gate);
    add(out, LCP_SHARD_TENSOR, LCP_PART_MIXER_IN, hidden, a->kv_heads * (a->head_dim + a->v_head_dim));
    out->products[1].replication = fmax(1, s->tp / (double)a->kv_heads);
    add(out, LCP_SHARD_TENSOR, LCP_PART_MIXER_OUT, a->heads * a->v_head_dim, hidden);
    softmax_shape shape = {(double)a->heads, (double)a->kv_heads, (double)a->head_dim, (double)a->v_head_dim};
    describe_softmax(out, &shape, s);
    out->gather_width = (double)hidden;
    double e = s->element_bytes;
    double gates = (double)gate / s->ranks;
    double rotated = (double)((a->heads + a->kv_heads) * a->head_dim) / s->ranks;
    out->pointwise_bytes = e * (2 * rotated + 3 * gates);
    out->kept_inside_bytes += e * gates;
}

static void latent_products(lcp_mixer *out, const lcp_attention *a, int64_t hidden)
{
    int64_t query = a->heads * (a->nope_head_dim + a->rope_head_dim);
    if (a->q_rank > 0) {
        add(out, LCP_SHARD_REPLICATED, LCP_PART_MIXER_IN, hidden, a->q_rank);
        add(out, LCP_SHARD_TENSOR, LCP_PART_MIXER_IN, a->q_rank, query);
    } else {
        add(out, LCP_SHARD_TENSOR, LCP_PART_MIXER_IN, hidden, query);
    }
    add(out, LCP_SHARD_REPLICATED, LCP_PART_MIXER_IN, hidden, a->kv_rank + a->rope_head_dim);
    add(out, LCP_SHARD_TENSOR, LCP_PART_MIXER_IN, a->kv_rank, a->heads * (a->nope_head_dim + a->v_head_dim));
    add(out, LCP_SHARD_TENSOR, LCP_PART_MIXER_OUT, a->heads * a->v_head_dim, hidden);
}

static void describe_latent(lcp_mixer *out, const lcp_attention *a, const lcp_sharding *s)
{
    latent_products(out, a, s->model->hidden_size);
    double heads = (double)a->heads;
    softmax_shape shape = {heads, heads, (double)(a->nope_head_dim + a->rope_head_dim), (double)a->v_head_dim};
    describe_softmax(out, &shape, s);
    double e = s->element_bytes;
    double latent = (double)(a->kv_rank + a->rope_head_dim);
    double query_latent = (double)a->q_rank;
    double expansion = 2 * (double)a->kv_rank * heads * (double)(a->nope_head_dim + a->v_head_dim) / s->ranks;
    out->gather_width = latent + (a->q_rank > 0 ? query_latent : (double)s->model->hidden_size);
    out->pointwise_bytes = e * 4 * heads * (double)a->rope_head_dim / s->ranks;
    out->kept_inside_bytes += e * (latent + query_latent) / s->residual_ranks;
    if (latent / s->ring * e < out->ring_bytes) {
        out->ring_bytes = e * latent / s->ring;
        out->ring_key_flops = s->ring > 1 ? expansion * (s->ring - 1) : 0;
    }
    if (!s->training->mla_keeps_expanded_kv) {
        /* Every tp and Ulysses rank expands its own heads from the whole latent of the prefix. */
        out->kv_apart = true;
        out->kv_elements = latent / s->ring;
        out->kv_bytes = e * out->kv_elements;
        out->prefix_flops = expansion;
    }
}

/* What a recurrent mixer has in common: inner widths on all ranks, a state per head, a short convolution. */
typedef struct recurrent_shape {
    double projected;   /* width of the input projection */
    double convolved;   /* of it, width that goes through the convolution */
    double inner;       /* width of the core's output */
    double state;       /* elements of the state, all heads */
    double state_ranks; /* tp * ulysses */
} recurrent_shape;

static void describe_recurrent(lcp_mixer *out, const recurrent_shape *a, const lcp_sharding *s)
{
    double e = s->element_bytes;
    double ranks = s->ranks;
    out->gather_width = (double)s->model->hidden_size;
    out->core_bytes = e * (a->convolved + a->inner) / ranks;
    out->pointwise_bytes = e * (2 * a->convolved + 3 * a->inner) / ranks;
    out->exchange_bytes = e * (a->projected + a->inner) / ranks;
    out->state_elements = a->state / a->state_ranks;
    out->state_bytes = STATE_BYTES * out->state_elements;
    out->ring_state_bytes = out->state_bytes;
    /* The output before and after the gated norm. */
    out->kept_inside_bytes = e * (a->projected + a->convolved + a->inner) / ranks;
    out->kept_core_bytes = e * a->inner / ranks;
    out->kv_apart = true;
}

static void describe_state_space(lcp_mixer *out, const lcp_attention *a, const lcp_sharding *s)
{
    int64_t inner = a->heads * a->head_dim;
    int64_t convolved = inner + 2 * a->groups * a->state_size;
    add(out, LCP_SHARD_TENSOR, LCP_PART_MIXER_IN, s->model->hidden_size, inner + convolved + a->heads);
    add(out, LCP_SHARD_TENSOR, LCP_PART_MIXER_OUT, inner, s->model->hidden_size);
    recurrent_shape shape = {
        .projected = (double)(inner + convolved + a->heads),
        .convolved = (double)convolved,
        .inner = (double)inner,
        .state = (double)(inner * a->state_size),
        .state_ranks = s->tp * s->ulysses,
    };
    describe_recurrent(out, &shape, s);
    out->token_flops = 7 * (double)inner * (double)a->state_size;
}

static void describe_linear(lcp_mixer *out, const lcp_attention *a, const lcp_sharding *s)
{
    int64_t keys = a->kv_heads * a->head_dim;
    int64_t values = a->heads * a->v_head_dim;
    int64_t projected = 2 * keys + 2 * values + 2 * a->heads;
    add(out, LCP_SHARD_TENSOR, LCP_PART_MIXER_IN, s->model->hidden_size, projected);
    add(out, LCP_SHARD_TENSOR, LCP_PART_MIXER_OUT, values, s->model->hidden_size);
    double key_width = (double)a->head_dim;
    double value_width = (double)a->v_head_dim;
    recurrent_shape shape = {
        .projected = (double)projected,
        .convolved = (double)(2 * keys + values),
        .inner = (double)values,
        .state = (double)a->heads * key_width * value_width,
        .state_ranks = s->tp * s->ulysses,
    };
    describe_recurrent(out, &shape, s);
    double in_chunk = SCAN_CHUNK_TOKENS * 2 * (key_width + value_width);
    out->token_flops = (double)a->heads * (6 * key_width * value_width + in_chunk);
}

static void describe_none(lcp_mixer *out, const lcp_attention *a, const lcp_sharding *s)
{
    (void)out;
    (void)a;
    (void)s;
}

const lcp_attention_row lcp_attention_rows[LCP_ATTENTION_KIND_COUNT] = {
    [LCP_ATTENTION_NONE] = {"none", describe_none},
    [LCP_ATTENTION_GROUPED] = {"grouped", describe_grouped},
    [LCP_ATTENTION_LATENT] = {"latent", describe_latent},
    [LCP_ATTENTION_STATE_SPACE] = {"state_space", describe_state_space},
    [LCP_ATTENTION_LINEAR] = {"linear", describe_linear},
};

void lcp_describe_mixer(lcp_mixer *out, const lcp_attention *attention, const lcp_sharding *s)
{
    *out = (lcp_mixer){0};
    lcp_attention_rows[attention->kind].describe(out, attention, s);
}

double lcp_causal_pairs(int64_t offset_tokens, int64_t length_tokens, int64_t window_tokens)
{
    double offset = (double)offset_tokens;
    double length = (double)length_tokens;
    if (window_tokens <= 0) {
        return length * offset + length * (length + 1) / 2;
    }
    /* Queries before the window is full, then full windows. */
    double window = (double)window_tokens;
    double growing = fmin(fmax(window - offset, 0), length);
    return growing * offset + growing * (growing + 1) / 2 + (length - growing) * window;
}
