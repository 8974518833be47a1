/* Per-stage bounds: every plan pays, for each stage, the way of the first chunk to it, all its passes, and the way of
 * the last chunk back; and for windows of chunks that are in flight together, the recompute that makes them fit.
 * Windows of one stage share no chunk, so what they force adds up. */
#include "partition/split.h"

#include <math.h>
#include <stdlib.h>

void lcp_stage_bounds_dispose(lcp_stage_bounds *bounds)
{
    free(bounds->busy_seconds);
    free(bounds->window_first);
    free(bounds->windows);
    free(bounds->window_kept);
    free(bounds->turns);
    free(bounds->skipped_seconds);
    free(bounds->window_skipped);
    free(bounds->window_steps);
    *bounds = (lcp_stage_bounds){0};
}

static lcp_status allocate(lcp_stage_bounds *b, lcp_error *err)
{
    size_t classes = (size_t)b->view->classes;
    size_t windows = (size_t)b->view->stages * (size_t)b->view->chunks;
    b->busy_seconds = calloc(3 * classes, sizeof *b->busy_seconds);
    b->window_first = calloc((size_t)b->view->stages + 1, sizeof *b->window_first);
    b->windows = malloc(windows * sizeof *b->windows);
    b->turns = calloc(2 * (size_t)b->view->stages, sizeof *b->turns);
    b->skipped_seconds = calloc(2 * (size_t)b->view->stages * classes, sizeof *b->skipped_seconds);
    b->window_skipped = calloc(windows, sizeof *b->window_skipped);
    b->window_steps = calloc(windows * classes * LCP_RECOMPUTE_COUNT, sizeof *b->window_steps);
    b->window_kept = malloc(2 * windows * classes * sizeof *b->window_kept);
    bool complete = b->busy_seconds != NULL && b->window_first != NULL && b->windows != NULL && b->turns != NULL &&
                    b->skipped_seconds != NULL && b->window_skipped != NULL && b->window_steps != NULL &&
                    b->window_kept != NULL;
    if (!complete) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot bound %d stages", b->view->stages);
    }
    b->fill_seconds = b->busy_seconds + classes;
    b->drain_seconds = b->fill_seconds + classes;
    b->window_least = b->window_kept + windows * classes;
    return LCP_OK;
}

static void sum_passes(lcp_stage_bounds *b)
{
    const lcp_view *v = b->view;
    const lcp_schedule *schedule = &v->tables->schedule;
    b->first_chunk = schedule->ops[0][0].chunk;
    b->last_chunk = schedule->ops[0][schedule->op_count[0] - 1].chunk;
    for (int32_t c = 0; c < v->classes; c++) {
        for (int32_t k = 0; k < v->chunks; k++) {
            size_t cell = lcp_view_cell(v, k, c);
            b->busy_seconds[c] += v->forward[cell] + v->backward[cell];
        }
        b->fill_seconds[c] = v->forward[lcp_view_cell(v, b->first_chunk, c)];
        b->drain_seconds[c] = v->backward[lcp_view_cell(v, b->last_chunk, c)];
    }
    for (int32_t i = 0; i < 2; i++) {
        for (int32_t k = 0; k < v->chunks; k++) {
            b->ends_seconds[i] += v->end_forward[i][k] + v->end_backward[i][k];
        }
    }
}

/* Adds one chunk in flight to a window. */
static void add_chunk(lcp_stage_bounds *b, int32_t window, int32_t stage, int32_t chunk)
{
    const lcp_view *v = b->view;
    for (int32_t c = 0; c < v->classes; c++) {
        size_t cell = lcp_view_cell(v, chunk, c);
        size_t at = (size_t)window * (size_t)v->classes + (size_t)c;
        lcp_hull_step hull[LCP_RECOMPUTE_COUNT];
        int32_t count = lcp_view_hull(hull, v, chunk, c);
        double most = 0;
        for (int32_t i = 0; i < count; i++) {
            lcp_window_step *step = &b->window_steps[at * LCP_RECOMPUTE_COUNT + (size_t)i];
            double price = fmax(hull[i].seconds / hull[i].bytes, 0);
            step->seconds_per_byte = step->bytes > 0 ? fmin(step->seconds_per_byte, price) : price;
            step->bytes += hull[i].bytes;
            step->layer_class = c;
            most += hull[i].bytes;
        }
        b->window_kept[at] += (double)v->kept_bytes[cell];
        b->window_least[at] += (double)v->kept_bytes[cell] - most;
    }
    b->windows[window].kept_bytes += (double)lcp_view_end_kept(v, stage, chunk);
}

