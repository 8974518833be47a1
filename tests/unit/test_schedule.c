/* Orders, replay and memory replay against closed forms and a plain event loop. */
#include "support.h"

#include "lcp/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static int32_t pick(uint64_t *state, int32_t lo, int32_t hi)
{
    return lo + (int32_t)(next_random(state) % (uint64_t)(hi - lo + 1));
}

#define MAX_CHUNKS 128
#define MAX_STAGES 8

/* A pipeline with slices[i] chunks for its i-th sequence, and durations to fill in. */
typedef struct pipeline {
    int32_t ranks, chunks, most_slices;
    lcp_chunk_link links[MAX_CHUNKS];
    lcp_schedule schedule;
    double forward[MAX_STAGES * MAX_CHUNKS], backward[MAX_STAGES * MAX_CHUNKS], hop[MAX_CHUNKS];
} pipeline;

static void build(pipeline *p, const char *name, int32_t ranks, const int32_t *slices, int32_t sequences)
{
    *p = (pipeline){.ranks = ranks, .most_slices = 1};
    for (int32_t i = 0; i < sequences; i++) {
        for (int32_t s = 0; s < slices[i]; s++) {
            int32_t k = p->chunks++;
            p->links[k] = (lcp_chunk_link){s > 0 ? k - 1 : -1, s + 1 < slices[i] ? k + 1 : -1};
        }
        p->most_slices = slices[i] > p->most_slices ? slices[i] : p->most_slices;
    }
    lcp_schedule_input input = {.rank_count = ranks, .chunk_count = p->chunks, .links = p->links};
    const lcp_schedule_kind *kind = lcp_schedule_find(name);
    assert_non_null(kind);
    assert_null(kind->unsupported(&input));
    assert_int_equal(kind->build(&p->schedule, &input, NULL), LCP_OK);
}

static void set_equal(pipeline *p, double forward, double backward, double hop)
{
    for (int32_t i = 0; i < p->ranks * p->chunks; i++) {
        p->forward[i] = forward;
        p->backward[i] = backward;
    }
    for (int32_t k = 0; k < p->chunks; k++) {
        p->hop[k] = hop;
    }
}

static double makespan(const pipeline *p)
{
    lcp_durations durations = {.forward_seconds = p->forward, .backward_seconds = p->backward, .hop_seconds = p->hop};
    lcp_replay replay;
    lcp_error err = {0};
    if (lcp_replay_run(&replay, &p->schedule, p->links, &durations, &err) != LCP_OK) {
        fail_msg("%s", err.text);
    }
    double seconds = replay.makespan_seconds;
    lcp_replay_dispose(&replay);
    return seconds;
}

static void whole_sequences(int32_t *slices, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        slices[i] = 1;
    }
}

/* (m + p - 1)(f + b); with latency c and p dividing m: + 2c[(p - 1) m / p + p - 2]. */
static void closed_forms_of_1f1b(void **state)
{
    (void)state;
    for (int32_t ranks = 1; ranks <= 8; ranks++) {
        for (int32_t rounds = 1; rounds <= 4; rounds++) {
            int32_t chunks = ranks * rounds;
            int32_t slices[MAX_CHUNKS];
            pipeline p;
            whole_sequences(slices, chunks);
            build(&p, "1f1b", ranks, slices, chunks);
            set_equal(&p, 1.25, 2.5, 0);
            assert_close(makespan(&p), (chunks + ranks - 1) * 3.75, 1e-12);
            set_equal(&p, 1.25, 2.5, 0.01);
            double latency = ranks > 1 ? 2 * 0.01 * ((ranks - 1) * chunks / ranks + ranks - 2) : 0;
            assert_close(makespan(&p), (chunks + ranks - 1) * 3.75 + latency, 1e-9);
            lcp_schedule_dispose(&p.schedule);
        }
    }
}

/* Equal chunks: (n + p - 1)(f + b) for every mix of slice counts, and so (p - 1) T / k more than the work for k slices.
 */
static void slices_cost_no_bubble_of_their_own(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int32_t trial = 0; trial < 300; trial++) {
        int32_t slices[12];
        int32_t sequences = pick(&seed, 1, 12);
        for (int32_t i = 0; i < sequences; i++) {
            slices[i] = pick(&seed, 1, 8);
        }
        pipeline p;
        build(&p, "elastic-1f1b", pick(&seed, 1, 8), slices, sequences);
        set_equal(&p, 1, 2, 0);
        assert_close(makespan(&p), (p.chunks + p.ranks - 1) * 3.0, 1e-12);
        lcp_schedule_dispose(&p.schedule);
    }
}

