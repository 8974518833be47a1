/* The sequences of one global batch, drawn or given. */
#ifndef LCP_WORKLOAD_H
#define LCP_WORKLOAD_H

#include "lcp/model.h"
#include "lcp/status.h"

typedef enum lcp_above_max { LCP_ABOVE_MAX_TRUNCATE, LCP_ABOVE_MAX_DROP, LCP_ABOVE_MAX_ERROR } lcp_above_max;

typedef struct lcp_workload {
    char name[LCP_NAME_SIZE];
    int64_t max_length_tokens;
    int64_t sequence_count;  /* at most 10^7 */
    int64_t *lengths_tokens; /* [sequence_count], each in [1, max_length_tokens]; index = sequence number */
    int64_t total_tokens;
} lcp_workload;

void lcp_workload_dispose(lcp_workload *workload);

#endif
