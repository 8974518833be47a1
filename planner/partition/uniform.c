/* One recompute setting for every stage and chunk: a policy and a number of layers per stage and class, clipped to what
 * the stage has. Memory falls and time grows with the number, so the smallest that fits is best for each policy. */
#include "partition/solve_internal.h"

#include <math.h>
#include <stdlib.h>

static lcp_status build_all(lcp_solve *solve, lcp_fill *fills, const int32_t *stage_layers, int32_t policy,
                            int32_t layers)
{
    for (int32_t d = 0; d < solve->input->pipeline_count; d++) {
        const lcp_view *v = &solve->views[d];
        lcp_fill_dispose(&fills[d]);
        lcp_status status = lcp_fill_build(&fills[d], v, stage_layers, solve->err);
        if (status != LCP_OK) {
            return status;
        }
        for (int32_t k = 0; k < v->chunks; k++) {
            for (int32_t s = 0; s < v->stages; s++) {
                for (int32_t c = 0; c < v->classes; c++) {
                    int32_t there = lcp_fill_count(&fills[d], k, s, c, v->base);
                    const lcp_fill_change change = {k, s, c, v->base, policy, layers < there ? layers : there};
                    lcp_fill_move(&fills[d], &change);
                }
            }
        }
    }
    return LCP_OK;
}

static bool all_fit(const lcp_solve *solve, const lcp_fill *fills)
{
    for (int32_t d = 0; d < solve->input->pipeline_count; d++) {
        size_t places = 2 * (size_t)solve->views[d].stages * (size_t)solve->views[d].chunks;
        for (size_t i = 0; i < places; i++) {
            if (fills[d].memory[i] > fills[d].capacity_bytes) {
                return false;
            }
        }
    }
    return true;
}

static lcp_status try_setting(lcp_solve *solve, lcp_fill *fills, const int32_t *stage_layers, int32_t policy,
                              int32_t layers, bool *fits)
{
    lcp_status status = build_all(solve, fills, stage_layers, policy, layers);
    *fits = status == LCP_OK && all_fit(solve, fills);
    for (int32_t d = 0; *fits && status == LCP_OK && d < solve->input->pipeline_count; d++) {
        status = lcp_fill_replay(&fills[d], solve->err);
    }
    return status == LCP_OK && *fits ? lcp_solve_take(solve, fills, stage_layers) : status;
}

/* The policy is usable if it frees something in every chunk and class of every pipeline, or changes nothing. */
static bool policy_allowed(const lcp_solve *solve, int32_t policy)
{
    return (solve->input->policy_mask >> policy & 1U) != 0 && policy != solve->views[0].base;
}

lcp_status lcp_solve_uniform(lcp_solve *solve, const int32_t *stage_layers)
{
    lcp_fill *fills = calloc((size_t)solve->input->pipeline_count, sizeof *fills);
    if (fills == NULL) {
        return lcp_fail(solve->err, LCP_NOMEM, "", "cannot hold %d pipelines", solve->input->pipeline_count);
    }
    int32_t most = 0;
    for (int32_t s = 0; s < solve->views[0].stages; s++) {
        most = stage_layers[s] > most ? stage_layers[s] : most;
    }
    bool fits = false;
    lcp_status status = try_setting(solve, fills, stage_layers, solve->views[0].base, 0, &fits);
    for (int32_t q = 0; status == LCP_OK && !fits && q < LCP_RECOMPUTE_COUNT; q++) {
        int32_t low = 1;
        int32_t high = policy_allowed(solve, q) ? most : 0;
        while (status == LCP_OK && low <= high) {
            int32_t middle = (low + high) / 2;
            bool enough = false;
            status = try_setting(solve, fills, stage_layers, q, middle, &enough);
            if (enough) {
                high = middle - 1;
            } else {
                low = middle + 1;
            }
        }
    }
    for (int32_t d = 0; d < solve->input->pipeline_count; d++) {
        lcp_fill_dispose(&fills[d]);
    }
    free(fills);
    return status;
}

lcp_status lcp_solve_uniform_splits(lcp_solve *solve, int32_t *stage_layers)
{
    double least = 0;
    lcp_status status = lcp_solve_uniform(solve, stage_layers);
    if (status == LCP_OK) {
        lcp_equal_split(stage_layers, solve->views[0].stages, solve->views[0].layers);
        status = lcp_solve_uniform(solve, stage_layers);
    }
    if (status == LCP_OK && !solve->out->found) {
        status = lcp_split_minmax(&least, stage_layers, &solve->views[0], lcp_least_bytes_of_all, solve, solve->err);
        status = status == LCP_OK ? lcp_solve_uniform(solve, stage_layers) : status;
    }
    return status;
}
