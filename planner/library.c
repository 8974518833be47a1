/* The entry points of lcp.h: what a program that links the library needs, without the types of JSON or the solver. */
#include "lcp/lcp.h"

#include "input/input.h"
#include "output/plan_json.h"
#include "search/search.h"
#include "verify/verify.h"

#include <stdlib.h>

lcp_status lcp_problem_read_files(lcp_problem *problem, const char *model_path, const char *cluster,
                                  const char *workload_path, lcp_error *err)
{
    lcp_status status = lcp_read_model(&problem->model, &problem->model_source, model_path, err);
    if (status == LCP_OK) {
        status = lcp_read_cluster(&problem->cluster, &problem->cluster_source, cluster, err);
    }
    if (status == LCP_OK) {
        status = lcp_read_workload(&problem->workload, &problem->workload_source, workload_path, err);
    }
    return status == LCP_OK ? lcp_problem_check(problem, err) : status;
}

lcp_status lcp_problem_plan(lcp_plan *out, const lcp_problem *problem, lcp_error *err)
{
    return lcp_plan_search(out, problem, NULL, err);
}

lcp_status lcp_plan_read_file(lcp_plan *plan, lcp_problem *problem, const char *path, lcp_error *err)
{
    return lcp_read_plan(plan, problem, path, err);
}

lcp_status lcp_plan_write_file(const char *path, const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    return lcp_plan_write(path, plan, problem, false, err);
}

lcp_status lcp_plan_verify(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    return lcp_verify(plan, problem, err);
}
