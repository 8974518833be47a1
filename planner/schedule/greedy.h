/* List scheduling: whenever a rank is free it takes the best pass that is ready. What comes out is an order. */
#ifndef LCP_GREEDY_H
#define LCP_GREEDY_H

#include "schedule/schedule_internal.h"

typedef enum lcp_greedy_order {
    LCP_GREEDY_BACKWARD_FIRST,
    LCP_GREEDY_ALTERNATE, /* after a backward pass a forward pass, if both are ready */
    LCP_GREEDY_FORWARD_FIRST
} lcp_greedy_order;

typedef struct lcp_greedy_rule {
    lcp_greedy_order order;
    bool split; /* I and W instead of B */
    bool deep;  /* among forward passes the latest stage first, else the earliest chunk */
    /* A weight gradient fills a gap only if nothing else is known to come within this share of it. */
    double fill_ratio;
    /* A forward pass waits for a backward pass that is known to come within this share of it. */
    double yield_ratio;
} lcp_greedy_rule;

typedef struct lcp_greedy_result {
    double makespan_seconds, span_seconds;
} lcp_greedy_result;

/* Fills the ops of a schedule that has its placement and directions, and no ops. limit_bytes: [rank_count], what passes
 * may keep, or NULL. No order runs into a memory deadlock: on each rank room is left for the oldest sequence to finish.
 * window: [2 * stage_count], chunks in flight a direction and stage, or NULL. Fails with LCP_INFEASIBLE if a limit
 * cannot hold one sequence. */
lcp_status lcp_greedy_fill(lcp_schedule *out, lcp_greedy_result *result, const lcp_schedule_input *input,
                           const lcp_greedy_rule *rule, const int64_t *limit_bytes, const int32_t *window,
                           lcp_error *err);

/* The order of the nth best of many rules, 0 = the best. */
lcp_status lcp_greedy_nth(lcp_schedule *out, const lcp_schedule_input *input, bool split, const int64_t *limit_bytes,
                          size_t nth, lcp_error *err);

/* The best of the rules, improved further; known: the schedule has an order within the limits to start from, and is
 * improved and kept if it is faster. With effort 1: the known order as it is, or one rule. */
lcp_status lcp_search_order(lcp_schedule *out, const lcp_schedule_input *input, bool split, const int64_t *limit_bytes,
                            bool known, lcp_error *err);

/* limits[r] = sequences times the most that one chunk keeps on rank r, or the input's own limit if that is less. */
void lcp_greedy_limits(int64_t *limits, const lcp_schedule *schedule, const lcp_schedule_input *input,
                       double chunk_count);

#endif
