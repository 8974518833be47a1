/* Seconds and bytes of every chunk on every stage, layer by layer from the cost model. */
#include "simulate/simulate.h"

#include <stdlib.h>

/* Tables [stage][chunk] in one block each. */
typedef struct filling {
    lcp_simulated *s;
    const lcp_problem *problem;
    const lcp_schedule *stages; /* stage_count, stage_rank, rank_count, chunk_count */
    const lcp_simulate_options *options;
    lcp_cost cost;
    double *forward, *backward, *input_grad, *weight_grad, *recompute, *offload, *hop, *tail;
    int64_t *kept, *kv_grad, *working, *resident;
    int32_t *policy; /* [layer]: of the chunk at hand */
} filling;

static lcp_status allocate(filling *f, lcp_error *err)
{
    size_t chunks = (size_t)f->stages->chunk_count;
    size_t ranks = (size_t)f->stages->rank_count;
    size_t cells = chunks * (size_t)f->stages->stage_count;
    f->s->seconds = calloc(6 * cells + chunks + ranks, sizeof *f->s->seconds);
    f->s->bytes = calloc(3 * cells + ranks, sizeof *f->s->bytes);
    f->policy = malloc((size_t)f->problem->model.layer_count * sizeof *f->policy);
    if (f->s->seconds == NULL || f->s->bytes == NULL || f->policy == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold the times of %zu passes", cells);
    }
    double **seconds[] = {&f->forward, &f->backward, &f->input_grad, &f->weight_grad, &f->recompute, &f->offload};
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        *seconds[i] = f->s->seconds + i * cells;
    }
    f->hop = f->s->seconds + 6 * cells;
    f->tail = f->hop + chunks;
    f->kept = f->s->bytes;
    f->kv_grad = f->kept + cells;
    f->working = f->kv_grad + cells;
    f->resident = f->working + cells;
    return LCP_OK;
}

/* Stages of the plan, or layers dealt out evenly, earlier stages taking one more. */
static int32_t first_layer(const filling *f, int32_t stage)
{
    const lcp_plan *plan = f->s->plan;
    int32_t stages = f->stages->stage_count;
    if (stages == plan->stage_count) {
        return stage < stages ? plan->stages[stage].first_layer : f->problem->model.layer_count;
    }
    int32_t layers = f->problem->model.layer_count;
    int32_t more = layers % stages;
    return stage * (layers / stages) + (stage < more ? stage : more);
}

