/* The lengths of one global batch on one line of JSON. */
#ifndef LCP_LENGTHS_LINE_H
#define LCP_LENGTHS_LINE_H

#include "lcp/status.h"

#include <stdint.h>

#define LCP_MAX_BATCH_SEQUENCES 10000000

/* [512, 4096] or {"lengths_tokens": [512, 4096]}; the caller frees *out. */
lcp_status lcp_lengths_from_line(int64_t **out, int64_t *count, const char *line, size_t size, lcp_error *err);

#endif
