/* What memory allows at best: everything at its leanest policy. */
#include "partition/solve_internal.h"

#include <math.h>

int64_t lcp_missing_bytes(const lcp_view *v, int32_t *stage_layers)
{
    double most = 0;
    int32_t first = 0;
    lcp_equal_split(stage_layers, v->stages, v->layers);
    for (int32_t s = 0; s < v->stages; s++) {
        most = fmax(most, lcp_stage_least_bytes(v, s, first, first + stage_layers[s]));
        first += stage_layers[s];
    }
    double missing = ceil(most) - (double)v->cost->capacity_bytes;
    return missing > 1 ? (int64_t)missing : 1;
}

void lcp_solve_note_missing(lcp_solve *solve, int32_t *stage_layers)
{
    solve->out->infeasible = true;
    for (int32_t d = 0; d < solve->input->pipeline_count; d++) {
        int64_t missing = lcp_missing_bytes(&solve->views[d], stage_layers);
        solve->out->missing_bytes = missing > solve->out->missing_bytes ? missing : solve->out->missing_bytes;
    }
}

double lcp_least_bytes_of_all(const void *context, int32_t stage, int32_t first, int32_t last)
{
    const lcp_solve *solve = context;
    double most = 0;
    for (int32_t d = 0; d < solve->input->pipeline_count; d++) {
        most = fmax(most, lcp_stage_least_bytes(&solve->views[d], stage, first, last));
    }
    return most;
}

lcp_status lcp_solve_leanest_split(lcp_solve *solve, int32_t *stage_layers)
{
    const lcp_view *v = &solve->views[solve->master_pipeline];
    const lcp_stage_price prices[] = {lcp_stage_bytes_bound, lcp_stage_least_bytes, lcp_least_bytes_of_all};
    const void *const contexts[] = {&solve->bounds[solve->master_pipeline], v, solve};
    int32_t count = solve->input->pipeline_count > 1 ? 3 : 2;
    lcp_status status = LCP_OK;
    for (int32_t i = 0; status == LCP_OK && i < count && !solve->out->found; i++) {
        double least = 0;
        status = lcp_split_minmax(&least, stage_layers, v, prices[i], contexts[i], solve->err);
        if (status == LCP_OK && least > (double)v->cost->capacity_bytes) {
            lcp_solve_note_missing(solve, stage_layers);
            return LCP_OK;
        }
        if (status == LCP_OK) {
            status = lcp_solve_try_split(solve, stage_layers, NULL, false);
        }
    }
    return status;
}
