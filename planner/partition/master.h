/* ILP 2 of one pipeline: layers to stages and recompute to (stage, chunk, class), rows made as they are needed.
 *
 *   min T
 *   T >= length of a path of the schedule, linear in n (layers) and r (recomputed layers), for the paths found so far
 *   bytes of stage s at an operation, linear in n and r, at most the capacity, for the operations found so far
 *   sum over q of r[s,k,c,q] <= n[s,c], where violated
 *   n[s,c] from the stage ends: integers when there is one layer class, else a choice y[s,l] of the last layer
 *
 * Every relaxation of it bounds all plans with these chunks in this order. */
#ifndef LCP_PARTITION_MASTER_H
#define LCP_PARTITION_MASTER_H

#include "partition/view.h"
#include "solver/lp.h"

typedef struct lcp_master {
    const lcp_view *view;
    lcp_lp *lp;
    lcp_lp_session *session;
    double scale_seconds; /* T and all times are divided by this */
    double scale_bytes;
    int32_t makespan;          /* column T */
    int32_t *n;                /* [stages * C] columns */
    int32_t *y;                /* [(stages - 1) * (L + 1)] columns, -1 = none; NULL with one class or a fixed split */
    int32_t *r;                /* [((k * stages + s) * C + c) * Q + q] columns, -1 = none */
    bool *coupled;             /* [(k * stages + s) * C + c]: has its coupling row */
    double *n_value, *r_value; /* solution, the same layouts */
    double *y_value;
    double bound_seconds; /* best so far */
    bool solved;          /* the values above are those of some solution */
    int64_t lp_solves, mip_nodes, rounds;
    int64_t iterations; /* of the simplex, all rounds together */
} lcp_master;

/* fixed_stage_layers NULL: the split is free. */
lcp_status lcp_master_build(lcp_master *out, const lcp_view *view, double scale_seconds,
                            const int32_t *fixed_stage_layers, lcp_error *err);
void lcp_master_dispose(lcp_master *master);

/* One op of a path through the schedule. */
typedef struct lcp_path_step {
    lcp_op_kind kind;
    int32_t stage, chunk;
    bool hop; /* reached over a stage boundary */
} lcp_path_step;
/* Adds T >= path + tail of the stage of the last step (if with_tail). */
void lcp_master_add_path(lcp_master *master, const lcp_path_step *steps, int64_t count, bool with_tail);
/* Adds the memory row of the op at place `at` of a stage's order. */
void lcp_master_add_memory(lcp_master *master, int32_t stage, int32_t at);
void lcp_master_add_coupling(lcp_master *master, int32_t chunk, int32_t stage, int32_t layer_class);

/* Rows violated by the solution in n_value, r_value; the seconds of the longest path at that point. Returns how many
 * rows were added. */
lcp_status lcp_master_separate(lcp_master *master, double makespan_value, int32_t *added, double *longest_seconds,
                               lcp_error *err);

typedef struct lcp_master_limits {
    bool integer;          /* branch and bound on n or y */
    double cutoff_seconds; /* stop once the bound reaches it */
    double gap_ratio;      /* stop once the longest path at the solution is within this of the bound */
    int64_t max_rounds, max_nodes;
    int64_t max_iterations; /* of the simplex over all rounds of the master's life; 0 = no limit */
} lcp_master_limits;

typedef enum lcp_master_outcome {
    LCP_MASTER_DONE,
    LCP_MASTER_CUTOFF,
    LCP_MASTER_INFEASIBLE,
    LCP_MASTER_LIMIT
} lcp_master_outcome;
lcp_status lcp_master_solve(lcp_master_outcome *outcome, lcp_master *master, const lcp_master_limits *limits,
                            lcp_error *err);

/* Stage sizes nearest to the solution, each at least one layer. */
void lcp_master_round_split(const lcp_master *master, int32_t *stage_layers);
/* r scaled from the solution's n to whole layers: what lcp_fill_round wants. wanted has r's layout. */
void lcp_master_wanted(const lcp_master *master, const int32_t *stage_layers, double *wanted);

#endif
