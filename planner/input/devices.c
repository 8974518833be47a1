#include "costmodel/device_rates.h"
#include "lcp/cluster.h"

#include <stdio.h>
#include <string.h>

/* Marketing gigabytes of device memory are binary ones: nvidia-smi shows 81920 MiB on an "80 GB" A100, rocm-smi 192 GiB
 * on an MI300X. What the driver keeps of them is part of the allocator reserve (1 - usable_memory_ratio). */
#define GIB(n) ((int64_t)(n) << 30)
#define TERA 1e12
#define GIGA 1e9

/* Link from a port of so many Gbit/s per device. */
#define GBIT(n) ((n)*1e9 / 8)

#define PASS_OVERHEAD_SECONDS 1e-4
#define HOP_OVERHEAD_SECONDS 1e-5
/* Context and kernels of the framework about 0.6 GB, the rest communicators: some 20 MB for each channel and peer, with
 * tensor, context, data, expert and pipeline groups in one process. Trainers report 2 to 5 GB on nodes of 8. */
#define FIXED_MEMORY_BYTES GIB(3)
#define NETWORK_LATENCY_SECONDS 8e-6
#define HOST_LATENCY_SECONDS 1e-5

#define LISTED "peaks, memory, links: ml-engineering and aiconfigurator"
#define KNOWN "peaks, memory, links: data-sheet values as commonly quoted"

