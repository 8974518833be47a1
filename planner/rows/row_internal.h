#ifndef LCP_ROW_INTERNAL_H
#define LCP_ROW_INTERNAL_H

#include "row.h"

typedef struct lcp_row_source {
    const lcp_csv *csv;
    const lcp_row_map *map;
    size_t number;
} lcp_row_source;

const char *lcp_row_text(const lcp_row_source *from, lcp_column column);
/* A number in [low, high]; `preset` for a blank cell; what is not such a number is noted in row->skipped. */
double lcp_row_number(const lcp_row_source *from, lcp_row *row, lcp_column column, double preset, double low,
                      double high);
int64_t lcp_row_integer(const lcp_row_source *from, lcp_row *row, lcp_column column, int64_t preset, int64_t low,
                        int64_t high);
bool lcp_row_blank(const lcp_row_source *from, lcp_column column);
void lcp_row_skip(lcp_row *row, const char *format, ...) LCP_PRINTF(2, 3);
/* `word` occurs in `text`, whatever the case. */
bool lcp_row_says(const char *text, const char *word);

void lcp_row_read_model(lcp_row *row, const lcp_row_source *from);
void lcp_row_read_run(lcp_row *row, const lcp_row_source *from);
void lcp_row_read_recompute(lcp_row *row, const lcp_row_source *from);

#endif
