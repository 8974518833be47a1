/* Splits and recompute against trying every one of them: on drawn pipelines of up to three stages, the answer fits, is
 * priced rightly, and the lower bound is below every choice there is. First argument: how many times as many cases. */
#include "partition_case.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>

static const uint32_t none_or_full = 1U << LCP_RECOMPUTE_NONE | 1U << LCP_RECOMPUTE_FULL;
static const uint32_t none_mlp_full = 1U << LCP_RECOMPUTE_NONE | 1U << LCP_RECOMPUTE_MLP | 1U << LCP_RECOMPUTE_FULL;

static int32_t times_cases = 1;

/* Seconds of the slowest pipeline under the decisions, every stage of which must fit; counts must be allowed. */
static double price(const partition_case *c, const lcp_partition *p)
{
    double slowest = 0;
    int32_t classes = c->input.cost->model->class_count;
    for (int32_t d = 0; d < c->input.pipeline_count; d++) {
        case_cell cells[CASE_STAGES * CASE_CHUNKS];
        for (int32_t s = 0; s < p->stage_count; s++) {
            int32_t layers[CASE_CLASSES];
            partition_case_class_layers(c, p->stage_layers, s, layers);
            for (int32_t k = 0; k < c->tables[d].chunk_count; k++) {
                const int32_t *counts =
                    &p->recompute_counts[d][(k * p->stage_count + s) * classes * LCP_RECOMPUTE_COUNT];
                for (int32_t i = 0; i < classes * LCP_RECOMPUTE_COUNT; i++) {
                    assert_true(counts[i] >= 0);
                    assert_true(counts[i] == 0 || (c->input.policy_mask >> i % LCP_RECOMPUTE_COUNT & 1U) != 0);
                }
                cells[s * CASE_CHUNKS + k] = partition_case_cell(c, d, k, layers, counts);
            }
            int64_t peak = partition_case_peak(c, d, s, layers, &cells[s * CASE_CHUNKS]);
            assert_true(peak <= c->input.cost->capacity_bytes);
        }
        slowest = fmax(slowest, partition_case_seconds(c, d, p->stage_layers, cells));
    }
    return slowest;
}

static double best_of_split(const partition_case *c, const int32_t *stage_layers, double below)
{
    double slowest = 0;
    for (int32_t d = 0; d < c->input.pipeline_count && slowest < below; d++) {
        slowest = fmax(slowest, partition_case_best(c, d, stage_layers, below));
    }
    return slowest;
}

/* The fastest choice of all that is faster than `below`, else `below`. */
static double best_of_all(const partition_case *c, double below)
{
    int32_t stages = c->input.cost->layout.pp;
    int32_t layers = c->input.cost->model->layer_count;
    double best = below;
    if (stages == 1) {
        return fmin(best, best_of_split(c, &layers, best));
    }
    for (int32_t a = 1; a <= layers - (stages - 1); a++) {
        for (int32_t b = stages == 2 ? layers - a : 1; a + b <= layers - (stages - 2); b++) {
            const int32_t stage_layers[CASE_STAGES] = {a, b, layers - a - b};
            best = fmin(best, best_of_split(c, stage_layers, best));
        }
    }
    return best;
}

typedef struct tally {
    int32_t cases, fitting, recomputing;
    double excess_sum, excess_worst, gap_sum;
} tally;

static void check_infeasible(partition_case *c, const lcp_partition *answer, uint64_t seed)
{
    if (!answer->infeasible || isfinite(best_of_all(c, HUGE_VAL))) {
        fail_msg("seed %llu: not found, infeasible %d", (unsigned long long)seed, answer->infeasible);
    }
    lcp_partition p;
    assert_true(answer->missing_bytes > 0);
    c->fixture.cost.capacity_bytes += answer->missing_bytes;
    assert_int_equal(lcp_partition_solve(&p, &c->input, NULL), LCP_OK);
    assert_true(p.found);
    lcp_partition_dispose(&p);
}

static void check_case(partition_case *c, uint64_t seed, tally *sum)
{
    lcp_partition p;
    lcp_error err = {0};
    if (lcp_partition_solve(&p, &c->input, &err) != LCP_OK) {
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
    }
    sum->cases++;
    if (!p.found) {
        check_infeasible(c, &p, seed);
        lcp_partition_dispose(&p);
        return;
    }
    assert_false(p.infeasible);
    double seconds = price(c, &p);
    assert_close(p.iteration_seconds, seconds, 1e-9);
    double optimum = best_of_all(c, seconds);
    if (!(p.lower_bound_seconds <= optimum * (1 + 1e-9))) {
        fail_msg("seed %llu: bound %.12g above the optimum %.12g", (unsigned long long)seed, p.lower_bound_seconds,
                 optimum);
    }
    double bound = 0;
    int64_t missing = 0;
    assert_int_equal(lcp_partition_bound(&bound, &missing, &c->input, 0, NULL), LCP_OK);
    assert_true(bound <= optimum * (1 + 1e-9) && missing == 0);
    sum->fitting++;
    sum->excess_sum += seconds / optimum - 1;
    sum->excess_worst = fmax(sum->excess_worst, seconds / optimum - 1);
    sum->gap_sum += 1 - p.lower_bound_seconds / seconds;
    lcp_partition_dispose(&p);
}

