/* Every legal layout with its lower bound, and the chunk budgets to try for it. */
#ifndef LCP_CANDIDATES_H
#define LCP_CANDIDATES_H

#include "lcp/plan.h"
#include "lcp/problem.h"

typedef struct lcp_candidate {
    lcp_layout layout;
    int32_t chunks_per_rank; /* the chunk budget K: plans in scope have at least K chunks on each dp rank, or one
                                chunk per sequence if the rank has fewer */
    double bound_seconds;    /* no plan with this layout and budget is faster */
    double estimate_seconds; /* guess used only for the order of work */
} lcp_candidate;

typedef struct lcp_candidates {
    int64_t count, capacity;
    lcp_candidate *items;                  /* sorted by bound, then layout, then budget */
    int64_t considered;                    /* layouts looked at */
    int64_t reason_count[LCP_MAX_REASONS]; /* by legality rule; [lcp_legality_rule_count] = memory, +1 = degrees */
    int64_t least_missing_bytes;           /* over layouts rejected for memory: smallest shortfall per device */
    lcp_layout least_missing_layout;
} lcp_candidates;
void lcp_candidates_dispose(lcp_candidates *candidates);

lcp_status lcp_candidates_enumerate(lcp_candidates *out, const lcp_problem *problem, lcp_error *err);

/* Lengths grouped for bounding: sum over groups of count * f(mean) is at most the sum of f for convex f. */
typedef struct lcp_length_group {
    double mean_tokens;
    int64_t shortest_tokens;
    int64_t count;
} lcp_length_group;
#define LCP_LENGTH_GROUPS 96

typedef struct lcp_length_summary {
    int32_t count;
    lcp_length_group groups[LCP_LENGTH_GROUPS];
    int64_t longest_tokens;
    int64_t total_tokens;
} lcp_length_summary;
lcp_status lcp_length_summarize(lcp_length_summary *out, const lcp_workload *workload, lcp_error *err);

/* What one layout costs whatever the cut. */
typedef struct lcp_layout_bound {
    double work_seconds;         /* sum over sequences and stages of F + B, one dp pipeline's ranks */
    double recompute_seconds;    /* least recompute, same sum, that sequences too long to be kept whole force */
    double fixed_seconds;        /* per chunk, sum over stages */
    double tail_seconds;         /* mean over stages of the step's exposed communication and optimizer */
    double longest_seconds;      /* longest sequence, all stages one after the other: binding without slicing */
    double kept_bytes_per_token; /* all layers, richest allowed policy; with the next two for estimates only */
    double leanest_bytes_per_token;
    double seconds_per_byte; /* cheapest recompute */
    double room_bytes;       /* all stages of one pipeline, after resident state */
    int64_t missing_bytes;   /* > 0: no plan fits; by how much per device */
} lcp_layout_bound;
void lcp_layout_bound_compute(lcp_layout_bound *out, const lcp_cost *cost, const lcp_length_summary *lengths,
                              const lcp_options *options);
/* Bound on the iteration of a plan with at least `chunks_per_rank` chunks on some rank. */
double lcp_layout_bound_iteration(const lcp_layout_bound *bound, const lcp_layout *layout, int32_t chunks_per_rank,
                                  bool slicing);

/* A guess that adds the bubble of equal chunks and the recompute that the chunks in flight force. */
double lcp_layout_estimate(const lcp_layout_bound *bound, const lcp_layout *layout, int32_t chunks_per_rank,
                           const lcp_length_summary *lengths);

/* Bit mask of policies that a recompute mode allows. */
uint32_t lcp_recompute_mask(lcp_recompute_mode mode);

#endif
