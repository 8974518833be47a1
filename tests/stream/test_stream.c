/* Batches under a base plan: what comes out is a plan that verification holds, the same every time. */
#include "support.h"

#include "input/input.h"
#include "lcp/stream.h"
#include "output/plan_json.h"
#include "verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *base_path; /* the only argument of the program */

static char *read_base(size_t *size)
{
    char *text = NULL;
    assert_int_equal(lcp_read_bytes(&text, size, base_path, NULL), LCP_OK);
    return text;
}

static lcp_stream *open_base(void)
{
    size_t size = 0;
    char *text = read_base(&size);
    lcp_stream *stream = NULL;
    lcp_error err = {0};
    if (lcp_stream_open(&stream, text, size, &err) != LCP_OK) {
        fail_msg("%s: %s", err.where, err.text);
    }
    free(text);
    return stream;
}

/* Lengths with a long tail, by a fixed recurrence. */
static void draw(int64_t *lengths, int64_t count, uint64_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int64_t word = (int64_t)(seed >> 40);
        lengths[i] = 100 + word % 3000 + (word % 17 == 0 ? word % 30000 : 0);
    }
}

/* The batch's plan against the base problem with these lengths. A proof is not part of it. */
static void holds(const int64_t *lengths, int64_t count, lcp_plan *plan)
{
    lcp_plan base;
    lcp_problem problem;
    lcp_error err = {0};
    assert_int_equal(lcp_read_plan(&base, &problem, base_path, &err), LCP_OK);
    assert_int_equal(plan->stage_count, base.stage_count);
    for (int32_t s = 0; s < base.stage_count; s++) {
        assert_int_equal(plan->stages[s].layer_count, base.stages[s].layer_count);
    }
    problem.workload.sequence_count = count;
    problem.workload.total_tokens = 0;
    free(problem.workload.lengths_tokens);
    problem.workload.lengths_tokens = malloc((size_t)count * sizeof *lengths);
    assert_non_null(problem.workload.lengths_tokens);
    memcpy(problem.workload.lengths_tokens, lengths, (size_t)count * sizeof *lengths);
    for (int64_t i = 0; i < count; i++) {
        problem.workload.total_tokens += lengths[i];
        if (lengths[i] > problem.workload.max_length_tokens) {
            problem.workload.max_length_tokens = lengths[i];
        }
    }
    plan->certificate.lower_bound_seconds = plan->predicted.iteration_seconds;
    if (lcp_verify(plan, &problem, &err) != LCP_OK) {
        fail_msg("%s: %s", err.where, err.text);
    }
    lcp_plan_dispose(&base);
    lcp_problem_dispose(&problem);
}

static void batches_hold(void **state)
{
    (void)state;
    lcp_stream *stream = open_base();
    int64_t lengths[200];
    for (uint64_t seed = 1; seed <= 12; seed++) {
        int64_t count = 2 + (int64_t)(seed * 37 % 199);
        lcp_plan plan;
        lcp_error err = {0};
        draw(lengths, count, seed);
        if (lcp_stream_batch(&plan, stream, lengths, count, &err) != LCP_OK) {
            fail_msg("%s: %s", err.where, err.text);
        }
        holds(lengths, count, &plan);
        lcp_plan_dispose(&plan);
    }
    lcp_stream_close(stream);
}

static void batches_before_do_not_matter(void **state)
{
    (void)state;
    lcp_stream *stream = open_base();
    int64_t lengths[64];
    int64_t others[64];
    char *first = NULL;
    char *again = NULL;
    draw(lengths, 64, 5);
    draw(others, 64, 6);
    assert_int_equal(lcp_stream_plan(&first, stream, lengths, 64, NULL), LCP_OK);
    assert_int_equal(lcp_stream_plan(&again, stream, others, 64, NULL), LCP_OK);
    assert_string_not_equal(first, again);
    lcp_stream_free(again);
    assert_int_equal(lcp_stream_plan(&again, stream, lengths, 64, NULL), LCP_OK);
    assert_string_equal(first, again);
    lcp_stream_free(first);
    lcp_stream_free(again);
    lcp_stream_close(stream);
}

