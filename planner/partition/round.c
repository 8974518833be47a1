/* From fractional to whole layers: running sums, repair, give back. */
#include "partition/fill.h"

#include <math.h>
#include <stdlib.h>

/* A change of policy, and what it costs. */
typedef struct upgrade {
    lcp_fill_change change;
    int64_t freed; /* per layer */
    double price;  /* seconds per byte that helps */
} upgrade;

static bool usable(const lcp_view *v, size_t policies, int32_t policy)
{
    return policy == v->base || v->freed_bytes[policies + (size_t)policy] > 0;
}

/* Best change away from one policy of one class; bytes beyond the excess buy nothing. */
static void consider_policy(const lcp_view *v, const lcp_fill_change *from, int64_t excess, upgrade *best)
{
    size_t policies = lcp_view_cell(v, from->chunk, from->layer_class) * LCP_RECOMPUTE_COUNT;
    int64_t base_freed = lcp_view_freed(v, policies, from->from);
    double base_seconds = lcp_view_extra(v, policies, from->from);
    for (int32_t to = 0; to < LCP_RECOMPUTE_COUNT; to++) {
        int64_t freed = lcp_view_freed(v, policies, to) - base_freed;
        if (freed <= 0 || !usable(v, policies, to)) {
            continue;
        }
        double price = (lcp_view_extra(v, policies, to) - base_seconds) / (double)(freed < excess ? freed : excess);
        if (price < best->price * (1 - 1e-12)) {
            *best = (upgrade){.change = *from, .freed = freed, .price = price};
            best->change.to = to;
        }
    }
}

/* Cheapest change inside one cell that frees bytes; its price is infinite if there is none. */
static upgrade best_of_cell(const lcp_fill *f, int32_t stage, int32_t chunk, int64_t excess)
{
    upgrade best = {.price = HUGE_VAL};
    for (int32_t c = 0; c < f->view->classes; c++) {
        lcp_fill_change from = {.chunk = chunk, .stage = stage, .layer_class = c};
        for (from.from = 0; from.from < LCP_RECOMPUTE_COUNT; from.from++) {
            from.layers = lcp_fill_count(f, chunk, stage, c, from.from);
            if (from.layers > 0) {
                consider_policy(f->view, &from, excess, &best);
            }
        }
    }
    return best;
}

/* The chunks in flight at an op, the longest to stay first, and the best change of each. */
typedef struct flight {
    int32_t count;
    int32_t *chunks;
    upgrade *best;
} flight;

static void find_flight(flight *out, const lcp_fill *f, int32_t stage, int32_t at, bool spare_critical)
{
    const lcp_view *v = f->view;
    size_t row = (size_t)stage * (size_t)v->chunks;
    int64_t excess = f->memory[2 * row + (size_t)at] - f->capacity_bytes;
    out->count = 0;
    for (int32_t k = v->chunks - 1; k >= 0; k--) {
        bool in_flight = v->forward_at[row + (size_t)k] <= at && v->backward_at[row + (size_t)k] >= at;
        if (in_flight && !(spare_critical && f->critical[row + (size_t)k])) {
            out->best[out->count] = best_of_cell(f, stage, k, excess);
            out->chunks[out->count++] = k;
        }
    }
}

/* Makes one op fit: the cheapest change over the chunks in flight, as many layers as are needed or there, again. Ties
 * go to chunks that stay longest: what they give up helps later ops too. */
static bool repair_op(lcp_fill *f, flight *chunks, int32_t stage, int32_t at, bool spare_critical)
{
    const int64_t *memory = &f->memory[2 * (size_t)stage * (size_t)f->view->chunks];
    if (memory[at] <= f->capacity_bytes) {
        return true;
    }
    find_flight(chunks, f, stage, at, spare_critical);
    while (memory[at] > f->capacity_bytes) {
        int32_t cheapest = -1;
        for (int32_t i = 0; i < chunks->count; i++) {
            bool possible = chunks->best[i].price < HUGE_VAL;
            if (possible && (cheapest < 0 || chunks->best[i].price < chunks->best[cheapest].price * (1 - 1e-12))) {
                cheapest = i;
            }
        }
        if (cheapest < 0) {
            return false;
        }
        upgrade *best = &chunks->best[cheapest];
        int64_t excess = memory[at] - f->capacity_bytes;
        int64_t needed = (excess + best->freed - 1) / best->freed;
        best->change.layers = needed < best->change.layers ? (int32_t)needed : best->change.layers;
        lcp_fill_move(f, &best->change);
        excess = memory[at] - f->capacity_bytes;
        *best = best_of_cell(f, stage, chunks->chunks[cheapest], excess > 0 ? excess : 1);
    }
    return true;
}

