/* The solver of calibration against what can be computed by hand. */
#include "support.h"

#include "calibrate/least_squares.h"

#include <math.h>
#include <string.h>

#define POINTS 40

typedef struct line_data {
    double x[POINTS], y[POINTS];
    size_t count;
} line_data;

static void line_residuals(double *out, const double *parameters, void *context)
{
    const line_data *d = context;
    for (size_t i = 0; i < d->count; i++) {
        out[i] = parameters[0] + parameters[1] * d->x[i] - d->y[i];
    }
}

/* Deviations that repeat, of mean 0, in units of the standard deviation the solver expects. */
static void fill(line_data *d, double scale)
{
    static const double wiggle[] = {0.9, -1.1, 0.4, -0.6, 1.3, -0.9, 0.2, -0.2};
    d->count = POINTS;
    for (size_t i = 0; i < POINTS; i++) {
        d->x[i] = (double)i / 4;
        d->y[i] = 3 + 2 * d->x[i] + scale * wiggle[i % 8];
    }
}

typedef struct regression {
    double a, b, error_a, error_b;
} regression;

/* Ordinary least squares in closed form; standard errors with the variance of the residuals, at least 1. */
static regression closed_form(const line_data *d)
{
    double n = (double)d->count;
    double sx = 0, sy = 0, sxx = 0, sxy = 0, rest = 0;
    for (size_t i = 0; i < d->count; i++) {
        sx += d->x[i];
        sy += d->y[i];
        sxx += d->x[i] * d->x[i];
        sxy += d->x[i] * d->y[i];
    }
    double det = n * sxx - sx * sx;
    regression r = {.b = (n * sxy - sx * sy) / det};
    r.a = (sy - r.b * sx) / n;
    for (size_t i = 0; i < d->count; i++) {
        double e = r.a + r.b * d->x[i] - d->y[i];
        rest += e * e;
    }
    double variance = fmax(1, rest / (n - 2));
    r.error_a = sqrt(variance * sxx / det);
    r.error_b = sqrt(variance * n / det);
    return r;
}

static const double low[] = {-100, -100};
static const double high[] = {100, 100};

static lcp_least_squares problem_of(line_data *d, size_t robust)
{
    return (lcp_least_squares){.parameter_count = 2,
                               .residual_count = d->count,
                               .low = low,
                               .high = high,
                               .robust_count = robust,
                               .residuals = line_residuals,
                               .context = d};
}

static void is_linear_regression(void **state)
{
    (void)state;
    const double scales[] = {0.1, 1, 7};
    for (size_t i = 0; i < 3; i++) {
        line_data d;
        fill(&d, scales[i]);
        regression expected = closed_form(&d);
        lcp_least_squares problem = problem_of(&d, 0);
        double parameters[] = {-20, 40};
        double errors[2];
        assert_int_equal(lcp_least_squares_solve(parameters, errors, &problem, NULL), LCP_OK);
        assert_close(parameters[0], expected.a, 1e-4);
        assert_close(parameters[1], expected.b, 1e-4);
        assert_close(errors[0], expected.error_a, 1e-3);
        assert_close(errors[1], expected.error_b, 1e-3);
    }
}

/* Every eighth point a hundred off: the line stays; the plain fit does not. */
static void outliers_lose_their_weight(void **state)
{
    (void)state;
    line_data d;
    fill(&d, 0.5);
    for (size_t i = 3; i < POINTS; i += 8) {
        d.y[i] += 100;
    }
    lcp_least_squares problem = problem_of(&d, POINTS);
    double parameters[] = {0, 0};
    double errors[2];
    assert_int_equal(lcp_least_squares_solve(parameters, errors, &problem, NULL), LCP_OK);
    assert_close(parameters[0], 3, 0.1);
    assert_close(parameters[1], 2, 0.03);
    assert_true(fabs(closed_form(&d).a - 3) > 5);
}

/* The best point lies outside: the answer is on the bound, inside the box all the way. */
static void bounds_hold(void **state)
{
    (void)state;
    const double tight_low[] = {0, 0};
    const double tight_high[] = {2, 10};
    line_data d;
    fill(&d, 0.1);
    lcp_least_squares problem = problem_of(&d, 0);
    problem.low = tight_low;
    problem.high = tight_high;
    double parameters[] = {0, 10}; /* starts on both bounds */
    double errors[2];
    assert_int_equal(lcp_least_squares_solve(parameters, errors, &problem, NULL), LCP_OK);
    assert_true(parameters[0] >= 0 && parameters[0] <= 2 && parameters[1] >= 0 && parameters[1] <= 10);
    assert_close(parameters[0], 2, 1e-3);
    /* With a = 2 the slope is sum x (y - 2) / sum x^2. */
    double top = 0;
    double bottom = 0;
    for (size_t i = 0; i < d.count; i++) {
        top += d.x[i] * (d.y[i] - 2);
        bottom += d.x[i] * d.x[i];
    }
    assert_close(parameters[1], top / bottom, 1e-3);
}

static void not_finite(double *out, const double *parameters, void *context)
{
    line_residuals(out, parameters, context);
    out[1] = (double)NAN;
}

static void refuses_nonsense(void **state)
{
    (void)state;
    line_data d;
    fill(&d, 1);
    lcp_least_squares problem = problem_of(&d, 0);
    problem.residuals = not_finite;
    double parameters[] = {1, 1};
    double errors[2];
    lcp_error err = {0};
    assert_int_equal(lcp_least_squares_solve(parameters, errors, &problem, &err), LCP_INTERNAL);
    assert_string_equal(err.text, "least squares: a residual is not finite");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_linear_regression),
        cmocka_unit_test(outliers_lose_their_weight),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(refuses_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
