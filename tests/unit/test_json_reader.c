#include "support.h"

#include "input/json_reader.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One getter, applied to the root of a document. */
typedef lcp_status read_function(const lcp_json_cursor *root, lcp_error *err);

static lcp_status read_int(const lcp_json_cursor *root, lcp_error *err)
{
    int64_t value;
    return lcp_json_int(&value, root, "n", 1, 1000000000000, err);
}

static lcp_status read_int_at_least(const lcp_json_cursor *root, lcp_error *err)
{
    int64_t value;
    return lcp_json_int(&value, root, "n", 5, INT64_MAX, err);
}

static lcp_status read_any_int(const lcp_json_cursor *root, lcp_error *err)
{
    int64_t value;
    return lcp_json_int(&value, root, "n", INT64_MIN, INT64_MAX, err);
}

static lcp_status read_ratio(const lcp_json_cursor *root, lcp_error *err)
{
    double value;
    return lcp_json_real(&value, root, "x", 0, 1, err);
}

static lcp_status read_positive(const lcp_json_cursor *root, lcp_error *err)
{
    double value;
    return lcp_json_real(&value, root, "x", DBL_MIN, DBL_MAX, err);
}

static lcp_status read_positive_ratio(const lcp_json_cursor *root, lcp_error *err)
{
    double value;
    return lcp_json_real(&value, root, "x", DBL_MIN, 1, err);
}

static lcp_status read_any_real(const lcp_json_cursor *root, lcp_error *err)
{
    double value;
    return lcp_json_real(&value, root, "x", -DBL_MAX, DBL_MAX, err);
}

static lcp_status read_bool(const lcp_json_cursor *root, lcp_error *err)
{
    bool value;
    return lcp_json_bool(&value, root, "b", err);
}

static lcp_status read_string(const lcp_json_cursor *root, lcp_error *err)
{
    char value[9];
    return lcp_json_string(value, sizeof value, root, "s", err);
}

static lcp_status read_object(const lcp_json_cursor *root, lcp_error *err)
{
    lcp_json_cursor value;
    return lcp_json_object(&value, root, "o", err);
}

static lcp_status read_array(const lcp_json_cursor *root, lcp_error *err)
{
    lcp_json_cursor value;
    return lcp_json_array(&value, root, "a", 1, 2, err);
}

static lcp_status read_nested(const lcp_json_cursor *root, lcp_error *err)
{
    lcp_json_cursor groups;
    int64_t nodes;
    lcp_status status = lcp_json_array(&groups, root, "groups", 1, 10, err);
    if (status != LCP_OK) {
        return status;
    }
    lcp_json_cursor group = lcp_json_element(&groups, json_array_size(groups.value) - 1);
    return lcp_json_int(&nodes, &group, "odd key", 1, 4, err);
}

static lcp_status read_elements(const lcp_json_cursor *root, lcp_error *err)
{
    lcp_json_cursor array;
    int64_t first;
    const char *second;
    lcp_status status = lcp_json_array(&array, root, "a", 2, 2, err);
    if (status == LCP_OK) {
        status = lcp_json_element_int(&first, &array, 0, 0, 7, err);
    }
    if (status == LCP_OK) {
        status = lcp_json_element_string(&second, &array, 1, err);
    }
    return status;
}

static lcp_status read_choice(const lcp_json_cursor *root, lcp_error *err)
{
    static const char *const names[] = {"truncate", "drop", NULL};
    int32_t value;
    return lcp_json_choice(&value, root, "c", names, err);
}

static lcp_status read_format(const lcp_json_cursor *root, lcp_error *err)
{
    return lcp_json_format(root, "lcplan.cluster/1", err);
}

static lcp_status read_keys(const lcp_json_cursor *root, lcp_error *err)
{
    static const char *const allowed[] = {"name", "nodes", NULL};
    return lcp_json_only_keys(root, allowed, err);
}

typedef struct bad_case {
    const char *document;
    read_function *read;
    const char *where;
    const char *text;
} bad_case;

