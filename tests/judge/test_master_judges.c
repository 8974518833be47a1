#define _POSIX_C_SOURCE 200809L /* popen */

/* The master of ILP 2, as a real candidate leaves it, solved by glpsol from the text we write and by cbc, which is
 * another code altogether. A judge that is not installed is skipped with a message. */
#include "support.h"

#include "input/input.h"
#include "partition/master.h"
#include "partition/split.h"
#include "search/evaluation.h"
#include "solver/lp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs a command and reads the number after `label`; false if the program is absent. */
static bool judge(const char *program, const char *command, const char *label, double *value)
{
    char line[512];
    snprintf(line, sizeof line, "command -v %s >/dev/null 2>&1", program);
    if (system(line) != 0) {
        print_message("%s is not installed: not asked\n", program);
        return false;
    }
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    bool found = false;
    while (fgets(line, sizeof line, pipe) != NULL) {
        const char *at = strstr(line, label);
        if (at != NULL && !found) {
            found = sscanf(at + strlen(label), " %lf", value) == 1;
        }
    }
    pclose(pipe);
    if (!found) {
        fail_msg("%s printed no %s", program, label);
    }
    return true;
}

/* Returns how many judges answered. */
static int hold_against_judges(const lcp_lp *lp, bool integer, double objective)
{
    const char *path = "judge_program.lp";
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(lcp_lp_write(lp, file, NULL), LCP_OK);
    fclose(file);
    char command[256];
    double value = 0;
    int judges = 0;
    double tolerance = 1e-6;
    snprintf(command, sizeof command, "glpsol --lp %s %s -o /dev/stdout 2>/dev/null", path, integer ? "" : "--nomip");
    if (judge("glpsol", command, "Objective:  obj =", &value)) {
        assert_close(value + 1, objective + 1, tolerance * 10); /* six digits are printed */
        judges++;
    }
    snprintf(command, sizeof command, "cbc %s %s 2>/dev/null", path, integer ? "ratioGap 0 solve" : "initialSolve");
    if (judge("cbc", command, integer ? "Objective value:" : "objective value", &value) ||
        (!integer && judge("cbc", command, "Optimal objective", &value))) {
        assert_close(value + 1, objective + 1, tolerance * 10);
        judges++;
    }
    remove(path);
    return judges;
}

/* Two stages of a small Llama in tight memory: the master as the planner leaves it, relaxed and with whole layers. */
static void master_programs_agree(void **state)
{
    (void)state;
    lcp_problem problem = {0};
    lcp_error err = {0};
    assert_int_equal(
        lcp_read_model(&problem.model, &problem.model_source, "../examples/models/llama-3.1-8b.json", &err), LCP_OK);
    if (lcp_read_cluster(&problem.cluster, &problem.cluster_source, "h100-sxm:1x8", &err) != LCP_OK) {
        fail_msg("%s: %s", err.where, err.text);
    }
    assert_int_equal(lcp_workload_uniform(&problem.workload, &problem.workload_source, 65536, 6, &err), LCP_OK);
    problem.options = lcp_options_default();
    lcp_candidate candidate = {.chunks_per_rank = 12};
    candidate.layout = (lcp_layout){.dp = 1,
                                    .pp = 2,
                                    .vpp = 1,
                                    .tp = 4,
                                    .ulysses = 1,
                                    .ring = 1,
                                    .ep = 1,
                                    .zero_stage = 1,
                                    .sequence_parallel = true};
    lcp_evaluation e;
    if (lcp_evaluate_candidate(&e, &problem, &candidate, HUGE_VAL, &err) != LCP_OK) {
        fail_msg("%s: %s", err.where, err.text);
    }
    lcp_partition_input input = {.cost = &e.cost, .pipeline_count = 1, .pipelines = e.pipelines, .policy_mask = 0x1f};
    input.cutoff_seconds = HUGE_VAL;
    lcp_view view;
    lcp_master master;
    assert_int_equal(lcp_view_build(&view, &input, 0, NULL), LCP_OK);
    assert_int_equal(lcp_master_build(&master, &view, 1, NULL, NULL), LCP_OK);
    lcp_master_limits limits = {.cutoff_seconds = HUGE_VAL, .max_rounds = 1000};
    lcp_master_outcome outcome;
    if (lcp_master_solve(&outcome, &master, &limits, &err) != LCP_OK) {
        fail_msg("%s: %s", err.where, err.text);
    }
    assert_int_equal(outcome, LCP_MASTER_DONE);
    assert_true(master.bound_seconds <= e.iteration_seconds * (1 + 1e-9));
    for (int integer = 0; integer < 2; integer++) {
        lcp_lp_limits lp_limits = {.integer = integer == 1};
        lcp_lp_solution solution;
        assert_int_equal(lcp_lp_solve(&solution, master.lp, &lp_limits, NULL), LCP_OK);
        assert_int_equal(solution.outcome, LCP_LP_OPTIMAL);
        hold_against_judges(master.lp, integer == 1, solution.objective);
        lcp_lp_solution_dispose(&solution);
    }
    lcp_master_dispose(&master);
    lcp_view_dispose(&view);
    lcp_evaluation_dispose(&e);
    lcp_problem_dispose(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(master_programs_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
