/* Profiles: read and written, applied, chosen; what is refused where. */
#include "json_case.h"

#include "input/profile.h"

#include <stdlib.h>
#include <string.h>

#define HEAD "'format': 'lcplan.profile/1', 'name': 'n', 'device': 'A100-SXM4-80GB'"

static const json_case bad[] = {
    {"{}", "t: $.format", "..."},
    {"{'format': 'lcplan.profile/2', 'name': 'n', 'device': 'd', 'parameters': {}}", "t: $.format", "..."},
    {"{'format': 'lcplan.profile/1', 'device': 'A100-SXM4-80GB', 'parameters': {}}", "t: $.name", "..."},
    {"{'format': 'lcplan.profile/1', 'name': 'n', 'device': 'Abacus', 'parameters': {}}", "t: $.device",
     "found \"Abacus\", expected a device of 'lcplan list devices'"},
    {"{" HEAD "}", "t: $.parameters", "..."},
    {"{" HEAD ", 'parameters': []}", "t: $.parameters", "..."},
    {"{" HEAD ", 'colour': 1, 'parameters': {}}", "t: $.colour", "..."},
    {"{" HEAD ", 'parameters': {'speed': 1}}", "t: $.parameters.speed", "..."},
    {"{" HEAD ", 'parameters': {'matmul_ratio': {'value': 1, 'unti': ''}}}", "t: $.parameters.matmul_ratio.unti",
     "..."},
    {"{" HEAD ", 'parameters': {'matmul_ratio': {'error': 1}}}", "t: $.parameters.matmul_ratio.value", "..."},
    {"{" HEAD ", 'parameters': {'matmul_ratio': 1.01}}", "t: $.parameters.matmul_ratio",
     "found 1.01, expected a number in [0.1, 1]"},
    {"{" HEAD ", 'parameters': {'matmul_ratio': {'value': 0.05}}}", "t: $.parameters.matmul_ratio.value", "..."},
    {"{" HEAD ", 'parameters': {'matmul_ratio': {'value': 0.5, 'error': -1}}}", "t: $.parameters.matmul_ratio.error",
     "..."},
    {"{" HEAD ", 'parameters': {'matmul_ratio': '0.5'}}", "t: $.parameters.matmul_ratio", "..."},
    {"{" HEAD ", 'parameters': {}, 'gradient_bytes': 3}", "t: $.gradient_bytes", "found 3, expected 2 or 4"},
    {"{" HEAD ", 'parameters': {}, 'gradient_bytes': 8}", "t: $.gradient_bytes", "..."},
    {"{" HEAD ", 'parameters': {}, 'zero_stage': 4}", "t: $.zero_stage", "..."},
    {"{" HEAD ", 'parameters': {}, 'loss': 'big'}", "t: $.loss", "..."},
    {"{" HEAD ", 'parameters': {}, 'attention_core': 'quick'}", "t: $.attention_core", "..."},
    {"{" HEAD ", 'parameters': {}, 'frameworks': 'x'}", "t: $.frameworks", "..."},
    {"{" HEAD ", 'parameters': {}, 'frameworks': ['a', 2]}", "t: $.frameworks[1]", "..."},
    {"{" HEAD ", 'parameters': {}, 'devices': ['']}", "t: $.devices[0]", "found 0 characters, expected 1 to 63"},
    {"{" HEAD ", 'parameters': {}, 'frameworks': ['1','2','3','4','5','6','7','8','9','10','11','12','13','14','15',"
     "'16','17']}",
     "t: $.frameworks", "..."},
};

/* The beginning of a message is free where a case says "...". */
static void is_refused(void **state)
{
    const json_case *c = *state;
    lcp_profile profile;
    lcp_error err = {0};
    json_t *root = json_of(c->document);
    assert_int_equal(lcp_profile_from_json(&profile, root, "t", &err), LCP_INPUT);
    json_decref(root);
    assert_string_equal(err.where, c->where);
    if (strcmp(c->text, "...") != 0) {
        assert_error(&err, c->where, c->text);
    }
}

static lcp_profile read(const char *document)
{
    lcp_profile profile;
    lcp_error err = {0};
    json_t *root = json_of(document);
    if (lcp_profile_from_json(&profile, root, "t", &err) != LCP_OK) {
        fail_msg("%s: %s", err.where, err.text);
    }
    json_decref(root);
    return profile;
}

static void least_profile(void **state)
{
    (void)state;
    lcp_profile p = read("{" HEAD ", 'parameters': {'network_ratio': 0.5, 'tp_overlap_ratio': {'value': 0.25}}}");
    assert_true(p.sixteen_bit && !p.dropout);
    assert_int_equal(p.loss, LCP_LOSS_FUSED);
    assert_int_equal(p.gradient_bytes, 4);
    assert_int_equal(p.zero_stage, 0);
    assert_int_equal(p.frameworks.count + p.devices.count, 0);
    assert_string_equal(p.recompute, "");
    for (int32_t i = 0; i < LCP_PARAMETER_COUNT; i++) {
        bool given = i == LCP_PARAMETER_NETWORK_RATIO || i == LCP_PARAMETER_TP_OVERLAP;
        assert_int_equal(p.values[i].given, given);
    }
    assert_close(p.values[LCP_PARAMETER_NETWORK_RATIO].value, 0.5, 0);
    assert_close(p.values[LCP_PARAMETER_TP_OVERLAP].value, 0.25, 0);
}

