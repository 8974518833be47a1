/* Prices decisions. Every number of a prediction is a plain sum over the cost tables followed by the two replays. */
#include "partition/partition.h"

#include <math.h>
#include <stdlib.h>

/* One pipeline under given decisions. */
typedef struct pipeline {
    const lcp_cost *cost;
    const lcp_pipeline_tables *tables;
    const int32_t *stage_layers;
    const int32_t *counts;
    int32_t stages, classes;
    double *forward, *backward, *tail;                 /* [stage][chunk], [stage][chunk], [stage] */
    int64_t *kept, *kv, *kv_grad, *working, *resident; /* [stage][chunk] x 4, [stage] */
    lcp_seconds *parts;                                /* [stage]: forward + backward by cause, recompute apart */
    double *recompute;                                 /* [stage] */
    lcp_replay replay;
    lcp_memory_peak *peaks; /* [stage] */
} pipeline;

static void pipeline_dispose(pipeline *p)
{
    free(p->forward);
    free(p->kept);
    free(p->parts);
    free(p->peaks);
    lcp_replay_dispose(&p->replay);
    *p = (pipeline){0};
}

static lcp_status pipeline_allocate(pipeline *p, lcp_error *err)
{
    size_t stages = (size_t)p->stages;
    size_t cells = stages * (size_t)p->tables->chunk_count;
    p->forward = calloc(2 * cells + 2 * stages, sizeof *p->forward);
    p->kept = calloc(4 * cells + stages, sizeof *p->kept);
    p->parts = calloc(stages, sizeof *p->parts);
    p->peaks = calloc(stages, sizeof *p->peaks);
    if (p->forward == NULL || p->kept == NULL || p->parts == NULL || p->peaks == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot price %lld passes", (long long)cells);
    }
    p->backward = p->forward + cells;
    p->tail = p->backward + cells;
    p->recompute = p->tail + stages;
    p->kv = p->kept + cells;
    p->kv_grad = p->kv + cells;
    p->working = p->kv_grad + cells;
    p->resident = p->working + cells;
    return LCP_OK;
}

static double add_seconds(lcp_seconds *sum, const lcp_seconds *seconds, double times)
{
    sum->compute += times * seconds->compute;
    sum->exposed_tp += times * seconds->exposed_tp;
    sum->exposed_cp += times * seconds->exposed_cp;
    sum->exposed_ep += times * seconds->exposed_ep;
    sum->exposed_dp += times * seconds->exposed_dp;
    return times * lcp_seconds_sum(seconds);
}

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Adds the layers of one class on one stage to the cell of one chunk. */
static void add_class(pipeline *p, int32_t stage, int32_t chunk, int32_t layer_class, int32_t layers)
{
    const lcp_layer_cost *layer = &p->tables->layers[(size_t)chunk * (size_t)p->classes + (size_t)layer_class];
    size_t cell = (size_t)stage * (size_t)p->tables->chunk_count + (size_t)chunk;
    size_t row = (((size_t)chunk * (size_t)p->stages + (size_t)stage) * (size_t)p->classes + (size_t)layer_class) *
                 LCP_RECOMPUTE_COUNT;
    int32_t left = layers;
    for (int32_t q = LCP_RECOMPUTE_NONE + 1; q < LCP_RECOMPUTE_COUNT; q++) {
        int32_t count = p->counts[row + (size_t)q];
        double seconds = (double)count * lcp_seconds_sum(&layer->recompute[q]);
        p->backward[cell] += seconds;
        p->recompute[stage] += seconds;
        p->kept[cell] += count * layer->kept_bytes[q];
        left -= count;
    }
    p->kept[cell] += left * layer->kept_bytes[LCP_RECOMPUTE_NONE];
    p->kv[cell] += layers * layer->kv_bytes;
    p->kv_grad[cell] += layers * layer->kv_grad_bytes;
    p->working[cell] = largest(p->working[cell], layer->working_bytes);
    p->forward[cell] += add_seconds(&p->parts[stage], &layer->forward, layers);
    p->backward[cell] += add_seconds(&p->parts[stage], &layer->input_grad, layers);
    p->backward[cell] += add_seconds(&p->parts[stage], &layer->weight_grad, layers);
}

static void add_end(pipeline *p, int32_t stage, int32_t chunk, const lcp_end_cost *end)
{
    size_t cell = (size_t)stage * (size_t)p->tables->chunk_count + (size_t)chunk;
    p->forward[cell] += add_seconds(&p->parts[stage], &end->forward, 1);
    p->backward[cell] += add_seconds(&p->parts[stage], &end->input_grad, 1);
    p->backward[cell] += add_seconds(&p->parts[stage], &end->weight_grad, 1);
    p->kept[cell] += end->kept_bytes;
    p->working[cell] = largest(p->working[cell], end->working_bytes);
}

