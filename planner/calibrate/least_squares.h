/* Robust non-linear least squares inside bounds; the only header over GSL. */
#ifndef LCP_LEAST_SQUARES_H
#define LCP_LEAST_SQUARES_H

#include "lcp/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct lcp_least_squares {
    size_t parameter_count, residual_count; /* residual_count >= parameter_count >= 1 */
    const double *low, *high;               /* [parameter_count], low < high */
    size_t robust_count; /* residuals [0, robust_count) are weighed down where they are outliers; the rest (priors) are
                            not */
    /* Fills residuals for parameters within the bounds. */
    void (*residuals)(double *out, const double *parameters, void *context);
    void *context;
} lcp_least_squares;

/* parameters [in: start, out: solution]; errors: standard error of each, from the curvature at the solution and the
 * spread of the residuals. Trust-region Levenberg-Marquardt in coordinates that cannot leave the bounds, Cauchy weights
 * found by repeated solves. LCP_NOMEM, or LCP_INTERNAL if it does not converge to finite values. */
lcp_status lcp_least_squares_solve(double *parameters, double *errors, const lcp_least_squares *problem,
                                   lcp_error *err);

#endif
