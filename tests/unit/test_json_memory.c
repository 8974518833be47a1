#include "json_case.h"
#include "plan_fixture.h"

#include "output/plan_json.h"
#include "output/show_model.h"

#include <stdlib.h>

/* Allocations of the JSON library until the one that fails; negative: none fails. */
static long allocations_left = -1;

static void *failing_malloc(size_t size)
{
    if (allocations_left == 0) {
        allocations_left = -1;
        return NULL;
    }
    allocations_left -= allocations_left > 0;
    return malloc(size);
}

static int fail_allocations(void **state)
{
    (void)state;
    json_set_alloc_funcs(failing_malloc, free);
    return 0;
}

static int restore_allocations(void **state)
{
    (void)state;
    json_set_alloc_funcs(malloc, free);
    return 0;
}

/* Each allocation fails once: the writer returns nothing, never a document that lacks something. */
static void writers_are_whole_or_nothing(void **state)
{
    plan_fixture f;
    (void)state;
    fixture_plan(&f);
    json_t *whole = lcp_plan_to_json(&f.plan, &f.problem, NULL);
    assert_non_null(whole);
    long n = 0;
    for (bool failed = true; failed; n++) {
        allocations_left = n;
        json_t *document = lcp_plan_to_json(&f.plan, &f.problem, NULL);
        failed = allocations_left < 0;
        allocations_left = -1;
        assert_true(document == NULL || json_equal(document, whole));
        assert_true(failed || document != NULL);
        json_decref(document);
    }
    assert_true(n > 500);
    json_decref(whole);
    fixture_plan_dispose(&f);
}

static void shown_models_are_whole_or_nothing(void **state)
{
    plan_fixture f;
    (void)state;
    fixture_plan(&f);
    json_t *whole = lcp_show_model_json(&f.problem.model);
    assert_non_null(whole);
    long n = 0;
    for (bool failed = true; failed; n++) {
        allocations_left = n;
        json_t *document = lcp_show_model_json(&f.problem.model);
        failed = allocations_left < 0;
        allocations_left = -1;
        assert_true(document == NULL || json_equal(document, whole));
        assert_true(failed || document != NULL);
        json_decref(document);
    }
    assert_true(n > 50);
    json_decref(whole);
    fixture_plan_dispose(&f);
}

static void short_memory_is_reported(void **state)
{
    static const char text[] = "{\"a\": [1, 2, {\"b\": \"c\"}]}";
    (void)state;
    for (long n = 0; n < 4; n++) {
        json_t *root = NULL;
        lcp_error err = {0};
        allocations_left = n;
        lcp_status status = lcp_json_load_bytes(&root, text, sizeof text - 1, "t", &err);
        allocations_left = -1;
        /* The library calls some of its failures a syntax error. */
        assert_true(status == LCP_NOMEM || status == LCP_INPUT);
        assert_null(root);
        assert_int_equal(err.status, status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writers_are_whole_or_nothing, fail_allocations, restore_allocations),
        cmocka_unit_test_setup_teardown(shown_models_are_whole_or_nothing, fail_allocations, restore_allocations),
        cmocka_unit_test_setup_teardown(short_memory_is_reported, fail_allocations, restore_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
