/* CPLEX LP text: what --dump-lp writes, and what glpsol and cbc read. Names are x<column> and r<row>, stable and short;
 * given names follow as comments. */
#include "solver/lp.h"

#include <math.h>
#include <stdlib.h>

static bool unbounded(double bound)
{
    return !(fabs(bound) < LCP_LP_INFINITY);
}

/* Every column, so that it is known and in its place even if no row has it; a name may come only once in a sum. */
static void write_objective(const lcp_lp *lp, FILE *file)
{
    fprintf(file, "Minimize\n obj:");
    for (int32_t c = 0; c < lcp_lp_columns(lp); c++) {
        fprintf(file, " %+.17g x%d\n", lcp_lp_column_at(lp, c).cost, c);
    }
}

static void write_row_sum(FILE *file, const lcp_lp_entry *entries, int64_t first, int64_t last)
{
    for (int64_t i = first; i < last; i++) {
        fprintf(file, " %+.17g x%d\n", entries[i].value, entries[i].column);
    }
    if (first == last) {
        fprintf(file, " + 0 x0\n");
    }
}

static void write_row(FILE *file, const lcp_lp_line *row, int32_t index, const lcp_lp_entry *entries,
                      const int64_t span[2])
{
    bool low = !unbounded(row->lower);
    bool high = !unbounded(row->upper);
    bool equal = low && high && !(row->lower < row->upper);
    if (low) {
        fprintf(file, " r%d%s:", index, equal || !high ? "" : "a");
        write_row_sum(file, entries, span[0], span[1]);
        fprintf(file, " %s %.17g\n", equal ? "=" : ">=", row->lower);
    }
    if (high && !equal) {
        fprintf(file, " r%d%s:", index, low ? "b" : "");
        write_row_sum(file, entries, span[0], span[1]);
        fprintf(file, " <= %.17g\n", row->upper);
    }
}

static void write_bounds(const lcp_lp *lp, FILE *file)
{
    fprintf(file, "Bounds\n");
    for (int32_t c = 0; c < lcp_lp_columns(lp); c++) {
        lcp_lp_line column = lcp_lp_column_at(lp, c);
        if (unbounded(column.lower) && unbounded(column.upper)) {
            fprintf(file, " x%d free\n", c);
        } else if (unbounded(column.upper)) {
            fprintf(file, " x%d >= %.17g\n", c, column.lower);
        } else if (unbounded(column.lower)) {
            fprintf(file, " -inf <= x%d <= %.17g\n", c, column.upper);
        } else {
            fprintf(file, " %.17g <= x%d <= %.17g\n", column.lower, c, column.upper);
        }
    }
}

static void write_integers(const lcp_lp *lp, FILE *file)
{
    bool any = false;
    for (int32_t c = 0; c < lcp_lp_columns(lp); c++) {
        if (lcp_lp_column_at(lp, c).integer) {
            fprintf(file, "%s x%d\n", any ? "" : "Generals\n", c);
            any = true;
        }
    }
}

static void write_names(const lcp_lp *lp, FILE *file)
{
    for (int32_t c = 0; c < lcp_lp_columns(lp); c++) {
        const char *name = lcp_lp_column_at(lp, c).name;
        if (name != NULL) {
            fprintf(file, "\\ x%d = %s\n", c, name);
        }
    }
    for (int32_t r = 0; r < lcp_lp_rows(lp); r++) {
        const char *name = lcp_lp_row_at(lp, r).name;
        if (name != NULL) {
            fprintf(file, "\\ r%d = %s\n", r, name);
        }
    }
}

lcp_status lcp_lp_write(const lcp_lp *lp, FILE *file, lcp_error *err)
{
    lcp_status status = lcp_lp_check(lp, err);
    lcp_lp_entry *entries = NULL;
    int64_t count = 0;
    if (status == LCP_OK && lcp_lp_columns(lp) == 0) {
        status = lcp_fail(err, LCP_INTERNAL, "", "a program without columns");
    }
    if (status == LCP_OK) {
        status = lcp_lp_entries(&entries, &count, lp, err);
    }
    if (status != LCP_OK) {
        return status;
    }
    write_names(lp, file);
    write_objective(lp, file);
    fprintf(file, "Subject To\n");
    int64_t span[2] = {0, 0};
    for (int32_t r = 0; r < lcp_lp_rows(lp); r++) {
        span[0] = span[1];
        while (span[1] < count && entries[span[1]].row == r) {
            span[1]++;
        }
        lcp_lp_line row = lcp_lp_row_at(lp, r);
        write_row(file, &row, r, entries, span);
    }
    fprintf(file, " none: +0 x0 >= -1\n"); /* a program without a binding row still needs one */
    write_bounds(lp, file);
    write_integers(lp, file);
    fprintf(file, "End\n");
    free(entries);
    return ferror(file) != 0 ? lcp_fail(err, LCP_IO, "", "cannot write the program") : LCP_OK;
}
