/* Time and memory of one configuration: layers as the run trains them, totals. */
#include "estimate_internal.h"
#include "modules.h"

#include <math.h>
#include <string.h>

const char *const lcp_run_schedule_names[LCP_RUN_SCHEDULE_COUNT + 1] = {"gpipe", "1f1b", "interleaved", NULL};

lcp_run lcp_run_default(void)
{
    return (lcp_run){
        .sequence_length_tokens = 4096,
        .global_batch_sequences = 1,
        .microbatch_sequences = 1,
        .layout = {.dp = 1, .pp = 1, .vpp = 1, .tp = 1, .ulysses = 1, .ring = 1, .ep = 1},
        .training = lcp_training_default(),
        .schedule = LCP_RUN_1F1B,
    };
}

static void split_layers(lcp_run_view *view)
{
    const lcp_run *run = view->run;
    int32_t first = run->first_stage_layers;
    int32_t last = run->last_stage_layers;
    int32_t middle = view->virtual_stages - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0);
    /* More stages than layers: the ends hold the embedding and the head alone, if others are left for the layers. */
    view->bare_ends = view->virtual_stages > view->model->layer_count && view->virtual_stages > 2 ? 1 : 0;
    middle -= 2 * view->bare_ends;
    int32_t left = view->model->layer_count - first - last;
    view->base_layers = middle > 0 ? left / middle : 0;
    view->longer = middle > 0 ? left % middle : 0;
}

int32_t lcp_run_stage_layers(const lcp_run_view *view, int32_t v, int32_t *first)
{
    const lcp_run *run = view->run;
    int32_t head = run->first_stage_layers;
    if (head > 0 && v == 0) {
        *first = 0;
        return head;
    }
    if (run->last_stage_layers > 0 && v == view->virtual_stages - 1) {
        *first = view->model->layer_count - run->last_stage_layers;
        return run->last_stage_layers;
    }
    if (view->bare_ends > 0 && (v == 0 || v == view->virtual_stages - 1)) {
        *first = v == 0 ? 0 : view->model->layer_count;
        return 0;
    }
    int32_t middle = v - (head > 0 ? 1 : 0) - view->bare_ends;
    *first = head + middle * view->base_layers + (middle < view->longer ? middle : view->longer);
    return view->base_layers + (middle < view->longer ? 1 : 0);
}

static double sum_all(const lcp_seconds *a, const lcp_seconds *b)
{
    return lcp_seconds_sum(a) + lcp_seconds_sum(b);
}

static void apply_recompute(lcp_run_layer *layer, const lcp_run_view *view, int32_t c)
{
    const lcp_run_recompute *r = &view->run->recompute;
    const lcp_run *run = view->run;
    const lcp_layer_cost *cost = &layer->cost;
    double none = (double)cost->kept_bytes[LCP_RECOMPUTE_NONE];
    double full = (double)cost->kept_bytes[LCP_RECOMPUTE_FULL];
    double again = lcp_seconds_sum(&cost->recompute[LCP_RECOMPUTE_FULL]);
    layer->kept_bytes = none;
    layer->kept_recomputed_bytes = full;
    switch (r->method) {
    case LCP_METHOD_NONE:
        break;
    case LCP_METHOD_SELECTIVE: {
        lcp_module_cost m =
            lcp_cost_modules_equal(view->cost, c, run->microbatch_sequences, run->sequence_length_tokens,
                                   cost->forward_kernels.attention, r->modules);
        layer->kept_bytes = fmax(none - m.dropped_bytes, full);
        layer->recompute_seconds = m.seconds;
        break;
    }
    case LCP_METHOD_UNIFORM:
        layer->kept_bytes = full / r->layers;
        layer->recompute_seconds = again;
        break;
    case LCP_METHOD_FULL:
        layer->kept_bytes = full;
        layer->recompute_seconds = again;
        break;
    case LCP_METHOD_BLOCK:
        layer->recompute_seconds = again;
        break;
    case LCP_METHOD_POLICY:
        layer->kept_bytes = r->share * (double)cost->kept_bytes[r->policy] + (1 - r->share) * full;
        layer->recompute_seconds = r->share * lcp_seconds_sum(&cost->recompute[r->policy]) + (1 - r->share) * again;
        break;
    }
}

