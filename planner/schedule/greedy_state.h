/* What list scheduling knows while it runs. */
#ifndef LCP_GREEDY_STATE_H
#define LCP_GREEDY_STATE_H

#include "schedule/greedy.h"

/* A lane is a stage in one direction: its forward passes run in chunk order, its backward passes in backward order. */
typedef struct lcp_lane {
    int32_t rank, stage, direction;
    int32_t next_forward, next_backward; /* positions in the lists of the direction */
} lcp_lane;

typedef struct lcp_greedy_rank {
    double free_seconds;   /* end of its last pass */
    double first_seconds;  /* start of its first pass, < 0 before */
    double decide_seconds; /* when it can do something; HUGE_VAL: when another rank has */
    bool waiting;          /* keeps a weight gradient back for what is about to come */
    bool yields;           /* keeps a forward pass back for a backward pass */
    bool last_was_backward;
    int32_t first_lane, lane_count;     /* in lane_of_rank */
    int32_t oldest;                     /* sequence that is not through this rank yet */
    int32_t waiting_first, waiting_end; /* weight gradients, in `pending` */
    int64_t used_bytes;
} lcp_greedy_rank;

typedef struct lcp_greedy_state {
    lcp_schedule *out;
    const lcp_schedule_input *input;
    const lcp_greedy_rule *rule;
    const int64_t *limit_bytes;
    const int32_t *window;
    int32_t directions, stages, chunks, sequences;
    lcp_lane *lanes;          /* [directions * stages] */
    int32_t *lane_of_rank;    /* lanes sorted by rank */
    lcp_greedy_rank *ranks;   /* [rank_count] */
    int32_t *forward_list[2]; /* chunks of a direction */
    int32_t *backward_list[2];
    int32_t list_count[2];
    int32_t *sequence_of;               /* [chunk] */
    int32_t *left;                      /* [rank][sequence]: backward passes to come */
    int64_t *used_by;                   /* [rank][sequence]: bytes kept before the I or B */
    int64_t *most_after;                /* [rank][sequence]: most that this or a later sequence keeps there */
    double *forward_end, *backward_end; /* [stage][chunk], < 0 before */
    int32_t *pending;                   /* [rank][stages of it * chunks]: cells whose W waits */
} lcp_greedy_state;

lcp_status lcp_greedy_state_build(lcp_greedy_state *s, lcp_error *err);
void lcp_greedy_state_dispose(lcp_greedy_state *s);

#endif
