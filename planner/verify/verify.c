#include "verify/verify_internal.h"

#include <stdarg.h>
#include <stdio.h>

const lcp_verify_rule lcp_verify_rules[] = {
    {"inputs", "the inputs are there and belong together", lcp_verify_inputs},
    {"degrees", "degrees are legal for the model and fit the cluster", lcp_verify_degrees},
    {"stages", "every layer is on exactly one stage, embedding and head at the ends", lcp_verify_stages},
    {"segments", "every token of every sequence is in exactly one segment; cuts are aligned and in order",
     lcp_verify_segments},
    {"schedule", "every pass is there once, on the right rank, in an order that does not deadlock",
     lcp_verify_schedule},
    {"order", "the order is the one the schedule is known by", lcp_verify_order},
    {"recompute", "recompute counts are within each stage's layers", lcp_verify_recompute},
    {"options", "degrees, cuts, layers and recompute are what the options allow", lcp_verify_options},
    {"prediction", "memory fits, and memory and times are what the cost model says", lcp_verify_prediction},
    {"certificate", "the bound does not exceed the time, and the gap follows", lcp_verify_certificate},
};
const size_t lcp_verify_rule_count = sizeof lcp_verify_rules / sizeof lcp_verify_rules[0];

lcp_status lcp_broken(lcp_error *err, const char *text, const char *path_format, ...)
{
    char path[256];
    va_list arguments;
    va_start(arguments, path_format);
    vsnprintf(path, sizeof path, path_format, arguments);
    va_end(arguments);
    return lcp_fail(err, LCP_FALSE, path, "%s", text);
}

lcp_status lcp_verify(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    lcp_status status = LCP_OK;
    for (size_t i = 0; status == LCP_OK && i < lcp_verify_rule_count; i++) {
        status = lcp_verify_rules[i].check(plan, problem, err);
    }
    return status;
}
