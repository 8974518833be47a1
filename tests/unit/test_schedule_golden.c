/* Schedules against published figures and against orders and times of other programs. */
#include "support.h"

#include "schedule_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FIELDS 24

typedef struct table {
    FILE *file;
    char line[4096];
    char *fields[MAX_FIELDS];
    int columns;
} table;

/* Opens a table and skips its head. */
static void open_table(table *t, const char *path, int columns)
{
    t->columns = columns;
    t->file = fopen(path, "r");
    if (t->file == NULL) {
        fail_msg("%s", path);
    }
    assert_true(case_read_row(t->file, t->line, sizeof t->line, t->fields, columns));
}

static bool next_row(table *t)
{
    return case_read_row(t->file, t->line, sizeof t->line, t->fields, t->columns);
}

static double number(const table *t, int column)
{
    return strtod(t->fields[column], NULL);
}

/* The twelve settings that Zero Bubble measured (Qi et al. 2024, table 6), and the stages a rank of its 1F1B-I. */
typedef struct setting {
    char model[8];
    int32_t p, m, v;
    double f, b, w, c;
} setting;

#define SETTINGS 12

static void read_settings(setting *settings)
{
    table t;
    open_table(&t, "data/schedules/zb_profiled_times.csv", 7);
    for (int i = 0; i < SETTINGS; i++) {
        assert_true(next_row(&t));
        setting *s = &settings[i];
        snprintf(s->model, sizeof s->model, "%s", t.fields[0]);
        s->p = (int32_t)number(&t, 1);
        s->m = (int32_t)number(&t, 2);
        s->v = strcmp(s->model, "6.2B") == 0 ? 4 : strcmp(s->model, "28.3B") == 0 ? 2 : 3;
        s->f = number(&t, 3);
        s->b = number(&t, 4);
        s->w = number(&t, 5);
        s->c = number(&t, 6);
    }
    assert_false(next_row(&t));
    fclose(t.file);
}

/* Runs a schedule on a setting: v stages a rank, `overhead` more a pass, `depth` p chunks at most (0 = no limit). */
static void run_setting(schedule_case *c, const setting *s, const char *name, int32_t v, double overhead, int32_t depth)
{
    case_build(c, s->p, v, NULL, s->m);
    case_set_equal(c, s->f / v + overhead, s->b / v + overhead, s->w / v + overhead, s->c);
    for (int32_t i = 0; i < c->cells; i++) {
        c->backward[i] = (s->b + s->w) / v + overhead;
        c->limit[i] = 2 * depth * s->p;
    }
    c->input.limit_bytes = depth > 0 ? c->limit : NULL;
    c->input.by_span = depth > 0;
    c->input.effort = overhead > 0 ? 2 : s->p > 8 ? 3 : 0;
    case_run(c, name);
}

static void closed_forms_with_latency(void **state)
{
    (void)state;
    setting settings[SETTINGS];
    read_settings(settings);
    for (int i = 0; i < SETTINGS; i++) {
        const setting *s = &settings[i];
        double p = s->p;
        double m = s->m;
        double work = s->f + s->b + s->w;
        schedule_case c;
        run_setting(&c, s, "1f1b", 1, 0, 0);
        assert_close(c.replay.makespan_seconds, m * work + (p - 1) * work + 2 * s->c * ((p - 1) * m / p + p - 2), 1e-9);
        case_dispose(&c);
        run_setting(&c, s, "interleaved", s->v, 0, 0);
        assert_close(c.replay.makespan_seconds, m * work + (p - 1) * work / s->v + 2 * s->c * (p * s->v - 1), 1e-9);
        case_dispose(&c);
        run_setting(&c, s, "zb-h1", 1, 0, 0);
        assert_close(c.replay.makespan_seconds, m * work + (p - 1) * (s->f + s->b - s->w + 4 * s->c), 1e-9);
        case_dispose(&c);
        run_setting(&c, s, "zb-h2", 1, 0, 0);
        assert_close(c.replay.span_seconds, m * work + (p - 1) * (s->f + s->b - 2 * s->w + 2 * s->c), 1e-9);
        case_dispose(&c);
    }
}

static double bubble_rate(const setting *s, double seconds)
{
    return 1 - s->m * (s->f + s->b + s->w) / seconds;
}

/* The bubble rates that Zero Bubble prints (table 5), to the four digits it prints; 1F1B-I with every hop charged. For
 * ZB-1p and ZB-2p, which it searches, ours may be better; on 16 and 32 ranks it is searched with less effort here. */