/* Bandwidths per device and direction. Peaks are dense. Network ports are those of the usual reference design. */
const lcp_device_row lcp_device_rows[] = {
    {"V100-SXM2-32GB", "v100", "V100-SXM2-32", "volta", 125 * TERA, 0, 0, GIB(32), 0.9 * TERA, 150 * GIGA, GBIT(25),
     12 * GIGA, 300, KNOWN "; fp16 peak, no bf16"},
    {"A100-SXM4-40GB", "a100-40", "A100-SXM-40", "ampere", 312 * TERA, 0, 0, GIB(40), 1.555 * TERA, 300 * GIGA,
     GBIT(200), 24 * GIGA, 400, LISTED},
    {"A100-SXM4-80GB", "a100-80", "A100-SXM-80", "ampere", 312 * TERA, 0, 0, GIB(80), 2.04 * TERA, 300 * GIGA,
     GBIT(200), 24 * GIGA, 400, LISTED},
    {"A100-PCIe-80GB", "a100-pcie", "A100-PCIe-80", "ampere", 312 * TERA, 0, 0, GIB(80), 1.94 * TERA, 31 * GIGA,
     GBIT(100), 24 * GIGA, 300, LISTED "; NVLink bridge of pairs left out"},
    {"A800-SXM4-80GB", "a800", "A800-SXM-80", "ampere", 312 * TERA, 0, 0, GIB(80), 2.04 * TERA, 200 * GIGA, GBIT(200),
     24 * GIGA, 400, KNOWN},
    {"L40S-48GB", "l40s", "L40S-48", "ada", 362 * TERA, 733 * TERA, 0, GIB(48), 0.864 * TERA, 32 * GIGA, GBIT(50),
     24 * GIGA, 350, LISTED},
    {"RTX-4090-24GB", "rtx-4090", "RTX-4090-24", "ada", 165 * TERA, 330 * TERA, 0, GIB(24), 1.008 * TERA, 32 * GIGA,
     GBIT(25), 24 * GIGA, 450, KNOWN "; peak with fp32 accumulation; one 200 Gbit/s port for 8 assumed"},
    {"H100-SXM5-80GB", "h100-sxm", "H100-SXM-80", "hopper", 989 * TERA, 1979 * TERA, 0, GIB(80), 3.35 * TERA,
     450 * GIGA, GBIT(400), 55 * GIGA, 700, LISTED},
    {"H100-SXM5-96GB-500W", "h100-96", "H100-SXM-96HBM2e-500W", "hopper", 989 * TERA, 1979 * TERA, 0, GIB(96),
     2.4 * TERA, 450 * GIGA, GBIT(400), 55 * GIGA, 500, LISTED "; sustained peak is lower at 500 W"},
    {"H100-PCIe-80GB", "h100-pcie", "H100-PCIe-80", "hopper", 756 * TERA, 1513 * TERA, 0, GIB(80), 2.0 * TERA,
     64 * GIGA, GBIT(200), 55 * GIGA, 350, LISTED},
    {"H100-NVL-94GB", "h100-nvl", "H100-NVL-94", "hopper", 835 * TERA, 1671 * TERA, 0, GIB(94), 3.9 * TERA, 64 * GIGA,
     GBIT(200), 55 * GIGA, 400, KNOWN "; PCIe between pairs, NVLink of a pair left out"},
    {"H800-SXM5-80GB", "h800", "H800-SXM-80", "hopper", 989 * TERA, 1979 * TERA, 0, GIB(80), 3.35 * TERA, 200 * GIGA,
     GBIT(400), 55 * GIGA, 700, KNOWN},
    {"H20-96GB", "h20", "H20-96", "hopper", 148 * TERA, 296 * TERA, 0, GIB(96), 4.0 * TERA, 450 * GIGA, GBIT(400),
     55 * GIGA, 400, KNOWN},
    {"H200-SXM-141GB", "h200", "H200-SXM-141", "hopper", 989 * TERA, 1979 * TERA, 0, GIB(141), 4.8 * TERA, 450 * GIGA,
     GBIT(400), 55 * GIGA, 700, LISTED},
    {"GH200-SXM-96GB", "gh200", "GH200-SXM-96", "hopper", 989 * TERA, 1979 * TERA, 0, GIB(96), 4.0 * TERA, 450 * GIGA,
     GBIT(200), 400 * GIGA, 900, LISTED},
    {"B200-SXM-180GB", "b200", "B200-180", "blackwell", 2250 * TERA, 4500 * TERA, 9000 * TERA, GIB(180), 8.0 * TERA,
     900 * GIGA, GBIT(400), 55 * GIGA, 1000, LISTED},
    {"GB200-186GB", "gb200", "GB200-186", "blackwell", 2500 * TERA, 5000 * TERA, 10000 * TERA, GIB(186), 8.0 * TERA,
     900 * GIGA, GBIT(400), 200 * GIGA, 1200, LISTED "; NVLink domain of 72: give it as one node"},
    {"B300-SXM-288GB", "b300", "B300-288", "blackwell", 2250 * TERA, 4500 * TERA, 13500 * TERA, GIB(288), 8.0 * TERA,
     900 * GIGA, GBIT(800), 55 * GIGA, 1100, LISTED},
    {"GB300-288GB", "gb300", "GB300-288", "blackwell", 2500 * TERA, 5000 * TERA, 15000 * TERA, GIB(288), 8.0 * TERA,
     900 * GIGA, GBIT(800), 200 * GIGA, 1400, LISTED "; NVLink domain of 72: give it as one node"},
    {"MI250X-128GB", "mi250x", "MI250X-128", "cdna2", 383 * TERA, 0, 0, GIB(128), 3.28 * TERA, 350 * GIGA, GBIT(100),
     24 * GIGA, 560, LISTED "; the package of two dies as one device"},
    {"MI250X-GCD-64GB", "mi250x-gcd", "MI250X-GCD", "cdna2", 191.5 * TERA, 0, 0, GIB(64), 1.64 * TERA, 175 * GIGA,
     GBIT(50), 24 * GIGA, 280, LISTED "; one die: half of the package"},
    {"MI300X-192GB", "mi300x", "MI300X-192", "cdna3", 1300 * TERA, 2610 * TERA, 0, GIB(192), 5.3 * TERA, 448 * GIGA,
     GBIT(400), 55 * GIGA, 750, LISTED "; 7 peer links taken together"},
    {"MI325X-256GB", "mi325x", "MI325X-256", "cdna3", 1300 * TERA, 2610 * TERA, 0, GIB(256), 6.0 * TERA, 448 * GIGA,
     GBIT(400), 55 * GIGA, 1000, LISTED "; 7 peer links taken together"},
    {"MI355X-288GB", "mi355x", "MI355X-288", "cdna3", 2500 * TERA, 5000 * TERA, 10000 * TERA, GIB(288), 8.0 * TERA,
     535.5 * GIGA, GBIT(400), 55 * GIGA, 1400, LISTED "; curves of the generation before; 7 peer links taken together"},
    {"Gaudi2-96GB", "gaudi2", "Gaudi2-96", "davinci", 432 * TERA, 865 * TERA, 0, GIB(96), 2.46 * TERA, 262.5 * GIGA,
     GBIT(300), 24 * GIGA, 600, LISTED "; 21 of 24 ports of 100 Gbit/s inside the node"},
    {"TPU-v4", "tpu-v4", "TPUv4-32", "tpu", 275 * TERA, 0, 0, GIB(32), 1.2 * TERA, 270 * GIGA, GBIT(50), 16 * GIGA, 0,
     LISTED "; torus links of 45 GB/s taken together: give a slice as one node"},
    {"TPU-v5e", "tpu-v5e", "TPUv5e-16", "tpu", 197 * TERA, 0, 0, GIB(16), 0.82 * TERA, 180 * GIGA, GBIT(50), 16 * GIGA,
     0, LISTED "; torus links of 45 GB/s taken together: give a slice as one node"},
    {"TPU-v5p", "tpu-v5p", "TPUv5p-95", "tpu", 459 * TERA, 0, 0, GIB(95), 2.76 * TERA, 540 * GIGA, GBIT(50), 16 * GIGA,
     0, LISTED "; torus links of 90 GB/s taken together: give a slice as one node"},
    {"TPU-v6e", "tpu-v6e", "TPUv6e-32", "tpu", 918 * TERA, 0, 0, GIB(32), 1.64 * TERA, 360 * GIGA, GBIT(50), 16 * GIGA,
     0, LISTED "; torus links of 90 GB/s taken together: give a slice as one node"},
    {"Ascend-910B-64GB", "ascend-910b", "Ascend-910B-64", "davinci", 320 * TERA, 0, 0, GIB(64), 1.6 * TERA, 196 * GIGA,
     GBIT(200), 24 * GIGA, 400, KNOWN "; peak from 280 to 400 by variant"},
};
const size_t lcp_device_row_count = sizeof lcp_device_rows / sizeof lcp_device_rows[0];