static bad_case bad_cases[] = {
    {"{}", read_int, "t: $.n", "missing, expected an integer in [1, 1000000000000]"},
    {"[]", read_int, "t: $", "found an array of 0 elements, expected an object"},
    {"{\"n\": 1.5}", read_int, "t: $.n", "found 1.5, expected an integer in [1, 1000000000000]"},
    {"{\"n\": 0}", read_int, "t: $.n", "found 0, expected an integer in [1, 1000000000000]"},
    {"{\"n\": -0}", read_int, "t: $.n", "found 0, expected an integer in [1, 1000000000000]"},
    {"{\"n\": 2e12}", read_int, "t: $.n", "found 2000000000000, expected an integer in [1, 1000000000000]"},
    {"{\"n\": \"7\"}", read_int, "t: $.n", "found \"7\", expected an integer in [1, 1000000000000]"},
    {"{\"n\": null}", read_int_at_least, "t: $.n", "found null, expected an integer of at least 5"},
    {"{\"n\": 9223372036854775808.0}", read_any_int, "t: $.n", "found 9.2233720368547758e+18, expected an integer"},
    {"{\"x\": 1.25}", read_ratio, "t: $.x", "found 1.25, expected a number in [0, 1]"},
    {"{\"x\": 0.0}", read_positive, "t: $.x", "found 0, expected a number above 0"},
    {"{\"x\": -0.0}", read_positive_ratio, "t: $.x", "found -0, expected a number in (0, 1]"},
    {"{\"x\": {}}", read_any_real, "t: $.x", "found an object of 0 keys, expected a number"},
    {"{\"b\": 1}", read_bool, "t: $.b", "found 1, expected true or false"},
    {"{\"s\": true}", read_string, "t: $.s", "found true, expected a string"},
    {"{\"s\": \"ninebytes\"}", read_string, "t: $.s", "found a string of 9 bytes, expected at most 8"},
    {"{\"s\": \"a\\nb\"}", read_string, "t: $.s", "found a control character, expected printable text"},
    {"{\"s\": \"a\\u007fb\"}", read_string, "t: $.s", "found a control character, expected printable text"},
    {"{\"o\": [1]}", read_object, "t: $.o", "found an array of 1 elements, expected an object"},
    {"{\"a\": {\"k\": 1}}", read_array, "t: $.a", "found an object of 1 keys, expected an array of 1 to 2 elements"},
    {"{\"a\": [1, 2, 3]}", read_array, "t: $.a", "found an array of 3 elements, expected an array of 1 to 2 elements"},
    {"{\"a\": []}", read_array, "t: $.a", "found an array of 0 elements, expected an array of 1 to 2 elements"},
    {"{\"groups\": [{}, {\"odd key\": 5}]}", read_nested, "t: $.groups[1][\"odd key\"]",
     "found 5, expected an integer in [1, 4]"},
    {"{\"groups\": [7]}", read_nested, "t: $.groups[0]", "found 7, expected an object"},
    {"{\"a\": [8, \"x\"]}", read_elements, "t: $.a[0]", "found 8, expected an integer in [0, 7]"},
    {"{\"a\": [7, false]}", read_elements, "t: $.a[1]", "found false, expected a string"},
    {"{\"c\": \"round\"}", read_choice, "t: $.c", "found \"round\", expected one of: truncate, drop"},
    {"{\"c\": 3}", read_choice, "t: $.c", "found 3, expected a string"},
    {"{\"format\": \"lcplan.cluster/2\"}", read_format, "t: $.format",
     "found \"lcplan.cluster/2\", expected one of: lcplan.cluster/1"},
    {"{\"name\": 1, \"node\": 2}", read_keys, "t: $.node", "unknown key, expected one of: name, nodes"},
};

static void getter_says_what_is_wrong(void **state)
{
    const bad_case *c = *state;
    lcp_error err = {0};
    json_t *root = NULL;
    assert_int_equal(lcp_json_load_bytes(&root, c->document, strlen(c->document), "t", &err), LCP_OK);
    lcp_json_cursor cursor = lcp_json_root("t", root);
    assert_int_equal(c->read(&cursor, &err), LCP_INPUT);
    assert_string_equal(err.where, c->where);
    assert_string_equal(err.text, c->text);
    json_decref(root);
}

typedef struct bad_text {
    const char *bytes;
    size_t size;
    const char *words; /* somewhere in the message */
} bad_text;

