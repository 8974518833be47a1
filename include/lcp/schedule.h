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
    LCP_OP_KIND_COUNT
} lcp_op_kind;
extern const char *const lcp_op_names[LCP_OP_KIND_COUNT];

typedef struct lcp_op {
    lcp_op_kind kind;
    int32_t chunk;   /* index into the chunks handed to the generator (one pipeline) */
    int32_t stage;   /* global virtual stage */
    int32_t version; /* weight version of asynchronous schedules, else 0 */
} lcp_op;

/* Chunks of one pipeline (one dp rank) as the schedule sees them. */
typedef struct lcp_chunk_link {
    int32_t previous_slice; /* chunk with the slice before the prefixed slice of this one; -1 */
    int32_t next_slice;     /* chunk with the slice after the slice of this one that has a successor; -1 */
} lcp_chunk_link;

typedef struct lcp_schedule {
    int32_t rank_count;  /* pipeline ranks */
    int32_t stage_count; /* virtual stages; stage s lives on rank stage_rank[s] */
    int32_t chunk_count;
    int32_t *stage_rank; /* [stage_count] */
    int32_t *op_count;   /* [rank_count] */
    lcp_op **ops;        /* [rank_count][op_count[rank]], program order */
} lcp_schedule;
void lcp_schedule_dispose(lcp_schedule *schedule);

typedef struct lcp_schedule_input {
    int32_t rank_count;
    int32_t chunk_count;
    const lcp_chunk_link *links; /* [chunk_count]; chunks are in forward order */
} lcp_schedule_input;

/* A row of the schedule table; one file each in planner/schedule/. */
typedef struct lcp_schedule_kind {
    const char *name;
    const char *help;
    bool synchronous;
    /* NULL if the input is supported, else the reason why not (static text). */
    const char *(*unsupported)(const lcp_schedule_input *input);
    lcp_status (*build)(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err);
} lcp_schedule_kind;
size_t lcp_schedule_kind_count(void);
const lcp_schedule_kind *lcp_schedule_kind_at(size_t index);  /* index < count */
const lcp_schedule_kind *lcp_schedule_find(const char *name); /* NULL if unknown */

/* Durations of a pipeline: plain arrays, [stage * chunk_count + chunk]. */
typedef struct lcp_durations {
    const double *forward_seconds;
    const double *backward_seconds;    /* B, recompute included; or I when W is scheduled apart */
    const double *weight_grad_seconds; /* may be NULL if no W op occurs */
    const double *hop_seconds;         /* [chunk_count], between stages on different ranks */
    const double
        *tail_seconds; /* [rank_count]: gradient exchange and optimizer after the rank's last op; may be NULL */
} lcp_durations;

/* start/end of each op, in the order of schedule->ops, ranks concatenated. */
typedef struct lcp_replay {
    int64_t op_count;
    int64_t *rank_first;           /* [rank_count + 1]: offset of a rank's first op */
    double *start_seconds;         /* [op_count] */
    double *end_seconds;           /* [op_count] */
    int64_t *critical_predecessor; /* [op_count]: op that determined the start, -1 = none; ties: program order first */
    double makespan_seconds;       /* from 0 to the last end, tails included */
    int64_t last_op;               /* op whose end + tail is the makespan */
    double *busy_seconds;          /* [rank_count]: sum of durations, without tails */
} lcp_replay;
void lcp_replay_dispose(lcp_replay *replay);

/* Longest path over program order and data edges, O(ops). Data edges: F(s,k) after F(s-1,k) + hop; F(s,k) after
 * F(s, previous_slice(k)); B(s,k) after F(s,k), after B(s+1,k) + hop, and after B(s, next_slice(k)); W after I.
 * Hops between stages of the same rank cost nothing. On deadlock fails with LCP_FALSE and prints one cycle in err. */
lcp_status lcp_replay_run(lcp_replay *out, const lcp_schedule *schedule, const lcp_chunk_link *links,
                          const lcp_durations *durations, lcp_error *err);

/* Bytes that one rank's ops allocate and free, in program order. [stage * chunk_count + chunk]. */
typedef struct lcp_memory_input {
    const int64_t *kept_bytes;    /* from the start of F to the end of B (or W) */
    const int64_t *kv_grad_bytes; /* from the start of B of the sequence's last slice to the end of B of this chunk */
    const int64_t *working_bytes; /* during F and during B */
    const int64_t *static_bytes;  /* [rank_count]: everything resident */
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

/* Fills links[chunk_count] from chunks of one pipeline (each -1 if none). Fails with LCP_INPUT if slices of a sequence
 * are out of order, overlap or leave a hole. */
lcp_status lcp_chunk_links(lcp_chunk_link *links, const lcp_chunk *chunks, int32_t chunk_count, lcp_error *err);

#endif
