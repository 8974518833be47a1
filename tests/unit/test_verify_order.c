/* Verification of plans whose schedule splits backward passes, recomputes ahead, offloads, or holds several stages a
 * rank.
 */
#include "support.h"
#include "verify_fixture.h"

#include "simulate/simulate.h"
#include "verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chunks of the fixture: 0 and 1, slices of one sequence, in pipeline 0; 2 alone in pipeline 1. */
static const int32_t first_chunk[] = {0, 2};
static const int32_t chunk_count[] = {2, 1};

static void take_order(lcp_plan *plan, int32_t dp, const char *name)
{
    lcp_chunk_link links[2] = {{-1, dp == 0 ? 1 : -1}, {0, -1}};
    lcp_schedule_input input = {.rank_count = 2,
                                .virtual_count = plan->layout.vpp,
                                .chunk_count = chunk_count[dp],
                                .links = links,
                                .effort = 1};
    lcp_error err = {0};
    lcp_schedule_dispose(&plan->pipelines[dp]);
    if (lcp_schedule_generate(&plan->pipelines[dp], name, &input, &err) != LCP_OK) {
        fail_msg("%s", err.text);
    }
    for (int32_t r = 0; r < 2; r++) {
        for (int32_t i = 0; i < plan->pipelines[dp].op_count[r]; i++) {
            plan->pipelines[dp].ops[r][i].chunk += first_chunk[dp];
        }
    }
}

/* One layer a stage. */
static void take_stages(lcp_plan *plan)
{
    plan->stage_count = 4;
    free(plan->stages);
    plan->stages = calloc(4, sizeof *plan->stages);
    plan->chunks[0].recompute_count = 0;
    for (int32_t s = 0; s < 4; s++) {
        plan->stages[s] = (lcp_stage){.pp = plan->pipelines[0].stage_rank[s],
                                      .virtual_index = s / 2,
                                      .first_layer = s,
                                      .layer_count = 1,
                                      .embedding = s == 0,
                                      .head = s == 3};
    }
}

static void take_prediction(plan_fixture *f)
{
    lcp_prediction *p = &f->plan.predicted;
    double bubble = 0;
    free(p->stages);
    *p = (lcp_prediction){.stages = calloc((size_t)f->plan.stage_count, sizeof *p->stages)};
    for (int32_t dp = 0; dp < 2; dp++) {
        lcp_simulated s;
        lcp_simulate_options options = {0};
        lcp_error err = {0};
        if (lcp_simulate(&s, &f->plan, &f->problem, dp, &options, &err) != LCP_OK) {
            fail_msg("%s", err.text);
        }
        bool slowest = s.replay.makespan_seconds > p->iteration_seconds;
        p->iteration_seconds = slowest ? s.replay.makespan_seconds : p->iteration_seconds;
        for (int32_t r = 0; r < 2 && slowest; r++) {
            bubble = r == 0 ? 0 : bubble;
            bubble += (s.replay.makespan_seconds - s.replay.busy_seconds[r] - s.durations.tail_seconds[r]) / 2;
        }
        for (int32_t stage = 0; stage < f->plan.stage_count; stage++) {
            lcp_stage_prediction *out = &p->stages[stage];
            int32_t rank = f->plan.stages[stage].pp;
            out->busy_seconds = slowest ? 0 : out->busy_seconds;
            int64_t peak = s.peaks[rank].peak_bytes;
            out->peak_memory_bytes = peak > out->peak_memory_bytes ? peak : out->peak_memory_bytes;
            for (int32_t i = 0; slowest && i < s.schedule.op_count[rank]; i++) {
                int64_t at = s.replay.rank_first[rank] + i;
                bool own = s.schedule.ops[rank][i].stage == stage && s.schedule.ops[rank][i].kind < LCP_OP_OFFLOAD;
                out->busy_seconds += own ? s.replay.end_seconds[at] - s.replay.start_seconds[at] : 0;
            }
        }
        lcp_simulated_dispose(&s);
    }
    p->tokens_per_second_per_device = (double)f->problem.workload.total_tokens / (8 * p->iteration_seconds);
    p->bubble_ratio = bubble / p->iteration_seconds;
    p->breakdown = (lcp_breakdown){.compute = p->iteration_seconds};
    f->plan.certificate.lower_bound_seconds = 0.75 * p->iteration_seconds;
    f->plan.certificate.gap_ratio = 0.25;
}

static void build(plan_fixture *f, const char *name, int32_t stages_a_rank)
{
    verify_fixture(f);
    snprintf(f->plan.schedule_name, sizeof f->plan.schedule_name, "%s", name);
    f->plan.layout.vpp = stages_a_rank;
    take_order(&f->plan, 0, name);
    take_order(&f->plan, 1, name);
    if (stages_a_rank == 2) {
        take_stages(&f->plan);
    }
    take_prediction(f);
}

/* The rule that does not hold, and its message. */
static const char *broken(const plan_fixture *f, lcp_error *err)
{
    for (size_t i = 0; i < lcp_verify_rule_count; i++) {
        *err = (lcp_error){0};
        if (lcp_verify_rules[i].check(&f->plan, &f->problem, err) != LCP_OK) {
            return lcp_verify_rules[i].name;
        }
    }
    return "none";
}

static void assert_holds(const plan_fixture *f)
{
    lcp_error err;
    const char *rule = broken(f, &err);
    if (strcmp(rule, "none") != 0) {
        fail_msg("%s %s: %s: %s", f->plan.schedule_name, rule, err.where, err.text);
    }
}

