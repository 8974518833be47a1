/* A table of measured runs beside what the cost model says of them. */
#ifndef LCP_ROW_TABLE_H
#define LCP_ROW_TABLE_H

#include "row.h"

#include <stdio.h>

typedef struct lcp_row_result {
    lcp_row row;
    double seconds, tokens_per_second_per_device, mfu_ratio; /* 0 where the row was skipped */
    double bytes;                                            /* of the rank that was measured */
    bool fits;
} lcp_row_result;

typedef struct lcp_row_table {
    lcp_csv csv;
    lcp_row_result *results; /* [csv.row_count] */
} lcp_row_table;
void lcp_row_table_dispose(lcp_row_table *table);

/* Predicts one row whose `skipped` is empty; fills `skipped` if the configuration is not possible. */
void lcp_row_predict(lcp_row_result *result);

/* Reads a table and predicts every row. */
lcp_status lcp_row_table_read(lcp_row_table *out, const char *path, const lcp_profile_set *profiles, lcp_error *err);

/* The same rows with the columns of formats.md added; the caller frees *text. */
lcp_status lcp_row_table_text(char **text, size_t *size, const lcp_row_table *table, lcp_error *err);

/* Errors of the rows that were measured, and of the sweeps among them: a line each. */
void lcp_row_table_summary(FILE *out, const lcp_row_table *table);

#endif
