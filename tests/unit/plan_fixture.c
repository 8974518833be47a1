#include "plan_fixture.h"

#include "json_case.h"

#include <stdio.h>
#include <stdlib.h>

static const char model_text[] =
    "{'format': 'lcplan.model/1', 'name': 'two kinds', 'hidden_size': 64, 'vocab_size': 1000, 'tied_embeddings': false,"
    " 'layers': [{'count': 2, 'attention': {'kind': 'grouped', 'heads': 4, 'kv_heads': 2, 'head_dim': 16}, 'ffn':"
    " {'kind': 'gated', 'size': 128}}, {'count': 2, 'attention': {'kind': 'grouped', 'heads': 4, 'kv_heads': 2,"
    " 'head_dim': 16, 'window_tokens': 512}, 'ffn': {'kind': 'gated', 'size': 128}}]}";

static const char workload_text[] =
    "{'format': 'lcplan.workload/1', 'name': 'three', 'lengths': {'values': [4096, 1000, 2048]}}";

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    assert_non_null(memory);
    return memory;
}

static void fill_problem(lcp_problem *problem)
{
    lcp_error err = {0};
    json_t *model = json_of(model_text);
    json_t *workload = json_of(workload_text);
    lcp_status status = lcp_model_from_json(&problem->model, model, "m", &err);
    if (status == LCP_OK) {
        status = lcp_workload_from_json(&problem->workload, workload, "w", NULL, &err);
    }
    if (status == LCP_OK) {
        status = lcp_read_cluster(&problem->cluster, &problem->cluster_source, "h100-sxm:2x4", &err);
    }
    if (status != LCP_OK) {
        fail_msg("%s: %s", err.where, err.text);
    }
    problem->options = lcp_options_default();
    json_decref(model);
    json_decref(workload);
}

/* Pipeline 0 runs the two slices of sequence 0, pipeline 1 a pack of the others. */
static void fill_chunks(lcp_plan *plan)
{
    static const lcp_segment segments[] = {
        {.sequence = 0, .offset_tokens = 0, .length_tokens = 2560, .has_successor = true},
        {.sequence = 0, .offset_tokens = 2560, .length_tokens = 1536},
        {.sequence = 1, .offset_tokens = 0, .length_tokens = 1000},
        {.sequence = 2, .offset_tokens = 0, .length_tokens = 2048},
    };
    plan->chunk_count = 3;
    plan->chunks = zeroed(3, sizeof *plan->chunks);
    plan->segments = zeroed(4, sizeof *plan->segments);
    for (size_t i = 0; i < 4; i++) {
        plan->segments[i] = segments[i];
    }
    plan->chunks[0].chunk = (lcp_chunk){.dp = 0, .segment_count = 1, .segments = &plan->segments[0]};
    plan->chunks[1].chunk = (lcp_chunk){.dp = 0, .segment_count = 1, .segments = &plan->segments[1]};
    plan->chunks[2].chunk = (lcp_chunk){.dp = 1, .segment_count = 2, .segments = &plan->segments[2]};
    plan->chunks[0].recompute_count = 2;
    plan->chunks[0].recompute = zeroed(2, sizeof *plan->chunks[0].recompute);
    plan->chunks[0].recompute[0] =
        (lcp_chunk_recompute){.stage = 0, .layer_class = 0, .policy = LCP_RECOMPUTE_FULL, .layers = 2};
    plan->chunks[0].recompute[1] =
        (lcp_chunk_recompute){.stage = 1, .layer_class = 1, .policy = LCP_RECOMPUTE_ATTENTION_OUTPUT, .layers = 1};
}

