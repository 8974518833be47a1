/* CSV tables as RFC 4180 has them, with a header; lines that begin with '#' outside quotes are comments. */
#ifndef LCP_CSV_H
#define LCP_CSV_H

#include "lcp/status.h"

#include <stddef.h>

#define LCP_CSV_MAX_COLUMNS 512
#define LCP_CSV_MAX_ROWS 10000000

typedef struct lcp_csv {
    char *bytes;         /* what the cells point into */
    size_t column_count; /* >= 1 */
    size_t row_count;    /* without the header */
    char **cells;        /* [(1 + row_count) * column_count], the header first; "" where a row is short */
    size_t *lines;       /* [row_count], where the row begins in the file, from 1 */
} lcp_csv;
void lcp_csv_dispose(lcp_csv *csv);

/* "-" is standard input. LCP_INPUT names the line: more cells than columns, a quote that does not end, a column named
 * twice or not at all, NUL bytes, no header. */
lcp_status lcp_csv_read(lcp_csv *out, const char *path, lcp_error *err);

/* Index of a column, -1 if there is none. */
int lcp_csv_column(const lcp_csv *csv, const char *name);
/* Cell of a row; "" where column is -1. */
const char *lcp_csv_cell(const lcp_csv *csv, size_t row, int column);

#endif