static void apply_offload(lcp_run_layer *layer, const lcp_run_view *view)
{
    double ratio = view->run->activation_offload_ratio;
    double moved = ratio * layer->kept_bytes;
    layer->forward_seconds = lcp_seconds_sum(&layer->cost.forward);
    layer->backward_seconds = sum_all(&layer->cost.input_grad, &layer->cost.weight_grad);
    if (!(moved > 0)) {
        return;
    }
    double seconds = moved / view->cost->cluster->groups[0].host.bandwidth_bytes_per_second;
    double out = fmax(0, seconds - layer->forward_seconds);
    double back = fmax(0, seconds - layer->backward_seconds);
    layer->offload_seconds = 2 * seconds;
    layer->exposed_offload_seconds = out + back;
    layer->forward_seconds += out;
    layer->backward_seconds += back;
    layer->kept_bytes -= moved;
    layer->kept_recomputed_bytes *= 1 - ratio;
}

static void price_layers(lcp_run_view *view)
{
    const lcp_run *run = view->run;
    for (int32_t c = 0; c < view->model->class_count; c++) {
        lcp_run_layer *layer = &view->layers[c];
        layer->recompute_seconds = 0;
        layer->offload_seconds = 0;
        layer->exposed_offload_seconds = 0;
        lcp_cost_layer_equal(view->cost, c, run->microbatch_sequences, run->sequence_length_tokens, &layer->cost);
        apply_recompute(layer, view, c);
        apply_offload(layer, view);
    }
    lcp_cost_embedding_equal(view->cost, run->microbatch_sequences, run->sequence_length_tokens, &view->embedding);
    lcp_cost_head_equal(view->cost, run->microbatch_sequences, run->sequence_length_tokens, &view->head);
}

/* FLOPs of one microbatch forward on all its ranks, and of what runs again. */
static void count_flops(const lcp_run_view *view, double *forward, double *again)
{
    *forward = view->embedding.forward_flops + view->head.forward_flops;
    *again = 0;
    for (int32_t v = 0; v < view->virtual_stages; v++) {
        int32_t first = 0;
        int32_t count = lcp_run_stage_layers(view, v, &first);
        for (int32_t i = 0; i < count; i++) {
            const lcp_run_layer *layer = &view->layers[view->model->layer_class[first + i]];
            double whole = lcp_seconds_sum(&layer->cost.forward);
            double share = whole > 0 && lcp_run_recomputes(view, i) ? fmin(1, layer->recompute_seconds / whole) : 0;
            *forward += layer->cost.forward_flops;
            *again += share * layer->cost.forward_flops;
        }
    }
}

static void set_totals(lcp_estimate *out, const lcp_run_view *view)
{
    const lcp_run *run = view->run;
    const lcp_layout *l = &run->layout;
    double devices = (double)l->dp * l->pp * l->tp * l->ulysses * l->ring;
    double tokens = (double)run->global_batch_sequences * (double)run->sequence_length_tokens;
    double forward = 0;
    double again = 0;
    count_flops(view, &forward, &again);
    double batches = (double)view->microbatches * l->dp;
    double peak = out->iteration_seconds * devices * view->cost->device->peak_flops_per_second;
    out->microbatches = view->microbatches;
    out->tokens_per_second_per_device = tokens / out->iteration_seconds / devices;
    out->mfu_ratio = 3 * forward * batches / peak;
    out->hfu_ratio = (3 * forward + again) * batches / peak;
    out->stage_count = l->pp;
    out->capacity_bytes = view->cost->capacity_bytes;
    out->reserve_bytes = view->cost->reserve_bytes;
    out->fullest_stage = 0;
    for (int32_t s = 1; s < l->pp; s++) {
        out->fullest_stage = out->memory[s].total > out->memory[out->fullest_stage].total ? s : out->fullest_stage;
    }
    out->fits = out->memory[out->fullest_stage].total + out->reserve_bytes <= out->capacity_bytes;
}

lcp_status lcp_estimate_run(lcp_estimate *out, const lcp_model *model, const lcp_cluster *cluster, const lcp_run *run,
                            lcp_error *err)
{
    lcp_cost cost;
    lcp_run_layer layers[LCP_COST_CLASSES];
    lcp_run_view view = {.model = model, .run = run, .cost = &cost, .layers = layers};
    lcp_status status = lcp_run_check(model, cluster, run, err);
    if (status != LCP_OK) {
        return status;
    }
    /* Exchanges are priced whole here: what hides depends on the last microbatch. */
    lcp_training training = run->training;
    training.dp_overlap_ratio = 0;
    status = lcp_cost_prepare(&cost, model, cluster, &run->layout, &training, err);
    if (status != LCP_OK) {
        return status;
    }
    view.microbatches = run->global_batch_sequences / (run->microbatch_sequences * run->layout.dp);
    view.virtual_stages = run->layout.pp * run->layout.vpp;
    split_layers(&view);
    price_layers(&view);
    lcp_estimate_time(out, &view);
    lcp_estimate_memory_of(out, &view);
    set_totals(out, &view);
    return LCP_OK;
}
