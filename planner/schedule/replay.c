/* Price of a schedule: longest path over program order and data edges (Kahn's algorithm). No heap is needed because
 * every rank runs its ops in order: a rank advances until its next op waits for another rank. */
#include "lcp/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lcp_replay_dispose(lcp_replay *replay)
{
    free(replay->rank_first);
    free(replay->start_seconds);
    free(replay->end_seconds);
    free(replay->critical_predecessor);
    free(replay->busy_seconds);
    *replay = (lcp_replay){0};
}

/* Index of the forward, the input-gradient (B or I) and the weight-gradient op of each (stage, chunk); -1 = none. */
typedef struct op_index {
    int64_t *forward, *backward, *weight_grad;
} op_index;

typedef struct replay_state {
    lcp_replay *out;
    const lcp_schedule *schedule;
    const lcp_chunk_link *links;
    const lcp_durations *durations;
    op_index index;
    int32_t *next; /* [rank_count]: ops already timed */
} replay_state;

static size_t cell_of(const lcp_schedule *schedule, int32_t stage, int32_t chunk)
{
    return (size_t)stage * (size_t)schedule->chunk_count + (size_t)chunk;
}

static lcp_status allocate(replay_state *s, lcp_error *err)
{
    const lcp_schedule *schedule = s->schedule;
    lcp_replay *out = s->out;
    size_t ranks = (size_t)schedule->rank_count;
    out->rank_first = malloc((ranks + 1) * sizeof *out->rank_first);
    out->busy_seconds = calloc(ranks, sizeof *out->busy_seconds);
    s->next = calloc(ranks, sizeof *s->next);
    if (out->rank_first == NULL || out->busy_seconds == NULL || s->next == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot replay %d ranks", schedule->rank_count);
    }
    out->rank_first[0] = 0;
    for (size_t r = 0; r < ranks; r++) {
        out->rank_first[r + 1] = out->rank_first[r] + schedule->op_count[r];
    }
    out->op_count = out->rank_first[ranks];
    size_t ops = (size_t)out->op_count + 1;
    size_t cells = (size_t)schedule->stage_count * (size_t)schedule->chunk_count;
    out->start_seconds = malloc(ops * sizeof *out->start_seconds);
    out->end_seconds = malloc(ops * sizeof *out->end_seconds);
    out->critical_predecessor = malloc(ops * sizeof *out->critical_predecessor);
    s->index.forward = malloc(3 * cells * sizeof *s->index.forward);
    if (out->start_seconds == NULL || out->end_seconds == NULL || out->critical_predecessor == NULL ||
        s->index.forward == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot replay %lld operations", (long long)out->op_count);
    }
    s->index.backward = s->index.forward + cells;
    s->index.weight_grad = s->index.backward + cells;
    for (size_t i = 0; i < 3 * cells; i++) {
        s->index.forward[i] = -1;
    }
    return LCP_OK;
}

static int64_t *slot_of(const replay_state *s, const lcp_op *op)
{
    size_t cell = cell_of(s->schedule, op->stage, op->chunk);
    switch (op->kind) {
    case LCP_OP_FORWARD:
        return &s->index.forward[cell];
    case LCP_OP_BACKWARD:
    case LCP_OP_INPUT_GRAD:
        return &s->index.backward[cell];
    case LCP_OP_WEIGHT_GRAD:
        return &s->index.weight_grad[cell];
    case LCP_OP_RECOMPUTE:
    case LCP_OP_KIND_COUNT:
        break;
    }
    return NULL;
}

static void build_index(replay_state *s)
{
    for (int32_t r = 0; r < s->schedule->rank_count; r++) {
        for (int32_t i = 0; i < s->schedule->op_count[r]; i++) {
            int64_t *slot = slot_of(s, &s->schedule->ops[r][i]);
            if (slot != NULL) {
                *slot = s->out->rank_first[r] + i;
            }
        }
    }
}

/* A data edge: the op that must have ended, and what the transfer adds. */
typedef struct edge {
    int64_t from; /* -1 = no edge, -2 = the producer does not exist */
    double delay_seconds;
} edge;

static edge edge_from(int64_t index, double delay_seconds)
{
    return (edge){.from = index < 0 ? -2 : index, .delay_seconds = delay_seconds};
}

static double hop(const replay_state *s, int32_t from_stage, int32_t to_stage, int32_t chunk)
{
    bool same = s->schedule->stage_rank[from_stage] == s->schedule->stage_rank[to_stage];
    return same || s->durations->hop_seconds == NULL ? 0 : s->durations->hop_seconds[chunk];
}

