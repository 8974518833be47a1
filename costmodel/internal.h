/* What the files of the cost model share. Nothing here is part of the public interface. */
#ifndef LCP_COSTMODEL_INTERNAL_H
#define LCP_COSTMODEL_INTERNAL_H

#include "lcp/cost.h"

/* How a layout divides a chunk, as doubles for arithmetic. */
typedef struct lcp_sharding {
    const lcp_model *model;
    const lcp_layout *layout;
    const lcp_training *training;
    double element_bytes; /* of activations and weights */
    double tp, ulysses, ring, ep;
    double ranks;          /* tp * ulysses * ring: ranks that share the heads and inner widths of a chunk */
    double token_ranks;    /* ulysses * ring: ranks that share the rows of tensor-parallel products */
    double residual_ranks; /* the same times tp under sequence parallelism: residual stream, norms, routers */
    double expert_ranks;   /* ulysses * ring * tp: expert rows are never replicated over tp */
} lcp_sharding;

typedef enum lcp_shard {
    LCP_SHARD_REPLICATED, /* whole matrix on every rank, rows of the residual stream */
    LCP_SHARD_TENSOR,     /* divided over tp */
    LCP_SHARD_EXPERT,     /* copies divided over ep, rows routed */
    LCP_SHARD_COUNT
} lcp_shard;

typedef enum lcp_part {
    LCP_PART_MIXER_IN,  /* before the attention core */
    LCP_PART_MIXER_OUT, /* after it */
    LCP_PART_FFN_IN,    /* up to the activation function, router included */
    LCP_PART_FFN_OUT,
    LCP_PART_COUNT
} lcp_part;

/* rows x inner times inner x outer. */
typedef struct lcp_product {
    int64_t inner, outer;
    int64_t copies;        /* matrices of this shape: experts; else 1 */
    double rows_per_token; /* 1, or top_k for routed experts (imbalance apart) */
    double replication;    /* >= 1: key and value heads fewer than tp are held by several ranks */
    lcp_shard shard;
    lcp_part part;
} lcp_product;

/* Scalars of all copies, over all ranks once. */
double lcp_product_parameters(const lcp_product *product);
/* Scalars on one rank. */
double lcp_product_local_parameters(const lcp_product *product, const lcp_sharding *s);
/* Rows that a rank's kernel sees for each token of the chunk. */
double lcp_product_local_rows(const lcp_product *product, const lcp_sharding *s);

#define LCP_MAX_BLOCK_PRODUCTS 6

/* The sequence mixer of a layer under one sharding. Bytes and widths are per token and on one rank unless said. */
typedef struct lcp_mixer {
    int32_t product_count;
    lcp_product products[LCP_MAX_BLOCK_PRODUCTS];
    double gather_width;                /* elements a tp group gathers for each token on entry (whole width) */
    double pair_flops;                  /* of the core, forward, all heads of all ranks, per causal pair */
    double token_flops;                 /* the same per token: linear kinds */
    double core_bytes;                  /* memory traffic of the core per query token, forward */
    double core_key_bytes;              /* per key token */
    double pointwise_bytes;             /* rotary embedding, convolution, gates: traffic forward (backward equal) */
    double exchange_bytes;              /* Ulysses: buffer of all messages of one pass */
    double ring_bytes;                  /* per key token: what a ring passes on, this rank's share of all of it */
    double ring_key_flops;              /* per key token: expansion of latents that arrive, on one rank */
    double prefix_flops;                /* per prefix token: expansion of kept latents, on one rank */
    double ring_state_bytes;            /* per chunk: recurrent state handed along the ring */
    double kept_inside_bytes;           /* between norm output and core output: policies above MLP drop it */
    double kept_core_bytes;             /* core output and log-sum-exp */
    double kept_exchanged_bytes;        /* the output again by tokens, after Ulysses' exchange */
    double kv_bytes, kv_elements;       /* per token that later slices read */
    double state_bytes, state_elements; /* per segment with successors */
    bool kv_apart;
} lcp_mixer;

typedef struct lcp_attention_row {
    const char *name; /* as in lcplan.model/1 */
    void (*describe)(lcp_mixer *out, const lcp_attention *attention, const lcp_sharding *s);
} lcp_attention_row;
extern const lcp_attention_row lcp_attention_rows[LCP_ATTENTION_KIND_COUNT];

/* The feed-forward block of a layer under one sharding; bytes per token on one rank. */
typedef struct lcp_ffn_block {
    int32_t product_count;
    lcp_product products[LCP_MAX_BLOCK_PRODUCTS];
    bool tensor_parallel;         /* gathers and scatters over tp */
    double routed_bytes;          /* expert all-to-all: buffer of one message */
    double pointwise_bytes;       /* activation function, permutation: traffic forward */
    double pointwise_grad_bytes;  /* backward */
    double rebuilt_bytes;         /* traffic to rebuild the activation output */
    double kept_inside_bytes;     /* everything between norm output and block output */
    double kept_activation_bytes; /* the activation output, part of kept_inside_bytes */
    int32_t kernels;              /* element-wise launches */
} lcp_ffn_block;