/* All forwards in order, all backwards in reverse. */
static void fill_pipeline(lcp_schedule *schedule, int32_t first_chunk, int32_t chunk_count)
{
    *schedule = (lcp_schedule){.rank_count = 2, .stage_count = 2, .chunk_count = chunk_count};
    schedule->stage_rank = zeroed(2, sizeof *schedule->stage_rank);
    schedule->op_count = zeroed(2, sizeof *schedule->op_count);
    schedule->ops = zeroed(2, sizeof *schedule->ops);
    for (int32_t r = 0; r < 2; r++) {
        schedule->stage_rank[r] = r;
        schedule->op_count[r] = 2 * chunk_count;
        schedule->ops[r] = zeroed((size_t)(2 * chunk_count), sizeof **schedule->ops);
        for (int32_t k = 0; k < chunk_count; k++) {
            schedule->ops[r][k] = (lcp_op){.kind = LCP_OP_FORWARD, .chunk = first_chunk + k, .stage = r};
            schedule->ops[r][2 * chunk_count - 1 - k] =
                (lcp_op){.kind = LCP_OP_BACKWARD, .chunk = first_chunk + k, .stage = r};
        }
    }
}

static void fill_proof(lcp_plan *plan)
{
    plan->predicted = (lcp_prediction){.iteration_seconds = 0.1,
                                       .tokens_per_second_per_device = 7144.0 / 0.8,
                                       .mfu_ratio = 1.0 / 3,
                                       .bubble_ratio = 0.125,
                                       .breakdown = {.compute = 0.0625, .exposed_cp = 1e-7, .bubble = 0.0125}};
    plan->predicted.stages = zeroed(2, sizeof *plan->predicted.stages);
    for (int32_t s = 0; s < 2; s++) {
        plan->predicted.stages[s] = (lcp_stage_prediction){.busy_seconds = 0.05 + s,
                                                           .peak_memory_bytes = 6000000000 + s,
                                                           .memory = {.parameters = 5000000000, .kv = 1000000000 + s}};
    }
    lcp_certificate *c = &plan->certificate;
    *c = (lcp_certificate){.lower_bound_seconds = 0.098,
                           .gap_ratio = 0.02,
                           .considered = 12,
                           .bounded = 5,
                           .solved = 3,
                           .rejected_count = 2,
                           .lp_solves = 40,
                           .mip_nodes = 7};
    snprintf(c->scope, sizeof c->scope, "every plan of this test");
    snprintf(c->stopped_by, sizeof c->stopped_by, "gap");
    snprintf(c->solver_version, sizeof c->solver_version, "5.0");
    c->rejected[0] = (lcp_reason_count){.reason = "heads", .count = 3};
    c->rejected[1] = (lcp_reason_count){.reason = "layers", .count = 1};
    plan->alternative_count = 1;
    plan->alternatives = zeroed(1, sizeof *plan->alternatives);
    plan->alternatives[0] = (lcp_alternative){.layout = plan->layout, .iteration_seconds = 0.11, .reason = "slower"};
    plan->alternatives[0].layout.zero_stage = 3;
}

void fixture_plan(plan_fixture *f)
{
    *f = (plan_fixture){0};
    fill_problem(&f->problem);
    lcp_plan *plan = &f->plan;
    plan->layout = (lcp_layout){.dp = 2,
                                .pp = 2,
                                .vpp = 1,
                                .tp = 2,
                                .ulysses = 1,
                                .ring = 1,
                                .ep = 1,
                                .zero_stage = 1,
                                .sequence_parallel = true,
                                .ring_method = LCP_RING_ALL_GATHER};
    snprintf(plan->schedule_name, sizeof plan->schedule_name, "elastic-1f1b");
    plan->stage_count = 2;
    plan->stages = zeroed(2, sizeof *plan->stages);
    plan->stages[0] = (lcp_stage){.pp = 0, .first_layer = 0, .layer_count = 3, .embedding = true};
    plan->stages[1] = (lcp_stage){.pp = 1, .first_layer = 3, .layer_count = 1, .head = true};
    fill_chunks(plan);
    plan->pipelines = zeroed(2, sizeof *plan->pipelines);
    fill_pipeline(&plan->pipelines[0], 0, 2);
    fill_pipeline(&plan->pipelines[1], 2, 1);
    fill_proof(plan);
}

void fixture_plan_dispose(plan_fixture *f)
{
    lcp_plan_dispose(&f->plan);
    lcp_problem_dispose(&f->problem);
}
