/* One row of a table of runs, from a run that is possible and what a test changes of it. */
#ifndef LCP_ROW_CASE_H
#define LCP_ROW_CASE_H

#include "support.h"

#include "rows/row.h"

/* Changes: "column=value;column=value". A GPT of 4 layers of 1024 on 8 A100: tp 2, pp 2, dp 2, 16 sequences of 2048 in
 * microbatches of 2, 1.5 s an iteration, 20 GB. */
lcp_row row_of(const char *changes, const lcp_profile *profile);
/* The cells of that row after its header, as CSV text of two lines; the caller frees it. */
char *row_text(const char *changes);

#endif