static bool repair(lcp_fill *f, int32_t stage, bool spare_critical)
{
    size_t count = (size_t)f->view->chunks;
    flight chunks = {.chunks = malloc(count * sizeof *chunks.chunks), .best = malloc(count * sizeof *chunks.best)};
    bool fits =
        chunks.chunks != NULL && chunks.best != NULL; /* without memory for it, this split counts as not fitting */
    for (int32_t i = 0; fits && i < f->view->tables->schedule.op_count[stage]; i++) {
        fits = repair_op(f, &chunks, stage, i, spare_critical);
    }
    free(chunks.chunks);
    free(chunks.best);
    return fits;
}

bool lcp_fill_repair(lcp_fill *fill, int32_t stage)
{
    return repair(fill, stage, false);
}

static bool room_for(const lcp_fill *f, int32_t stage, int32_t chunk, int64_t bytes)
{
    const lcp_view *v = f->view;
    size_t cell = (size_t)stage * (size_t)v->chunks + (size_t)chunk;
    const int64_t *memory = &f->memory[2 * (size_t)stage * (size_t)v->chunks];
    for (int32_t i = v->forward_at[cell]; i <= v->backward_at[cell]; i++) {
        if (memory[i] + bytes > f->capacity_bytes) {
            return false;
        }
    }
    return true;
}

/* Steps one layer of a cell to the cheapest policy for which there is room; true if something changed. */
static bool relax_cell(lcp_fill *f, int32_t stage, int32_t chunk, int32_t layer_class)
{
    const lcp_view *v = f->view;
    size_t policies = lcp_view_cell(v, chunk, layer_class) * LCP_RECOMPUTE_COUNT;
    lcp_fill_change best = {.chunk = chunk, .stage = stage, .layer_class = layer_class, .layers = 1};
    double best_gain = 0;
    for (int32_t from = 0; from < LCP_RECOMPUTE_COUNT; from++) {
        if (from == v->base || lcp_fill_count(f, chunk, stage, layer_class, from) < 1) {
            continue;
        }
        for (int32_t to = 0; to < LCP_RECOMPUTE_COUNT; to++) {
            double gain = lcp_view_extra(v, policies, from) - lcp_view_extra(v, policies, to);
            int64_t bytes = lcp_view_freed(v, policies, from) - lcp_view_freed(v, policies, to);
            if (to != from && usable(v, policies, to) && gain > best_gain && room_for(f, stage, chunk, bytes)) {
                best.from = from;
                best.to = to;
                best_gain = gain;
            }
        }
    }
    if (!(best_gain > 0)) {
        return false;
    }
    lcp_fill_move(f, &best);
    return true;
}

static void trim_stage(lcp_fill *f, int32_t stage, bool critical_only)
{
    const lcp_view *v = f->view;
    for (int32_t k = 0; k < v->chunks; k++) {
        if (critical_only && !f->critical[(size_t)stage * (size_t)v->chunks + (size_t)k]) {
            continue;
        }
        for (int32_t c = 0; c < v->classes; c++) {
            while (relax_cell(f, stage, k, c)) {
            }
        }
    }
}

void lcp_fill_trim(lcp_fill *fill)
{
    for (int32_t s = 0; s < fill->view->stages; s++) {
        trim_stage(fill, s, true);
        trim_stage(fill, s, false);
    }
}

/* Running sum of the wanted layers of one (class, policy) along the backward order of a stage: each cell gets what
 * brings the sum of whole layers nearest to the sum wanted. */
static void round_policy(lcp_fill *f, const double *wanted, int32_t stage, int32_t layer_class, int32_t policy)
{
    const lcp_view *v = f->view;
    const lcp_schedule *schedule = &v->tables->schedule;
    double sum = 0;
    int64_t given = 0;
    for (int32_t i = 0; i < schedule->op_count[stage]; i++) {
        const lcp_op *op = &schedule->ops[stage][i];
        if (op->kind == LCP_OP_FORWARD) {
            continue;
        }
        sum += wanted[lcp_fill_at(f, op->chunk, stage, layer_class) + (size_t)policy];
        while ((double)given + 0.5 < sum && lcp_fill_count(f, op->chunk, stage, layer_class, v->base) > 0) {
            const lcp_fill_change one = {op->chunk, stage, layer_class, v->base, policy, 1};
            lcp_fill_move(f, &one);
            given++;
        }
    }
}

