#include "json_case.h"
#include "plan_fixture.h"

#include <stdlib.h>
#include <string.h>

static json_case cases[] = {
    {"[]", "t: $", "found an array of 0 elements, expected an object"},
    {"{'dq': 1}", "t: $.dq",
     "unknown key, expected one of: dp, pp, vpp, tp, ulysses, ring, ep, zero_stage, training, schedule, ..."},
    {"{'dp': 0}", "t: $.dp", "found 0, expected an integer in [1, 1048576]"},
    {"{'dp': 'all'}", "t: $.dp", "found \"all\", expected an array of 1 to 32 elements"},
    {"{'tp': []}", "t: $.tp", "found an array of 0 elements, expected an array of 1 to 32 elements"},
    {"{'tp': [1, 2, 2]}", "t: $.tp[2]", "found 2, expected an integer in [3, 1048576]"},
    {"{'ring': [1.5]}", "t: $.ring[0]", "found 1.5, expected an integer in [1, 1048576]"},
    {"{'zero_stage': 4}", "t: $.zero_stage", "found 4, expected an integer in [0, 3]"},
    {"{'zero_stage': -1}", "t: $.zero_stage", "found -1, expected an integer in [0, 3]"},
    {"{'schedule': 'a schedule with a name of more than 31 bytes'}", "t: $.schedule",
     "found a string of 44 bytes, expected at most 31"},
    {"{'recompute': 'some'}", "t: $.recompute", "found \"some\", expected one of: auto, none, selective, full, block"},
    {"{'slicing': 1}", "t: $.slicing", "found 1, expected true or false"},
    {"{'min_slice_tokens': 0}", "t: $.min_slice_tokens", "found 0, expected an integer in [1, 2147483647]"},
    {"{'gap_ratio': 1.5}", "t: $.gap_ratio", "found 1.5, expected a number in [0, 1]"},
    {"{'threads': -1}", "t: $.threads", "found -1, expected an integer in [0, 4096]"},
    {"{'max_candidates': -1}", "t: $.max_candidates", "found -1, expected an integer of at least 0"},
    {"{'time_limit_seconds': -1}", "t: $.time_limit_seconds", "found -1, expected a number in [0, 1e+09]"},
    {"{'training': 'bf16'}", "t: $.training", "found \"bf16\", expected an object"},
    {"{'training': {'precise': 1}}", "t: $.training.precise", "unknown key, expected one of: precision, ..."},
    {"{'training': {'precision': 'tf32'}}", "t: $.training.precision",
     "found \"tf32\", expected one of: bf16, fp16, fp32, fp8, fp4"},
    {"{'training': {'optimizer': 'lion'}}", "t: $.training.optimizer",
     "found \"lion\", expected one of: adam, sgd, muon"},
    {"{'training': {'loss': 'x'}}", "t: $.training.loss",
     "found \"x\", expected one of: eager, fused, chunked, vocab-parallel, fused-linear"},
    {"{'training': {'gradient_bytes': 3}}", "t: $.training.gradient_bytes", "found 3, expected 2 or 4"},
    {"{'training': {'gradient_bytes': 8}}", "t: $.training.gradient_bytes", "found 8, expected an integer in [2, 4]"},
    {"{'training': {'kv_gradient_bytes': 3}}", "t: $.training.kv_gradient_bytes", "found 3, expected 2 or 4"},
    {"{'training': {'expert_imbalance': 0.5}}", "t: $.training.expert_imbalance",
     "found 0.5, expected a number in [1, 1000000]"},
    {"{'training': {'dp_overlap_ratio': 2}}", "t: $.training.dp_overlap_ratio", "found 2, expected a number in [0, 1]"},
};

static void refusal_says_why(void **state)
{
    const json_case *c = *state;
    lcp_options options;
    lcp_error err = {0};
    json_t *root = json_of(c->document);
    assert_int_equal(lcp_options_from_json(&options, root, "t", &err), LCP_INPUT);
    assert_error(&err, c->where, c->text);
    json_decref(root);
}

static void empty_document_is_the_default(void **state)
{
    (void)state;
    lcp_options options;
    json_t *root = json_of("{}");
    assert_int_equal(lcp_options_from_json(&options, root, "t", NULL), LCP_OK);
    lcp_options preset = lcp_options_default();
    json_t *a = lcp_options_to_json(&options);
    json_t *b = lcp_options_to_json(&preset);
    assert_true(json_equal(a, b));
    assert_int_equal(preset.zero_stage, -1);
    assert_string_equal(preset.schedule, "auto");
    assert_true(preset.slicing);
    assert_close(preset.gap_ratio, 0.02, 0);
    json_decref(a);
    json_decref(b);
    json_decref(root);
}

