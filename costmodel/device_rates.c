#include "device_rates.h"

#include <string.h>

/* Printed by tests/calibration/fit_kernel_curves.py from published tables: matrix products and prefill attention of
 * ai-dynamo/aiconfigurator, the benchmark figures of Dao-AILab/flash-attention, nccl-tests of aiconfigurator. Errors
 * are medians of the absolute relative error over the rows fitted. memory_ratio is assumed everywhere: no table. */
const lcp_device_rates lcp_device_rates_rows[] = {
    {.architecture = "volta",
     .matmul = {0.70, 64, 5e-6},
     .attention_forward = {0.4, 490, 1e-5},
     .attention_backward = {0.36, 490, 1e-5},
     .attention_narrow_width = 20,
     .attention_parallel_rows = 12000,
     .memory_ratio = 0.8,
     .collective_ratio = 0.65,
     .collective_half_bytes = 7.2e6,
     .collective_latency_seconds = 3.7e-6,
     .provenance = "half sizes and collectives of ampere; ratios assumed: memory-efficient attention, fp16 cores"},
    {.architecture = "ampere",
     .matmul = {0.873, 64, 3e-6},
     .attention_forward = {0.596, 507, 8e-6},
     .attention_backward = {0.69, 507, 8e-6},
     .attention_narrow_width = 20.8,
     .attention_parallel_rows = 16600,
     .memory_ratio = 0.8,
     .collective_ratio = 0.65,
     .collective_half_bytes = 7.2e6,
     .collective_latency_seconds = 3.7e-6,
     .provenance =
         "A100: 286 products (6.1 %), prefill attention (5.6 %), FlashAttention-2 forward + backward (0.4 %), "
         "96 collectives of 2-8 ranks (11.6 %)"},
    {.architecture = "ada",
     .matmul = {0.85, 64, 3e-6},
     .attention_forward = {0.596, 507, 8e-6},
     .attention_backward = {0.69, 507, 8e-6},
     .attention_narrow_width = 20.8,
     .attention_parallel_rows = 16600,
     .memory_ratio = 0.8,
     .collective_ratio = 0.65,
     .collective_half_bytes = 7.2e6,
     .collective_latency_seconds = 1e-5,
     .provenance = "attention and collectives of ampere; matrix ratio and PCIe latency assumed"},
    {.architecture = "hopper",
     .matmul = {0.797, 64, 3e-6},
     .attention_forward = {0.673, 705, 1.7e-5},
     .attention_backward = {0.572, 705, 1.7e-5},
     .attention_narrow_width = 65.5,
     .attention_parallel_rows = 12300,
     .memory_ratio = 0.8,
     .collective_ratio = 0.674,
     .collective_half_bytes = 4.6e6,
     .collective_latency_seconds = 2.4e-6,
     .provenance =
         "H100: 639 products (5.8 %), prefill attention (8.6 %), FlashAttention-3 forward (4.5 %), 96 collectives "
         "(12.3 %); backward "
         "assumed at 0.85 of forward"},
    {.architecture = "blackwell",
     .matmul = {0.702, 64, 3e-6},
     .attention_forward = {0.61, 956, 1.2e-5},
     .attention_backward = {0.52, 956, 1.2e-5},
     .attention_narrow_width = 289,
     .attention_parallel_rows = 47700,
     .memory_ratio = 0.8,
     .collective_ratio = 0.651,
     .collective_half_bytes = 1.31e7,
     .collective_latency_seconds = 3.7e-6,
     .provenance = "B200: 639 products (4.8 %), prefill attention (6.9 %), 96 collectives (16.6 %); backward assumed "
                   "at 0.85 of forward"},
    {.architecture = "cdna2",
     .matmul = {0.60, 64, 5e-6},
     .attention_forward = {0.35, 490, 1e-5},
     .attention_backward = {0.3, 490, 1e-5},
     .attention_narrow_width = 20,
     .attention_parallel_rows = 16600,
     .memory_ratio = 0.8,
     .collective_ratio = 0.65,
     .collective_half_bytes = 7.2e6,
     .collective_latency_seconds = 1e-5,
     .provenance = "assumed; half sizes and collectives of ampere"},
    {.architecture = "cdna3",
     .matmul = {0.50, 64, 5e-6},
     .attention_forward = {0.35, 527, 1e-5},
     .attention_backward = {0.28, 527, 1e-5},
     .attention_narrow_width = 65,
     .attention_parallel_rows = 30000,
     .memory_ratio = 0.8,
     .collective_ratio = 0.674,
     .collective_half_bytes = 4.6e6,
     .collective_latency_seconds = 1e-5,
     .provenance = "matrix ratio: best product measured on MI300X (668 of 1300 TFLOP/s); attention assumed; half "
                   "sizes and collectives of hopper"},
    {.architecture = "tpu",
     .matmul = {0.75, 64, 2e-6},
     .attention_forward = {0.45, 512, 1e-5},
     .attention_backward = {0.4, 512, 1e-5},
     .attention_narrow_width = 0,
     .attention_parallel_rows = 0,
     .memory_ratio = 0.8,
     .collective_ratio = 0.7,
     .collective_half_bytes = 4.6e6,
     .collective_latency_seconds = 2e-6,
     .provenance = "assumed"},
    {.architecture = "davinci",
     .matmul = {0.65, 64, 5e-6},
     .attention_forward = {0.5, 512, 1e-5},
     .attention_backward = {0.42, 512, 1e-5},
     .attention_narrow_width = 20,
     .attention_parallel_rows = 10000,
     .memory_ratio = 0.8,
     .collective_ratio = 0.65,
     .collective_half_bytes = 7.2e6,
     .collective_latency_seconds = 1e-5,
     .provenance = "assumed; collectives of ampere"},
};
const size_t lcp_device_rates_row_count = sizeof lcp_device_rates_rows / sizeof lcp_device_rates_rows[0];

const lcp_device_rates *lcp_device_rates_find(const char *architecture)
{
    for (size_t i = 0; i < lcp_device_rates_row_count; i++) {
        if (strcmp(lcp_device_rates_rows[i].architecture, architecture) == 0) {
            return &lcp_device_rates_rows[i];
        }
    }
    return NULL;
}
