/* Prices the plan again: chunk by chunk from the cost model, then a plain event loop per pipeline. */
#include "verify/verify_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-9

/* One pass pair of a chunk on a stage. */
typedef struct cell {
    lcp_seconds parts; /* forward + backward without recompute */
    double forward, backward, recompute;
    double forward_end, backward_end; /* when it has run; -1 before */
    int64_t kept, kv, kv_grad, working, head_kept, head_working;
} cell;

/* One stage of one pipeline. */
typedef struct stage_state {
    lcp_static_bytes resident;
    lcp_step_seconds step;
    double clock, busy, hops;
    int32_t next;
    int64_t held, held_kv, held_head, kv_grad;
    int64_t peak;
    lcp_memory_terms terms;
} stage_state;

typedef struct pricing {
    const lcp_plan *plan;
    const lcp_problem *problem;
    const lcp_slices *slices;
    lcp_cost cost;
    cell *cells;         /* [chunk_count * stage_count] */
    double *hop;         /* [chunk_count] */
    stage_state *stages; /* [stage_count], reset for each pipeline */
    int64_t buffers;
    lcp_prediction again;
} pricing;

static cell *cell_at(const pricing *p, int32_t chunk, int32_t stage)
{
    return &p->cells[(size_t)chunk * (size_t)p->plan->stage_count + (size_t)stage];
}

static double plus(lcp_seconds *sum, const lcp_seconds *seconds, double times)
{
    sum->compute += times * seconds->compute;
    sum->exposed_tp += times * seconds->exposed_tp;
    sum->exposed_cp += times * seconds->exposed_cp;
    sum->exposed_ep += times * seconds->exposed_ep;
    sum->exposed_dp += times * seconds->exposed_dp;
    return times *
           (seconds->compute + seconds->exposed_tp + seconds->exposed_cp + seconds->exposed_ep + seconds->exposed_dp);
}

