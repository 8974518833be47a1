#include "schedule/backfill.h"

#include <math.h>
#include <stdlib.h>

typedef struct rank_state {
    lcp_op *ops;   /* the order given */
    int32_t *next; /* [count + 1]: list of those left, next[count] = first */
    int32_t count, done;
    double free_seconds, decide_seconds;
    int64_t used_bytes;
    bool waiting;
} rank_state;

typedef struct filling {
    lcp_schedule *schedule;
    const lcp_schedule_input *input;
    const int64_t *limit_bytes;
    const lcp_backfill_rule *rule;
    rank_state *ranks;
    double *forward_end, *backward_end, *weight_end; /* [stage][chunk], < 0 before */
} filling;

static size_t cell_of(const filling *f, int32_t stage, int32_t chunk)
{
    return (size_t)stage * (size_t)f->schedule->chunk_count + (size_t)chunk;
}

static double from_stage(const filling *f, const double *end, int32_t stage, int32_t chunk, int32_t rank)
{
    double seconds = end[cell_of(f, stage, chunk)];
    if (seconds < 0) {
        return HUGE_VAL;
    }
    return f->schedule->stage_rank[stage] == rank ? seconds : seconds + lcp_pass_hop_seconds(f->input, chunk);
}

static double after(double ready, const double *end, size_t cell)
{
    return end[cell] < 0 ? HUGE_VAL : fmax(ready, end[cell]);
}

/* When everything that a pass reads is there; HUGE_VAL if that is not known yet. */
static double ready_forwards(const filling *f, const lcp_op *op, int32_t rank)
{
    const lcp_chunk_link *link = &f->input->links[op->chunk];
    if (op->kind == LCP_OP_FORWARD) {
        double ready = op->stage == 0 ? 0 : from_stage(f, f->forward_end, op->stage - 1, op->chunk, rank);
        return link->previous_slice < 0 ? ready
                                        : after(ready, f->forward_end, cell_of(f, op->stage, link->previous_slice));
    }
    if (op->kind == LCP_OP_WEIGHT_GRAD) {
        return after(0, f->backward_end, cell_of(f, op->stage, op->chunk));
    }
    double ready = after(0, f->forward_end, cell_of(f, op->stage, op->chunk));
    if (op->stage + 1 < f->schedule->stage_count) {
        ready = fmax(ready, from_stage(f, f->backward_end, op->stage + 1, op->chunk, rank));
    }
    return link->next_slice < 0 ? ready : after(ready, f->backward_end, cell_of(f, op->stage, link->next_slice));
}

/* The same with time running backwards: what reads the pass has run. */
static double ready_backwards(const filling *f, const lcp_op *op, int32_t rank)
{
    const lcp_chunk_link *link = &f->input->links[op->chunk];
    if (op->kind == LCP_OP_WEIGHT_GRAD) {
        return 0;
    }
    if (op->kind == LCP_OP_FORWARD) {
        double ready = after(0, f->backward_end, cell_of(f, op->stage, op->chunk));
        if (op->stage + 1 < f->schedule->stage_count) {
            ready = fmax(ready, from_stage(f, f->forward_end, op->stage + 1, op->chunk, rank));
        }
        return link->next_slice < 0 ? ready : after(ready, f->forward_end, cell_of(f, op->stage, link->next_slice));
    }
    double ready = op->stage == 0 ? 0 : from_stage(f, f->backward_end, op->stage - 1, op->chunk, rank);
    if (op->kind == LCP_OP_INPUT_GRAD) {
        ready = after(ready, f->weight_end, cell_of(f, op->stage, op->chunk));
    }
    return link->previous_slice < 0 ? ready
                                    : after(ready, f->backward_end, cell_of(f, op->stage, link->previous_slice));
}

static double ready_of(const filling *f, const lcp_op *op, int32_t rank)
{
    return f->rule->reversed ? ready_backwards(f, op, rank) : ready_forwards(f, op, rank);
}

static double duration_of(const filling *f, const lcp_op *op)
{
    if (op->kind == LCP_OP_FORWARD) {
        return lcp_pass_forward_seconds(f->input, op->stage, op->chunk);
    }
    if (op->kind == LCP_OP_WEIGHT_GRAD) {
        return lcp_pass_weight_grad_seconds(f->input, op->stage, op->chunk);
    }
    return op->kind == LCP_OP_BACKWARD ? lcp_pass_backward_seconds(f->input, op->stage, op->chunk)
                                       : lcp_pass_input_grad_seconds(f->input, op->stage, op->chunk);
}