/* KV gradients that exist when the last slice of a sequence starts its backward pass. */
static void add_kv_gradients(lcp_stage_bounds *b, int32_t window, int32_t chunk)
{
    const lcp_view *v = b->view;
    if (v->tables->links[chunk].next_slice >= 0) {
        return;
    }
    for (int32_t k = chunk; k >= 0; k = v->tables->links[k].previous_slice) {
        for (int32_t c = 0; c < v->classes; c++) {
            double bytes = (double)v->tables->layers[lcp_view_cell(v, k, c)].kv_grad_bytes;
            b->window_kept[(size_t)window * (size_t)v->classes + (size_t)c] += bytes;
            b->window_least[(size_t)window * (size_t)v->classes + (size_t)c] += bytes;
        }
    }
}

static double least_working(const lcp_view *v, int32_t stage, int32_t chunk)
{
    int64_t least = INT64_MAX;
    for (int32_t c = 0; c < v->classes; c++) {
        int64_t bytes = v->tables->layers[lcp_view_cell(v, chunk, c)].working_bytes;
        least = bytes < least ? bytes : least;
    }
    const int32_t no_layers[LCP_MAX_LAYER_CLASSES] = {0};
    int64_t ends = lcp_view_working(v, stage, chunk, no_layers);
    return (double)(least > ends ? least : ends);
}

/* Cheapest first; empty steps last. */
static int by_price(const void *a, const void *b)
{
    const lcp_window_step *x = a;
    const lcp_window_step *y = b;
    if ((x->bytes > 0) != (y->bytes > 0)) {
        return x->bytes > 0 ? -1 : 1;
    }
    return (x->seconds_per_byte > y->seconds_per_byte) - (x->seconds_per_byte < y->seconds_per_byte);
}

/* Opens a window at a backward pass: everything in flight there. */
static void open_window(lcp_stage_bounds *b, int32_t window, int32_t stage, int32_t at)
{
    const lcp_view *v = b->view;
    int32_t chunk = v->tables->schedule.ops[stage][at].chunk;
    b->windows[window] = (lcp_window){.kept_bytes = least_working(v, stage, chunk)};
    for (int32_t c = 0; c < v->classes; c++) {
        b->window_kept[(size_t)window * (size_t)v->classes + (size_t)c] = 0;
        b->window_least[(size_t)window * (size_t)v->classes + (size_t)c] = 0;
    }
    size_t row = (size_t)stage * (size_t)v->chunks;
    for (int32_t k = 0; k < v->chunks; k++) {
        if (v->forward_at[row + (size_t)k] < at && v->backward_at[row + (size_t)k] >= at) {
            add_chunk(b, window, stage, k);
        }
    }
    add_kv_gradients(b, window, chunk);
    qsort(&b->window_steps[(size_t)window * (size_t)v->classes * LCP_RECOMPUTE_COUNT],
          (size_t)v->classes * LCP_RECOMPUTE_COUNT, sizeof *b->window_steps, by_price);
}

/* Disjoint windows: a new one opens at the first peak (a backward pass after a forward pass) at which every chunk in
 * flight started after the last window was opened. */
static int32_t find_windows(lcp_stage_bounds *b, int32_t stage, int32_t window, int32_t *window_at)
{
    const lcp_view *v = b->view;
    const lcp_schedule *schedule = &v->tables->schedule;
    int32_t taken = -1; /* ops up to here belong to earlier windows */
    int32_t in_old = 0; /* chunks in flight that an earlier window counted */
    for (int32_t i = 0; i < schedule->op_count[stage]; i++) {
        const lcp_op *op = &schedule->ops[stage][i];
        if (op->kind == LCP_OP_FORWARD) {
            continue;
        }
        bool peak = i > 0 && schedule->ops[stage][i - 1].kind == LCP_OP_FORWARD;
        if (peak && in_old == 0) {
            window_at[window] = i;
            open_window(b, window++, stage, i);
            taken = i;
            in_old = 0;
            for (int32_t k = 0; k < v->chunks; k++) {
                size_t place = (size_t)stage * (size_t)v->chunks + (size_t)k;
                in_old += v->forward_at[place] < i && v->backward_at[place] >= i;
            }
        }
        if (v->forward_at[(size_t)stage * (size_t)v->chunks + (size_t)op->chunk] < taken) {
            in_old--;
        }
    }
    return window;
}

/* What a turn over ops (from, to) of a stage goes past: the ops strictly between. */
static void fill_turn(lcp_stage_bounds *b, int32_t stage, int32_t turn, int32_t from, int32_t to)
{
    const lcp_view *v = b->view;
    const lcp_op *ops = v->tables->schedule.ops[stage];
    lcp_turn *t = &b->turns[2 * stage + turn];
    double *skipped = &b->skipped_seconds[(size_t)(2 * stage + turn) * (size_t)v->classes];
    t->chunk = ops[from].chunk;
    for (int32_t i = from + 1; i < to; i++) {
        bool forward = ops[i].kind == LCP_OP_FORWARD;
        t->skipped_overhead += v->overhead_seconds;
        for (int32_t c = 0; c < v->classes; c++) {
            size_t cell = lcp_view_cell(v, ops[i].chunk, c);
            skipped[c] += forward ? v->forward[cell] : v->backward[cell];
        }
        for (int32_t end = 0; end < 2; end++) {
            t->skipped_ends[end] += forward ? v->end_forward[end][ops[i].chunk] : v->end_backward[end][ops[i].chunk];
        }
    }
}

