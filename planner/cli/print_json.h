/* A document to standard output. */
#ifndef LCP_PRINT_JSON_H
#define LCP_PRINT_JSON_H

#include "lcp/status.h"

#include <jansson.h>

/* NULL document = out of memory. */
lcp_status lcp_print_json(const json_t *document, lcp_error *err);

#endif
