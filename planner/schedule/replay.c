/* Price of a schedule: longest path over program order and data edges (Kahn's algorithm). No heap is needed because
 * every queue of a rank is in order: a rank advances until its next op waits for another rank. */
#include "schedule/replay_state.h"

#include <stdlib.h>

void lcp_replay_dispose(lcp_replay *replay)
{
    free(replay->rank_first);
    free(replay->start_seconds);
    free(replay->critical_predecessor);
    free(replay->busy_seconds);
    *replay = (lcp_replay){0};
}

static lcp_status no_memory(lcp_error *err)
{
    return lcp_fail(err, LCP_NOMEM, "", "cannot replay a schedule");
}

static lcp_status allocate_out(lcp_replay *out, const lcp_schedule *schedule, lcp_error *err)
{
    size_t ranks = (size_t)schedule->rank_count;
    out->rank_first = malloc((ranks + 1) * sizeof *out->rank_first);
    out->busy_seconds = calloc(2 * ranks, sizeof *out->busy_seconds);
    if (out->rank_first == NULL || out->busy_seconds == NULL) {
        return no_memory(err);
    }
    out->exposed_seconds = out->busy_seconds + ranks;
    out->rank_first[0] = 0;
    for (size_t r = 0; r < ranks; r++) {
        out->rank_first[r + 1] = out->rank_first[r] + schedule->op_count[r];
    }
    out->op_count = out->rank_first[ranks];
    size_t ops = (size_t)out->op_count + 1;
    out->start_seconds = malloc(3 * ops * sizeof *out->start_seconds);
    out->critical_predecessor = malloc(ops * sizeof *out->critical_predecessor);
    if (out->start_seconds == NULL || out->critical_predecessor == NULL) {
        return no_memory(err);
    }
    out->end_seconds = out->start_seconds + ops;
    out->arrival_seconds = out->end_seconds + ops;
    for (size_t i = 0; i < ops; i++) {
        out->end_seconds[i] = -1;
        out->arrival_seconds[i] = -1;
    }
    return LCP_OK;
}

static lcp_status allocate_state(lcp_replay_state *s, lcp_error *err)
{
    size_t ranks = (size_t)s->schedule->rank_count;
    size_t chunks = s->schedule->head_shards > 0 ? (size_t)s->schedule->chunk_count : 0;
    size_t cells = (size_t)s->schedule->stage_count * (size_t)s->schedule->chunk_count;
    size_t links = s->durations->wire_seconds != NULL ? ranks * ranks : 0;
    s->next = calloc(ranks + chunks, sizeof *s->next);
    s->clock = calloc(3 * ranks + links + chunks, sizeof *s->clock);
    s->index[0] = malloc((LCP_SLOT_COUNT * cells + chunks) * sizeof *s->index[0]);
    if (s->next == NULL || s->clock == NULL || s->index[0] == NULL) {
        return no_memory(err);
    }
    s->to_host = s->clock + ranks;
    s->from_host = s->to_host + ranks;
    s->link_free = links > 0 ? s->from_host + ranks : NULL;
    s->head_end = s->from_host + ranks + links;
    s->head_left = s->next + ranks;
    s->head_last = s->index[0] + LCP_SLOT_COUNT * cells;
    for (size_t slot = 1; slot < LCP_SLOT_COUNT; slot++) {
        s->index[slot] = s->index[0] + slot * cells;
    }
    for (size_t i = 0; i < LCP_SLOT_COUNT * cells; i++) {
        s->index[0][i] = -1;
    }
    for (size_t k = 0; k < chunks; k++) {
        s->head_left[k] = s->schedule->head_shards;
    }
    return LCP_OK;
}

static size_t cell_of(const lcp_replay_state *s, const lcp_op *op)
{
    return (size_t)op->stage * (size_t)s->schedule->chunk_count + (size_t)op->chunk;
}

static void build_index(lcp_replay_state *s)
{
    for (int32_t r = 0; r < s->schedule->rank_count; r++) {
        for (int32_t i = 0; i < s->schedule->op_count[r]; i++) {
            const lcp_op *op = &s->schedule->ops[r][i];
            s->index[lcp_replay_slot_of(op->kind)][cell_of(s, op)] = s->out->rank_first[r] + i;
        }
    }
}

