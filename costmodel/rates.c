/* What a device achieves at a precision. */
#include "internal.h"

double lcp_element_bytes(lcp_precision precision)
{
    return precision == LCP_PRECISION_FP32 ? 4 : 2;
}

/* fp32 products run on the matrix cores in TF32, at half the 16-bit peak. What a device has no
 * cores for runs at the next wider precision. */
static double matmul_peak(const lcp_device *device, lcp_precision precision)
{
    const double half = device->peak_flops_per_second;
    const double fp8 = device->peak_fp8_flops_per_second > 0 ? device->peak_fp8_flops_per_second : half;
    const double fp4 = device->peak_fp4_flops_per_second > 0 ? device->peak_fp4_flops_per_second : fp8;
    const double peaks[] = {
        [LCP_PRECISION_BF16] = half, [LCP_PRECISION_FP16] = half, [LCP_PRECISION_FP32] = half / 2,
        [LCP_PRECISION_FP8] = fp8,   [LCP_PRECISION_FP4] = fp4,
    };
    return peaks[precision];
}

lcp_rates lcp_rates_of(const lcp_device *device, lcp_precision precision)
{
    double attention_peak = device->peak_flops_per_second / (precision == LCP_PRECISION_FP32 ? 2 : 1);
    return (lcp_rates){
        .matmul_flops_per_second = matmul_peak(device, precision) * device->matmul.ratio,
        .attention_forward_flops_per_second = attention_peak * device->attention_forward.ratio,
        .attention_backward_flops_per_second = attention_peak * device->attention_backward.ratio,
        .memory_bytes_per_second = device->memory_bandwidth_bytes_per_second * device->memory_ratio,
        .launch_seconds = device->matmul.overhead_seconds,
    };
}

lcp_line lcp_elementwise_line(const lcp_rates *rates, double bytes_per_token, double kernels)
{
    return (lcp_line){kernels * rates->launch_seconds, bytes_per_token / rates->memory_bytes_per_second};
}
