/* Trace events of one pipeline. Times in microseconds. */
#include "simulation.h"

#include <stdlib.h>

enum { PASSES = 1, SENDS, RECEIVES, TO_HOST, FROM_HOST, THREAD_COUNT };

static const char *const thread_names[THREAD_COUNT] = {
    [PASSES] = "passes", [SENDS] = "sends", [RECEIVES] = "receives", [TO_HOST] = "to host", [FROM_HOST] = "from host"};

const char *lcp_pass_word(lcp_op_kind kind)
{
    static const char *const words[LCP_OP_KIND_COUNT] = {[LCP_OP_FORWARD] = "forward",
                                                         [LCP_OP_BACKWARD] = "backward",
                                                         [LCP_OP_INPUT_GRAD] = "input gradient",
                                                         [LCP_OP_WEIGHT_GRAD] = "weight gradient",
                                                         [LCP_OP_RECOMPUTE] = "recompute",
                                                         [LCP_OP_OFFLOAD] = "offload",
                                                         [LCP_OP_RELOAD] = "reload"};
    return words[kind];
}

typedef struct tracing {
    const lcp_simulated *s;
    json_t *events;
    bool good;
    double *thread_end; /* [rank][THREAD_COUNT]: events of a thread do not overlap */
} tracing;

static void add(tracing *t, json_t *event)
{
    t->good = t->good && event != NULL && json_array_append(t->events, event) == 0;
    json_decref(event);
}

static void add_names(tracing *t)
{
    for (int32_t r = 0; r < t->s->schedule.rank_count; r++) {
        char name[64];
        snprintf(name, sizeof name, "pipeline rank %d", r);
        add(t,
            json_pack("{s:s, s:s, s:i, s:{s:s}}", "name", "process_name", "ph", "M", "pid", r, "args", "name", name));
        add(t, json_pack("{s:s, s:s, s:i, s:{s:i}}", "name", "process_sort_index", "ph", "M", "pid", r, "args",
                         "sort_index", r));
        for (int32_t thread = PASSES; thread < THREAD_COUNT; thread++) {
            add(t, json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "name", "thread_name", "ph", "M", "pid", r, "tid", thread,
                             "args", "name", thread_names[thread]));
            add(t, json_pack("{s:s, s:s, s:i, s:i, s:{s:i}}", "name", "thread_sort_index", "ph", "M", "pid", r, "tid",
                             thread, "args", "sort_index", thread));
        }
    }
}

static void add_slice(tracing *t, int32_t rank, int32_t thread, const char *prefix, const lcp_op *op, double start,
                      double end)
{
    char name[64];
    double *busy = &t->thread_end[rank * THREAD_COUNT + thread];
    start = start > *busy ? start : *busy;
    if (end < start) {
        return;
    }
    *busy = end;
    int32_t chunk = t->s->first_chunk + op->chunk;
    snprintf(name, sizeof name, "%s%s%d", prefix, lcp_op_names[op->kind], chunk);
    add(t, json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:f, s:{s:i, s:i}}", "name", name, "cat", lcp_pass_word(op->kind),
                     "ph", "X", "pid", rank, "tid", thread, "ts", start * 1e6, "dur", (end - start) * 1e6, "args",
                     "chunk", chunk, "stage", op->stage));
}

/* A hop ends on the rank of the stage that reads it. */
static void add_hop(tracing *t, int32_t rank, const lcp_op *op, double start, double end)
{
    int32_t stage = op->kind == LCP_OP_FORWARD ? op->stage + 1 : op->stage - 1;
    add_slice(t, rank, SENDS, "send ", op, start, end);
    add_slice(t, lcp_schedule_rank(&t->s->schedule, stage, op->chunk), RECEIVES, "receive ", op, start, end);
}

static void add_counter(tracing *t, int32_t rank, double seconds, int64_t bytes)
{
    add(t, json_pack("{s:s, s:s, s:i, s:f, s:{s:I}}", "name", "memory", "ph", "C", "pid", rank, "ts", seconds * 1e6,
                     "args", "bytes", (json_int_t)bytes));
}

static void add_rank(tracing *t, int32_t rank)
{
    const lcp_schedule *schedule = &t->s->schedule;
    const lcp_replay *replay = &t->s->replay;
    const lcp_op *ops = schedule->ops[rank];
    add_counter(t, rank, 0, t->s->memory.static_bytes[rank]);
    for (int32_t i = 0; i < schedule->op_count[rank]; i++) {
        int64_t at = replay->rank_first[rank] + i;
        double start = replay->start_seconds[at];
        double end = replay->end_seconds[at];
        if (ops[i].kind == LCP_OP_OFFLOAD || ops[i].kind == LCP_OP_RELOAD) {
            add_slice(t, rank, ops[i].kind == LCP_OP_OFFLOAD ? TO_HOST : FROM_HOST, "", &ops[i], start, end);
            continue;
        }
        if (i > 0 && ops[i - 1].fused) { /* both passes of a pair: one after the other in the picture */
            start = (start + end) / 2;
        }
        add_slice(t, rank, PASSES, "", &ops[i], start, ops[i].fused ? (start + end) / 2 : end);
        add_counter(t, rank, start, t->s->level_bytes[at]);
        if (replay->arrival_seconds[at] >= 0) {
            add_hop(t, rank, &ops[i], end, replay->arrival_seconds[at]);
        }
    }
    add_counter(t, rank, replay->makespan_seconds, t->s->memory.static_bytes[rank]);
}

json_t *lcp_trace_json(const lcp_simulated *simulated)
{
    size_t threads = (size_t)simulated->schedule.rank_count * THREAD_COUNT;
    tracing t = {.s = simulated, .events = json_array(), .thread_end = calloc(threads, sizeof *t.thread_end)};
    t.good = t.events != NULL && t.thread_end != NULL;
    if (t.good) {
        add_names(&t);
    }
    for (int32_t r = 0; t.good && r < simulated->schedule.rank_count; r++) {
        add_rank(&t, r);
    }
    free(t.thread_end);
    json_t *document = t.good ? json_pack("{s:s, s:O}", "displayTimeUnit", "ms", "traceEvents", t.events) : NULL;
    json_decref(t.events);
    return document;
}
