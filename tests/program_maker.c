#include "program_maker.h"

#include "support.h"

#include <math.h>

int64_t pick(random_source *random, int64_t lo, int64_t hi)
{
    uint64_t z = (random->state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return lo + (int64_t)((z ^ (z >> 31)) % (uint64_t)(hi - lo + 1));
}

static void make_knapsack(lcp_lp *lp, random_source *random, double scale)
{
    int64_t items = pick(random, 4, 10);
    int32_t weight = lcp_lp_add_row(lp, "weight", -LCP_LP_INFINITY, (double)pick(random, 20, 60));
    int32_t volume = lcp_lp_add_row(lp, NULL, -LCP_LP_INFINITY, (double)pick(random, 20, 60));
    for (int64_t i = 0; i < items; i++) {
        int32_t column = lcp_lp_add_column(lp, "take", 0, 1, -(double)pick(random, 5, 40) * scale, true);
        lcp_lp_set(lp, weight, column, (double)pick(random, 3, 20));
        lcp_lp_set(lp, volume, column, (double)pick(random, 3, 20));
    }
}

static void make_covering(lcp_lp *lp, random_source *random, double scale)
{
    int64_t sets = pick(random, 5, 10);
    for (int64_t i = 0; i < sets; i++) {
        lcp_lp_add_column(lp, "set", 0, 1, (double)pick(random, 1, 20) * scale, true);
    }
    for (int64_t r = pick(random, 4, 8); r > 0; r--) {
        int32_t row = lcp_lp_add_row(lp, "covered", 1, LCP_LP_INFINITY);
        for (int64_t k = 0; k < 3; k++) { /* may name a set twice: entries add up */
            lcp_lp_set(lp, row, (int32_t)pick(random, 0, sets - 1), 1);
        }
    }
}

/* 3 x 3: every row and column of the square has exactly one. */
static void make_assignment(lcp_lp *lp, random_source *random, double scale)
{
    for (int32_t r = 0; r < 6; r++) {
        lcp_lp_add_row(lp, r < 3 ? "from" : "to", 1, 1);
    }
    for (int32_t i = 0; i < 9; i++) {
        int32_t column = lcp_lp_add_column(lp, NULL, 0, 1, (double)pick(random, 1, 50) * scale, true);
        lcp_lp_set(lp, i / 3, column, 1);
        lcp_lp_set(lp, 3 + i % 3, column, 1);
    }
}

static void make_ranges(lcp_lp *lp, random_source *random, double scale)
{
    int64_t columns = pick(random, 2, 5);
    for (int64_t i = 0; i < columns; i++) {
        double lower = (double)pick(random, -3, 1);
        lcp_lp_add_column(lp, NULL, lower, lower + (double)pick(random, 0, 4), (double)pick(random, -9, 9) * scale,
                          true);
    }
    for (int64_t r = pick(random, 1, 4); r > 0; r--) {
        double lower = pick(random, 0, 2) == 0 ? -LCP_LP_INFINITY : (double)pick(random, -8, 8);
        double upper = pick(random, 0, 2) == 0 ? LCP_LP_INFINITY : fmax(lower, -8) + (double)pick(random, 0, 6);
        int32_t row = lcp_lp_add_row(lp, NULL, lower, upper);
        for (int32_t c = 0; c < columns; c++) {
            lcp_lp_set(lp, row, c, (double)pick(random, -4, 4));
        }
    }
}

lcp_lp *make_program(program_kind kind, random_source *random, double scale)
{
    static void (*const makers[PROGRAM_KINDS])(lcp_lp *, random_source *, double) = {
        [PROGRAM_KNAPSACK] = make_knapsack,
        [PROGRAM_COVERING] = make_covering,
        [PROGRAM_ASSIGNMENT] = make_assignment,
        [PROGRAM_RANGES] = make_ranges,
    };
    lcp_lp *lp = lcp_lp_new();
    assert_non_null(lp);
    makers[kind](lp, random, scale);
    return lp;
}

static double cost_of(const lcp_lp *lp, const double *values)
{
    double cost = 0;
    for (int32_t c = 0; c < lcp_lp_columns(lp); c++) {
        cost += lcp_lp_column_at(lp, c).cost * values[c];
    }
    return cost;
}

double best_by_trying(const lcp_lp *lp)
{
    double values[16];
    double best = HUGE_VAL;
    int32_t columns = lcp_lp_columns(lp);
    assert_in_range(columns, 1, 16);
    for (int32_t c = 0; c < columns; c++) {
        values[c] = lcp_lp_column_at(lp, c).lower;
    }
    for (int32_t c = 0; c < columns;) {
        if (lcp_lp_violation(lp, values) <= 1e-9) {
            best = fmin(best, cost_of(lp, values));
        }
        for (c = 0; c < columns; c++) { /* the next point, as an odometer */
            if (values[c] < lcp_lp_column_at(lp, c).upper) {
                values[c]++;
                break;
            }
            values[c] = lcp_lp_column_at(lp, c).lower;
        }
    }
    return best;
}