static void add_overhead(pipeline *p, int32_t stage, int32_t chunk)
{
    size_t cell = (size_t)stage * (size_t)p->tables->chunk_count + (size_t)chunk;
    double overhead = lcp_cost_pass_overhead_seconds(p->cost);
    p->forward[cell] += overhead;
    p->backward[cell] += overhead;
    p->parts[stage].compute += 2 * overhead;
}

static void class_layers(const lcp_model *model, int32_t first, int32_t count, int32_t layers[LCP_MAX_LAYER_CLASSES])
{
    for (int32_t c = 0; c < model->class_count; c++) {
        layers[c] = 0;
    }
    for (int32_t l = first; l < first + count; l++) {
        layers[model->layer_class[l]]++;
    }
}

static void add_static(lcp_static_bytes *sum, const lcp_static_bytes *bytes, int64_t times)
{
    sum->parameters += times * bytes->parameters;
    sum->gradients += times * bytes->gradients;
    sum->optimizer += times * bytes->optimizer;
}

/* Resident state of a stage by term; the layers are those counted. */
static lcp_static_bytes stage_static(const pipeline *p, int32_t stage, const int32_t layers[LCP_MAX_LAYER_CLASSES])
{
    lcp_static_bytes sum = {0};
    for (int32_t c = 0; c < p->classes; c++) {
        add_static(&sum, &p->cost->layer_static[c], layers[c]);
    }
    if (stage == 0) {
        add_static(&sum, &p->cost->embedding_static, 1);
    }
    if (stage == p->stages - 1) {
        add_static(&sum, &p->cost->head_static, 1);
    }
    return sum;
}

static lcp_step_seconds stage_step(const pipeline *p, int32_t stage, const int32_t layers[LCP_MAX_LAYER_CLASSES])
{
    lcp_step_seconds sum = {0};
    for (int32_t c = 0; c < p->classes; c++) {
        sum.exposed_dp += layers[c] * p->cost->layer_step[c].exposed_dp;
        sum.optimizer += layers[c] * p->cost->layer_step[c].optimizer;
    }
    const lcp_step_seconds *ends[2] = {stage == 0 ? &p->cost->embedding_step : NULL,
                                       stage == p->stages - 1 ? &p->cost->head_step : NULL};
    for (int32_t i = 0; i < 2; i++) {
        sum.exposed_dp += ends[i] != NULL ? ends[i]->exposed_dp : 0;
        sum.optimizer += ends[i] != NULL ? ends[i]->optimizer : 0;
    }
    return sum;
}

static void fill_stage(pipeline *p, int32_t stage, int32_t first_layer)
{
    int32_t layers[LCP_MAX_LAYER_CLASSES];
    class_layers(p->cost->model, first_layer, p->stage_layers[stage], layers);
    for (int32_t k = 0; k < p->tables->chunk_count; k++) {
        add_overhead(p, stage, k);
        for (int32_t c = 0; c < p->classes; c++) {
            if (layers[c] > 0) {
                add_class(p, stage, k, c, layers[c]);
            }
        }
        if (stage == 0) {
            add_end(p, stage, k, &p->tables->embedding[k]);
        }
        if (stage == p->stages - 1) {
            add_end(p, stage, k, &p->tables->head[k]);
        }
    }
    lcp_static_bytes resident = stage_static(p, stage, layers);
    p->resident[stage] = resident.parameters + resident.gradients + resident.optimizer + p->cost->reserve_bytes +
                         lcp_cost_buffer_bytes(p->cost, p->tables->max_padded_tokens);
    lcp_step_seconds step = stage_step(p, stage, layers);
    p->tail[stage] = step.exposed_dp + step.optimizer;
}

static lcp_status pipeline_price(pipeline *p, lcp_error *err)
{
    lcp_status status = pipeline_allocate(p, err);
    if (status != LCP_OK) {
        return status;
    }
    int32_t first = 0;
    for (int32_t s = 0; s < p->stages; s++) {
        fill_stage(p, s, first);
        first += p->stage_layers[s];
    }
    lcp_durations durations = {.forward_seconds = p->forward,
                               .backward_seconds = p->backward,
                               .hop_seconds = p->tables->hop_seconds,
                               .tail_seconds = p->tail};
    status = lcp_replay_run(&p->replay, &p->tables->schedule, p->tables->links, &durations, err);
    if (status != LCP_OK) {
        return status;
    }
    lcp_memory_input memory = {
        .kept_bytes = p->kept, .kv_grad_bytes = p->kv_grad, .working_bytes = p->working, .static_bytes = p->resident};
    return lcp_memory_replay(p->peaks, &p->tables->schedule, p->tables->links, &memory, err);
}