/* At most three data edges end at an op; returns how many. */
static int32_t data_edges(const replay_state *s, const lcp_op *op, edge edges[3])
{
    const lcp_schedule *schedule = s->schedule;
    size_t cell = cell_of(schedule, op->stage, op->chunk);
    int32_t count = 0;
    if (op->kind == LCP_OP_FORWARD) {
        if (op->stage > 0) {
            edges[count++] = edge_from(s->index.forward[cell_of(schedule, op->stage - 1, op->chunk)],
                                       hop(s, op->stage - 1, op->stage, op->chunk));
        }
        if (s->links[op->chunk].previous_slice >= 0) {
            edges[count++] =
                edge_from(s->index.forward[cell_of(schedule, op->stage, s->links[op->chunk].previous_slice)], 0);
        }
    } else if (op->kind == LCP_OP_BACKWARD || op->kind == LCP_OP_INPUT_GRAD) {
        edges[count++] = edge_from(s->index.forward[cell], 0);
        if (op->stage + 1 < schedule->stage_count) {
            edges[count++] = edge_from(s->index.backward[cell_of(schedule, op->stage + 1, op->chunk)],
                                       hop(s, op->stage + 1, op->stage, op->chunk));
        }
        if (s->links[op->chunk].next_slice >= 0) {
            edges[count++] =
                edge_from(s->index.backward[cell_of(schedule, op->stage, s->links[op->chunk].next_slice)], 0);
        }
    } else if (op->kind == LCP_OP_WEIGHT_GRAD) {
        edges[count++] = edge_from(s->index.backward[cell], 0);
    } else {
        edges[count++] = edge_from(s->index.forward[cell], 0);
    }
    return count;
}

static double duration_of(const replay_state *s, const lcp_op *op)
{
    size_t cell = cell_of(s->schedule, op->stage, op->chunk);
    switch (op->kind) {
    case LCP_OP_FORWARD:
        return s->durations->forward_seconds[cell];
    case LCP_OP_BACKWARD:
    case LCP_OP_INPUT_GRAD:
        return s->durations->backward_seconds[cell];
    case LCP_OP_WEIGHT_GRAD:
        return s->durations->weight_grad_seconds != NULL ? s->durations->weight_grad_seconds[cell] : 0;
    case LCP_OP_RECOMPUTE:
    case LCP_OP_KIND_COUNT:
        break;
    }
    return 0;
}

