/* The only file that knows GLPK. GLPK aborts on misuse, prints to standard output, keeps an environment per thread and
 * trusts every number; here it is given checked numbers, a hook for its text, a way back from abort, costs scaled to 1,
 * and its answers are checked again. */
#include "solver/lp.h"

#include <glpk.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* What GLPK said last, kept for the error message. */
typedef struct fence {
    jmp_buf back;
    char text[256];
} fence;

static int keep_text(void *info, const char *text)
{
    fence *f = info;
    size_t used = strlen(f->text);
    size_t length = strlen(text);
    if (used + length >= sizeof f->text) {
        used = 0;
    }
    if (length < sizeof f->text - used) {
        memcpy(f->text + used, text, length + 1);
    }
    return 1; /* not to standard output */
}

static void leave_abort(void *info)
{
    fence *f = info;
    longjmp(f->back, 1);
}

const char *lcp_solver_name(void)
{
    return "GLPK";
}

const char *lcp_solver_version(void)
{
    return glp_version();
}

void lcp_solver_thread_end(void)
{
    glp_free_env();
}

struct lcp_lp_session {
    const lcp_lp *lp;
    glp_prob *problem;
    int32_t columns, rows; /* already loaded */
    double scale;          /* costs are divided by this */
    bool lost;             /* GLPK's memory is gone after an abort */
    fence fence;
};

static int bound_kind(double lower, double upper)
{
    bool low = fabs(lower) < LCP_LP_INFINITY;
    bool high = fabs(upper) < LCP_LP_INFINITY;
    if (low && high) {
        return lower < upper ? GLP_DB : GLP_FX;
    }
    return low ? GLP_LO : high ? GLP_UP : GLP_FR;
}

static double cost_scale(const lcp_lp *lp)
{
    double largest = 0;
    for (int32_t c = 0; c < lcp_lp_columns(lp); c++) {
        largest = fmax(largest, fabs(lcp_lp_column_at(lp, c).cost));
    }
    return largest > 0 ? largest : 1;
}

static void load_lines(lcp_lp_session *s)
{
    int32_t columns = lcp_lp_columns(s->lp);
    int32_t rows = lcp_lp_rows(s->lp);
    if (columns > s->columns) {
        glp_add_cols(s->problem, columns - s->columns);
    }
    if (rows > s->rows) {
        glp_add_rows(s->problem, rows - s->rows);
    }
    s->scale = cost_scale(s->lp);
    for (int32_t c = 0; c < columns; c++) {
        lcp_lp_line column = lcp_lp_column_at(s->lp, c);
        glp_set_col_bnds(s->problem, c + 1, bound_kind(column.lower, column.upper), column.lower, column.upper);
        glp_set_obj_coef(s->problem, c + 1, column.cost / s->scale);
        glp_set_col_kind(s->problem, c + 1, column.integer ? GLP_IV : GLP_CV);
    }
    for (int32_t r = 0; r < rows; r++) {
        lcp_lp_line row = lcp_lp_row_at(s->lp, r);
        glp_set_row_bnds(s->problem, r + 1, bound_kind(row.lower, row.upper), row.lower, row.upper);
    }
}

/* Room for one row or column of the matrix, 1-based as GLPK wants it. */
typedef struct vector {
    int *indices;
    double *values;
    int count;
} vector;

/* Columns new since the last load, with what they have in rows that were there already. */
static void load_new_columns(lcp_lp_session *s, const lcp_lp_entry *entries, int64_t count, vector *v)
{
    if (s->rows == 0 || s->columns == lcp_lp_columns(s->lp)) {
        return;
    }
    for (int32_t c = s->columns; c < lcp_lp_columns(s->lp); c++) {
        v->count = 0;
        for (int64_t i = 0; i < count; i++) {
            if (entries[i].column == c && entries[i].row < s->rows) {
                v->count++;
                v->indices[v->count] = entries[i].row + 1;
                v->values[v->count] = entries[i].value;
            }
        }
        glp_set_mat_col(s->problem, c + 1, v->count, v->indices, v->values);
    }
}

static void load_new_rows(lcp_lp_session *s, const lcp_lp_entry *entries, int64_t count, vector *v)
{
    int64_t i = 0;
    while (i < count && entries[i].row < s->rows) {
        i++;
    }
    for (int32_t r = s->rows; r < lcp_lp_rows(s->lp); r++) {
        v->count = 0;
        for (; i < count && entries[i].row == r; i++) {
            v->count++;
            v->indices[v->count] = entries[i].column + 1;
            v->values[v->count] = entries[i].value;
        }
        glp_set_mat_row(s->problem, r + 1, v->count, v->indices, v->values);
    }
}

