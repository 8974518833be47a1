#include "lcp/plan.h"
#include "lcp/problem.h"

#include <stdlib.h>

void lcp_workload_dispose(lcp_workload *workload)
{
    free(workload->lengths_tokens);
    *workload = (lcp_workload){0};
}

void lcp_model_dispose(lcp_model *model)
{
    free(model->classes);
    free(model->layer_class);
    *model = (lcp_model){0};
}

void lcp_cluster_dispose(lcp_cluster *cluster)
{
    free(cluster->groups);
    free(cluster->links);
    *cluster = (lcp_cluster){0};
}

void lcp_problem_dispose(lcp_problem *problem)
{
    lcp_model_dispose(&problem->model);
    lcp_cluster_dispose(&problem->cluster);
    lcp_workload_dispose(&problem->workload);
}

void lcp_plan_dispose(lcp_plan *plan)
{
    for (int32_t i = 0; plan->chunks != NULL && i < plan->chunk_count; i++) {
        free(plan->chunks[i].recompute);
    }
    for (int32_t i = 0; plan->pipelines != NULL && i < plan->layout.dp; i++) {
        lcp_schedule_dispose(&plan->pipelines[i]);
    }
    free(plan->stages);
    free(plan->chunks);
    free(plan->segments);
    free(plan->pipelines);
    free(plan->predicted.stages);
    free(plan->alternatives);
    *plan = (lcp_plan){0};
}