/* What a pass adds to what its rank keeps, negative after a backward pass. */
static int64_t change_of(const lcp_schedule_input *input, const lcp_op *op)
{
    int64_t kept = lcp_pass_kept_bytes(input, op->stage, op->chunk);
    int64_t held = lcp_pass_held_bytes(input, op->stage, op->chunk);
    switch (op->kind) {
    case LCP_OP_FORWARD:
        return kept;
    case LCP_OP_BACKWARD:
        return -kept;
    case LCP_OP_INPUT_GRAD:
        return held - kept;
    case LCP_OP_WEIGHT_GRAD:
        return -held;
    case LCP_OP_RECOMPUTE:
    case LCP_OP_OFFLOAD:
    case LCP_OP_RELOAD:
    case LCP_OP_KIND_COUNT:
        break;
    }
    return 0;
}

int64_t lcp_schedule_peak_kept(const lcp_schedule *schedule, const lcp_schedule_input *input, int32_t rank)
{
    int64_t now = 0;
    int64_t peak = 0;
    for (int32_t i = 0; i < schedule->op_count[rank]; i++) {
        now += change_of(input, &schedule->ops[rank][i]);
        peak = now > peak ? now : peak;
    }
    return peak;
}

static int64_t signed_change(const filling *f, const lcp_op *op)
{
    int64_t change = change_of(f->input, op);
    return f->rule->reversed ? -change : change;
}

/* The best candidate of a rank now: index into its ops, and what comes later. */
typedef struct choice {
    int32_t before;        /* list element before the pass to run, -1 = none */
    int32_t weight_before; /* the same for the first weight gradient */
    double turn_seconds;   /* when the pass whose turn it is will be ready; HUGE_VAL: not known */
    double next_seconds;
} choice;

/* Looks along the order. `highest` is the peak of the passes skipped so far if nothing else were kept. */
static choice look(const filling *f, int32_t r, double now)
{
    const rank_state *rank = &f->ranks[r];
    choice c = {.before = -1, .weight_before = -1, .turn_seconds = -1, .next_seconds = HUGE_VAL};
    double just_now = now + 1e-12 * now;
    int64_t level = rank->used_bytes;
    int64_t highest = level;
    int32_t before = rank->count;
    for (int32_t j = 0; j < f->rule->window && rank->next[before] < rank->count; j++) {
        int32_t at = rank->next[before];
        const lcp_op *op = &rank->ops[at];
        int64_t change = signed_change(f, op);
        bool fits = change <= 0 || highest + change <= f->limit_bytes[r];
        double ready = fits ? ready_of(f, op, r) : HUGE_VAL;
        bool weight = op->kind == LCP_OP_WEIGHT_GRAD && !f->rule->reversed;
        if (weight && c.weight_before < 0 && ready <= just_now) {
            c.weight_before = before;
        } else if (!weight && ready <= just_now) {
            c.before = before;
            c.turn_seconds = c.turn_seconds < 0 ? now : c.turn_seconds;
            return c;
        } else if (!weight) {
            c.next_seconds = fmin(c.next_seconds, ready);
            c.turn_seconds = c.turn_seconds < 0 ? ready : c.turn_seconds;
        }
        level += change;
        highest = level > highest ? level : highest;
        before = at;
    }
    return c;
}

static void set_decision(filling *f, int32_t r)
{
    rank_state *rank = &f->ranks[r];
    if (rank->done == rank->count) {
        rank->decide_seconds = HUGE_VAL;
        return;
    }
    choice c = look(f, r, rank->free_seconds);
    bool now = c.before >= 0 || (c.weight_before >= 0 && (!rank->waiting || c.next_seconds == HUGE_VAL));
    rank->decide_seconds = now ? rank->free_seconds : c.next_seconds;
}

