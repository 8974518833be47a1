/* The order of work for one candidate: bounds from the stages alone, a first split and its recompute, the master
 * program with rows made as needed, its rounding, branch and bound where it is small, local search by replay. */
#include "partition/solve_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_ROUNDS 60
#define DEFAULT_NODES 400
#define MASTER_ITERATIONS 4000 /* of the simplex on one master: bounds its time where GLPK is slow or stalls */
#define IMPROVE_REPLAYS 120
#define IMPROVE_PASSES 100000 /* passes replayed in all by one local search: bounds its time on deep pipelines */
#define WORTH_SEARCHING 1.06  /* times the cutoff: local search gains less than this */
#define MASTER_CELLS 600      /* stages x chunks x classes beyond which a program is not worth its time */

void lcp_partition_dispose(lcp_partition *partition)
{
    for (int32_t d = 0; partition->recompute_counts != NULL && d < partition->pipeline_count; d++) {
        free(partition->recompute_counts[d]);
    }
    free(partition->recompute_counts);
    free(partition->stage_layers);
    *partition = (lcp_partition){0};
}

void lcp_equal_split(int32_t *stage_layers, int32_t stages, int32_t layers)
{
    for (int32_t s = 0; s < stages; s++) {
        stage_layers[s] = layers / stages + (s < layers % stages);
    }
}

static size_t counts_size(const lcp_view *v)
{
    return (size_t)v->chunks * (size_t)v->stages * (size_t)v->classes * LCP_RECOMPUTE_COUNT;
}

/* Room for the answer, once. */
static lcp_status prepare_answer(lcp_solve *solve)
{
    lcp_partition *out = solve->out;
    if (out->stage_layers != NULL) {
        return LCP_OK;
    }
    out->stage_count = solve->views[0].stages;
    out->pipeline_count = solve->input->pipeline_count;
    out->stage_layers = calloc((size_t)out->stage_count, sizeof *out->stage_layers);
    out->recompute_counts = calloc((size_t)out->pipeline_count, sizeof *out->recompute_counts);
    bool complete = out->stage_layers != NULL && out->recompute_counts != NULL;
    for (int32_t d = 0; complete && d < out->pipeline_count; d++) {
        out->recompute_counts[d] = calloc(counts_size(&solve->views[d]), sizeof(int32_t));
        complete = out->recompute_counts[d] != NULL;
    }
    return complete ? LCP_OK : lcp_fail(solve->err, LCP_NOMEM, "", "cannot hold the choices");
}

lcp_status lcp_solve_take(lcp_solve *solve, const lcp_fill *fills, const int32_t *stage_layers)
{
    double seconds = 0;
    for (int32_t d = 0; d < solve->input->pipeline_count; d++) {
        seconds = fmax(seconds, fills[d].makespan_seconds);
    }
    if (solve->out->found && !(seconds < solve->out->iteration_seconds)) {
        return LCP_OK;
    }
    lcp_status status = prepare_answer(solve);
    if (status != LCP_OK) {
        return status;
    }
    solve->out->found = true;
    solve->out->iteration_seconds = seconds;
    memcpy(solve->out->stage_layers, stage_layers, (size_t)solve->out->stage_count * sizeof *stage_layers);
    for (int32_t d = 0; d < solve->input->pipeline_count; d++) {
        memcpy(solve->out->recompute_counts[d], fills[d].counts, counts_size(&solve->views[d]) * sizeof(int32_t));
    }
    return LCP_OK;
}

static bool proven(const lcp_solve *solve)
{
    const lcp_partition *out = solve->out;
    return out->found && out->iteration_seconds * (1 - solve->input->gap_ratio) <= out->lower_bound_seconds;
}

