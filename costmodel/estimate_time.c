/* Iteration time of equal microbatches in closed form; docs/cost-model.md derives it, tests hold it against replay. */
#include "estimate_internal.h"

#include <math.h>

static lcp_pass_seconds passes_of(const lcp_run_view *view, int32_t v)
{
    int32_t first = 0;
    int32_t count = lcp_run_stage_layers(view, v, &first);
    double overhead = view->cost->device->pass_overhead_seconds;
    lcp_pass_seconds t = {overhead, overhead};
    for (int32_t i = 0; i < count; i++) {
        const lcp_run_layer *layer = &view->layers[view->model->layer_class[first + i]];
        t.forward += layer->forward_seconds;
        t.backward += layer->backward_seconds + (lcp_run_recomputes(view, i) ? layer->recompute_seconds : 0);
    }
    const lcp_end_cost *ends[] = {v == 0 ? &view->embedding : NULL, v == view->virtual_stages - 1 ? &view->head : NULL};
    for (int32_t i = 0; i < 2; i++) {
        if (ends[i] != NULL) {
            t.forward += lcp_seconds_sum(&ends[i]->forward);
            t.backward += lcp_seconds_sum(&ends[i]->input_grad) + lcp_seconds_sum(&ends[i]->weight_grad);
        }
    }
    return t;
}

/* One microbatch on each pipeline rank, all its virtual stages. */
static void rank_times(lcp_pass_seconds *ranks, const lcp_run_view *view)
{
    int32_t pp = view->run->layout.pp;
    for (int32_t r = 0; r < pp; r++) {
        ranks[r] = (lcp_pass_seconds){0, 0};
    }
    for (int32_t v = 0; v < view->virtual_stages; v++) {
        lcp_pass_seconds t = passes_of(view, v);
        ranks[v % pp].forward += t.forward;
        ranks[v % pp].backward += t.backward;
    }
}

/* Of one microbatch between neighbouring stages. */
static double hop_seconds(const lcp_run_view *view)
{
    const lcp_run *run = view->run;
    return lcp_cost_hop_seconds_of_tokens(
        view->cost, lcp_cost_padded_tokens_equal(view->cost, run->microbatch_sequences, run->sequence_length_tokens));
}

static void add_traffic(lcp_estimate_seconds *out, const lcp_seconds *pass, double times)
{
    out->exposed_tp += times * pass->exposed_tp;
    out->exposed_cp += times * pass->exposed_cp;
    out->exposed_ep += times * pass->exposed_ep;
    out->exposed_dp += times * pass->exposed_dp;
}

/* What a share hidden behind a ratio was: exposed = (1 - ratio) x whole. */
static double hidden_of(double exposed, double ratio)
{
    return ratio < 1 ? exposed * ratio / (1 - ratio) : 0;
}

static void add_layer(lcp_estimate_seconds *out, const lcp_run_layer *layer, bool recomputes, double times)
{
    const lcp_layer_cost *c = &layer->cost;
    double attention = c->forward_kernels.attention + c->backward_kernels.attention;
    double elementwise = c->forward_kernels.elementwise + c->backward_kernels.elementwise;
    double host = c->forward_kernels.host + c->backward_kernels.host;
    double compute = c->forward.compute + c->input_grad.compute + c->weight_grad.compute;
    out->attention += times * attention;
    out->elementwise += times * elementwise;
    out->host += times * host;
    out->matmul += times * (compute - attention - elementwise - host);
    out->recompute += recomputes ? times * layer->recompute_seconds : 0;
    out->exposed_offload += times * layer->exposed_offload_seconds;
    out->hidden_offload += times * (layer->offload_seconds - layer->exposed_offload_seconds);
    out->hidden_cp += times * c->hidden_cp;
    out->hidden_dp += times * c->hidden_dp;
    add_traffic(out, &c->forward, times);
    add_traffic(out, &c->input_grad, times);
    add_traffic(out, &c->weight_grad, times);
}

static void add_end(lcp_estimate_seconds *out, const lcp_end_cost *end, double times)
{
    out->matmul += times * (end->forward.compute + end->input_grad.compute + end->weight_grad.compute);
    add_traffic(out, &end->forward, times);
    add_traffic(out, &end->input_grad, times);
    add_traffic(out, &end->weight_grad, times);
}

