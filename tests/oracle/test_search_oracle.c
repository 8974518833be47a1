/* The whole planner against brute force: on random small problems every layout, budget, split of layers and recompute
 * choice in the certificate's scope is priced, one by one. The plan must be within its claimed gap of the best of them
 * and the certificate's bound must not exceed it. Number of instances: first argument, default 500. */
#include "support.h"

#include "partition/partition.h"
#include "search/candidates.h"
#include "search/evaluation.h"
#include "search/legality.h"
#include "search/search.h"
#include "verify/verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int instance_count = 500;

/* What the plans found look like, so that a test that never leaves the easy corner is seen. */
static struct {
    int pipelined, sliced, recomputing;
} seen;

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

/* Two devices in one node; a model of two or three layers; two to four sequences. */
typedef struct instance {
    lcp_problem problem;
    lcp_layer_class classes[2];
    int32_t layer_class[3];
    lcp_group group;
    int64_t lengths[4];
} instance;

static void make_model(instance *x, uint64_t *state)
{
    lcp_model *model = &x->problem.model;
    snprintf(model->name, sizeof model->name, "random");
    model->hidden_size = 1024;
    model->vocab_size = 8192 * pick(state, 1, 4);
    model->class_count = (int32_t)pick(state, 1, 2);
    for (int32_t c = 0; c < 2; c++) {
        x->classes[c].attention = (lcp_attention){
            .kind = LCP_ATTENTION_GROUPED, .heads = 8, .kv_heads = 2, .head_dim = 128, .v_head_dim = 128};
        x->classes[c].ffn = (lcp_ffn){.kind = LCP_FFN_GATED, .size = 1024 * pick(state, 2, 6)};
        x->classes[c].norm_parameters = 2048;
        x->classes[c].measured = (lcp_measured_layer){-1, -1, -1, -1};
    }
    model->classes = x->classes;
    model->layer_count = 2;
    for (int32_t l = 0; l < 3; l++) {
        x->layer_class[l] = (int32_t)pick(state, 0, model->class_count - 1);
    }
    model->layer_class = x->layer_class;
    model->mtp_class = -1;
}

static void make_cluster(instance *x, uint64_t *state)
{
    lcp_device device;
    assert_true(lcp_device_find(&device, "a100-80"));
    x->group = (lcp_group){.device = device, .nodes = 1, .devices_per_node = 2, .usable_memory_ratio = 1.0};
    x->group.intra_node = device.intra_node;
    x->group.inter_node = device.inter_node;
    x->group.host = device.host;
    x->group.device.fixed_memory_bytes = 0;
    x->group.device.memory_bytes = pick(state, 500, 3500) * 1000000;
    x->problem.cluster.group_count = 1;
    x->problem.cluster.groups = &x->group;
}

static void make_workload(instance *x, uint64_t *state)
{
    lcp_workload *workload = &x->problem.workload;
    workload->sequence_count = pick(state, 2, 3);
    workload->lengths_tokens = x->lengths;
    for (int64_t i = 0; i < workload->sequence_count; i++) {
        x->lengths[i] = pick(state, 1, 32) * 512;
        workload->total_tokens += x->lengths[i];
        workload->max_length_tokens =
            x->lengths[i] > workload->max_length_tokens ? x->lengths[i] : workload->max_length_tokens;
    }
}

static void make_instance(instance *x, uint64_t seed)
{
    uint64_t state = seed;
    *x = (instance){0};
    make_model(x, &state);
    make_cluster(x, &state);
    make_workload(x, &state);
    x->problem.options = lcp_options_default();
    x->problem.options.min_slice_tokens = 6144;
    x->problem.options.threads = 1;
    if (pick(&state, 0, 2) > 0) { /* left alone, two devices rarely make a pipeline */
        x->problem.options.pp = (lcp_degree){.count = 1, .values = {2}};
    }
    x->problem.options.gap_ratio = pick(&state, 0, 1) == 0 ? 0.02 : 0.005;
}

/* Enumerates the recompute counts of every (chunk, stage, class) cell of one pipeline under a given split. */
typedef struct enumeration {
    const lcp_cost *cost;
    const lcp_pipeline_tables *tables;
    const lcp_workload *workload;
    lcp_partition decisions;
    int32_t class_layers[2][LCP_MAX_LAYER_CLASSES]; /* [stage][class] */
    int32_t cells;
    double best_seconds;
    int64_t priced;
} enumeration;

static void price(enumeration *e)
{
    lcp_prediction predicted = {0};
    lcp_status status = lcp_evaluate(&predicted, e->cost, 1, e->tables, &e->decisions, e->workload, NULL);
    e->priced++;
    if (status == LCP_OK) {
        e->best_seconds = fmin(e->best_seconds, predicted.iteration_seconds);
    } else {
        assert_int_equal(status, LCP_FALSE);
    }
    free(predicted.stages);
}

static void choose_policies(enumeration *e, int32_t cell, int32_t policy, int32_t left)
{
    if (cell == e->cells) {
        price(e);
        return;
    }
    int32_t *counts = &e->decisions.recompute_counts[0][(size_t)cell * LCP_RECOMPUTE_COUNT];
    int32_t classes = e->cost->model->class_count;
    int32_t stage = cell / classes % e->decisions.stage_count;
    if (policy == 0) {
        left = e->class_layers[stage][cell % classes];
        policy = 1;
    }
    if (policy == LCP_RECOMPUTE_COUNT || left == 0) {
        for (int32_t q = policy; q < LCP_RECOMPUTE_COUNT; q++) {
            counts[q] = 0;
        }
        choose_policies(e, cell + 1, 0, 0);
        return;
    }
    for (int32_t layers = 0; layers <= left; layers++) {
        counts[policy] = layers;
        choose_policies(e, cell, policy + 1, left - layers);
    }
}