/* Chunks in flight on rank r (0-based) of p: min(n, p - 1 - r + N), N = slices of the most sliced sequence. */
static void window_is_depth_plus_slices(void **state)
{
    (void)state;
    uint64_t seed = 11;
    for (int32_t trial = 0; trial < 300; trial++) {
        int32_t slices[12];
        int32_t sequences = pick(&seed, 1, 12);
        for (int32_t i = 0; i < sequences; i++) {
            slices[i] = pick(&seed, 1, 8);
        }
        pipeline p;
        build(&p, "elastic-1f1b", pick(&seed, 2, 8), slices, sequences);
        for (int32_t r = 0; r < p.ranks; r++) {
            int32_t held = 0;
            int32_t most = 0;
            for (int32_t i = 0; i < p.schedule.op_count[r]; i++) {
                held += p.schedule.ops[r][i].kind == LCP_OP_FORWARD ? 1 : -1;
                most = held > most ? held : most;
            }
            int32_t window = p.ranks - 1 - r + p.most_slices;
            assert_int_equal(most, window < p.chunks ? window : p.chunks);
        }
        lcp_schedule_dispose(&p.schedule);
    }
}

/* Obvious and slow: relax every start time until nothing moves. */
static double relaxed_makespan(const pipeline *p)
{
    double forward_end[MAX_STAGES][MAX_CHUNKS] = {{0}};
    double backward_end[MAX_STAGES][MAX_CHUNKS] = {{0}};
    bool moved = true;
    double last = 0;
    while (moved) {
        moved = false;
        for (int32_t r = 0; r < p->ranks; r++) {
            double clock = 0;
            for (int32_t i = 0; i < p->schedule.op_count[r]; i++) {
                const lcp_op *op = &p->schedule.ops[r][i];
                int32_t k = op->chunk;
                double *own = op->kind == LCP_OP_FORWARD ? &forward_end[r][k] : &backward_end[r][k];
                double start = clock;
                if (op->kind == LCP_OP_FORWARD) {
                    start = r > 0 ? fmax(start, forward_end[r - 1][k] + p->hop[k]) : start;
                    clock = start + p->forward[r * p->chunks + k];
                } else {
                    start = fmax(start, forward_end[r][k]);
                    start = r + 1 < p->ranks ? fmax(start, backward_end[r + 1][k] + p->hop[k]) : start;
                    start = p->links[k].next_slice >= 0 ? fmax(start, backward_end[r][p->links[k].next_slice]) : start;
                    clock = start + p->backward[r * p->chunks + k];
                }
                moved = moved || clock > *own + 1e-12;
                *own = fmax(*own, clock);
                last = fmax(last, clock);
            }
        }
    }
    return last;
}

static void replay_equals_relaxation_and_is_monotone(void **state)
{
    (void)state;
    uint64_t seed = 23;
    for (int32_t trial = 0; trial < 60; trial++) {
        int32_t slices[6];
        int32_t sequences = pick(&seed, 1, 6);
        for (int32_t i = 0; i < sequences; i++) {
            slices[i] = pick(&seed, 1, 4);
        }
        pipeline p;
        build(&p, "elastic-1f1b", pick(&seed, 1, 5), slices, sequences);
        for (int32_t i = 0; i < p.ranks * p.chunks; i++) {
            p.forward[i] = 0.01 * pick(&seed, 1, 100);
            p.backward[i] = 0.01 * pick(&seed, 1, 200);
        }
        for (int32_t k = 0; k < p.chunks; k++) {
            p.hop[k] = 0.001 * pick(&seed, 0, 50);
        }
        double seconds = makespan(&p);
        assert_close(seconds, relaxed_makespan(&p), 1e-12);
        p.backward[pick(&seed, 0, p.ranks * p.chunks - 1)] += 0.5;
        assert_true(makespan(&p) >= seconds);
        lcp_schedule_dispose(&p.schedule);
    }
}

