#include "support.h"

#include "program_maker.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const lcp_lp_limits exact = {.integer = true};
static const lcp_lp_limits relaxed = {.want_duals = true};

/* Solves one random program and compares with trying every point; true if all is well. No CMocka: runs in threads. */
static bool agrees_with_trying(program_kind kind, random_source *random, double scale, bool *feasible)
{
    lcp_lp *lp = make_program(kind, random, scale);
    double best = best_by_trying(lp);
    lcp_lp_solution whole;
    lcp_lp_solution relaxation;
    bool good =
        lcp_lp_solve(&whole, lp, &exact, NULL) == LCP_OK && lcp_lp_solve(&relaxation, lp, &relaxed, NULL) == LCP_OK;
    *feasible = best < HUGE_VAL;
    double slack = 1e-7 * (scale + fabs(best));
    if (good && *feasible) {
        good = whole.outcome == LCP_LP_OPTIMAL && fabs(whole.objective - best) <= slack &&
               whole.bound <= best + slack && lcp_lp_violation(lp, whole.values) <= 1e-9 &&
               relaxation.outcome == LCP_LP_OPTIMAL && relaxation.objective <= best + slack;
    } else if (good) {
        good = whole.outcome == LCP_LP_INFEASIBLE && whole.values == NULL;
    }
    lcp_lp_solution_dispose(&whole);
    lcp_lp_solution_dispose(&relaxation);
    lcp_lp_free(lp);
    return good;
}

static void integer_programs_equal_trying_every_point(void **state)
{
    (void)state;
    static const double scales[] = {1, 1e-9, 1e9};
    random_source random = {.state = 7};
    int infeasible = 0;
    for (int i = 0; i < 240; i++) {
        bool feasible = true;
        program_kind kind = (program_kind)(i % PROGRAM_KINDS);
        if (!agrees_with_trying(kind, &random, scales[i % 3], &feasible)) {
            fail_msg("program %d of kind %d", i, (int)kind);
        }
        infeasible += !feasible;
    }
    assert_in_range(infeasible, 5, 60);
}

typedef struct thread_work {
    uint64_t seed;
    int failures;
} thread_work;

static void *solve_many(void *argument)
{
    thread_work *work = argument;
    random_source random = {.state = work->seed};
    for (int i = 0; i < 120; i++) {
        bool feasible;
        work->failures += !agrees_with_trying((program_kind)(i % PROGRAM_KINDS), &random, 1, &feasible);
    }
    lcp_solver_thread_end();
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    thread_work work[3] = {{.seed = 100}, {.seed = 200}, {.seed = 300}};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, solve_many, &work[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(work[i].failures, 0);
    }
}

/* min 3x + 2y, x + y >= 4 (dual 2), x >= 1 as a row (dual 1): objective 3 + 6 = 4 * 2 + 1 * 1. */
static void duals_price_the_rows(void **state)
{
    (void)state;
    lcp_lp *lp = lcp_lp_new();
    int32_t x = lcp_lp_add_column(lp, "x", 0, LCP_LP_INFINITY, 3e-6, false);
    int32_t y = lcp_lp_add_column(lp, "y", 0, LCP_LP_INFINITY, 2e-6, false);
    int32_t sum = lcp_lp_add_row(lp, "sum", 4, LCP_LP_INFINITY);
    int32_t least = lcp_lp_add_row(lp, "least", 1, LCP_LP_INFINITY);
    int32_t most = lcp_lp_add_row(lp, "most", -LCP_LP_INFINITY, 100);
    lcp_lp_set(lp, sum, x, 1);
    lcp_lp_set(lp, sum, y, 1);
    lcp_lp_set(lp, least, x, 1);
    lcp_lp_set(lp, most, y, 1);
    lcp_lp_solution s;
    assert_int_equal(lcp_lp_solve(&s, lp, &relaxed, NULL), LCP_OK);
    assert_int_equal(s.outcome, LCP_LP_OPTIMAL);
    assert_close(s.objective, 9e-6, 1e-12);
    assert_close(s.bound, 9e-6, 1e-12);
    assert_close(s.values[x], 1, 1e-12);
    assert_close(s.values[y], 3, 1e-12);
    assert_close(s.duals[sum], 2e-6, 1e-12);
    assert_close(s.duals[least], 1e-6, 1e-12);
    assert_true(fabs(s.duals[most]) < 1e-18);
    lcp_lp_solution_dispose(&s);
    lcp_lp_free(lp);
}

