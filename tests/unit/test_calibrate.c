/* Calibration to tables that the model itself made from known parameters. */
#include "row_case.h"
#include "table_case.h"

#include "calibrate/calibrate.h"

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

static double uniform(uint64_t *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

/* Standard normal, from twelve uniforms. */
static double normal(uint64_t *state)
{
    double sum = -6;
    for (int32_t i = 0; i < 12; i++) {
        sum += uniform(state);
    }
    return sum;
}

static lcp_profile base(void)
{
    return (lcp_profile){
        .name = "t", .device = "A100-SXM4-80GB", .sixteen_bit = true, .loss = LCP_LOSS_FUSED, .gradient_bytes = 4};
}

static void give(lcp_profile *profile, lcp_parameter parameter, double value)
{
    profile->values[parameter] = (lcp_parameter_value){true, value, 0};
}

/* Runs that differ in everything a parameter shows in. */
static void change(char *out, size_t size, size_t i)
{
    static const int32_t hidden[] = {2048, 4096, 8192};
    static const int32_t tokens[] = {1024, 4096, 16384};
    int32_t tp = 1 << (i % 4);
    int32_t pp = 1 << (i / 4 % 3);
    int32_t nodes = 1 << (i / 3 % 4);
    int32_t gpus = 8 * nodes;
    pp = tp * pp > gpus ? 1 : pp;
    int32_t dp = gpus / tp / pp;
    int32_t micro = 1 << (i / 2 % 3);
    int32_t batch = dp * micro * (4 + (int32_t)(i % 3) * 4);
    snprintf(out, size, "hidden=%d;seq_len=%d;tp=%d;sp=1;pp=%d;dp=%d;gpus=%d;mbs=%d;gbs=%d;layers=%d;heads=32",
             (int)hidden[i % 3], (int)tokens[i / 5 % 3], (int)tp, (int)pp, (int)dp, (int)gpus, (int)micro, (int)batch,
             8 + 4 * (int)(i % 2));
}

/* relative noise; every tenth row wrong by a factor of 3 if `gross`. */
static char *make_table(const lcp_profile *truth, size_t count, double noise, bool gross)
{
    size_t size = 4096 + 1024 * count;
    char *table = calloc(size, 1);
    assert_non_null(table);
    uint64_t seed = 11;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        char changes[256];
        char measured[400];
        change(changes, sizeof changes, i);
        lcp_row_result result = {.row = row_of(changes, truth)};
        lcp_row_predict(&result);
        if (result.row.skipped[0] != '\0') {
            fail_msg("%s: %s", changes, result.row.skipped);
        }
        double factor = 1 + noise * normal(&seed);
        factor *= gross && i % 10 == 7 ? 3 : 1;
        snprintf(measured, sizeof measured, "%s;iter_time_s=%.12g;peak_mem_gb=%.12g", changes, result.seconds * factor,
                 result.bytes / 1e9);
        char *text = row_text(measured);
        const char *body = strchr(text, '\n') + 1;
        used += (size_t)snprintf(table + used, size - used, "%s", i == 0 ? text : body);
        assert_true(used < size);
        free(text);
    }
    return table;
}

static lcp_status fit(lcp_calibration *out, lcp_profile *profile, const char *text, const lcp_parameter *which,
                      size_t count, lcp_error *err)
{
    bool chosen[LCP_PARAMETER_COUNT] = {false};
    for (size_t i = 0; i < count; i++) {
        chosen[which[i]] = true;
    }
    lcp_row_table table;
    const lcp_profile_set set = {profile, 1, true};
    assert_int_equal(lcp_row_table_read(&table, table_of("fit", text), &set, NULL), LCP_OK);
    table_remove();
    const lcp_calibration_input input = {&table, 1, chosen};
    lcp_status status = lcp_calibrate(out, profile, &input, err);
    lcp_row_table_dispose(&table);
    return status;
}

static const lcp_parameter some[] = {LCP_PARAMETER_MATMUL_RATIO,     LCP_PARAMETER_MEMORY_RATIO,
                                     LCP_PARAMETER_COLLECTIVE_RATIO, LCP_PARAMETER_NETWORK_RATIO,
                                     LCP_PARAMETER_STEP_OVERHEAD,    LCP_PARAMETER_FIXED_MEMORY};
