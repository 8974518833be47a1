/* What every test needs: CMocka's headers in the order it wants, and a comparison of doubles that is not a float's. */
#ifndef LCP_TEST_SUPPORT_H
#define LCP_TEST_SUPPORT_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */

/* |actual - expected| <= tolerance * max(|expected|, tiny); NaN fails. */
#define assert_close(actual, expected, tolerance)                                                                      \
    lcp_assert_close((actual), (expected), (tolerance), #actual, __FILE__, __LINE__)
void lcp_assert_close(double actual, double expected, double tolerance, const char *what, const char *file, int line);

#endif