/* Which policy each layer has for a chunk: entries take the first layers of their class that no entry before took. */
static void find_policies(filling *f, int32_t chunk)
{
    const lcp_plan *plan = f->s->plan;
    const lcp_model *model = &f->problem->model;
    const lcp_plan_chunk *owner = &plan->chunks[f->s->first_chunk + chunk];
    for (int32_t l = 0; l < model->layer_count; l++) {
        f->policy[l] = LCP_RECOMPUTE_NONE;
    }
    for (int32_t i = 0; i < owner->recompute_count; i++) {
        const lcp_chunk_recompute *entry = &owner->recompute[i];
        const lcp_stage *stage = &plan->stages[entry->stage];
        int32_t left = entry->layers;
        for (int32_t l = stage->first_layer; left > 0 && l < stage->first_layer + stage->layer_count; l++) {
            if ((int32_t)model->layer_class[l] == entry->layer_class && f->policy[l] == LCP_RECOMPUTE_NONE) {
                f->policy[l] = (int32_t)entry->policy;
                left--;
            }
        }
    }
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void add_end(filling *f, size_t cell, const lcp_end_cost *end)
{
    f->forward[cell] += lcp_seconds_sum(&end->forward);
    f->input_grad[cell] += lcp_seconds_sum(&end->input_grad);
    f->weight_grad[cell] += lcp_seconds_sum(&end->weight_grad);
    f->kept[cell] += end->kept_bytes;
    f->working[cell] = larger(f->working[cell], end->working_bytes);
}

static void fill_cell(filling *f, int32_t stage, int32_t chunk, const lcp_layer_cost *classes)
{
    const lcp_chunk *of = &f->s->plan->chunks[f->s->first_chunk + chunk].chunk;
    size_t cell = (size_t)stage * (size_t)f->stages->chunk_count + (size_t)chunk;
    double overhead = lcp_cost_pass_overhead_seconds(&f->cost);
    f->forward[cell] = overhead;
    f->input_grad[cell] = overhead / 2;
    f->weight_grad[cell] = overhead / 2;
    for (int32_t l = first_layer(f, stage); l < first_layer(f, stage + 1); l++) {
        const lcp_layer_cost *layer = &classes[f->problem->model.layer_class[l]];
        f->forward[cell] += lcp_seconds_sum(&layer->forward);
        f->input_grad[cell] += lcp_seconds_sum(&layer->input_grad);
        f->weight_grad[cell] += lcp_seconds_sum(&layer->weight_grad);
        f->recompute[cell] += lcp_seconds_sum(&layer->recompute[f->policy[l]]);
        f->kept[cell] += layer->kept_bytes[f->policy[l]];
        f->kv_grad[cell] += layer->kv_grad_bytes;
        f->working[cell] = larger(f->working[cell], layer->working_bytes);
    }
    lcp_end_cost end;
    if (stage == 0) {
        lcp_cost_embedding(&f->cost, of, &end);
        add_end(f, cell, &end);
    }
    if (stage == f->stages->stage_count - 1) {
        lcp_cost_head(&f->cost, of, &end);
        add_end(f, cell, &end);
    }
    if (!f->options->recompute_ahead) {
        f->input_grad[cell] += f->recompute[cell];
    }
    f->backward[cell] = f->input_grad[cell] + f->weight_grad[cell];
    const lcp_link *host = &f->problem->cluster.groups[0].host;
    f->offload[cell] = host->latency_seconds + (double)f->kept[cell] / host->bandwidth_bytes_per_second;
}

static void fill_chunks(filling *f)
{
    lcp_layer_cost classes[LCP_MAX_LAYER_CLASSES];
    for (int32_t k = 0; k < f->stages->chunk_count; k++) {
        const lcp_chunk *chunk = &f->s->plan->chunks[f->s->first_chunk + k].chunk;
        for (int32_t c = 0; c < f->problem->model.class_count; c++) {
            lcp_cost_layer(&f->cost, c, chunk, &classes[c]);
        }
        find_policies(f, k);
        f->hop[k] = lcp_cost_hop_seconds(&f->cost, chunk);
        for (int32_t s = 0; s < f->stages->stage_count; s++) {
            fill_cell(f, s, k, classes);
        }
    }
}

static void add_resident(filling *f, int32_t rank, const lcp_static_bytes *bytes, const lcp_step_seconds *step)
{
    f->resident[rank] += bytes->parameters + bytes->gradients + bytes->optimizer;
    f->tail[rank] += step->exposed_dp + step->optimizer;
}

/* What ranks hold all the time and do after their last pass. Two directions hold two copies. */
static void fill_ranks(filling *f)
{
    int64_t largest = 0;
    for (int32_t k = 0; k < f->stages->chunk_count; k++) {
        const lcp_chunk *chunk = &f->s->plan->chunks[f->s->first_chunk + k].chunk;
        largest = larger(largest, lcp_cost_padded_tokens(&f->cost, chunk));
    }
    for (int32_t r = 0; r < f->stages->rank_count; r++) {
        f->resident[r] = f->cost.reserve_bytes + lcp_cost_buffer_bytes(&f->cost, largest);
    }
    int32_t copies = f->stages->chunk_direction != NULL ? 2 : 1;
    for (int32_t s = 0; s < f->stages->stage_count * copies; s++) {
        int32_t stage = s % f->stages->stage_count;
        int32_t placed = f->stages->stage_rank[stage];
        int32_t rank = s < f->stages->stage_count ? placed : f->stages->rank_count - 1 - placed;
        for (int32_t l = first_layer(f, stage); l < first_layer(f, stage + 1); l++) {
            size_t layer_class = (size_t)f->problem->model.layer_class[l];
            add_resident(f, rank, &f->cost.layer_static[layer_class], &f->cost.layer_step[layer_class]);
        }
        if (stage == 0) {
            add_resident(f, rank, &f->cost.embedding_static, &f->cost.embedding_step);
        }
        if (stage == f->stages->stage_count - 1) {
            add_resident(f, rank, &f->cost.head_static, &f->cost.head_step);
        }
    }
}

lcp_status lcp_simulated_fill_tables(lcp_simulated *s, const lcp_problem *problem, const lcp_schedule *stages,
                                     const lcp_simulate_options *options, lcp_error *err)
{
    filling f = {.s = s, .problem = problem, .stages = stages, .options = options};
    free(s->seconds);
    free(s->bytes);
    s->seconds = NULL;
    s->bytes = NULL;
    lcp_status status = lcp_cost_prepare(&f.cost, &problem->model, &problem->cluster, &s->plan->layout,
                                         &problem->options.training, err);
    if (status == LCP_OK) {
        status = allocate(&f, err);
    }
    if (status == LCP_OK) {
        fill_chunks(&f);
        fill_ranks(&f);
        s->capacity_bytes = f.cost.capacity_bytes;
        s->durations = (lcp_durations){.forward_seconds = f.forward,
                                       .backward_seconds = f.backward,
                                       .input_grad_seconds = f.input_grad,
                                       .weight_grad_seconds = f.weight_grad,
                                       .recompute_seconds = f.recompute,
                                       .hop_seconds = f.hop,
                                       .wire_seconds = options->link_queues ? f.hop : NULL,
                                       .offload_seconds = f.offload,
                                       .tail_seconds = f.tail};
        s->memory = (lcp_memory_input){
            .kept_bytes = f.kept, .kv_grad_bytes = f.kv_grad, .working_bytes = f.working, .static_bytes = f.resident};
    }
    free(f.policy);
    return status;
}
