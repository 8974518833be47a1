#include "partition/fill.h"

#include <stdlib.h>
#include <string.h>

void lcp_fill_dispose(lcp_fill *fill)
{
    free(fill->layers);
    free(fill->counts);
    free(fill->forward);
    free(fill->memory);
    free(fill->critical);
    *fill = (lcp_fill){0};
}

static size_t count_size(const lcp_view *v)
{
    return (size_t)v->chunks * (size_t)v->stages * (size_t)v->classes * LCP_RECOMPUTE_COUNT;
}

static lcp_status allocate(lcp_fill *f, lcp_error *err)
{
    const lcp_view *v = f->view;
    size_t cells = (size_t)v->stages * (size_t)v->chunks;
    f->layers = calloc((size_t)v->stages * (size_t)v->classes, sizeof *f->layers);
    f->counts = calloc(count_size(v), sizeof *f->counts);
    f->forward = calloc(2 * cells + (size_t)v->stages, sizeof *f->forward);
    f->memory = calloc(2 * cells, sizeof *f->memory);
    f->critical = calloc(cells, sizeof *f->critical);
    if (f->layers == NULL || f->counts == NULL || f->forward == NULL || f->memory == NULL || f->critical == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold the choices of %d chunks", v->chunks);
    }
    f->backward = f->forward + cells;
    f->tail = f->backward + cells;
    return LCP_OK;
}

static void fill_durations(lcp_fill *f, int32_t stage)
{
    const lcp_view *v = f->view;
    const int32_t *layers = &f->layers[(size_t)stage * (size_t)v->classes];
    bool has_end[2] = {stage == 0, stage == v->stages - 1};
    for (int32_t k = 0; k < v->chunks; k++) {
        size_t cell = (size_t)stage * (size_t)v->chunks + (size_t)k;
        f->forward[cell] = v->overhead_seconds;
        f->backward[cell] = v->overhead_seconds;
        for (int32_t c = 0; c < v->classes; c++) {
            f->forward[cell] += layers[c] * v->forward[lcp_view_cell(v, k, c)];
            f->backward[cell] += layers[c] * v->backward[lcp_view_cell(v, k, c)];
        }
        for (int32_t i = 0; i < 2; i++) {
            f->forward[cell] += has_end[i] ? v->end_forward[i][k] : 0;
            f->backward[cell] += has_end[i] ? v->end_backward[i][k] : 0;
        }
    }
    for (int32_t c = 0; c < v->classes; c++) {
        f->tail[stage] += layers[c] * v->step_seconds[c];
    }
    for (int32_t i = 0; i < 2; i++) {
        f->tail[stage] += has_end[i] ? v->end_step_seconds[i] : 0;
    }
}

static int64_t cell_kept(const lcp_fill *f, int32_t stage, int32_t chunk)
{
    const lcp_view *v = f->view;
    int64_t bytes = lcp_view_end_kept(v, stage, chunk);
    for (int32_t c = 0; c < v->classes; c++) {
        bytes += f->layers[(size_t)stage * (size_t)v->classes + (size_t)c] * v->kept_bytes[lcp_view_cell(v, chunk, c)];
    }
    return bytes;
}

static int64_t cell_kv_grad(const lcp_fill *f, int32_t stage, int32_t chunk)
{
    const lcp_view *v = f->view;
    int64_t bytes = 0;
    for (int32_t c = 0; c < v->classes; c++) {
        bytes += f->layers[(size_t)stage * (size_t)v->classes + (size_t)c] *
                 v->tables->layers[lcp_view_cell(v, chunk, c)].kv_grad_bytes;
    }
    return bytes;
}

static int64_t resident_bytes(const lcp_fill *f, int32_t stage)
{
    const lcp_view *v = f->view;
    int64_t bytes = v->fixed_bytes;
    for (int32_t c = 0; c < v->classes; c++) {
        bytes += f->layers[(size_t)stage * (size_t)v->classes + (size_t)c] * v->static_bytes[c];
    }
    bytes += stage == 0 ? v->end_static_bytes[0] : 0;
    return bytes + (stage == v->stages - 1 ? v->end_static_bytes[1] : 0);
}

static void fill_memory(lcp_fill *f, int32_t stage)
{
    const lcp_view *v = f->view;
    const lcp_schedule *schedule = &v->tables->schedule;
    int64_t *memory = &f->memory[2 * (size_t)stage * (size_t)v->chunks];
    int64_t held = resident_bytes(f, stage);
    for (int32_t i = 0; i < schedule->op_count[stage]; i++) {
        const lcp_op *op = &schedule->ops[stage][i];
        bool forward = op->kind == LCP_OP_FORWARD;
        if (forward) {
            held += cell_kept(f, stage, op->chunk);
        } else if (v->tables->links[op->chunk].next_slice < 0) {
            for (int32_t k = op->chunk; k >= 0; k = v->tables->links[k].previous_slice) {
                held += cell_kv_grad(f, stage, k);
            }
        }
        memory[i] = held + lcp_view_working(v, stage, op->chunk, &f->layers[(size_t)stage * (size_t)v->classes]);
        if (!forward) {
            held -= cell_kept(f, stage, op->chunk) + cell_kv_grad(f, stage, op->chunk);
        }
    }
}

