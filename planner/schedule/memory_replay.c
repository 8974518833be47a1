/* Memory of each rank in program order. Without transfers to host memory the peaks depend on the order alone. */
#include "lcp/schedule.h"

#include <stdlib.h>

typedef struct level {
    int64_t kept, kv_grad;
} level;

typedef struct memory_state {
    const lcp_schedule *schedule;
    const lcp_chunk_link *links;
    const lcp_memory_input *input;
    const lcp_replay *replay; /* NULL: nothing is offloaded */
    int64_t *level_bytes;     /* of this rank's ops, or NULL */
    int32_t rank;
    int32_t offloads, reloads; /* transfers looked at so far: index of the next op that may be one */
    level now;
} memory_state;

static bool add(int64_t *sum, int64_t bytes)
{
    return !__builtin_add_overflow(*sum, bytes, sum);
}

static size_t cell_of(const memory_state *m, const lcp_op *op)
{
    return (size_t)op->stage * (size_t)m->schedule->chunk_count + (size_t)op->chunk;
}

/* First chunk of the sequence whose last slice is `chunk`; chunk itself if it is not sliced. */
static int32_t first_slice(const memory_state *m, int32_t chunk)
{
    while (m->links[chunk].previous_slice >= 0) {
        chunk = m->links[chunk].previous_slice;
    }
    return chunk;
}

static bool take_peak(const memory_state *m, int64_t op, int64_t working, lcp_memory_peak *peak)
{
    int64_t total = m->input->static_bytes[m->rank];
    if (!add(&total, m->now.kept) || !add(&total, m->now.kv_grad) || !add(&total, working)) {
        return false;
    }
    if (m->level_bytes != NULL) {
        m->level_bytes[op] = total;
    }
    if (peak->peak_op < 0 || total > peak->peak_bytes) {
        *peak = (lcp_memory_peak){.peak_bytes = total,
                                  .peak_op = op,
                                  .kept_bytes = m->now.kept,
                                  .kv_grad_bytes = m->now.kv_grad,
                                  .working_bytes = working};
    }
    return true;
}

/* Transfers that have ended before `start` free, those that start before `end` allocate. Queues are in order. */
static bool run_transfers(memory_state *m, double start, double end)
{
    const lcp_op *ops = m->schedule->ops[m->rank];
    int64_t first = m->replay->rank_first[m->rank];
    for (; m->offloads < m->schedule->op_count[m->rank]; m->offloads++) {
        if (ops[m->offloads].kind != LCP_OP_OFFLOAD) {
            continue;
        }
        if (m->replay->end_seconds[first + m->offloads] > start) {
            break;
        }
        m->now.kept -= m->input->kept_bytes[cell_of(m, &ops[m->offloads])];
    }
    for (; m->reloads < m->schedule->op_count[m->rank]; m->reloads++) {
        if (ops[m->reloads].kind != LCP_OP_RELOAD) {
            continue;
        }
        if (m->replay->start_seconds[first + m->reloads] >= end) {
            break;
        }
        if (!add(&m->now.kept, m->input->kept_bytes[cell_of(m, &ops[m->reloads])])) {
            return false;
        }
    }
    return true;
}

static bool allocate_for(memory_state *m, const lcp_op *op)
{
    size_t row = (size_t)op->stage * (size_t)m->schedule->chunk_count;
    if (op->kind == LCP_OP_FORWARD) {
        return add(&m->now.kept, m->input->kept_bytes[row + (size_t)op->chunk]);
    }
    if (op->kind == LCP_OP_RECOMPUTE && m->input->again_bytes != NULL) {
        return add(&m->now.kept, m->input->again_bytes[row + (size_t)op->chunk]);
    }
    bool backward = op->kind == LCP_OP_BACKWARD || op->kind == LCP_OP_INPUT_GRAD;
    bool ok = true;
    if (backward && m->input->kv_grad_bytes != NULL && m->links[op->chunk].next_slice < 0) {
        for (int32_t k = first_slice(m, op->chunk); ok && k <= op->chunk; k++) {
            ok = add(&m->now.kv_grad, m->input->kv_grad_bytes[row + (size_t)k]);
        }
    }
    return ok;
}

