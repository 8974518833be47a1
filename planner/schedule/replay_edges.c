#include "schedule/replay_state.h"

lcp_replay_slot lcp_replay_slot_of(lcp_op_kind kind)
{
    switch (kind) {
    case LCP_OP_FORWARD:
        return LCP_SLOT_FORWARD;
    case LCP_OP_BACKWARD:
    case LCP_OP_INPUT_GRAD:
        return LCP_SLOT_BACKWARD;
    case LCP_OP_WEIGHT_GRAD:
        return LCP_SLOT_WEIGHT_GRAD;
    case LCP_OP_RECOMPUTE:
        return LCP_SLOT_RECOMPUTE;
    case LCP_OP_OFFLOAD:
        return LCP_SLOT_OFFLOAD;
    case LCP_OP_RELOAD:
        return LCP_SLOT_RELOAD;
    case LCP_OP_KIND_COUNT:
        break;
    }
    return LCP_SLOT_COUNT;
}

typedef struct edge_list {
    const lcp_replay_state *s;
    lcp_replay_edge *edges;
    int32_t count;
    int32_t rank; /* of the op the edges end at */
} edge_list;

static int64_t find(const edge_list *l, lcp_replay_slot slot, int32_t stage, int32_t chunk)
{
    return l->s->index[slot][(size_t)stage * (size_t)l->s->schedule->chunk_count + (size_t)chunk];
}

static void add(edge_list *l, int64_t from, double ready_seconds, double on_the_way_seconds)
{
    l->edges[l->count++] = (lcp_replay_edge){from, ready_seconds, on_the_way_seconds};
}

/* From an op of the same rank. */
static void add_local(edge_list *l, lcp_replay_slot slot, int32_t stage, int32_t chunk)
{
    int64_t from = find(l, slot, stage, chunk);
    add(l, from < 0 ? -2 : from, from < 0 ? 0 : l->s->out->end_seconds[from], 0);
}

/* From an op of the same rank, if the schedule has it. */
static void add_if_there(edge_list *l, lcp_replay_slot slot, int32_t stage, int32_t chunk)
{
    if (find(l, slot, stage, chunk) >= 0) {
        add_local(l, slot, stage, chunk);
    }
}

static void add_hop(edge_list *l, lcp_replay_slot slot, int32_t stage, int32_t chunk)
{
    int64_t from = find(l, slot, stage, chunk);
    if (from < 0 || lcp_schedule_rank(l->s->schedule, stage, chunk) == l->rank) {
        add_local(l, slot, stage, chunk);
        return;
    }
    double end = l->s->out->end_seconds[from];
    double arrival = l->s->out->arrival_seconds[from];
    add(l, from, arrival, arrival - end);
}

/* The backward pass of the last stage before head shards: after the collective, or the first shard still missing. */
static void add_head(edge_list *l, int32_t chunk)
{
    const lcp_schedule *schedule = l->s->schedule;
    if (l->s->head_left[chunk] == 0) {
        int64_t last = l->s->head_last[chunk];
        double end = l->s->head_end[chunk];
        add(l, last, end, end - l->s->out->end_seconds[last]);
        return;
    }
    for (int32_t s = schedule->stage_count - schedule->head_shards; s < schedule->stage_count; s++) {
        int64_t shard = find(l, LCP_SLOT_FORWARD, s, chunk);
        if (shard < 0 || !lcp_replay_timed(l->s, shard)) {
            add(l, shard < 0 ? -2 : shard, 0, 0);
            return;
        }
    }
}

static void forward_edges(edge_list *l, const lcp_op *op)
{
    int32_t body = l->s->schedule->stage_count - l->s->schedule->head_shards;
    int32_t before = op->stage < body ? op->stage - 1 : body - 1;
    if (before >= 0) {
        add_hop(l, LCP_SLOT_FORWARD, before, op->chunk);
    }
    if (op->stage < body && l->s->links[op->chunk].previous_slice >= 0) {
        add_local(l, LCP_SLOT_FORWARD, op->stage, l->s->links[op->chunk].previous_slice);
    }
}

static void backward_edges(edge_list *l, const lcp_op *op)
{
    int32_t body = l->s->schedule->stage_count - l->s->schedule->head_shards;
    add_local(l, LCP_SLOT_FORWARD, op->stage, op->chunk);
    if (op->stage + 1 < body) {
        add_hop(l, LCP_SLOT_BACKWARD, op->stage + 1, op->chunk);
    } else if (l->s->schedule->head_shards > 0) {
        add_head(l, op->chunk);
    }
    if (l->s->links[op->chunk].next_slice >= 0) {
        add_local(l, LCP_SLOT_BACKWARD, op->stage, l->s->links[op->chunk].next_slice);
    }
    add_if_there(l, LCP_SLOT_RECOMPUTE, op->stage, op->chunk);
    add_if_there(l, LCP_SLOT_RELOAD, op->stage, op->chunk);
}

int32_t lcp_replay_edges(const lcp_replay_state *s, const lcp_op *op, int32_t rank,
                         lcp_replay_edge edges[LCP_MAX_EDGES])
{
    edge_list l = {.s = s, .edges = edges, .rank = rank};
    bool head_shard = op->stage >= s->schedule->stage_count - s->schedule->head_shards;
    if (op->kind == LCP_OP_FORWARD) {
        forward_edges(&l, op);
    } else if (op->kind == LCP_OP_BACKWARD || op->kind == LCP_OP_INPUT_GRAD) {
        backward_edges(&l, op);
    } else if (op->kind == LCP_OP_WEIGHT_GRAD && head_shard) {
        add_head(&l, op->chunk);
    } else if (op->kind == LCP_OP_WEIGHT_GRAD) {
        add_local(&l, LCP_SLOT_BACKWARD, op->stage, op->chunk);
    } else if (op->kind == LCP_OP_RELOAD) {
        add_local(&l, LCP_SLOT_OFFLOAD, op->stage, op->chunk);
    } else {
        add_local(&l, LCP_SLOT_FORWARD, op->stage, op->chunk);
    }
    return l.count;
}
