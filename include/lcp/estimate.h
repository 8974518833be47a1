/* Time and memory of one given configuration with equal sequences, in closed form.
 *
 * Where `plan` replays a schedule for chunks of all shapes, an estimate knows that all microbatches are alike and takes
 * the closed forms of docs/cost-model.md: a few microseconds a configuration, for sweeps and for whole tables of
 * measured runs. Pure functions, no allocation. */
#ifndef LCP_ESTIMATE_H
#define LCP_ESTIMATE_H

#include "lcp/cost.h"

typedef enum lcp_run_schedule {
    LCP_RUN_GPIPE,
    LCP_RUN_1F1B,
    LCP_RUN_INTERLEAVED,
    LCP_RUN_SCHEDULE_COUNT
} lcp_run_schedule;
extern const char *const lcp_run_schedule_names[LCP_RUN_SCHEDULE_COUNT + 1]; /* NULL-terminated */

/* What a trainer's "selective recompute" runs again: the names of Megatron-LM's modules. */
typedef enum lcp_module {
    LCP_MODULE_CORE_ATTENTION, /* the attention core: worth it where attention is unfused */
    LCP_MODULE_LAYERNORM,
    LCP_MODULE_ACTIVATION, /* the ffn's activation function (also of experts: moe_act) */
    LCP_MODULE_MLP,        /* the whole ffn, of experts too (moe) */
    LCP_MODULE_MLA_UP,     /* up-projections of latent attention */
    LCP_MODULE_COUNT
} lcp_module;
typedef struct lcp_module_row {
    const char *name; /* as Megatron-LM says it */
    const char *help;
} lcp_module_row;
extern const lcp_module_row lcp_module_rows[LCP_MODULE_COUNT];

typedef enum lcp_recompute_method {
    LCP_METHOD_NONE,
    LCP_METHOD_SELECTIVE, /* `modules` of every layer */
    LCP_METHOD_FULL,      /* every layer from its input */
    LCP_METHOD_BLOCK,     /* the first `layers` layers of each virtual stage from their inputs */
    LCP_METHOD_UNIFORM,   /* groups of `layers` layers from the input of each group */
    LCP_METHOD_POLICY     /* `policy` for `share` of the layers, full for the others */
} lcp_recompute_method;

typedef struct lcp_run_recompute {
    lcp_recompute_method method;
    uint32_t modules;     /* SELECTIVE: bit m = lcp_module m */
    int32_t layers;       /* BLOCK, UNIFORM: >= 1 */
    lcp_recompute policy; /* POLICY */
    double share;         /* POLICY: [0, 1] */
} lcp_run_recompute;

/* One configuration. microbatches = global_batch / (dp * microbatch), a whole number. */
typedef struct lcp_run {
    int64_t sequence_length_tokens;
    int64_t global_batch_sequences;
    int64_t microbatch_sequences; /* of one data-parallel rank */
    lcp_layout layout;
    lcp_training training;
    lcp_run_schedule schedule;
    lcp_run_recompute recompute;
    int32_t first_stage_layers, last_stage_layers; /* 0 = as many as the others */
    double activation_offload_ratio;               /* share of kept activations that moves to the host, [0, 1] */
    bool optimizer_on_host;
} lcp_run;
/* One device, one sequence of 4096 tokens, 1F1B, no recompute. */
lcp_run lcp_run_default(void);

/* Seconds of the slowest rank; the members without "hidden" add up to the iteration. */
typedef struct lcp_estimate_seconds {
    double matmul, attention, elementwise; /* first passes: forward and backward */
    double host;                           /* waiting for launches, and the overhead of passes */
    double recompute;                      /* forward work run again, traffic included */
    double exposed_tp, exposed_cp, exposed_ep, exposed_dp, exposed_pp, exposed_offload;
    double hidden_tp, hidden_cp, hidden_ep, hidden_dp, hidden_offload;
    double bubble; /* idle: fill, drain and slower stages */
    double optimizer;
    double step_overhead;
} lcp_estimate_seconds;

/* Bytes of one pipeline rank at its peak. */
typedef struct lcp_estimate_memory {
    int64_t parameters, gradients, optimizer, activations, logits, working, buffers;
    int64_t total; /* the sum: what the allocator holds and the context, without the reserve */
} lcp_estimate_memory;

#define LCP_ESTIMATE_MAX_STAGES 256

typedef struct lcp_estimate {
    double iteration_seconds;
    double tokens_per_second_per_device;
    double mfu_ratio; /* model FLOPs, causal attention once, no recompute, over iteration, devices and 16-bit peak */
    double hfu_ratio; /* with what runs again */
    int64_t microbatches;
    lcp_estimate_seconds seconds;
    int32_t stage_count; /* pipeline ranks */
    int32_t fullest_stage;
    lcp_estimate_memory memory[LCP_ESTIMATE_MAX_STAGES];
    int64_t capacity_bytes, reserve_bytes;
    bool fits; /* the fullest rank and the reserve stay within the capacity */
} lcp_estimate;

/* LCP_INPUT with a reason when the configuration is not possible: the batch does not divide, more virtual stages than
 * layers, heads or layers that do not divide, more devices than the cluster has. */
lcp_status lcp_estimate_run(lcp_estimate *out, const lcp_model *model, const lcp_cluster *cluster, const lcp_run *run,
                            lcp_error *err);

#endif
