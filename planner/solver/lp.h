/* A solver-neutral linear or mixed-integer program, 0-based, minimisation. */
#ifndef LCP_LP_H
#define LCP_LP_H

#include "lcp/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct lcp_lp lcp_lp; /* opaque */

#define LCP_LP_INFINITY 1e300 /* bounds at or beyond +-this are none */

lcp_lp *lcp_lp_new(void); /* NULL = out of memory */
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

typedef enum lcp_lp_outcome {
    LCP_LP_OPTIMAL,
    LCP_LP_FEASIBLE,
    LCP_LP_INFEASIBLE,
    LCP_LP_UNBOUNDED,
    LCP_LP_LIMIT
} lcp_lp_outcome;

typedef struct lcp_lp_limits {
    bool integer;           /* false: solve the relaxation */
    double gap_ratio;       /* branch and bound stops within this */
    int64_t max_nodes;      /* 0 = no limit */
    int64_t max_iterations; /* simplex, 0 = no limit */
    bool want_duals;
} lcp_lp_limits;

typedef struct lcp_lp_solution {
    lcp_lp_outcome outcome;
    double objective;
    double bound; /* valid lower bound on the optimum (the LP value, or branch and bound's), -LCP_LP_INFINITY if none */
    double *values; /* [columns]; NULL unless OPTIMAL or FEASIBLE; integers rounded exactly */
    double *duals;  /* [rows], if asked and not integer */
    int64_t nodes, iterations;
} lcp_lp_solution;
void lcp_lp_solution_dispose(lcp_lp_solution *solution);

lcp_status lcp_lp_solve(lcp_lp_solution *out, const lcp_lp *lp, const lcp_lp_limits *limits, lcp_error *err);
/* Name and version of the solver behind it, e.g. "GLPK", "5.0". Thread-safe: one environment per thread. */
const char *lcp_solver_name(void);
const char *lcp_solver_version(void);
/* Frees this thread's solver environment; call before a thread that solved ends. */
void lcp_solver_thread_end(void);

/* Warm start: the same program again after rows, columns, costs or bounds changed keeps the basis. Owned by the caller.
 * Entries may be added only to rows or columns that are new since the last solve. Relaxation only. */
typedef struct lcp_lp_session lcp_lp_session;
lcp_lp_session *lcp_lp_session_new(const lcp_lp *lp); /* borrows lp */
lcp_status lcp_lp_session_solve(lcp_lp_solution *out, lcp_lp_session *session, const lcp_lp_limits *limits,
                                lcp_error *err);
void lcp_lp_session_free(lcp_lp_session *session);

/* CPLEX LP text with stable short names; what `--dump-lp` writes and glpsol or cbc read. */
lcp_status lcp_lp_write(const lcp_lp *lp, FILE *file, lcp_error *err);

/* Structure, for writers and checks. Entries of a row are sorted by column, duplicates summed. */
typedef struct lcp_lp_entry {
    int32_t row, column;
    double value;
} lcp_lp_entry;
typedef struct lcp_lp_line {
    const char *name; /* NULL if unnamed */
    double lower, upper, cost;
    bool integer;
} lcp_lp_line;
lcp_lp_line lcp_lp_column_at(const lcp_lp *lp, int32_t column);
lcp_lp_line lcp_lp_row_at(const lcp_lp *lp, int32_t row);
/* All entries, sorted by row then column, merged; *out is the caller's to free. */
lcp_status lcp_lp_entries(lcp_lp_entry **out, int64_t *count, const lcp_lp *lp, lcp_error *err);
/* LCP_NOMEM after a failed addition, LCP_INTERNAL if a number is NaN or a bound pair is crossed by NaN; else LCP_OK. */
lcp_status lcp_lp_check(const lcp_lp *lp, lcp_error *err);

/* Largest violation of rows, bounds and integrality at a point: exact re-check used after every solve. */
double lcp_lp_violation(const lcp_lp *lp, const double *values);

#endif