static lcp_status load(lcp_lp_session *s, lcp_error *err)
{
    lcp_lp_entry *entries = NULL;
    int64_t count = 0;
    lcp_status status = lcp_lp_entries(&entries, &count, s->lp, err);
    if (status != LCP_OK) {
        return status;
    }
    size_t longest =
        (size_t)(lcp_lp_columns(s->lp) > lcp_lp_rows(s->lp) ? lcp_lp_columns(s->lp) : lcp_lp_rows(s->lp)) + 1;
    vector v = {.indices = malloc(longest * sizeof *v.indices), .values = malloc(longest * sizeof *v.values)};
    if (v.indices == NULL || v.values == NULL) {
        status = lcp_fail(err, LCP_NOMEM, "", "cannot load a program");
    } else {
        load_lines(s);
        load_new_columns(s, entries, count, &v);
        load_new_rows(s, entries, count, &v);
        s->columns = lcp_lp_columns(s->lp);
        s->rows = lcp_lp_rows(s->lp);
    }
    free(v.indices);
    free(v.values);
    free(entries);
    return status;
}

/* State of branch and bound, updated by the callback. */
typedef struct tree {
    int64_t nodes, max_nodes;
    double bound;
    bool stopped;
} tree;

static void on_tree(glp_tree *glpk_tree, void *info)
{
    tree *t = info;
    int best = glp_ios_best_node(glpk_tree);
    if (best > 0) {
        double bound = glp_ios_node_bound(glpk_tree, best);
        t->bound = bound > -1e300 ? bound : t->bound;
    }
    int total = 0;
    glp_ios_tree_size(glpk_tree, NULL, NULL, &total);
    t->nodes = total;
    if (t->max_nodes > 0 && t->nodes > t->max_nodes && !t->stopped) {
        t->stopped = true;
        glp_ios_terminate(glpk_tree);
    }
}

typedef struct code_row {
    int code;
    lcp_lp_outcome outcome;
} code_row;

/* Return codes that are answers; anything else is an error. */
static const code_row simplex_codes[] = {
    {0, LCP_LP_OPTIMAL}, {GLP_ENOPFS, LCP_LP_INFEASIBLE}, {GLP_ENODFS, LCP_LP_UNBOUNDED}, {GLP_EITLIM, LCP_LP_LIMIT}};
static const code_row tree_codes[] = {{0, LCP_LP_OPTIMAL},
                                      {GLP_ENOPFS, LCP_LP_INFEASIBLE},
                                      {GLP_ENODFS, LCP_LP_UNBOUNDED},
                                      {GLP_EMIPGAP, LCP_LP_FEASIBLE},
                                      {GLP_ESTOP, LCP_LP_LIMIT}};

static bool find_code(const code_row *rows, size_t count, int code, lcp_lp_outcome *outcome)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].code == code) {
            *outcome = rows[i].outcome;
            return true;
        }
    }
    return false;
}

static lcp_status copy_values(lcp_lp_solution *out, const lcp_lp_session *s, const lcp_lp_limits *limits,
                              lcp_error *err)
{
    out->values = malloc(((size_t)s->columns + 1) * sizeof *out->values);
    out->duals = limits->want_duals && !limits->integer ? malloc(((size_t)s->rows + 1) * sizeof *out->duals) : NULL;
    if (out->values == NULL || (limits->want_duals && !limits->integer && out->duals == NULL)) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold a solution");
    }
    for (int32_t c = 0; c < s->columns; c++) {
        double value = limits->integer ? glp_mip_col_val(s->problem, c + 1) : glp_get_col_prim(s->problem, c + 1);
        bool integer = limits->integer && lcp_lp_column_at(s->lp, c).integer;
        out->values[c] = integer ? round(value) : value;
    }
    for (int32_t r = 0; out->duals != NULL && r < s->rows; r++) {
        out->duals[r] = glp_get_row_dual(s->problem, r + 1) * s->scale;
    }
    return LCP_OK;
}

static lcp_status unexpected(const char *what, int code, fence *f, lcp_error *err)
{
    return lcp_fail(err, LCP_INTERNAL, "", "GLPK's %s returned %d: %s", what, code, f->text);
}

static lcp_status relax(lcp_lp_solution *out, lcp_lp_session *s, const lcp_lp_limits *limits, fence *f, lcp_error *err)
{
    glp_smcp parameters;
    glp_init_smcp(&parameters);
    parameters.msg_lev = GLP_MSG_OFF;
    parameters.meth = GLP_DUALP;
    parameters.it_lim =
        limits->max_iterations > 0 && limits->max_iterations < 2000000000 ? (int)limits->max_iterations : 2000000000;
    int before = glp_get_it_cnt(s->problem);
    int code = glp_simplex(s->problem, &parameters);
    if (code == GLP_EFAIL || code == GLP_ESING || code == GLP_ECOND || code == GLP_EBADB) {
        glp_std_basis(s->problem); /* a basis that went bad: once more from the start */
        parameters.meth = GLP_PRIMAL;
        code = glp_simplex(s->problem, &parameters);
    }
    out->iterations = glp_get_it_cnt(s->problem) - before;
    if (!find_code(simplex_codes, sizeof simplex_codes / sizeof simplex_codes[0], code, &out->outcome)) {
        return unexpected("simplex", code, f, err);
    }
    int answer = glp_get_status(s->problem);
    if (answer == GLP_NOFEAS || answer == GLP_UNBND) {
        out->outcome = answer == GLP_NOFEAS ? LCP_LP_INFEASIBLE : LCP_LP_UNBOUNDED;
    }
    if (out->outcome != LCP_LP_OPTIMAL) {
        return LCP_OK;
    }
    if (answer != GLP_OPT) {
        return unexpected("simplex status", answer, f, err);
    }
    out->objective = glp_get_obj_val(s->problem) * s->scale;
    out->bound = out->objective;
    return copy_values(out, s, limits, err);
}

