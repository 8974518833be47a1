/* The cost model: seconds and bytes of one layer (or embedding, head) for one chunk on one rank.
 *
 * Pure functions of their arguments; no allocation, no I/O. A prepared lcp_cost holds everything that does not depend
 * on the chunk. docs/cost-model.md derives every term with its source. */
#ifndef LCP_COST_H
#define LCP_COST_H

#include "lcp/cluster.h"
#include "lcp/cost_terms.h"

/* A run of tokens of one sequence: attends to itself (causally) and to the offset_tokens tokens before it. */
typedef struct lcp_segment {
    int64_t sequence;      /* sequence number of the workload */
    int64_t offset_tokens; /* 0 for a whole sequence or a first slice */
    int64_t length_tokens; /* >= 1 */
    bool has_successor;    /* later slices of the sequence will attend to this one */
} lcp_segment;

/* The unit that flows through the pipeline (a microbatch of one data-parallel rank). A segment is sliced if
 * offset_tokens > 0 or has_successor. At most one segment of a chunk has offset_tokens > 0. */
typedef struct lcp_chunk {
    int32_t dp; /* data-parallel rank that runs it */
    int32_t segment_count;
    const lcp_segment *segments; /* [segment_count] */
} lcp_chunk;

typedef enum lcp_ring_method {
    LCP_RING_P2P,        /* one ring over all ranks, step by step beside the attention it feeds */
    LCP_RING_ALL_GATHER, /* keys and values of all ranks first */
    LCP_RING_DOUBLE      /* rings inside nodes, and between them through every rank's own port */
} lcp_ring_method;

/* Degrees; devices = dp * pp * tp * ulysses * ring. cp = ulysses * ring. Rank order tp, ulysses, ring, dp, pp
 * (innermost first); ep groups are ep consecutive ranks of one stage, so ep divides tp * cp * dp. */
typedef struct lcp_layout {
    int32_t dp, pp, vpp, tp, ulysses, ring, ep;
    int32_t zero_stage;     /* 0..3; shards over dp * cp (experts: over tp * cp * dp / ep) */
    int32_t shard_ranks;    /* ZeRO shards over so many of those ranks and replicates over the rest; 0 = over all */
    bool sequence_parallel; /* Megatron: norms and residual stream sharded over tp too; true whenever tp > 1 */
    lcp_ring_method ring_method;
} lcp_layout;

typedef enum lcp_precision {
    LCP_PRECISION_BF16,
    LCP_PRECISION_FP16,
    LCP_PRECISION_FP32,
    LCP_PRECISION_FP8,
    LCP_PRECISION_FP4
} lcp_precision;
typedef enum lcp_loss {
    LCP_LOSS_EAGER,       /* 16-bit logits, a 32-bit copy and a 32-bit gradient */
    LCP_LOSS_FUSED,       /* 16-bit logits, overwritten by their gradient */
    LCP_LOSS_CHUNKED,     /* an eighth of the logits at a time, gradient of the hidden states made in F */
    LCP_LOSS_PARALLEL,    /* Megatron-LM's vocabulary-parallel loss: 16-bit logits and a 32-bit softmax */
    LCP_LOSS_FUSED_LINEAR /* head and loss in one kernel: as many logits at a time as hidden states */
} lcp_loss;
typedef enum lcp_attention_core {
    LCP_ATTENTION_CORE_FLASH,  /* one kernel, scores never in memory, masked blocks skipped */
    LCP_ATTENTION_CORE_UNFUSED /* products, softmax and dropout apart; every score computed and kept */
} lcp_attention_core;
typedef enum lcp_optimizer { LCP_OPTIMIZER_ADAM, LCP_OPTIMIZER_SGD, LCP_OPTIMIZER_MUON } lcp_optimizer;

