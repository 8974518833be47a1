/* Closed forms of pipelines of equal microbatches against replay of their orders. */
#include "support.h"

#include "estimate_internal.h"
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

static double real(uint64_t *state, double lo, double hi)
{
    return lo + (hi - lo) * (double)(next_random(state) >> 11) * 0x1p-53;
}

#define MAX_RANKS 8
#define MAX_STAGES 32
#define MAX_CHUNKS 256

/* Durations of every virtual stage; stage s on rank s % ranks. */
typedef struct pipeline {
    int32_t ranks, stages, chunks;
    double forward[MAX_STAGES], backward[MAX_STAGES], hop;
} pipeline;

static double replay(const pipeline *p, const lcp_schedule *schedule)
{
    static double forward[MAX_STAGES * MAX_CHUNKS];
    static double backward[MAX_STAGES * MAX_CHUNKS];
    static double hop[MAX_CHUNKS];
    static lcp_chunk_link links[MAX_CHUNKS];
    for (int32_t k = 0; k < p->chunks; k++) {
        links[k] = (lcp_chunk_link){-1, -1};
        hop[k] = p->hop;
        for (int32_t s = 0; s < p->stages; s++) {
            forward[s * p->chunks + k] = p->forward[s];
            backward[s * p->chunks + k] = p->backward[s];
        }
    }
    lcp_durations durations = {.forward_seconds = forward, .backward_seconds = backward, .hop_seconds = hop};
    lcp_replay out;
    lcp_error err = {0};
    if (lcp_replay_run(&out, schedule, links, &durations, &err) != LCP_OK) {
        fail_msg("%s", err.text);
    }
    double makespan = out.makespan_seconds;
    lcp_replay_dispose(&out);
    return makespan;
}

static double closed_form(const pipeline *p, lcp_run_schedule kind)
{
    lcp_pass_seconds ranks[MAX_RANKS] = {{0, 0}};
    for (int32_t s = 0; s < p->stages; s++) {
        ranks[s % p->ranks].forward += p->forward[s];
        ranks[s % p->ranks].backward += p->backward[s];
    }
    return lcp_pipeline_seconds(ranks, p->ranks, p->stages / p->ranks, kind, p->chunks, p->hop);
}

/* Orders written down here: every rank's operations as (kind, virtual stage of the rank, chunk). */
static void order_gpipe(lcp_op *ops, const pipeline *p, int32_t rank)
{
    for (int32_t k = 0; k < p->chunks; k++) {
        ops[k] = (lcp_op){.kind = LCP_OP_FORWARD, .chunk = k, .stage = rank};
        ops[p->chunks + k] = (lcp_op){.kind = LCP_OP_BACKWARD, .chunk = k, .stage = rank};
    }
}

static lcp_op interleaved_op(const pipeline *p, int32_t rank, int32_t i, bool backward)
{
    int32_t virtual = p->stages / p->ranks;
    int32_t group = i / p->stages;
    int32_t inside = i % p->stages / p->ranks;
    int32_t stage = (backward ? virtual - 1 - inside : inside) * p->ranks + rank;
    int32_t chunk = group * p->ranks + i % p->ranks;
    return (lcp_op){.kind = backward ? LCP_OP_BACKWARD : LCP_OP_FORWARD, .chunk = chunk, .stage = stage};
}

/* Megatron-LM: 2 (p - 1 - r) + (v - 1) p forward passes ahead; p - 1 - r of them with one virtual stage. */
static void order_1f1b(lcp_op *ops, const pipeline *p, int32_t rank)
{
    int32_t passes = p->chunks * (p->stages / p->ranks);
    int32_t later = p->ranks - 1 - rank;
    int32_t ahead = p->stages > p->ranks ? 2 * later + p->stages - p->ranks : later;
    ahead = ahead > passes ? passes : ahead;
    int32_t at = 0;
    int32_t forward = 0;
    while (forward < ahead) {
        ops[at++] = interleaved_op(p, rank, forward++, false);
    }
    for (int32_t i = 0; i < passes; i++) {
        if (forward < passes) {
            ops[at++] = interleaved_op(p, rank, forward++, false);
        }
        ops[at++] = interleaved_op(p, rank, i, true);
    }
}