static void find_turns(lcp_stage_bounds *b, int32_t stage)
{
    const lcp_view *v = b->view;
    const lcp_schedule *schedule = &v->tables->schedule;
    const lcp_op *ops = schedule->ops[stage];
    size_t row = (size_t)stage * (size_t)v->chunks;
    b->turns[2 * stage].chunk = -1;
    b->turns[2 * stage + 1].chunk = -1;
    int32_t first_backward = 0;
    int32_t last_forward = schedule->op_count[stage] - 1;
    while (ops[first_backward].kind == LCP_OP_FORWARD) {
        first_backward++;
    }
    while (ops[last_forward].kind != LCP_OP_FORWARD) {
        last_forward--;
    }
    fill_turn(b, stage, 0, v->forward_at[row + (size_t)ops[first_backward].chunk], first_backward);
    if (last_forward > first_backward) {
        fill_turn(b, stage, 1, last_forward, v->backward_at[row + (size_t)ops[last_forward].chunk]);
    }
}

/* Marks the windows that share a chunk with the backward passes the last turn goes past. */
static void mark_windows(lcp_stage_bounds *b, int32_t stage, const int32_t *window_at)
{
    const lcp_view *v = b->view;
    size_t row = (size_t)stage * (size_t)v->chunks;
    int32_t chunk = b->turns[2 * stage + 1].chunk;
    for (int32_t w = b->window_first[stage]; chunk >= 0 && w < b->window_first[stage + 1]; w++) {
        for (int32_t k = 0; k < v->chunks; k++) {
            int32_t backward = v->backward_at[row + (size_t)k];
            bool inside = v->forward_at[row + (size_t)k] < window_at[w] && backward >= window_at[w];
            bool skipped =
                backward > v->forward_at[row + (size_t)chunk] && backward < v->backward_at[row + (size_t)chunk];
            b->window_skipped[w] = b->window_skipped[w] || (inside && skipped);
        }
    }
}

lcp_status lcp_stage_bounds_build(lcp_stage_bounds *out, const lcp_view *view, lcp_error *err)
{
    *out = (lcp_stage_bounds){.view = view, .capacity_bytes = (double)view->cost->capacity_bytes};
    lcp_status status = allocate(out, err);
    if (status != LCP_OK) {
        lcp_stage_bounds_dispose(out);
        return status;
    }
    int32_t *window_at = malloc((size_t)view->stages * (size_t)view->chunks * sizeof *window_at);
    if (window_at == NULL) {
        lcp_stage_bounds_dispose(out);
        return lcp_fail(err, LCP_NOMEM, "", "cannot bound %d stages", view->stages);
    }
    sum_passes(out);
    int32_t windows = 0;
    for (int32_t s = 0; s < view->stages; s++) {
        windows = find_windows(out, s, windows, window_at);
        out->window_first[s + 1] = windows;
        find_turns(out, s);
        mark_windows(out, s, window_at);
    }
    free(window_at);
    return LCP_OK;
}

/* Fractional knapsack over the steps of a window. */
static double window_recompute(const lcp_stage_bounds *b, int32_t window, const int32_t *layers, double excess)
{
    size_t count = (size_t)b->view->classes * LCP_RECOMPUTE_COUNT;
    const lcp_window_step *steps = &b->window_steps[(size_t)window * count];
    double seconds = 0;
    for (size_t i = 0; i < count && steps[i].bytes > 0 && excess > 0; i++) {
        double bytes = fmin(excess, layers[steps[i].layer_class] * steps[i].bytes);
        seconds += bytes * steps[i].seconds_per_byte;
        excess -= bytes;
    }
    return seconds;
}

/* Recompute seconds that the windows of a stage force on layers of the given counts; infinity if they cannot fit. */
static double forced_recompute(const lcp_stage_bounds *b, int32_t stage, const int32_t *layers, double resident,
                               double *kept_on_path)
{
    const lcp_view *v = b->view;
    double seconds = 0;
    *kept_on_path = 0;
    for (int32_t w = b->window_first[stage]; w < b->window_first[stage + 1]; w++) {
        double excess = resident + b->windows[w].kept_bytes - b->capacity_bytes;
        double least = excess;
        for (int32_t c = 0; c < v->classes; c++) {
            size_t at = (size_t)w * (size_t)v->classes + (size_t)c;
            excess += layers[c] * b->window_kept[at];
            least += layers[c] * b->window_least[at];
        }
        if (least > 0) {
            return HUGE_VAL;
        }
        double window_seconds = excess > 0 ? window_recompute(b, w, layers, excess) : 0;
        seconds += window_seconds;
        *kept_on_path += b->window_skipped[w] ? 0 : window_seconds;
    }
    return seconds;
}

