/* ILP 2: layers to stages and recompute policies to (stage, chunk, layer), timed exactly by the schedule. */
#ifndef LCP_PARTITION_H
#define LCP_PARTITION_H

#include "lcp/plan.h"
#include "lcp/problem.h"

/* Costs of one pipeline's chunks, evaluated once. */
typedef struct lcp_pipeline_tables {
    int32_t chunk_count;
    const lcp_chunk *chunks;   /* borrowed, [chunk_count] */
    lcp_chunk_link *links;     /* [chunk_count] */
    lcp_layer_cost *layers;    /* [chunk_count * class_count], chunk-major */
    lcp_end_cost *embedding;   /* [chunk_count] */
    lcp_end_cost *head;        /* [chunk_count] */
    double *hop_seconds;       /* [chunk_count] */
    int64_t max_padded_tokens; /* largest chunk */
    lcp_schedule schedule;     /* op.chunk is local here */
} lcp_pipeline_tables;
lcp_status lcp_pipeline_tables_build(lcp_pipeline_tables *out, const lcp_cost *cost, const lcp_chunk *chunks,
                                     int32_t chunk_count, const lcp_schedule_kind *kind, lcp_error *err);
void lcp_pipeline_tables_dispose(lcp_pipeline_tables *tables);

typedef struct lcp_partition_input {
    const lcp_cost *cost;
    int32_t pipeline_count;               /* dp */
    const lcp_pipeline_tables *pipelines; /* [pipeline_count] */
    uint32_t policy_mask;                 /* bit (1 << policy): allowed; NONE may be absent (recompute full) */
    bool uniform_recompute;               /* same layer counts per policy on every stage and chunk */
    bool equal_layers;                    /* stage sizes differ by at most one, larger ones first */
    double gap_ratio;
    double cutoff_seconds;         /* stop early (bound only) once the lower bound reaches this */
    int64_t max_rounds, max_nodes; /* 0 = defaults */
} lcp_partition_input;

typedef struct lcp_partition {
    bool found;            /* decisions below are filled */
    bool infeasible;       /* no layer split and recompute fits in memory */
    int64_t missing_bytes; /* when infeasible: how much more memory per device would do (upper estimate) */
    int32_t stage_count;
    int32_t *stage_layers;      /* [stage_count] */
    int32_t **recompute_counts; /* [pipeline][((chunk * stage_count + stage) * class_count + class) *
                                   LCP_RECOMPUTE_COUNT + policy] */
    int32_t pipeline_count;
    double iteration_seconds;   /* replayed exactly */
    double lower_bound_seconds; /* for every split and recompute of these chunks in this order */
    int64_t lp_solves, mip_nodes, rounds;
} lcp_partition;
void lcp_partition_dispose(lcp_partition *partition);

/* What one pipeline alone proves, without any program: a lower bound for every split and recompute, infinity if its
 * windows cannot fit (then *missing_bytes as in lcp_partition). 0 if pp is 1. */
lcp_status lcp_partition_bound(double *bound_seconds, int64_t *missing_bytes, const lcp_partition_input *input,
                               int32_t pipeline, lcp_error *err);

lcp_status lcp_partition_solve(lcp_partition *out, const lcp_partition_input *input, lcp_error *err);

/* Prices decisions: durations, replay of every pipeline, memory replay, breakdown. predicted->stages is allocated.
 * Fails with LCP_FALSE if a stage does not fit (the message names it). */
lcp_status lcp_evaluate(lcp_prediction *predicted, const lcp_cost *cost, int32_t pipeline_count,
                        const lcp_pipeline_tables *pipelines, const lcp_partition *decisions,
                        const lcp_workload *workload, lcp_error *err);

/* Start and end of every operation of one pipeline under the decisions; index: its number among the pipelines. */
lcp_status lcp_pipeline_replay(lcp_replay *out, const lcp_cost *cost, const lcp_pipeline_tables *tables,
                               const lcp_partition *decisions, int32_t index, lcp_error *err);

/* The same for a finished plan, in its own order: out[plan->layout.dp], disposed of after a failure. */
lcp_status lcp_plan_replay(lcp_replay *out, const lcp_plan *plan, const lcp_problem *problem, lcp_error *err);

#endif