/* Columns of one row [lower, upper] with coefficient 1. */
static lcp_lp *one_row(double row_lower, double row_upper, double lower, double upper, double cost, bool integer)
{
    lcp_lp *lp = lcp_lp_new();
    assert_non_null(lp);
    int32_t column = lcp_lp_add_column(lp, NULL, lower, upper, cost, integer);
    lcp_lp_set(lp, lcp_lp_add_row(lp, NULL, row_lower, row_upper), column, 1);
    return lp;
}

static void outcomes(void **state)
{
    (void)state;
    static const struct {
        double row_lower, row_upper, lower, upper, cost;
        lcp_lp_outcome outcome;
        double objective;
    } rows[] = {
        {2, 3, 0, 9, 1, LCP_LP_OPTIMAL, 2},
        {2, 3, 0, 9, -1, LCP_LP_OPTIMAL, -3},
        {2, 3, 2, 2, 5, LCP_LP_OPTIMAL, 10},
        {-LCP_LP_INFINITY, LCP_LP_INFINITY, -4, 4, 1, LCP_LP_OPTIMAL, -4},
        {-7, LCP_LP_INFINITY, -LCP_LP_INFINITY, LCP_LP_INFINITY, 1, LCP_LP_OPTIMAL, -7},
        {5, 6, 0, 4, 1, LCP_LP_INFEASIBLE, 0},
        {0, LCP_LP_INFINITY, 0, LCP_LP_INFINITY, -1, LCP_LP_UNBOUNDED, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int integer = 0; integer < 2; integer++) {
            lcp_lp *lp =
                one_row(rows[i].row_lower, rows[i].row_upper, rows[i].lower, rows[i].upper, rows[i].cost, integer == 1);
            const lcp_lp_limits limits = {.integer = integer == 1};
            lcp_lp_solution s;
            assert_int_equal(lcp_lp_solve(&s, lp, &limits, NULL), LCP_OK);
            assert_int_equal(s.outcome, rows[i].outcome);
            assert_true((s.values != NULL) == (s.outcome == LCP_LP_OPTIMAL));
            if (s.outcome == LCP_LP_OPTIMAL) {
                assert_close(s.objective, rows[i].objective, 1e-12);
                assert_close(s.bound, rows[i].objective, 1e-12);
            }
            lcp_lp_solution_dispose(&s);
            lcp_lp_free(lp);
        }
    }
}