bool lcp_fill_round(lcp_fill *fill, const double *wanted)
{
    const lcp_view *v = fill->view;
    bool fits = true;
    for (int32_t s = 0; fits && s < v->stages; s++) {
        for (int32_t c = 0; wanted != NULL && c < v->classes; c++) {
            for (int32_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
                if (q != v->base) {
                    round_policy(fill, wanted, s, c, q);
                }
            }
        }
        fits = lcp_fill_repair(fill, s);
    }
    if (fits) {
        lcp_fill_trim(fill);
    }
    return fits;
}

/* One attempt at a cell on the critical path: take a layer of recompute off it, repair the stage elsewhere, replay. */
typedef struct snapshot {
    int32_t *counts;
    double *backward;
    int64_t *memory;
    size_t count_size, cell_count;
} snapshot;

static bool snapshot_allocate(snapshot *saved, const lcp_fill *f)
{
    const lcp_view *v = f->view;
    saved->cell_count = (size_t)v->stages * (size_t)v->chunks;
    saved->count_size = saved->cell_count * (size_t)v->classes * LCP_RECOMPUTE_COUNT;
    saved->counts = malloc(saved->count_size * sizeof *saved->counts);
    saved->backward = malloc(saved->cell_count * sizeof *saved->backward);
    saved->memory = malloc(2 * saved->cell_count * sizeof *saved->memory);
    return saved->counts != NULL && saved->backward != NULL && saved->memory != NULL;
}

static void snapshot_dispose(snapshot *saved)
{
    free(saved->counts);
    free(saved->backward);
    free(saved->memory);
}

static void copy_state(snapshot *saved, lcp_fill *f, bool restore)
{
    for (size_t i = 0; i < saved->count_size; i++) {
        *(restore ? &f->counts[i] : &saved->counts[i]) = restore ? saved->counts[i] : f->counts[i];
    }
    for (size_t i = 0; i < saved->cell_count; i++) {
        *(restore ? &f->backward[i] : &saved->backward[i]) = restore ? saved->backward[i] : f->backward[i];
    }
    for (size_t i = 0; i < 2 * saved->cell_count; i++) {
        *(restore ? &f->memory[i] : &saved->memory[i]) = restore ? saved->memory[i] : f->memory[i];
    }
}

/* Takes one layer of recompute off a cell (to the base policy), whatever the memory says; false if there is none. */
static bool take_off(lcp_fill *f, int32_t stage, int32_t chunk)
{
    const lcp_view *v = f->view;
    for (int32_t c = 0; c < v->classes; c++) {
        for (int32_t q = LCP_RECOMPUTE_COUNT - 1; q >= 0; q--) {
            if (q != v->base && lcp_fill_count(f, chunk, stage, c, q) > 0) {
                const lcp_fill_change one = {chunk, stage, c, q, v->base, 1};
                lcp_fill_move(f, &one);
                return true;
            }
        }
    }
    return false;
}

static lcp_status try_cell(lcp_fill *f, snapshot *saved, int32_t stage, int32_t chunk, bool *better, lcp_error *err)
{
    double before = f->makespan_seconds;
    *better = false;
    copy_state(saved, f, false);
    bool valid = take_off(f, stage, chunk) && repair(f, stage, true);
    lcp_status status = valid ? lcp_fill_replay(f, err) : LCP_OK;
    if (status == LCP_OK && valid && f->makespan_seconds < before * (1 - 1e-9)) {
        *better = true;
        return LCP_OK;
    }
    copy_state(saved, f, true);
    return status == LCP_OK && valid ? lcp_fill_replay(f, err) : status;
}

lcp_status lcp_fill_improve(lcp_fill *fill, int32_t replays, lcp_error *err)
{
    const lcp_view *v = fill->view;
    snapshot saved = {0};
    lcp_status status = LCP_OK;
    if (!snapshot_allocate(&saved, fill)) {
        status = lcp_fail(err, LCP_NOMEM, "", "cannot improve the choices of %d chunks", v->chunks);
    }
    bool progress = true;
    int32_t used = 0;
    while (status == LCP_OK && progress && used < replays) {
        progress = false;
        for (int32_t s = 0; status == LCP_OK && s < v->stages && used < replays; s++) {
            for (int32_t k = 0; status == LCP_OK && k < v->chunks && used < replays; k++) {
                bool better = false;
                if (!fill->critical[(size_t)s * (size_t)v->chunks + (size_t)k]) {
                    continue;
                }
                status = try_cell(fill, &saved, s, k, &better, err);
                used++;
                progress = progress || better;
            }
        }
    }
    snapshot_dispose(&saved);
    return status;
}