/* KV inside the kept bytes at the peak: of the chunks in flight there. */
static int64_t kv_at_peak(const pipeline *p, int32_t stage)
{
    const lcp_schedule *schedule = &p->tables->schedule;
    size_t row = (size_t)stage * (size_t)schedule->chunk_count;
    int64_t kv = 0;
    for (int64_t i = 0; i <= p->peaks[stage].peak_op; i++) {
        const lcp_op *op = &schedule->ops[stage][i];
        if (op->kind == LCP_OP_FORWARD) {
            kv += p->kv[row + (size_t)op->chunk];
        } else if (i < p->peaks[stage].peak_op) {
            kv -= p->kv[row + (size_t)op->chunk];
        }
    }
    return kv;
}

/* What the head keeps of the chunks in flight at the peak. */
static int64_t head_kept_at_peak(const pipeline *p, int32_t stage)
{
    int64_t kept = 0;
    for (int64_t i = 0; stage == p->stages - 1 && i <= p->peaks[stage].peak_op; i++) {
        const lcp_op *op = &p->tables->schedule.ops[stage][i];
        if (op->kind == LCP_OP_FORWARD) {
            kept += p->tables->head[op->chunk].kept_bytes;
        } else if (i < p->peaks[stage].peak_op) {
            kept -= p->tables->head[op->chunk].kept_bytes;
        }
    }
    return kept;
}

static lcp_memory_terms memory_terms(const pipeline *p, int32_t stage, int32_t first_layer)
{
    int32_t layers[LCP_MAX_LAYER_CLASSES];
    class_layers(p->cost->model, first_layer, p->stage_layers[stage], layers);
    lcp_static_bytes resident = stage_static(p, stage, layers);
    const lcp_memory_peak *peak = &p->peaks[stage];
    int64_t kv = kv_at_peak(p, stage);
    int64_t head_kept = head_kept_at_peak(p, stage);
    int32_t chunk = p->tables->schedule.ops[stage][peak->peak_op].chunk;
    bool head_works = stage == p->stages - 1 && peak->working_bytes == p->tables->head[chunk].working_bytes;
    return (lcp_memory_terms){
        .parameters = resident.parameters,
        .gradients = resident.gradients,
        .optimizer = resident.optimizer,
        .activations = peak->kept_bytes - kv - head_kept + (head_works ? 0 : peak->working_bytes),
        .kv = kv + peak->kv_grad_bytes,
        .logits = head_kept + (head_works ? peak->working_bytes : 0),
        .buffers = lcp_cost_buffer_bytes(p->cost, p->tables->max_padded_tokens),
        .reserve = p->cost->reserve_bytes,
    };
}

static void take_memory(lcp_prediction *out, const pipeline *p)
{
    int32_t first = 0;
    for (int32_t s = 0; s < p->stages; s++) {
        if (p->peaks[s].peak_bytes > out->stages[s].peak_memory_bytes) {
            out->stages[s].peak_memory_bytes = p->peaks[s].peak_bytes;
            out->stages[s].memory = memory_terms(p, s, first);
        }
        first += p->stage_layers[s];
    }
}

/* Seconds of transfer that the ops of a rank waited behind. */
static double received_hops(const pipeline *p, int32_t rank)
{
    double seconds = 0;
    const lcp_schedule *schedule = &p->tables->schedule;
    for (int32_t i = 0; i < schedule->op_count[rank]; i++) {
        const lcp_op *op = &schedule->ops[rank][i];
        bool receives = op->kind == LCP_OP_FORWARD ? rank > 0 : rank < p->stages - 1;
        seconds += receives ? p->tables->hop_seconds[op->chunk] : 0;
    }
    return seconds;
}