/* Every parameter at both ends of its range. */
static void ranges(void **state)
{
    (void)state;
    for (int32_t i = 0; i < LCP_PARAMETER_COUNT; i++) {
        const lcp_parameter_row *row = &lcp_parameter_rows[i];
        const double ends[] = {row->low, row->high};
        for (int32_t e = 0; e < 2; e++) {
            char document[512];
            snprintf(document, sizeof document, "{" HEAD ", 'parameters': {'%s': {'value': %.17g, 'error': 0.5}}}",
                     row->name, ends[e]);
            lcp_profile p = read(document);
            assert_true(p.values[i].given);
            assert_close(p.values[i].value, ends[e], 0);
            lcp_device device = {0};
            lcp_training training = {0};
            lcp_profile_apply(&p, &device, &training);
            assert_close(lcp_parameter_get((lcp_parameter)i, &device, &training), ends[e], 0);
        }
        assert_true(row->low < row->high && row->spread > 0 && row->name[0] != '\0' && row->help[0] != '\0');
    }
}

/* A parameter has a place of its own. */
static void places(void **state)
{
    (void)state;
    for (int32_t i = 0; i < LCP_PARAMETER_COUNT; i++) {
        lcp_device device = {0};
        lcp_training training = {0};
        lcp_parameter_set((lcp_parameter)i, lcp_parameter_rows[i].high, &device, &training);
        for (int32_t j = 0; j < LCP_PARAMETER_COUNT; j++) {
            double expected = i == j ? lcp_parameter_rows[i].high : 0;
            assert_close(lcp_parameter_get((lcp_parameter)j, &device, &training), expected, 0);
        }
    }
}

static void assert_same(const lcp_profile *a, const lcp_profile *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->device, b->device);
    assert_string_equal(a->stack, b->stack);
    assert_string_equal(a->provenance, b->provenance);
    assert_string_equal(a->offload, b->offload);
    assert_string_equal(a->recompute, b->recompute);
    assert_int_equal(a->sixteen_bit, b->sixteen_bit);
    assert_int_equal(a->attention_core, b->attention_core);
    assert_int_equal(a->dropout, b->dropout);
    assert_int_equal(a->loss, b->loss);
    assert_int_equal(a->gradient_bytes, b->gradient_bytes);
    assert_int_equal(a->zero_stage, b->zero_stage);
    assert_int_equal(a->frameworks.count, b->frameworks.count);
    assert_int_equal(a->devices.count, b->devices.count);
    for (int32_t i = 0; i < a->frameworks.count; i++) {
        assert_string_equal(a->frameworks.words[i], b->frameworks.words[i]);
    }
    for (int32_t i = 0; i < a->devices.count; i++) {
        assert_string_equal(a->devices.words[i], b->devices.words[i]);
    }
    for (int32_t i = 0; i < LCP_PARAMETER_COUNT; i++) {
        assert_int_equal(a->values[i].given, b->values[i].given);
        assert_close(a->values[i].value, b->values[i].value, 0);
        assert_close(a->values[i].error, b->values[i].error, 0);
    }
}

static void round_trip(void **state)
{
    (void)state;
    lcp_profile p = read("{" HEAD ", 'stack': 's', 'provenance': 'p', 'sixteen_bit': false, 'attention_core': "
                         "'unfused', 'dropout': true, 'loss': 'vocab-parallel', 'gradient_bytes': 2, 'zero_stage': 3, "
                         "'recompute': 'full:block:2', 'offload': 'cpu', 'frameworks': ['A', 'B c'], 'devices': "
                         "['H100-SXM5-80GB'], 'parameters': {'matmul_ratio': {'value': 0.7, 'error': 0.01}, "
                         "'fixed_memory_bytes': 1234567890, 'hop_overhead_seconds': 0}}");
    json_t *root = lcp_profile_to_json(&p);
    lcp_profile again;
    assert_non_null(root);
    assert_int_equal(lcp_profile_from_json(&again, root, "t", NULL), LCP_OK);
    json_decref(root);
    assert_same(&again, &p);
}