/* Every key of the document differs from its default, so a field that is not read or not written is seen. */
static void every_field_reads_back(void **state)
{
    (void)state;
    json_t *root = json_of(
        "{'dp': [1, 2], 'pp': [2], 'vpp': [3], 'tp': [4, 8], 'ulysses': [5], 'ring': [6], 'ep': [7], 'zero_stage': 2, "
        "'schedule': '1f1b', 'recompute': 'selective', 'slicing': false, 'uniform_recompute': true, 'equal_layers': "
        "true, 'equal_chunks': true, 'trainer': 'nemo@2', 'min_slice_tokens': 77, 'gap_ratio': 0.25, 'threads': 3, "
        "'max_candidates': 9, 'time_limit_seconds': "
        "1.5, 'training': {'precision': 'fp8', 'optimizer': 'muon', 'loss': 'chunked', 'gradient_bytes': 2, "
        "'kv_gradient_bytes': 2, 'expert_imbalance': 1.5, 'dp_overlap_ratio': 0.25, 'tp_overlap_ratio': 0.75, "
        "'tp_grad_overlap_ratio': 0.375, 'ep_overlap_ratio': 0.125, 'zero_overlap_ratio': 0.5, 'attention_core': "
        "'unfused', 'dropout': true, "
        "'mla_keeps_expanded_kv': false}}");
    lcp_options options;
    assert_int_equal(lcp_options_from_json(&options, root, "t", NULL), LCP_OK);
    json_t *again = lcp_options_to_json(&options);
    assert_true(json_equal(root, again));
    lcp_options preset = lcp_options_default();
    json_t *defaults = lcp_options_to_json(&preset);
    assert_int_equal(json_object_size(defaults), json_object_size(root));
    for (void *i = json_object_iter(root); i != NULL; i = json_object_iter_next(root, i)) {
        assert_false(json_equal(json_object_iter_value(i), json_object_get(defaults, json_object_iter_key(i))));
    }
    json_t *training = json_object_get(root, "training");
    json_t *preset_training = json_object_get(defaults, "training");
    for (void *i = json_object_iter(training); i != NULL; i = json_object_iter_next(training, i)) {
        assert_false(json_equal(json_object_iter_value(i), json_object_get(preset_training, json_object_iter_key(i))));
    }
    json_decref(root);
    json_decref(again);
    json_decref(defaults);
}

static void a_degree_may_be_one_number(void **state)
{
    (void)state;
    json_t *root = json_of("{'tp': 8, 'pp': 'auto', 'zero_stage': 'auto'}");
    lcp_options options;
    assert_int_equal(lcp_options_from_json(&options, root, "t", NULL), LCP_OK);
    assert_int_equal(options.tp.count, 1);
    assert_int_equal(options.tp.values[0], 8);
    assert_int_equal(options.pp.count, 0);
    json_decref(root);
}

static void problems_are_checked_across_inputs(void **state)
{
    (void)state;
    plan_fixture f;
    lcp_error err = {0};
    fixture_plan(&f);
    assert_int_equal(lcp_problem_check(&f.problem, NULL), LCP_OK);
    f.problem.model.learned_positions = true;
    f.problem.model.max_position_tokens = 4095;
    assert_int_equal(lcp_problem_check(&f.problem, &err), LCP_INPUT);
    assert_error(&err, "workload",
                 "sequence 0 has 4096 tokens, expected at most 4095: model \"two kinds\" has a learned table of that "
                 "many positions");
    f.problem.model.max_position_tokens = 4096;
    assert_int_equal(lcp_problem_check(&f.problem, NULL), LCP_OK);
    f.problem.options.training.precision = LCP_PRECISION_FP8;
    assert_int_equal(lcp_problem_check(&f.problem, NULL), LCP_OK);
    f.problem.cluster.groups[0].device.peak_fp8_flops_per_second = 0;
    err = (lcp_error){0};
    assert_int_equal(lcp_problem_check(&f.problem, &err), LCP_INPUT);
    assert_error(&err, "--precision", "found fp8, expected one that device \"H100-SXM5-80GB\" has: bf16, fp16, fp32");
    fixture_plan_dispose(&f);
}

static void kinds_of_devices_do_not_mix(void **state)
{
    (void)state;
    json_t *root =
        json_of("{'format': 'lcplan.cluster/1', 'groups': [{'device': 'h100-sxm', 'nodes': 1, 'devices_per_node': 8}, "
                "{'device': 'h200', 'nodes': 1, 'devices_per_node': 8}]}");
    plan_fixture f;
    lcp_error err = {0};
    fixture_plan(&f);
    lcp_cluster_dispose(&f.problem.cluster);
    assert_int_equal(lcp_cluster_from_json(&f.problem.cluster, root, "t", NULL), LCP_OK);
    assert_int_equal(lcp_problem_check(&f.problem, &err), LCP_INPUT);
    assert_error(&err, "cluster",
                 "found groups of \"H100-SXM5-80GB\" and of \"H200-SXM-141GB\", expected one kind of device in all "
                 "groups");
    fixture_plan_dispose(&f);
    json_decref(root);
}

#define CASES (sizeof cases / sizeof cases[0])

int main(void)
{
    static struct CMUnitTest refusals[CASES];
    for (size_t i = 0; i < CASES; i++) {
        refusals[i] = (struct CMUnitTest){cases[i].document, refusal_says_why, NULL, NULL, &cases[i]};
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_document_is_the_default), cmocka_unit_test(every_field_reads_back),
        cmocka_unit_test(a_degree_may_be_one_number),    cmocka_unit_test(problems_are_checked_across_inputs),
        cmocka_unit_test(kinds_of_devices_do_not_mix),
    };
    int failed = cmocka_run_group_tests(refusals, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
