/* Seconds of processor time for orders and their price. Exit status 1 if the large replay takes more than it may. */
#include "lcp/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LARGE_BUDGET_SECONDS 0.05

typedef struct shape {
    int32_t ranks, stages_a_rank, sequences, slices;
} shape;

typedef struct tables {
    double *seconds; /* F and I alike, B twice that, W the same; then hops */
    lcp_chunk_link *links;
    lcp_durations durations;
    lcp_schedule_input input;
} tables;

static void *or_end(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "bench_schedule: no memory\n");
        exit(7);
    }
    return memory;
}

static tables fill(const shape *s)
{
    size_t chunks = (size_t)s->sequences * (size_t)s->slices;
    size_t cells = chunks * (size_t)s->ranks * (size_t)(s->stages_a_rank > 0 ? s->stages_a_rank : 2);
    tables t = {.seconds = or_end(malloc((2 * cells + chunks) * sizeof(double))),
                .links = or_end(malloc(chunks * sizeof(lcp_chunk_link)))};
    for (size_t i = 0; i < cells; i++) {
        t.seconds[i] = 1 + 0.01 * (double)(i % 7);
        t.seconds[cells + i] = 2 * t.seconds[i];
    }
    for (size_t k = 0; k < chunks; k++) {
        int32_t slice = (int32_t)k % s->slices;
        t.seconds[2 * cells + k] = 0.05;
        t.links[k] = (lcp_chunk_link){slice > 0 ? (int32_t)k - 1 : -1, slice + 1 < s->slices ? (int32_t)k + 1 : -1};
    }
    t.durations = (lcp_durations){.forward_seconds = t.seconds,
                                  .backward_seconds = t.seconds + cells,
                                  .input_grad_seconds = t.seconds,
                                  .weight_grad_seconds = t.seconds,
                                  .hop_seconds = t.seconds + 2 * cells};
    t.input =
        (lcp_schedule_input){.rank_count = s->ranks, .virtual_count = s->stages_a_rank, .chunk_count = (int32_t)chunks};
    return t;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Best of some repetitions, of the order and of the replay. */
static void measure(const char *name, const shape *s, int32_t effort, double *order_seconds, double *replay_seconds)
{
    tables t = fill(s);
    int64_t ops = 0;
    t.input.links = t.links;
    t.input.durations = &t.durations;
    t.input.effort = effort;
    *order_seconds = 1e9;
    *replay_seconds = 1e9;
    for (int repetition = 0; repetition < 5; repetition++) {
        lcp_schedule schedule;
        lcp_replay replay;
        lcp_error err = {0};
        double start = now();
        if (lcp_schedule_generate(&schedule, name, &t.input, &err) != LCP_OK) {
            fprintf(stderr, "bench_schedule: %s: %s\n", name, err.text);
            exit(8);
        }
        double made = now();
        if (lcp_replay_run(&replay, &schedule, t.links, &t.durations, &err) != LCP_OK) {
            fprintf(stderr, "bench_schedule: %s: %s\n", name, err.text);
            exit(8);
        }
        double done = now();
        *order_seconds = made - start < *order_seconds ? made - start : *order_seconds;
        *replay_seconds = done - made < *replay_seconds ? done - made : *replay_seconds;
        ops = replay.op_count;
        lcp_replay_dispose(&replay);
        lcp_schedule_dispose(&schedule);
    }
    printf("%-14s p %2d v %d m %3d slices %d: %7lld ops, order %8.3f ms, replay %7.3f ms, %5.1f ns an op\n", name,
           s->ranks, s->stages_a_rank, s->sequences, s->slices, (long long)ops, 1e3 * *order_seconds,
           1e3 * *replay_seconds, 1e9 * *replay_seconds / (double)ops);
    free(t.seconds);
    free(t.links);
}

int main(void)
{
    const shape large = {32, 2, 256, 4};
    double order;
    double replay;
    measure("interleaved", &large, 0, &order, &replay);
    printf("large replay: %.1f ms of %.0f allowed, ratio %.2f\n", 1e3 * replay, 1e3 * LARGE_BUDGET_SECONDS,
           replay / LARGE_BUDGET_SECONDS);
    for (size_t k = 0; k < lcp_schedule_kind_count(); k++) {
        const char *name = lcp_schedule_kind_at(k)->name;
        const shape one = {8, 1, 64, 1};
        const shape own = {8, 0, 64, 1};
        lcp_schedule_input asked = {.rank_count = 8, .virtual_count = 1, .chunk_count = 64};
        lcp_chunk_link links[64];
        for (int i = 0; i < 64; i++) {
            links[i] = (lcp_chunk_link){-1, -1};
        }
        asked.links = links;
        double order_one;
        double replay_one;
        const shape *s = lcp_schedule_kind_at(k)->unsupported(&asked) == NULL ? &one : &own;
        measure(name, s, 1, &order_one, &replay_one);
    }
    return replay <= LARGE_BUDGET_SECONDS ? 0 : 1;
}