static double best_recompute(const lcp_cost *cost, const lcp_pipeline_tables *tables, const lcp_workload *workload,
                             int32_t *stage_layers, int64_t *priced)
{
    enumeration e = {.cost = cost, .tables = tables, .workload = workload, .best_seconds = HUGE_VAL};
    e.decisions.found = true;
    e.decisions.stage_count = cost->layout.pp;
    e.decisions.pipeline_count = 1;
    e.decisions.stage_layers = stage_layers;
    int32_t layer = 0;
    for (int32_t s = 0; s < cost->layout.pp; s++) {
        for (int32_t i = 0; i < stage_layers[s]; i++) {
            e.class_layers[s][cost->model->layer_class[layer++]]++;
        }
    }
    e.cells = tables->chunk_count * cost->layout.pp * cost->model->class_count;
    int32_t *counts = calloc((size_t)e.cells * LCP_RECOMPUTE_COUNT, sizeof *counts);
    assert_non_null(counts);
    e.decisions.recompute_counts = &counts;
    choose_policies(&e, 0, 0, 0);
    free(counts);
    *priced += e.priced;
    return e.best_seconds;
}

static double best_of_candidate(const lcp_problem *problem, const lcp_candidate *candidate, int64_t *priced)
{
    lcp_evaluation e;
    lcp_error err = {0};
    assert_int_equal(lcp_evaluate_candidate(&e, problem, candidate, HUGE_VAL, &err), LCP_OK);
    double best = HUGE_VAL;
    if (e.chunking.chunk_count < candidate->chunks_per_rank * candidate->layout.dp) {
        lcp_evaluation_dispose(&e); /* fewer chunks than the budget: out of scope */
        return best;
    }
    int32_t splits = candidate->layout.pp == 1 ? 1 : problem->model.layer_count - 1;
    for (int32_t first = 1; first <= splits; first++) {
        int32_t stage_layers[2] = {candidate->layout.pp == 1 ? problem->model.layer_count : first,
                                   problem->model.layer_count - first};
        double slowest = 0;
        for (int32_t d = 0; d < candidate->layout.dp; d++) {
            slowest = fmax(slowest, best_recompute(&e.cost, &e.pipelines[d], &problem->workload, stage_layers, priced));
        }
        best = fmin(best, slowest);
    }
    assert_true(!isfinite(best) || candidate->bound_seconds <= best * (1 + 1e-9));
    lcp_evaluation_dispose(&e);
    return best;
}

static double brute_force(const lcp_problem *problem, int64_t *priced)
{
    lcp_candidates candidates;
    assert_int_equal(lcp_candidates_enumerate(&candidates, problem, NULL), LCP_OK);
    double best = HUGE_VAL;
    for (int64_t i = 0; i < candidates.count; i++) {
        best = fmin(best, best_of_candidate(problem, &candidates.items[i], priced));
    }
    lcp_candidates_dispose(&candidates);
    return best;
}

static void check_plan(const lcp_problem *problem, double optimum, uint64_t seed)
{
    lcp_plan plan;
    lcp_error err = {0};
    lcp_status status = lcp_plan_search(&plan, problem, NULL, &err);
    if (!isfinite(optimum)) {
        if (status != LCP_INFEASIBLE) {
            fail_msg("seed %llu: nothing fits, but the search says %d (%s)", (unsigned long long)seed, status,
                     err.text);
        }
        return;
    }
    if (status != LCP_OK) {
        fail_msg("seed %llu: the optimum is %.9g s, but the search says %d: %s", (unsigned long long)seed, optimum,
                 status, err.text);
    }
    double seconds = plan.predicted.iteration_seconds;
    if (!(plan.certificate.lower_bound_seconds <= optimum * (1 + 1e-9))) {
        fail_msg("seed %llu: bound %.9g above the optimum %.9g", (unsigned long long)seed,
                 plan.certificate.lower_bound_seconds, optimum);
    }
    if (!(seconds * (1 - plan.certificate.gap_ratio) <= optimum * (1 + 1e-9))) {
        fail_msg("seed %llu: plan %.9g with claimed gap %.4g, optimum %.9g", (unsigned long long)seed, seconds,
                 plan.certificate.gap_ratio, optimum);
    }
    status = lcp_verify(&plan, problem, &err);
    if (status != LCP_OK) {
        fail_msg("seed %llu: verify says %s: %s", (unsigned long long)seed, err.where, err.text);
    }
    bool sliced = false;
    bool recomputing = false;
    for (int32_t k = 0; k < plan.chunk_count; k++) {
        sliced = sliced || plan.chunks[k].chunk.segments[0].has_successor;
        recomputing = recomputing || plan.chunks[k].recompute_count > 0;
    }
    seen.pipelined += plan.layout.pp > 1;
    seen.sliced += sliced;
    seen.recomputing += recomputing;
    lcp_plan_dispose(&plan);
}

static void plans_match_brute_force(void **state)
{
    (void)state;
    int64_t priced = 0;
    int32_t feasible = 0;
    for (int i = 0; i < instance_count; i++) {
        instance x;
        make_instance(&x, (uint64_t)i + 1);
        double optimum = brute_force(&x.problem, &priced);
        feasible += isfinite(optimum);
        check_plan(&x.problem, optimum, (uint64_t)i + 1);
    }
    print_message("%d instances, %d feasible (%d pipelined, %d sliced, %d recomputing), %lld plans priced\n",
                  instance_count, feasible, seen.pipelined, seen.sliced, seen.recomputing, (long long)priced);
    assert_true(feasible > instance_count / 3 && feasible < instance_count);
    assert_true(seen.pipelined > 0 && seen.sliced > 0 && seen.recomputing > 0);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        instance_count = atoi(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_match_brute_force),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
