/* Closed forms and figures that schedules are known by; transfers, links and sends. */
#include "support.h"

#include "schedule_case.h"

#include <math.h>
#include <string.h>

static void two_directions(void **state)
{
    (void)state;
    /* m chunks of F = B = 1 on p ranks: 2m + p - 2 (Li and Hoefler 2021), between p/2 + 1 and p chunks a rank */
    for (int32_t ranks = 2; ranks <= 8; ranks += 2) {
        for (int32_t rounds = 1; rounds <= 4; rounds++) {
            schedule_case c;
            case_build(&c, ranks, 1, NULL, ranks * rounds);
            case_set_equal(&c, 1, 1, 0, 0);
            case_run(&c, "chimera");
            assert_close(c.replay.makespan_seconds, 2 * ranks * rounds + ranks - 2, 1e-12);
            assert_true(case_largest_peak(&c) >= ranks && case_largest_peak(&c) <= 2 * ranks);
            case_dispose(&c);
        }
    }
}

/* Greedy waves at m = p, B = 2F: bubble ratios of an independent program. */
static void waves(void **state)
{
    (void)state;
    static const struct {
        int32_t ranks, waves;
        double ratio;
    } rows[] = {{4, 1, 0.333}, {4, 2, 0.213}, {4, 4, 0.119}, {8, 1, 0.368}, {8, 2, 0.238}, {8, 4, 0.135}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        schedule_case c;
        double share = 1.0 / (2 * rows[i].waves);
        case_build(&c, rows[i].ranks, 2 * rows[i].waves, NULL, rows[i].ranks);
        case_set_equal(&c, share, share, share, 0);
        case_run(&c, "hanayo");
        double ratio = 1 - 3.0 * rows[i].ranks / c.replay.makespan_seconds;
        assert_true(fabs(ratio - rows[i].ratio) < 0.0006);
        case_dispose(&c);
    }
}

/* GPipe, breadth-first, interleaved with any number of chunks: (p - 1)(F + B) / v more than the work. */
static void bubbles_shrink_with_virtual_stages(void **state)
{
    (void)state;
    for (int32_t ranks = 1; ranks <= 6; ranks++) {
        for (int32_t v = 1; v <= 4; v++) {
            for (int32_t chunks = ranks; chunks <= 3 * ranks; chunks++) {
                schedule_case c;
                case_build(&c, ranks, v, NULL, chunks);
                case_set_equal(&c, 1.0 / v, 1.0 / v, 1.0 / v, 0);
                double least = 3.0 * chunks + (ranks - 1) * 3.0 / v;
                case_run(&c, v == 1 ? "gpipe" : "breadth-first");
                assert_close(c.replay.makespan_seconds, least, 1e-9);
                if (v > 1) {
                    case_run(&c, "interleaved");
                    assert_true(c.replay.makespan_seconds >= least - 1e-9);
                    assert_true(chunks % ranks != 0 || c.replay.makespan_seconds <= least + 1e-9);
                    assert_true(c.replay.makespan_seconds <= 3.0 * chunks + (ranks - 1) * 3.0 + 1e-9);
                }
                case_dispose(&c);
            }
        }
    }
}

/* Peaks in chunks of one rank: 1F1B p, interleaved p + (p - 1) / v, ZB-H1 p, ZB-H2 2p - 1 and W's that wait. */
static void peaks_of_the_textbooks(void **state)
{
    (void)state;
    for (int32_t ranks = 2; ranks <= 8; ranks++) {
        schedule_case c;
        case_build(&c, ranks, 1, NULL, 4 * ranks);
        case_set_equal(&c, 1, 1, 1, 0);
        case_run(&c, "1f1b");
        assert_int_equal(case_largest_peak(&c), 2 * ranks);
        case_run(&c, "zb-h1");
        assert_int_equal(case_largest_peak(&c), 2 * ranks);
        for (int32_t r = 0; r < ranks; r++) { /* p - r whole ones, r whose W waits */
            assert_int_equal(c.peaks[r].peak_bytes, 2 * (ranks - r) + r);
        }
        case_run(&c, "zb-h2");
        for (int32_t r = 0; r < ranks; r++) {
            assert_int_equal(c.peaks[r].peak_bytes, 2 * (2 * (ranks - r) - 1) + 2 * r);
        }
        case_dispose(&c);
        case_build(&c, ranks, 3, NULL, 4 * ranks);
        case_set_equal(&c, 1, 1, 1, 0);
        case_run(&c, "interleaved");
        assert_int_equal(case_largest_peak(&c), 2 * (3 * ranks + ranks - 1));
        case_dispose(&c);
    }
}