static void schedules_of_the_table_hold(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int32_t stages_a_rank;
    } rows[] = {{"zb-h1", 1}, {"zb-h2", 1},  {"list", 1},          {"list", 2},
                {"zb-v", 2},  {"hanayo", 2}, {"breadth-first", 2}, {"offload-full", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        plan_fixture f;
        build(&f, rows[i].name, rows[i].stages_a_rank);
        assert_holds(&f);
        f.plan.predicted.iteration_seconds *= 1.001;
        lcp_error err;
        assert_string_equal(broken(&f, &err), "prediction");
        fixture_plan_dispose(&f);
    }
}

static lcp_op *ops_of(plan_fixture *f, int32_t rank)
{
    return f->plan.pipelines[0].ops[rank];
}

static void swap(lcp_op *a, lcp_op *b)
{
    lcp_op kept = *a;
    *a = *b;
    *b = kept;
}

static int32_t find(plan_fixture *f, int32_t rank, lcp_op_kind kind, int32_t nth)
{
    for (int32_t i = 0; i < f->plan.pipelines[0].op_count[rank]; i++) {
        if (ops_of(f, rank)[i].kind == kind && nth-- == 0) {
            return i;
        }
    }
    fail_msg("no %s", lcp_op_names[kind]);
    return 0;
}

/* zb-h1, rank 0 of pipeline 0: what is wrong, who says so, and a word of it. */
static void broken_splits_are_found(void **state)
{
    (void)state;
    plan_fixture f;
    lcp_error err;
    build(&f, "zb-h1", 1);
    lcp_op *ops = ops_of(&f, 0);
    int32_t input_grad = find(&f, 0, LCP_OP_INPUT_GRAD, 0);
    int32_t weight = find(&f, 0, LCP_OP_WEIGHT_GRAD, 0);
    ops[weight].kind = LCP_OP_INPUT_GRAD; /* I twice */
    assert_string_equal(broken(&f, &err), "schedule");
    assert_non_null(strstr(err.text, "twice"));
    ops[weight].kind = LCP_OP_OFFLOAD;
    assert_string_equal(broken(&f, &err), "schedule");
    assert_non_null(strstr(err.text, "does not have"));
    ops[weight].kind = LCP_OP_WEIGHT_GRAD;
    swap(&ops[input_grad], &ops[weight]); /* W before its I */
    assert_string_equal(broken(&f, &err), "schedule");
    assert_non_null(strstr(err.text, "deadlock"));
    swap(&ops[input_grad], &ops[weight]);
    assert_holds(&f);
    lcp_op *other = ops_of(&f, 1);
    weight = find(&f, 1, LCP_OP_WEIGHT_GRAD, 0);
    int32_t last = find(&f, 1, LCP_OP_WEIGHT_GRAD, 1);
    swap(&other[weight], &other[last]); /* runs, but zb-h1 takes the older first */
    assert_string_equal(broken(&f, &err), "order");
    assert_non_null(strstr(err.text, "zb-h1 has W of chunk 1 on stage 1 here"));
    swap(&other[weight], &other[last]);
    f.plan.pipelines[0].op_count[0]--;
    assert_string_equal(broken(&f, &err), "schedule");
    f.plan.pipelines[0].op_count[0]++;
    f.plan.predicted.stages[1].peak_memory_bytes++;
    assert_string_equal(broken(&f, &err), "prediction");
    fixture_plan_dispose(&f);
}

static void offloaded_activations_come_back_in_time(void **state)
{
    (void)state;
    plan_fixture f;
    lcp_error err;
    build(&f, "offload-full", 1);
    /* a transfer of chunk 0 by hand: F0 O0 F1 B1 L0 B0 */
    lcp_schedule *p = &f.plan.pipelines[0];
    lcp_op by_hand[] = {{.kind = LCP_OP_FORWARD},
                        {.kind = LCP_OP_OFFLOAD},
                        {.kind = LCP_OP_FORWARD, .chunk = 1},
                        {.kind = LCP_OP_BACKWARD, .chunk = 1},
                        {.kind = LCP_OP_RELOAD},
                        {.kind = LCP_OP_BACKWARD}};
    free(p->ops[0]);
    p->ops[0] = malloc(sizeof by_hand);
    memcpy(p->ops[0], by_hand, sizeof by_hand);
    p->op_count[0] = 6;
    take_prediction(&f);
    assert_holds(&f);
    swap(&p->ops[0][4], &p->ops[0][5]);
    assert_string_equal(broken(&f, &err), "schedule");
    assert_non_null(strstr(err.text, "in host memory"));
    swap(&p->ops[0][4], &p->ops[0][5]);
    p->ops[0][4].kind = LCP_OP_RECOMPUTE; /* still away */
    assert_string_equal(broken(&f, &err), "schedule");
    fixture_plan_dispose(&f);
}

/* The V has its second stages on the ranks in reverse; looped plans do not. */
static void placement_follows_the_schedule(void **state)
{
    (void)state;
    plan_fixture f;
    lcp_error err;
    build(&f, "zb-v", 2);
    f.plan.stages[2].pp = 0;
    f.plan.stages[3].pp = 1;
    assert_string_equal(broken(&f, &err), "stages");
    fixture_plan_dispose(&f);
    build(&f, "zb-h1", 1);
    snprintf(f.plan.schedule_name, sizeof f.plan.schedule_name, "zb-v");
    assert_string_equal(broken(&f, &err), "order");
    assert_non_null(strstr(err.text, "two virtual stages"));
    fixture_plan_dispose(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_of_the_table_hold),
        cmocka_unit_test(broken_splits_are_found),
        cmocka_unit_test(offloaded_activations_come_back_in_time),
        cmocka_unit_test(placement_follows_the_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
