/* Verification of a plan that holds, and of broken schedules, recompute counts, predictions and bounds. */
#include "support.h"
#include "verify_fixture.h"

#include "verify/verify.h"

#include <math.h>
#include <stdio.h>

static void a_whole_plan_holds(void **state)
{
    (void)state;
    plan_fixture f;
    lcp_error err = {0};
    verify_fixture(&f);
    if (lcp_verify(&f.plan, &f.problem, &err) != LCP_OK) {
        fail_msg("%s: %s", err.where, err.text);
    }
    f.plan.predicted.iteration_seconds *= 1 + 1e-11;
    assert_int_equal(lcp_verify(&f.plan, &f.problem, NULL), LCP_OK);
    fixture_plan_dispose(&f);
}

static void breakdown_sums_to_the_iteration(void **state)
{
    (void)state;
    plan_fixture f;
    verify_fixture(&f);
    const lcp_breakdown *b = &f.plan.predicted.breakdown;
    double sum = b->compute + b->recompute + b->exposed_tp + b->exposed_cp + b->exposed_pp + b->exposed_ep +
                 b->exposed_dp + b->optimizer + b->bubble;
    assert_close(sum, f.plan.predicted.iteration_seconds, 1e-12);
    assert_true(b->recompute > 0 && b->exposed_tp > 0 && b->exposed_pp > 0 && b->bubble > 0);
    for (int32_t s = 0; s < f.plan.stage_count; s++) {
        const lcp_memory_terms *m = &f.plan.predicted.stages[s].memory;
        assert_int_equal(m->parameters + m->gradients + m->optimizer + m->activations + m->kv + m->logits + m->buffers +
                             m->versions + m->reserve,
                         f.plan.predicted.stages[s].peak_memory_bytes);
    }
    fixture_plan_dispose(&f);
}

static lcp_segment *segment(plan_fixture *f, int32_t index)
{
    return &f->plan.segments[index];
}

static lcp_op *op(plan_fixture *f, int32_t dp, int32_t rank, int32_t index)
{
    return &f->plan.pipelines[dp].ops[rank][index];
}

static void missing_rank(plan_fixture *f)
{
    f->plan.pipelines[1].rank_count = 1;
}
static void unknown_pass(plan_fixture *f)
{
    op(f, 0, 0, 1)->kind = LCP_OP_WEIGHT_GRAD;
}
static void chunk_of_another(plan_fixture *f)
{
    op(f, 1, 0, 0)->chunk = 1;
}
static void chunk_out_of_range(plan_fixture *f)
{
    op(f, 1, 1, 1)->chunk = 3;
}
static void stage_of_another(plan_fixture *f)
{
    op(f, 0, 1, 0)->stage = 0;
}
static void forward_twice(plan_fixture *f)
{
    op(f, 0, 0, 1)->chunk = 0;
}
static void backward_missing(plan_fixture *f)
{
    f->plan.pipelines[0].op_count[0] = 3;
}
static void slices_forward_backwards(plan_fixture *f)
{
    op(f, 0, 0, 0)->chunk = 1;
    op(f, 0, 0, 1)->chunk = 0;
}
static void slices_backward_forwards(plan_fixture *f)
{
    op(f, 0, 1, 2)->chunk = 0;
    op(f, 0, 1, 3)->chunk = 1;
}
static void backward_first(plan_fixture *f)
{
    op(f, 1, 1, 0)->kind = LCP_OP_BACKWARD;
    op(f, 1, 1, 1)->kind = LCP_OP_FORWARD;
}

static lcp_chunk_recompute *entry(plan_fixture *f, int32_t index)
{
    return &f->plan.chunks[0].recompute[index];
}
static void more_layers_than_stage(plan_fixture *f)
{
    entry(f, 0)->layers = 3;
}
static void layers_of_two_entries(plan_fixture *f)
{
    *entry(f, 1) = *entry(f, 0);
    entry(f, 1)->policy = LCP_RECOMPUTE_MLP;
    entry(f, 1)->layers = 1;
}
static void named_twice(plan_fixture *f)
{
    entry(f, 0)->layers = 1;
    *entry(f, 1) = *entry(f, 0);
}
static void class_not_on_stage(plan_fixture *f)
{
    entry(f, 1)->layer_class = 0;
}
static void unknown_stage(plan_fixture *f)
{
    entry(f, 1)->stage = 2;
}
static void unknown_class(plan_fixture *f)
{
    entry(f, 0)->layer_class = 2;
}
static void keeps_all(plan_fixture *f)
{
    entry(f, 0)->policy = LCP_RECOMPUTE_NONE;
}
static void no_layer(plan_fixture *f)
{
    entry(f, 0)->layers = 0;
}

