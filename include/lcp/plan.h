/* A plan: every decision, the prediction and the proof. Mirrors lcplan.plan/1. */
#ifndef LCP_PLAN_H
#define LCP_PLAN_H

#include "lcp/cost.h"
#include "lcp/schedule.h"
#include "lcp/workload.h"

typedef struct lcp_stage {
    int32_t pp, virtual_index;
    int32_t first_layer, layer_count;
    bool embedding, head;
} lcp_stage;

/* On `stage`, the first `layers` layers of class `layer_class` not covered by an earlier entry of the same chunk, stage
 * and class use `policy`; layers not covered keep everything. */
typedef struct lcp_chunk_recompute {
    int32_t stage;
    int32_t layer_class;
    lcp_recompute policy;
    int32_t layers;
} lcp_chunk_recompute;

typedef struct lcp_plan_chunk {
    lcp_chunk chunk; /* segments owned by the plan */
    int32_t recompute_count;
    lcp_chunk_recompute *recompute; /* sorted by stage, layer_class, policy */
} lcp_plan_chunk;

typedef struct lcp_memory_terms {
    int64_t parameters, gradients, optimizer, activations, kv, logits, buffers, versions, reserve;
} lcp_memory_terms;

typedef struct lcp_stage_prediction {
    double busy_seconds;       /* of the slowest dp rank */
    int64_t peak_memory_bytes; /* largest over dp ranks; sum of memory at that peak */
    lcp_memory_terms memory;
} lcp_stage_prediction;

typedef struct lcp_breakdown {
    double compute, recompute, exposed_tp, exposed_cp, exposed_pp, exposed_ep, exposed_dp, optimizer, bubble;
} lcp_breakdown;

/* Prediction for the critical dp rank; breakdown sums to iteration_seconds (averaged over that pipeline's ranks). */
typedef struct lcp_prediction {
    double iteration_seconds;
    double tokens_per_second_per_device;
    double mfu_ratio;
    double bubble_ratio;
    lcp_breakdown breakdown;
    lcp_stage_prediction *stages; /* [stage_count] */
} lcp_prediction;

#define LCP_MAX_REASONS 32
typedef struct lcp_reason_count {
    char reason[64];
    int64_t count;
} lcp_reason_count;

typedef struct lcp_certificate {
    double lower_bound_seconds; /* no plan in scope is faster */
    double gap_ratio;           /* (iteration - bound) / iteration */
    char scope[1024];
    char stopped_by[32]; /* "gap", "exhausted", "nodes", "interrupted", "time" */
    int64_t considered, bounded, solved;
    int32_t rejected_count;
    lcp_reason_count rejected[LCP_MAX_REASONS]; /* sorted by reason */
    char solver_version[32];
    int64_t lp_solves, mip_nodes;
} lcp_certificate;

typedef struct lcp_alternative {
    lcp_layout layout;
    double iteration_seconds; /* of the plan found, or the bound when none was built */
    char reason[256];
} lcp_alternative;

typedef struct lcp_plan {
    lcp_layout layout;
    char schedule_name[32];
    int32_t stage_count;
    lcp_stage *stages;
    int32_t chunk_count;
    lcp_plan_chunk *chunks;  /* ordered by dp, then forward order */
    lcp_segment *segments;   /* owns every chunk's segments */
    lcp_schedule *pipelines; /* [layout.dp]; op.chunk is the GLOBAL chunk number here */
    lcp_prediction predicted;
    lcp_certificate certificate;
    int32_t alternative_count;
    lcp_alternative *alternatives;
} lcp_plan;
void lcp_plan_dispose(lcp_plan *plan);

#endif