static const double true_values[] = {0.6, 0.6, 0.5, 0.6, 0.1, 3e9};
static const double start_values[] = {0.75, 0.8, 0.75, 0.85, 0, 1e9};
#define SOME (sizeof some / sizeof some[0])

static lcp_profile with(const double *values)
{
    lcp_profile profile = base();
    for (size_t i = 0; i < SOME; i++) {
        give(&profile, some[i], values[i]);
    }
    return profile;
}

static void recovers(void **state)
{
    (void)state;
    lcp_profile truth = with(true_values);
    lcp_profile profile = with(start_values);
    lcp_calibration out;
    char *table = make_table(&truth, 96, 0, false);
    assert_int_equal(fit(&out, &profile, table, some, SOME, NULL), LCP_OK);
    assert_int_equal(out.time_rows, 96);
    assert_int_equal(out.memory_rows, 96);
    for (size_t i = 0; i < SOME; i++) {
        assert_true(out.fitted[some[i]]);
        assert_close(out.start[some[i]] + 1, start_values[i] + 1, 1e-12);
        /* No further off than it says, and well determined but for element-wise work, a small part of the time. */
        const lcp_parameter_value *v = &profile.values[some[i]];
        assert_true(fabs(v->value - true_values[i]) <= v->error);
        assert_true(v->error <= (some[i] == LCP_PARAMETER_MEMORY_RATIO ? 0.3 : 0.15) * true_values[i]);
    }
    assert_true(out.time.median < 0.005 && out.crossed_time.median < 0.01 && out.memory.worst < 0.01);
    assert_false(out.fitted[LCP_PARAMETER_TP_OVERLAP] || profile.values[LCP_PARAMETER_TP_OVERLAP].given);
    free(table);
}

static void noise_and_outliers(void **state)
{
    (void)state;
    lcp_profile truth = with(true_values);
    lcp_profile profile = with(start_values);
    lcp_calibration out;
    char *table = make_table(&truth, 120, 0.05, true);
    assert_int_equal(fit(&out, &profile, table, some, SOME, NULL), LCP_OK);
    for (size_t i = 0; i < SOME; i++) {
        const lcp_parameter_value *v = &profile.values[some[i]];
        assert_true(fabs(v->value - true_values[i]) <= 2 * v->error);
    }
    assert_close(profile.values[LCP_PARAMETER_MATMUL_RATIO].value, 0.6, 0.1);
    assert_close(profile.values[LCP_PARAMETER_FIXED_MEMORY].value, 3e9, 0.1);
    /* The typical row is as far off as the noise, the gross ones by two thirds; rows left out are no better. */
    assert_true(out.time.median > 0.02 && out.time.median < 0.06);
    assert_close(out.time.worst, 2.0 / 3, 0.15);
    assert_true(out.crossed_time.median > 0.02 && out.crossed_time.median < 0.08);
    assert_int_equal(out.crossed_time.count, 120);
    free(table);
}

static void starts_on_a_bound(void **state)
{
    (void)state;
    const double bounds[] = {1, 0.1, 1, 0.05, 0, 0};
    lcp_profile truth = with(true_values);
    lcp_profile profile = with(bounds);
    lcp_calibration out;
    char *table = make_table(&truth, 48, 0, false);
    assert_int_equal(fit(&out, &profile, table, some, SOME, NULL), LCP_OK);
    assert_close(profile.values[LCP_PARAMETER_MATMUL_RATIO].value, 0.6, 0.1);
    assert_close(profile.values[LCP_PARAMETER_FIXED_MEMORY].value, 3e9, 0.1);
    for (size_t i = 0; i < SOME; i++) {
        const lcp_parameter_row *row = &lcp_parameter_rows[some[i]];
        double value = profile.values[some[i]].value;
        assert_true(value >= row->low && value <= row->high);
    }
    free(table);
}

