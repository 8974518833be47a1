#include "partition/view.h"

#include <math.h>
#include <stdlib.h>

void lcp_view_dispose(lcp_view *view)
{
    free(view->forward);
    free(view->freed_bytes);
    free(view->prefix);
    *view = (lcp_view){0};
}

static lcp_status allocate(lcp_view *v, lcp_error *err)
{
    size_t cells = (size_t)v->chunks * (size_t)v->classes;
    size_t chunks = (size_t)v->chunks;
    size_t classes = (size_t)v->classes;
    size_t places = (size_t)v->stages * chunks;
    v->forward = calloc(2 * cells + cells * LCP_RECOMPUTE_COUNT + 4 * chunks + classes, sizeof *v->forward);
    v->freed_bytes = calloc(cells * LCP_RECOMPUTE_COUNT + cells + classes, sizeof *v->freed_bytes);
    v->prefix = calloc(classes * ((size_t)v->layers + 1) + 2 * places, sizeof *v->prefix);
    if (v->forward == NULL || v->freed_bytes == NULL || v->prefix == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold the costs of %d chunks", v->chunks);
    }
    v->backward = v->forward + cells;
    v->extra_seconds = v->backward + cells;
    v->end_forward[0] = v->extra_seconds + cells * LCP_RECOMPUTE_COUNT;
    v->end_forward[1] = v->end_forward[0] + chunks;
    v->end_backward[0] = v->end_forward[1] + chunks;
    v->end_backward[1] = v->end_backward[0] + chunks;
    v->step_seconds = v->end_backward[1] + chunks;
    v->kept_bytes = v->freed_bytes + cells * LCP_RECOMPUTE_COUNT;
    v->static_bytes = v->kept_bytes + cells;
    v->forward_at = v->prefix + classes * ((size_t)v->layers + 1);
    v->backward_at = v->forward_at + places;
    return LCP_OK;
}

/* NONE if allowed, else the allowed policy that recomputes least (the rows are ordered by what they drop). */
static int32_t base_policy(uint32_t mask)
{
    for (int32_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
        if ((mask >> q & 1U) != 0) {
            return q;
        }
    }
    return LCP_RECOMPUTE_NONE;
}

/* A policy is useful if it frees something and no other allowed policy frees as much for less. */
static void drop_dominated(lcp_view *v, size_t cell)
{
    int64_t *freed = &v->freed_bytes[cell * LCP_RECOMPUTE_COUNT];
    const double *extra = &v->extra_seconds[cell * LCP_RECOMPUTE_COUNT];
    for (int32_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
        for (int32_t other = 0; other < LCP_RECOMPUTE_COUNT && freed[q] > 0; other++) {
            bool as_good = other != q && freed[other] >= freed[q] && extra[other] <= extra[q];
            bool same = as_good && freed[other] == freed[q] && !(extra[other] < extra[q]);
            if (as_good && !(same && other > q)) {
                freed[q] = 0;
            }
        }
    }
}

static void fill_cell(lcp_view *v, int32_t chunk, int32_t layer_class)
{
    size_t cell = lcp_view_cell(v, chunk, layer_class);
    const lcp_layer_cost *layer = &v->tables->layers[cell];
    double base_seconds = lcp_seconds_sum(&layer->recompute[v->base]);
    v->forward[cell] = lcp_seconds_sum(&layer->forward);
    v->backward[cell] = lcp_seconds_sum(&layer->input_grad) + lcp_seconds_sum(&layer->weight_grad) + base_seconds;
    v->kept_bytes[cell] = layer->kept_bytes[v->base];
    for (int32_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
        size_t at = cell * LCP_RECOMPUTE_COUNT + (size_t)q;
        bool allowed = (v->input->policy_mask >> q & 1U) != 0;
        v->extra_seconds[at] = lcp_seconds_sum(&layer->recompute[q]) - base_seconds;
        v->freed_bytes[at] = allowed && q != v->base ? layer->kept_bytes[v->base] - layer->kept_bytes[q] : 0;
        if (v->freed_bytes[at] < 0) {
            v->freed_bytes[at] = 0;
        }
    }
    drop_dominated(v, cell);
}

static int64_t static_sum(const lcp_static_bytes *bytes)
{
    return bytes->parameters + bytes->gradients + bytes->optimizer;
}

static void fill_chunks(lcp_view *v)
{
    const lcp_pipeline_tables *t = v->tables;
    for (int32_t k = 0; k < v->chunks; k++) {
        for (int32_t c = 0; c < v->classes; c++) {
            fill_cell(v, k, c);
        }
        const lcp_end_cost *ends[2] = {&t->embedding[k], &t->head[k]};
        for (int32_t i = 0; i < 2; i++) {
            v->end_forward[i][k] = lcp_seconds_sum(&ends[i]->forward);
            v->end_backward[i][k] = lcp_seconds_sum(&ends[i]->input_grad) + lcp_seconds_sum(&ends[i]->weight_grad);
        }
    }
}

