#ifndef LCP_MODULES_H
#define LCP_MODULES_H

#include "internal.h"
#include "lcp/estimate.h"

/* Bytes of one layer and microbatch that are not kept, seconds before its backward pass. */
typedef struct lcp_module_cost {
    double dropped_bytes, seconds;
} lcp_module_cost;

/* Modules (bit m = lcp_module m) of one layer for whole sequences of one length. */
lcp_module_cost lcp_cost_modules_equal(const lcp_cost *cost, int32_t layer_class, int64_t sequences,
                                       int64_t length_tokens, double core_forward_seconds, uint32_t modules);

#endif