/* What a turn adds to the busy time of a stage that ends with layer `last`: the way down and back, less what it goes
 * past. Minus infinity if there is no such turn. */
static double turn_seconds(const lcp_stage_bounds *b, int32_t stage, int32_t turn, int32_t last, const int32_t *layers)
{
    const lcp_view *v = b->view;
    const lcp_turn *t = &b->turns[2 * stage + turn];
    if (t->chunk < 0) {
        return -HUGE_VAL;
    }
    const double *skipped = &b->skipped_seconds[(size_t)(2 * stage + turn) * (size_t)v->classes];
    int32_t below = v->stages - 1 - stage;
    double seconds = 2 * below * (v->overhead_seconds + v->tables->hop_seconds[t->chunk]) - t->skipped_overhead;
    for (int32_t c = 0; c < v->classes; c++) {
        size_t cell = lcp_view_cell(v, t->chunk, c);
        seconds += lcp_view_layers(v, c, last, v->layers) * (v->forward[cell] + v->backward[cell]);
        seconds -= layers[c] * skipped[c];
    }
    seconds += below > 0 ? v->end_forward[1][t->chunk] + v->end_backward[1][t->chunk] : 0;
    seconds -= stage == 0 ? t->skipped_ends[0] : 0;
    return seconds - (below == 0 ? t->skipped_ends[1] : 0);
}

double lcp_stage_seconds_bound(const void *context, int32_t stage, int32_t first, int32_t last)
{
    const lcp_stage_bounds *b = context;
    const lcp_view *v = b->view;
    bool has_end[2] = {stage == 0, stage == v->stages - 1};
    int32_t layers[LCP_MAX_LAYER_CLASSES];
    double resident = (double)v->fixed_bytes;
    double busy = 2 * (double)v->chunks * v->overhead_seconds;
    double tail = 0;
    double there = stage * v->overhead_seconds;
    double back = there;
    for (int32_t c = 0; c < v->classes; c++) {
        layers[c] = lcp_view_layers(v, c, first, last);
        resident += (double)layers[c] * (double)v->static_bytes[c];
        busy += layers[c] * b->busy_seconds[c];
        tail += layers[c] * v->step_seconds[c];
        there += lcp_view_layers(v, c, 0, first) * b->fill_seconds[c];
        back += lcp_view_layers(v, c, 0, first) * b->drain_seconds[c];
    }
    for (int32_t i = 0; i < 2; i++) {
        resident += has_end[i] ? (double)v->end_static_bytes[i] : 0;
        busy += has_end[i] ? b->ends_seconds[i] : 0;
        tail += has_end[i] ? v->end_step_seconds[i] : 0;
    }
    if (stage > 0) {
        there += v->end_forward[0][b->first_chunk] + stage * v->tables->hop_seconds[b->first_chunk];
        back += v->end_backward[0][b->last_chunk] + stage * v->tables->hop_seconds[b->last_chunk];
    }
    double recompute_on_path;
    double recompute = forced_recompute(b, stage, layers, resident, &recompute_on_path);
    double turns[2];
    for (int32_t t = 0; t < 2; t++) {
        turns[t] = turn_seconds(b, stage, t, last, layers);
    }
    double middle = busy + recompute + fmax(0, turns[0]);
    middle = fmax(middle, busy + recompute_on_path + turns[0] + turns[1]);
    middle = fmax(middle, busy + recompute_on_path + turns[1]);
    return there + middle + fmax(back, tail);
}

double lcp_stage_bytes_bound(const void *context, int32_t stage, int32_t first, int32_t last)
{
    const lcp_stage_bounds *b = context;
    const lcp_view *v = b->view;
    double resident = (double)v->fixed_bytes;
    double peak = 0;
    for (int32_t c = 0; c < v->classes; c++) {
        resident += (double)lcp_view_layers(v, c, first, last) * (double)v->static_bytes[c];
    }
    resident += stage == 0 ? (double)v->end_static_bytes[0] : 0;
    resident += stage == v->stages - 1 ? (double)v->end_static_bytes[1] : 0;
    for (int32_t w = b->window_first[stage]; w < b->window_first[stage + 1]; w++) {
        double bytes = b->windows[w].kept_bytes;
        for (int32_t c = 0; c < v->classes; c++) {
            bytes += lcp_view_layers(v, c, first, last) * b->window_least[(size_t)w * (size_t)v->classes + (size_t)c];
        }
        peak = fmax(peak, bytes);
    }
    return resident + peak;
}