static void fill_layers(lcp_view *v)
{
    const lcp_cost *cost = v->cost;
    for (int32_t c = 0; c < v->classes; c++) {
        v->static_bytes[c] = static_sum(&cost->layer_static[c]);
        v->step_seconds[c] = cost->layer_step[c].exposed_dp + cost->layer_step[c].optimizer;
        int32_t *prefix = &v->prefix[(size_t)c * (size_t)(v->layers + 1)];
        for (int32_t l = 0; l < v->layers; l++) {
            prefix[l + 1] = prefix[l] + (cost->model->layer_class[l] == c);
        }
    }
    v->end_static_bytes[0] = static_sum(&cost->embedding_static);
    v->end_static_bytes[1] = static_sum(&cost->head_static);
    v->end_step_seconds[0] = cost->embedding_step.exposed_dp + cost->embedding_step.optimizer;
    v->end_step_seconds[1] = cost->head_step.exposed_dp + cost->head_step.optimizer;
    v->overhead_seconds = lcp_cost_pass_overhead_seconds(cost);
    v->fixed_bytes = cost->reserve_bytes + lcp_cost_buffer_bytes(cost, v->tables->max_padded_tokens);
}

static void fill_places(lcp_view *v)
{
    const lcp_schedule *schedule = &v->tables->schedule;
    for (int32_t s = 0; s < v->stages; s++) {
        for (int32_t i = 0; i < schedule->op_count[s]; i++) {
            const lcp_op *op = &schedule->ops[s][i];
            int32_t *place = op->kind == LCP_OP_FORWARD ? v->forward_at : v->backward_at;
            place[(size_t)s * (size_t)v->chunks + (size_t)op->chunk] = i;
        }
    }
}

lcp_status lcp_view_build(lcp_view *out, const lcp_partition_input *input, int32_t pipeline, lcp_error *err)
{
    *out = (lcp_view){.input = input, .cost = input->cost, .tables = &input->pipelines[pipeline]};
    out->stages = input->cost->layout.pp;
    out->classes = input->cost->model->class_count;
    out->layers = input->cost->model->layer_count;
    out->chunks = out->tables->chunk_count;
    out->base = base_policy(input->policy_mask);
    lcp_status status = allocate(out, err);
    if (status != LCP_OK) {
        lcp_view_dispose(out);
        return status;
    }
    fill_chunks(out);
    fill_layers(out);
    fill_places(out);
    return LCP_OK;
}

int64_t lcp_view_working(const lcp_view *view, int32_t stage, int32_t chunk, const int32_t *class_layers)
{
    int64_t working = 0;
    for (int32_t c = 0; c < view->classes; c++) {
        int64_t bytes = view->tables->layers[lcp_view_cell(view, chunk, c)].working_bytes;
        working = class_layers[c] > 0 && bytes > working ? bytes : working;
    }
    if (stage == 0 && view->tables->embedding[chunk].working_bytes > working) {
        working = view->tables->embedding[chunk].working_bytes;
    }
    if (stage == view->stages - 1 && view->tables->head[chunk].working_bytes > working) {
        working = view->tables->head[chunk].working_bytes;
    }
    return working;
}

int64_t lcp_view_end_kept(const lcp_view *view, int32_t stage, int32_t chunk)
{
    int64_t kept = stage == 0 ? view->tables->embedding[chunk].kept_bytes : 0;
    return kept + (stage == view->stages - 1 ? view->tables->head[chunk].kept_bytes : 0);
}

int32_t lcp_view_hull(lcp_hull_step steps[LCP_RECOMPUTE_COUNT], const lcp_view *view, int32_t chunk,
                      int32_t layer_class)
{
    size_t policies = lcp_view_cell(view, chunk, layer_class) * LCP_RECOMPUTE_COUNT;
    int64_t bytes = 0;
    double seconds = 0;
    int32_t count = 0;
    for (;;) {
        double best = HUGE_VAL;
        size_t next = LCP_RECOMPUTE_COUNT;
        for (size_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
            int64_t more = view->freed_bytes[policies + q] - bytes;
            double slope = more > 0 ? (view->extra_seconds[policies + q] - seconds) / (double)more : HUGE_VAL;
            if (slope < best) {
                best = slope;
                next = q;
            }
        }
        if (next == LCP_RECOMPUTE_COUNT) {
            return count;
        }
        steps[count++] = (lcp_hull_step){.bytes = (double)(view->freed_bytes[policies + next] - bytes),
                                         .seconds = view->extra_seconds[policies + next] - seconds};
        bytes = view->freed_bytes[policies + next];
        seconds = view->extra_seconds[policies + next];
    }
}
