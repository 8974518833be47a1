/* Programs written as LP text and solved by other programs, where those are installed: same optimum, same verdict. Runs
 * in a folder where it may write. */
#include "support.h"

#include "program_maker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAMS 80

/* One line of a judge's answer: the cost, or HUGE_VAL for infeasible; false if the line says neither. */
typedef struct judge {
    const char *probe; /* succeeds where the judge is installed */
    const char *solve; /* judge.lp to judge.sol */
    bool (*read)(const char *line, double *cost);
} judge;

/* "s mip <rows> <columns> <status> <cost>", status o (optimal) or n (infeasible). */
static bool read_glpsol(const char *line, double *cost)
{
    char status = '\0';
    if (sscanf(line, "s mip %*d %*d %c %lf", &status, cost) != 2 || (status != 'o' && status != 'n')) {
        return false;
    }
    *cost = status == 'n' ? HUGE_VAL : *cost;
    return true;
}

/* "Optimal - objective value <cost>" or "Infeasible - ..."; "Integer infeasible - ..." of branch and bound. */
static bool read_cbc(const char *line, double *cost)
{
    if (strncmp(line, "Infeasible", 10) == 0 || strncmp(line, "Integer infeasible", 18) == 0) {
        *cost = HUGE_VAL;
        return true;
    }
    return sscanf(line, "Optimal - objective value %lf", cost) == 1;
}

static double ask(const judge *by, const lcp_lp *lp)
{
    FILE *file = fopen("judge.lp", "w");
    assert_non_null(file);
    assert_int_equal(lcp_lp_write(lp, file, NULL), LCP_OK);
    assert_int_equal(fclose(file), 0);
    remove("judge.sol");
    assert_int_equal(system(by->solve), 0);
    file = fopen("judge.sol", "r");
    assert_non_null(file);
    char line[256];
    double cost = 0;
    bool found = false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        found = by->read(line, &cost);
    }
    fclose(file);
    if (!found) {
        fail_msg("no verdict in judge.sol of: %s", by->solve);
    }
    return cost;
}

static void judge_agrees(void **state)
{
    const judge *by = *state;
    if (system(by->probe) != 0) {
        print_message("not installed: %s\n", by->solve);
        skip();
    }
    random_source random = {.state = 5};
    int infeasible = 0;
    for (int i = 0; i < PROGRAMS; i++) {
        lcp_lp *lp = make_program((program_kind)(i % PROGRAM_KINDS), &random, 1);
        const lcp_lp_limits limits = {.integer = true};
        lcp_lp_solution ours;
        assert_int_equal(lcp_lp_solve(&ours, lp, &limits, NULL), LCP_OK);
        double cost = ask(by, lp);
        infeasible += !isfinite(cost);
        if (isfinite(cost)) {
            assert_int_equal(ours.outcome, LCP_LP_OPTIMAL);
            assert_true(fabs(ours.objective - cost) <= 1e-6 * (1 + fabs(cost)));
        } else {
            assert_int_equal(ours.outcome, LCP_LP_INFEASIBLE);
        }
        lcp_lp_solution_dispose(&ours);
        lcp_lp_free(lp);
    }
    assert_in_range(infeasible, 1, PROGRAMS / 2);
}

/* A column that no row has, a free one, one without a lower bound, an empty row, a row with both sides: 3 - 7 - 2 + 0.
 */
static void text_of_odd_lines_is_read(void **state)
{
    const judge *by = *state;
    if (system(by->probe) != 0) {
        skip();
    }
    lcp_lp *lp = lcp_lp_new();
    lcp_lp_add_column(lp, "alone", 3, 8, 1, true);
    int32_t any = lcp_lp_add_column(lp, NULL, -LCP_LP_INFINITY, LCP_LP_INFINITY, 1, false);
    int32_t below = lcp_lp_add_column(lp, NULL, -LCP_LP_INFINITY, 2, -1, false);
    lcp_lp_add_row(lp, "empty", -1, 1);
    lcp_lp_set(lp, lcp_lp_add_row(lp, "both sides", -7, 7), any, 1);
    lcp_lp_set(lp, lcp_lp_add_row(lp, "neither side", -LCP_LP_INFINITY, LCP_LP_INFINITY), below, 1);
    assert_close(ask(by, lp), -6, 1e-9);
    lcp_lp_free(lp);
}

int main(void)
{
    static judge glpsol = {"command -v glpsol >/dev/null 2>&1", "glpsol --lp judge.lp -w judge.sol >judge.log",
                           read_glpsol};
    static judge cbc = {"command -v cbc >/dev/null 2>&1", "cbc judge.lp solve solu judge.sol >judge.log", read_cbc};
    const struct CMUnitTest tests[] = {
        {"glpsol_agrees", judge_agrees, NULL, NULL, &glpsol},
        {"cbc_agrees", judge_agrees, NULL, NULL, &cbc},
        {"glpsol_reads_odd_lines", text_of_odd_lines_is_read, NULL, NULL, &glpsol},
        {"cbc_reads_odd_lines", text_of_odd_lines_is_read, NULL, NULL, &cbc},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