typedef struct shape_row {
    const char *what;
    case_shape shape;
    int32_t cases;
    double mean_excess; /* above the optimum, at most */
} shape_row;

static void answers_match_trying_all(void **state)
{
    (void)state;
    const shape_row rows[] = {
        {"one stage", {1, 1, 4, 1, 3, false, none_or_full}, 40, 0.005},
        {"one stage, classes, policies", {1, 1, 4, 2, 3, false, none_mlp_full}, 30, 0.01},
        {"one stage, sliced", {1, 1, 4, 1, 4, true, none_or_full}, 40, 0.03},
        {"two stages", {1, 2, 5, 1, 4, false, none_or_full}, 60, 0.02},
        {"two stages, classes", {1, 2, 5, 2, 3, false, none_or_full}, 60, 0.02},
        {"two stages, policies", {1, 2, 4, 1, 3, false, none_mlp_full}, 40, 0.02},
        {"two stages, sliced", {1, 2, 4, 1, 4, true, none_or_full}, 60, 0.03},
        {"three stages", {1, 3, 6, 1, 3, false, none_or_full}, 40, 0.02},
        {"three stages, classes, sliced", {1, 3, 5, 2, 3, true, none_or_full}, 40, 0.03},
        {"two pipelines", {2, 2, 4, 1, 3, false, none_or_full}, 40, 0.02},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tally sum = {0};
        for (int32_t n = 0; n < times_cases * rows[i].cases; n++) {
            partition_case c;
            uint64_t seed = 1000000 * (uint64_t)i + (uint64_t)n;
            partition_case_make(&c, &rows[i].shape, seed);
            check_case(&c, seed, &sum);
            partition_case_dispose(&c);
        }
        double fitting = fmax(1, sum.fitting);
        print_message("%s: %d of %d fit; above the optimum %.2f %% (worst %.2f %%), claimed gap %.2f %%\n",
                      rows[i].what, sum.fitting, sum.cases, 100 * sum.excess_sum / fitting, 100 * sum.excess_worst,
                      100 * sum.gap_sum / fitting);
        assert_true(sum.fitting > sum.cases / 2);
        assert_true(sum.excess_sum / fitting <= rows[i].mean_excess);
    }
}

/* One setting of a policy and a number of layers everywhere; false if some stage does not fit. */
static bool price_setting(const partition_case *c, const int32_t *stage_layers, int32_t policy, int32_t most,
                          double *seconds)
{
    int32_t classes = c->input.cost->model->class_count;
    *seconds = 0;
    for (int32_t d = 0; d < c->input.pipeline_count; d++) {
        case_cell cells[CASE_STAGES * CASE_CHUNKS];
        for (int32_t s = 0; s < c->input.cost->layout.pp; s++) {
            int32_t layers[CASE_CLASSES];
            int32_t counts[CASE_CLASSES * LCP_RECOMPUTE_COUNT] = {0};
            partition_case_class_layers(c, stage_layers, s, layers);
            for (int32_t i = 0; i < classes; i++) {
                counts[i * LCP_RECOMPUTE_COUNT + policy] = layers[i] < most ? layers[i] : most;
            }
            for (int32_t k = 0; k < c->tables[d].chunk_count; k++) {
                cells[s * CASE_CHUNKS + k] = partition_case_cell(c, d, k, layers, counts);
            }
            if (partition_case_peak(c, d, s, layers, &cells[s * CASE_CHUNKS]) > c->input.cost->capacity_bytes) {
                return false;
            }
        }
        *seconds = fmax(*seconds, partition_case_seconds(c, d, stage_layers, cells));
    }
    return true;
}

static double best_setting(const partition_case *c, const int32_t *stage_layers)
{
    double best = HUGE_VAL;
    for (int32_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
        bool allowed = (c->input.policy_mask >> q & 1U) != 0;
        for (int32_t most = 0; allowed && most <= c->input.cost->model->layer_count; most++) {
            double seconds = 0;
            if (price_setting(c, stage_layers, q, most, &seconds)) {
                best = fmin(best, seconds);
            }
        }
    }
    return best;
}

static void equal_split(const partition_case *c, int32_t *stage_layers)
{
    int32_t stages = c->input.cost->layout.pp;
    int32_t layers = c->input.cost->model->layer_count;
    for (int32_t s = 0; s < stages; s++) {
        stage_layers[s] = layers / stages + (s < layers % stages ? 1 : 0);
    }
}

