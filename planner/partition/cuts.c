/* Rows of the master program: paths, memory, coupling; and the search for those that a solution breaks. */
#include "partition/master.h"

#include <math.h>
#include <stdlib.h>

#define TOLERANCE 1e-6 /* above that of the simplex, or a row is found broken again and again */

static size_t r_at(const lcp_view *v, int32_t chunk, int32_t stage, int32_t layer_class)
{
    return (((size_t)chunk * (size_t)v->stages + (size_t)stage) * (size_t)v->classes + (size_t)layer_class) *
           LCP_RECOMPUTE_COUNT;
}

static bool has_end(const lcp_view *v, int32_t stage, int32_t end)
{
    return end == 0 ? stage == 0 : stage == v->stages - 1;
}

/* Adds the seconds of one op to a row under construction; returns its constant part. */
static double add_op(lcp_master *m, int32_t row, const lcp_path_step *step)
{
    const lcp_view *v = m->view;
    bool forward = step->kind == LCP_OP_FORWARD;
    double constant = v->overhead_seconds + (step->hop ? v->tables->hop_seconds[step->chunk] : 0);
    for (int32_t end = 0; end < 2; end++) {
        if (has_end(v, step->stage, end)) {
            constant += forward ? v->end_forward[end][step->chunk] : v->end_backward[end][step->chunk];
        }
    }
    for (int32_t c = 0; c < v->classes; c++) {
        size_t cell = lcp_view_cell(v, step->chunk, c);
        double seconds = forward ? v->forward[cell] : v->backward[cell];
        lcp_lp_set(m->lp, row, m->n[step->stage * v->classes + c], -seconds / m->scale_seconds);
        for (size_t q = 0; !forward && q < LCP_RECOMPUTE_COUNT; q++) {
            int32_t column = m->r[r_at(v, step->chunk, step->stage, c) + q];
            if (column >= 0) {
                lcp_lp_set(m->lp, row, column, -v->extra_seconds[cell * LCP_RECOMPUTE_COUNT + q] / m->scale_seconds);
            }
        }
    }
    return constant;
}

void lcp_master_add_path(lcp_master *master, const lcp_path_step *steps, int64_t count, bool with_tail)
{
    const lcp_view *v = master->view;
    double constant = 0;
    int32_t row = lcp_lp_add_row(master->lp, "path", 0, LCP_LP_INFINITY);
    lcp_lp_set(master->lp, row, master->makespan, 1);
    for (int64_t i = 0; i < count; i++) {
        constant += add_op(master, row, &steps[i]);
    }
    int32_t last = steps[count - 1].stage;
    for (int32_t c = 0; with_tail && c < v->classes; c++) {
        lcp_lp_set(master->lp, row, master->n[last * v->classes + c], -v->step_seconds[c] / master->scale_seconds);
    }
    for (int32_t end = 0; with_tail && end < 2; end++) {
        constant += has_end(v, last, end) ? v->end_step_seconds[end] : 0;
    }
    lcp_lp_set_row_bounds(master->lp, row, constant / master->scale_seconds, LCP_LP_INFINITY);
}

/* Smallest working bytes over the layer classes: which classes a stage holds is not known yet. */
static double least_working(const lcp_view *v, int32_t stage, int32_t chunk)
{
    const int32_t none[LCP_MAX_LAYER_CLASSES] = {0};
    double least = HUGE_VAL;
    for (int32_t c = 0; c < v->classes; c++) {
        least = fmin(least, (double)v->tables->layers[lcp_view_cell(v, chunk, c)].working_bytes);
    }
    return fmax(least, (double)lcp_view_working(v, stage, chunk, none));
}

static double resident_ends(const lcp_view *v, int32_t stage)
{
    double bytes = (double)v->fixed_bytes;
    for (int32_t end = 0; end < 2; end++) {
        bytes += has_end(v, stage, end) ? (double)v->end_static_bytes[end] : 0;
    }
    return bytes;
}

