#include "support.h"

#include "export_fixture.h"

#include "input/input.h"

#include <stdio.h>
#include <stdlib.h>

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    assert_non_null(memory);
    return memory;
}

static void good(lcp_status status, const lcp_error *err)
{
    if (status != LCP_OK) {
        fail_msg("%s: %s", err->where, err->text);
    }
}

static void fill_problem(lcp_problem *problem, const export_case *c)
{
    lcp_error err = {0};
    char path[256];
    snprintf(path, sizeof path, "../examples/models/%s.json", c->model);
    problem->options = lcp_options_default();
    good(lcp_read_model(&problem->model, &problem->model_source, path, &err), &err);
    good(lcp_read_cluster(&problem->cluster, &problem->cluster_source, c->cluster, &err), &err);
    good(lcp_workload_uniform(&problem->workload, &problem->workload_source, c->sequence_tokens, c->sequences, &err),
         &err);
}

static void fill_stages(lcp_plan *plan, const export_case *c)
{
    plan->stage_count = c->layout.pp * c->layout.vpp;
    plan->stages = zeroed((size_t)plan->stage_count, sizeof *plan->stages);
    int32_t first = 0;
    for (int32_t s = 0; s < plan->stage_count; s++) {
        plan->stages[s] = (lcp_stage){.pp = s % c->layout.pp,
                                      .virtual_index = s / c->layout.pp,
                                      .first_layer = first,
                                      .layer_count = c->stage_layers[s],
                                      .embedding = s == 0,
                                      .head = s == plan->stage_count - 1};
        first += c->stage_layers[s];
    }
}

/* Layers of one class on the first `layers` of a stage. */
static int32_t class_count(const lcp_model *model, const lcp_stage *stage, int32_t layers, int32_t layer_class)
{
    int32_t count = 0;
    for (int32_t l = 0; l < layers && l < stage->layer_count; l++) {
        count += model->layer_class[stage->first_layer + l] == layer_class;
    }
    return count;
}

static void fill_recompute(export_fixture *f, lcp_plan_chunk *chunk, const export_case *c)
{
    const lcp_model *model = &f->problem.model;
    chunk->recompute = zeroed((size_t)(f->plan.stage_count * model->class_count), sizeof *chunk->recompute);
    for (int32_t s = 0; s < f->plan.stage_count; s++) {
        for (int32_t k = 0; k < model->class_count; k++) {
            int32_t layers = class_count(model, &f->plan.stages[s], c->recompute_layers, k);
            if (layers > 0) {
                chunk->recompute[chunk->recompute_count++] =
                    (lcp_chunk_recompute){.stage = s, .layer_class = k, .policy = c->policy, .layers = layers};
            }
        }
    }
}

static void fill_chunks(export_fixture *f, const export_case *c)
{
    lcp_plan *plan = &f->plan;
    plan->chunk_count = (int32_t)(c->sequences / c->micro_sequences);
    plan->chunks = zeroed((size_t)plan->chunk_count, sizeof *plan->chunks);
    plan->segments = zeroed((size_t)c->sequences, sizeof *plan->segments);
    for (int64_t i = 0; i < c->sequences; i++) {
        plan->segments[i] = (lcp_segment){.sequence = i, .length_tokens = c->sequence_tokens};
    }
    for (int32_t k = 0; k < plan->chunk_count; k++) {
        plan->chunks[k].chunk = (lcp_chunk){.dp = k / (plan->chunk_count / c->layout.dp),
                                            .segment_count = c->micro_sequences,
                                            .segments = &plan->segments[k * c->micro_sequences]};
        fill_recompute(f, &plan->chunks[k], c);
    }
}

static void fill_pipelines(lcp_plan *plan, const export_case *c)
{
    lcp_error err = {0};
    int32_t chunks = plan->chunk_count / c->layout.dp;
    lcp_chunk_link *links = zeroed((size_t)chunks, sizeof *links);
    for (int32_t k = 0; k < chunks; k++) {
        links[k] = (lcp_chunk_link){.previous_slice = -1, .next_slice = -1};
    }
    const lcp_schedule_input input = {.rank_count = c->layout.pp, .chunk_count = chunks, .links = links};
    plan->pipelines = zeroed((size_t)c->layout.dp, sizeof *plan->pipelines);
    for (int32_t d = 0; d < c->layout.dp; d++) {
        lcp_schedule *pipeline = &plan->pipelines[d];
        good(lcp_schedule_find("1f1b")->build(pipeline, &input, &err), &err);
        for (int32_t r = 0; r < pipeline->rank_count; r++) {
            for (int32_t i = 0; i < pipeline->op_count[r]; i++) {
                pipeline->ops[r][i].chunk += d * chunks;
            }
        }
    }
    free(links);
}

void export_fixture_make(export_fixture *f, const export_case *c)
{
    *f = (export_fixture){0};
    fill_problem(&f->problem, c);
    f->plan.layout = c->layout;
    f->plan.layout.sequence_parallel = c->layout.tp > 1;
    snprintf(f->plan.schedule_name, sizeof f->plan.schedule_name, c->layout.vpp > 1 ? "interleaved" : "1f1b");
    fill_stages(&f->plan, c);
    fill_chunks(f, c);
    fill_pipelines(&f->plan, c);
}

void export_fixture_dispose(export_fixture *f)
{
    lcp_plan_dispose(&f->plan);
    lcp_problem_dispose(&f->problem);
}
