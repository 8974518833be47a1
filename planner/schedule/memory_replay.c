/* Memory of each rank in program order. Peaks depend on the order alone, not on durations. */
#include "lcp/schedule.h"

#include <stdlib.h>

typedef struct level {
    int64_t kept, kv_grad;
} level;

typedef struct memory_state {
    const lcp_schedule *schedule;
    const lcp_chunk_link *links;
    const lcp_memory_input *input;
    level now;
} memory_state;

static bool add(int64_t *sum, int64_t bytes)
{
    return !__builtin_add_overflow(*sum, bytes, sum);
}

/* First chunk of the sequence whose last slice is `chunk`; chunk itself if it is not sliced. */
static int32_t first_slice(const memory_state *m, int32_t chunk)
{
    while (m->links[chunk].previous_slice >= 0) {
        chunk = m->links[chunk].previous_slice;
    }
    return chunk;
}

static bool take_peak(const memory_state *m, int32_t rank, int64_t op, int64_t working, lcp_memory_peak *peak)
{
    int64_t total = m->input->static_bytes[rank];
    if (!add(&total, m->now.kept) || !add(&total, m->now.kv_grad) || !add(&total, working)) {
        return false;
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

/* Allocates what the op needs, looks at the peak, frees what the op is the last to read. */
static bool run_op(memory_state *m, int32_t rank, int64_t at, lcp_memory_peak *peak)
{
    const lcp_op *op = &m->schedule->ops[rank][at];
    size_t row = (size_t)op->stage * (size_t)m->schedule->chunk_count;
    size_t cell = row + (size_t)op->chunk;
    bool backward = op->kind == LCP_OP_BACKWARD || op->kind == LCP_OP_INPUT_GRAD;
    bool ok = true;
    if (op->kind == LCP_OP_FORWARD) {
        ok = add(&m->now.kept, m->input->kept_bytes[cell]);
    } else if (backward && m->links[op->chunk].next_slice < 0) {
        for (int32_t k = first_slice(m, op->chunk); ok && k <= op->chunk; k++) {
            ok = add(&m->now.kv_grad, m->input->kv_grad_bytes[row + (size_t)k]);
        }
    }
    ok = ok && take_peak(m, rank, at, m->input->working_bytes[cell], peak);
    if (backward) {
        m->now.kv_grad -= m->input->kv_grad_bytes[cell];
    }
    if (op->kind == LCP_OP_BACKWARD || op->kind == LCP_OP_WEIGHT_GRAD) {
        m->now.kept -= m->input->kept_bytes[cell];
    }
    return ok;
}

lcp_status lcp_memory_replay(lcp_memory_peak *peaks, const lcp_schedule *schedule, const lcp_chunk_link *links,
                             const lcp_memory_input *input, lcp_error *err)
{
    for (int32_t r = 0; r < schedule->rank_count; r++) {
        memory_state m = {.schedule = schedule, .links = links, .input = input};
        peaks[r] = (lcp_memory_peak){.peak_op = -1};
        for (int32_t i = 0; i < schedule->op_count[r]; i++) {
            if (!run_op(&m, r, i, &peaks[r])) {
                return lcp_fail(err, LCP_INPUT, "memory", "the bytes held by rank %d do not fit into 64 bits", r);
            }
        }
        if (peaks[r].peak_op < 0) {
            peaks[r].peak_bytes = input->static_bytes[r];
        }
    }
    return LCP_OK;
}
