/* What the replay knows while it runs, and the edges it follows. */
#ifndef LCP_REPLAY_STATE_H
#define LCP_REPLAY_STATE_H

#include "lcp/schedule.h"

typedef enum lcp_replay_slot {
    LCP_SLOT_FORWARD,
    LCP_SLOT_BACKWARD, /* B or I */
    LCP_SLOT_WEIGHT_GRAD,
    LCP_SLOT_RECOMPUTE,
    LCP_SLOT_OFFLOAD,
    LCP_SLOT_RELOAD,
    LCP_SLOT_COUNT
} lcp_replay_slot;

typedef struct lcp_replay_state {
    lcp_replay *out;
    const lcp_schedule *schedule;
    const lcp_chunk_link *links;
    const lcp_durations *durations;
    int64_t *index[LCP_SLOT_COUNT]; /* [stage][chunk]: op, -1 = none */
    int32_t *next;                  /* [rank_count]: ops already timed */
    double *clock;                  /* [rank_count]: end of the last pass */
    double *to_host, *from_host;    /* [rank_count]: end of the last transfer */
    double *link_free;              /* [rank_count][rank_count], NULL if links are never busy */
    double *head_end;               /* [chunk_count]: latest end of the head shards so far, then of the collective */
    int64_t *head_last;             /* [chunk_count]: the shard that ended last */
    int32_t *head_left;             /* [chunk_count]: shards not timed yet */
    double head_free;               /* end of the last collective */
} lcp_replay_state;

lcp_replay_slot lcp_replay_slot_of(lcp_op_kind kind);

/* A data edge: the op that must have ended, and when its output is there. */
typedef struct lcp_replay_edge {
    int64_t from; /* -2 = the producer does not exist */
    double ready_seconds;
    double on_the_way_seconds; /* part of that after the producer's end */
} lcp_replay_edge;
#define LCP_MAX_EDGES 5

/* Edges that end at an op, with times as far as the producers have run; returns how many. */
int32_t lcp_replay_edges(const lcp_replay_state *s, const lcp_op *op, int32_t rank,
                         lcp_replay_edge edges[LCP_MAX_EDGES]);

static inline bool lcp_replay_timed(const lcp_replay_state *s, int64_t op)
{
    return s->out->end_seconds[op] >= 0;
}

/* LCP_FALSE with one cycle of waiting operations. */
lcp_status lcp_replay_report_deadlock(const lcp_replay_state *s, lcp_error *err);

#endif
