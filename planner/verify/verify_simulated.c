/* Predictions of plans whose ranks hold several stages, or split their backward passes: times and memory by simulation.
 * A stage's peak is that of the rank that holds it; its busy time is its own passes'. */
#include "verify/verify_internal.h"

#include "simulate/simulate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TOLERANCE 1e-9

bool lcp_verify_is_general(const lcp_plan *plan)
{
    for (int32_t d = 0; d < plan->layout.dp; d++) {
        for (int32_t r = 0; r < plan->layout.pp; r++) {
            for (int32_t i = 0; i < plan->pipelines[d].op_count[r]; i++) {
                if (plan->pipelines[d].ops[r][i].kind > LCP_OP_BACKWARD) {
                    return true;
                }
            }
        }
    }
    return plan->layout.vpp > 1;
}

static lcp_status check_number(const char *path, double claimed, double again, double scale, lcp_error *err)
{
    if (fabs(claimed - again) <= TOLERANCE * fmax(fabs(scale), 1e-30)) {
        return LCP_OK;
    }
    return lcp_fail(err, LCP_FALSE, path, "claims %.12g, the simulation says %.12g", claimed, again);
}

/* The slowest pipeline's figures, and each stage's largest peak over pipelines. */
typedef struct figures {
    double iteration_seconds, bubble_ratio;
    double *busy_seconds; /* [stage] */
    int64_t *peak_bytes;  /* [stage] */
    int64_t capacity_bytes;
} figures;

static void take_slowest(figures *f, const lcp_plan *plan, const lcp_simulated *s)
{
    double idle = 0;
    f->iteration_seconds = s->replay.makespan_seconds;
    for (int32_t stage = 0; stage < plan->stage_count; stage++) {
        f->busy_seconds[stage] = 0;
    }
    for (int32_t r = 0; r < plan->layout.pp; r++) {
        double rank_idle = s->replay.makespan_seconds - s->replay.busy_seconds[r] - s->durations.tail_seconds[r];
        idle += fmax(0, rank_idle) / plan->layout.pp;
        for (int32_t i = 0; i < s->schedule.op_count[r]; i++) {
            int64_t at = s->replay.rank_first[r] + i;
            bool pass = s->schedule.ops[r][i].kind <= LCP_OP_RECOMPUTE;
            f->busy_seconds[s->schedule.ops[r][i].stage] +=
                pass ? s->replay.end_seconds[at] - s->replay.start_seconds[at] : 0;
        }
    }
    f->bubble_ratio = idle / f->iteration_seconds;
}

static lcp_status simulate_all(figures *f, const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    lcp_status status = LCP_OK;
    for (int32_t dp = 0; status == LCP_OK && dp < plan->layout.dp; dp++) {
        lcp_simulated s;
        lcp_simulate_options options = {.recompute_ahead = false};
        status = lcp_simulate(&s, plan, problem, dp, &options, err);
        if (status != LCP_OK) {
            break;
        }
        f->capacity_bytes = s.capacity_bytes;
        for (int32_t stage = 0; stage < plan->stage_count; stage++) {
            int64_t peak = s.peaks[plan->stages[stage].pp].peak_bytes;
            f->peak_bytes[stage] = peak > f->peak_bytes[stage] ? peak : f->peak_bytes[stage];
        }
        if (dp == 0 || s.replay.makespan_seconds > f->iteration_seconds) {
            take_slowest(f, plan, &s);
        }
        lcp_simulated_dispose(&s);
    }
    return status;
}

static lcp_status check_stage(const lcp_plan *plan, const figures *f, int32_t stage, lcp_error *err)
{
    const lcp_stage_prediction *claimed = &plan->predicted.stages[stage];
    char path[96];
    snprintf(path, sizeof path, "$.predicted.stages[%d].peak_memory_bytes", stage);
    if (f->peak_bytes[stage] > f->capacity_bytes) {
        return lcp_fail(err, LCP_FALSE, path, "the rank of the stage needs %lld bytes, a device has %lld",
                        (long long)f->peak_bytes[stage], (long long)f->capacity_bytes);
    }
    if (claimed->peak_memory_bytes != f->peak_bytes[stage]) {
        return lcp_fail(err, LCP_FALSE, path, "claims %lld, the simulation says %lld",
                        (long long)claimed->peak_memory_bytes, (long long)f->peak_bytes[stage]);
    }
    snprintf(path, sizeof path, "$.predicted.stages[%d].busy_seconds", stage);
    return check_number(path, claimed->busy_seconds, f->busy_seconds[stage], f->iteration_seconds, err);
}

static lcp_status compare(const lcp_plan *plan, const lcp_problem *problem, const figures *f, lcp_error *err)
{
    const lcp_layout *l = &plan->layout;
    const lcp_prediction *p = &plan->predicted;
    const lcp_breakdown *b = &p->breakdown;
    double devices = (double)l->dp * l->pp * l->tp * l->ulysses * l->ring;
    double rate = (double)problem->workload.total_tokens / (f->iteration_seconds * devices);
    double sum = b->compute + b->recompute + b->exposed_tp + b->exposed_cp + b->exposed_pp + b->exposed_ep +
                 b->exposed_dp + b->optimizer + b->bubble;
    lcp_status status = check_number("$.predicted.iteration_seconds", p->iteration_seconds, f->iteration_seconds,
                                     f->iteration_seconds, err);
    for (int32_t s = 0; status == LCP_OK && s < plan->stage_count; s++) {
        status = check_stage(plan, f, s, err);
    }
    if (status == LCP_OK) {
        status =
            check_number("$.predicted.tokens_per_second_per_device", p->tokens_per_second_per_device, rate, rate, err);
    }
    if (status == LCP_OK) {
        status = check_number("$.predicted.bubble_ratio", p->bubble_ratio, f->bubble_ratio, 1, err);
    }
    return status != LCP_OK
               ? status
               : check_number("$.predicted.breakdown_seconds", sum, f->iteration_seconds, f->iteration_seconds, err);
}

lcp_status lcp_verify_simulated(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    figures f = {0};
    f.busy_seconds = calloc((size_t)plan->stage_count, sizeof *f.busy_seconds);
    f.peak_bytes = calloc((size_t)plan->stage_count, sizeof *f.peak_bytes);
    lcp_status status = f.busy_seconds != NULL && f.peak_bytes != NULL
                            ? simulate_all(&f, plan, problem, err)
                            : lcp_fail(err, LCP_NOMEM, "", "cannot simulate the plan");
    if (status == LCP_OK) {
        status = compare(plan, problem, &f, err);
    }
    free(f.busy_seconds);
    free(f.peak_bytes);
    return status;
}
