#include "json_case.h"
#include "plan_fixture.h"

#include "output/plan_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE "../docs/formats.md"

static char *page;

static int load_page(void **state)
{
    size_t size = 0;
    (void)state;
    if (lcp_read_bytes(&page, &size, PAGE, NULL) != LCP_OK) {
        return -1;
    }
    page = realloc(page, size + 1);
    if (page == NULL) {
        return -1;
    }
    page[size] = '\0';
    return 0;
}

static int free_page(void **state)
{
    (void)state;
    free(page);
    return 0;
}

static lcp_status read_model(json_t *root, lcp_error *err)
{
    lcp_model model;
    lcp_status status = lcp_model_from_json(&model, root, PAGE, err);
    lcp_model_dispose(&model);
    return status;
}

static lcp_status read_cluster(json_t *root, lcp_error *err)
{
    lcp_cluster cluster;
    lcp_status status = lcp_cluster_from_json(&cluster, root, PAGE, err);
    lcp_cluster_dispose(&cluster);
    return status;
}

static lcp_status read_workload(json_t *root, lcp_error *err)
{
    lcp_workload workload;
    lcp_status status = lcp_workload_from_json(&workload, root, PAGE, NULL, err);
    lcp_workload_dispose(&workload);
    return status;
}

static const struct {
    const char *format;
    lcp_status (*read)(json_t *root, lcp_error *err);
} readers[] = {
    {"lcplan.model/1", read_model},
    {"lcplan.cluster/1", read_cluster},
    {"lcplan.workload/1", read_workload},
};

static void read_example(const char *text, size_t size)
{
    json_t *root = NULL;
    lcp_error err = {0};
    bool known = false;
    lcp_status status = lcp_json_load_bytes(&root, text, size, PAGE, &err);
    const char *format = json_string_value(json_object_get(root, "format"));
    for (size_t i = 0; status == LCP_OK && i < sizeof readers / sizeof readers[0]; i++) {
        if (format != NULL && strcmp(format, readers[i].format) == 0) {
            known = true;
            status = readers[i].read(root, &err);
        }
    }
    json_decref(root);
    if (status != LCP_OK) {
        fail_msg("%s: %s in\n%.*s", err.where, err.text, (int)size, text);
    }
    assert_true(known);
}

static void examples_are_read(void **state)
{
    static const char fence[] = "```json\n";
    int count = 0;
    (void)state;
    for (const char *at = strstr(page, fence); at != NULL; at = strstr(at, fence)) {
        at += strlen(fence);
        const char *end = strstr(at, "```");
        assert_non_null(end);
        read_example(at, (size_t)(end - at));
        count++;
    }
    assert_int_equal(count, 5);
}

static void assert_described(const char *key)
{
    char quoted[200];
    char coded[200];
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    snprintf(coded, sizeof coded, "`%s`", key);
    if (strstr(page, quoted) == NULL && strstr(page, coded) == NULL) {
        fail_msg(PAGE " does not name the key \"%s\"", key);
    }
}

/* Every key below, except the reasons of rejected candidates, which are names. */
static void assert_keys_described(json_t *value)
{
    size_t index;
    json_t *element;
    json_array_foreach(value, index, element)
    {
        assert_keys_described(element);
    }
    for (void *i = json_object_iter(value); i != NULL; i = json_object_iter_next(value, i)) {
        const char *key = json_object_iter_key(i);
        assert_described(key);
        if (strcmp(key, "rejected") != 0) {
            assert_keys_described(json_object_iter_value(i));
        }
    }
}

static void every_key_of_a_plan_is_described(void **state)
{
    plan_fixture f;
    (void)state;
    fixture_plan(&f);
    json_t *document = lcp_plan_to_json(&f.plan, &f.problem, NULL);
    json_t *options = lcp_options_to_json(&f.problem.options);
    assert_keys_described(document);
    assert_keys_described(options);
    json_decref(document);
    json_decref(options);
    fixture_plan_dispose(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_are_read),
        cmocka_unit_test(every_key_of_a_plan_is_described),
    };
    return cmocka_run_group_tests(tests, load_page, free_page);
}
