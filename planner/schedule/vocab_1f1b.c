/* 1F1B with the vocabulary layer cut over all ranks (Yeung et al. 2024): on every rank an S pass (logits and the input
 * gradient up to a factor) once the last stage has gone forward, one collective, then the backward pass of the last
 * stage, and a T pass (weight gradient) anywhere after it. S is F of a head shard, T its W.
 *
 * Every rank repeats the slots [F S B T]; the next rank's are shifted by F + S, so that F meets its slot there, and B,
 * shifted by -(B + T), meets its own. Which chunk a slot serves follows from when its inputs are there. */
#include "schedule/schedule_internal.h"

#include <math.h>
#include <stdlib.h>

typedef struct timed_op {
    double seconds;
    int32_t turn; /* ties: the order in which they were made */
    lcp_op op;
} timed_op;

static int compare(const void *a, const void *b)
{
    const timed_op *x = a;
    const timed_op *y = b;
    if (x->seconds < y->seconds || x->seconds > y->seconds) {
        return x->seconds < y->seconds ? -1 : 1;
    }
    return (x->turn > y->turn) - (x->turn < y->turn);
}

/* Mean times; the slots of F with S and of B with T, and the collective. */
typedef struct slots {
    double forward, backward; /* the pass alone */
    double down, up;          /* F and S, B and T, or F and B with a hop if that is longer */
    double period, reduce;
} slots;

static slots mean_slots(const lcp_schedule_input *input)
{
    slots m = {0};
    double shard = 0;
    double weight = 0;
    double hop = 0;
    double passes = (double)input->chunk_count * input->rank_count;
    bool reduced = input->durations != NULL && input->durations->head_reduce_seconds != NULL;
    for (int32_t k = 0; k < input->chunk_count; k++) {
        for (int32_t s = 0; s < input->rank_count; s++) {
            m.forward += lcp_pass_forward_seconds(input, s, k) / passes;
            m.backward += lcp_pass_backward_seconds(input, s, k) / passes;
            shard += lcp_pass_forward_seconds(input, input->rank_count + s, k) / passes;
            weight += lcp_pass_weight_grad_seconds(input, input->rank_count + s, k) / passes;
        }
        hop += lcp_pass_hop_seconds(input, k) / input->chunk_count;
        m.reduce += reduced ? input->durations->head_reduce_seconds[k] / input->chunk_count : 0;
    }
    m.down = m.forward + fmax(shard, hop);
    m.up = m.backward + fmax(weight, hop);
    m.period = m.down + m.up;
    return m;
}

/* The first slot of those at `first`, `first` + period, ... that starts at `ready` or later. */
static double slot_at(double first, double period, double ready)
{
    return first + period * fmax(0, ceil((ready - first) / period - 1e-9));
}

static void time_rank(timed_op *ops, int32_t rank, const lcp_schedule_input *input, const slots *m,
                      const int32_t *backward, int32_t slices)
{
    int32_t ranks = input->rank_count;
    double forward_slot = rank * m->down;
    double at_head = (ranks - 1) * m->down + m->forward;        /* chunk 0 has gone forward */
    double reduced = at_head + m->period + m->down + m->reduce; /* every rank has had a slot for S since */
    double last = slot_at(ranks * m->down, m->period, reduced); /* B of chunk 0 on the last rank */
    double backward_slot = last + (ranks - 1 - rank) * m->up;
    double shard = slot_at(forward_slot + m->forward, m->period, at_head);
    double from_last = floor((backward_slot - last) / m->period + 1e-9) * m->period;
    double weight = backward_slot - from_last + m->backward; /* the first T slot after the collective */
    for (int32_t i = 0, n = 0; i < input->chunk_count; i++) {
        double base = i * m->period;
        double late = (i + slices - 1) * m->period;
        const timed_op of_chunk[] = {
            {base + forward_slot, 0, {.kind = LCP_OP_FORWARD, .chunk = i, .stage = rank}},
            {base + shard, 1, {.kind = LCP_OP_FORWARD, .chunk = i, .stage = ranks + rank}},
            {late + backward_slot, 2, {.kind = LCP_OP_BACKWARD, .chunk = backward[i], .stage = rank}},
            {base + weight, 3, {.kind = LCP_OP_WEIGHT_GRAD, .chunk = i, .stage = ranks + rank}},
        };
        for (size_t j = 0; j < sizeof of_chunk / sizeof of_chunk[0]; j++, n++) {
            ops[n] = of_chunk[j];
            ops[n].turn += 4 * i;
        }
    }
    qsort(ops, 4 * (size_t)input->chunk_count, sizeof *ops, compare);
}

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    int32_t n = input->chunk_count;
    timed_op *ops = malloc(4 * (size_t)n * sizeof *ops);
    int32_t *backward = malloc((size_t)n * sizeof *backward);
    lcp_status status = lcp_schedule_allocate(out, input, 1, input->rank_count, 4 * (int64_t)n, err);
    if (status == LCP_OK && (ops == NULL || backward == NULL)) {
        lcp_schedule_dispose(out);
        status = lcp_fail(err, LCP_NOMEM, "", "cannot order %d chunks", n);
    }
    if (status == LCP_OK) {
        slots m = mean_slots(input);
        int32_t slices = lcp_schedule_backward_order(backward, input);
        for (int32_t r = 0; r < input->rank_count; r++) {
            time_rank(ops, r, input, &m, backward, slices);
            for (int32_t i = 0; i < 4 * n; i++) {
                lcp_schedule_append(out, r, ops[i].op.kind, ops[i].op.chunk, ops[i].op.stage);
            }
        }
    }
    free(ops);
    free(backward);
    return status;
}

const lcp_schedule_kind lcp_schedule_vocab_1f1b = {
    .name = "vocab-1f1b",
    .help = "1F1B with the vocabulary layer cut over all ranks and one collective a chunk",
    .needs = "a vocabulary that p divides; passes for the shards of the head; rank r keeps one chunk more than in 1f1b",
    .synchronous = true,
    .unsupported = lcp_schedule_refuse_virtual,
    .build = build,
};
