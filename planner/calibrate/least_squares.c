#include "least_squares.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define REWEIGHTINGS 6
#define ITERATIONS 60
/* Residuals are in standard deviations: beyond this a Cauchy weight halves. */
#define CAUCHY_SCALE 2.4
/* A start on a bound is moved inside, where the map has a slope. */
#define INSIDE 0.02

typedef struct solver {
    const lcp_least_squares *problem;
    double *values;  /* parameters in their own units */
    double *weights; /* of the residuals */
    double *plain;   /* residuals as they come; a column of GSL's Jacobian is not contiguous */
} solver;

/* Bounded parameter from an unbounded coordinate, and back. */
static double to_value(double x, double low, double high)
{
    return low + (high - low) * 0.5 * (sin(x) + 1);
}

static double to_coordinate(double value, double low, double high)
{
    double t = (value - low) / (high - low);
    t = t < INSIDE ? INSIDE : t > 1 - INSIDE ? 1 - INSIDE : t;
    return asin(2 * t - 1);
}

static double slope(double x, double low, double high)
{
    return (high - low) * 0.5 * cos(x);
}

static int evaluate(const gsl_vector *x, void *context, gsl_vector *f)
{
    solver *s = context;
    const lcp_least_squares *p = s->problem;
    for (size_t i = 0; i < p->parameter_count; i++) {
        s->values[i] = to_value(gsl_vector_get(x, i), p->low[i], p->high[i]);
    }
    p->residuals(s->plain, s->values, p->context);
    for (size_t i = 0; i < p->residual_count; i++) {
        if (!isfinite(s->plain[i])) {
            return GSL_EDOM;
        }
        gsl_vector_set(f, i, s->plain[i]);
    }
    return GSL_SUCCESS;
}

/* Cauchy weights from plain residuals. */
static void reweigh(solver *s, const gsl_vector *residuals)
{
    for (size_t i = 0; i < s->problem->robust_count; i++) {
        double r = gsl_vector_get(residuals, i) / CAUCHY_SCALE;
        s->weights[i] = 1 / (1 + r * r);
    }
}

static lcp_status solve_once(gsl_multifit_nlinear_workspace *work, gsl_multifit_nlinear_fdf *fdf,
                             const gsl_vector *start, solver *s, lcp_error *err)
{
    gsl_vector_const_view weights = gsl_vector_const_view_array(s->weights, s->problem->residual_count);
    int info = 0;
    int status = gsl_multifit_nlinear_winit(start, &weights.vector, fdf, work);
    if (status == GSL_SUCCESS) {
        status = gsl_multifit_nlinear_driver(ITERATIONS, 1e-4, 1e-8, 1e-6, NULL, NULL, &info, work);
    }
    /* Out of iterations or no further progress is an answer too. */
    if (status != GSL_SUCCESS && status != GSL_EMAXITER && status != GSL_ENOPROG) {
        return lcp_fail(err, LCP_INTERNAL, "", "least squares: %s", gsl_strerror(status));
    }
    return LCP_OK;
}

static void read_errors(double *errors, gsl_multifit_nlinear_workspace *work, const solver *s, gsl_matrix *covariance)
{
    const lcp_least_squares *p = s->problem;
    const gsl_vector *x = gsl_multifit_nlinear_position(work);
    const gsl_vector *f = gsl_multifit_nlinear_residual(work);
    double sum = 0;
    double weight = 0;
    gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(work), 0, covariance);
    for (size_t i = 0; i < p->residual_count; i++) {
        double r = gsl_vector_get(f, i);
        sum += r * r;
        weight += s->weights[i];
    }
    double freedom = fmax(weight - (double)p->parameter_count, 1);
    for (size_t i = 0; i < p->parameter_count; i++) {
        double variance = gsl_matrix_get(covariance, i, i) * fmax(sum / freedom, 1);
        errors[i] = sqrt(variance) * fabs(slope(gsl_vector_get(x, i), p->low[i], p->high[i]));
    }
}

static lcp_status iterate(double *parameters, double *errors, solver *s, gsl_multifit_nlinear_workspace *work,
                          gsl_vector *x, gsl_vector *plain, gsl_matrix *covariance, lcp_error *err)
{
    const lcp_least_squares *p = s->problem;
    gsl_multifit_nlinear_fdf fdf = {.f = evaluate, .n = p->residual_count, .p = p->parameter_count, .params = s};
    lcp_status status = LCP_OK;
    for (size_t i = 0; i < p->parameter_count; i++) {
        gsl_vector_set(x, i, to_coordinate(parameters[i], p->low[i], p->high[i]));
    }
    for (int32_t round = 0; status == LCP_OK && round < REWEIGHTINGS; round++) {
        if (evaluate(x, s, plain) != GSL_SUCCESS) {
            return lcp_fail(err, LCP_INTERNAL, "", "least squares: a residual is not finite");
        }
        reweigh(s, plain);
        status = solve_once(work, &fdf, x, s, err);
        if (status == LCP_OK) {
            gsl_vector_memcpy(x, gsl_multifit_nlinear_position(work));
        }
    }
    if (status == LCP_OK) {
        for (size_t i = 0; i < p->parameter_count; i++) {
            parameters[i] = to_value(gsl_vector_get(x, i), p->low[i], p->high[i]);
        }
        read_errors(errors, work, s, covariance);
    }
    return status;
}

lcp_status lcp_least_squares_solve(double *parameters, double *errors, const lcp_least_squares *problem, lcp_error *err)
{
    size_t n = problem->residual_count;
    size_t p = problem->parameter_count;
    gsl_multifit_nlinear_parameters settings = gsl_multifit_nlinear_default_parameters();
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    solver s = {.problem = problem,
                .values = malloc(p * sizeof(double)),
                .weights = malloc(n * sizeof(double)),
                .plain = malloc(n * sizeof(double))};
    gsl_multifit_nlinear_workspace *work = gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &settings, n, p);
    gsl_vector *x = gsl_vector_alloc(p);
    gsl_vector *plain = gsl_vector_alloc(n);
    gsl_matrix *covariance = gsl_matrix_alloc(p, p);
    lcp_status status = LCP_NOMEM;
    if (s.values == NULL || s.weights == NULL || s.plain == NULL || work == NULL || x == NULL || plain == NULL ||
        covariance == NULL) {
        (void)lcp_fail(err, LCP_NOMEM, "", "no memory for %zu residuals", n);
    } else {
        for (size_t i = 0; i < n; i++) {
            s.weights[i] = 1;
        }
        status = iterate(parameters, errors, &s, work, x, plain, covariance, err);
    }
    gsl_multifit_nlinear_free(work);
    gsl_vector_free(x);
    gsl_vector_free(plain);
    gsl_matrix_free(covariance);
    free(s.values);
    free(s.weights);
    free(s.plain);
    gsl_set_error_handler(handler);
    return status;
}