/* Averages over the ranks of the critical pipeline; what nothing else explains is bubble. */
static void take_times(lcp_prediction *out, const pipeline *p)
{
    lcp_breakdown sum = {0};
    double idle = 0;
    int32_t first = 0;
    for (int32_t s = 0; s < p->stages; s++) {
        int32_t layers[LCP_MAX_LAYER_CLASSES];
        class_layers(p->cost->model, first, p->stage_layers[s], layers);
        first += p->stage_layers[s];
        lcp_step_seconds step = stage_step(p, s, layers);
        double rank_idle = fmax(0, p->replay.makespan_seconds - p->replay.busy_seconds[s] - p->tail[s]);
        sum.compute += p->parts[s].compute;
        sum.recompute += p->recompute[s];
        sum.exposed_tp += p->parts[s].exposed_tp;
        sum.exposed_cp += p->parts[s].exposed_cp;
        sum.exposed_ep += p->parts[s].exposed_ep;
        sum.exposed_dp += p->parts[s].exposed_dp + step.exposed_dp;
        sum.optimizer += step.optimizer;
        sum.exposed_pp += fmin(rank_idle, received_hops(p, s));
        idle += rank_idle;
        out->stages[s].busy_seconds = p->replay.busy_seconds[s];
    }
    double ranks = (double)p->stages;
    out->breakdown = (lcp_breakdown){
        .compute = sum.compute / ranks,
        .recompute = sum.recompute / ranks,
        .exposed_tp = sum.exposed_tp / ranks,
        .exposed_cp = sum.exposed_cp / ranks,
        .exposed_pp = sum.exposed_pp / ranks,
        .exposed_ep = sum.exposed_ep / ranks,
        .exposed_dp = sum.exposed_dp / ranks,
        .optimizer = sum.optimizer / ranks,
        .bubble = (idle - sum.exposed_pp) / ranks,
    };
    out->iteration_seconds = p->replay.makespan_seconds;
    out->bubble_ratio = idle / ranks / out->iteration_seconds;
}

static void take_rates(lcp_prediction *out, const lcp_cost *cost, const lcp_workload *workload)
{
    const lcp_layout *layout = &cost->layout;
    double devices = (double)layout->dp * layout->pp * layout->tp * layout->ulysses * layout->ring;
    double flops = 0;
    for (int64_t i = 0; i < workload->sequence_count; i++) {
        flops += lcp_cost_sequence_flops(cost->model, workload->lengths_tokens[i]);
    }
    double device_seconds = out->iteration_seconds * devices;
    out->tokens_per_second_per_device = (double)workload->total_tokens / device_seconds;
    out->mfu_ratio = flops / (device_seconds * cost->device->peak_flops_per_second);
}

static lcp_status check_memory(const lcp_prediction *out, const lcp_cost *cost, int32_t stages, lcp_error *err)
{
    for (int32_t s = 0; s < stages; s++) {
        if (out->stages[s].peak_memory_bytes > cost->capacity_bytes) {
            return lcp_fail(err, LCP_FALSE, "memory", "stage %d needs %lld bytes, a device has %lld", s,
                            (long long)out->stages[s].peak_memory_bytes, (long long)cost->capacity_bytes);
        }
    }
    return LCP_OK;
}

lcp_status lcp_pipeline_replay(lcp_replay *out, const lcp_cost *cost, const lcp_pipeline_tables *tables,
                               const lcp_partition *decisions, int32_t index, lcp_error *err)
{
    pipeline p = {.cost = cost, .tables = tables, .stage_layers = decisions->stage_layers};
    p.counts = decisions->recompute_counts[index];
    p.stages = decisions->stage_count;
    p.classes = cost->model->class_count;
    lcp_status status = pipeline_price(&p, err);
    *out = status == LCP_OK ? p.replay : (lcp_replay){0};
    if (status == LCP_OK) {
        p.replay = (lcp_replay){0};
    }
    pipeline_dispose(&p);
    return status;
}

lcp_status lcp_evaluate(lcp_prediction *predicted, const lcp_cost *cost, int32_t pipeline_count,
                        const lcp_pipeline_tables *pipelines, const lcp_partition *decisions,
                        const lcp_workload *workload, lcp_error *err)
{
    *predicted = (lcp_prediction){0};
    predicted->stages = calloc((size_t)decisions->stage_count, sizeof *predicted->stages);
    if (predicted->stages == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold a prediction");
    }
    lcp_status status = LCP_OK;
    for (int32_t d = 0; status == LCP_OK && d < pipeline_count; d++) {
        pipeline p = {.cost = cost, .tables = &pipelines[d], .stage_layers = decisions->stage_layers};
        p.counts = decisions->recompute_counts[d];
        p.stages = decisions->stage_count;
        p.classes = cost->model->class_count;
        status = pipeline_price(&p, err);
        if (status == LCP_OK) {
            take_memory(predicted, &p);
            if (d == 0 || p.replay.makespan_seconds > predicted->iteration_seconds) {
                take_times(predicted, &p);
            }
        }
        pipeline_dispose(&p);
    }
    if (status == LCP_OK) {
        take_rates(predicted, cost, workload);
        status = check_memory(predicted, cost, decisions->stage_count, err);
    }
    return status;
}
