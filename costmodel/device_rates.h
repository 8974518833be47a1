/* Kernel and collective curves by device architecture: what the catalogue of devices starts from. */
#ifndef LCP_DEVICE_RATES_H
#define LCP_DEVICE_RATES_H

#include "lcp/cluster.h"

typedef struct lcp_device_rates {
    const char *architecture; /* "volta", "ampere", "ada", "hopper", "blackwell", "cdna2", "cdna3", "tpu", "davinci" */
    lcp_rate matmul;
    lcp_rate attention_forward;
    lcp_rate attention_backward;
    double attention_narrow_width;
    double attention_parallel_rows;
    double memory_ratio;
    double collective_ratio;
    double collective_half_bytes;
    double collective_latency_seconds; /* of one step inside the fast domain */
    const char *provenance;
} lcp_device_rates;

extern const lcp_device_rates lcp_device_rates_rows[];
extern const size_t lcp_device_rates_row_count;

/* NULL if the architecture is unknown. */
const lcp_device_rates *lcp_device_rates_find(const char *architecture);

#endif
