/* One line about the search on standard error, rewritten in place; only on a terminal. */
#ifndef LCP_PROGRESS_H
#define LCP_PROGRESS_H

#include "search/search.h"

#include <stdbool.h>

typedef struct lcp_progress_line {
    bool shown; /* standard error is a terminal and progress is wanted */
    double started_seconds, printed_seconds;
} lcp_progress_line;

void lcp_progress_start(lcp_progress_line *line, bool wanted);
void lcp_progress_print(void *line, const lcp_progress *progress); /* hook of the search */
void lcp_progress_end(lcp_progress_line *line);

#endif
