/* pp = 1 and nothing sliced: every chunk is alone in memory, so each is a knapsack: the cheapest layers to recompute
 * that free its excess. The fractional optimum bounds it; whole layers come from the best pair of policies (one layer
 * class) or from the repair by price. */
#include "partition/solve_internal.h"

#include <math.h>
#include <stdlib.h>

/* A step of the hull of one class, with the layers that can take it. */
typedef struct hull_step {
    lcp_hull_step step; /* per layer */
    double layers;
} hull_step;

static int by_price(const void *a, const void *b)
{
    const hull_step *x = a;
    const hull_step *y = b;
    double left = x->step.seconds * y->step.bytes;
    double right = y->step.seconds * x->step.bytes;
    return (left > right) - (left < right);
}

/* Least seconds that free the excess, fractions of layers allowed; infinity if even everything is not enough. */
static double fractional_seconds(const lcp_view *v, int32_t chunk, double excess)
{
    hull_step steps[LCP_MAX_LAYER_CLASSES * LCP_RECOMPUTE_COUNT];
    int32_t count = 0;
    for (int32_t c = 0; c < v->classes; c++) {
        lcp_hull_step hull[LCP_RECOMPUTE_COUNT];
        int32_t found = lcp_view_hull(hull, v, chunk, c);
        for (int32_t i = 0; i < found; i++) {
            steps[count++] = (hull_step){.step = hull[i], .layers = lcp_view_layers(v, c, 0, v->layers)};
        }
    }
    qsort(steps, (size_t)count, sizeof steps[0], by_price);
    double seconds = 0;
    for (int32_t i = 0; i < count && excess > 0; i++) {
        double layers = fmin(steps[i].layers, excess / steps[i].step.bytes);
        seconds += layers * steps[i].step.seconds;
        excess -= layers * steps[i].step.bytes;
    }
    return excess > 0.5 ? HUGE_VAL : seconds;
}

/* Layers of two policies that free the excess for the fewest seconds. */
typedef struct pair {
    int32_t policy[2], layers[2];
    double seconds;
} pair;

static void consider_pair(pair *best, const lcp_view *v, size_t policies, int64_t excess, const int32_t policy[2])
{
    const int64_t *freed = &v->freed_bytes[policies];
    const double *extra = &v->extra_seconds[policies];
    for (int32_t first = 0; first <= v->layers; first++) {
        int64_t rest = excess - first * freed[policy[0]];
        int64_t second = rest > 0 ? (rest + freed[policy[1]] - 1) / freed[policy[1]] : 0;
        if (first + second > v->layers) {
            continue;
        }
        double seconds = first * extra[policy[0]] + (double)second * extra[policy[1]];
        if (seconds < best->seconds) {
            *best = (pair){{policy[0], policy[1]}, {first, (int32_t)second}, seconds};
        }
    }
}

/* One class: moves the layers of the best pair off the base policy; nothing if no pair frees enough. */
static void choose_pair(lcp_fill *f, int32_t chunk, int64_t excess)
{
    const lcp_view *v = f->view;
    size_t policies = lcp_view_cell(v, chunk, 0) * LCP_RECOMPUTE_COUNT;
    pair best = {.seconds = HUGE_VAL};
    for (int32_t a = 0; a < LCP_RECOMPUTE_COUNT; a++) {
        for (int32_t b = 0; b < LCP_RECOMPUTE_COUNT; b++) {
            if (v->freed_bytes[policies + (size_t)a] > 0 && v->freed_bytes[policies + (size_t)b] > 0) {
                consider_pair(&best, v, policies, excess, (const int32_t[2]){a, b});
            }
        }
    }
    if (!isfinite(best.seconds)) {
        return;
    }
    for (int32_t i = 0; i < 2; i++) {
        const lcp_fill_change change = {chunk, 0, 0, v->base, best.policy[i], best.layers[i]};
        lcp_fill_move(f, &change);
    }
}

/* Largest bytes over capacity while a chunk is in flight, everything under the base policy. */
static int64_t chunk_excess(const lcp_fill *f, int32_t chunk)
{
    const lcp_view *v = f->view;
    int64_t forward = f->memory[v->forward_at[chunk]];
    int64_t backward = f->memory[v->backward_at[chunk]];
    return (forward > backward ? forward : backward) - f->capacity_bytes;
}

bool lcp_chunks_alone(const lcp_view *view)
{
    for (int32_t k = 0; k < view->chunks; k++) {
        if (view->stages > 1 || view->backward_at[k] != view->forward_at[k] + 1) {
            return false;
        }
    }
    return true;
}

static lcp_status solve_pipeline(lcp_solve *solve, lcp_fill *f, int32_t pipeline, double *bound, bool *fits)
{
    const lcp_view *v = &solve->views[pipeline];
    const int32_t all = v->layers;
    lcp_status status = lcp_fill_build(f, v, &all, solve->err);
    if (status != LCP_OK) {
        return status;
    }
    *bound = f->tail[0];
    for (int32_t k = 0; k < v->chunks; k++) {
        int64_t excess = chunk_excess(f, k);
        double recompute = excess > 0 ? fractional_seconds(v, k, (double)excess) : 0;
        if (!isfinite(recompute)) {
            int64_t leanest = (int64_t)ceil(lcp_stage_least_bytes(v, 0, 0, v->layers)) - f->capacity_bytes;
            solve->out->missing_bytes = leanest > solve->out->missing_bytes ? leanest : solve->out->missing_bytes;
            *fits = false;
        }
        *bound += f->forward[k] + f->backward[k] + recompute;
    }
    if (!*fits) {
        return LCP_OK;
    }
    for (int32_t k = 0; v->classes == 1 && k < v->chunks; k++) {
        int64_t excess = chunk_excess(f, k);
        if (excess > 0) {
            choose_pair(f, k, excess);
        }
    }
    *fits = lcp_fill_repair(f, 0);
    if (*fits) {
        lcp_fill_trim(f);
        status = lcp_fill_replay(f, solve->err);
    }
    return status;
}

lcp_status lcp_solve_single_stage(lcp_solve *solve)
{
    int32_t pipelines = solve->input->pipeline_count;
    lcp_fill *fills = calloc((size_t)pipelines, sizeof *fills);
    if (fills == NULL) {
        return lcp_fail(solve->err, LCP_NOMEM, "", "cannot hold %d pipelines", pipelines);
    }
    lcp_status status = LCP_OK;
    bool fits = true;
    for (int32_t d = 0; status == LCP_OK && d < pipelines; d++) {
        double bound = 0;
        status = solve_pipeline(solve, &fills[d], d, &bound, &fits);
        solve->out->lower_bound_seconds = fmax(solve->out->lower_bound_seconds, bound);
    }
    solve->out->infeasible = status == LCP_OK && !fits;
    if (status == LCP_OK && fits && solve->out->lower_bound_seconds < solve->input->cutoff_seconds) {
        int32_t all = solve->views[0].layers;
        status = lcp_solve_take(solve, fills, &all);
    }
    for (int32_t d = 0; d < pipelines; d++) {
        lcp_fill_dispose(&fills[d]);
    }
    free(fills);
    return status;
}
