/* One representation for every schedule: per pipeline rank an ordered list of operations. */
#ifndef LCP_SCHEDULE_H
#define LCP_SCHEDULE_H

#include "lcp/cost.h"

typedef enum lcp_op_kind {
    LCP_OP_FORWARD,     /* "F" */
    LCP_OP_BACKWARD,    /* "B": input and weight gradient together */
    LCP_OP_INPUT_GRAD,  /* "I" */
    LCP_OP_WEIGHT_GRAD, /* "W" */
    LCP_OP_RECOMPUTE,   /* "R": recompute ahead of time */
    LCP_OP_OFFLOAD,     /* "O": what a forward pass keeps starts its way to host memory */
    LCP_OP_RELOAD,      /* "L": and its way back */
    LCP_OP_KIND_COUNT
} lcp_op_kind;
extern const char *const lcp_op_names[LCP_OP_KIND_COUNT];

typedef struct lcp_op {
    lcp_op_kind kind;
    int32_t chunk;   /* index into the chunks handed to the generator (one pipeline) */
    int32_t stage;   /* global virtual stage */
    int32_t version; /* weight version of asynchronous schedules, else 0 */
    bool fused;      /* runs as one with the next op of its rank: a forward overlapped with a backward pass */
} lcp_op;

/* Chunks of one pipeline (one dp rank) as the schedule sees them. */
typedef struct lcp_chunk_link {
    int32_t previous_slice; /* chunk with the slice before the prefixed slice of this one; -1 */
    int32_t next_slice;     /* chunk with the slice after the slice of this one that has a successor; -1 */
} lcp_chunk_link;

/* Two directions: chunks with direction 1 run through a second copy of the model laid the other way round. Head shards:
 * the last head_shards stages are pieces of one vocabulary layer, one a rank, that all read what stage
 * stage_count - head_shards - 1 gives; its backward pass waits for all of them and for one collective. */
typedef struct lcp_schedule {
    int32_t rank_count;  /* pipeline ranks */
    int32_t stage_count; /* virtual stages; stage s lives on rank stage_rank[s] */
    int32_t head_shards; /* 0 = the head is part of the last stage */
    int32_t chunk_count;
    int32_t *stage_rank;      /* [stage_count] */
    int32_t *op_count;        /* [rank_count] */
    lcp_op **ops;             /* [rank_count][op_count[rank]], program order */
    uint8_t *chunk_direction; /* [chunk_count], 0 or 1; NULL = all 0 */
} lcp_schedule;
void lcp_schedule_dispose(lcp_schedule *schedule);

/* The rank that runs a chunk on a stage. */
static inline int32_t lcp_schedule_rank(const lcp_schedule *schedule, int32_t stage, int32_t chunk)
{
    bool mirrored = schedule->chunk_direction != NULL && schedule->chunk_direction[chunk] != 0;
    return mirrored ? schedule->rank_count - 1 - schedule->stage_rank[stage] : schedule->stage_rank[stage];
}

/* Durations of a pipeline: plain arrays, [stage * chunk_count + chunk] where nothing else is said. All but the first
 * two may be NULL. */
typedef struct lcp_durations {
    const double *forward_seconds;
    const double *backward_seconds;    /* B, recompute included unless R occurs */
    const double *input_grad_seconds;  /* I; NULL = backward_seconds says it */
    const double *weight_grad_seconds; /* W; NULL = 0 */
    const double *recompute_seconds;   /* R; NULL = 0 */
    const double *hop_seconds;         /* [chunk_count], from the end of a pass to its output on another rank */
    const double *wire_seconds;        /* [chunk_count], share of a hop that keeps the link from one rank to another
                                        * busy: hops of one link that overlap wait for each other; NULL = 0 */
    const double *offload_seconds;     /* O and L each, on the rank's link to host memory; NULL = 0 */
    const double *head_reduce_seconds; /* [chunk_count], the collective between head shards; NULL = 0 */
    const double *tail_seconds;        /* [rank_count], gradient exchange and optimizer after a rank's last op */
    double pair_ratio;                 /* of a fused pair to the sum of its passes; 0 = 1 */
} lcp_durations;

/* start/end of each op, in the order of schedule->ops, ranks concatenated. For O and L: of the transfer. */
typedef struct lcp_replay {
    int64_t op_count;
    int64_t *rank_first;           /* [rank_count + 1]: offset of a rank's first op */
    double *start_seconds;         /* [op_count] */
    double *end_seconds;           /* [op_count] */
    double *arrival_seconds;       /* [op_count]: when the output is on the next stage's rank; < 0: it stays here */
    int64_t *critical_predecessor; /* [op_count]: op that determined the start, -1 = none; ties: program order first */
    double makespan_seconds;       /* from 0 to the last end, tails included: ranks wait for each other at the end */
    double span_seconds;           /* longest from a rank's first start to its last end, tail included: they do not */
    int64_t last_op;               /* op whose end + tail is the makespan */
    double *busy_seconds;          /* [rank_count]: sum of durations of passes, without tails */
    double *exposed_seconds;       /* [rank_count]: idle while the input of the next pass is on its way */
} lcp_replay;
void lcp_replay_dispose(lcp_replay *replay);

/* Longest path over program order and data edges, O(ops). Data edges: F(s,k) after F(s-1,k) + hop; F(s,k) after
 * F(s, previous_slice(k)); B(s,k) after F(s,k), after B(s+1,k) + hop, and after B(s, next_slice(k)); I as B; W after I;
 * R after F, and B after R; O after F, L after O, B after L. O and L take no time of the rank: each runs on a queue of
 * its own, in order. Hops between stages of the same rank cost nothing. On deadlock fails with LCP_FALSE and prints one
 * cycle in err. */