#define TEXT(literal) (literal), sizeof(literal) - 1

static bad_text bad_texts[] = {
    {TEXT(""), "not a JSON document"},
    {TEXT("3"), "not a JSON document"},
    {TEXT("{\"a\": 1, \"a\": 2}"), "duplicate object key near '\"a\"'"},
    {TEXT("{\"a\": 1,\n \"a\": 2}"), "line 2 column 4"},
    {TEXT("{} {}"), "end of file expected"},
    {TEXT("{\"a\": 01}"), "line 1"},
    {TEXT("{\"a\": NaN}"), "line 1"},
    {TEXT("{\"a\": 1e999}"), "real number overflow"},
    {TEXT("{\"a\": 99999999999999999999}"), "too big integer"},
    {TEXT("{\"a\": \"\xff\"}"), "unable to decode byte"},
    {TEXT("{\"a\": \"\\u0000\"}"), "\\u0000"},
    {TEXT("{\"a\":\n  \0 1}"), "line 2 column 3: found a NUL byte"},
    {TEXT("{\"a\": \"\\"), "not a JSON document"},
};

static void broken_text_is_refused(void **state)
{
    const bad_text *c = *state;
    lcp_error err = {0};
    json_t *root = NULL;
    assert_int_equal(lcp_json_load_bytes(&root, c->bytes, c->size, "t", &err), LCP_INPUT);
    assert_null(root);
    assert_string_equal(err.where, "t");
    if (strstr(err.text, c->words) == NULL) {
        fail_msg("'%s' lacks '%s'", err.text, c->words);
    }
}

static lcp_status load_nested(int depth, lcp_error *err)
{
    char document[512];
    size_t levels = (size_t)depth;
    memset(document, '[', levels);
    memset(document + levels, ']', levels);
    json_t *root = NULL;
    lcp_status status = lcp_json_load_bytes(&root, document, 2 * levels, "t", err);
    json_decref(root);
    return status;
}

static void depth_is_limited(void **state)
{
    (void)state;
    lcp_error err = {0};
    assert_int_equal(load_nested(LCP_JSON_MAX_DEPTH, &err), LCP_OK);
    assert_int_equal(load_nested(LCP_JSON_MAX_DEPTH + 1, &err), LCP_INPUT);
    assert_string_equal(err.text, "line 1 column 65: nested deeper than 64 levels");
}

static void brackets_in_strings_do_not_nest(void **state)
{
    (void)state;
    char document[256] = "{\"\\\"";
    memset(document + strlen(document), '[', 100);
    strcat(document, "\": 1}");
    json_t *root = NULL;
    assert_int_equal(lcp_json_load_bytes(&root, document, strlen(document), "t", NULL), LCP_OK);
    json_decref(root);
}

