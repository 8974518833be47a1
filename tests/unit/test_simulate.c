/* Plans in time: the plan's own prediction, other orders, idle time, perturbed durations, trace and picture. */
#include "support.h"
#include "verify_fixture.h"

#include "output/simulation.h"
#include "simulate/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void simulate(lcp_simulated *out, const plan_fixture *f, int32_t dp, const lcp_simulate_options *options)
{
    lcp_error err = {0};
    if (lcp_simulate(out, &f->plan, &f->problem, dp, options, &err) != LCP_OK) {
        fail_msg("%s", err.text);
    }
}

/* The search priced the fixture's plan with its own tables; here they are made anew. */
static void the_plan_takes_what_it_predicts(void **state)
{
    (void)state;
    plan_fixture f;
    lcp_simulate_options options = {0};
    double slowest = 0;
    int64_t peaks[2] = {0, 0};
    verify_fixture(&f);
    for (int32_t dp = 0; dp < 2; dp++) {
        lcp_simulated s;
        simulate(&s, &f, dp, &options);
        slowest = fmax(slowest, s.replay.makespan_seconds);
        for (int32_t r = 0; r < 2; r++) {
            peaks[r] = s.peaks[r].peak_bytes > peaks[r] ? s.peaks[r].peak_bytes : peaks[r];
        }
        lcp_simulated_dispose(&s);
    }
    assert_close(slowest, f.plan.predicted.iteration_seconds, 1e-12);
    for (int32_t r = 0; r < 2; r++) {
        assert_int_equal(peaks[r], f.plan.predicted.stages[r].peak_memory_bytes);
    }
    fixture_plan_dispose(&f);
}

/* Whatever the order, a pipeline does the same work but for what a pass costs by itself. */
static void other_orders_do_the_same_work(void **state)
{
    (void)state;
    plan_fixture f;
    verify_fixture(&f);
    lcp_simulate_options own = {0};
    lcp_simulated plan;
    simulate(&plan, &f, 0, &own);
    double work = plan.replay.busy_seconds[0] + plan.replay.busy_seconds[1];
    for (size_t k = 0; k < lcp_schedule_kind_count(); k++) {
        lcp_simulate_options options = {.schedule = lcp_schedule_kind_at(k)->name};
        lcp_simulated s;
        lcp_error err = {0};
        lcp_status status = lcp_simulate(&s, &f.plan, &f.problem, 0, &options, &err);
        if (status == LCP_INFEASIBLE) {
            assert_true(strlen(err.text) > 0);
            continue;
        }
        assert_int_equal(status, LCP_OK);
        double same = s.replay.busy_seconds[0] + s.replay.busy_seconds[1];
        double passes = (double)(s.replay.op_count - plan.replay.op_count);
        assert_true(same >= work * (1 - 1e-9) && same <= work * (1 + 1e-9) + passes * 1e-3);
        lcp_simulated_dispose(&s);
    }
    lcp_simulated_dispose(&plan);
    fixture_plan_dispose(&f);
}

/* Busy, idle and the step at the end make up the iteration on every rank. */
static void idle_time_is_all_accounted_for(void **state)
{
    (void)state;
    static const char *const names[] = {NULL, "zb-h1", "gpipe", "list", "zb-v"};
    plan_fixture f;
    verify_fixture(&f);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        lcp_simulate_options options = {.schedule = names[i]};
        lcp_simulated s;
        simulate(&s, &f, 0, &options);
        for (int32_t r = 0; r < 2; r++) {
            lcp_idle idle = lcp_simulated_idle(&s, r);
            double all = s.replay.busy_seconds[r] + idle.warm_up_seconds + idle.inside_seconds + idle.drain_seconds +
                         s.durations.tail_seconds[r];
            assert_close(all, s.replay.makespan_seconds, 1e-9);
            assert_true(s.replay.exposed_seconds[r] <=
                        idle.warm_up_seconds + idle.inside_seconds + idle.drain_seconds + 1e-12);
        }
        lcp_simulated_dispose(&s);
    }
    fixture_plan_dispose(&f);
}

static void perturbed(double *makespans, const lcp_simulated *s, lcp_perturbation p)
{
    for (int32_t i = 0; i < p.runs; i++) {
        makespans[i] = 0;
    }
    assert_int_equal(lcp_simulated_perturb(makespans, s, &p, NULL), LCP_OK);
}