typedef struct lcp_ffn_row {
    const char *name;
    void (*describe)(lcp_ffn_block *out, const lcp_ffn *ffn, const lcp_sharding *s);
} lcp_ffn_row;
extern const lcp_ffn_row lcp_ffn_rows[LCP_FFN_KIND_COUNT];

lcp_sharding lcp_sharding_of(const lcp_model *model, const lcp_layout *layout, const lcp_training *training);
void lcp_describe_mixer(lcp_mixer *out, const lcp_attention *attention, const lcp_sharding *s);
void lcp_describe_ffn(lcp_ffn_block *out, const lcp_ffn *ffn, const lcp_sharding *s);

/* Products of a layer (mixer, then ffn); at most LCP_MAX_PRODUCTS. */
int32_t lcp_layer_products(lcp_product *out, const lcp_layer_class *layer, const lcp_sharding *s);

/* Does the policy keep / rebuild: a table. */
typedef struct lcp_recompute_rule {
    bool keeps_norms, keeps_activation, keeps_ffn, keeps_mixer, keeps_core;
    bool rebuilds[LCP_PART_COUNT]; /* products run again */
    bool rebuilds_core;
} lcp_recompute_rule;
extern const lcp_recompute_rule lcp_recompute_rules[LCP_RECOMPUTE_COUNT];

/* Achieved rates of a device at a precision, in units of one second. */
typedef struct lcp_rates {
    double matmul_flops_per_second;
    double attention_forward_flops_per_second;
    double attention_backward_flops_per_second;
    double memory_bytes_per_second;
    double launch_seconds; /* one element-wise kernel */
} lcp_rates;
lcp_rates lcp_rates_of(const lcp_device *device, lcp_precision precision);
double lcp_element_bytes(lcp_precision precision);

lcp_product_terms lcp_product_terms_of(const lcp_product *product, const lcp_sharding *s, const lcp_device *device);
/* Seconds of element-wise work: bytes_per_token of traffic in `kernels` launches. */
lcp_line lcp_elementwise_line(const lcp_rates *rates, double bytes_per_token, double kernels);

static inline double lcp_line_at(lcp_line line, double tokens)
{
    return line.fixed + line.per_token * tokens;
}

static inline lcp_line lcp_line_sum(lcp_line a, lcp_line b)
{
    return (lcp_line){a.fixed + b.fixed, a.per_token + b.per_token};
}

static inline lcp_line lcp_line_times(lcp_line a, double factor)
{
    return (lcp_line){a.fixed * factor, a.per_token * factor};
}

static inline lcp_line lcp_line_steeper(lcp_line a, lcp_line b)
{
    return a.per_token >= b.per_token ? a : b;
}

/* Seconds of a collective whose buffer grows with the tokens of the chunk. */
lcp_line lcp_collective_line(lcp_collective kind, double bytes_per_token, const lcp_group_placement *group);

/* Fills the placements of cost from its layout and cluster. */
void lcp_place_groups(lcp_cost *cost);

/* Scalars on one rank by the group that shares them. */
typedef struct lcp_local_parameters {
    double dense, expert;
} lcp_local_parameters;
lcp_local_parameters lcp_layer_local_parameters(const lcp_layer_class *layer, const lcp_sharding *s);
lcp_local_parameters lcp_embedding_local_parameters(const lcp_sharding *s);
lcp_local_parameters lcp_head_local_parameters(const lcp_sharding *s);

lcp_static_bytes lcp_static_bytes_of(const lcp_cost *cost, const lcp_local_parameters *parameters);
lcp_step_seconds lcp_step_seconds_of(const lcp_cost *cost, const lcp_local_parameters *parameters, double muon_flops);
/* Flops of Muon's orthogonalisation of the matrices on one rank, before division by the ranks that share the work. */
double lcp_muon_flops(const lcp_product *products, int32_t count, const lcp_sharding *s);
double lcp_layer_gather_seconds_of(const lcp_cost *cost, const lcp_local_parameters *parameters);
double lcp_layer_reduce_seconds_of(const lcp_cost *cost, const lcp_local_parameters *parameters);

void lcp_layer_terms_of(lcp_layer_terms *out, const lcp_cost *cost, int32_t layer_class, const lcp_sharding *s);
void lcp_embedding_terms_of(lcp_end_terms *out, const lcp_cost *cost, const lcp_sharding *s);
void lcp_head_terms_of(lcp_end_terms *out, const lcp_cost *cost, const lcp_sharding *s);

/* Bytes of a double count, rounded up. */
int64_t lcp_bytes_up(double bytes);

#endif