/* Racks whose NVLink switches join 72 devices; jobs take 64. */
int64_t lcp_device_domain(const char *name)
{
    bool rack = strncmp(name, "GB200-", 6) == 0 || strncmp(name, "GB300-", 6) == 0;
    return rack ? 64 : 0;
}

lcp_device lcp_device_generic(void)
{
    return (lcp_device){
        .matmul = {0.75, 64, 4e-6},
        .attention_forward = {0.6, 512, 1e-5},
        .attention_backward = {0.5, 512, 1e-5},
        .memory_ratio = 0.8,
        .collective_ratio = 0.65,
        .collective_half_bytes = 5e6,
        .network_ratio = 0.85,
        .activation_ratio = 1,
        .pass_overhead_seconds = PASS_OVERHEAD_SECONDS,
        .hop_overhead_seconds = HOP_OVERHEAD_SECONDS,
        .fixed_memory_bytes = FIXED_MEMORY_BYTES,
    };
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(const char *a, const char *b)
{
    while (*a != '\0' && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return *a == '\0' && *b == '\0';
}

static void set_curves(lcp_device *out, const lcp_device_rates *rates)
{
    out->matmul = rates->matmul;
    out->attention_forward = rates->attention_forward;
    out->attention_backward = rates->attention_backward;
    out->attention_narrow_width = rates->attention_narrow_width;
    out->attention_parallel_rows = rates->attention_parallel_rows;
    out->memory_ratio = rates->memory_ratio;
    out->collective_ratio = rates->collective_ratio;
    out->collective_half_bytes = rates->collective_half_bytes;
    out->intra_node.latency_seconds = rates->collective_latency_seconds;
}

static lcp_device device_of(const lcp_device_row *row)
{
    const lcp_device_rates *rates = lcp_device_rates_find(row->architecture);
    lcp_device out = lcp_device_generic();
    set_curves(&out, rates);
    snprintf(out.name, sizeof out.name, "%s", row->name);
    snprintf(out.provenance, sizeof out.provenance, "%s; curves: %s", row->provenance, rates->provenance);
    out.peak_flops_per_second = row->peak_flops_per_second;
    out.peak_fp8_flops_per_second = row->peak_fp8_flops_per_second;
    out.peak_fp4_flops_per_second = row->peak_fp4_flops_per_second;
    out.memory_bytes = row->memory_bytes;
    out.memory_bandwidth_bytes_per_second = row->memory_bandwidth_bytes_per_second;
    out.power_watts = row->power_watts;
    out.intra_node.bandwidth_bytes_per_second = row->intra_node_bytes_per_second;
    out.inter_node = (lcp_link){row->inter_node_bytes_per_second, NETWORK_LATENCY_SECONDS};
    out.host = (lcp_link){row->host_bytes_per_second, HOST_LATENCY_SECONDS};
    return out;
}

bool lcp_device_find(lcp_device *out, const char *name)
{
    for (size_t i = 0; i < lcp_device_row_count; i++) {
        const lcp_device_row *row = &lcp_device_rows[i];
        if (same_word(name, row->name) || same_word(name, row->short_name) || same_word(name, row->table_name)) {
            *out = device_of(row);
            return true;
        }
    }
    return false;
}