lcp_status lcp_fill_build(lcp_fill *out, const lcp_view *view, const int32_t *stage_layers, lcp_error *err)
{
    *out = (lcp_fill){.view = view, .capacity_bytes = view->cost->capacity_bytes};
    lcp_status status = allocate(out, err);
    if (status != LCP_OK) {
        lcp_fill_dispose(out);
        return status;
    }
    int32_t first = 0;
    for (int32_t s = 0; s < view->stages; s++) {
        for (int32_t c = 0; c < view->classes; c++) {
            out->layers[(size_t)s * (size_t)view->classes + (size_t)c] =
                lcp_view_layers(view, c, first, first + stage_layers[s]);
        }
        first += stage_layers[s];
        fill_durations(out, s);
        fill_memory(out, s);
    }
    /* A base policy other than "none" is counted like any other: the plan must say it. */
    for (int32_t k = 0; view->base != LCP_RECOMPUTE_NONE && k < view->chunks; k++) {
        for (int32_t s = 0; s < view->stages; s++) {
            for (int32_t c = 0; c < view->classes; c++) {
                out->counts[lcp_fill_at(out, k, s, c) + (size_t)view->base] =
                    out->layers[(size_t)s * (size_t)view->classes + (size_t)c];
            }
        }
    }
    return LCP_OK;
}

int32_t lcp_fill_count(const lcp_fill *fill, int32_t chunk, int32_t stage, int32_t layer_class, int32_t policy)
{
    const lcp_view *v = fill->view;
    size_t at = lcp_fill_at(fill, chunk, stage, layer_class);
    if (policy != LCP_RECOMPUTE_NONE) {
        return fill->counts[at + (size_t)policy];
    }
    int32_t left = fill->layers[(size_t)stage * (size_t)v->classes + (size_t)layer_class];
    for (int32_t q = LCP_RECOMPUTE_NONE + 1; q < LCP_RECOMPUTE_COUNT; q++) {
        left -= fill->counts[at + (size_t)q];
    }
    return v->base == LCP_RECOMPUTE_NONE ? left : 0;
}

void lcp_fill_move(lcp_fill *fill, const lcp_fill_change *change)
{
    const lcp_view *v = fill->view;
    size_t at = lcp_fill_at(fill, change->chunk, change->stage, change->layer_class);
    size_t policies = lcp_view_cell(v, change->chunk, change->layer_class) * LCP_RECOMPUTE_COUNT;
    size_t cell = (size_t)change->stage * (size_t)v->chunks + (size_t)change->chunk;
    fill->counts[at + (size_t)change->from] -= change->from != LCP_RECOMPUTE_NONE ? change->layers : 0;
    fill->counts[at + (size_t)change->to] += change->to != LCP_RECOMPUTE_NONE ? change->layers : 0;
    double seconds = lcp_view_extra(v, policies, change->to) - lcp_view_extra(v, policies, change->from);
    int64_t freed = lcp_view_freed(v, policies, change->to) - lcp_view_freed(v, policies, change->from);
    fill->backward[cell] += change->layers * seconds;
    int64_t *memory = &fill->memory[2 * (size_t)change->stage * (size_t)v->chunks];
    for (int32_t i = v->forward_at[cell]; i <= v->backward_at[cell]; i++) {
        memory[i] -= change->layers * freed;
    }
}

lcp_status lcp_fill_replay(lcp_fill *fill, lcp_error *err)
{
    const lcp_view *v = fill->view;
    lcp_durations durations = {.forward_seconds = fill->forward,
                               .backward_seconds = fill->backward,
                               .hop_seconds = v->tables->hop_seconds,
                               .tail_seconds = fill->tail};
    lcp_replay replay;
    lcp_status status = lcp_replay_run(&replay, &v->tables->schedule, v->tables->links, &durations, err);
    if (status != LCP_OK) {
        return status;
    }
    fill->makespan_seconds = replay.makespan_seconds;
    memset(fill->critical, 0, (size_t)v->stages * (size_t)v->chunks * sizeof *fill->critical);
    int32_t rank = v->stages - 1;
    for (int64_t at = replay.last_op; at >= 0; at = replay.critical_predecessor[at]) {
        while (at < replay.rank_first[rank]) {
            rank--;
        }
        while (at >= replay.rank_first[rank + 1]) {
            rank++;
        }
        const lcp_op *op = &v->tables->schedule.ops[rank][at - replay.rank_first[rank]];
        if (op->kind != LCP_OP_FORWARD) {
            fill->critical[(size_t)rank * (size_t)v->chunks + (size_t)op->chunk] = true;
        }
    }
    lcp_replay_dispose(&replay);
    return LCP_OK;
}
