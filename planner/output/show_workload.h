/* What was understood of a workload: its lengths as numbers and as a histogram. */
#ifndef LCP_SHOW_WORKLOAD_H
#define LCP_SHOW_WORKLOAD_H

#include "lcp/workload.h"

#include <jansson.h>
#include <stdio.h>

lcp_status lcp_show_workload(FILE *out, const lcp_workload *workload, lcp_error *err);
/* Statistics as a document; the lengths themselves are in the workload. */
lcp_status lcp_show_workload_json(json_t **out, const lcp_workload *workload, lcp_error *err);

#endif