/* Recompute for one pipeline under a fixed split: from wanted layers (may be NULL), improved by replay. */
static lcp_status fill_pipeline(lcp_solve *solve, lcp_fill *f, int32_t pipeline, const int32_t *stage_layers,
                                const double *wanted, bool *fits)
{
    lcp_status status = lcp_fill_build(f, &solve->views[pipeline], stage_layers, solve->err);
    if (status == LCP_OK) {
        *fits = lcp_fill_round(f, wanted);
    }
    return status == LCP_OK && *fits ? lcp_fill_replay(f, solve->err) : status;
}

/* At most `most` replays, fewer where each is long. */
static int32_t affordable(const lcp_view *v, int32_t most)
{
    int64_t by_size = IMPROVE_PASSES / (2 * (int64_t)v->stages * v->chunks);
    return by_size < most ? (int32_t)by_size : most;
}

static bool worth_a_program(const lcp_view *v)
{
    return (int64_t)v->stages * v->chunks * v->classes <= MASTER_CELLS;
}

/* Layers wanted by the program of one pipeline with its split fixed. */
static lcp_status wanted_for_split(lcp_solve *solve, int32_t pipeline, const int32_t *stage_layers, double *wanted,
                                   bool *known)
{
    lcp_master master;
    lcp_master_outcome outcome;
    lcp_master_limits limits = {.cutoff_seconds = HUGE_VAL, .gap_ratio = solve->input->gap_ratio / 2};
    limits.max_rounds = solve->input->max_rounds > 0 ? solve->input->max_rounds : DEFAULT_ROUNDS;
    limits.max_iterations = MASTER_ITERATIONS;
    *known = false;
    lcp_status status =
        lcp_master_build(&master, &solve->views[pipeline], solve->out->lower_bound_seconds, stage_layers, solve->err);
    if (status == LCP_OK) {
        status = lcp_master_solve(&outcome, &master, &limits, solve->err);
        solve->out->lp_solves += master.lp_solves;
        solve->out->rounds += master.rounds;
        *known = status == LCP_OK && outcome != LCP_MASTER_INFEASIBLE && master.solved;
        if (*known) {
            lcp_master_wanted(&master, stage_layers, wanted);
        }
    }
    lcp_master_dispose(&master);
    return status;
}

/* A pipeline that came out slower than the bound allows gets the program's advice, and local search. */
static lcp_status polish_pipeline(lcp_solve *solve, lcp_fill *f, int32_t pipeline, const int32_t *stage_layers)
{
    double goal = solve->out->lower_bound_seconds * (1 + solve->input->gap_ratio);
    if (f->makespan_seconds <= goal) {
        return LCP_OK;
    }
    double *wanted = malloc(counts_size(&solve->views[pipeline]) * sizeof *wanted);
    lcp_fill other = {0};
    bool known = false;
    bool fits = false;
    lcp_status status = wanted != NULL ? LCP_OK : lcp_fail(solve->err, LCP_NOMEM, "", "cannot hold the choices");
    if (status == LCP_OK && worth_a_program(&solve->views[pipeline])) {
        status = wanted_for_split(solve, pipeline, stage_layers, wanted, &known);
    }
    if (status == LCP_OK && known) {
        status = fill_pipeline(solve, &other, pipeline, stage_layers, wanted, &fits);
    }
    if (status == LCP_OK && fits && other.makespan_seconds < f->makespan_seconds) {
        lcp_fill swap = *f;
        *f = other;
        other = swap;
    }
    if (status == LCP_OK && f->makespan_seconds > goal) {
        status = lcp_fill_improve(f, affordable(&solve->views[pipeline], IMPROVE_REPLAYS), solve->err);
    }
    lcp_fill_dispose(&other);
    free(wanted);
    return status;
}

