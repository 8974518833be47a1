/* DualPipe's order (github.com/deepseek-ai/DualPipe) as counts of passes: with H = half the stages of a way, q = the
 * distance from its near end and n chunks a phase
 *   1  2(H-q-1) x F0            2  (q+1) x {F0, F1}         3  (H-q-1) x {I1, W, F1}
 *   4  (n-2H+q+1) x {F0&B1, F1&B0}
 *   5  (H-q-1) x {B1, F1&B0}    6  (q+1) x {B1, B0}, the second half as I   7  (H-q-1) x {W, I0}   8  (q+1) x W
 * where & is a fused pair; W takes the oldest weight gradient that waits. */
#include "schedule/dualpipe_steps.h"

#include <stdlib.h>

typedef struct cell {
    int32_t chunk, stage;
} cell;

typedef struct writer {
    lcp_schedule *out;
    lcp_dual_rank *r;
    cell *waiting; /* weight gradients in the order of their I */
    int32_t waiting_count, written_count;
} writer;

static void forward(writer *w, int32_t phase)
{
    lcp_dual_phase *p = &w->r->phase[phase];
    lcp_schedule_append(w->out, w->r->rank, LCP_OP_FORWARD, p->first_chunk + p->forward++ * p->chunk_step, p->stage);
}

static void backward(writer *w, int32_t phase, bool split)
{
    lcp_dual_phase *p = &w->r->phase[phase];
    int32_t chunk = p->first_chunk + p->backward++ * p->chunk_step;
    lcp_schedule_append(w->out, w->r->rank, split ? LCP_OP_INPUT_GRAD : LCP_OP_BACKWARD, chunk, p->stage);
    if (split) {
        w->waiting[w->waiting_count++] = (cell){chunk, p->stage};
    }
}

static void weight(writer *w)
{
    if (w->written_count < w->waiting_count) {
        cell c = w->waiting[w->written_count++];
        lcp_schedule_append(w->out, w->r->rank, LCP_OP_WEIGHT_GRAD, c.chunk, c.stage);
    }
}

static void pair(writer *w, int32_t forward_phase, bool fused)
{
    forward(w, forward_phase);
    w->out->ops[w->r->rank][w->out->op_count[w->r->rank] - 1].fused = fused;
    backward(w, 1 - forward_phase, false);
}

static void warm_up(writer *w, int32_t far, int32_t near)
{
    for (int32_t i = 0; i < 2 * far; i++) {
        forward(w, 0);
    }
    for (int32_t i = 0; i < near + 1; i++) {
        forward(w, 0);
        forward(w, 1);
    }
    for (int32_t i = 0; i < far; i++) {
        backward(w, 1, true);
        weight(w);
        forward(w, 1);
    }
}

static void cool_down(writer *w, int32_t far, int32_t near)
{
    for (int32_t i = 0; i < far; i++) {
        backward(w, 1, false);
        pair(w, 1, true);
    }
    bool split = false;
    for (int32_t i = 0; i < near + 1; i++) {
        bool turn = i == (near + 1) / 2;
        split = split || (turn && near % 2 == 1);
        backward(w, 1, split);
        split = split || (turn && near % 2 == 0);
        backward(w, 0, split);
    }
    for (int32_t i = 0; i < far; i++) {
        weight(w);
        backward(w, 0, true);
    }
    for (int32_t i = 0; i < near + 1; i++) {
        weight(w);
    }
}

lcp_status lcp_dualpipe_fill(lcp_schedule *out, lcp_dual_rank *rank, lcp_error *err)
{
    writer w = {.out = out, .r = rank, .waiting = malloc(2 * (size_t)rank->chunks * sizeof *w.waiting)};
    if (w.waiting == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot order %d chunks", rank->chunks);
    }
    int32_t far = rank->half - rank->near - 1;
    warm_up(&w, far, rank->near);
    for (int32_t i = 0; i < rank->chunks - 2 * rank->half + rank->near + 1; i++) {
        pair(&w, 0, i > 0 || far > 0); /* in the middle of the way the first pair would wait for itself */
        pair(&w, 1, true);
    }
    cool_down(&w, far, rank->near);
    free(w.waiting);
    return LCP_OK;
}
