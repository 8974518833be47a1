#include "partition/master.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void lcp_master_dispose(lcp_master *master)
{
    lcp_lp_session_free(master->session);
    lcp_lp_free(master->lp);
    free(master->n);
    free(master->y);
    free(master->r);
    free(master->coupled);
    free(master->n_value);
    *master = (lcp_master){0};
}

static size_t r_size(const lcp_view *v)
{
    return (size_t)v->chunks * (size_t)v->stages * (size_t)v->classes * LCP_RECOMPUTE_COUNT;
}

static size_t y_size(const lcp_view *v)
{
    return (size_t)(v->stages - 1) * (size_t)(v->layers + 1);
}

static lcp_status allocate(lcp_master *m, lcp_error *err)
{
    const lcp_view *v = m->view;
    size_t stage_classes = (size_t)v->stages * (size_t)v->classes;
    m->lp = lcp_lp_new();
    m->session = m->lp != NULL ? lcp_lp_session_new(m->lp) : NULL;
    m->n = malloc(stage_classes * sizeof *m->n);
    m->y = malloc((y_size(v) + 1) * sizeof *m->y);
    m->r = malloc(r_size(v) * sizeof *m->r);
    m->coupled = calloc((size_t)v->chunks * stage_classes, sizeof *m->coupled);
    m->n_value = calloc(stage_classes + r_size(v) + y_size(v), sizeof *m->n_value);
    if (m->session == NULL || m->n == NULL || m->y == NULL || m->r == NULL || m->coupled == NULL ||
        m->n_value == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold the program of %d stages and %d chunks", v->stages, v->chunks);
    }
    m->r_value = m->n_value + stage_classes;
    m->y_value = m->r_value + r_size(v);
    return LCP_OK;
}

static void add_n(lcp_master *m, const int32_t *fixed)
{
    const lcp_view *v = m->view;
    int32_t first = 0;
    for (int32_t s = 0; s < v->stages; s++) {
        for (int32_t c = 0; c < v->classes; c++) {
            double lower = v->classes == 1 ? 1 : 0;
            double upper = lcp_view_layers(v, c, 0, v->layers);
            if (fixed != NULL) {
                lower = lcp_view_layers(v, c, first, first + fixed[s]);
                upper = lower;
            }
            char name[48];
            snprintf(name, sizeof name, "layers stage %d class %d", s, c);
            m->n[s * v->classes + c] =
                lcp_lp_add_column(m->lp, name, lower, upper, 0, fixed == NULL && v->classes == 1);
        }
        first += fixed != NULL ? fixed[s] : 0;
    }
}

/* All layers of every class are somewhere. */
static void add_totals(lcp_master *m)
{
    const lcp_view *v = m->view;
    for (int32_t c = 0; c < v->classes; c++) {
        double total = lcp_view_layers(v, c, 0, v->layers);
        int32_t row = lcp_lp_add_row(m->lp, "all layers", total, total);
        for (int32_t s = 0; s < v->stages; s++) {
            lcp_lp_set(m->lp, row, m->n[s * v->classes + c], 1);
        }
    }
}

static int32_t y_column(const lcp_master *m, int32_t stage, int32_t end)
{
    return m->y[(size_t)stage * (size_t)(m->view->layers + 1) + (size_t)end];
}

/* y[s][l] = 1 if stage s ends after l layers; the last stage ends after all. */
static void add_ends(lcp_master *m)
{
    const lcp_view *v = m->view;
    for (int32_t s = 0; s + 1 < v->stages; s++) {
        int32_t one = lcp_lp_add_row(m->lp, "one end", 1, 1);
        int32_t order = s > 0 ? lcp_lp_add_row(m->lp, "ends ascend", 1, LCP_LP_INFINITY) : -1;
        for (int32_t l = s + 1; l <= v->layers - (v->stages - 1 - s); l++) {
            char name[48];
            snprintf(name, sizeof name, "stage %d ends after %d", s, l);
            int32_t column = lcp_lp_add_column(m->lp, name, 0, 1, 0, true);
            m->y[(size_t)s * (size_t)(v->layers + 1) + (size_t)l] = column;
            lcp_lp_set(m->lp, one, column, 1);
            if (order >= 0) {
                lcp_lp_set(m->lp, order, column, l);
            }
        }
        for (int32_t l = 0; order >= 0 && l <= v->layers; l++) {
            if (y_column(m, s - 1, l) >= 0) {
                lcp_lp_set(m->lp, order, y_column(m, s - 1, l), -l);
            }
        }
    }
}