static double duration_of(const lcp_replay_state *s, const lcp_op *op)
{
    const lcp_durations *d = s->durations;
    const double *of_kind[LCP_OP_KIND_COUNT] = {
        [LCP_OP_FORWARD] = d->forward_seconds,
        [LCP_OP_BACKWARD] = d->backward_seconds,
        [LCP_OP_INPUT_GRAD] = d->input_grad_seconds != NULL ? d->input_grad_seconds : d->backward_seconds,
        [LCP_OP_WEIGHT_GRAD] = d->weight_grad_seconds,
        [LCP_OP_RECOMPUTE] = d->recompute_seconds,
        [LCP_OP_OFFLOAD] = d->offload_seconds,
        [LCP_OP_RELOAD] = d->offload_seconds,
    };
    const double *seconds = of_kind[op->kind];
    return seconds != NULL ? seconds[cell_of(s, op)] : 0;
}

/* What a pass waits for, taken into start, *critical and *exposed. False if something has not run yet. */
static bool wait_for_inputs(const lcp_replay_state *s, const lcp_op *op, int32_t rank, double *start, int64_t *critical,
                            double *on_the_way)
{
    lcp_replay_edge edges[LCP_MAX_EDGES];
    int32_t count = lcp_replay_edges(s, op, rank, edges);
    for (int32_t i = 0; i < count; i++) {
        if (edges[i].from < 0 || !lcp_replay_timed(s, edges[i].from)) {
            return false;
        }
        if (edges[i].ready_seconds > *start) {
            *start = edges[i].ready_seconds;
            *critical = edges[i].from;
            *on_the_way = edges[i].on_the_way_seconds;
        }
    }
    return true;
}

/* When the output of a pass is on the rank of the stage that reads it; a link carries one output at a time. */
static void send(lcp_replay_state *s, const lcp_op *op, int32_t rank, int64_t at)
{
    int32_t body = s->schedule->stage_count - s->schedule->head_shards;
    bool forward = op->kind == LCP_OP_FORWARD;
    bool backward = op->kind == LCP_OP_BACKWARD || op->kind == LCP_OP_INPUT_GRAD;
    int32_t to_stage = forward ? op->stage + 1 : op->stage - 1;
    bool inside = forward ? to_stage < body || (op->stage == body - 1 && body < s->schedule->stage_count)
                          : backward && to_stage >= 0;
    if (!inside || op->stage >= body) {
        return;
    }
    int32_t to_rank = lcp_schedule_rank(s->schedule, to_stage, op->chunk);
    if (to_rank == rank && to_stage < body) {
        return;
    }
    double sent = s->out->end_seconds[at];
    if (s->link_free != NULL) {
        double *link = &s->link_free[(size_t)rank * (size_t)s->schedule->rank_count + (size_t)to_rank];
        sent = *link > sent ? *link : sent;
        *link = sent + s->durations->wire_seconds[op->chunk];
    }
    s->out->arrival_seconds[at] = sent + (s->durations->hop_seconds != NULL ? s->durations->hop_seconds[op->chunk] : 0);
}

/* The last head shard of a chunk starts the collective, one after the other. */
static void end_head_shard(lcp_replay_state *s, int32_t chunk, int64_t at)
{
    double end = s->out->end_seconds[at];
    if (end >= s->head_end[chunk]) {
        s->head_end[chunk] = end;
        s->head_last[chunk] = at;
    }
    if (--s->head_left[chunk] == 0) {
        double start = s->head_end[chunk] > s->head_free ? s->head_end[chunk] : s->head_free;
        double reduce = s->durations->head_reduce_seconds != NULL ? s->durations->head_reduce_seconds[chunk] : 0;
        s->head_end[chunk] = start + reduce;
        s->head_free = s->head_end[chunk];
    }
}

static void record(lcp_replay_state *s, int32_t rank, int64_t at, double start, double end, int64_t critical)
{
    const lcp_op *op = &s->schedule->ops[rank][at - s->out->rank_first[rank]];
    s->out->start_seconds[at] = start;
    s->out->end_seconds[at] = end;
    s->out->critical_predecessor[at] = critical;
    s->next[rank]++;
    send(s, op, rank, at);
    if (op->kind == LCP_OP_FORWARD && op->stage >= s->schedule->stage_count - s->schedule->head_shards) {
        end_head_shard(s, op->chunk, at);
    }
}