static double replay_order(const pipeline *p, void (*order)(lcp_op *, const pipeline *, int32_t))
{
    static lcp_op ops[MAX_RANKS][8 * MAX_CHUNKS];
    lcp_op *lists[MAX_RANKS];
    int32_t counts[MAX_RANKS];
    int32_t stage_rank[MAX_STAGES];
    for (int32_t s = 0; s < p->stages; s++) {
        stage_rank[s] = s % p->ranks;
    }
    for (int32_t r = 0; r < p->ranks; r++) {
        order(ops[r], p, r);
        lists[r] = ops[r];
        counts[r] = 2 * p->chunks * (p->stages / p->ranks);
    }
    lcp_schedule schedule = {.rank_count = p->ranks,
                             .stage_count = p->stages,
                             .chunk_count = p->chunks,
                             .stage_rank = stage_rank,
                             .op_count = counts,
                             .ops = lists};
    return replay(p, &schedule);
}

/* spread: durations between 1 and 1 + spread forward, twice that backward. */
static pipeline uneven(uint64_t *state, double spread, double most_hop)
{
    pipeline p = {.ranks = pick(state, 1, MAX_RANKS)};
    p.stages = p.ranks;
    for (int32_t s = 0; s < p.stages; s++) {
        p.forward[s] = 1 + spread * real(state, 0, 1);
        p.backward[s] = 2 + 2 * spread * real(state, 0, 1);
    }
    p.hop = pick(state, 0, 1) == 0 ? 0 : real(state, 0, most_hop);
    return p;
}

static void follows_1f1b_exactly(void **state)
{
    (void)state;
    uint64_t seed = 1;
    const double spreads[] = {0, 0.01, 0.1, 1, 4};
    for (int32_t i = 0; i < 1000; i++) {
        pipeline p = uneven(&seed, spreads[i % 5], 1);
        p.chunks = pick(&seed, i % 2 == 0 ? p.ranks : 1, 8 * p.ranks);
        assert_close(closed_form(&p, LCP_RUN_1F1B), replay_order(&p, order_1f1b), 1e-9);
    }
}

static void repeats_1f1b_nearly(void **state)
{
    (void)state;
    const struct {
        double spread, bound;
    } rows[] = {{0, 1e-9}, {0.01, 2e-4}, {0.1, 2e-3}, {1, 1e-2}, {4, 1e-2}};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        uint64_t seed = 2 + row;
        for (int32_t i = 0; i < 150; i++) {
            pipeline p = uneven(&seed, rows[row].spread, 0.5);
            p.chunks = pick(&seed, 8 * p.ranks + 1, MAX_CHUNKS);
            assert_close(closed_form(&p, LCP_RUN_1F1B), replay_order(&p, order_1f1b), rows[row].bound);
        }
    }
}

/* Without hops, (m - 1) of the slowest and every rank once, if the slowest is the last: the textbook form. */
static void the_slowest_rank_at_the_end(void **state)
{
    (void)state;
    uint64_t seed = 9;
    for (int32_t i = 0; i < 200; i++) {
        pipeline p = uneven(&seed, 0, 0);
        p.hop = 0;
        p.forward[p.ranks - 1] *= 1.5;
        p.backward[p.ranks - 1] *= real(&seed, 1, 2);
        p.chunks = pick(&seed, p.ranks, MAX_CHUNKS);
        double last = p.forward[p.ranks - 1] + p.backward[p.ranks - 1];
        assert_close(closed_form(&p, LCP_RUN_1F1B), 3 * (p.ranks - 1) + p.chunks * last, 1e-9);
    }
}