static lcp_status branch(lcp_lp_solution *out, lcp_lp_session *s, const lcp_lp_limits *limits, fence *f, lcp_error *err)
{
    tree t = {.max_nodes = limits->max_nodes, .bound = -HUGE_VAL};
    glp_iocp parameters;
    glp_init_iocp(&parameters);
    parameters.msg_lev = GLP_MSG_OFF;
    parameters.presolve = GLP_ON;
    parameters.mip_gap = limits->gap_ratio;
    parameters.cb_func = on_tree;
    parameters.cb_info = &t;
    int code = glp_intopt(s->problem, &parameters);
    out->nodes = t.nodes;
    if (!find_code(tree_codes, sizeof tree_codes / sizeof tree_codes[0], code, &out->outcome)) {
        return unexpected("branch and bound", code, f, err);
    }
    int answer = glp_mip_status(s->problem);
    if (out->outcome == LCP_LP_OPTIMAL && answer == GLP_NOFEAS) {
        out->outcome = LCP_LP_INFEASIBLE;
    }
    out->bound = t.bound * s->scale;
    bool has_solution = answer == GLP_OPT || answer == GLP_FEAS;
    if (!has_solution || out->outcome == LCP_LP_INFEASIBLE || out->outcome == LCP_LP_UNBOUNDED) {
        return LCP_OK;
    }
    if (out->outcome == LCP_LP_LIMIT) {
        out->outcome = LCP_LP_FEASIBLE;
    }
    out->objective = glp_mip_obj_val(s->problem) * s->scale;
    if (out->outcome == LCP_LP_OPTIMAL || out->bound > out->objective) {
        out->bound = out->objective;
    }
    return copy_values(out, s, limits, err);
}

/* GLPK calls abort through its error hook; longjmp brings us back here. Nothing of ours is freed in between, and
 * GLPK's own memory goes with its environment. */
static lcp_status solve_fenced(lcp_lp_solution *out, lcp_lp_session *s, const lcp_lp_limits *limits, lcp_error *err)
{
    fence *f = &s->fence; /* not a local of this function: it must survive the jump */
    f->text[0] = '\0';
    if (setjmp(f->back) != 0) {
        s->lost = true;
        glp_free_env();
        return lcp_fail(err, LCP_INTERNAL, "", "GLPK gave up: %s", s->fence.text);
    }
    glp_term_hook(keep_text, f);
    glp_error_hook(leave_abort, f);
    if (s->problem == NULL) {
        s->problem = glp_create_prob();
        glp_set_obj_dir(s->problem, GLP_MIN);
    }
    lcp_status status = load(s, err);
    if (status == LCP_OK) {
        status = limits->integer ? branch(out, s, limits, f, err) : relax(out, s, limits, f, err);
    }
    glp_term_hook(NULL, NULL);
    glp_error_hook(NULL, NULL);
    return status;
}

lcp_lp_session *lcp_lp_session_new(const lcp_lp *lp)
{
    lcp_lp_session *session = calloc(1, sizeof *session);
    if (session != NULL) {
        session->lp = lp;
    }
    return session;
}

void lcp_lp_session_free(lcp_lp_session *session)
{
    if (session != NULL && session->problem != NULL && !session->lost) {
        glp_delete_prob(session->problem);
    }
    free(session);
}

lcp_status lcp_lp_session_solve(lcp_lp_solution *out, lcp_lp_session *session, const lcp_lp_limits *limits,
                                lcp_error *err)
{
    *out = (lcp_lp_solution){.bound = -LCP_LP_INFINITY};
    lcp_status status = lcp_lp_check(session->lp, err);
    if (status == LCP_OK && session->lost) {
        status = lcp_fail(err, LCP_INTERNAL, "", "the solver session was lost");
    }
    if (status == LCP_OK) {
        status = solve_fenced(out, session, limits, err);
    }
    if (status != LCP_OK) {
        lcp_lp_solution_dispose(out);
    }
    return status;
}

lcp_status lcp_lp_solve(lcp_lp_solution *out, const lcp_lp *lp, const lcp_lp_limits *limits, lcp_error *err)
{
    lcp_lp_session session = {.lp = lp};
    lcp_status status = lcp_lp_session_solve(out, &session, limits, err);
    if (session.problem != NULL && !session.lost) {
        glp_delete_prob(session.problem);
    }
    return status;
}