/* How the trainer computes. lcp_training_default() gives mixed-precision Adam. */
typedef struct lcp_training {
    lcp_precision precision;
    lcp_optimizer optimizer;
    lcp_loss loss;                /* default fused */
    int32_t gradient_bytes;       /* per parameter, 2 or 4; default 4 (fp32 accumulation) */
    int32_t kv_gradient_bytes;    /* per element of the KV-gradient accumulators of sliced sequences; default 4 */
    double expert_imbalance;      /* hottest expert rank / mean, >= 1; default 1.05 */
    double dp_overlap_ratio;      /* share of gradient reduction and parameter gather hidden at step end; default 0.5 */
    double tp_overlap_ratio;      /* share of tensor-parallel traffic hidden under products; default 0 */
    double tp_grad_overlap_ratio; /* of the input gradient's reduction, hidden under the weight gradient; default 0 */
    double ep_overlap_ratio;      /* share of expert all-to-all hidden; default 0 */
    double zero_overlap_ratio;    /* ZeRO 2 and 3 exchanges hide this share of what compute could hide; default 1 */
    lcp_attention_core attention_core; /* default flash */
    bool dropout;                      /* masks kept: 1 byte an element of each block's output and of unfused scores */
    bool mla_keeps_expanded_kv; /* latent attention: prefix keys and values kept expanded (true) or re-expanded from the
                                   latent for every later slice (false); default true */
} lcp_training;
lcp_training lcp_training_default(void);

/* Words of the enums above, in their order, NULL-terminated. */
extern const char *const lcp_precision_names[];
extern const char *const lcp_optimizer_names[];
extern const char *const lcp_loss_names[];
extern const char *const lcp_attention_core_names[];

typedef struct lcp_recompute_row {
    const char *name; /* "none", "activation", "mlp", "attention-output", "full" */
    const char *help;
} lcp_recompute_row;
extern const lcp_recompute_row lcp_recompute_rows[LCP_RECOMPUTE_COUNT];

/* Wall seconds on one rank, by cause; the pass takes their sum. "exposed" is what overlap does not hide. */
typedef struct lcp_seconds {
    double compute;
    double exposed_tp;
    double exposed_cp;
    double exposed_ep;
    double exposed_dp; /* parameter gathers and per-chunk gradient reductions of ZeRO 2 and 3 */
} lcp_seconds;
double lcp_seconds_sum(const lcp_seconds *seconds);

/* Compute seconds by kernel class; what is left of a pass's compute is matrix products. */
typedef struct lcp_kernel_seconds {
    double attention, elementwise, host;
} lcp_kernel_seconds;

/* One layer, one chunk, one rank. */
typedef struct lcp_layer_cost {
    lcp_seconds forward;
    lcp_seconds input_grad;                     /* I; with weight_grad = B */
    lcp_seconds weight_grad;                    /* W */
    lcp_seconds recompute[LCP_RECOMPUTE_COUNT]; /* extra before the backward pass; [NONE] is zero */
    int64_t kept_bytes[LCP_RECOMPUTE_COUNT];    /* held from the start of F to the end of B; never increasing along
                                                   NONE >= ACTIVATION >= MLP, NONE >= ATTENTION_OUTPUT >= FULL */
    int64_t kv_bytes;      /* K and V of sliced segments that policies ATTENTION_OUTPUT and FULL would drop but later
                              slices read; ALREADY inside kept_bytes of every policy; reported apart */
    int64_t kv_grad_bytes; /* gradient accumulators of K and V of sliced segments WITH successors: allocated when the
                              backward pass of the last slice of the sequence starts, freed when B of this chunk ends */
    int64_t working_bytes; /* transient peak inside a pass over this layer, beyond what is kept, whatever the policy:
                              the rebuilt inside of the layer and its gradients */
    int64_t working_none_bytes; /* the same for a layer that keeps everything: its gradients */
    lcp_kernel_seconds forward_kernels, backward_kernels; /* parts of the compute of F, and of I and W together */
    double hidden_cp, hidden_dp;                          /* F, I and W: traffic under compute */
    double forward_flops;      /* of all ranks together, model FLOPs: causal attention counted once, no padding */
    double communicated_bytes; /* sent per rank, forward + backward, all kinds */
} lcp_layer_cost;

