/* A model as the planner sees it: an embedding, a sequence of layers drawn from a few layer classes, a head.
 *
 * Matrix parameters follow from the dimensions below; everything that is not a matrix product (biases, norms, sinks,
 * convolutions, decay vectors) is counted in an `..._extra_parameters` field so that totals are exact. */
#ifndef LCP_MODEL_H
#define LCP_MODEL_H

#include "lcp/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum lcp_attention_kind {
    LCP_ATTENTION_NONE,        /* no mixer: the layer is its ffn alone */
    LCP_ATTENTION_GROUPED,     /* multi-head, grouped-query, multi-query: softmax attention, causal */
    LCP_ATTENTION_LATENT,      /* multi-head latent attention (DeepSeek) */
    LCP_ATTENTION_STATE_SPACE, /* Mamba-2: cost linear in tokens, no KV */
    LCP_ATTENTION_LINEAR,      /* gated delta net: cost linear in tokens, no KV */
    LCP_ATTENTION_KIND_COUNT
} lcp_attention_kind;

typedef enum lcp_ffn_kind {
    LCP_FFN_NONE,
    LCP_FFN_PLAIN, /* two matrices: hidden x size, size x hidden */
    LCP_FFN_GATED, /* three matrices */
    LCP_FFN_MOE,   /* router + experts of three (gated) or two matrices, plus shared experts */
    LCP_FFN_KIND_COUNT
} lcp_ffn_kind;

/* Fields that a kind does not use are 0. Ranges: every count in [1, 2^31), window 0 = sees everything. */
typedef struct lcp_attention {
    lcp_attention_kind kind;
    int64_t heads;            /* query heads; state_space: heads; linear: value heads */
    int64_t kv_heads;         /* grouped: key/value heads; linear: key heads; latent: equals heads */
    int64_t head_dim;         /* grouped: width of q, k; state_space: head width; linear: key head width */
    int64_t v_head_dim;       /* width of v: grouped equals head_dim; latent and linear: own */
    int64_t window_tokens;    /* sliding window: a query sees at most this many tokens, itself included; 0 = all */
    int64_t q_rank;           /* latent: rank of the query down-projection, 0 = queries projected directly */
    int64_t kv_rank;          /* latent: rank of the key/value down-projection */
    int64_t nope_head_dim;    /* latent: q/k width without position */
    int64_t rope_head_dim;    /* latent: q/k width with position, shared by the heads in k */
    int64_t state_size;       /* state_space: state per head channel */
    int64_t groups;           /* state_space: groups of B and C */
    int64_t conv_width;       /* state_space, linear: taps of the short convolution */
    bool output_gate;         /* grouped: a gate of the width of q multiplies the output (q projection doubled) */
    int64_t extra_parameters; /* biases, q/k norms, sinks, convolutions, decays */
} lcp_attention;

typedef struct lcp_ffn {
    lcp_ffn_kind kind;
    int64_t size;                    /* intermediate width (of one expert for moe) */
    bool gated_experts;              /* moe: experts of three matrices (true) or two */
    int64_t experts;                 /* moe: routed experts */
    int64_t top_k;                   /* moe: experts per token */
    int64_t shared_experts;          /* moe: always-on experts; 0 = none */
    int64_t shared_size;             /* moe: width of one shared expert */
    int64_t extra_parameters;        /* biases, router correction, shared-expert gate; sits outside the experts */
    int64_t expert_extra_parameters; /* per routed expert (biases) */
} lcp_ffn;

/* Seconds and bytes measured per token by the user; a negative value means "not given, use the analytic value". */
typedef struct lcp_measured_layer {
    double forward_seconds;     /* per token */
    double input_grad_seconds;  /* per token */
    double weight_grad_seconds; /* per token */
    double activation_bytes;    /* per token, policy none */
} lcp_measured_layer;

typedef struct lcp_layer_class {
    lcp_attention attention;
    lcp_ffn ffn;
    int64_t norm_parameters; /* all norms of the layer */
    lcp_measured_layer measured;
} lcp_layer_class;

#define LCP_NAME_SIZE 128
#define LCP_MAX_LAYERS 1024
#define LCP_MAX_LAYER_CLASSES 64

typedef struct lcp_model {
    char name[LCP_NAME_SIZE];
    int64_t hidden_size;
    int64_t vocab_size;
    bool tied_embeddings;           /* head shares the embedding table; counted once in totals */
    int64_t position_parameters;    /* learned position table, 0 = none */
    int64_t final_extra_parameters; /* final norm, head bias, embedding norm or projections */
    int64_t max_position_tokens;    /* 0 = unknown; positions beyond it are legal only for relative positions */
    bool learned_positions;         /* sequences longer than max_position_tokens are illegal */
    bool attention_needs_all_keys;  /* sinks: ring context parallel is not possible */
    int32_t class_count;
    lcp_layer_class *classes; /* [class_count] */
    int32_t layer_count;
    int32_t *layer_class; /* [layer_count], index into classes */
    int32_t mtp_count;    /* multi-token-prediction modules after the last layer; outside every total */
    int32_t mtp_class;    /* layer class of such a module; -1 if mtp_count is 0 */
} lcp_model;

void lcp_model_dispose(lcp_model *model);

/* Parameters by part. Sizes are counts of scalars. */
typedef struct lcp_parameter_count {
    int64_t embedding; /* token table */
    int64_t positions;
    int64_t attention; /* mixers of all kinds, extras included */
    int64_t dense_ffn;
    int64_t router; /* with shared-expert gates and corrections */
    int64_t shared_experts;
    int64_t routed_experts;
    int64_t norms; /* layer norms and final extras */
    int64_t head;  /* 0 when tied */
    int64_t total;
    int64_t active; /* touched by one token: routed experts at top_k/experts; the token table counted in full */
    int64_t mtp;    /* all mtp modules: layer + 2h x h projection + 3 norms; not in total */
} lcp_parameter_count;

/* Matrix and extra parameters of one layer of a class. routed_experts is for all experts. Pure. */
typedef struct lcp_layer_parameters {
    int64_t attention;
    int64_t dense_ffn;
    int64_t router;
    int64_t shared_experts;
    int64_t routed_experts;
    int64_t norms;
} lcp_layer_parameters;

lcp_layer_parameters lcp_layer_class_parameters(const lcp_model *model, int32_t layer_class);
lcp_parameter_count lcp_model_parameters(const lcp_model *model);

#endif
