/* Affine coefficients of one layer class under one layout: what lcp_cost_prepare leaves for lcp_cost_layer.
 *
 * Everything is per rank. "Per token" means per token of the whole chunk (all ranks together), after padding; the
 * division by the ranks that share the chunk is already inside. */
#ifndef LCP_COST_TERMS_H
#define LCP_COST_TERMS_H

#include <stdbool.h>
#include <stdint.h>

/* What a layer keeps of a chunk between its forward and its backward pass. */
typedef enum lcp_recompute {
    LCP_RECOMPUTE_NONE,             /* keep everything the backward pass reads */
    LCP_RECOMPUTE_ACTIVATION,       /* drop norm outputs and the ffn activation output; rebuilt element-wise */
    LCP_RECOMPUTE_MLP,              /* drop the whole inside of the ffn; rebuilt with its first products */
    LCP_RECOMPUTE_ATTENTION_OUTPUT, /* keep layer input, attention-core output and log-sum-exp; rebuild the rest */
    LCP_RECOMPUTE_FULL,             /* keep the layer input only (and K, V of sliced segments with successors) */
    LCP_RECOMPUTE_COUNT
} lcp_recompute;

typedef struct lcp_line {
    double fixed;
    double per_token;
} lcp_line;

/* One matrix product of one pass: seconds = the larger of the lines. */
typedef struct lcp_product_terms {
    lcp_line compute;            /* forward, input gradient and weight gradient alike */
    lcp_line memory;             /* forward and input gradient */
    lcp_line weight_grad_memory; /* reads both operands, accumulates the gradient */
    uint32_t rebuilt;            /* bit p: policy p runs it again */
} lcp_product_terms;

/* Attention core (or scan) of a chunk in one pass: the larger of compute and memory. */
typedef struct lcp_core_terms {
    double fixed_seconds;    /* launches */
    double seconds_per_pair; /* causal pair, half_rows apart */
    double fill_rows;        /* a chunk of T tokens costs pairs * fill_rows / T more: too few rows to fill the device */
    double half_rows;        /* of a segment: a segment of n queries costs pairs * (1 + half_rows / n) */
    double seconds_per_token;  /* linear kinds */
    double seconds_per_prefix; /* keys and values expanded again for every token of the prefix */
    double seconds_per_key;    /* expansion of keys and values that arrive as latents */
    double memory_per_token;   /* seconds of memory traffic */
    double memory_per_key;
    double seconds_per_score; /* unfused attention: for every query of every key of a segment and its prefix */
} lcp_core_terms;

typedef struct lcp_traffic_terms {
    lcp_line tp, cp, ep; /* exposed seconds; cp: all-to-all and states, without the ring */
} lcp_traffic_terms;

#define LCP_MAX_PRODUCTS 12

typedef struct lcp_layer_terms {
    int32_t layers; /* of the model that are of this class (mtp modules apart) */
    int32_t product_count;
    lcp_product_terms products[LCP_MAX_PRODUCTS];
    int64_t window_tokens;
    lcp_core_terms core_forward, core_backward;
    lcp_line elementwise_forward, elementwise_input_grad;
    lcp_line elementwise_rebuilt[LCP_RECOMPUTE_COUNT];
    lcp_traffic_terms traffic_forward, traffic_input_grad;
    lcp_traffic_terms traffic_rebuilt[LCP_RECOMPUTE_COUNT]; /* FULL: traffic_forward */
    lcp_line ring_forward, ring_backward;                   /* per key token: prefix within the window, and slice */
    double ring_hidden_ratio; /* share of the core that runs beside it: (ring - 1) / ring, 0 if gathered */
    double kept_bytes[LCP_RECOMPUTE_COUNT]; /* per token */
    double kv_bytes, kv_grad_bytes;         /* per token of a segment with successors, within the window */
    double state_bytes, state_grad_bytes;   /* per segment with successors: recurrent state handed on */
    double score_bytes;                     /* kept per query and key by unfused attention */
    bool kv_apart;                          /* K, V of successors are a copy of their own under every policy */
    double gradient_bytes;                  /* per token: gradients alive inside a backward pass */
    double pair_flops, token_flops;         /* forward, all ranks together, per causal pair and per token */
    lcp_line wire_bytes;                    /* sent, forward + backward, without the ring; fixed: ZeRO */
    double wire_bytes_per_key;
    double measured_forward, measured_input_grad, measured_weight_grad; /* seconds per token; < 0: not given */
    /* The same as one sum of linear terms; forward + backward. Each is a lower bound. */
    lcp_line linear;
} lcp_layer_terms;

/* Embedding or head, forward and backward. */
typedef struct lcp_end_terms {
    int32_t product_count; /* 0 or 1 */
    lcp_product_terms product;
    int32_t projections; /* products of mtp modules, all alike */
    lcp_product_terms projection;
    int32_t repeats; /* times product, element-wise work and traffic run: 1 + mtp modules */
    lcp_line elementwise_forward, elementwise_backward;
    lcp_line tp_forward, tp_backward; /* exposed seconds */
    double kept_bytes, working_bytes; /* per token */
    double token_flops;
    lcp_line linear;
} lcp_end_terms;

#endif