lcp_status lcp_solve_try_split(lcp_solve *solve, const int32_t *stage_layers, const double *wanted, bool polish)
{
    int32_t pipelines = solve->input->pipeline_count;
    lcp_fill *fills = calloc((size_t)pipelines, sizeof *fills);
    if (fills == NULL) {
        return lcp_fail(solve->err, LCP_NOMEM, "", "cannot hold %d pipelines", pipelines);
    }
    lcp_status status = LCP_OK;
    bool fits = true;
    for (int32_t d = 0; status == LCP_OK && fits && d < pipelines; d++) {
        status = fill_pipeline(solve, &fills[d], d, stage_layers, d == solve->master_pipeline ? wanted : NULL, &fits);
        if (status == LCP_OK && fits && polish) {
            status = polish_pipeline(solve, &fills[d], d, stage_layers);
        }
    }
    if (status == LCP_OK && fits) {
        status = lcp_solve_take(solve, fills, stage_layers);
    }
    for (int32_t d = 0; d < pipelines; d++) {
        lcp_fill_dispose(&fills[d]);
    }
    free(fills);
    return status;
}

static lcp_status solve_master(lcp_solve *solve, int32_t *stage_layers)
{
    const lcp_view *v = &solve->views[solve->master_pipeline];
    lcp_master master;
    lcp_master_outcome outcome = LCP_MASTER_LIMIT;
    lcp_master_limits limits = {.cutoff_seconds = solve->input->cutoff_seconds,
                                .gap_ratio = solve->input->gap_ratio / 4};
    limits.max_rounds = solve->input->max_rounds > 0 ? solve->input->max_rounds : DEFAULT_ROUNDS;
    limits.max_nodes = solve->input->max_nodes > 0 ? solve->input->max_nodes : DEFAULT_NODES;
    limits.max_iterations = MASTER_ITERATIONS;
    double *wanted = malloc(counts_size(v) * sizeof *wanted);
    lcp_status status = lcp_master_build(&master, v, solve->out->lower_bound_seconds, NULL, solve->err);
    if (status == LCP_OK && wanted == NULL) {
        status = lcp_fail(solve->err, LCP_NOMEM, "", "cannot hold the choices");
    }
    for (int32_t integer = 0; status == LCP_OK && integer < 2 && !proven(solve); integer++) {
        limits.integer = integer == 1;
        limits.max_rounds = integer == 1 ? 8 : limits.max_rounds;
        status = lcp_master_solve(&outcome, &master, &limits, solve->err);
        solve->out->lower_bound_seconds = fmax(solve->out->lower_bound_seconds, master.bound_seconds);
        if (status != LCP_OK || outcome == LCP_MASTER_CUTOFF || outcome == LCP_MASTER_INFEASIBLE || !master.solved) {
            break;
        }
        lcp_master_round_split(&master, stage_layers);
        lcp_master_wanted(&master, stage_layers, wanted);
        status = lcp_solve_try_split(solve, stage_layers, wanted, integer == 1);
        if (master.iterations >= limits.max_iterations) {
            break; /* a relaxation that was not finished is no start for branch and bound */
        }
    }
    solve->out->lp_solves += master.lp_solves;
    solve->out->mip_nodes += master.mip_nodes;
    solve->out->rounds += master.rounds;
    lcp_master_dispose(&master);
    free(wanted);
    return status;
}

/* Moves one layer between neighbouring stages while that helps. */
static lcp_status shift_layers(lcp_solve *solve, int32_t *stage_layers, int32_t tries)
{
    lcp_status status = LCP_OK;
    bool progress = true;
    int32_t used = 0;
    while (status == LCP_OK && progress && !proven(solve) && used < tries) {
        progress = false;
        for (int32_t s = 0; status == LCP_OK && s + 1 < solve->out->stage_count; s++) {
            for (int32_t direction = -1; status == LCP_OK && direction <= 1 && used < tries; direction += 2) {
                memcpy(stage_layers, solve->out->stage_layers, (size_t)solve->out->stage_count * sizeof *stage_layers);
                stage_layers[s] += direction;
                stage_layers[s + 1] -= direction;
                if (stage_layers[s] < 1 || stage_layers[s + 1] < 1) {
                    continue;
                }
                double before = solve->out->iteration_seconds;
                status = lcp_solve_try_split(solve, stage_layers, NULL, false);
                used++;
                progress = progress || solve->out->iteration_seconds < before;
            }
        }
    }
    return status;
}