/* No expert, no ring, no ZeRO 3 in the table: it cannot say anything of their overlap. */
static void what_has_no_effect_stays(void **state)
{
    (void)state;
    const lcp_parameter which[] = {LCP_PARAMETER_MATMUL_RATIO, LCP_PARAMETER_EP_OVERLAP, LCP_PARAMETER_ZERO_OVERLAP};
    lcp_profile truth = with(true_values);
    lcp_profile profile = with(true_values);
    give(&profile, LCP_PARAMETER_EP_OVERLAP, 0.4);
    give(&profile, LCP_PARAMETER_MATMUL_RATIO, 0.7);
    lcp_calibration out;
    char *table = make_table(&truth, 40, 0, false);
    assert_int_equal(fit(&out, &profile, table, which, 3, NULL), LCP_OK);
    assert_close(profile.values[LCP_PARAMETER_MATMUL_RATIO].value, 0.6, 0.01);
    assert_close(profile.values[LCP_PARAMETER_EP_OVERLAP].value, 0.4, 1e-9);
    assert_false(profile.values[LCP_PARAMETER_ZERO_OVERLAP].given);
    assert_close(out.start[LCP_PARAMETER_ZERO_OVERLAP], 1, 1e-12);
    /* As uncertain as their start. */
    for (int32_t i = 1; i < 3; i++) {
        const lcp_parameter_row *row = &lcp_parameter_rows[which[i]];
        assert_true(out.fitted[which[i]]);
        assert_true(out.values[which[i]].error > 0.7 * row->spread * row->high);
    }
    const lcp_parameter_row *matmul = &lcp_parameter_rows[LCP_PARAMETER_MATMUL_RATIO];
    assert_true(profile.values[LCP_PARAMETER_MATMUL_RATIO].error < 0.3 * matmul->spread * 0.6);
    free(table);
}

static void same_bytes_every_time(void **state)
{
    (void)state;
    lcp_profile truth = with(true_values);
    lcp_profile profiles[2] = {with(start_values), with(start_values)};
    lcp_calibration out[2];
    char *table = make_table(&truth, 20, 0.05, true);
    for (int32_t i = 0; i < 2; i++) {
        assert_int_equal(fit(&out[i], &profiles[i], table, some, SOME, NULL), LCP_OK);
    }
    assert_memory_equal(profiles[0].values, profiles[1].values, sizeof profiles[0].values);
    assert_memory_equal(&out[0].crossed_time, &out[1].crossed_time, sizeof out[0].crossed_time);
    free(table);
}

static void few_rows(void **state)
{
    (void)state;
    lcp_profile truth = with(true_values);
    lcp_profile profile = with(start_values);
    lcp_calibration out;
    lcp_error err = {0};
    char *table = make_table(&truth, 3, 0, false);
    assert_int_equal(fit(&out, &profile, table, some, SOME, NULL), LCP_OK);
    assert_true(out.time.median < 0.05);
    free(table);
    table = make_table(&truth, 1, 0, false); /* a time and a memory figure: two measurements */
    profile = with(start_values);
    assert_int_equal(fit(&out, &profile, table, some, SOME, &err), LCP_INPUT);
    assert_string_equal(err.text, "found 2 complete measurements, expected at least 3");
    free(table);
    err = (lcp_error){0};
    table = make_table(&truth, 5, 0, false);
    assert_int_equal(fit(&out, &profile, table, some, 0, &err), LCP_INPUT);
    assert_string_equal(err.text, "no parameter to fit");
    free(table);
}

/* Of another device, out of memory, suspect, incomplete: none of them counts. */
static void rows_that_take_no_part(void **state)
{
    (void)state;
    static const char *const changes[] = {
        "gpu_type=H100-SXM-80",      "status=oom", "notes=SUSPECT", "recompute=", "precision=fp8",
        "iter_time_s=;peak_mem_gb=", "gpus=9"};
    lcp_profile truth = with(true_values);
    char *good = make_table(&truth, 4, 0, false);
    size_t size = strlen(good) + 8192;
    char *table = calloc(size, 1);
    assert_non_null(table);
    size_t used = (size_t)snprintf(table, size, "%s", good);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char *text = row_text(changes[i]);
        used += (size_t)snprintf(table + used, size - used, "%s", strchr(text, '\n') + 1);
        free(text);
    }
    lcp_profile profile = with(start_values);
    lcp_calibration out;
    assert_int_equal(fit(&out, &profile, table, some, SOME, NULL), LCP_OK);
    assert_int_equal(out.time_rows, 4);
    assert_int_equal(out.memory_rows, 4);
    free(good);
    free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recovers),
        cmocka_unit_test(noise_and_outliers),
        cmocka_unit_test(starts_on_a_bound),
        cmocka_unit_test(what_has_no_effect_stays),
        cmocka_unit_test(same_bytes_every_time),
        cmocka_unit_test(few_rows),
        cmocka_unit_test(rows_that_take_no_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