static void shipped_profiles(void **state)
{
    (void)state;
    lcp_profile *profiles = NULL;
    size_t count = 0;
    lcp_error err = {0};
    if (lcp_profiles_load(&profiles, &count, &err) != LCP_OK) {
        fail_msg("%s: %s", err.where, err.text);
    }
    assert_true(count >= 10 && count == lcp_profile_count());
    for (size_t i = 0; i < count; i++) {
        const lcp_profile *p = &profiles[i];
        lcp_device device;
        lcp_training training = lcp_training_default();
        assert_string_equal(p->name, lcp_profile_name_at(i));
        assert_true(i == 0 || strcmp(profiles[i - 1].name, p->name) < 0);
        assert_true(lcp_device_find(&device, p->device));
        lcp_profile_apply(p, &device, &training);
        for (int32_t v = 0; v < LCP_PARAMETER_COUNT; v++) {
            double value = lcp_parameter_get((lcp_parameter)v, &device, &training);
            double floor = v == LCP_PARAMETER_FIXED_MEMORY ? 1 : 0; /* whole bytes */
            assert_true(!p->values[v].given || value >= p->values[v].value * (1 - 1e-12) - floor);
        }
        for (int32_t d = 0; d < p->devices.count; d++) {
            assert_true(lcp_device_find(&device, p->devices.words[d]));
        }
        lcp_profile one;
        assert_int_equal(lcp_read_profile(&one, p->name, NULL), LCP_OK);
        assert_same(&one, p);
        /* A run of its own device and first framework gets it, or one that suits as well. */
        const char *framework = p->frameworks.count > 0 ? p->frameworks.words[0] : "";
        const lcp_profile *chosen = lcp_profile_choose(profiles, count, p->device, framework, p->sixteen_bit);
        assert_non_null(chosen);
        assert_true(lcp_profile_suits(chosen, p->device, framework, p->sixteen_bit) >=
                    lcp_profile_suits(p, p->device, framework, p->sixteen_bit));
    }
    free(profiles);
}

static void unknown_names(void **state)
{
    (void)state;
    lcp_profile p;
    lcp_error err = {0};
    assert_int_equal(lcp_read_profile(&p, "nobody", &err), LCP_USAGE);
    assert_string_equal(err.text, "unknown profile 'nobody'; 'lcplan list profiles' names them");
    err = (lcp_error){0};
    assert_int_equal(lcp_read_profile(&p, "no/such.json", &err), LCP_IO);
    assert_string_equal(err.where, "no/such.json");
}

static void what_suits(void **state)
{
    (void)state;
    const lcp_profile any = {.device = "A", .sixteen_bit = true};
    const lcp_profile mega = {.device = "A", .devices = {1, {"B"}}, .sixteen_bit = true, .frameworks = {1, {"Mega"}}};
    const lcp_profile core = {.device = "B", .sixteen_bit = true, .frameworks = {2, {"Mega-Core", "Other"}}};
    const lcp_profile eight = {.device = "A", .sixteen_bit = false};
    assert_int_equal(lcp_profile_suits(&any, "C", "", true), 0);
    assert_int_equal(lcp_profile_suits(&any, "A", "", false), 0);
    assert_true(lcp_profile_suits(&any, "A", "", true) > 0);
    assert_int_equal(lcp_profile_suits(&mega, "A", "", true), 0);
    assert_int_equal(lcp_profile_suits(&mega, "A", "Meg", true), 0);
    assert_true(lcp_profile_suits(&mega, "A", "some mega thing", true) > 0);
    assert_true(lcp_profile_suits(&mega, "A", "Mega-Core", true) > lcp_profile_suits(&any, "A", "Mega-Core", true));
    assert_true(lcp_profile_suits(&mega, "A", "Mega", true) > lcp_profile_suits(&mega, "B", "Mega", true));
    assert_true(lcp_profile_suits(&mega, "B", "Mega", true) > 0);
    const lcp_profile list[] = {any, mega, core, eight, any};
    assert_ptr_equal(lcp_profile_choose(list, 5, "A", "", true), &list[0]); /* the first of equals */
    assert_ptr_equal(lcp_profile_choose(list, 5, "A", "Mega 2", true), &list[1]);
    assert_ptr_equal(lcp_profile_choose(list, 5, "B", "Mega-Core 0.9", true), &list[2]);
    assert_ptr_equal(lcp_profile_choose(list, 5, "B", "Mega-LM", true), &list[1]);
    assert_ptr_equal(lcp_profile_choose(list, 5, "A", "Mega", false), &list[3]);
    assert_null(lcp_profile_choose(list, 5, "B", "", true));
    assert_null(lcp_profile_choose(list, 0, "A", "", true));
}

#define BAD (sizeof bad / sizeof bad[0])

int main(void)
{
    const struct CMUnitTest plain[] = {
        cmocka_unit_test(least_profile), cmocka_unit_test(ranges),           cmocka_unit_test(places),
        cmocka_unit_test(round_trip),    cmocka_unit_test(shipped_profiles), cmocka_unit_test(unknown_names),
        cmocka_unit_test(what_suits),
    };
    const size_t plain_count = sizeof plain / sizeof plain[0];
    struct CMUnitTest tests[sizeof plain / sizeof plain[0] + BAD];
    memcpy(tests, plain, sizeof plain);
    for (size_t i = 0; i < BAD; i++) {
        tests[plain_count + i] =
            (struct CMUnitTest){bad[i].document, is_refused, NULL, NULL, (void *)(uintptr_t)&bad[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