static void integral_reals_are_integers(void **state)
{
    (void)state;
    static const struct {
        const char *document;
        int64_t value;
    } cases[] = {{"{\"n\": 1e9}", 1000000000},
                 {"{\"n\": 2.0}", 2},
                 {"{\"n\": -0.0}", 0},
                 {"{\"n\": -9223372036854775808}", INT64_MIN},
                 {"{\"n\": 9223372036854775807}", INT64_MAX},
                 {"{\"n\": 1e18}", 1000000000000000000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *root = NULL;
        int64_t value = -1;
        assert_int_equal(lcp_json_load_bytes(&root, cases[i].document, strlen(cases[i].document), "t", NULL), LCP_OK);
        lcp_json_cursor cursor = lcp_json_root("t", root);
        assert_int_equal(lcp_json_int(&value, &cursor, "n", INT64_MIN, INT64_MAX, NULL), LCP_OK);
        assert_true(value == cases[i].value);
        json_decref(root);
    }
}

static void optional_values_keep_their_preset(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", NULL};
    static const char document[] = "{\"null\": null, \"n\": 3, \"x\": 2, \"b\": false, \"c\": \"b\"}";
    json_t *root = NULL;
    assert_int_equal(lcp_json_load_bytes(&root, document, strlen(document), "t", NULL), LCP_OK);
    lcp_json_cursor cursor = lcp_json_root("t", root);
    int64_t n = 0;
    double x = 0;
    bool b = false;
    int32_t c = 0;
    assert_int_equal(lcp_json_int_or(&n, 7, &cursor, "null", 0, 9, NULL), LCP_OK);
    assert_int_equal(n, 7);
    assert_int_equal(lcp_json_int_or(&n, 7, &cursor, "n", 0, 9, NULL), LCP_OK);
    assert_int_equal(n, 3);
    assert_int_equal(lcp_json_real_or(&x, 0.5, &cursor, "absent", 0, 9, NULL), LCP_OK);
    assert_close(x, 0.5, 0);
    assert_int_equal(lcp_json_real_or(&x, 0.5, &cursor, "x", 0, 9, NULL), LCP_OK);
    assert_close(x, 2, 0);
    assert_int_equal(lcp_json_bool_or(&b, true, &cursor, "absent", NULL), LCP_OK);
    assert_true(b);
    assert_int_equal(lcp_json_bool_or(&b, true, &cursor, "b", NULL), LCP_OK);
    assert_false(b);
    assert_int_equal(lcp_json_choice_or(&c, 0, &cursor, "c", names, NULL), LCP_OK);
    assert_int_equal(c, 1);
    assert_int_equal(lcp_json_choice_or(&c, 0, &cursor, "null", names, NULL), LCP_OK);
    assert_int_equal(c, 0);
    json_decref(root);
}

static void comment_keys_are_allowed(void **state)
{
    (void)state;
    static const char document[] = "{\"_note\": 1, \"name\": 2}";
    json_t *root = NULL;
    assert_int_equal(lcp_json_load_bytes(&root, document, strlen(document), "t", NULL), LCP_OK);
    lcp_json_cursor cursor = lcp_json_root("t", root);
    assert_int_equal(read_keys(&cursor, NULL), LCP_OK);
    json_decref(root);
}

static void missing_file_and_directory_are_io_errors(void **state)
{
    (void)state;
    json_t *root = NULL;
    lcp_error err = {0};
    assert_int_equal(lcp_json_load_file(&root, "no/such/file.json", NULL, &err), LCP_IO);
    assert_string_equal(err.where, "no/such/file.json");
    assert_string_equal(err.text, "cannot open: No such file or directory");
    err = (lcp_error){0};
    assert_int_equal(lcp_json_load_file(&root, ".", NULL, &err), LCP_IO);
    assert_string_equal(err.text, "cannot read: Is a directory");
}

static void digest_is_of_the_bytes_read(void **state)
{
    (void)state;
    const char *path = "test_json_reader.tmp";
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fputs("{\"a\": 1}\n", file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
    json_t *root = NULL;
    char sha256[65];
    assert_int_equal(lcp_json_load_file(&root, path, sha256, NULL), LCP_OK);
    /* printf '{"a": 1}\n' | sha256sum */
    assert_string_equal(sha256, "e8c628edc9968ef0c668f54e0ba2636b35503357eb1aca0ddc828aeace432f67");
    json_decref(root);
    assert_int_equal(remove(path), 0);
}

#define BAD_CASES (sizeof bad_cases / sizeof bad_cases[0])
#define BAD_TEXTS (sizeof bad_texts / sizeof bad_texts[0])

int main(void)
{
    static struct CMUnitTest bad[BAD_CASES + BAD_TEXTS];
    for (size_t i = 0; i < BAD_CASES; i++) {
        bad[i] = (struct CMUnitTest){bad_cases[i].text, getter_says_what_is_wrong, NULL, NULL, &bad_cases[i]};
    }
    for (size_t i = 0; i < BAD_TEXTS; i++) {
        bad[BAD_CASES + i] = (struct CMUnitTest){bad_texts[i].words, broken_text_is_refused, NULL, NULL, &bad_texts[i]};
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(brackets_in_strings_do_not_nest),
        cmocka_unit_test(integral_reals_are_integers),
        cmocka_unit_test(optional_values_keep_their_preset),
        cmocka_unit_test(comment_keys_are_allowed),
        cmocka_unit_test(missing_file_and_directory_are_io_errors),
        cmocka_unit_test(digest_is_of_the_bytes_read),
    };
    int failed = cmocka_run_group_tests(bad, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
