#include "partition_case.h"

#include "support.h"

#include <math.h>
#include <stdlib.h>

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static int64_t pick(uint64_t *state, int64_t lo, int64_t hi)
{
    return lo + (int64_t)(next_random(state) % (uint64_t)(hi - lo + 1));
}

static double draw(uint64_t *state, int64_t lo, int64_t hi)
{
    return (double)pick(state, lo, hi) * 1e-3;
}

/* Richer policies keep less and take longer; amounts in kilobytes and milliseconds. */
static void draw_layer(lcp_layer_cost *layer, uint64_t *state, bool successor)
{
    *layer = (lcp_layer_cost){.forward.compute = draw(state, 50, 150)};
    layer->input_grad.compute = draw(state, 50, 150);
    layer->weight_grad.compute = draw(state, 50, 150);
    layer->kept_bytes[LCP_RECOMPUTE_NONE] = pick(state, 100, 300) * 1000;
    double seconds = 0;
    for (int32_t q = 1; q < LCP_RECOMPUTE_COUNT; q++) {
        seconds += draw(state, 3, 40);
        layer->recompute[q].compute = seconds;
        layer->kept_bytes[q] = layer->kept_bytes[q - 1] * pick(state, 40, 95) / 100;
    }
    layer->kv_grad_bytes = successor ? pick(state, 0, 40) * 1000 : 0;
    layer->working_bytes = pick(state, 0, 60) * 1000;
}

static void draw_end(lcp_end_cost *end, uint64_t *state)
{
    *end = (lcp_end_cost){.forward.compute = draw(state, 0, 60)};
    end->input_grad.compute = draw(state, 0, 60);
    end->weight_grad.compute = draw(state, 0, 60);
    end->kept_bytes = pick(state, 0, 80) * 1000;
    end->working_bytes = pick(state, 0, 80) * 1000;
}

static void draw_tables(lcp_pipeline_tables *t, const case_shape *shape, uint64_t *state)
{
    size_t chunks = (size_t)shape->chunks;
    *t = (lcp_pipeline_tables){.chunk_count = shape->chunks};
    t->links = malloc(chunks * sizeof *t->links);
    t->layers = malloc(chunks * (size_t)shape->classes * sizeof *t->layers);
    t->embedding = malloc(chunks * sizeof *t->embedding);
    t->head = malloc(chunks * sizeof *t->head);
    t->hop_seconds = malloc(chunks * sizeof *t->hop_seconds);
    for (int32_t k = 0; k < shape->chunks; k++) {
        bool continued = shape->sliced && k == shape->chunks - 2;
        bool continues = shape->sliced && k == shape->chunks - 1;
        t->links[k] = (lcp_chunk_link){continues ? k - 1 : -1, continued ? k + 1 : -1};
        for (int32_t i = 0; i < shape->classes; i++) {
            draw_layer(&t->layers[k * shape->classes + i], state, continued);
        }
        draw_end(&t->embedding[k], state);
        draw_end(&t->head[k], state);
        t->hop_seconds[k] = shape->stages > 1 ? draw(state, 0, 20) : 0;
    }
    lcp_schedule_input input = {.rank_count = shape->stages, .chunk_count = shape->chunks, .links = t->links};
    assert_int_equal(lcp_schedule_find("elastic-1f1b")->build(&t->schedule, &input, NULL), LCP_OK);
}

static lcp_static_bytes draw_static(uint64_t *state)
{
    return (lcp_static_bytes){pick(state, 0, 60) * 1000, pick(state, 0, 60) * 1000, pick(state, 0, 60) * 1000};
}

static void draw_cost(lcp_cost *cost, int32_t classes, uint64_t *state)
{
    for (int32_t i = 0; i < classes; i++) {
        cost->layer_static[i] = draw_static(state);
        cost->layer_step[i] = (lcp_step_seconds){draw(state, 0, 20), draw(state, 0, 20)};
    }
    cost->embedding_static = draw_static(state);
    cost->head_static = draw_static(state);
    cost->embedding_step = (lcp_step_seconds){draw(state, 0, 20), draw(state, 0, 20)};
    cost->head_step = (lcp_step_seconds){draw(state, 0, 20), draw(state, 0, 20)};
    cost->reserve_bytes = pick(state, 0, 100) * 1000;
}

