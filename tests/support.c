#include "support.h"

#include <math.h>
#include <stdio.h>

void lcp_assert_close(double actual, double expected, double tolerance, const char *what, const char *file, int line)
{
    double scale = fmax(fabs(expected), 1e-300);
    if (!(fabs(actual - expected) <= tolerance * scale)) {
        print_error("%s: %.17g, expected %.17g within %g\n", what, actual, expected, tolerance);
        _fail(file, line);
    }
}