static int64_t more(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int32_t recomputed(const lcp_plan_chunk *chunk, int32_t stage, int32_t layer_class, int32_t policy)
{
    for (int32_t i = 0; i < chunk->recompute_count; i++) {
        const lcp_chunk_recompute *entry = &chunk->recompute[i];
        if (entry->stage == stage && entry->layer_class == layer_class && (int32_t)entry->policy == policy) {
            return entry->layers;
        }
    }
    return 0;
}

static void price_layers(pricing *p, int32_t chunk, int32_t stage, int32_t layer_class, int32_t layers)
{
    const lcp_plan_chunk *owner = &p->plan->chunks[chunk];
    cell *at = cell_at(p, chunk, stage);
    lcp_layer_cost layer;
    lcp_cost_layer(&p->cost, layer_class, &owner->chunk, &layer);
    at->forward += plus(&at->parts, &layer.forward, layers);
    at->backward += plus(&at->parts, &layer.input_grad, layers);
    at->backward += plus(&at->parts, &layer.weight_grad, layers);
    int32_t kept_whole = layers;
    for (int32_t q = LCP_RECOMPUTE_NONE + 1; q < LCP_RECOMPUTE_COUNT; q++) {
        int32_t count = recomputed(owner, stage, layer_class, q);
        at->recompute += (double)count * lcp_seconds_sum(&layer.recompute[q]);
        at->kept += count * layer.kept_bytes[q];
        kept_whole -= count;
    }
    at->kept += kept_whole * layer.kept_bytes[LCP_RECOMPUTE_NONE];
    at->kv += layers * layer.kv_bytes;
    at->kv_grad += layers * layer.kv_grad_bytes;
    at->working = more(at->working, layer.working_bytes);
}

static void price_end(pricing *p, int32_t chunk, int32_t stage, bool head)
{
    cell *at = cell_at(p, chunk, stage);
    lcp_end_cost end;
    if (head) {
        lcp_cost_head(&p->cost, &p->plan->chunks[chunk].chunk, &end);
        at->head_kept = end.kept_bytes;
        at->head_working = end.working_bytes;
    } else {
        lcp_cost_embedding(&p->cost, &p->plan->chunks[chunk].chunk, &end);
    }
    at->forward += plus(&at->parts, &end.forward, 1);
    at->backward += plus(&at->parts, &end.input_grad, 1) + plus(&at->parts, &end.weight_grad, 1);
    at->kept += end.kept_bytes;
    at->working = more(at->working, end.working_bytes);
}

static void price_cell(pricing *p, int32_t chunk, int32_t stage)
{
    int32_t layers[LCP_MAX_LAYER_CLASSES];
    cell *at = cell_at(p, chunk, stage);
    double overhead = lcp_cost_pass_overhead_seconds(&p->cost);
    lcp_verify_stage_classes(p->plan, &p->problem->model, stage, layers);
    *at = (cell){.forward = overhead, .backward = overhead, .forward_end = -1, .backward_end = -1};
    at->parts.compute = 2 * overhead;
    for (int32_t c = 0; c < p->problem->model.class_count; c++) {
        if (layers[c] > 0) {
            price_layers(p, chunk, stage, c, layers[c]);
        }
    }
    if (p->plan->stages[stage].embedding) {
        price_end(p, chunk, stage, false);
    }
    if (p->plan->stages[stage].head) {
        price_end(p, chunk, stage, true);
    }
    at->backward += at->recompute;
}

static void add_resident(stage_state *s, const lcp_static_bytes *bytes, const lcp_step_seconds *step, int32_t times)
{
    s->resident.parameters += times * bytes->parameters;
    s->resident.gradients += times * bytes->gradients;
    s->resident.optimizer += times * bytes->optimizer;
    s->step.exposed_dp += times * step->exposed_dp;
    s->step.optimizer += times * step->optimizer;
}

static void reset_stage(pricing *p, int32_t stage)
{
    int32_t layers[LCP_MAX_LAYER_CLASSES];
    stage_state *s = &p->stages[stage];
    *s = (stage_state){0};
    lcp_verify_stage_classes(p->plan, &p->problem->model, stage, layers);
    for (int32_t c = 0; c < p->problem->model.class_count; c++) {
        add_resident(s, &p->cost.layer_static[c], &p->cost.layer_step[c], layers[c]);
    }
    if (p->plan->stages[stage].embedding) {
        add_resident(s, &p->cost.embedding_static, &p->cost.embedding_step, 1);
    }
    if (p->plan->stages[stage].head) {
        add_resident(s, &p->cost.head_static, &p->cost.head_step, 1);
    }
}

static void note_peak(pricing *p, stage_state *s, const cell *at)
{
    int64_t fixed =
        s->resident.parameters + s->resident.gradients + s->resident.optimizer + p->buffers + p->cost.reserve_bytes;
    int64_t total = fixed + s->held + s->kv_grad + at->working;
    if (total <= s->peak) {
        return;
    }
    bool head_works = at->head_working > 0 && at->working == at->head_working;
    s->peak = total;
    s->terms = (lcp_memory_terms){
        .parameters = s->resident.parameters,
        .gradients = s->resident.gradients,
        .optimizer = s->resident.optimizer,
        .activations = s->held - s->held_kv - s->held_head + (head_works ? 0 : at->working),
        .kv = s->held_kv + s->kv_grad,
        .logits = s->held_head + (head_works ? at->working : 0),
        .buffers = p->buffers,
        .reserve = p->cost.reserve_bytes,
    };
}

static void hold(stage_state *s, const cell *at, int64_t sign)
{
    s->held += sign * at->kept;
    s->held_kv += sign * at->kv;
    s->held_head += sign * at->head_kept;
}

/* Runs one op at its rank's clock or when its inputs have come, whichever is later. */
static bool run_op(pricing *p, int32_t stage, const lcp_op *op)
{
    stage_state *s = &p->stages[stage];
    cell *at = cell_at(p, op->chunk, stage);
    bool forward = op->kind == LCP_OP_FORWARD;
    int32_t neighbour = forward ? stage - 1 : stage + 1;
    int32_t other = forward ? p->slices->before[op->chunk] : p->slices->after[op->chunk];
    double start = s->clock;
    if (neighbour >= 0 && neighbour < p->plan->stage_count) {
        const cell *from = cell_at(p, op->chunk, neighbour);
        double end = forward ? from->forward_end : from->backward_end;
        if (end < 0) {
            return false;
        }
        start = fmax(start, end + p->hop[op->chunk]);
        s->hops += p->hop[op->chunk];
    }
    if (other >= 0) {
        const cell *from = cell_at(p, other, stage);
        start = fmax(start, forward ? from->forward_end : from->backward_end);
    }
    double duration = forward ? at->forward : at->backward;
    s->clock = start + duration;
    s->busy += duration;
    if (forward) {
        at->forward_end = s->clock;
        hold(s, at, 1);
        note_peak(p, s, at);
        return true;
    }
    at->backward_end = s->clock;
    for (int32_t k = op->chunk; other < 0 && k >= 0; k = p->slices->before[k]) {
        s->kv_grad += cell_at(p, k, stage)->kv_grad;
    }
    note_peak(p, s, at);
    s->kv_grad -= at->kv_grad;
    hold(s, at, -1);
    return true;
}

/* The schedule was found free of deadlock before. */
static void run_pipeline(pricing *p, int32_t dp)
{
    const lcp_schedule *schedule = &p->plan->pipelines[dp];
    bool moved = true;
    for (int32_t s = 0; s < p->plan->stage_count; s++) {
        reset_stage(p, s);
    }
    while (moved) {
        moved = false;
        for (int32_t s = 0; s < p->plan->stage_count; s++) {
            while (p->stages[s].next < schedule->op_count[s] && run_op(p, s, &schedule->ops[s][p->stages[s].next])) {
                p->stages[s].next++;
                moved = true;
            }
        }
    }
}

static void take_memory(pricing *p)
{
    for (int32_t s = 0; s < p->plan->stage_count; s++) {
        if (p->stages[s].peak > p->again.stages[s].peak_memory_bytes) {
            p->again.stages[s].peak_memory_bytes = p->stages[s].peak;
            p->again.stages[s].memory = p->stages[s].terms;
        }
    }
}

static double pipeline_seconds(const pricing *p)
{
    double seconds = 0;
    for (int32_t s = 0; s < p->plan->stage_count; s++) {
        seconds = fmax(seconds, p->stages[s].clock + p->stages[s].step.exposed_dp + p->stages[s].step.optimizer);
    }
    return seconds;
}

static void take_breakdown(pricing *p, int32_t dp, double seconds)
{
    double ranks = p->plan->stage_count;
    lcp_seconds parts = {0};
    double recompute = 0;
    for (int32_t k = 0; k < p->plan->chunk_count; k++) {
        for (int32_t s = 0; p->plan->chunks[k].chunk.dp == dp && s < p->plan->stage_count; s++) {
            plus(&parts, &cell_at(p, k, s)->parts, 1);
            recompute += cell_at(p, k, s)->recompute;
        }
    }
    lcp_breakdown *out = &p->again.breakdown;
    *out = (lcp_breakdown){.compute = parts.compute / ranks,
                           .recompute = recompute / ranks,
                           .exposed_tp = parts.exposed_tp / ranks,
                           .exposed_cp = parts.exposed_cp / ranks,
                           .exposed_ep = parts.exposed_ep / ranks,
                           .exposed_dp = parts.exposed_dp / ranks};
    double idle_sum = 0;
    for (int32_t s = 0; s < p->plan->stage_count; s++) {
        const stage_state *st = &p->stages[s];
        double idle = fmax(0, seconds - st->busy - st->step.exposed_dp - st->step.optimizer);
        out->exposed_dp += st->step.exposed_dp / ranks;
        out->optimizer += st->step.optimizer / ranks;
        out->exposed_pp += fmin(idle, st->hops) / ranks;
        idle_sum += idle / ranks;
        p->again.stages[s].busy_seconds = st->busy;
    }
    out->bubble = idle_sum - out->exposed_pp;
    p->again.iteration_seconds = seconds;
    p->again.bubble_ratio = idle_sum / seconds;
}

static int64_t largest_chunk(const pricing *p, int32_t dp)
{
    int64_t largest = 0;
    for (int32_t k = 0; k < p->plan->chunk_count; k++) {
        if (p->plan->chunks[k].chunk.dp == dp) {
            largest = more(largest, lcp_cost_padded_tokens(&p->cost, &p->plan->chunks[k].chunk));
        }
    }
    return largest;
}

static void price_plan(pricing *p)
{
    const lcp_layout *l = &p->plan->layout;
    for (int32_t k = 0; k < p->plan->chunk_count; k++) {
        p->hop[k] = lcp_cost_hop_seconds(&p->cost, &p->plan->chunks[k].chunk);
        for (int32_t s = 0; s < p->plan->stage_count; s++) {
            price_cell(p, k, s);
        }
    }
    for (int32_t d = 0; d < l->dp; d++) {
        p->buffers = lcp_cost_buffer_bytes(&p->cost, largest_chunk(p, d));
        run_pipeline(p, d);
        take_memory(p);
        double seconds = pipeline_seconds(p);
        if (d == 0 || seconds > p->again.iteration_seconds) {
            take_breakdown(p, d, seconds);
        }
    }
    double flops = 0;
    for (int64_t i = 0; i < p->problem->workload.sequence_count; i++) {
        flops += lcp_cost_sequence_flops(&p->problem->model, p->problem->workload.lengths_tokens[i]);
    }
    double device_seconds = p->again.iteration_seconds * l->dp * l->pp * l->tp * l->ulysses * l->ring;
    p->again.tokens_per_second_per_device = (double)p->problem->workload.total_tokens / device_seconds;
    p->again.mfu_ratio = flops / (device_seconds * p->cost.device->peak_flops_per_second);
}

static lcp_status check_number(const char *path, double claimed, double again, double scale, lcp_error *err)
{
    if (fabs(claimed - again) <= TOLERANCE * fmax(fabs(scale), 1e-30)) {
        return LCP_OK;
    }
    return lcp_fail(err, LCP_FALSE, path, "claims %.12g, the cost model says %.12g", claimed, again);
}

static lcp_status check_memory(const pricing *p, int32_t s, lcp_error *err)
{
    const lcp_stage_prediction *claimed = &p->plan->predicted.stages[s];
    const lcp_stage_prediction *again = &p->again.stages[s];
    char path[96];
    snprintf(path, sizeof path, "$.predicted.stages[%d].peak_memory_bytes", s);
    if (again->peak_memory_bytes > p->cost.capacity_bytes) {
        return lcp_fail(err, LCP_FALSE, path, "the stage needs %lld bytes, a device has %lld",
                        (long long)again->peak_memory_bytes, (long long)p->cost.capacity_bytes);
    }
    if (claimed->peak_memory_bytes != again->peak_memory_bytes) {
        return lcp_fail(err, LCP_FALSE, path, "claims %lld, the replay says %lld",
                        (long long)claimed->peak_memory_bytes, (long long)again->peak_memory_bytes);
    }
    if (memcmp(&claimed->memory, &again->memory, sizeof claimed->memory) != 0) {
        return lcp_broken(err, "a term differs from the replay's", "$.predicted.stages[%d].memory_bytes", s);
    }
    snprintf(path, sizeof path, "$.predicted.stages[%d].busy_seconds", s);
    return check_number(path, claimed->busy_seconds, again->busy_seconds, again->busy_seconds, err);
}

static lcp_status compare(const pricing *p, lcp_error *err)
{
    const lcp_prediction *a = &p->plan->predicted;
    const lcp_prediction *b = &p->again;
    double whole = b->iteration_seconds;
    lcp_status status = LCP_OK;
    for (int32_t s = 0; status == LCP_OK && s < p->plan->stage_count; s++) {
        status = check_memory(p, s, err);
    }
    const struct {
        const char *path;
        double claimed, again, scale;
    } numbers[] = {
        {"$.predicted.iteration_seconds", a->iteration_seconds, whole, whole},
        {"$.predicted.tokens_per_second_per_device", a->tokens_per_second_per_device, b->tokens_per_second_per_device,
         b->tokens_per_second_per_device},
        {"$.predicted.mfu_ratio", a->mfu_ratio, b->mfu_ratio, b->mfu_ratio},
        {"$.predicted.bubble_ratio", a->bubble_ratio, b->bubble_ratio, 1},
        {"$.predicted.breakdown_seconds.compute", a->breakdown.compute, b->breakdown.compute, whole},
        {"$.predicted.breakdown_seconds.recompute", a->breakdown.recompute, b->breakdown.recompute, whole},
        {"$.predicted.breakdown_seconds.exposed_tp", a->breakdown.exposed_tp, b->breakdown.exposed_tp, whole},
        {"$.predicted.breakdown_seconds.exposed_cp", a->breakdown.exposed_cp, b->breakdown.exposed_cp, whole},
        {"$.predicted.breakdown_seconds.exposed_pp", a->breakdown.exposed_pp, b->breakdown.exposed_pp, whole},
        {"$.predicted.breakdown_seconds.exposed_ep", a->breakdown.exposed_ep, b->breakdown.exposed_ep, whole},
        {"$.predicted.breakdown_seconds.exposed_dp", a->breakdown.exposed_dp, b->breakdown.exposed_dp, whole},
        {"$.predicted.breakdown_seconds.optimizer", a->breakdown.optimizer, b->breakdown.optimizer, whole},
        {"$.predicted.breakdown_seconds.bubble", a->breakdown.bubble, b->breakdown.bubble, whole},
    };
    for (size_t i = 0; status == LCP_OK && i < sizeof numbers / sizeof numbers[0]; i++) {
        status = check_number(numbers[i].path, numbers[i].claimed, numbers[i].again, numbers[i].scale, err);
    }
    return status;
}

lcp_status lcp_verify_prediction(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    if (lcp_verify_is_general(plan)) {
        return lcp_verify_simulated(plan, problem, err);
    }
    lcp_slices slices = {0};
    pricing p = {.plan = plan, .problem = problem, .slices = &slices};
    size_t stages = (size_t)plan->stage_count;
    lcp_status status =
        lcp_cost_prepare(&p.cost, &problem->model, &problem->cluster, &plan->layout, &problem->options.training, err);
    if (status == LCP_OK) {
        status = lcp_slices_find(&slices, plan, err);
    }
    p.cells = calloc((size_t)plan->chunk_count * stages, sizeof *p.cells);
    p.hop = calloc((size_t)plan->chunk_count, sizeof *p.hop);
    p.stages = calloc(stages, sizeof *p.stages);
    p.again.stages = calloc(stages, sizeof *p.again.stages);
    bool complete = p.cells != NULL && p.hop != NULL && p.stages != NULL && p.again.stages != NULL;
    if (status == LCP_OK && !complete) {
        status = lcp_fail(err, LCP_NOMEM, "", "cannot price the plan again");
    }
    if (status == LCP_OK) {
        price_plan(&p);
        status = compare(&p, err);
    }
    free(p.cells);
    free(p.hop);
    free(p.stages);
    free(p.again.stages);
    lcp_slices_dispose(&slices);
    return status;
}

lcp_status lcp_verify_certificate(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    (void)problem;
    const lcp_certificate *c = &plan->certificate;
    double seconds = plan->predicted.iteration_seconds;
    if (!(c->lower_bound_seconds > 0) || !(c->lower_bound_seconds <= seconds * (1 + TOLERANCE))) {
        return lcp_fail(err, LCP_FALSE, "$.certificate.lower_bound_seconds",
                        "%.12g is not in (0, iteration_seconds = %.12g]", c->lower_bound_seconds, seconds);
    }
    double gap = (seconds - c->lower_bound_seconds) / seconds;
    return check_number("$.certificate.gap_ratio", c->gap_ratio, gap, 1, err);
}