lcp_status lcp_replay_run(lcp_replay *out, const lcp_schedule *schedule, const lcp_chunk_link *links,
                          const lcp_durations *durations, lcp_error *err);

/* Bytes that one rank's ops allocate and free, in program order. [stage * chunk_count + chunk]. */
typedef struct lcp_memory_input {
    const int64_t *kept_bytes;    /* from the start of F to the end of B (or W); while offloaded it is not there */
    const int64_t *kv_grad_bytes; /* from the start of B of the sequence's last slice to the end of B of this chunk */
    const int64_t *working_bytes; /* during F and during B */
    const int64_t *static_bytes;  /* [rank_count]: everything resident */
    const int64_t *held_bytes;    /* the part of it that I leaves for W; NULL = all */
    const int64_t *again_bytes;   /* from the start of R to the end of B (or W); NULL = none */
} lcp_memory_input;

typedef struct lcp_memory_peak {
    int64_t peak_bytes;
    int64_t peak_op;    /* index into the rank's ops */
    int64_t kept_bytes; /* by term, at the peak */
    int64_t kv_grad_bytes;
    int64_t working_bytes;
} lcp_memory_peak;

/* peaks: [rank_count]. Fails with LCP_INPUT on overflow. */
lcp_status lcp_memory_replay(lcp_memory_peak *peaks, const lcp_schedule *schedule, const lcp_chunk_link *links,
                             const lcp_memory_input *input, lcp_error *err);

/* The same with transfers to host memory: what is offloaded is gone when its transfer has ended and back when the
 * reload starts, so the peak depends on times. replay: of this schedule. level_bytes: NULL, or [op_count], what the
 * rank holds while each op runs. */
lcp_status lcp_memory_replay_timed(lcp_memory_peak *peaks, int64_t *level_bytes, const lcp_schedule *schedule,
                                   const lcp_chunk_link *links, const lcp_memory_input *input, const lcp_replay *replay,
                                   lcp_error *err);

/* How a trainer sends. */
typedef enum lcp_sending {
    LCP_SENDING_BLOCKING, /* one transfer at a time: after its producer, and in front of its reader */
    LCP_SENDING_BATCHED   /* the outputs of a pass and the inputs of the next as one group */
} lcp_sending;

/* Whether ranks that send and receive in program order, each waiting for the other side, get to the end. LCP_FALSE with
 * one cycle of waiting ranks if not. (With sends on a queue of their own the replay itself tells.) */
lcp_status lcp_rendezvous_check(const lcp_schedule *schedule, lcp_sending sending, lcp_error *err);

/* What a generator is given. Zero means: the schedule's own. */
typedef struct lcp_schedule_input {
    int32_t rank_count;
    int32_t virtual_count; /* stages a rank holds */
    int32_t chunk_count;
    const lcp_chunk_link *links;    /* [chunk_count]; chunks are in forward order */
    const lcp_durations *durations; /* NULL: F, I and W of every stage and chunk take the same time */
    const lcp_memory_input *memory; /* NULL: every pass keeps 2, of which I leaves 1 */
    const int64_t *limit_bytes;     /* [rank_count], kept by passes; NULL: none, or what the schedule is known by */
    const int32_t *stage_rank;      /* [stage_count], read by `list` alone; NULL: stage s on rank s mod p */
    int32_t stage_count;            /* with stage_rank, any number */
    bool whole_backward;            /* read by `list` alone: B instead of I and W */
    bool by_span;                   /* searching schedules judge by span_seconds instead of makespan_seconds */
    bool recompute_ahead;           /* an R before each backward pass */
    int32_t effort;                 /* searching schedules: rules tried, and rounds of improvement but one; 0 = as
                                     * many as help */
} lcp_schedule_input;

/* Replays an order under the input's durations, or under its conventions where it has none. */
lcp_status lcp_schedule_price(double *makespan_seconds, double *span_seconds, const lcp_schedule *schedule,
                              const lcp_schedule_input *input);

/* A row of the schedule table; one file each in planner/schedule/. */
typedef struct lcp_schedule_kind {
    const char *name;
    const char *help;
    const char *needs; /* what it asks of its input, for people */
    bool synchronous;
    bool planned; /* `plan` divides layers and recompute for it */
    /* NULL if the input is supported, else the reason why not (static text). */
    const char *(*unsupported)(const lcp_schedule_input *input);
    lcp_status (*build)(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err);
} lcp_schedule_kind;
size_t lcp_schedule_kind_count(void);
const lcp_schedule_kind *lcp_schedule_kind_at(size_t index);  /* index < count */
const lcp_schedule_kind *lcp_schedule_find(const char *name); /* NULL if unknown */

/* The order a schedule gives these chunks. Fails with LCP_USAGE on an unknown name, with LCP_INFEASIBLE and the reason
 * if the schedule does not support the input or a limit is too small for it. */
lcp_status lcp_schedule_generate(lcp_schedule *out, const char *name, const lcp_schedule_input *input, lcp_error *err);

/* Fills links[chunk_count] from chunks of one pipeline (each -1 if none). Fails with LCP_INPUT if slices of a sequence
 * are out of order, overlap or leave a hole. */
lcp_status lcp_chunk_links(lcp_chunk_link *links, const lcp_chunk *chunks, int32_t chunk_count, lcp_error *err);

#endif