/* n[s,c] = layers of class c before the end of s minus those before the end of s - 1. */
static void link_ends(lcp_master *m)
{
    const lcp_view *v = m->view;
    for (int32_t s = 0; s + 1 < v->stages; s++) {
        for (int32_t c = 0; c < v->classes; c++) {
            int32_t row = lcp_lp_add_row(m->lp, "layers from ends", 0, 0);
            lcp_lp_set(m->lp, row, m->n[s * v->classes + c], 1);
            for (int32_t l = 0; l <= v->layers; l++) {
                double layers = lcp_view_layers(v, c, 0, l);
                if (y_column(m, s, l) >= 0) {
                    lcp_lp_set(m->lp, row, y_column(m, s, l), -layers);
                }
                if (s > 0 && y_column(m, s - 1, l) >= 0) {
                    lcp_lp_set(m->lp, row, y_column(m, s - 1, l), layers);
                }
            }
        }
    }
}

static void add_r(lcp_master *m)
{
    const lcp_view *v = m->view;
    for (int32_t k = 0; k < v->chunks; k++) {
        for (int32_t s = 0; s < v->stages; s++) {
            for (int32_t c = 0; c < v->classes; c++) {
                size_t base = (((size_t)k * (size_t)v->stages + (size_t)s) * (size_t)v->classes + (size_t)c) *
                              LCP_RECOMPUTE_COUNT;
                for (size_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
                    bool useful = v->freed_bytes[lcp_view_cell(v, k, c) * LCP_RECOMPUTE_COUNT + q] > 0;
                    double most = lcp_view_layers(v, c, 0, v->layers);
                    m->r[base + q] = useful ? lcp_lp_add_column(m->lp, NULL, 0, most, 0, false) : -1;
                }
            }
        }
    }
}

/* Fill, all ops, drain of one stage: a path of every schedule whose ranks run one stage each. */
static lcp_status add_stage_path(lcp_master *m, int32_t stage, lcp_error *err)
{
    const lcp_view *v = m->view;
    const lcp_schedule *schedule = &v->tables->schedule;
    int32_t ops = schedule->op_count[stage];
    lcp_path_step *steps = malloc((size_t)(ops + 2 * stage) * sizeof *steps);
    if (steps == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold a path of %d operations", ops);
    }
    int64_t count = 0;
    for (int32_t s = 0; s < stage; s++) {
        steps[count++] = (lcp_path_step){LCP_OP_FORWARD, s, schedule->ops[stage][0].chunk, s > 0};
    }
    for (int32_t i = 0; i < ops; i++) {
        const lcp_op *op = &schedule->ops[stage][i];
        steps[count++] = (lcp_path_step){op->kind, stage, op->chunk, i == 0 && stage > 0};
    }
    lcp_master_add_path(m, steps, count, true);
    for (int32_t s = stage - 1; s >= 0; s--) {
        steps[count++] = (lcp_path_step){LCP_OP_BACKWARD, s, schedule->ops[stage][ops - 1].chunk, true};
    }
    if (stage > 0) {
        lcp_master_add_path(m, steps, count, true);
    }
    free(steps);
    return LCP_OK;
}

lcp_status lcp_master_build(lcp_master *out, const lcp_view *view, double scale_seconds,
                            const int32_t *fixed_stage_layers, lcp_error *err)
{
    *out =
        (lcp_master){.view = view, .scale_seconds = scale_seconds, .scale_bytes = (double)view->cost->capacity_bytes};
    lcp_status status = allocate(out, err);
    if (status == LCP_OK) {
        for (size_t i = 0; i < y_size(view); i++) {
            out->y[i] = -1;
        }
        out->makespan = lcp_lp_add_column(out->lp, "makespan", 0, LCP_LP_INFINITY, 1, false);
        add_n(out, fixed_stage_layers);
        if (fixed_stage_layers == NULL) {
            add_totals(out);
            if (view->classes > 1) {
                add_ends(out);
                link_ends(out);
            }
        }
        add_r(out);
    }
    for (int32_t s = 0; status == LCP_OK && s < view->stages; s++) {
        status = add_stage_path(out, s, err);
    }
    if (status != LCP_OK) {
        lcp_master_dispose(out);
    }
    return status;
}

static void read_solution(lcp_master *m, const double *values)
{
    const lcp_view *v = m->view;
    for (int32_t i = 0; i < v->stages * v->classes; i++) {
        m->n_value[i] = values[m->n[i]];
    }
    for (size_t i = 0; i < r_size(v); i++) {
        m->r_value[i] = m->r[i] >= 0 ? values[m->r[i]] : 0;
    }
    for (size_t i = 0; i < y_size(v); i++) {
        m->y_value[i] = m->y[i] >= 0 ? values[m->y[i]] : 0;
    }
}