static void run_pass(filling *f, int32_t r, int32_t before, double now)
{
    rank_state *rank = &f->ranks[r];
    int32_t at = rank->next[before];
    const lcp_op *op = &rank->ops[at];
    size_t cell = cell_of(f, op->stage, op->chunk);
    rank->next[before] = rank->next[at];
    f->schedule->ops[r][f->rule->reversed ? rank->count - 1 - rank->done : rank->done] = *op;
    rank->done++;
    rank->used_bytes += signed_change(f, op);
    rank->free_seconds = now + duration_of(f, op);
    rank->waiting = false;
    double *end = op->kind == LCP_OP_FORWARD       ? f->forward_end
                  : op->kind == LCP_OP_WEIGHT_GRAD ? f->weight_end
                                                   : f->backward_end;
    end[cell] = rank->free_seconds;
    int32_t reader = (op->kind == LCP_OP_FORWARD) != f->rule->reversed ? op->stage + 1 : op->stage - 1;
    if (op->kind != LCP_OP_WEIGHT_GRAD && reader >= 0 && reader < f->schedule->stage_count) {
        set_decision(f, f->schedule->stage_rank[reader]);
    }
}

static void decide(filling *f, int32_t r)
{
    rank_state *rank = &f->ranks[r];
    double now = fmax(rank->free_seconds, rank->decide_seconds);
    choice c = look(f, r, now);
    if (c.before >= 0 && c.turn_seconds > now && c.turn_seconds < HUGE_VAL) {
        double duration = duration_of(f, &rank->ops[rank->next[c.before]]);
        if (now + duration > c.turn_seconds + f->rule->late_ratio * duration) {
            c.before = -1;
            c.next_seconds = c.turn_seconds;
        }
    }
    if (c.before >= 0) {
        run_pass(f, r, c.before, now);
    } else if (c.weight_before >= 0 &&
               c.next_seconds - now >= f->rule->fill_ratio * duration_of(f, &rank->ops[rank->next[c.weight_before]])) {
        run_pass(f, r, c.weight_before, now);
    } else {
        rank->waiting = true;
        rank->free_seconds = now;
        rank->decide_seconds = c.next_seconds;
        return;
    }
    set_decision(f, r);
}

static void run(filling *f)
{
    int32_t ranks = f->schedule->rank_count;
    for (int32_t r = 0; r < ranks; r++) {
        set_decision(f, r);
    }
    for (;;) {
        int32_t next = 0;
        for (int32_t r = 1; r < ranks; r++) {
            next = f->ranks[r].decide_seconds < f->ranks[next].decide_seconds ? r : next;
        }
        if (f->ranks[next].decide_seconds == HUGE_VAL) {
            return;
        }
        decide(f, next);
    }
}

static bool take_order(filling *f)
{
    for (int32_t r = 0; r < f->schedule->rank_count; r++) {
        size_t count = (size_t)f->schedule->op_count[r];
        rank_state *rank = &f->ranks[r];
        rank->count = f->schedule->op_count[r];
        rank->ops = malloc((count + 1) * sizeof *rank->ops);
        rank->next = malloc((count + 1) * sizeof *rank->next);
        if (rank->ops == NULL || rank->next == NULL) {
            return false;
        }
        for (int32_t i = 0; i < rank->count; i++) {
            rank->ops[i] = f->schedule->ops[r][f->rule->reversed ? rank->count - 1 - i : i];
            rank->next[i] = i + 1;
        }
        rank->next[count] = count > 0 ? 0 : rank->count;
    }
    return true;
}

lcp_status lcp_backfill(lcp_schedule *schedule, const lcp_schedule_input *input, const int64_t *limit_bytes,
                        const lcp_backfill_rule *rule, lcp_error *err)
{
    size_t cells = (size_t)schedule->stage_count * (size_t)schedule->chunk_count;
    filling f = {.schedule = schedule, .input = input, .limit_bytes = limit_bytes, .rule = rule};
    f.ranks = calloc((size_t)schedule->rank_count, sizeof *f.ranks);
    f.forward_end = malloc(3 * cells * sizeof *f.forward_end);
    bool complete = f.ranks != NULL && f.forward_end != NULL && take_order(&f);
    if (complete) {
        f.backward_end = f.forward_end + cells;
        f.weight_end = f.backward_end + cells;
        for (size_t i = 0; i < 3 * cells; i++) {
            f.forward_end[i] = -1;
        }
        run(&f);
    }
    for (int32_t r = 0; f.ranks != NULL && r < schedule->rank_count; r++) {
        free(f.ranks[r].ops);
        free(f.ranks[r].next);
    }
    free(f.ranks);
    free(f.forward_end);
    return complete ? LCP_OK : lcp_fail(err, LCP_NOMEM, "", "cannot improve an order");
}
