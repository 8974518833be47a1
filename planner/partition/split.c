#include "partition/split.h"

#include <math.h>
#include <stdlib.h>

/* best[s][l]: smallest largest price of stages 0..s over layers [0, l). */
typedef struct table {
    double *best;
    int32_t *from;
    size_t width;
} table;

static void fill_row(table *t, const lcp_view *view, int32_t stage, lcp_stage_price price, const void *context)
{
    int32_t after = view->stages - 1 - stage; /* layers that later stages need at least */
    for (int32_t last = stage + 1; last <= view->layers - after; last++) {
        double best = HUGE_VAL;
        int32_t from = -1;
        for (int32_t first = last - 1; first >= stage; first--) {
            double before = first == 0 ? 0 : HUGE_VAL;
            if (stage > 0) {
                before = t->best[(size_t)(stage - 1) * t->width + (size_t)first];
            }
            if (!(before < best)) {
                continue;
            }
            double own = price(context, stage, first, last);
            if (!(own < best)) {
                break; /* a longer range costs no less */
            }
            double worst = fmax(before, own);
            if (worst < best) {
                best = worst;
                from = first;
            }
        }
        t->best[(size_t)stage * t->width + (size_t)last] = best;
        t->from[(size_t)stage * t->width + (size_t)last] = from;
    }
}

static void read_back(const table *t, const lcp_view *view, int32_t *stage_layers)
{
    int32_t last = view->layers;
    for (int32_t s = view->stages - 1; s >= 0; s--) {
        int32_t first = t->from[(size_t)s * t->width + (size_t)last];
        stage_layers[s] = last - first;
        last = first;
    }
}

lcp_status lcp_split_minmax(double *optimum, int32_t *stage_layers, const lcp_view *view, lcp_stage_price price,
                            const void *context, lcp_error *err)
{
    table t = {.width = (size_t)view->layers + 1};
    size_t cells = (size_t)view->stages * t.width;
    t.best = malloc(cells * sizeof *t.best);
    t.from = malloc(cells * sizeof *t.from);
    lcp_status status = LCP_OK;
    if (t.best == NULL || t.from == NULL) {
        status = lcp_fail(err, LCP_NOMEM, "", "cannot split %d layers", view->layers);
        goto out;
    }
    for (size_t i = 0; i < cells; i++) {
        t.best[i] = HUGE_VAL;
        t.from[i] = -1;
    }
    for (int32_t s = 0; s < view->stages; s++) {
        fill_row(&t, view, s, price, context);
    }
    *optimum = t.best[cells - 1];
    if (stage_layers != NULL && isfinite(*optimum)) {
        read_back(&t, view, stage_layers);
    }
out:
    free(t.best);
    free(t.from);
    return status;
}

double lcp_stage_least_bytes(const void *context, int32_t stage, int32_t first, int32_t last)
{
    const lcp_view *v = context;
    const lcp_schedule *schedule = &v->tables->schedule;
    int32_t layers[LCP_MAX_LAYER_CLASSES];
    double resident = (double)v->fixed_bytes;
    for (int32_t c = 0; c < v->classes; c++) {
        layers[c] = lcp_view_layers(v, c, first, last);
        resident += (double)layers[c] * (double)v->static_bytes[c];
    }
    resident += stage == 0 ? (double)v->end_static_bytes[0] : 0;
    resident += stage == v->stages - 1 ? (double)v->end_static_bytes[1] : 0;
    double held = 0;
    double kv_grad = 0;
    double peak = 0;
    for (int32_t i = 0; i < schedule->op_count[stage]; i++) {
        const lcp_op *op = &schedule->ops[stage][i];
        bool backward = op->kind != LCP_OP_FORWARD;
        double own = (double)lcp_view_end_kept(v, stage, op->chunk);
        double own_kv_grad = 0;
        for (int32_t c = 0; c < v->classes; c++) {
            size_t cell = lcp_view_cell(v, op->chunk, c);
            int64_t freed = 0;
            for (int32_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
                int64_t bytes = v->freed_bytes[cell * LCP_RECOMPUTE_COUNT + (size_t)q];
                freed = bytes > freed ? bytes : freed;
            }
            own += (double)layers[c] * (double)(v->kept_bytes[cell] - freed);
        }
        held += backward ? 0 : own;
        if (backward && v->tables->links[op->chunk].next_slice < 0) {
            for (int32_t k = op->chunk; k >= 0; k = v->tables->links[k].previous_slice) {
                for (int32_t c = 0; c < v->classes; c++) {
                    kv_grad += (double)layers[c] * (double)v->tables->layers[lcp_view_cell(v, k, c)].kv_grad_bytes;
                }
            }
        }
        peak = fmax(peak, held + kv_grad + (double)lcp_view_working(v, stage, op->chunk, layers));
        if (backward) {
            for (int32_t c = 0; c < v->classes; c++) {
                own_kv_grad +=
                    (double)layers[c] * (double)v->tables->layers[lcp_view_cell(v, op->chunk, c)].kv_grad_bytes;
            }
            held -= own;
            kv_grad -= own_kv_grad;
        }
    }
    return resident + peak;
}
