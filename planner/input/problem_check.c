#include "input.h"

#include <string.h>

static lcp_status check_positions(const lcp_problem *problem, lcp_error *err)
{
    const lcp_model *model = &problem->model;
    if (!model->learned_positions || model->max_position_tokens == 0) {
        return LCP_OK;
    }
    for (int64_t i = 0; i < problem->workload.sequence_count; i++) {
        int64_t length = problem->workload.lengths_tokens[i];
        if (length > model->max_position_tokens) {
            return lcp_fail(err, LCP_INPUT, "workload",
                            "sequence %lld has %lld tokens, expected at most %lld: model \"%s\" has a learned table of "
                            "that many positions",
                            (long long)i, (long long)length, (long long)model->max_position_tokens, model->name);
        }
    }
    return LCP_OK;
}

static bool same(double a, double b)
{
    return !(a < b) && !(a > b);
}

/* The cost model prices one kind of device. */
static lcp_status check_devices(const lcp_problem *problem, lcp_error *err)
{
    const lcp_cluster *cluster = &problem->cluster;
    const lcp_device *first = &cluster->groups[0].device;
    for (int32_t g = 1; g < cluster->group_count; g++) {
        const lcp_device *device = &cluster->groups[g].device;
        if (strcmp(device->name, first->name) != 0 || device->memory_bytes != first->memory_bytes ||
            !same(device->peak_flops_per_second, first->peak_flops_per_second) ||
            !same(device->memory_bandwidth_bytes_per_second, first->memory_bandwidth_bytes_per_second)) {
            return lcp_fail(err, LCP_INPUT, "cluster",
                            "found groups of \"%s\" and of \"%s\", expected one kind of device in all groups",
                            first->name, device->name);
        }
    }
    return LCP_OK;
}

static lcp_status check_precision(const lcp_problem *problem, lcp_error *err)
{
    const lcp_device *device = &problem->cluster.groups[0].device;
    if (problem->options.training.precision == LCP_PRECISION_FP8 && !(device->peak_fp8_flops_per_second > 0)) {
        return lcp_fail(err, LCP_INPUT, "--precision",
                        "found fp8, expected one that device \"%s\" has: bf16, fp16, fp32", device->name);
    }
    return LCP_OK;
}

/* Slices of equal sequences are not equally many in each chunk, nor are packs of unequal ones. */
static lcp_status check_equal_chunks(const lcp_problem *problem, lcp_error *err)
{
    const lcp_workload *workload = &problem->workload;
    if (!problem->options.equal_chunks) {
        return LCP_OK;
    }
    if (problem->options.slicing) {
        return lcp_fail(err, LCP_INPUT, "--equal-chunks", "found slicing allowed, expected --no-slicing with it");
    }
    for (int64_t i = 1; i < workload->sequence_count; i++) {
        if (workload->lengths_tokens[i] != workload->lengths_tokens[0]) {
            return lcp_fail(err, LCP_INPUT, "--equal-chunks",
                            "found sequences of %lld and %lld tokens, expected sequences of one length",
                            (long long)workload->lengths_tokens[0], (long long)workload->lengths_tokens[i]);
        }
    }
    return LCP_OK;
}

lcp_status lcp_problem_check(const lcp_problem *problem, lcp_error *err)
{
    lcp_status status = check_positions(problem, err);
    if (status == LCP_OK) {
        status = check_devices(problem, err);
    }
    if (status == LCP_OK) {
        status = check_precision(problem, err);
    }
    return status != LCP_OK ? status : check_equal_chunks(problem, err);
}