static void numbers_that_are_none_are_refused(void **state)
{
    (void)state;
    static const double none = (double)NAN;
    static const struct {
        double row_lower, row_upper, lower, upper, cost, value;
    } rows[] = {
        {none, 1, 0, 1, 1, 1}, {0, none, 0, 1, 1, 1},     {0, 1, none, 1, 1, 1}, {0, 1, 0, none, 1, 1},
        {0, 1, 0, 1, none, 1}, {0, 1, 0, 1, HUGE_VAL, 1}, {0, 1, 0, 1, 1, none}, {0, 1, 0, 1, 1, -HUGE_VAL},
        {2, 1, 0, 1, 1, 1},    {0, 1, 2, 1, 1, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lcp_lp *lp = one_row(rows[i].row_lower, rows[i].row_upper, rows[i].lower, rows[i].upper, rows[i].cost, false);
        lcp_lp_set(lp, 0, 0, rows[i].value);
        lcp_lp_solution s;
        lcp_error err = {0};
        assert_int_equal(lcp_lp_solve(&s, lp, &relaxed, &err), LCP_INTERNAL);
        assert_int_equal(lcp_lp_solve(&s, lp, &exact, &err), LCP_INTERNAL);
        assert_null(s.values);
        lcp_lp_free(lp);
    }
}

/* What makes GLPK abort when it is handed over as it comes. */
static void duplicates_long_names_and_places_out_of_range(void **state)
{
    (void)state;
    char name[1000];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    lcp_lp *lp = lcp_lp_new();
    int32_t x = lcp_lp_add_column(lp, name, 0, 10, 1, true);
    int32_t row = lcp_lp_add_row(lp, name, 5, LCP_LP_INFINITY);
    lcp_lp_set(lp, row, x, 1);
    lcp_lp_set(lp, row, x, 1.5);
    lcp_lp_solution s;
    assert_int_equal(lcp_lp_solve(&s, lp, &exact, NULL), LCP_OK);
    assert_close(s.objective, 2, 1e-12);
    lcp_lp_solution_dispose(&s);
    lcp_lp_set(lp, row + 1, x, 1);
    assert_int_equal(lcp_lp_solve(&s, lp, &exact, NULL), LCP_INTERNAL);
    lcp_lp_free(lp);
}

/* Equal splits of numbers without one (market split): branch and bound runs on until a limit stops it. */
static lcp_lp *hard_program(void)
{
    random_source random = {.state = 11};
    lcp_lp *lp = lcp_lp_new();
    for (int32_t r = 0; r < 3; r++) {
        int32_t row = lcp_lp_add_row(lp, NULL, 0, 0);
        double sum = 0;
        for (int32_t c = 0; c < 30; c++) {
            double value = (double)pick(&random, 1, 99);
            if (r == 0) {
                lcp_lp_add_column(lp, NULL, 0, 1, 0, true);
            }
            lcp_lp_set(lp, row, c, value);
            sum += value;
        }
        lcp_lp_set_row_bounds(lp, row, floor(sum / 2), floor(sum / 2));
        lcp_lp_set(lp, row, lcp_lp_add_column(lp, "over", 0, LCP_LP_INFINITY, 1, false), -1);
        lcp_lp_set(lp, row, lcp_lp_add_column(lp, "under", 0, LCP_LP_INFINITY, 1, false), 1);
    }
    return lp;
}

static void limits_stop_and_the_answer_repeats(void **state)
{
    (void)state;
    lcp_lp *lp = hard_program();
    const lcp_lp_limits nodes = {.integer = true, .max_nodes = 50};
    lcp_lp_solution first;
    lcp_lp_solution again;
    assert_int_equal(lcp_lp_solve(&first, lp, &nodes, NULL), LCP_OK);
    assert_int_equal(lcp_lp_solve(&again, lp, &nodes, NULL), LCP_OK);
    assert_true(first.outcome == LCP_LP_FEASIBLE || first.outcome == LCP_LP_LIMIT);
    assert_in_range(first.nodes, 50, 60);
    assert_true(first.bound <= 1e-9);
    assert_int_equal(first.outcome, again.outcome);
    assert_int_equal(first.nodes, again.nodes);
    if (first.values != NULL) {
        assert_true(lcp_lp_violation(lp, first.values) <= 1e-6);
        assert_memory_equal(first.values, again.values, (size_t)lcp_lp_columns(lp) * sizeof *first.values);
    }
    lcp_lp_solution_dispose(&first);
    lcp_lp_solution_dispose(&again);
    const lcp_lp_limits iterations = {.max_iterations = 1};
    assert_int_equal(lcp_lp_solve(&first, lp, &iterations, NULL), LCP_OK);
    assert_int_equal(first.outcome, LCP_LP_LIMIT);
    assert_null(first.values);
    assert_true(first.bound <= 0);
    lcp_lp_solution_dispose(&first);
    lcp_lp_free(lp);
}

static void a_gap_is_kept_and_its_bound_holds(void **state)
{
    (void)state;
    random_source random = {.state = 23};
    for (int i = 0; i < 60; i++) {
        lcp_lp *lp = make_program(i % 2 == 0 ? PROGRAM_KNAPSACK : PROGRAM_COVERING, &random, 1);
        double best = best_by_trying(lp);
        const lcp_lp_limits limits = {.integer = true, .gap_ratio = 0.2};
        lcp_lp_solution s;
        assert_int_equal(lcp_lp_solve(&s, lp, &limits, NULL), LCP_OK);
        if (best < HUGE_VAL) {
            assert_true(s.outcome == LCP_LP_OPTIMAL || s.outcome == LCP_LP_FEASIBLE);
            assert_true(s.bound <= best + 1e-7);
            assert_true(s.objective >= best - 1e-7);
            assert_true(s.objective <= best + 0.2 * fabs(s.objective) + 1e-7);
        }
        lcp_lp_solution_dispose(&s);
        lcp_lp_free(lp);
    }
}

/* One change of a program between two solves of a session. */
static void change(lcp_lp *lp, random_source *random)
{
    int32_t columns = lcp_lp_columns(lp);
    int32_t rows = lcp_lp_rows(lp);
    int64_t kind = pick(random, 0, 3);
    if (kind == 0) {
        int32_t row = lcp_lp_add_row(lp, NULL, -LCP_LP_INFINITY, (double)pick(random, 2, 30));
        for (int32_t c = 0; c < columns; c++) {
            lcp_lp_set(lp, row, c, (double)pick(random, 0, 5));
        }
    } else if (kind == 1) {
        int32_t column = lcp_lp_add_column(lp, NULL, 0, 3, (double)pick(random, -9, 9), false);
        for (int32_t r = 0; r < rows; r++) {
            lcp_lp_set(lp, r, column, (double)pick(random, 0, 5));
        }
    } else if (kind == 2) {
        lcp_lp_set_bounds(lp, (int32_t)pick(random, 0, columns - 1), 0, (double)pick(random, 0, 4));
    } else {
        lcp_lp_set_cost(lp, (int32_t)pick(random, 0, columns - 1), (double)pick(random, -1000, 9));
    }
}

static void a_session_equals_fresh_solves(void **state)
{
    (void)state;
    random_source random = {.state = 31};
    for (int i = 0; i < 20; i++) {
        lcp_lp *lp = make_program(PROGRAM_KNAPSACK, &random, 1);
        lcp_lp_session *session = lcp_lp_session_new(lp);
        for (int step = 0; step < 12; step++) {
            lcp_lp_solution warm;
            lcp_lp_solution fresh;
            assert_int_equal(lcp_lp_session_solve(&warm, session, &relaxed, NULL), LCP_OK);
            assert_int_equal(lcp_lp_solve(&fresh, lp, &relaxed, NULL), LCP_OK);
            assert_int_equal(warm.outcome, LCP_LP_OPTIMAL);
            assert_int_equal(fresh.outcome, LCP_LP_OPTIMAL);
            assert_true(fabs(warm.objective - fresh.objective) <= 1e-9 * (1 + fabs(fresh.objective)));
            lcp_lp_solution_dispose(&warm);
            lcp_lp_solution_dispose(&fresh);
            change(lp, &random);
        }
        lcp_lp_session_free(session);
        lcp_lp_free(lp);
    }
}

static int free_environment(void **state)
{
    (void)state;
    lcp_solver_thread_end();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integer_programs_equal_trying_every_point),
        cmocka_unit_test(threads_do_not_disturb_each_other),
        cmocka_unit_test(duals_price_the_rows),
        cmocka_unit_test(outcomes),
        cmocka_unit_test(numbers_that_are_none_are_refused),
        cmocka_unit_test(duplicates_long_names_and_places_out_of_range),
        cmocka_unit_test(limits_stop_and_the_answer_repeats),
        cmocka_unit_test(a_gap_is_kept_and_its_bound_holds),
        cmocka_unit_test(a_session_equals_fresh_solves),
    };
    return cmocka_run_group_tests(tests, NULL, free_environment);
}