/* Where the busy time of one pipeline rank goes. */
static void break_down(lcp_estimate_seconds *out, const lcp_run_view *view, int32_t rank)
{
    int32_t pp = view->run->layout.pp;
    double m = (double)view->microbatches;
    for (int32_t v = rank; v < view->virtual_stages; v += pp) {
        int32_t first = 0;
        int32_t count = lcp_run_stage_layers(view, v, &first);
        for (int32_t i = 0; i < count; i++) {
            add_layer(out, &view->layers[view->model->layer_class[first + i]], lcp_run_recomputes(view, i), m);
        }
        out->host += 2 * m * view->cost->device->pass_overhead_seconds;
    }
    if (rank == 0) {
        add_end(out, &view->embedding, m);
    }
    if (rank == (view->virtual_stages - 1) % pp) {
        add_end(out, &view->head, m);
    }
    const lcp_training *training = &view->run->training;
    out->hidden_tp = hidden_of(out->exposed_tp, training->tp_overlap_ratio);
    out->hidden_ep = hidden_of(out->exposed_ep, training->ep_overlap_ratio);
}

/* Exchange and update of the parameters of one rank, nothing hidden. */
static lcp_step_seconds step_of(const lcp_run_view *view, int32_t rank)
{
    const lcp_cost *cost = view->cost;
    int32_t pp = view->run->layout.pp;
    lcp_step_seconds sum = {0, 0};
    for (int32_t v = rank; v < view->virtual_stages; v += pp) {
        int32_t first = 0;
        int32_t count = lcp_run_stage_layers(view, v, &first);
        for (int32_t i = 0; i < count; i++) {
            const lcp_step_seconds *one = &cost->layer_step[view->model->layer_class[first + i]];
            sum.exposed_dp += one->exposed_dp;
            sum.optimizer += one->optimizer;
        }
    }
    if (rank == 0) {
        sum.exposed_dp += cost->embedding_step.exposed_dp;
        sum.optimizer += cost->embedding_step.optimizer - cost->device->step_overhead_seconds; /* reported apart */
    }
    if (rank == (view->virtual_stages - 1) % pp && (rank != 0 || !view->model->tied_embeddings)) {
        sum.exposed_dp += cost->head_step.exposed_dp;
        sum.optimizer += cost->head_step.optimizer;
    }
    return sum;
}

/* Gradients go out while the last microbatch is in its backward pass: that much can hide. */
static double exposed_exchange(const lcp_run_view *view, double exchange, double backward)
{
    return exchange - view->run->training.dp_overlap_ratio * fmin(exchange, backward);
}

/* States and gradients over the host link, both ways. */
static double host_update_seconds(const lcp_run_view *view, double update)
{
    const lcp_cost *cost = view->cost;
    double ratio = cost->device->memory_bandwidth_bytes_per_second * cost->device->memory_ratio /
                   cost->cluster->groups[0].host.bandwidth_bytes_per_second;
    return update * ratio;
}

void lcp_estimate_time(lcp_estimate *out, const lcp_run_view *view)
{
    lcp_pass_seconds ranks[LCP_ESTIMATE_MAX_STAGES];
    int32_t pp = view->run->layout.pp;
    double m = (double)view->microbatches;
    rank_times(ranks, view);
    double hop = hop_seconds(view);
    double pipeline =
        lcp_pipeline_seconds(ranks, pp, view->run->layout.vpp, view->run->schedule, view->microbatches, hop);
    lcp_estimate_seconds seconds = {0};
    double longest = 0;
    int32_t busiest = 0;
    for (int32_t r = 0; r < pp; r++) {
        lcp_step_seconds step = step_of(view, r);
        step.optimizer = view->run->optimizer_on_host ? host_update_seconds(view, step.optimizer) : step.optimizer;
        double exposed = exposed_exchange(view, step.exposed_dp, ranks[r].backward);
        if (exposed + step.optimizer > longest) {
            longest = exposed + step.optimizer;
            seconds.exposed_dp = exposed;
            seconds.hidden_dp = step.exposed_dp - exposed;
            seconds.optimizer = step.optimizer;
        }
        double busy = ranks[r].forward + ranks[r].backward;
        busiest = busy > ranks[busiest].forward + ranks[busiest].backward ? r : busiest;
    }
    seconds.step_overhead = view->cost->device->step_overhead_seconds;
    break_down(&seconds, view, busiest);
    double busy = m * (ranks[busiest].forward + ranks[busiest].backward);
    double idle = pipeline - busy;
    seconds.exposed_pp = fmin(fmax(idle, 0), lcp_pipeline_hop_seconds(pp, view->run->layout.vpp, hop));
    seconds.bubble = idle - seconds.exposed_pp;
    out->seconds = seconds;
    out->iteration_seconds = pipeline + longest + seconds.step_overhead;
}