/* Under equal stages, one setting for all is the best of all settings, and free choices are no slower. */
static void one_setting_on_equal_stages_is_the_best(void **state)
{
    (void)state;
    const case_shape shapes[] = {
        {1, 1, 5, 2, 4, false, none_mlp_full}, {1, 1, 5, 1, 4, true, none_or_full},
        {1, 2, 5, 1, 4, false, none_mlp_full}, {1, 3, 7, 2, 4, true, none_mlp_full},
        {2, 2, 5, 1, 3, false, 0x1f},
    };
    int32_t fitting = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (int32_t n = 0; n < times_cases * 40; n++) {
            partition_case c;
            lcp_partition p;
            int32_t stage_layers[CASE_STAGES];
            partition_case_make(&c, &shapes[i], 500000 + 1000000 * (uint64_t)i + (uint64_t)n);
            equal_split(&c, stage_layers);
            double best = best_setting(&c, stage_layers);
            c.input.equal_layers = true;
            c.input.uniform_recompute = true;
            assert_int_equal(lcp_partition_solve(&p, &c.input, NULL), LCP_OK);
            if (p.found != isfinite(best) || p.infeasible == p.found) {
                fail_msg("shape %zu case %d: found %d, infeasible %d, best %g", i, n, p.found, p.infeasible, best);
            }
            if (p.found) {
                fitting++;
                assert_close(p.iteration_seconds, best, 1e-9);
                assert_close(price(&c, &p), best, 1e-9);
                assert_true(p.lower_bound_seconds <= best);
            }
            lcp_partition_dispose(&p);
            c.input.uniform_recompute = false;
            assert_int_equal(lcp_partition_solve(&p, &c.input, NULL), LCP_OK);
            assert_true(p.found || !isfinite(best));
            if (p.found) {
                assert_close(price(&c, &p), p.iteration_seconds, 1e-9);
                assert_memory_equal(p.stage_layers, stage_layers, (size_t)p.stage_count * sizeof *stage_layers);
                assert_true(p.iteration_seconds <= best * 1.01);
            }
            lcp_partition_dispose(&p);
            partition_case_dispose(&c);
        }
    }
    assert_true(fitting > 50);
}

/* One setting with the split left free: whatever comes is one setting and fits. */
static void one_setting_is_kept_on_free_splits(void **state)
{
    (void)state;
    const case_shape shape = {1, 3, 7, 1, 4, false, none_mlp_full};
    int32_t fitting = 0;
    for (int32_t n = 0; n < 40; n++) {
        partition_case c;
        lcp_partition p;
        partition_case_make(&c, &shape, 9000000 + (uint64_t)n);
        c.input.uniform_recompute = true;
        assert_int_equal(lcp_partition_solve(&p, &c.input, NULL), LCP_OK);
        if (p.found) {
            fitting++;
            assert_close(price(&c, &p), p.iteration_seconds, 1e-9);
            assert_close(best_setting(&c, p.stage_layers), p.iteration_seconds, 1e-9);
        }
        lcp_partition_dispose(&p);
        partition_case_dispose(&c);
    }
    assert_true(fitting > 30);
}

/* A cutoff at or below the bound ends the work with the bound alone; one above the answer changes nothing. */
static void cutoff_ends_the_work(void **state)
{
    (void)state;
    const case_shape shapes[] = {{1, 1, 4, 1, 4, false, none_or_full}, {1, 2, 5, 1, 4, false, none_or_full}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        partition_case c;
        lcp_partition whole;
        lcp_partition p;
        partition_case_make(&c, &shapes[i], 7);
        assert_int_equal(lcp_partition_solve(&whole, &c.input, NULL), LCP_OK);
        assert_true(whole.found);
        c.input.cutoff_seconds = whole.lower_bound_seconds / 2;
        assert_int_equal(lcp_partition_solve(&p, &c.input, NULL), LCP_OK);
        assert_false(p.found || p.infeasible);
        assert_true(p.lower_bound_seconds >= c.input.cutoff_seconds && p.lp_solves == 0);
        lcp_partition_dispose(&p);
        c.input.cutoff_seconds = whole.iteration_seconds * 2;
        assert_int_equal(lcp_partition_solve(&p, &c.input, NULL), LCP_OK);
        assert_close(p.iteration_seconds, whole.iteration_seconds, 0);
        lcp_partition_dispose(&p);
        lcp_partition_dispose(&whole);
        partition_case_dispose(&c);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        times_cases = atoi(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_match_trying_all),
        cmocka_unit_test(one_setting_on_equal_stages_is_the_best),
        cmocka_unit_test(one_setting_is_kept_on_free_splits),
        cmocka_unit_test(cutoff_ends_the_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
