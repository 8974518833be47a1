/* 1F1B with the vocabulary layer cut over all ranks (Yeung et al. 2024): on every rank an S pass (logits and the input
 * gradient up to a factor) once the last stage has gone forward, one collective, then the backward pass of the last
 * stage, and a T pass (weight gradient) anywhere after it. S is F of a head shard, T its W. Passes are sorted by the
 * time they have when every stage takes the mean time and the pipeline repeats every F + S + B + T. */
#include "schedule/schedule_internal.h"

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

typedef struct means {
    double forward, backward, shard, weight, hop, reduce;
} means;

static means mean_times(const lcp_schedule_input *input)
{
    means m = {0};
    double passes = (double)input->chunk_count * input->rank_count;
    for (int32_t k = 0; k < input->chunk_count; k++) {
        for (int32_t s = 0; s < input->rank_count; s++) {
            m.forward += lcp_pass_forward_seconds(input, s, k) / passes;
            m.backward += lcp_pass_backward_seconds(input, s, k) / passes;
            m.shard += lcp_pass_forward_seconds(input, input->rank_count + s, k) / passes;
            m.weight += lcp_pass_weight_grad_seconds(input, input->rank_count + s, k) / passes;
        }
        m.hop += lcp_pass_hop_seconds(input, k) / input->chunk_count;
        bool reduced = input->durations != NULL && input->durations->head_reduce_seconds != NULL;
        m.reduce += reduced ? input->durations->head_reduce_seconds[k] / input->chunk_count : 0;
    }
    return m;
}

static void time_rank(timed_op *ops, int32_t rank, const lcp_schedule_input *input, const means *m,
                      const int32_t *backward, int32_t slices)
{
    int32_t ranks = input->rank_count;
    double period = m->forward + m->shard + m->backward + m->weight;
    double at_head = ranks * (m->forward + m->hop);
    double after = at_head + m->shard + m->reduce;
    double up = (ranks - 1 - rank) * (m->backward + m->hop);
    int32_t n = 0;
    for (int32_t i = 0; i < input->chunk_count; i++) {
        double base = i * period;
        double late = (i + slices - 1) * period;
        ops[n] =
            (timed_op){base + rank * (m->forward + m->hop), n, {.kind = LCP_OP_FORWARD, .chunk = i, .stage = rank}};
        n++;
        ops[n] = (timed_op){base + at_head, n, {.kind = LCP_OP_FORWARD, .chunk = i, .stage = ranks + rank}};
        n++;
        ops[n] = (timed_op){late + after + up, n, {.kind = LCP_OP_BACKWARD, .chunk = backward[i], .stage = rank}};
        n++;
        ops[n] =
            (timed_op){base + after + m->backward, n, {.kind = LCP_OP_WEIGHT_GRAD, .chunk = i, .stage = ranks + rank}};
        n++;
    }
    qsort(ops, (size_t)n, sizeof *ops, compare);
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
        means m = mean_times(input);
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