static void published_bubble_rates(void **state)
{
    (void)state;
    setting settings[SETTINGS];
    table exact;
    table searched;
    read_settings(settings);
    open_table(&exact, "data/schedules/zb_full_dependency_check.csv", 16);
    open_table(&searched, "data/schedules/zb_bubble_rates.csv", 9);
    for (int i = 0; i < SETTINGS; i++) {
        const setting *s = &settings[i];
        static const char *const names[] = {"1f1b", "interleaved", "zb-h1", "zb-h2", "list", "list"};
        assert_true(next_row(&exact) && next_row(&searched));
        const double published[] = {number(&exact, 6),  number(&exact, 7),    number(&exact, 12),
                                    number(&exact, 15), number(&searched, 7), number(&searched, 8)};
        for (int k = 0; k < 6; k++) {
            schedule_case c;
            run_setting(&c, s, names[k], k == 1 ? s->v : 1, 0, k < 4 ? 0 : k - 3);
            double rate = bubble_rate(s, k < 3 ? c.replay.makespan_seconds : c.replay.span_seconds);
            bool good = k < 4 ? fabs(rate - published[k]) < 6e-5 : rate < published[k] + (s->p > 8 ? 5e-4 : 6e-5);
            if (!good) {
                fail_msg("%s %d %s: %.5f, published %.4f", s->model, s->m, names[k], rate, published[k]);
            }
            assert_true(k < 4 || case_largest_peak(&c) <= 2 * (k - 3) * s->p);
            case_dispose(&c);
        }
    }
    fclose(exact.file);
    fclose(searched.file);
}

/* Measured throughput (table 4) of four schedules on four models, one overhead a pass for all 48 runs. */
static void measured_throughput_within_five_percent(void **state)
{
    (void)state;
    const double overhead_ms = 1.15;
    setting settings[SETTINGS];
    table t;
    int rows = 0;
    read_settings(settings);
    open_table(&t, "data/schedules/zb_throughput_memory.csv", 7);
    while (next_row(&t)) {
        const setting *s = settings;
        while (strcmp(s->model, t.fields[1]) != 0 || s->m != (int32_t)number(&t, 4)) {
            s++;
        }
        bool interleaved = strcmp(t.fields[0], "1F1B-I") == 0;
        int32_t depth = strcmp(t.fields[0], "ZB-1p") == 0 ? 1 : strcmp(t.fields[0], "ZB-2p") == 0 ? 2 : 0;
        schedule_case c;
        run_setting(&c, s,
                    depth > 0     ? "list"
                    : interleaved ? "interleaved"
                                  : "1f1b",
                    interleaved ? s->v : 1, overhead_ms, depth);
        double rate = number(&t, 3) * s->m / (s->p * 1e-3 * c.replay.span_seconds);
        double error = rate / number(&t, 5) - 1;
        if (!(fabs(error) <= 0.05)) {
            fail_msg("%s %s %d: %.3f samples a second, measured %s", t.fields[0], s->model, s->m, rate, t.fields[5]);
        }
        case_dispose(&c);
        rows++;
    }
    assert_int_equal(rows, 48);
    fclose(t.file);
}

/* Another scheduler's orders, timed by another program: ours must not be slower, nor keep more. */
static void grid_of_another_scheduler(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"1F1B", "1f1b"},   {"1F1B-I", "interleaved"}, {"Seq1F1B", "sliced-1f1b"},
                                           {"ZB-1p", "list"},  {"ZB-2p", "list"},         {"ZBV", "zb-v"},
                                           {"V-min", "v-min"}, {"V-half", "v-half"}};
    table t;
    int rows = 0;
    open_table(&t, "data/schedules/schedule_grid_uniform.csv", 17);
    while (next_row(&t)) {
        size_t n = 0;
        while (n < sizeof names / sizeof names[0] && strcmp(names[n][0], t.fields[0]) != 0) {
            n++;
        }
        int32_t ranks = (int32_t)number(&t, 1);
        int32_t sequences = (int32_t)number(&t, 2);
        if (n == sizeof names / sizeof names[0] || (n > 2 && ranks * sequences > 8 * 24)) {
            continue; /* schedules we have under no name; searches that take long */
        }
        int32_t v = (int32_t)number(&t, 3);
        int32_t slices[256];
        for (int32_t i = 0; i < sequences; i++) {
            slices[i] = (int32_t)number(&t, 4);
        }
        double share = 1.0 / (v * slices[0]);
        schedule_case c;
        case_build(&c, ranks, v, slices, sequences);
        case_set_equal(&c, number(&t, 5) * share, number(&t, 6) * share, number(&t, 7) * share, number(&t, 8));
        int64_t depth = strcmp(t.fields[0], "ZB-2p") == 0 ? 2 : 1;
        for (int32_t r = 0; r < ranks; r++) {
            c.limit[r] = 2 * depth * ranks;
        }
        c.input.limit_bytes = n == 3 || n == 4 ? c.limit : NULL;
        case_run(&c, names[n][1]);
        double more = c.replay.makespan_seconds / number(&t, 9) - 1;
        double peak = (double)case_largest_peak(&c) * share / 2;
        /* its V-Half was beaten or met in all cases but one, by 0.2 % */
        if (more > (n == 7 ? 0.002 : 1e-9) || peak > fmax(number(&t, 14), n == 4 ? 2.0 * ranks : 0) + 1e-9) {
            fail_msg("%s p %d m %d F %s B %s W %s c %s: %.4f keeping %.3f, the other %s keeping %s", t.fields[0], ranks,
                     sequences, t.fields[5], t.fields[6], t.fields[7], t.fields[8], c.replay.makespan_seconds, peak,
                     t.fields[9], t.fields[14]);
        }
        assert_true(n > 2 || fabs(more) < 1e-4);
        assert_true(c.replay.makespan_seconds >= case_largest_busy(&c) - 1e-9);
        case_dispose(&c);
        rows++;
    }
    assert_true(rows >= 200);
    fclose(t.file);
}