/* From the start of the backward pass of the last slice of its sequence to the end of its own. */
static bool kv_gradient_exists(const lcp_view *v, int32_t stage, int32_t chunk, int32_t at)
{
    const int32_t *backward_at = &v->backward_at[(size_t)stage * (size_t)v->chunks];
    int32_t last = chunk;
    while (v->tables->links[last].next_slice >= 0) {
        last = v->tables->links[last].next_slice;
    }
    return backward_at[last] <= at && backward_at[chunk] >= at;
}

void lcp_master_add_memory(lcp_master *master, int32_t stage, int32_t at)
{
    const lcp_view *v = master->view;
    const lcp_op *op = &v->tables->schedule.ops[stage][at];
    const double scale = master->scale_bytes;
    double constant = resident_ends(v, stage) + least_working(v, stage, op->chunk);
    int32_t row = lcp_lp_add_row(master->lp, "memory", -LCP_LP_INFINITY, 0);
    size_t places = (size_t)stage * (size_t)v->chunks;
    for (int32_t c = 0; c < v->classes; c++) {
        double per_layer = (double)v->static_bytes[c];
        for (int32_t k = 0; k < v->chunks; k++) {
            if (v->forward_at[places + (size_t)k] > at || v->backward_at[places + (size_t)k] < at) {
                continue;
            }
            size_t cell = lcp_view_cell(v, k, c);
            per_layer += (double)v->kept_bytes[cell];
            for (size_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
                int32_t column = master->r[r_at(v, k, stage, c) + q];
                if (column >= 0) {
                    lcp_lp_set(master->lp, row, column,
                               -(double)v->freed_bytes[cell * LCP_RECOMPUTE_COUNT + q] / scale);
                }
            }
        }
        for (int32_t k = 0; k < v->chunks; k++) {
            if (kv_gradient_exists(v, stage, k, at)) {
                per_layer += (double)v->tables->layers[lcp_view_cell(v, k, c)].kv_grad_bytes;
            }
        }
        lcp_lp_set(master->lp, row, master->n[stage * v->classes + c], per_layer / scale);
    }
    for (int32_t k = 0; k < v->chunks; k++) {
        if (v->forward_at[places + (size_t)k] <= at && v->backward_at[places + (size_t)k] >= at) {
            constant += (double)lcp_view_end_kept(v, stage, k);
        }
    }
    lcp_lp_set_row_bounds(master->lp, row, -LCP_LP_INFINITY, ((double)v->cost->capacity_bytes - constant) / scale);
}

void lcp_master_add_coupling(lcp_master *master, int32_t chunk, int32_t stage, int32_t layer_class)
{
    const lcp_view *v = master->view;
    int32_t row = lcp_lp_add_row(master->lp, "coupling", 0, LCP_LP_INFINITY);
    lcp_lp_set(master->lp, row, master->n[stage * v->classes + layer_class], 1);
    for (size_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
        int32_t column = master->r[r_at(v, chunk, stage, layer_class) + q];
        if (column >= 0) {
            lcp_lp_set(master->lp, row, column, -1);
        }
    }
    master->coupled[r_at(v, chunk, stage, layer_class) / LCP_RECOMPUTE_COUNT] = true;
}

static int32_t separate_coupling(lcp_master *m)
{
    const lcp_view *v = m->view;
    int32_t added = 0;
    for (int32_t k = 0; k < v->chunks; k++) {
        for (int32_t s = 0; s < v->stages; s++) {
            for (int32_t c = 0; c < v->classes; c++) {
                size_t at = r_at(v, k, s, c);
                double sum = 0;
                for (size_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
                    sum += m->r_value[at + q];
                }
                if (sum > m->n_value[s * v->classes + c] + TOLERANCE && !m->coupled[at / LCP_RECOMPUTE_COUNT]) {
                    lcp_master_add_coupling(m, k, s, c);
                    added++;
                }
            }
        }
    }
    return added;
}