/* Embedding on the first stage, final norm + head + loss on the last. */
typedef struct lcp_end_cost {
    lcp_seconds forward;
    lcp_seconds input_grad;
    lcp_seconds weight_grad;
    int64_t kept_bytes; /* from F to B (head: chunk's final hidden states, and the logits unless the loss is chunked) */
    int64_t working_bytes; /* transient: gradient of the logits (eager), one piece of the logits (chunked) */
    double forward_flops;
} lcp_end_cost;

/* Resident state of a part on one rank. */
typedef struct lcp_static_bytes {
    int64_t parameters, gradients, optimizer;
} lcp_static_bytes;

/* Work after the last backward pass, on one rank, exposed part only. */
typedef struct lcp_step_seconds {
    double exposed_dp; /* gradient reduction and parameter gather that overlap does not hide */
    double optimizer;
} lcp_step_seconds;

/* The link and shape a process group sees, from its placement. */
typedef struct lcp_group_placement {
    int64_t ranks;
    int64_t ranks_per_node; /* of this group on one node, >= 1 */
    lcp_link intra;         /* bandwidth already times collective_ratio */
    lcp_link inter;         /* link that the widest span crosses; unused when ranks == ranks_per_node */
    double half_bytes;
} lcp_group_placement;

typedef enum lcp_collective {
    LCP_COLLECTIVE_SEND_RECV,
    LCP_COLLECTIVE_ALL_GATHER,     /* bytes = result on each rank */
    LCP_COLLECTIVE_REDUCE_SCATTER, /* bytes = input on each rank */
    LCP_COLLECTIVE_ALL_REDUCE,     /* bytes = buffer on each rank */
    LCP_COLLECTIVE_ALL_TO_ALL,     /* bytes = buffer on each rank */
    LCP_COLLECTIVE_COUNT
} lcp_collective;

/* Alpha-beta seconds. 0 for a group of one rank. Monotone in bytes. */
double lcp_collective_seconds(lcp_collective kind, double bytes, const lcp_group_placement *group);
/* Bytes that one rank sends. */
double lcp_collective_wire_bytes(lcp_collective kind, double bytes, const lcp_group_placement *group);

#define LCP_COST_CLASSES LCP_MAX_LAYER_CLASSES

/* Prepared model of one layout; plain data, may be copied; borrows model and group. */
typedef struct lcp_cost {
    const lcp_model *model;
    const lcp_cluster *cluster;
    const lcp_device *device;
    lcp_layout layout;
    lcp_training training;
    int64_t segment_alignment_tokens; /* each segment is padded to this: 2 * ring * ulysses * tp if ring > 1 else 1 */
    int64_t chunk_alignment_tokens;   /* the chunk is padded to this: ulysses * tp (and the segments' alignment) */
    lcp_group_placement tp, ulysses, ring, ep;
    lcp_group_placement dp;        /* ranks with the same dense parameters: dp * cp */
    lcp_group_placement shard;     /* ranks that hold one copy of the ZeRO shards: dp, or shard_ranks of them */
    lcp_group_placement replicas;  /* ranks with the same shard */
    lcp_group_placement expert_dp; /* ranks with the same experts: tp * cp * dp / ep */
    lcp_group_placement pp;        /* a rank and its neighbour on the next stage, at the slowest boundary */
    lcp_layer_terms layer_terms[LCP_COST_CLASSES];
    lcp_end_terms embedding_terms, head_terms;
    int64_t capacity_bytes; /* device memory */
    int64_t reserve_bytes;  /* memory * (1 - usable_memory_ratio), rounded up: allocator reserve */
    lcp_static_bytes layer_static[LCP_COST_CLASSES];
    lcp_step_seconds layer_step[LCP_COST_CLASSES];
    double layer_gather_seconds[LCP_COST_CLASSES];  /* ZeRO 3: parameters of one layer, one pass */
    double layer_reduce_seconds[LCP_COST_CLASSES];  /* ZeRO 2, 3: gradients of one layer, one chunk */
    int64_t layer_gather_bytes[LCP_COST_CLASSES];   /* ZeRO 3: unsharded parameters of one layer */
    lcp_static_bytes embedding_static, head_static; /* head_static includes a copy of a tied table when pp > 1 */
    lcp_step_seconds embedding_step, head_step; /* embedding_step: with the device's step overhead */
} lcp_cost;