static void other_degree(plan_fixture *f)
{
    f->problem.options.pp = (lcp_degree){.count = 2, .values = {1, 4}};
}
static void other_zero_stage(plan_fixture *f)
{
    f->problem.options.zero_stage = 3;
}
static void other_schedule(plan_fixture *f)
{
    snprintf(f->problem.options.schedule, sizeof f->problem.options.schedule, "1f1b");
}
static void cut_against_option(plan_fixture *f)
{
    f->problem.options.slicing = false;
}
static void slice_too_short(plan_fixture *f)
{
    f->problem.options.min_slice_tokens = 2561;
}
static void recompute_against_option(plan_fixture *f)
{
    f->problem.options.recompute = LCP_RECOMPUTE_MODE_NONE;
}
static void full_is_not_selective(plan_fixture *f)
{
    f->problem.options.recompute = LCP_RECOMPUTE_MODE_SELECTIVE;
}
static void not_all_full(plan_fixture *f)
{
    f->problem.options.recompute = LCP_RECOMPUTE_MODE_FULL;
    f->plan.chunks[0].recompute_count = 1;
}
static void unequal_stages(plan_fixture *f)
{
    f->problem.options.equal_layers = true;
}
static void two_policies(plan_fixture *f)
{
    f->problem.options.uniform_recompute = true;
}
static void one_stage_only(plan_fixture *f)
{
    f->problem.options.uniform_recompute = true;
    f->plan.chunks[0].recompute_count = 1;
}

static void small_device(plan_fixture *f)
{
    f->problem.cluster.groups[0].device.memory_bytes = 1000000000;
}
static void one_byte_less(plan_fixture *f)
{
    f->plan.predicted.stages[0].peak_memory_bytes--;
}
static void byte_in_another_term(plan_fixture *f)
{
    f->plan.predicted.stages[1].memory.kv++;
    f->plan.predicted.stages[1].memory.activations--;
}
static void less_busy(plan_fixture *f)
{
    f->plan.predicted.stages[1].busy_seconds *= 1 - 1e-6;
}
static void recompute_for_free(plan_fixture *f)
{
    f->plan.chunks[0].recompute_count = 0;
}
static void pack_for_free(plan_fixture *f)
{
    f->problem.workload.lengths_tokens[2] -= 2;
    segment(f, 3)->length_tokens -= 2;
}

static void bound_above(plan_fixture *f)
{
    f->plan.certificate.lower_bound_seconds *= 1.5;
}
static void bound_zero(plan_fixture *f)
{
    f->plan.certificate.lower_bound_seconds = 0;
}
static void bound_not_a_number(plan_fixture *f)
{
    f->plan.certificate.lower_bound_seconds = (double)NAN;
}
static void gap_flattered(plan_fixture *f)
{
    f->plan.certificate.gap_ratio = 0.02;
}