/* Nodes that the iterations left allow, if each costs a tenth of a relaxation so far. */
static int64_t affordable_nodes(const lcp_master *m, const lcp_master_limits *limits, int64_t left)
{
    int64_t each = m->iterations / (10 * (m->lp_solves > 0 ? m->lp_solves : 1)) + 1;
    bool fewer = limits->max_iterations > 0 && (limits->max_nodes == 0 || left / each < limits->max_nodes);
    return fewer ? left / each + 1 : limits->max_nodes;
}

static lcp_status solve_once(lcp_lp_solution *out, lcp_master *m, const lcp_master_limits *limits, lcp_error *err)
{
    int64_t left = limits->max_iterations - m->iterations;
    lcp_lp_limits lp_limits = {.integer = limits->integer, .gap_ratio = limits->gap_ratio};
    lp_limits.max_iterations = limits->max_iterations > 0 ? (left > 0 ? left : 1) : 0;
    lp_limits.max_nodes = affordable_nodes(m, limits, left > 0 ? left : 0);
    lcp_status status = limits->integer ? lcp_lp_solve(out, m->lp, &lp_limits, err)
                                        : lcp_lp_session_solve(out, m->session, &lp_limits, err);
    m->lp_solves++;
    m->mip_nodes += out->nodes;
    m->iterations += out->iterations;
    return status;
}

lcp_status lcp_master_solve(lcp_master_outcome *outcome, lcp_master *master, const lcp_master_limits *limits,
                            lcp_error *err)
{
    *outcome = LCP_MASTER_LIMIT;
    for (int64_t round = 0; round < limits->max_rounds; round++) {
        lcp_lp_solution solution;
        lcp_status status = solve_once(&solution, master, limits, err);
        if (status != LCP_OK) {
            return status;
        }
        master->rounds++;
        master->bound_seconds = fmax(master->bound_seconds, solution.bound * master->scale_seconds);
        int32_t added = 0;
        double longest = 0;
        bool solved = solution.outcome == LCP_LP_OPTIMAL || solution.outcome == LCP_LP_FEASIBLE;
        if (solved) {
            read_solution(master, solution.values);
            master->solved = true;
            status = lcp_master_separate(master, solution.objective, &added, &longest, err);
        }
        lcp_lp_outcome answer = solution.outcome;
        lcp_lp_solution_dispose(&solution);
        if (status != LCP_OK || !solved) {
            *outcome = answer == LCP_LP_INFEASIBLE ? LCP_MASTER_INFEASIBLE : LCP_MASTER_LIMIT;
            return status;
        }
        if (master->bound_seconds >= limits->cutoff_seconds) {
            *outcome = LCP_MASTER_CUTOFF;
            return LCP_OK;
        }
        if (added == 0 || longest <= master->bound_seconds * (1 + limits->gap_ratio)) {
            *outcome = LCP_MASTER_DONE;
            return LCP_OK;
        }
    }
    return LCP_OK;
}

/* Expected end of a stage in layers. */
static double stage_end(const lcp_master *m, int32_t stage)
{
    const lcp_view *v = m->view;
    double end = 0;
    for (int32_t s = 0; s <= stage; s++) {
        for (int32_t c = 0; c < v->classes; c++) {
            end += m->n_value[s * v->classes + c];
        }
    }
    return end;
}

void lcp_master_round_split(const lcp_master *master, int32_t *stage_layers)
{
    const lcp_view *v = master->view;
    int32_t before = 0;
    for (int32_t s = 0; s < v->stages; s++) {
        int32_t after = v->stages - 1 - s;
        int32_t end = (int32_t)floor(stage_end(master, s) + 0.5);
        end = end < before + 1 ? before + 1 : end;
        end = end > v->layers - after || s == v->stages - 1 ? v->layers - after : end;
        stage_layers[s] = end - before;
        before = end;
    }
}

void lcp_master_wanted(const lcp_master *master, const int32_t *stage_layers, double *wanted)
{
    const lcp_view *v = master->view;
    int32_t first = 0;
    for (int32_t s = 0; s < v->stages; s++) {
        for (int32_t c = 0; c < v->classes; c++) {
            double relaxed = master->n_value[s * v->classes + c];
            double whole = lcp_view_layers(v, c, first, first + stage_layers[s]);
            for (int32_t k = 0; k < v->chunks; k++) {
                size_t base = (((size_t)k * (size_t)v->stages + (size_t)s) * (size_t)v->classes + (size_t)c) *
                              LCP_RECOMPUTE_COUNT;
                for (size_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
                    wanted[base + q] = relaxed > 1e-9 ? master->r_value[base + q] * whole / relaxed : 0;
                }
            }
        }
        first += stage_layers[s];
    }
}