/* Fails with LCP_INPUT if a dimension overflows; assumes a legal layout (planner/search/legality checks it) and a
 * cluster of one device kind. */
lcp_status lcp_cost_prepare(lcp_cost *cost, const lcp_model *model, const lcp_cluster *cluster,
                            const lcp_layout *layout, const lcp_training *training, lcp_error *err);

void lcp_cost_layer(const lcp_cost *cost, int32_t layer_class, const lcp_chunk *chunk, lcp_layer_cost *out);
/* The same for `sequences` whole sequences of one length, in constant time. */
void lcp_cost_layer_equal(const lcp_cost *cost, int32_t layer_class, int64_t sequences, int64_t length_tokens,
                          lcp_layer_cost *out);
void lcp_cost_embedding(const lcp_cost *cost, const lcp_chunk *chunk, lcp_end_cost *out);
/* The head includes mtp modules. */
void lcp_cost_head(const lcp_cost *cost, const lcp_chunk *chunk, lcp_end_cost *out);
/* The same for `sequences` whole sequences of one length, in constant time. */
void lcp_cost_embedding_equal(const lcp_cost *cost, int64_t sequences, int64_t length_tokens, lcp_end_cost *out);
void lcp_cost_head_equal(const lcp_cost *cost, int64_t sequences, int64_t length_tokens, lcp_end_cost *out);
/* Padded tokens of `sequences` whole sequences of one length. */
int64_t lcp_cost_padded_tokens_equal(const lcp_cost *cost, int64_t sequences, int64_t length_tokens);

/* Time on the wire of one chunk between neighbouring stages, one direction, hop overhead included. 0 if pp is 1. */
double lcp_cost_hop_seconds(const lcp_cost *cost, const lcp_chunk *chunk);
/* The same for a chunk of so many padded tokens. */
double lcp_cost_hop_seconds_of_tokens(const lcp_cost *cost, int64_t padded_tokens);
/* Bytes one stage boundary buffer takes for this chunk (sent activations or gradients). */
int64_t lcp_cost_hop_bytes(const lcp_cost *cost, const lcp_chunk *chunk);
/* Overhead of a pass: added once to every F and every B (half to each of I and W) of a stage. */
double lcp_cost_pass_overhead_seconds(const lcp_cost *cost);
/* Buffers a stage needs whatever its layers: contexts and communicators, gather buffers of ZeRO 3, ring and all-to-all
 * staging for a chunk of chunk_tokens, 2 boundary buffers each way if pp > 1. */
int64_t lcp_cost_buffer_bytes(const lcp_cost *cost, int64_t chunk_tokens);

/* Tokens of the chunk after padding: what the kernels see, all ranks together. */
int64_t lcp_cost_padded_tokens(const lcp_cost *cost, const lcp_chunk *chunk);

/* Model FLOPs of one sequence, forward + backward (3x matrix products and attention, causal counted once, no
 * recompute): numerator of MFU. */
double lcp_cost_sequence_flops(const lcp_model *model, int64_t length_tokens);

/* Additive approximations for cutting: all layers + ends, forward + backward, on the ranks of one pipeline taken
 * together (sum over stages), without the per-chunk fixed part. offset/length as in a segment. */
double lcp_cost_segment_seconds(const lcp_cost *cost, int64_t offset_tokens, int64_t length_tokens);
/* The fixed part: what a chunk costs even with no token, sum over stages. */
double lcp_cost_chunk_fixed_seconds(const lcp_cost *cost);

/* Valid lower bound on the sum over stages of the F and B time of any set of chunks that covers one whole sequence of
 * this length once (no recompute, no per-chunk fixed part, any slicing). Used to bound candidates. */
double lcp_cost_sequence_lower_bound_seconds(const lcp_cost *cost, int64_t length_tokens);

/* Causal query-key pairs of n tokens after a prefix o under a window (0 = none): sum over i = 1..n of min(o + i, w). */
double lcp_causal_pairs(int64_t offset_tokens, int64_t length_tokens, int64_t window_tokens);

#endif