/* Bytes a chunk keeps on a stage at the solution. */
static double kept_value(const lcp_master *m, int32_t stage, int32_t chunk)
{
    const lcp_view *v = m->view;
    double bytes = (double)lcp_view_end_kept(v, stage, chunk);
    for (int32_t c = 0; c < v->classes; c++) {
        size_t cell = lcp_view_cell(v, chunk, c);
        bytes += m->n_value[stage * v->classes + c] * (double)v->kept_bytes[cell];
        for (size_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
            bytes -= m->r_value[r_at(v, chunk, stage, c) + q] * (double)v->freed_bytes[cell * LCP_RECOMPUTE_COUNT + q];
        }
    }
    return bytes;
}

static double kv_grad_value(const lcp_master *m, int32_t stage, int32_t chunk)
{
    const lcp_view *v = m->view;
    double bytes = 0;
    for (int32_t c = 0; c < v->classes; c++) {
        bytes +=
            m->n_value[stage * v->classes + c] * (double)v->tables->layers[lcp_view_cell(v, chunk, c)].kv_grad_bytes;
    }
    return bytes;
}

/* The worst op of each run of ops as long as the pipeline's window: one row each where it exceeds the capacity. */
static int32_t separate_memory_stage(lcp_master *m, int32_t stage)
{
    const lcp_view *v = m->view;
    const lcp_schedule *schedule = &v->tables->schedule;
    double resident = resident_ends(v, stage);
    for (int32_t c = 0; c < v->classes; c++) {
        resident += m->n_value[stage * v->classes + c] * (double)v->static_bytes[c];
    }
    double limit = (double)v->cost->capacity_bytes * (1 + TOLERANCE) - resident;
    double held = 0;
    double worst = limit;
    int32_t worst_at = -1;
    int32_t added = 0;
    int32_t window = 2 * (v->stages - stage) + 2;
    for (int32_t i = 0; i < schedule->op_count[stage]; i++) {
        const lcp_op *op = &schedule->ops[stage][i];
        bool forward = op->kind == LCP_OP_FORWARD;
        held += forward ? kept_value(m, stage, op->chunk) : 0;
        for (int32_t k = op->chunk; !forward && v->tables->links[op->chunk].next_slice < 0 && k >= 0;
             k = v->tables->links[k].previous_slice) {
            held += kv_grad_value(m, stage, k);
        }
        double bytes = held + least_working(v, stage, op->chunk);
        if (bytes > worst) {
            worst = bytes;
            worst_at = i;
        }
        held -= forward ? 0 : kept_value(m, stage, op->chunk) + kv_grad_value(m, stage, op->chunk);
        if (worst_at >= 0 && (i + 1 == schedule->op_count[stage] || i - worst_at >= window)) {
            lcp_master_add_memory(m, stage, worst_at);
            added++;
            worst = limit;
            worst_at = -1;
        }
    }
    return added;
}

/* Durations at the solution, [stage * K + chunk]; tails per stage. */
static void value_durations(const lcp_master *m, double *forward, double *backward, double *tail)
{
    const lcp_view *v = m->view;
    for (int32_t s = 0; s < v->stages; s++) {
        const double *n = &m->n_value[s * v->classes];
        tail[s] = 0;
        for (int32_t c = 0; c < v->classes; c++) {
            tail[s] += n[c] * v->step_seconds[c];
        }
        for (int32_t end = 0; end < 2; end++) {
            tail[s] += has_end(v, s, end) ? v->end_step_seconds[end] : 0;
        }
        for (int32_t k = 0; k < v->chunks; k++) {
            size_t at = (size_t)s * (size_t)v->chunks + (size_t)k;
            forward[at] = v->overhead_seconds;
            backward[at] = v->overhead_seconds;
            for (int32_t end = 0; end < 2; end++) {
                forward[at] += has_end(v, s, end) ? v->end_forward[end][k] : 0;
                backward[at] += has_end(v, s, end) ? v->end_backward[end][k] : 0;
            }
            for (int32_t c = 0; c < v->classes; c++) {
                size_t cell = lcp_view_cell(v, k, c);
                forward[at] += n[c] * v->forward[cell];
                backward[at] += n[c] * v->backward[cell];
                for (size_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
                    backward[at] += m->r_value[r_at(v, k, s, c) + q] * v->extra_seconds[cell * LCP_RECOMPUTE_COUNT + q];
                }
            }
        }
    }
}