static void deadlock_is_printed_as_a_cycle(void **state)
{
    (void)state;
    pipeline p;
    const int32_t slices[] = {1, 1};
    build(&p, "1f1b", 2, slices, 2);
    set_equal(&p, 1, 2, 0);
    lcp_op swap = p.schedule.ops[1][0]; /* rank 1 wants to go back through chunk 0 before it went forward */
    p.schedule.ops[1][0] = p.schedule.ops[1][1];
    p.schedule.ops[1][1] = swap;
    lcp_durations durations = {.forward_seconds = p.forward, .backward_seconds = p.backward, .hop_seconds = p.hop};
    lcp_replay replay;
    lcp_error err = {0};
    assert_int_equal(lcp_replay_run(&replay, &p.schedule, p.links, &durations, &err), LCP_FALSE);
    assert_non_null(strstr(err.text, "deadlock"));
    assert_non_null(strstr(err.text, "B(chunk 0, stage 1) on rank 1 waits for F(chunk 0, stage 1) on rank 1"));
    lcp_schedule_dispose(&p.schedule);
}

static void sliced_batches_need_the_elastic_order(void **state)
{
    (void)state;
    lcp_chunk_link links[] = {{-1, 1}, {0, -1}};
    lcp_schedule_input input = {.rank_count = 2, .chunk_count = 2, .links = links};
    assert_non_null(lcp_schedule_find("1f1b")->unsupported(&input));
    assert_null(lcp_schedule_find("elastic-1f1b")->unsupported(&input));
    assert_null(lcp_schedule_find("chronological"));
}

/* One rank, a sequence of three slices and a pack: kept 100 each, KV gradients 10 for slices with a successor. */
static void memory_of_slices(void **state)
{
    (void)state;
    pipeline p;
    const int32_t slices[] = {3, 1};
    build(&p, "elastic-1f1b", 1, slices, 2);
    const int64_t kept[] = {100, 100, 100, 100};
    const int64_t kv_grad[] = {10, 10, 0, 0};
    const int64_t working[] = {1, 1, 5, 1};
    const int64_t resident[] = {1000};
    lcp_memory_input input = {
        .kept_bytes = kept, .kv_grad_bytes = kv_grad, .working_bytes = working, .static_bytes = resident};
    lcp_memory_peak peak;
    assert_int_equal(lcp_memory_replay(&peak, &p.schedule, p.links, &input, NULL), LCP_OK);
    /* three slices kept, both accumulators, the last slice's backward pass at work */
    assert_int_equal(peak.peak_bytes, 1000 + 300 + 20 + 5);
    assert_int_equal(peak.kv_grad_bytes, 20);
    assert_int_equal(p.schedule.ops[0][peak.peak_op].kind, LCP_OP_BACKWARD);
    const int64_t huge[] = {INT64_MAX - 10};
    input.static_bytes = huge;
    assert_int_equal(lcp_memory_replay(&peak, &p.schedule, p.links, &input, NULL), LCP_INPUT);
    lcp_schedule_dispose(&p.schedule);
}

static int32_t position(const lcp_schedule *schedule, int32_t rank, lcp_op_kind kind, int32_t chunk)
{
    for (int32_t i = 0; i < schedule->op_count[rank]; i++) {
        if (schedule->ops[rank][i].kind == kind && schedule->ops[rank][i].chunk == chunk) {
            return i;
        }
    }
    fail_msg("chunk %d has no %s on rank %d", chunk, lcp_op_names[kind], rank);
    return -1;
}

/* Bytes live while op `at` runs, chunk by chunk from the lifetimes alone. */
static int64_t bytes_during(const pipeline *p, const lcp_memory_input *input, int32_t rank, int32_t at)
{
    int64_t bytes = input->static_bytes[rank];
    for (int32_t k = 0; k < p->chunks; k++) {
        int32_t last = k;
        while (p->links[last].next_slice >= 0) {
            last = p->links[last].next_slice;
        }
        size_t cell = (size_t)(rank * p->chunks + k);
        int32_t end = position(&p->schedule, rank, LCP_OP_BACKWARD, k);
        if (position(&p->schedule, rank, LCP_OP_FORWARD, k) <= at && at <= end) {
            bytes += input->kept_bytes[cell];
        }
        if (position(&p->schedule, rank, LCP_OP_BACKWARD, last) <= at && at <= end) {
            bytes += input->kv_grad_bytes[cell];
        }
    }
    return bytes + input->working_bytes[rank * p->chunks + p->schedule.ops[rank][at].chunk];
}

