/* Plans a small problem through the installed library: consumer MODEL CLUSTER WORKLOAD PLAN. */
#include <lcp/lcp.h>

#include <stdio.h>

static lcp_status plan_and_verify(char **files, lcp_error *err)
{
    lcp_problem problem = {.options = lcp_options_default()};
    lcp_plan plan = {0};
    lcp_status status = lcp_problem_read_files(&problem, files[0], files[1], files[2], err);
    if (status == LCP_OK) {
        status = lcp_problem_plan(&plan, &problem, err);
    }
    if (status == LCP_OK) {
        status = lcp_plan_verify(&plan, &problem, err);
    }
    if (status == LCP_OK) {
        status = lcp_plan_write_file(files[3], &plan, &problem, err);
    }
    if (status == LCP_OK) {
        printf("%d stages, %d chunks, %.6g s\n", plan.stage_count, plan.chunk_count, plan.predicted.iteration_seconds);
    }
    lcp_plan_dispose(&plan);
    lcp_problem_dispose(&problem);
    return status;
}

int main(int argc, char **argv)
{
    lcp_error err = {0};
    if (argc != 5) {
        fprintf(stderr, "usage: consumer MODEL CLUSTER WORKLOAD PLAN\n");
        return 2;
    }
    lcp_status status = plan_and_verify(argv + 1, &err);
    if (status != LCP_OK) {
        fprintf(stderr, "consumer: %s: %s\n", err.where, err.text);
    }
    return (int)status;
}
