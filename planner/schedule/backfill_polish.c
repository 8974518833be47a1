#include "schedule/backfill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static lcp_status copy(lcp_schedule *out, const lcp_schedule *from, bool room, lcp_error *err)
{
    size_t ranks = (size_t)from->rank_count;
    size_t chunks = (size_t)from->chunk_count;
    *out = *from;
    out->stage_rank = malloc((size_t)from->stage_count * sizeof *out->stage_rank);
    out->op_count = malloc(ranks * sizeof *out->op_count);
    out->ops = calloc(ranks, sizeof *out->ops);
    out->chunk_direction = from->chunk_direction != NULL ? malloc(chunks) : NULL;
    bool complete = out->stage_rank != NULL && out->op_count != NULL && out->ops != NULL &&
                    (from->chunk_direction == NULL || out->chunk_direction != NULL);
    for (size_t r = 0; complete && r < ranks; r++) {
        size_t size = (size_t)from->op_count[r] * sizeof *out->ops[r];
        size_t most = 3 * chunks * (size_t)from->stage_count * sizeof *out->ops[r];
        out->ops[r] = malloc(room ? most : size + 1);
        complete = out->ops[r] != NULL;
        if (complete) {
            memcpy(out->ops[r], from->ops[r], size);
        }
    }
    if (!complete) {
        lcp_schedule_dispose(out);
        return lcp_fail(err, LCP_NOMEM, "", "cannot copy a schedule");
    }
    memcpy(out->stage_rank, from->stage_rank, (size_t)from->stage_count * sizeof *out->stage_rank);
    memcpy(out->op_count, from->op_count, ranks * sizeof *out->op_count);
    if (from->chunk_direction != NULL) {
        memcpy(out->chunk_direction, from->chunk_direction, chunks);
    }
    return LCP_OK;
}

lcp_status lcp_schedule_copy(lcp_schedule *out, const lcp_schedule *from, lcp_error *err)
{
    return copy(out, from, false, err);
}

lcp_status lcp_schedule_copy_room(lcp_schedule *out, const lcp_schedule *from, lcp_error *err)
{
    return copy(out, from, true, err);
}

double lcp_schedule_cost(const lcp_schedule *schedule, const lcp_schedule_input *input)
{
    double makespan = HUGE_VAL;
    double span = HUGE_VAL;
    lcp_status status = lcp_schedule_price(&makespan, &span, schedule, input);
    return status != LCP_OK ? HUGE_VAL : input->by_span ? span : makespan;
}

static const lcp_backfill_rule rules[] = {
    {12, 0, 0, false},   {12, 0.5, 0, false}, {12, 1, 0, false},    {12, 0, 0.5, false}, {12, 0.5, 0.5, false},
    {12, 1, 0.5, false}, {4, 0, 0, false},    {4, 0.5, 0.5, false}, {12, 0.5, 1, false}, {24, 0, 0, false},
    {12, 0, 0, true},    {12, 0, 0.5, true},  {12, 0, 1, true},     {4, 0, 0, true},     {4, 0, 0.5, true},
};

/* One round: *schedule is replaced by the best that a rule makes of it. */
static lcp_status improve(lcp_schedule *schedule, double *cost, const lcp_schedule_input *input,
                          const int64_t *limit_bytes, lcp_error *err)
{
    lcp_schedule best = {0};
    double best_cost = *cost;
    lcp_status status = LCP_OK;
    for (size_t i = 0; status == LCP_OK && i < sizeof rules / sizeof rules[0]; i++) {
        lcp_schedule trial;
        status = lcp_schedule_copy(&trial, schedule, err);
        if (status == LCP_OK) {
            status = lcp_backfill(&trial, input, limit_bytes, &rules[i], err);
        }
        double trial_cost = status == LCP_OK ? lcp_schedule_cost(&trial, input) : HUGE_VAL;
        if (trial_cost < best_cost) {
            lcp_schedule_dispose(&best);
            best = trial;
            best_cost = trial_cost;
        } else {
            lcp_schedule_dispose(&trial);
        }
    }
    if (best_cost < *cost) {
        lcp_schedule_dispose(schedule);
        *schedule = best;
        *cost = best_cost;
    }
    return status;
}

lcp_status lcp_backfill_polish(lcp_schedule *schedule, const lcp_schedule_input *input, const int64_t *limit_bytes,
                               lcp_error *err)
{
    double cost = lcp_schedule_cost(schedule, input);
    lcp_status status = LCP_OK;
    double before = HUGE_VAL;
    int32_t rounds = input->effort > 0 ? input->effort - 1 : INT32_MAX;
    for (int32_t i = 0; status == LCP_OK && cost < before && i < rounds; i++) {
        before = cost;
        status = improve(schedule, &cost, input, limit_bytes, err);
    }
    return status;
}