/* The bound of every pipeline from its stages alone; the largest counts. */
static lcp_status bound_stages(lcp_solve *solve, int32_t *stage_layers)
{
    for (int32_t d = 0; d < solve->input->pipeline_count; d++) {
        double bound = 0;
        lcp_status status =
            lcp_split_minmax(&bound, NULL, &solve->views[d], lcp_stage_seconds_bound, &solve->bounds[d], solve->err);
        if (status != LCP_OK) {
            return status;
        }
        if (d == 0 || bound > solve->out->lower_bound_seconds) {
            solve->out->lower_bound_seconds = bound;
            solve->master_pipeline = d;
        }
    }
    int32_t d = solve->master_pipeline;
    double bound = 0;
    return lcp_split_minmax(&bound, stage_layers, &solve->views[d], lcp_stage_seconds_bound, &solve->bounds[d],
                            solve->err);
}

static lcp_status solve_free_split(lcp_solve *solve, int32_t *stage_layers)
{
    lcp_status status = lcp_solve_try_split(solve, stage_layers, NULL, false);
    if (status == LCP_OK && !solve->out->found) {
        status = lcp_solve_leanest_split(solve, stage_layers);
    }
    if (status != LCP_OK || solve->out->infeasible || proven(solve)) {
        return status;
    }
    status = worth_a_program(&solve->views[solve->master_pipeline]) ? solve_master(solve, stage_layers) : LCP_OK;
    bool near = solve->out->iteration_seconds < WORTH_SEARCHING * solve->input->cutoff_seconds;
    bool worth_it = solve->out->found && near && solve->out->lower_bound_seconds < solve->input->cutoff_seconds;
    if (status == LCP_OK && worth_it && !proven(solve)) {
        int32_t tries = affordable(&solve->views[0], 4 * solve->out->stage_count * solve->input->pipeline_count);
        status = shift_layers(solve, stage_layers, tries / solve->input->pipeline_count);
    }
    if (status == LCP_OK && worth_it && !proven(solve)) {
        memcpy(stage_layers, solve->out->stage_layers, (size_t)solve->out->stage_count * sizeof *stage_layers);
        status = lcp_solve_try_split(solve, stage_layers, NULL, true);
    }
    return status;
}

/* The only split in scope: what does not fit there does not fit. */
static lcp_status solve_equal_split(lcp_solve *solve, int32_t *stage_layers)
{
    lcp_equal_split(stage_layers, solve->views[0].stages, solve->views[0].layers);
    lcp_status status = solve->input->uniform_recompute ? lcp_solve_uniform(solve, stage_layers)
                                                        : lcp_solve_try_split(solve, stage_layers, NULL, true);
    if (status == LCP_OK && !solve->out->found) {
        lcp_solve_note_missing(solve, stage_layers);
    }
    return status;
}

static lcp_status solve_stages(lcp_solve *solve)
{
    const lcp_view *v = &solve->views[0];
    int32_t *stage_layers = calloc((size_t)v->stages, sizeof *stage_layers);
    lcp_status status =
        stage_layers != NULL ? LCP_OK : lcp_fail(solve->err, LCP_NOMEM, "", "cannot split %d layers", v->layers);
    if (status == LCP_OK) {
        status = bound_stages(solve, stage_layers);
    }
    if (status == LCP_OK && !isfinite(solve->out->lower_bound_seconds)) {
        lcp_solve_note_missing(solve, stage_layers); /* some window cannot fit, whatever the split */
        goto out;
    }
    if (status != LCP_OK || solve->out->lower_bound_seconds >= solve->input->cutoff_seconds) {
        goto out;
    }
    if (solve->input->equal_layers) {
        status = solve_equal_split(solve, stage_layers);
    } else if (solve->input->uniform_recompute) {
        status = lcp_solve_uniform_splits(solve, stage_layers);
    } else {
        status = solve_free_split(solve, stage_layers);
    }
out:
    free(stage_layers);
    return status;
}

