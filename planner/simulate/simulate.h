/* A finished plan run in time: its own order, or that of another schedule over the same chunks. */
#ifndef LCP_SIMULATE_H
#define LCP_SIMULATE_H

#include "lcp/plan.h"
#include "lcp/problem.h"

typedef struct lcp_simulate_options {
    const char *schedule;  /* NULL = the order in the plan */
    int32_t virtual_count; /* stages a rank under that schedule; 0 = the schedule's own */
    bool recompute_ahead;  /* recompute as passes of its own in front of backward passes */
    bool link_queues;      /* hops over one link wait for each other */
} lcp_simulate_options;

/* One pipeline. Stages are the plan's, or all layers dealt out evenly if the schedule has another number of them; each
 * layer keeps the recompute policy that the plan gives it for each chunk. */
typedef struct lcp_simulated {
    int32_t dp, first_chunk; /* chunks here are counted from the plan's number first_chunk */
    lcp_chunk_link *links;
    lcp_schedule schedule;
    lcp_durations durations;
    lcp_memory_input memory;
    lcp_replay replay;
    lcp_memory_peak *peaks; /* [rank] */
    int64_t *level_bytes;   /* [op]: what the rank holds while it runs */
    int64_t capacity_bytes;
    double *seconds; /* owns the tables of durations */
    int64_t *bytes;  /* owns the tables of memory */
    const lcp_plan *plan;
} lcp_simulated;
void lcp_simulated_dispose(lcp_simulated *simulated);

/* Fails with LCP_INFEASIBLE and the reason if the schedule cannot run these chunks, with LCP_FALSE and a cycle if the
 * order waits for itself. */
lcp_status lcp_simulate(lcp_simulated *out, const lcp_plan *plan, const lcp_problem *problem, int32_t dp,
                        const lcp_simulate_options *options, lcp_error *err);

/* Idle time of a rank: before the first backward pass of the pipeline starts, after its last forward pass has ended,
 * and between; what is exposed_seconds of the replay is part of it. */
typedef struct lcp_idle {
    double warm_up_seconds, inside_seconds, drain_seconds;
} lcp_idle;
lcp_idle lcp_simulated_idle(const lcp_simulated *simulated, int32_t rank);

typedef struct lcp_perturbation {
    double jitter_ratio;    /* standard deviation of each duration over its mean; 0 = none */
    uint64_t seed;          /* same seed, same times */
    int32_t runs;           /* >= 1 */
    int32_t straggler_rank; /* whose passes take straggler_factor times as long; -1 = none */
    double straggler_factor;
} lcp_perturbation;

/* Makespan of each run, [runs]. Adds the worst of this pipeline to what is there: start with zeros, and call it for
 * every pipeline of a plan. */
lcp_status lcp_simulated_perturb(double *makespans, const lcp_simulated *simulated,
                                 const lcp_perturbation *perturbation, lcp_error *err);

/* The value that `share` of the runs do not exceed; sorts them. */
double lcp_percentile(double *values, int32_t count, double share);

/* Internal: durations and memory of the plan's chunks on the stages of a schedule. */
lcp_status lcp_simulated_fill_tables(lcp_simulated *s, const lcp_problem *problem, const lcp_schedule *stages,
                                     const lcp_simulate_options *options, lcp_error *err);

#endif