/* Worst stage of the equal split with every layer under one policy. */
static int64_t peak_under(const partition_case *c, int32_t policy)
{
    const lcp_model *model = c->input.cost->model;
    int32_t stages = c->input.cost->layout.pp;
    int64_t worst = 0;
    int32_t stage_layers[CASE_STAGES];
    for (int32_t s = 0; s < stages; s++) {
        stage_layers[s] = model->layer_count / stages + (s < model->layer_count % stages);
    }
    for (int32_t s = 0; s < stages; s++) {
        int32_t layers[CASE_CLASSES];
        case_cell cells[CASE_CHUNKS];
        partition_case_class_layers(c, stage_layers, s, layers);
        for (int32_t k = 0; k < c->tables[0].chunk_count; k++) {
            int32_t counts[CASE_CLASSES * LCP_RECOMPUTE_COUNT] = {0};
            for (int32_t i = 0; i < model->class_count; i++) {
                counts[i * LCP_RECOMPUTE_COUNT + policy] = layers[i];
            }
            cells[k] = partition_case_cell(c, 0, k, layers, counts);
        }
        int64_t peak = partition_case_peak(c, 0, s, layers, cells);
        worst = peak > worst ? peak : worst;
    }
    return worst;
}

void partition_case_make(partition_case *out, const case_shape *shape, uint64_t seed)
{
    uint64_t state = seed;
    cost_fixture *f = &out->fixture;
    fixture_dense(f, 64, 2, 2, 128, shape->layers);
    f->classes[1] = f->classes[0];
    f->model.class_count = shape->classes;
    for (int32_t l = 0; l < shape->layers; l++) {
        f->layer_class[l] = (int32_t)pick(&state, 0, shape->classes - 1);
    }
    fixture_ideal_cluster(f, 1);
    f->groups[0].device.pass_overhead_seconds = draw(&state, 0, 10);
    f->layout = fixture_layout(shape->pipelines, shape->stages, 1, 1, 1);
    fixture_prepare(f);
    draw_cost(&f->cost, shape->classes, &state);
    for (int32_t d = 0; d < shape->pipelines; d++) {
        draw_tables(&out->tables[d], shape, &state);
    }
    out->input = (lcp_partition_input){.cost = &f->cost,
                                       .pipeline_count = shape->pipelines,
                                       .pipelines = out->tables,
                                       .policy_mask = shape->policy_mask,
                                       .cutoff_seconds = HUGE_VAL};
    int32_t leanest = LCP_RECOMPUTE_COUNT - 1;
    while ((shape->policy_mask >> leanest & 1U) == 0) {
        leanest--;
    }
    int64_t least = peak_under(out, leanest);
    f->cost.capacity_bytes = least + (peak_under(out, LCP_RECOMPUTE_NONE) - least) * pick(&state, -10, 105) / 100;
}

void partition_case_dispose(partition_case *c)
{
    for (int32_t d = 0; d < c->input.pipeline_count; d++) {
        lcp_pipeline_tables_dispose(&c->tables[d]);
    }
}

case_cell partition_case_cell(const partition_case *c, int32_t pipeline, int32_t chunk, const int32_t *class_layers,
                              const int32_t *counts)
{
    int32_t classes = c->input.cost->model->class_count;
    case_cell cell = {0};
    for (int32_t i = 0; i < classes; i++) {
        const lcp_layer_cost *layer = &c->tables[pipeline].layers[chunk * classes + i];
        int32_t left = class_layers[i];
        for (int32_t q = 1; q < LCP_RECOMPUTE_COUNT; q++) {
            int32_t count = counts[i * LCP_RECOMPUTE_COUNT + q];
            cell.recompute_seconds += count * layer->recompute[q].compute;
            cell.kept_bytes += count * layer->kept_bytes[q];
            left -= count;
        }
        assert_true(left >= 0);
        cell.kept_bytes += left * layer->kept_bytes[LCP_RECOMPUTE_NONE];
    }
    return cell;
}

