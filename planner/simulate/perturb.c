/* Replays under durations that are a little off, and with a slow rank. */
#include "simulate/simulate.h"

#include <stdlib.h>

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/* Near normal, mean 0 and deviation 1: twelve uniform numbers summed. No library function that machines disagree on. */
static double deviate(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        sum += (double)(next_random(state) >> 11) * 0x1p-53;
    }
    return sum;
}

static double factor(uint64_t *state, double ratio)
{
    double f = 1 + ratio * deviate(state);
    return f > 0.05 ? f : 0.05;
}

/* One copy of every table, perturbed anew for each run. */
typedef struct perturbing {
    const lcp_simulated *s;
    const lcp_perturbation *p;
    size_t cells;
    double *seconds; /* 6 tables and the hops */
} perturbing;

static void perturb_tables(perturbing *t, uint64_t *state)
{
    const lcp_schedule *schedule = &t->s->schedule;
    for (size_t table = 0; table < 6; table++) {
        for (size_t i = 0; i < t->cells; i++) {
            int32_t stage = (int32_t)(i / (size_t)schedule->chunk_count);
            int32_t chunk = (int32_t)(i % (size_t)schedule->chunk_count);
            double f = t->p->jitter_ratio > 0 ? factor(state, t->p->jitter_ratio) : 1;
            f *= lcp_schedule_rank(schedule, stage, chunk) == t->p->straggler_rank ? t->p->straggler_factor : 1;
            t->seconds[table * t->cells + i] = t->s->seconds[table * t->cells + i] * f;
        }
    }
    for (size_t k = 0; k < (size_t)schedule->chunk_count; k++) {
        double f = t->p->jitter_ratio > 0 ? factor(state, t->p->jitter_ratio) : 1;
        t->seconds[6 * t->cells + k] = t->s->seconds[6 * t->cells + k] * f;
    }
}

static lcp_status run_once(perturbing *t, double *makespan, lcp_error *err)
{
    double *x = t->seconds;
    lcp_replay replay;
    lcp_durations durations = t->s->durations;
    durations.forward_seconds = x;
    durations.backward_seconds = x + t->cells;
    durations.input_grad_seconds = x + 2 * t->cells;
    durations.weight_grad_seconds = x + 3 * t->cells;
    durations.recompute_seconds = x + 4 * t->cells;
    durations.offload_seconds = x + 5 * t->cells;
    durations.hop_seconds = x + 6 * t->cells;
    durations.wire_seconds = durations.wire_seconds != NULL ? durations.hop_seconds : NULL;
    lcp_status status = lcp_replay_run(&replay, &t->s->schedule, t->s->links, &durations, err);
    if (status == LCP_OK) {
        *makespan = replay.makespan_seconds > *makespan ? replay.makespan_seconds : *makespan;
        lcp_replay_dispose(&replay);
    }
    return status;
}

lcp_status lcp_simulated_perturb(double *makespans, const lcp_simulated *simulated,
                                 const lcp_perturbation *perturbation, lcp_error *err)
{
    perturbing t = {.s = simulated, .p = perturbation};
    size_t chunks = (size_t)simulated->schedule.chunk_count;
    t.cells = (size_t)simulated->schedule.stage_count * chunks;
    t.seconds = malloc((6 * t.cells + chunks) * sizeof *t.seconds);
    if (t.seconds == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot perturb %zu passes", t.cells);
    }
    lcp_status status = LCP_OK;
    for (int32_t i = 0; status == LCP_OK && i < perturbation->runs; i++) {
        uint64_t state = perturbation->seed + ((uint64_t)i << 32U) + ((uint64_t)simulated->dp << 16U);
        state = next_random(&state); /* runs whose numbers are near start far apart */
        perturb_tables(&t, &state);
        status = run_once(&t, &makespans[i], err);
    }
    free(t.seconds);
    return status;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double lcp_percentile(double *values, int32_t count, double share)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    int32_t index = (int32_t)(share * count);
    index -= index > 0 && (double)index >= share * count;
    return values[index < count ? index : count - 1];
}