static void free_after(memory_state *m, const lcp_op *op, bool recomputed)
{
    size_t cell = cell_of(m, op);
    int64_t kept = m->input->kept_bytes[cell];
    int64_t held = m->input->held_bytes != NULL ? m->input->held_bytes[cell] : kept;
    bool head_shard = op->stage >= m->schedule->stage_count - m->schedule->head_shards;
    bool backward = op->kind == LCP_OP_BACKWARD || op->kind == LCP_OP_INPUT_GRAD;
    if (backward && m->input->kv_grad_bytes != NULL) {
        m->now.kv_grad -= m->input->kv_grad_bytes[cell];
    }
    if (op->kind == LCP_OP_BACKWARD || (op->kind == LCP_OP_WEIGHT_GRAD && head_shard)) {
        m->now.kept -= kept;
    } else if (op->kind == LCP_OP_INPUT_GRAD) {
        m->now.kept -= kept - held;
    } else if (op->kind == LCP_OP_WEIGHT_GRAD) {
        m->now.kept -= held;
    }
    bool last = op->kind == LCP_OP_BACKWARD || op->kind == LCP_OP_WEIGHT_GRAD;
    if (last && recomputed && m->input->again_bytes != NULL) {
        m->now.kept -= m->input->again_bytes[cell];
    }
}

/* Allocates what the op needs, looks at the peak, frees what the op is the last to read. */
static bool run_op(memory_state *m, int64_t at, bool recomputed, lcp_memory_peak *peak)
{
    const lcp_op *op = &m->schedule->ops[m->rank][at];
    if (op->kind == LCP_OP_OFFLOAD || op->kind == LCP_OP_RELOAD) {
        if (m->level_bytes != NULL) {
            m->level_bytes[at] = at > 0 ? m->level_bytes[at - 1] : m->input->static_bytes[m->rank];
        }
        return true;
    }
    bool ok = allocate_for(m, op);
    if (ok && m->replay != NULL) {
        int64_t first = m->replay->rank_first[m->rank];
        ok = run_transfers(m, m->replay->start_seconds[first + at], m->replay->end_seconds[first + at]);
    }
    ok = ok && take_peak(m, at, m->input->working_bytes != NULL ? m->input->working_bytes[cell_of(m, op)] : 0, peak);
    free_after(m, op, recomputed);
    return ok;
}

static bool has_recompute(const lcp_schedule *schedule, int32_t rank)
{
    for (int32_t i = 0; i < schedule->op_count[rank]; i++) {
        if (schedule->ops[rank][i].kind == LCP_OP_RECOMPUTE) {
            return true;
        }
    }
    return false;
}

lcp_status lcp_memory_replay_timed(lcp_memory_peak *peaks, int64_t *level_bytes, const lcp_schedule *schedule,
                                   const lcp_chunk_link *links, const lcp_memory_input *input, const lcp_replay *replay,
                                   lcp_error *err)
{
    for (int32_t r = 0; r < schedule->rank_count; r++) {
        memory_state m = {.schedule = schedule, .links = links, .input = input, .replay = replay, .rank = r};
        m.level_bytes = level_bytes;
        bool recomputed = has_recompute(schedule, r);
        peaks[r] = (lcp_memory_peak){.peak_op = -1};
        for (int32_t i = 0; i < schedule->op_count[r]; i++) {
            if (!run_op(&m, i, recomputed, &peaks[r])) {
                return lcp_fail(err, LCP_INPUT, "memory", "the bytes held by rank %d do not fit into 64 bits", r);
            }
        }
        if (peaks[r].peak_op < 0) {
            peaks[r].peak_bytes = input->static_bytes[r];
        }
        level_bytes = level_bytes != NULL ? level_bytes + schedule->op_count[r] : NULL;
    }
    return LCP_OK;
}

lcp_status lcp_memory_replay(lcp_memory_peak *peaks, const lcp_schedule *schedule, const lcp_chunk_link *links,
                             const lcp_memory_input *input, lcp_error *err)
{
    return lcp_memory_replay_timed(peaks, NULL, schedule, links, input, NULL, err);
}
