/* A solver-neutral linear or mixed-integer program, 0-based, minimisation. */
#ifndef LCP_LP_H
#define LCP_LP_H

#include "lcp/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct lcp_lp lcp_lp; /* opaque */

#define LCP_LP_INFINITY 1e300 /* bounds at or beyond +-this are none */

lcp_lp *lcp_lp_new(const char *name); /* NULL = out of memory */
void lcp_lp_free(lcp_lp *lp);
/* Returns the index, or -1 when out of memory (sticky: solving then fails with LCP_NOMEM). name may be NULL; otherwise
 * copied. NaN in any number makes solving fail with LCP_INTERNAL. */
int32_t lcp_lp_add_column(lcp_lp *lp, const char *name, double lower, double upper, double cost, bool integer);
int32_t lcp_lp_add_row(lcp_lp *lp, const char *name, double lower, double upper);
void lcp_lp_set(lcp_lp *lp, int32_t row, int32_t column, double value); /* adds to an existing entry */
void lcp_lp_set_cost(lcp_lp *lp, int32_t column, double cost);
void lcp_lp_set_bounds(lcp_lp *lp, int32_t column, double lower, double upper);
void lcp_lp_set_row_bounds(lcp_lp *lp, int32_t row, double lower, double upper);
int32_t lcp_lp_columns(const lcp_lp *lp);
int32_t lcp_lp_rows(const lcp_lp *lp);

typedef enum lcp_lp_outcome { LCP_LP_OPTIMAL, LCP_LP_FEASIBLE, LCP_LP_INFEASIBLE, LCP_LP_UNBOUNDED, LCP_LP_LIMIT } lcp_lp_outcome;

typedef struct lcp_lp_limits {
    bool integer;          /* false: solve the relaxation */
    double gap_ratio;      /* branch and bound stops within this */
    int64_t max_nodes;     /* 0 = no limit */
    int64_t max_iterations;/* simplex, 0 = no limit */
    bool want_duals;
} lcp_lp_limits;

typedef struct lcp_lp_solution {
    lcp_lp_outcome outcome;
    double objective;
    double bound;     /* valid lower bound on the optimum (the LP value, or branch and bound's), -LCP_LP_INFINITY if none */
    double *values;   /* [columns]; NULL unless OPTIMAL or FEASIBLE; integers rounded exactly */
    double *duals;    /* [rows], if asked and not integer */
    int64_t nodes, iterations;
} lcp_lp_solution;
void lcp_lp_solution_dispose(lcp_lp_solution *solution);

/* One row per solver; the tests run every row on the same programs. */
typedef struct lcp_solver {
    const char *name;
    const char *(*version)(void);
    lcp_status (*solve)(lcp_lp_solution *out, const lcp_lp *lp, const lcp_lp_limits *limits, lcp_error *err);
} lcp_solver;
extern const lcp_solver lcp_solver_glpk;       /* thread-safe: one environment per thread */
extern const lcp_solver lcp_solver_exhaustive; /* oracle: all integers bounded, at most 20 binaries' worth of points */
extern const lcp_solver *const lcp_solvers[];
extern const size_t lcp_solver_count;
/* Frees this thread's solver environment; call before a thread that solved ends. */
void lcp_solver_thread_end(void);

/* Warm start: the same program again after rows, columns or bounds were added keeps the basis. Owned by the caller. */
typedef struct lcp_lp_session lcp_lp_session;
lcp_lp_session *lcp_lp_session_new(lcp_lp *lp); /* borrows lp */
lcp_status lcp_lp_session_solve(lcp_lp_solution *out, lcp_lp_session *session, const lcp_lp_limits *limits, lcp_error *err);
void lcp_lp_session_free(lcp_lp_session *session);

/* CPLEX LP text with stable short names; what `--dump-lp` writes and glpsol or cbc read. */
lcp_status lcp_lp_write(const lcp_lp *lp, FILE *file, lcp_error *err);

/* Largest violation of rows, bounds and integrality at a point: exact re-check used after every solve. */
double lcp_lp_violation(const lcp_lp *lp, const double *values);

#endif