/* Transfers hide under passes when a round trip is short: no time, less memory; and cost time when it is not. */
static void offloaded_activations(void **state)
{
    (void)state;
    for (int32_t v = 1; v <= 2; v++) {
        schedule_case c;
        case_build(&c, 8, v, NULL, 32);
        case_set_equal(&c, 1, 1, 1, 0);
        case_run(&c, v == 1 ? "1f1b" : "interleaved");
        double whole = c.replay.makespan_seconds;
        int64_t peak = case_largest_peak(&c);
        for (int32_t i = 0; i < c.cells; i++) {
            c.offload[i] = 0.9;
        }
        case_run(&c, "offload-half");
        assert_close(c.replay.makespan_seconds, whole, 1e-12);
        int64_t half_peak = case_largest_peak(&c);
        assert_true(4 * half_peak <= 3 * peak);
        case_run(&c, "offload-full");
        assert_close(c.replay.makespan_seconds, whole, 1e-12);
        assert_true(case_largest_peak(&c) < half_peak);
        for (int32_t i = 0; i < c.cells; i++) {
            c.offload[i] = 3.5;
        }
        case_run(&c, "offload-full");
        assert_true(c.replay.makespan_seconds > whole);
        case_dispose(&c);
    }
}

/* Recompute ahead of time hides behind the hop of the gradient; counted with the backward pass it does not. */
static void recompute_hides_behind_hops(void **state)
{
    (void)state;
    schedule_case c;
    case_build(&c, 4, 1, NULL, 8);
    case_set_equal(&c, 1, 1, 1, 0.5);
    for (int32_t i = 0; i < c.cells; i++) {
        c.recompute[i] = 0.25;
    }
    c.input.recompute_ahead = true;
    case_run(&c, "1f1b");
    double ahead = c.replay.makespan_seconds;
    for (int32_t i = 0; i < c.cells; i++) {
        c.backward[i] += 0.25;
    }
    c.input.recompute_ahead = false;
    case_run(&c, "1f1b");
    assert_true(ahead < c.replay.makespan_seconds);
    case_dispose(&c);
}

/* A link that carries one output at a time: by hand for two ranks and three chunks of GPipe. */
static void links_are_queues(void **state)
{
    (void)state;
    schedule_case c;
    double wire[] = {2, 2, 2};
    case_build(&c, 2, 1, NULL, 3);
    case_set_equal(&c, 1, 1, 1, 2);
    c.durations.wire_seconds = wire;
    case_run(&c, "gpipe");
    /* outputs leave at 1, 3, 5 and arrive at 3, 5, 7; backward passes 8, 10, 12 leave at 10, 12, 14, arrive 12, 14, 16
     */
    assert_close(c.replay.makespan_seconds, 18, 1e-12);
    assert_close(c.replay.exposed_seconds[1], 2 + 1 + 1, 1e-12);
    case_dispose(&c);
}

/* Two ranks that each send before they receive: one at a time they wait for ever, as one group they do not. */
static void sends_that_need_both_sides(void **state)
{
    (void)state;
    schedule_case c;
    lcp_error err = {0};
    case_build(&c, 2, 1, NULL, 4);
    case_set_equal(&c, 1, 1, 1, 0);
    case_run(&c, "1f1b");
    assert_int_equal(lcp_rendezvous_check(&c.schedule, LCP_SENDING_BLOCKING, &err), LCP_FALSE);
    assert_non_null(strstr(err.text, "rank 0 waits to send F of chunk 1, stage 0, to rank 1"));
    assert_non_null(strstr(err.text, "rank 1 waits to send B of chunk 0, stage 1, to rank 0"));
    assert_int_equal(lcp_rendezvous_check(&c.schedule, LCP_SENDING_BATCHED, NULL), LCP_OK);
    case_run(&c, "gpipe");
    assert_int_equal(lcp_rendezvous_check(&c.schedule, LCP_SENDING_BLOCKING, NULL), LCP_OK);
    case_dispose(&c);
    for (int32_t ranks = 1; ranks <= 8; ranks++) {
        case_build(&c, ranks, 1, NULL, 3 * ranks);
        case_set_equal(&c, 1, 1, 1, 0);
        case_run(&c, "1f1b");
        assert_int_equal(lcp_rendezvous_check(&c.schedule, LCP_SENDING_BATCHED, NULL), LCP_OK);
        case_dispose(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_directions),
        cmocka_unit_test(waves),
        cmocka_unit_test(bubbles_shrink_with_virtual_stages),
        cmocka_unit_test(peaks_of_the_textbooks),
        cmocka_unit_test(offloaded_activations),
        cmocka_unit_test(recompute_hides_behind_hops),
        cmocka_unit_test(links_are_queues),
        cmocka_unit_test(sends_that_need_both_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
