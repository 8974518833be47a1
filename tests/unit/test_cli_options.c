/* Parsing of words into arguments, and the nearest name. The program's own options are met in tests/cli/. */
#include "support.h"

#include "cli/problem_options.h"

#include <string.h>

#define MAX_WORDS 8

/* Words of one command line, and what must come of it. */
typedef struct parse_case {
    const char *name;
    const char *words[MAX_WORDS]; /* NULL-terminated */
    lcp_status status;
    const char *text; /* inside the message; NULL = none */
} parse_case;

static const lcp_option_group *const groups[] = {&lcp_input_options,  &lcp_batch_options,  &lcp_layout_options,
                                                 &lcp_search_options, &lcp_common_options, NULL};

static lcp_status parse(lcp_arguments *out, const char *const *words, lcp_error *err)
{
    char storage[MAX_WORDS][64];
    char *copies[MAX_WORDS];
    int count = 0;
    for (; count < MAX_WORDS && words[count] != NULL; count++) {
        snprintf(storage[count], sizeof storage[count], "%s", words[count]);
        copies[count] = storage[count];
    }
    *out = (lcp_arguments){.options = lcp_options_default()};
    lcp_status status = lcp_options_parse(out, groups, count, copies, err);
    out->operands[0] = NULL; /* they pointed into the copies */
    return status;
}

static void parses(void **state)
{
    const parse_case *c = *state;
    lcp_arguments arguments;
    lcp_error err = {0};
    assert_int_equal(parse(&arguments, c->words, &err), c->status);
    if (c->text != NULL) {
        assert_non_null(strstr(err.text, c->text));
    } else {
        assert_string_equal(err.text, "");
    }
}

static parse_case cases[] = {
    {"nothing", {NULL}, LCP_OK, NULL},
    {"value apart", {"--tp", "8", NULL}, LCP_OK, NULL},
    {"value attached", {"--tp=8", NULL}, LCP_OK, NULL},
    {"value that looks like an option", {"--model", "--tp", NULL}, LCP_OK, NULL},
    {"option after the end is an operand", {"--", "--tp", NULL}, LCP_OK, NULL},
    {"help stops", {"--help", "--nonsense", NULL}, LCP_OK, NULL},
    {"dash is an operand", {"-", NULL}, LCP_OK, NULL},
    {"empty word is an operand", {"", NULL}, LCP_OK, NULL},
    {"start of a name is no name", {"--ulys", "2", NULL}, LCP_USAGE, "nearest is --ulysses"},
    {"letter without option", {"-z", NULL}, LCP_USAGE, "unknown option '-z'"},
    {"value missing", {"--tp", NULL}, LCP_USAGE, "--tp needs a value"},
    {"twice", {"--tp", "8", "--tp=4", NULL}, LCP_USAGE, "--tp is given twice"},
    {"switch with value", {"--no-slicing=no", NULL}, LCP_USAGE, "takes no value"},
};

static void degrees_are_sorted(void **state)
{
    (void)state;
    const char *const words[] = {"--tp", "8,2,4", "--pp=auto", NULL};
    lcp_arguments arguments;
    assert_int_equal(parse(&arguments, words, NULL), LCP_OK);
    assert_int_equal(arguments.options.tp.count, 3);
    assert_int_equal(arguments.options.tp.values[0], 2);
    assert_int_equal(arguments.options.tp.values[1], 4);
    assert_int_equal(arguments.options.tp.values[2], 8);
    assert_int_equal(arguments.options.pp.count, 0);
}

static void values_reach_their_fields(void **state)
{
    (void)state;
    const char *const words[] = {"--sequence-length=192K", "--zero", "auto", "--gap=1e-3", "--recompute", "selective",
                                 "--no-slicing",           NULL};
    lcp_arguments arguments;
    assert_int_equal(parse(&arguments, words, NULL), LCP_OK);
    assert_int_equal(arguments.sequence_length_tokens, 196608);
    assert_int_equal(arguments.options.zero_stage, -1);
    assert_close(arguments.options.gap_ratio, 1e-3, 0);
    assert_int_equal(arguments.options.recompute, LCP_RECOMPUTE_MODE_SELECTIVE);
    assert_false(arguments.options.slicing);
}

static void integers(void **state)
{
    (void)state;
    int64_t value = -1;
    assert_true(lcp_parse_integer(&value, "999999999999999999"));
    assert_int_equal(value, 999999999999999999);
    assert_true(lcp_parse_integer(&value, "3M"));
    assert_int_equal(value, 3 * 1024 * 1024);
    static const char *const wrong[] = {
        "", "K", "-1", "+1", " 1", "1 ", "1.0", "1e3", "1k", "1KM", "1000000000000000000", "99999999999999M", "0x10"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(lcp_parse_integer(&value, wrong[i]));
    }
}

static const char *fruit_at(size_t index, const void *context)
{
    static const char *const fruits[] = {"apple", "pear", "pear-1f1b", "peach", NULL};
    (void)context;
    return fruits[index];
}

static void nearest_names(void **state)
{
    (void)state;
    assert_string_equal(lcp_nearest("aple", fruit_at, NULL), "apple");
    assert_string_equal(lcp_nearest("apples", fruit_at, NULL), "apple");
    assert_string_equal(lcp_nearest("pear", fruit_at, NULL), "pear");
    assert_string_equal(lcp_nearest("pear-1", fruit_at, NULL), "pear-1f1b");
    assert_null(lcp_nearest("cherry", fruit_at, NULL));
    assert_null(lcp_nearest("", fruit_at, NULL));
}

int main(void)
{
    struct CMUnitTest tests[sizeof cases / sizeof cases[0] + 4] = {
        cmocka_unit_test(degrees_are_sorted),
        cmocka_unit_test(values_reach_their_fields),
        cmocka_unit_test(integers),
        cmocka_unit_test(nearest_names),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tests[4 + i] = (struct CMUnitTest){.name = cases[i].name, .test_func = parses, .initial_state = &cases[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
