/* A better order from a good one: a rank that would wait runs a later pass of its own that is ready, where the memory
 * that the order needs on the way still suffices. */
#ifndef LCP_BACKFILL_H
#define LCP_BACKFILL_H

#include "schedule/schedule_internal.h"

typedef struct lcp_backfill_rule {
    int32_t window;    /* passes that a rank looks ahead */
    double fill_ratio; /* W fills a gap if nothing else is known to come within this share of it */
    double late_ratio; /* share of itself by which a pass may delay the one whose turn it is */
    bool reversed;     /* from the end of the iteration to its start */
} lcp_backfill_rule;

/* Replaces the ops. limit_bytes: [rank_count], kept by passes; must hold for the order as it is. F, B, I and W only,
 * one direction, no head shards. */
lcp_status lcp_backfill(lcp_schedule *schedule, const lcp_schedule_input *input, const int64_t *limit_bytes,
                        const lcp_backfill_rule *rule, lcp_error *err);

/* The best of several rules applied again and again, as long as the order gets faster. Never makes it slower. */
lcp_status lcp_backfill_polish(lcp_schedule *schedule, const lcp_schedule_input *input, const int64_t *limit_bytes,
                               lcp_error *err);

/* Swaps neighbours on the critical path while that helps, at most `trials` times. Without durations: nothing. */
void lcp_schedule_local_search(lcp_schedule *schedule, const lcp_schedule_input *input, const int64_t *limit_bytes,
                               int64_t trials);

/* Most that passes of a rank keep in the order given. */
int64_t lcp_schedule_peak_kept(const lcp_schedule *schedule, const lcp_schedule_input *input, int32_t rank);

/* span_seconds or makespan_seconds, whichever the input is judged by; HUGE_VAL if the order does not run. */
double lcp_schedule_cost(const lcp_schedule *schedule, const lcp_schedule_input *input);

lcp_status lcp_schedule_copy(lcp_schedule *out, const lcp_schedule *from, lcp_error *err);
/* The same, for up to three passes of every stage and chunk of a rank. */
lcp_status lcp_schedule_copy_room(lcp_schedule *out, const lcp_schedule *from, lcp_error *err);

#endif