static int32_t rank_of(const replay_state *s, int64_t op)
{
    int32_t low = 0;
    int32_t high = s->schedule->rank_count - 1;
    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (op < s->out->rank_first[middle + 1]) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static const lcp_op *op_at(const replay_state *s, int64_t op, int32_t *rank)
{
    *rank = rank_of(s, op);
    return &s->schedule->ops[*rank][op - s->out->rank_first[*rank]];
}

static bool timed(const replay_state *s, int32_t rank, int64_t op)
{
    return op - s->out->rank_first[rank] < s->next[rank];
}

/* Times the next op of a rank if all it waits for has been timed. Returns whether it did; *waits_for gets the first
 * missing producer's stage rank, for waking. */
static bool advance(replay_state *s, int32_t rank)
{
    lcp_replay *out = s->out;
    int64_t at = out->rank_first[rank] + s->next[rank];
    const lcp_op *op = &s->schedule->ops[rank][s->next[rank]];
    double start = s->next[rank] > 0 ? out->end_seconds[at - 1] : 0;
    int64_t critical = s->next[rank] > 0 ? at - 1 : -1;
    edge edges[3];
    int32_t count = data_edges(s, op, edges);
    for (int32_t i = 0; i < count; i++) {
        if (edges[i].from < 0) {
            return false;
        }
        int32_t producer = rank_of(s, edges[i].from);
        if (!timed(s, producer, edges[i].from)) {
            return false;
        }
        double ready = out->end_seconds[edges[i].from] + edges[i].delay_seconds;
        if (ready > start) {
            start = ready;
            critical = edges[i].from;
        }
    }
    double duration = duration_of(s, op);
    out->start_seconds[at] = start;
    out->end_seconds[at] = start + duration;
    out->critical_predecessor[at] = critical;
    out->busy_seconds[rank] += duration;
    s->next[rank]++;
    return true;
}

/* The op that op `at` waits for: a producer not timed yet, or its predecessor in program order. -1 if a producer does
 * not exist at all. */
static int64_t blocker(const replay_state *s, int64_t at)
{
    int32_t rank;
    const lcp_op *op = op_at(s, at, &rank);
    if (at - s->out->rank_first[rank] > s->next[rank]) {
        return at - 1;
    }
    edge edges[3];
    int32_t count = data_edges(s, op, edges);
    for (int32_t i = 0; i < count; i++) {
        if (edges[i].from < 0) {
            return -1;
        }
        if (!timed(s, rank_of(s, edges[i].from), edges[i].from)) {
            return edges[i].from;
        }
    }
    return -1;
}

static void name_op(const replay_state *s, int64_t at, char *text, size_t size)
{
    int32_t rank;
    const lcp_op *op = op_at(s, at, &rank);
    snprintf(text, size, "%s(chunk %d, stage %d) on rank %d", lcp_op_names[op->kind], op->chunk, op->stage, rank);
}

/* Follows blockers until one repeats: that is a cycle. Floyd's two pointers need no memory. */
static lcp_status report_deadlock(const replay_state *s, int32_t stuck_rank, lcp_error *err)
{
    int64_t slow = s->out->rank_first[stuck_rank] + s->next[stuck_rank];
    int64_t fast = slow;
    char text[160];
    do {
        slow = blocker(s, slow);
        int64_t next = fast < 0 ? -1 : blocker(s, fast);
        fast = next < 0 ? -1 : blocker(s, next);
        if (slow < 0 || fast < 0) {
            name_op(s, s->out->rank_first[stuck_rank] + s->next[stuck_rank], text, sizeof text);
            return lcp_fail(err, LCP_FALSE, "schedule", "%s waits for an operation that is nowhere in the schedule",
                            text);
        }
    } while (slow != fast);
    char cycle[900];
    size_t used = 0;
    int64_t at = slow;
    do {
        name_op(s, at, text, sizeof text);
        int written = snprintf(cycle + used, sizeof cycle - used, "%s waits for ", text);
        used = written > 0 && used + (size_t)written < sizeof cycle ? used + (size_t)written : used;
        at = blocker(s, at);
    } while (at != slow && used + sizeof text < sizeof cycle);
    name_op(s, at, text, sizeof text);
    return lcp_fail(err, LCP_FALSE, "schedule", "deadlock: %s%s", cycle, text);
}

static void finish(replay_state *s)
{
    lcp_replay *out = s->out;
    out->last_op = -1;
    for (int32_t r = 0; r < s->schedule->rank_count; r++) {
        int64_t last = out->rank_first[r + 1] - 1;
        if (last < out->rank_first[r]) {
            continue;
        }
        double tail = s->durations->tail_seconds != NULL ? s->durations->tail_seconds[r] : 0;
        double end = out->end_seconds[last] + tail;
        if (out->last_op < 0 || end > out->makespan_seconds) {
            out->makespan_seconds = end;
            out->last_op = last;
        }
    }
}

/* Rounds over the ranks, downwards and upwards in turn: forward passes flow one way, backward passes the other. */
static lcp_status run(replay_state *s, lcp_error *err)
{
    int64_t left = s->out->op_count;
    for (bool upwards = true; left > 0; upwards = !upwards) {
        int64_t before = left;
        for (int32_t i = 0; i < s->schedule->rank_count; i++) {
            int32_t rank = upwards ? i : s->schedule->rank_count - 1 - i;
            while (s->next[rank] < s->schedule->op_count[rank] && advance(s, rank)) {
                left--;
            }
        }
        if (left == before) {
            int32_t stuck = 0;
            while (s->next[stuck] == s->schedule->op_count[stuck]) {
                stuck++;
            }
            return report_deadlock(s, stuck, err);
        }
    }
    return LCP_OK;
}

lcp_status lcp_replay_run(lcp_replay *out, const lcp_schedule *schedule, const lcp_chunk_link *links,
                          const lcp_durations *durations, lcp_error *err)
{
    *out = (lcp_replay){0};
    replay_state s = {.out = out, .schedule = schedule, .links = links, .durations = durations};
    lcp_status status = allocate(&s, err);
    if (status == LCP_OK) {
        build_index(&s);
        status = run(&s, err);
    }
    if (status == LCP_OK) {
        finish(&s);
    } else {
        lcp_replay_dispose(out);
    }
    free(s.next);
    free(s.index.forward);
    return status;
}