static void perturbed_durations(void **state)
{
    (void)state;
    enum { RUNS = 200 };
    double first[RUNS];
    double again[RUNS];
    plan_fixture f;
    lcp_simulated s;
    lcp_simulate_options options = {0};
    verify_fixture(&f);
    simulate(&s, &f, 0, &options);
    double plain = s.replay.makespan_seconds;
    lcp_perturbation p = {.runs = RUNS, .seed = 3, .straggler_rank = -1, .straggler_factor = 1};
    perturbed(first, &s, p);
    assert_close(first[RUNS - 1], plain, 1e-12); /* nothing to perturb */
    p.jitter_ratio = 0.05;
    perturbed(first, &s, p);
    perturbed(again, &s, p);
    assert_memory_equal(first, again, sizeof first);
    double mean = 0;
    for (int32_t i = 0; i < RUNS; i++) {
        assert_true(fabs(first[i] / plain - 1) < 0.3);
        mean += first[i] / RUNS;
    }
    assert_true(mean > 0.99 * plain); /* waiting for the slower of two is never faster on average */
    assert_true(lcp_percentile(first, RUNS, 0.05) < lcp_percentile(first, RUNS, 0.95));
    p.seed = 4;
    perturbed(again, &s, p);
    assert_true(memcmp(first, again, sizeof first) != 0);
    /* a rank three times as slow: at least its own passes, at most three times everything */
    p = (lcp_perturbation){.runs = 1, .straggler_rank = 1, .straggler_factor = 3};
    perturbed(again, &s, p);
    assert_true(again[0] >= 3 * s.replay.busy_seconds[1] && again[0] <= 3 * plain);
    lcp_simulated_dispose(&s);
    fixture_plan_dispose(&f);
}

static void percentiles_are_values(void **state)
{
    (void)state;
    double values[] = {5, 1, 4, 2, 3};
    assert_close(lcp_percentile(values, 5, 0), 1, 1e-15);
    assert_close(lcp_percentile(values, 5, 0.2), 1, 1e-15);
    assert_close(lcp_percentile(values, 5, 0.21), 2, 1e-15);
    assert_close(lcp_percentile(values, 5, 0.5), 3, 1e-15);
    assert_close(lcp_percentile(values, 5, 1), 5, 1e-15);
}

/* Passes of a rank in the trace add up to its busy time; the counter reaches its peak. */
static void trace_says_what_the_replay_says(void **state)
{
    (void)state;
    plan_fixture f;
    lcp_simulated s;
    lcp_simulate_options options = {.schedule = "zb-v"};
    verify_fixture(&f);
    simulate(&s, &f, 0, &options);
    json_t *trace = lcp_trace_json(&s);
    assert_non_null(trace);
    double busy[2] = {0, 0};
    json_int_t peak[2] = {0, 0};
    size_t i;
    json_t *event;
    json_array_foreach(json_object_get(trace, "traceEvents"), i, event)
    {
        const char *phase = json_string_value(json_object_get(event, "ph"));
        json_int_t pid = json_integer_value(json_object_get(event, "pid"));
        assert_true(pid == 0 || pid == 1);
        if (strcmp(phase, "X") == 0 && json_integer_value(json_object_get(event, "tid")) == 1) {
            busy[pid] += 1e-6 * json_number_value(json_object_get(event, "dur"));
        } else if (strcmp(phase, "C") == 0) {
            json_int_t bytes = json_integer_value(json_object_get(json_object_get(event, "args"), "bytes"));
            peak[pid] = bytes > peak[pid] ? bytes : peak[pid];
        }
    }
    for (int32_t r = 0; r < 2; r++) {
        assert_close(busy[r], s.replay.busy_seconds[r], 1e-9);
        assert_int_equal(peak[r], s.peaks[r].peak_bytes);
    }
    json_decref(trace);
    lcp_simulated_dispose(&s);
    fixture_plan_dispose(&f);
}

static void picture_is_whole(void **state)
{
    (void)state;
    plan_fixture f;
    lcp_simulated s;
    lcp_simulate_options options = {.schedule = "zb-h1"};
    char *text = NULL;
    size_t size = 0;
    verify_fixture(&f);
    simulate(&s, &f, 0, &options);
    assert_int_equal(lcp_timeline_svg(&text, &size, &s, "zb-h1", NULL), LCP_OK);
    assert_int_equal(strlen(text), size);
    assert_non_null(strstr(text, "<title id=\"title\">zb-h1 on 2 pipeline ranks"));
    assert_non_null(strstr(text, ">weight gradient</text>"));
    assert_non_null(strstr(text, ">rank 1</text>"));
    assert_null(strstr(text, "nan"));
    assert_string_equal(text + size - 7, "</svg>\n");
    free(text);
    lcp_simulated_dispose(&s);
    fixture_plan_dispose(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plan_takes_what_it_predicts),
        cmocka_unit_test(other_orders_do_the_same_work),
        cmocka_unit_test(idle_time_is_all_accounted_for),
        cmocka_unit_test(perturbed_durations),
        cmocka_unit_test(percentiles_are_values),
        cmocka_unit_test(trace_says_what_the_replay_says),
        cmocka_unit_test(picture_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