static void equal_ranks_with_hops(void **state)
{
    (void)state;
    /* p = 2, hop 0.25: every second microbatch waits for the way there and back. */
    pipeline p = {.ranks = 2, .stages = 2, .chunks = 100, .forward = {1, 1}, .backward = {2, 2}, .hop = 0.25};
    assert_close(closed_form(&p, LCP_RUN_1F1B), replay_order(&p, order_1f1b), 1e-12);
    assert_close(closed_form(&p, LCP_RUN_GPIPE), 101 * 3 + 2 * 0.25, 1e-12);
    p.hop = 0;
    assert_close(closed_form(&p, LCP_RUN_1F1B), 101 * 3, 1e-12);
}

static void gpipe_exactly(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int32_t i = 0; i < 300; i++) {
        pipeline p = uneven(&seed, i % 3, 1);
        p.chunks = pick(&seed, 1, 64);
        assert_close(closed_form(&p, LCP_RUN_GPIPE), replay_order(&p, order_gpipe), 1e-9);
    }
}

static pipeline interleaved(uint64_t *state, double spread, double most_hop)
{
    pipeline p = {.ranks = pick(state, 2, MAX_RANKS)};
    p.stages = p.ranks * pick(state, 2, 4);
    p.chunks = p.ranks * pick(state, 1, 8);
    for (int32_t s = 0; s < p.stages; s++) {
        p.forward[s] = 1 + spread * real(state, 0, 1);
        p.backward[s] = 2 + 2 * spread * real(state, 0, 1);
    }
    p.hop = real(state, 0, most_hop);
    return p;
}

static void interleaved_equal_stages_exactly(void **state)
{
    (void)state;
    uint64_t seed = 4;
    for (int32_t i = 0; i < 300; i++) {
        pipeline p = interleaved(&seed, 0, i % 2 == 0 ? 0 : 0.5);
        assert_close(closed_form(&p, LCP_RUN_INTERLEAVED), replay_order(&p, order_1f1b), 1e-9);
    }
}

/* The head on the last virtual stage, without hops. */
static void interleaved_heavy_head_exactly(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int32_t i = 0; i < 300; i++) {
        pipeline p = interleaved(&seed, 0, 0);
        p.forward[p.stages - 1] *= real(&seed, 1, 1.5);
        p.backward[p.stages - 1] *= real(&seed, 1, 1.5);
        assert_close(closed_form(&p, LCP_RUN_INTERLEAVED), replay_order(&p, order_1f1b), 1e-9);
    }
}

/* Uneven stages: the closed form of equal ones, within half of their spread. */
static void interleaved_uneven_nearly(void **state)
{
    (void)state;
    const struct {
        double spread, bound;
    } rows[] = {{0.01, 0.005}, {0.1, 0.04}, {0.3, 0.09}, {1, 0.2}};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        uint64_t seed = 6 + row;
        double worst = 0;
        for (int32_t i = 0; i < 200; i++) {
            pipeline p = interleaved(&seed, rows[row].spread, 0.2);
            double truth = replay_order(&p, order_1f1b);
            double error = fabs(closed_form(&p, LCP_RUN_INTERLEAVED) / truth - 1);
            worst = fmax(worst, error);
        }
        print_message("spread %g: closed form within %.3f of replay\n", rows[row].spread, worst);
        assert_true(worst <= rows[row].bound);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_1f1b_exactly),
        cmocka_unit_test(repeats_1f1b_nearly),
        cmocka_unit_test(the_slowest_rank_at_the_end),
        cmocka_unit_test(equal_ranks_with_hops),
        cmocka_unit_test(gpipe_exactly),
        cmocka_unit_test(interleaved_equal_stages_exactly),
        cmocka_unit_test(interleaved_heavy_head_exactly),
        cmocka_unit_test(interleaved_uneven_nearly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