static const damage damages[] = {
    {"schedule", "$.schedule.pipelines[1].ranks", missing_rank},
    {"schedule", "$.schedule.pipelines[0].ranks[0].ops[1]", unknown_pass},
    {"schedule", "$.schedule.pipelines[1].ranks[0].ops[0]", chunk_of_another},
    {"schedule", "$.schedule.pipelines[1].ranks[1].ops[1]", chunk_out_of_range},
    {"schedule", "$.schedule.pipelines[0].ranks[1].ops[0]", stage_of_another},
    {"schedule", "$.schedule.pipelines[0].ranks[0].ops[1]", forward_twice},
    {"schedule", "$.schedule", backward_missing},
    {"schedule", "$.schedule.pipelines[0].ranks[0].ops[0]", slices_forward_backwards},
    {"schedule", "$.schedule.pipelines[0].ranks[0].ops[2]", slices_backward_forwards},
    {"schedule", "$.schedule.pipelines[1].ranks[0].ops[1]", backward_first},
    {"recompute", "$.chunks[0].recompute[0]", more_layers_than_stage},
    {"recompute", "$.chunks[0].recompute[1]", layers_of_two_entries},
    {"recompute", "$.chunks[0].recompute[1]", named_twice},
    {"recompute", "$.chunks[0].recompute[1]", class_not_on_stage},
    {"recompute", "$.chunks[0].recompute[1]", unknown_stage},
    {"recompute", "$.chunks[0].recompute[0]", unknown_class},
    {"recompute", "$.chunks[0].recompute[0]", keeps_all},
    {"recompute", "$.chunks[0].recompute[0]", no_layer},
    {"options", "$.parallelism.pp", other_degree},
    {"options", "$.parallelism.zero_stage", other_zero_stage},
    {"options", "$.schedule.name", other_schedule},
    {"options", "$.chunks[0].segments[0]", cut_against_option},
    {"options", "$.chunks[0].segments[0]", slice_too_short},
    {"options", "$.chunks[0].recompute[0]", recompute_against_option},
    {"options", "$.chunks[0].recompute[0]", full_is_not_selective},
    {"options", "$.chunks[0].recompute", not_all_full},
    {"options", "$.stages", unequal_stages},
    {"options", "$.chunks[0].recompute[1]", two_policies},
    {"options", "$.chunks[0].recompute", one_stage_only},
    {"prediction", "$.predicted.stages[0].peak_memory_bytes", small_device},
    {"prediction", "$.predicted.stages[0].peak_memory_bytes", one_byte_less},
    {"prediction", "$.predicted.stages[1].memory_bytes", byte_in_another_term},
    {"prediction", "$.predicted.stages[1].busy_seconds", less_busy},
    {"prediction", "", recompute_for_free},
    {"prediction", "", pack_for_free},
    {"certificate", "$.certificate.lower_bound_seconds", bound_above},
    {"certificate", "$.certificate.lower_bound_seconds", bound_zero},
    {"certificate", "$.certificate.lower_bound_seconds", bound_not_a_number},
    {"certificate", "$.certificate.gap_ratio", gap_flattered},
};

static void every_rule_finds_what_breaks_it(void **state)
{
    (void)state;
    assert_found(damages, sizeof damages / sizeof damages[0]);
}

/* Every number of the prediction, off by a millionth of the iteration or not a number. */
static void no_number_can_be_flattered(void **state)
{
    (void)state;
    static const struct {
        const char *where;
        size_t offset;
    } numbers[] = {
        {"iteration_seconds", offsetof(lcp_prediction, iteration_seconds)},
        {"tokens_per_second_per_device", offsetof(lcp_prediction, tokens_per_second_per_device)},
        {"mfu_ratio", offsetof(lcp_prediction, mfu_ratio)},
        {"bubble_ratio", offsetof(lcp_prediction, bubble_ratio)},
        {"breakdown_seconds.compute", offsetof(lcp_prediction, breakdown.compute)},
        {"breakdown_seconds.recompute", offsetof(lcp_prediction, breakdown.recompute)},
        {"breakdown_seconds.exposed_tp", offsetof(lcp_prediction, breakdown.exposed_tp)},
        {"breakdown_seconds.exposed_cp", offsetof(lcp_prediction, breakdown.exposed_cp)},
        {"breakdown_seconds.exposed_pp", offsetof(lcp_prediction, breakdown.exposed_pp)},
        {"breakdown_seconds.exposed_ep", offsetof(lcp_prediction, breakdown.exposed_ep)},
        {"breakdown_seconds.exposed_dp", offsetof(lcp_prediction, breakdown.exposed_dp)},
        {"breakdown_seconds.optimizer", offsetof(lcp_prediction, breakdown.optimizer)},
        {"breakdown_seconds.bubble", offsetof(lcp_prediction, breakdown.bubble)},
    };
    for (size_t i = 0; i < 2 * sizeof numbers / sizeof numbers[0]; i++) {
        plan_fixture f;
        lcp_error err = {0};
        char where[128];
        verify_fixture(&f);
        size_t n = i / 2;
        double *number = (void *)((char *)&f.plan.predicted + numbers[n].offset);
        *number = i % 2 == 0 ? *number + 1e-6 * fmax(*number, f.plan.predicted.iteration_seconds) : (double)NAN;
        snprintf(where, sizeof where, "$.predicted.%s", numbers[n].where);
        assert_int_equal(lcp_verify(&f.plan, &f.problem, &err), LCP_FALSE);
        assert_string_equal(err.where, where);
        fixture_plan_dispose(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_plan_holds),
        cmocka_unit_test(breakdown_sums_to_the_iteration),
        cmocka_unit_test(every_rule_finds_what_breaks_it),
        cmocka_unit_test(no_number_can_be_flattered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