/* A transfer between device and host: waits on its own queue, not on the rank's. */
static bool transfer(lcp_replay_state *s, int32_t rank, int64_t at, const lcp_op *op)
{
    double *queue = op->kind == LCP_OP_OFFLOAD ? &s->to_host[rank] : &s->from_host[rank];
    double start = s->clock[rank];
    int64_t critical = s->next[rank] > 0 ? at - 1 : -1;
    double unused = 0;
    if (!wait_for_inputs(s, op, rank, &start, &critical, &unused)) {
        return false;
    }
    start = *queue > start ? *queue : start;
    *queue = start + duration_of(s, op);
    record(s, rank, at, start, *queue, critical);
    return true;
}

/* Times the next op of a rank, or the next fused pair, if all it waits for has been timed. */
static bool advance(lcp_replay_state *s, int32_t rank)
{
    int64_t at = s->out->rank_first[rank] + s->next[rank];
    const lcp_op *op = &s->schedule->ops[rank][s->next[rank]];
    if (op->kind == LCP_OP_OFFLOAD || op->kind == LCP_OP_RELOAD) {
        return transfer(s, rank, at, op);
    }
    double start = s->clock[rank];
    double on_the_way = 0;
    int64_t critical = s->next[rank] > 0 ? at - 1 : -1;
    if (!wait_for_inputs(s, op, rank, &start, &critical, &on_the_way) ||
        (op->fused && !wait_for_inputs(s, op + 1, rank, &start, &critical, &on_the_way))) {
        return false;
    }
    double idle = start - s->clock[rank];
    double duration = duration_of(s, op);
    if (op->fused) {
        duration += duration_of(s, op + 1);
        duration *= s->durations->pair_ratio > 0 ? s->durations->pair_ratio : 1;
    }
    s->clock[rank] = start + duration;
    s->out->busy_seconds[rank] += duration;
    s->out->exposed_seconds[rank] += idle < on_the_way ? idle : on_the_way;
    record(s, rank, at, start, s->clock[rank], critical);
    if (op->fused) {
        record(s, rank, at + 1, start, s->clock[rank], critical);
    }
    return true;
}

/* The last pass of a rank, transfers left out; -1 if there is none. */
static int64_t last_pass(const lcp_replay_state *s, int32_t rank)
{
    int32_t i = s->schedule->op_count[rank] - 1;
    while (i >= 0 && s->schedule->ops[rank][i].kind >= LCP_OP_OFFLOAD) {
        i--;
    }
    return i < 0 ? -1 : s->out->rank_first[rank] + i;
}

static void finish(lcp_replay_state *s)
{
    lcp_replay *out = s->out;
    out->last_op = -1;
    for (int32_t r = 0; r < s->schedule->rank_count; r++) {
        int64_t last = last_pass(s, r);
        if (last < 0) {
            continue;
        }
        double tail = s->durations->tail_seconds != NULL ? s->durations->tail_seconds[r] : 0;
        double end = out->end_seconds[last] + tail;
        double span = end - out->start_seconds[out->rank_first[r]];
        out->span_seconds = span > out->span_seconds ? span : out->span_seconds;
        if (out->last_op < 0 || end > out->makespan_seconds) {
            out->makespan_seconds = end;
            out->last_op = last;
        }
    }
}

/* Rounds over the ranks, downwards and upwards in turn: forward passes flow one way, backward passes the other. */
static lcp_status run(lcp_replay_state *s, lcp_error *err)
{
    int64_t left = s->out->op_count;
    for (bool upwards = true; left > 0; upwards = !upwards) {
        int64_t before = left;
        for (int32_t i = 0; i < s->schedule->rank_count; i++) {
            int32_t rank = upwards ? i : s->schedule->rank_count - 1 - i;
            int32_t done = s->next[rank];
            while (s->next[rank] < s->schedule->op_count[rank] && advance(s, rank)) {
            }
            left -= s->next[rank] - done;
        }
        if (left == before) {
            return lcp_replay_report_deadlock(s, err);
        }
    }
    return LCP_OK;
}

lcp_status lcp_replay_run(lcp_replay *out, const lcp_schedule *schedule, const lcp_chunk_link *links,
                          const lcp_durations *durations, lcp_error *err)
{
    *out = (lcp_replay){0};
    lcp_replay_state s = {.out = out, .schedule = schedule, .links = links, .durations = durations};
    lcp_status status = allocate_out(out, schedule, err);
    if (status == LCP_OK) {
        status = allocate_state(&s, err);
    }
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
    free(s.clock);
    free(s.index[0]);
    return status;
}