/* Every peak, and the op it is claimed for, on random mixes of sequences. */
static void memory_equals_lifetimes(void **state)
{
    (void)state;
    uint64_t random = 77;
    static int64_t bytes[3][MAX_STAGES * MAX_CHUNKS];
    for (int32_t trial = 0; trial < 100; trial++) {
        pipeline p;
        int32_t slices[5];
        int32_t sequences = pick(&random, 1, 5);
        for (int32_t i = 0; i < sequences; i++) {
            slices[i] = pick(&random, 1, 5);
        }
        build(&p, "elastic-1f1b", pick(&random, 1, 4), slices, sequences);
        for (int32_t i = 0; i < p.ranks * p.chunks; i++) {
            bytes[0][i] = pick(&random, 0, 1000);
            bytes[1][i] = p.links[i % p.chunks].next_slice >= 0 ? pick(&random, 0, 1000) : 0;
            bytes[2][i] = pick(&random, 0, 3000);
        }
        const int64_t resident[MAX_STAGES] = {5, 500, 0, 50};
        lcp_memory_input input = {.kept_bytes = bytes[0],
                                  .kv_grad_bytes = bytes[1],
                                  .working_bytes = bytes[2],
                                  .static_bytes = resident};
        lcp_memory_peak peaks[MAX_STAGES];
        assert_int_equal(lcp_memory_replay(peaks, &p.schedule, p.links, &input, NULL), LCP_OK);
        for (int32_t r = 0; r < p.ranks; r++) {
            int64_t most = 0;
            for (int32_t i = 0; i < p.schedule.op_count[r]; i++) {
                int64_t during = bytes_during(&p, &input, r, i);
                most = during > most ? during : most;
            }
            assert_int_equal(peaks[r].peak_bytes, most);
            assert_int_equal(bytes_during(&p, &input, r, (int32_t)peaks[r].peak_op), most);
            assert_int_equal(peaks[r].kept_bytes + peaks[r].kv_grad_bytes + peaks[r].working_bytes + resident[r], most);
        }
        lcp_schedule_dispose(&p.schedule);
    }
}

static void links_need_whole_chains(void **state)
{
    (void)state;
    const lcp_segment a = {.sequence = 3, .offset_tokens = 0, .length_tokens = 64, .has_successor = true};
    const lcp_segment b = {.sequence = 3, .offset_tokens = 64, .length_tokens = 32};
    const lcp_segment other = {.sequence = 4, .length_tokens = 8};
    const lcp_segment tail_and_short[] = {b, other};
    const lcp_segment two_cuts[] = {a, {.sequence = 5, .length_tokens = 8, .has_successor = true}};
    const lcp_chunk good[] = {{0, 1, &a}, {0, 2, tail_and_short}, {0, 1, &other}};
    const lcp_chunk hole[] = {{0, 1, &a}, {0, 1, &other}, {0, 1, &b}};
    const lcp_chunk open_end[] = {{0, 1, &other}, {0, 1, &a}};
    const lcp_chunk orphan[] = {{0, 1, &b}};
    const lcp_chunk double_cut[] = {{0, 2, two_cuts}};
    lcp_chunk_link links[3];
    assert_int_equal(lcp_chunk_links(links, good, 3, NULL), LCP_OK);
    assert_int_equal(links[0].next_slice, 1);
    assert_int_equal(links[1].previous_slice, 0);
    assert_int_equal(links[2].previous_slice, -1);
    assert_int_equal(lcp_chunk_links(links, hole, 3, NULL), LCP_INPUT);
    assert_int_equal(lcp_chunk_links(links, open_end, 2, NULL), LCP_INPUT);
    assert_int_equal(lcp_chunk_links(links, orphan, 1, NULL), LCP_INPUT);
    assert_int_equal(lcp_chunk_links(links, double_cut, 1, NULL), LCP_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_forms_of_1f1b),
        cmocka_unit_test(slices_cost_no_bubble_of_their_own),
        cmocka_unit_test(window_is_depth_plus_slices),
        cmocka_unit_test(replay_equals_relaxation_and_is_monotone),
        cmocka_unit_test(deadlock_is_printed_as_a_cycle),
        cmocka_unit_test(sliced_batches_need_the_elastic_order),
        cmocka_unit_test(memory_of_slices),
        cmocka_unit_test(memory_equals_lifetimes),
        cmocka_unit_test(links_need_whole_chains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