/* Follows critical predecessors back from an op; steps has room for every op. */
static int64_t trace_path(const lcp_view *v, const lcp_replay *replay, int64_t last, lcp_path_step *steps)
{
    int64_t count = 0;
    int32_t rank = 0;
    for (int64_t at = last; at >= 0; at = replay->critical_predecessor[at]) {
        while (at < replay->rank_first[rank]) {
            rank--;
        }
        while (at >= replay->rank_first[rank + 1]) {
            rank++;
        }
        const lcp_op *op = &v->tables->schedule.ops[rank][at - replay->rank_first[rank]];
        int64_t before = replay->critical_predecessor[at];
        bool hop = before >= 0 && (before < replay->rank_first[rank] || before >= replay->rank_first[rank + 1]);
        steps[count++] = (lcp_path_step){op->kind, op->stage, op->chunk, hop};
    }
    for (int64_t i = 0; i < count / 2; i++) {
        lcp_path_step swap = steps[i];
        steps[i] = steps[count - 1 - i];
        steps[count - 1 - i] = swap;
    }
    return count;
}

/* One path for every rank whose end comes after the makespan claimed. */
static int32_t add_late_paths(lcp_master *m, const lcp_replay *replay, const double *tail, double claimed_seconds,
                              lcp_path_step *steps)
{
    int32_t added = 0;
    for (int32_t r = 0; r < m->view->stages; r++) {
        int64_t last = replay->rank_first[r + 1] - 1;
        if (replay->end_seconds[last] + tail[r] > claimed_seconds * (1 + TOLERANCE)) {
            int64_t count = trace_path(m->view, replay, last, steps);
            lcp_master_add_path(m, steps, count, true);
            added++;
        }
    }
    return added;
}

static lcp_status separate_paths(lcp_master *m, double claimed_seconds, int32_t *added, double *longest, lcp_error *err)
{
    const lcp_view *v = m->view;
    size_t cells = (size_t)v->stages * (size_t)v->chunks;
    double *forward = malloc((2 * cells + (size_t)v->stages) * sizeof *forward);
    lcp_path_step *steps = malloc(2 * cells * sizeof *steps);
    lcp_replay replay = {0};
    lcp_status status = LCP_OK;
    if (forward == NULL || steps == NULL) {
        status = lcp_fail(err, LCP_NOMEM, "", "cannot time %lld passes", (long long)cells);
        goto out;
    }
    double *backward = forward + cells;
    double *tail = backward + cells;
    value_durations(m, forward, backward, tail);
    lcp_durations durations = {.forward_seconds = forward,
                               .backward_seconds = backward,
                               .hop_seconds = v->tables->hop_seconds,
                               .tail_seconds = tail};
    status = lcp_replay_run(&replay, &v->tables->schedule, v->tables->links, &durations, err);
    if (status == LCP_OK) {
        *longest = replay.makespan_seconds;
        *added += add_late_paths(m, &replay, tail, claimed_seconds, steps);
    }
out:
    free(forward);
    free(steps);
    lcp_replay_dispose(&replay);
    return status;
}

lcp_status lcp_master_separate(lcp_master *master, double makespan_value, int32_t *added, double *longest_seconds,
                               lcp_error *err)
{
    int32_t memory_rows = separate_coupling(master);
    for (int32_t s = 0; s < master->view->stages; s++) {
        memory_rows += separate_memory_stage(master, s);
    }
    *added = memory_rows;
    lcp_status status = separate_paths(master, makespan_value * master->scale_seconds, added, longest_seconds, err);
    if (memory_rows > 0) {
        *longest_seconds = HUGE_VAL; /* the solution does not fit yet: its length says nothing */
    }
    return status;
}
