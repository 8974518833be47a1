/* Many rules of list scheduling, the best of them kept. */
#include "schedule/greedy.h"

#include <math.h>
#include <stdlib.h>

/* Sorted by how often they win, so that a small effort is well spent. */
static const lcp_greedy_rule split_rules[] = {
    {LCP_GREEDY_BACKWARD_FIRST, true, true, 1, 0},      {LCP_GREEDY_ALTERNATE, true, true, 1, 0},
    {LCP_GREEDY_BACKWARD_FIRST, true, false, 1, 0},     {LCP_GREEDY_ALTERNATE, true, false, 1, 0},
    {LCP_GREEDY_BACKWARD_FIRST, true, true, 0.5, 0},    {LCP_GREEDY_ALTERNATE, true, true, 0.5, 0},
    {LCP_GREEDY_BACKWARD_FIRST, true, false, 0.5, 0},   {LCP_GREEDY_ALTERNATE, true, false, 0.5, 0},
    {LCP_GREEDY_BACKWARD_FIRST, true, true, 0.5, 0.5},  {LCP_GREEDY_ALTERNATE, true, true, 0.5, 0.5},
    {LCP_GREEDY_BACKWARD_FIRST, true, false, 0.5, 0.5}, {LCP_GREEDY_ALTERNATE, true, false, 0.5, 0.5},
    {LCP_GREEDY_BACKWARD_FIRST, true, true, 0, 0},      {LCP_GREEDY_ALTERNATE, true, true, 0, 0},
    {LCP_GREEDY_BACKWARD_FIRST, true, false, 0, 0},     {LCP_GREEDY_ALTERNATE, true, false, 0, 0},
    {LCP_GREEDY_ALTERNATE, true, true, 0, 0.75},        {LCP_GREEDY_BACKWARD_FIRST, true, true, 0, 0.25},
    {LCP_GREEDY_ALTERNATE, true, true, 0, 1},           {LCP_GREEDY_ALTERNATE, true, true, 0.25, 0.5},
    {LCP_GREEDY_FORWARD_FIRST, true, true, 1, 0},       {LCP_GREEDY_FORWARD_FIRST, true, false, 1, 0},
};

static const lcp_greedy_rule whole_rules[] = {
    {LCP_GREEDY_BACKWARD_FIRST, false, true, 0, 0},   {LCP_GREEDY_BACKWARD_FIRST, false, false, 0, 0},
    {LCP_GREEDY_ALTERNATE, false, true, 0, 0},        {LCP_GREEDY_ALTERNATE, false, false, 0, 0},
    {LCP_GREEDY_BACKWARD_FIRST, false, true, 0, 0.5}, {LCP_GREEDY_BACKWARD_FIRST, false, false, 0, 0.5},
    {LCP_GREEDY_ALTERNATE, false, true, 0, 0.5},      {LCP_GREEDY_ALTERNATE, false, false, 0, 0.5},
    {LCP_GREEDY_FORWARD_FIRST, false, true, 0, 0},    {LCP_GREEDY_FORWARD_FIRST, false, false, 0, 0},
};

typedef struct ranked {
    size_t rule;
    double cost;
} ranked;

static int compare(const void *a, const void *b)
{
    const ranked *x = a;
    const ranked *y = b;
    if (x->cost < y->cost || x->cost > y->cost) {
        return x->cost < y->cost ? -1 : 1;
    }
    return (x->rule > y->rule) - (x->rule < y->rule);
}

#define MAX_RULES 32

lcp_status lcp_greedy_nth(lcp_schedule *out, const lcp_schedule_input *input, bool split, const int64_t *limit_bytes,
                          size_t nth, lcp_error *err)
{
    const lcp_greedy_rule *rules = split ? split_rules : whole_rules;
    size_t count = split ? sizeof split_rules / sizeof split_rules[0] : sizeof whole_rules / sizeof whole_rules[0];
    count = input->effort > 0 && (size_t)input->effort < count ? (size_t)input->effort : count;
    ranked order[MAX_RULES];
    lcp_greedy_result result;
    lcp_status status = LCP_OK;
    for (size_t i = 0; status == LCP_OK && i < count; i++) {
        status = lcp_greedy_fill(out, &result, input, &rules[i], limit_bytes, NULL, err);
        order[i] = (ranked){i, input->by_span ? result.span_seconds : result.makespan_seconds};
    }
    if (status == LCP_OK && count > 1) {
        qsort(order, count, sizeof *order, compare);
        nth = nth < count ? nth : count - 1;
        status = lcp_greedy_fill(out, &result, input, &rules[order[nth].rule], limit_bytes, NULL, err);
    }
    return status;
}

void lcp_greedy_limits(int64_t *limits, const lcp_schedule *schedule, const lcp_schedule_input *input,
                       double chunk_count)
{
    for (int32_t r = 0; r < schedule->rank_count; r++) {
        int64_t most = 0;
        for (int32_t k = 0; k < schedule->chunk_count; k++) {
            int64_t kept = 0;
            for (int32_t s = 0; s < schedule->stage_count; s++) {
                kept += lcp_schedule_rank(schedule, s, k) == r ? lcp_pass_kept_bytes(input, s, k) : 0;
            }
            most = kept > most ? kept : most;
        }
        double wanted = (double)most * chunk_count;
        limits[r] = wanted < 9e18 ? (int64_t)wanted : INT64_MAX;
        if (input->limit_bytes != NULL && input->limit_bytes[r] < limits[r]) {
            limits[r] = input->limit_bytes[r];
        }
    }
}
