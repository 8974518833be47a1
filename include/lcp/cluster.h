/* Devices, groups of equal nodes, links. Bandwidths are per device and direction, in bytes per second. */
#ifndef LCP_CLUSTER_H
#define LCP_CLUSTER_H

#include "lcp/model.h"

typedef struct lcp_link {
    double bandwidth_bytes_per_second; /* > 0 */
    double latency_seconds;            /* >= 0, one message */
} lcp_link;

/* Achieved-rate curve of one kernel class: seconds = overhead_seconds + work / rate, where
 * rate = peak_rate * ratio. A kernel whose row dimension is n runs at ratio * n / (n + half_rows), which is the same
 * as adding half_rows rows of work to each launch: time stays affine in n. */
typedef struct lcp_rate {
    double ratio;            /* of the peak reached by large kernels, (0, 1] */
    double half_rows;        /* rows at which half of that is reached, >= 0 */
    double overhead_seconds; /* per kernel launch, >= 0 */
} lcp_rate;

typedef struct lcp_device {
    char name[LCP_NAME_SIZE];
    double peak_flops_per_second;     /* dense 16-bit matrix peak: the MFU denominator */
    double peak_fp8_flops_per_second; /* 0 = none */
    double peak_fp4_flops_per_second; /* 0 = none */
    int64_t memory_bytes;
    double memory_bandwidth_bytes_per_second;
    lcp_rate matmul;
    lcp_rate attention_forward;
    lcp_rate attention_backward;
    double attention_narrow_width;  /* head width w costs (1 + this / w) / (1 + this / 128) per FLOP: softmax beside
                                       narrow  products, >= 0 */
    double attention_parallel_rows; /* query rows times heads that half fill the device with work, >= 0 */
    double memory_ratio;            /* of memory bandwidth reached by element-wise kernels */
    double collective_ratio;        /* of link bandwidth reached by large collectives, (0, 1] */
    double collective_half_bytes;   /* message size at which half of that is reached */
    double network_ratio;           /* of a port's line rate reached between nodes, (0, 1] */
    double pass_overhead_seconds;   /* per forward or backward pass of a stage */
    double hop_overhead_seconds;    /* per stage-to-stage send, added to the link latency */
    double layer_host_seconds;      /* least seconds of one pass over one layer: the host launching its kernels */
    double step_overhead_seconds;   /* per optimizer step: data, clipping, logging, launches of the update */
    double activation_ratio;    /* bytes of activations seen over those counted, >= 1: rounding, fragments, copies */
    int64_t fixed_memory_bytes; /* context, libraries, communicators */
    double power_watts;         /* 0 = unknown */
    lcp_link intra_node;        /* catalogue default for a group that does not say */
    lcp_link inter_node;
    lcp_link host;
    char provenance[384];
} lcp_device;

typedef struct lcp_group {
    char name[LCP_NAME_SIZE];
    lcp_device device;
    int64_t nodes;
    int64_t devices_per_node;
    double usable_memory_ratio; /* (0, 1]; the rest is the allocator reserve */
    lcp_link intra_node;
    lcp_link inter_node;
    lcp_link host;
    int64_t host_memory_bytes; /* per node */
} lcp_group;

typedef struct lcp_group_link {
    int32_t from, to; /* indices into groups */
    lcp_link link;
} lcp_group_link;

typedef struct lcp_cluster {
    char name[LCP_NAME_SIZE];
    int32_t group_count;
    lcp_group *groups;
    int32_t link_count;
    lcp_group_link *links;
} lcp_cluster;

void lcp_cluster_dispose(lcp_cluster *cluster);

/* Devices in all groups. */
int64_t lcp_cluster_devices(const lcp_cluster *cluster);

/* Catalogue: rows of planner/input/devices.c. Curves come from the architecture's row of costmodel/device_rates.c. */
typedef struct lcp_device_row {
    const char *name, *short_name;
    const char *table_name; /* how published tables of measurements call it */
    const char *architecture;
    double peak_flops_per_second;
    double peak_fp8_flops_per_second; /* 0 = none */
    double peak_fp4_flops_per_second; /* 0 = none */
    int64_t memory_bytes;
    double memory_bandwidth_bytes_per_second;
    double intra_node_bytes_per_second;
    double inter_node_bytes_per_second;
    double host_bytes_per_second;
    double power_watts;
    const char *provenance;
} lcp_device_row;
extern const lcp_device_row lcp_device_rows[];
extern const size_t lcp_device_row_count;
/* By any of the three names, whatever the case; false if unknown. */
bool lcp_device_find(lcp_device *out, const char *name);
/* Devices that share the fast links of this one where that is more than a node, as jobs use them (a power of two);
 * 0 = a node. */
int64_t lcp_device_domain(const char *name);
/* Peaks, memory and links 0 or empty, everything else at values common to recent devices. */
lcp_device lcp_device_generic(void);

/* Default of lcp_group.usable_memory_ratio. */
#define LCP_USABLE_MEMORY_RATIO 0.92

#endif