/* The base plan's own batch comes out no slower than 2 % above what the search found for it. */
static void near_the_search(void **state)
{
    (void)state;
    lcp_plan base;
    lcp_problem problem;
    lcp_plan plan;
    assert_int_equal(lcp_read_plan(&base, &problem, base_path, NULL), LCP_OK);
    lcp_stream *stream = open_base();
    assert_int_equal(
        lcp_stream_batch(&plan, stream, problem.workload.lengths_tokens, problem.workload.sequence_count, NULL),
        LCP_OK);
    double ratio = plan.predicted.iteration_seconds / base.predicted.iteration_seconds;
    if (!(ratio < 1.02)) {
        fail_msg("%.4f times the plan of the search", ratio);
    }
    lcp_stream_close(stream);
    lcp_plan_dispose(&plan);
    lcp_plan_dispose(&base);
    lcp_problem_dispose(&problem);
}

static void bad_batches_are_refused(void **state)
{
    (void)state;
    lcp_stream *stream = open_base();
    const int64_t zero[] = {4, 0};
    const int64_t one[] = {4};
    int64_t huge[3] = {INT32_MAX, INT32_MAX, INT32_MAX};
    lcp_plan plan;
    lcp_error err = {0};
    assert_int_equal(lcp_stream_batch(&plan, stream, zero, 2, &err), LCP_INPUT);
    assert_non_null(strstr(err.text, "[1]: found 0"));
    err = (lcp_error){0};
    assert_int_equal(lcp_stream_batch(&plan, stream, one, 0, &err), LCP_INPUT);
    err = (lcp_error){0};
    assert_int_equal(lcp_stream_batch(&plan, stream, huge, 3, &err), LCP_INFEASIBLE);
    lcp_stream_close(stream);
    lcp_stream_close(NULL);
}

static void answers_are_lines(void **state)
{
    (void)state;
    static const struct {
        const char *line, *part;
    } rows[] = {
        {"[700, 90]", "{\"sequences\":[{\"sequence\":0,\"length_tokens\":700}"},
        {"{\"lengths_tokens\": [700, 90]}", "{\"sequences\":["},
        {"", "{\"error\":"},
        {"[700, -1]", "{\"error\":\"line: $[1]: "},
        {"[]", "{\"error\":\"line: $: found 0 lengths"},
        {"{\"lengths\": [4]}", "{\"error\":\"line: $.lengths: "},
        {"7", "{\"error\":\"line: line 1 column 1: "},
        {"[1, 2", "{\"error\":\"line"},
    };
    lcp_stream *stream = open_base();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *answer = NULL;
        assert_int_equal(lcp_stream_answer(&answer, stream, rows[i].line, strlen(rows[i].line)), LCP_OK);
        if (strncmp(answer, rows[i].part, strlen(rows[i].part)) != 0) {
            fail_msg("%s: %.200s", rows[i].line, answer);
        }
        assert_null(strchr(answer, '\n'));
        lcp_stream_free(answer);
    }
    lcp_stream_close(stream);
}

static void base_plans_that_do_not_hold(void **state)
{
    (void)state;
    lcp_stream *stream = NULL;
    lcp_error err = {0};
    assert_int_equal(lcp_stream_open(&stream, "{}", 2, &err), LCP_INPUT);
    assert_null(stream);
    size_t size = 0;
    char *text = read_base(&size);
    err = (lcp_error){0};
    assert_int_equal(lcp_stream_open(&stream, text, size / 2, &err), LCP_INPUT);
    const char *key = "\"iteration_seconds\": ";
    size_t at = 0;
    while (at + strlen(key) < size && strncmp(text + at, key, strlen(key)) != 0) {
        at++;
    }
    text[at + strlen(key)] = '9';
    err = (lcp_error){0};
    assert_int_equal(lcp_stream_open(&stream, text, size, &err), LCP_FALSE);
    assert_null(stream);
    free(text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_hold),      cmocka_unit_test(batches_before_do_not_matter),
        cmocka_unit_test(near_the_search),   cmocka_unit_test(bad_batches_are_refused),
        cmocka_unit_test(answers_are_lines), cmocka_unit_test(base_plans_that_do_not_hold),
    };
    if (argc != 2) {
        fprintf(stderr, "usage: test_stream BASE_PLAN\n");
        return 2;
    }
    base_path = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