/* DualPipe of another program, and DualPipe-V on half the ranks with the same chunks: the same times and peaks. */
static void dualpipe_table(void **state)
{
    (void)state;
    table t;
    int rows = 0;
    open_table(&t, "data/schedules/dualpipe_sim.csv", 13);
    while (next_row(&t)) {
        int32_t stages = (int32_t)number(&t, 0);
        int32_t chunks = (int32_t)number(&t, 1);
        double f = number(&t, 2);
        double i = number(&t, 3);
        double w = number(&t, 4);
        for (int v = 0; v < 2; v++) {
            schedule_case c;
            case_build(&c, v == 0 ? stages : stages / 2, v == 0 ? 1 : 2, NULL, v == 0 ? chunks : chunks / 2);
            case_set_equal(&c, f, i, w, number(&t, 6));
            c.durations.pair_ratio = number(&t, 5) / (f + i + w);
            case_run(&c, v == 0 ? "dualpipe" : "dualpipe-v");
            if (v == 0 || number(&t, 6) <= 0) { /* the V has fewer hops */
                assert_close(c.replay.makespan_seconds, number(&t, 7), 1e-9);
            }
            assert_true(c.replay.makespan_seconds <= number(&t, 7) + 1e-9);
            for (int32_t r = 0; r < c.ranks; r++) {
                assert_int_equal(c.peaks[r].peak_bytes, (int64_t)(2 * number(&t, 12)));
            }
            case_dispose(&c);
        }
        rows++;
    }
    assert_true(rows >= 40);
    fclose(t.file);
}

/* Space-separated microseconds of eight stages. */
static void read_stages(const char *text, double *out)
{
    char *end = NULL;
    for (int s = 0; s < 8; s++, text = end) {
        out[s] = strtod(text, &end);
    }
}

/* Vocabulary layers cut over 8 A100: profiled passes of each rank, one collective (`vocab`), 128 microbatches. The
 * sheet has no time of the T pass; measured iterations are what all passes of the busiest rank leave. */
static void vocabulary_shards(void **state)
{
    (void)state;
    table t;
    int rows = 0;
    open_table(&t, "data/schedules/vocab_parallel_perstage.csv", 23);
    while (next_row(&t)) {
        if (strcmp(t.fields[1], "vocab") != 0) {
            continue;
        }
        double f[8];
        double b[8];
        double s[8];
        double in_f[8];
        double in_b[8];
        double hop[8];
        double *columns[] = {f, b, s, in_f, in_b, hop};
        for (int i = 0; i < 6; i++) {
            read_stages(t.fields[17 + i], columns[i]);
        }
        schedule_case c;
        case_build(&c, 8, 1, NULL, 128);
        case_set_equal(&c, 0, 0, 0, hop[0]);
        for (int32_t r = 0; r < 8; r++) {
            for (int32_t k = 0; k < 128; k++) {
                c.forward[r * 128 + k] = f[r] + in_f[r];
                c.backward[r * 128 + k] = b[r] + in_b[r];
                c.forward[(8 + r) * 128 + k] = 2 * s[r] / 3;
                c.weight_grad[(8 + r) * 128 + k] = s[r] / 3;
                c.kept[(8 + r) * 128 + k] = 0;
                c.reduce[k] = hop[0];
            }
        }
        case_run(&c, "vocab-1f1b");
        double ratio = 1e-3 * c.replay.makespan_seconds / number(&t, 13);
        if (!(ratio > 0.985 && ratio < 1.005)) {
            fail_msg("%s: %.4f of what was measured", t.fields[0], ratio);
        }
        assert_true(c.peaks[0].peak_bytes <= 2 * (8 + 2));
        case_dispose(&c);
        rows++;
    }
    assert_int_equal(rows, 8);
    fclose(t.file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_forms_with_latency),
        cmocka_unit_test(published_bubble_rates),
        cmocka_unit_test(measured_throughput_within_five_percent),
        cmocka_unit_test(grid_of_another_scheduler),
        cmocka_unit_test(dualpipe_table),
        cmocka_unit_test(vocabulary_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