static lcp_status build_views(lcp_solve *solve)
{
    int32_t pipelines = solve->input->pipeline_count;
    solve->views = calloc((size_t)pipelines, sizeof *solve->views);
    solve->bounds = calloc((size_t)pipelines, sizeof *solve->bounds);
    if (solve->views == NULL || solve->bounds == NULL) {
        return lcp_fail(solve->err, LCP_NOMEM, "", "cannot hold %d pipelines", pipelines);
    }
    lcp_status status = LCP_OK;
    solve->alone = true;
    for (int32_t d = 0; status == LCP_OK && d < pipelines; d++) {
        status = lcp_view_build(&solve->views[d], solve->input, d, solve->err);
        solve->alone = solve->alone && status == LCP_OK && lcp_chunks_alone(&solve->views[d]);
    }
    for (int32_t d = 0; status == LCP_OK && !solve->alone && d < pipelines; d++) {
        status = lcp_stage_bounds_build(&solve->bounds[d], &solve->views[d], solve->err);
    }
    return status;
}

static void free_views(lcp_solve *solve)
{
    for (int32_t d = 0; solve->views != NULL && solve->bounds != NULL && d < solve->input->pipeline_count; d++) {
        lcp_view_dispose(&solve->views[d]);
        lcp_stage_bounds_dispose(&solve->bounds[d]);
    }
    free(solve->views);
    free(solve->bounds);
}

lcp_status lcp_partition_bound(double *bound_seconds, int64_t *missing, const lcp_partition_input *input,
                               int32_t pipeline, lcp_error *err)
{
    lcp_view view = {0};
    lcp_stage_bounds bounds = {0};
    *bound_seconds = 0;
    *missing = 0;
    if (input->cost->layout.pp == 1) {
        return LCP_OK;
    }
    int32_t *stage_layers = calloc((size_t)input->cost->layout.pp, sizeof *stage_layers);
    lcp_status status = stage_layers != NULL ? lcp_view_build(&view, input, pipeline, err)
                                             : lcp_fail(err, LCP_NOMEM, "", "cannot bound a pipeline");
    if (status == LCP_OK) {
        status = lcp_stage_bounds_build(&bounds, &view, err);
    }
    if (status == LCP_OK) {
        status = lcp_split_minmax(bound_seconds, NULL, &view, lcp_stage_seconds_bound, &bounds, err);
    }
    if (status == LCP_OK && !isfinite(*bound_seconds)) {
        *missing = lcp_missing_bytes(&view, stage_layers);
    }
    free(stage_layers);
    lcp_stage_bounds_dispose(&bounds);
    lcp_view_dispose(&view);
    return status;
}

lcp_status lcp_partition_solve(lcp_partition *out, const lcp_partition_input *input, lcp_error *err)
{
    *out = (lcp_partition){0};
    lcp_solve solve = {.input = input, .out = out, .err = err};
    lcp_status status = build_views(&solve);
    if (status == LCP_OK && solve.alone && !input->uniform_recompute) {
        status = lcp_solve_single_stage(&solve);
    } else if (status == LCP_OK && solve.alone) {
        status = lcp_solve_single_stage(&solve); /* its bound holds for uniform choices too */
        if (status == LCP_OK && out->found) {
            int32_t all = solve.views[0].layers;
            out->found = false;
            status = solve_equal_split(&solve, &all);
        }
    } else if (status == LCP_OK) {
        status = solve_stages(&solve);
    }
    free_views(&solve);
    if (out->infeasible) {
        out->found = false;
    }
    if (out->found && out->lower_bound_seconds > out->iteration_seconds) {
        out->lower_bound_seconds = out->iteration_seconds; /* rounding of the last digits */
    }
    if (status != LCP_OK) {
        lcp_partition_dispose(out);
    }
    return status;
}