void partition_case_class_layers(const partition_case *c, const int32_t *stage_layers, int32_t stage, int32_t *layers)
{
    int32_t first = 0;
    for (int32_t s = 0; s < stage; s++) {
        first += stage_layers[s];
    }
    for (int32_t i = 0; i < CASE_CLASSES; i++) {
        layers[i] = 0;
    }
    for (int32_t l = first; l < first + stage_layers[stage]; l++) {
        layers[c->input.cost->model->layer_class[l]]++;
    }
}

static int64_t total(const lcp_static_bytes *bytes)
{
    return bytes->parameters + bytes->gradients + bytes->optimizer;
}

static int64_t more(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Bytes of a chunk on a stage besides its layers' activations. */
typedef struct cell_bytes {
    int64_t kept, kv_grad, working;
} cell_bytes;

static cell_bytes other_bytes(const partition_case *c, int32_t pipeline, int32_t stage, int32_t chunk,
                              const int32_t *class_layers)
{
    const lcp_pipeline_tables *t = &c->tables[pipeline];
    int32_t classes = c->input.cost->model->class_count;
    cell_bytes bytes = {0};
    for (int32_t i = 0; i < classes; i++) {
        const lcp_layer_cost *layer = &t->layers[chunk * classes + i];
        bytes.kv_grad += class_layers[i] * layer->kv_grad_bytes;
        bytes.working = class_layers[i] > 0 ? more(bytes.working, layer->working_bytes) : bytes.working;
    }
    if (stage == 0) {
        bytes.kept += t->embedding[chunk].kept_bytes;
        bytes.working = more(bytes.working, t->embedding[chunk].working_bytes);
    }
    if (stage == c->input.cost->layout.pp - 1) {
        bytes.kept += t->head[chunk].kept_bytes;
        bytes.working = more(bytes.working, t->head[chunk].working_bytes);
    }
    return bytes;
}

static int64_t resident(const partition_case *c, int32_t stage, const int32_t *class_layers)
{
    const lcp_cost *cost = c->input.cost;
    int64_t bytes = cost->reserve_bytes + lcp_cost_buffer_bytes(cost, 0);
    for (int32_t i = 0; i < cost->model->class_count; i++) {
        bytes += class_layers[i] * total(&cost->layer_static[i]);
    }
    bytes += stage == 0 ? total(&cost->embedding_static) : 0;
    return bytes + (stage == cost->layout.pp - 1 ? total(&cost->head_static) : 0);
}

/* For each operation, what exists during it: no running sums. */
int64_t partition_case_peak(const partition_case *c, int32_t pipeline, int32_t stage, const int32_t *class_layers,
                            const case_cell *cells)
{
    const lcp_pipeline_tables *t = &c->tables[pipeline];
    const lcp_op *ops = t->schedule.ops[stage];
    int32_t forward_at[CASE_CHUNKS];
    int32_t backward_at[CASE_CHUNKS];
    for (int32_t i = 0; i < 2 * t->chunk_count; i++) {
        *(ops[i].kind == LCP_OP_FORWARD ? &forward_at[ops[i].chunk] : &backward_at[ops[i].chunk]) = i;
    }
    int64_t peak = 0;
    for (int32_t i = 0; i < 2 * t->chunk_count; i++) {
        int64_t bytes = other_bytes(c, pipeline, stage, ops[i].chunk, class_layers).working;
        for (int32_t k = 0; k < t->chunk_count; k++) {
            cell_bytes other = other_bytes(c, pipeline, stage, k, class_layers);
            int32_t last_slice = t->links[k].next_slice >= 0 ? t->links[k].next_slice : k;
            bytes += forward_at[k] <= i && i <= backward_at[k] ? other.kept + cells[k].kept_bytes : 0;
            bytes += backward_at[last_slice] <= i && i <= backward_at[k] ? other.kv_grad : 0;
        }
        peak = more(peak, bytes);
    }
    return resident(c, stage, class_layers) + peak;
}

/* Durations of one pipeline and the ends found so far, < 0 = not yet. */
typedef struct timing {
    const lcp_pipeline_tables *tables;
    int32_t stages;
    double seconds[CASE_STAGES][CASE_CHUNKS][2];
    double end[CASE_STAGES][CASE_CHUNKS][2];
} timing;

/* When a pass ends: after what stands before it on its rank, and after what it reads. */
static double pass_end(timing *t, int32_t stage, int32_t chunk, int32_t backward)
{
    double *known = &t->end[stage][chunk][backward];
    if (*known >= 0) {
        return *known;
    }
    const lcp_op *ops = t->tables->schedule.ops[stage];
    const lcp_chunk_link *link = &t->tables->links[chunk];
    int32_t at = 0;
    while (ops[at].chunk != chunk || (ops[at].kind != LCP_OP_FORWARD) != (backward == 1)) {
        at++;
    }
    double start = at > 0 ? pass_end(t, stage, ops[at - 1].chunk, ops[at - 1].kind != LCP_OP_FORWARD) : 0;
    int32_t giver = backward ? stage + 1 : stage - 1;
    if (giver >= 0 && giver < t->stages) {
        start = fmax(start, pass_end(t, giver, chunk, backward) + t->tables->hop_seconds[chunk]);
    }
    int32_t slice = backward ? link->next_slice : link->previous_slice;
    if (slice >= 0) {
        start = fmax(start, pass_end(t, stage, slice, backward));
    }
    if (backward) {
        start = fmax(start, pass_end(t, stage, chunk, 0));
    }
    *known = start + t->seconds[stage][chunk][backward];
    return *known;
}

static void add_end_seconds(double seconds[2], const lcp_end_cost *end)
{
    seconds[0] += end->forward.compute;
    seconds[1] += end->input_grad.compute + end->weight_grad.compute;
}

static void fill_timing(timing *t, const partition_case *c, int32_t stage, const int32_t *layers,
                        const case_cell *cells)
{
    int32_t classes = c->input.cost->model->class_count;
    for (int32_t k = 0; k < t->tables->chunk_count; k++) {
        double *seconds = t->seconds[stage][k];
        seconds[0] = c->fixture.groups[0].device.pass_overhead_seconds;
        seconds[1] = seconds[0] + cells[stage * CASE_CHUNKS + k].recompute_seconds;
        for (int32_t i = 0; i < classes; i++) {
            const lcp_layer_cost *layer = &t->tables->layers[k * classes + i];
            seconds[0] += layers[i] * layer->forward.compute;
            seconds[1] += layers[i] * (layer->input_grad.compute + layer->weight_grad.compute);
        }
        if (stage == 0) {
            add_end_seconds(seconds, &t->tables->embedding[k]);
        }
        if (stage == t->stages - 1) {
            add_end_seconds(seconds, &t->tables->head[k]);
        }
        t->end[stage][k][0] = -1;
        t->end[stage][k][1] = -1;
    }
}

static double tail_seconds(const partition_case *c, int32_t stage, const int32_t *layers)
{
    const lcp_cost *cost = c->input.cost;
    double seconds = 0;
    for (int32_t i = 0; i < cost->model->class_count; i++) {
        seconds += layers[i] * (cost->layer_step[i].exposed_dp + cost->layer_step[i].optimizer);
    }
    seconds += stage == 0 ? cost->embedding_step.exposed_dp + cost->embedding_step.optimizer : 0;
    return seconds + (stage == cost->layout.pp - 1 ? cost->head_step.exposed_dp + cost->head_step.optimizer : 0);
}

double partition_case_seconds(const partition_case *c, int32_t pipeline, const int32_t *stage_layers,
                              const case_cell *cells)
{
    timing t = {.tables = &c->tables[pipeline], .stages = c->input.cost->layout.pp};
    int32_t layers[CASE_STAGES][CASE_CLASSES];
    for (int32_t s = 0; s < t.stages; s++) {
        partition_case_class_layers(c, stage_layers, s, layers[s]);
        fill_timing(&t, c, s, layers[s], cells);
    }
    double seconds = 0;
    for (int32_t s = 0; s < t.stages; s++) {
        double tail = tail_seconds(c, s, layers[s]);
        for (int32_t k = 0; k < t.tables->chunk_count; k++) {
            seconds = fmax(seconds, pass_end(&t, s, k, 1) + tail);
        }
    }
    return seconds;
}
