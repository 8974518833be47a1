/* Peak memory of each pipeline rank for equal microbatches. */
#include "estimate_internal.h"

#include <math.h>

/* Microbatches whose activations virtual stage `chunk` of a rank holds at the peak. */
static double in_flight(const lcp_run_view *view, int32_t rank, int32_t chunk)
{
    int64_t pp = view->run->layout.pp;
    int64_t vpp = view->run->layout.vpp;
    int64_t m = view->microbatches;
    if (view->run->schedule == LCP_RUN_GPIPE) {
        return (double)m;
    }
    if (vpp == 1) {
        int64_t warm = pp - rank;
        return (double)(warm < m ? warm : m);
    }
    /* Interleaved: forward passes of the warm-up and one more, groups of pp microbatches through each chunk in turn. */
    int64_t passes = 2 * (pp - rank - 1) + (vpp - 1) * pp + 1;
    passes = passes < m * vpp ? passes : m * vpp;
    int64_t whole = passes / (pp * vpp);
    int64_t rest = passes % (pp * vpp) - chunk * pp;
    rest = rest < 0 ? 0 : rest > pp ? pp : rest;
    return (double)(whole * pp + rest);
}

/* Activations of one microbatch on one virtual stage; the transient peak of the heaviest layer. */
static double kept_of(const lcp_run_view *view, int32_t v, double *working)
{
    int32_t first = 0;
    int32_t count = lcp_run_stage_layers(view, v, &first);
    const lcp_run_recompute *r = &view->run->recompute;
    bool rebuilds = r->method != LCP_METHOD_NONE && r->method != LCP_METHOD_SELECTIVE;
    double kept = 0;
    for (int32_t i = 0; i < count; i++) {
        const lcp_run_layer *layer = &view->layers[view->model->layer_class[first + i]];
        bool block = r->method == LCP_METHOD_BLOCK && lcp_run_recomputes(view, i);
        double held = block ? layer->kept_recomputed_bytes : layer->kept_bytes;
        if (r->method == LCP_METHOD_UNIFORM) { /* the input of a group, also of a last one that is not full */
            held *= i % r->layers == 0 ? r->layers : 0;
        }
        kept += held;
        double inside = rebuilds ? (double)layer->cost.working_bytes : (double)layer->cost.working_none_bytes;
        if (r->method == LCP_METHOD_UNIFORM) {
            double rebuilt = (double)(layer->cost.kept_bytes[LCP_RECOMPUTE_NONE]);
            inside += (fmin(r->layers, count) - 1) * rebuilt;
        }
        *working = lcp_later(*working, inside);
    }
    return kept;
}

static void add_static(lcp_estimate_memory *out, const lcp_static_bytes *part)
{
    out->parameters += part->parameters;
    out->gradients += part->gradients;
    out->optimizer += part->optimizer;
}

static void add_states(lcp_estimate_memory *out, const lcp_run_view *view, int32_t rank)
{
    const lcp_cost *cost = view->cost;
    int32_t pp = view->run->layout.pp;
    for (int32_t v = rank; v < view->virtual_stages; v += pp) {
        int32_t first = 0;
        int32_t count = lcp_run_stage_layers(view, v, &first);
        for (int32_t i = 0; i < count; i++) {
            add_static(out, &cost->layer_static[view->model->layer_class[first + i]]);
        }
    }
    if (rank == 0) {
        add_static(out, &cost->embedding_static);
    }
    if (rank == (view->virtual_stages - 1) % pp) {
        add_static(out, &cost->head_static);
    }
    if (view->run->optimizer_on_host) {
        out->optimizer = 0;
    }
}

void lcp_estimate_memory_of(lcp_estimate *out, const lcp_run_view *view)
{
    int32_t pp = view->run->layout.pp;
    int32_t vpp = view->run->layout.vpp;
    int64_t tokens =
        lcp_cost_padded_tokens_equal(view->cost, view->run->microbatch_sequences, view->run->sequence_length_tokens);
    int64_t buffers = lcp_cost_buffer_bytes(view->cost, tokens);
    for (int32_t r = 0; r < pp; r++) {
        lcp_estimate_memory m = {.buffers = buffers};
        double activations = 0;
        double working = 0;
        for (int32_t v = r; v < view->virtual_stages; v += pp) {
            activations += in_flight(view, r, v / pp) * kept_of(view, v, &working);
        }
        add_states(&m, view, r);
        if (r == 0) {
            activations += in_flight(view, r, 0) * (double)view->embedding.kept_bytes;
            working = fmax(working, (double)view->embedding.working_bytes);
        }
        if (r == (view->virtual_stages - 1) % pp) {
            m.logits = lcp_bytes_up(in_flight(view, r, vpp - 1) * (double)view->head.kept_bytes);
            working = fmax(working, (double)view->head.working_bytes);
        }
        m.activations = lcp_bytes_up(activations);
        m.working = lcp_bytes_up(working);
        m.total = m.parameters + m.gradients + m.optimizer + m.activations + m.logits + m.working + m.buffers;
        out->memory[r] = m;
    }
}
