/* Tables of runs: figures of merit by hand, and the table that comes out. */
#include "row_case.h"
#include "table_case.h"

#include "rows/summary.h"

#include <stdlib.h>
#include <string.h>

static void error_figures(void **state)
{
    (void)state;
    /* Sorted: -0.3 -0.1 0 0.2 0.4; absolute 0 0.1 0.2 0.3 0.4. */
    double errors[] = {0.4, -0.1, 0, -0.3, 0.2};
    lcp_error_summary s = lcp_error_summary_of(errors, 5);
    assert_int_equal(s.count, 5);
    assert_close(s.bias + 1, 1, 1e-12);
    assert_close(s.median, 0.2, 1e-12);
    assert_close(s.ninetieth, 0.3 + 0.6 * 0.1, 1e-12); /* rank 3.6 of 0..4 */
    assert_close(s.worst, 0.4, 1e-12);
    double even[] = {0.1, -0.2, 0.3, -0.4};
    s = lcp_error_summary_of(even, 4);
    assert_close(s.bias, (0.1 - 0.2) / 2, 1e-12);
    assert_close(s.median, 0.25, 1e-12);
    assert_close(s.ninetieth, 0.3 + 0.7 * 0.1, 1e-12);
    double one[] = {-0.25};
    s = lcp_error_summary_of(one, 1);
    assert_close(s.bias, -0.25, 1e-12);
    assert_close(s.median, 0.25, 1e-12);
    assert_close(s.ninetieth, 0.25, 1e-12);
    s = lcp_error_summary_of(one, 0);
    assert_true(s.count == 0 && s.median == 0 && s.worst == 0);
}

static void ranks(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4, 5};
    const double up[] = {10, 20, 30, 40, 500};
    const double down[] = {5, 4, 3, 2, 1};
    /* d = 0 0 2 1 1 off: 1 - 6 * (0 + 0 + 4 + 1 + 1) / (5 * 24). */
    const double mixed[] = {1, 2, 5, 3, 4};
    /* Ties 1.5 1.5: Pearson of {0,1,2,3} and {0.5,0.5,2,3}: 4.5 / sqrt(5 * 4.5). */
    const double ties[] = {1, 1, 2, 3};
    const double same[] = {7, 7, 7, 7};
    assert_close(lcp_rank_correlation(a, up, 5), 1, 1e-12);
    assert_close(lcp_rank_correlation(a, down, 5), -1, 1e-12);
    assert_close(lcp_rank_correlation(a, mixed, 5), 0.7, 1e-12);
    assert_close(lcp_rank_correlation(a, ties, 4), 0.948683298050513768, 1e-12);
    assert_true(lcp_rank_correlation(a, same, 4) == 0);
}

/* Rows of which only what a summary reads is filled in. */
typedef struct made_row {
    int32_t layers, dp; /* sweep: layers; layouts differ in dp and tp */
    double predicted, measured, bytes, measured_bytes;
    bool oom, fits, suspect, skipped;
} made_row;

static void make(lcp_row_table *table, const made_row *rows, size_t count)
{
    *table = (lcp_row_table){.csv.row_count = count, .results = calloc(count, sizeof *table->results)};
    assert_non_null(table->results);
    for (size_t i = 0; i < count; i++) {
        lcp_row_result *r = &table->results[i];
        r->row.run = lcp_run_default();
        r->row.run.layout.dp = rows[i].dp;
        r->row.run.layout.tp = 8 / rows[i].dp;
        r->row.model.layer_count = rows[i].layers;
        r->row.measured_seconds = rows[i].measured;
        r->row.measured_bytes = rows[i].measured_bytes;
        r->row.out_of_memory = rows[i].oom;
        r->row.suspect = rows[i].suspect;
        snprintf(r->row.skipped, sizeof r->row.skipped, "%s", rows[i].skipped ? "why" : "");
        r->seconds = rows[i].predicted;
        r->bytes = rows[i].bytes;
        r->fits = rows[i].fits;
    }
}

static void assert_summary(const made_row *rows, size_t count, const char *expected)
{
    lcp_row_table table;
    char text[1024];
    FILE *out = tmpfile();
    assert_non_null(out);
    make(&table, rows, count);
    lcp_row_table_summary(out, &table);
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = '\0';
    assert_int_equal(fclose(out), 0);
    lcp_row_table_dispose(&table);
    assert_string_equal(text, expected);
}

static void summaries(void **state)
{
    (void)state;
    /* Sweep of 4 layers: the model takes dp 4 (3 s), the best is dp 8 (2 s): regret 50 %. Sweep of 8: right, 0 %. Sweep
     * of 16: one row. Errors +20 % -40 % +10 % 0 % -10 %; suspect and skipped rows take no part. */
    const made_row rows[] = {
        {4, 8, 2.4, 2, 11, 10, false, true, false, false}, {4, 4, 1.8, 3, 0, 0, false, false, false, false},
        {8, 8, 5.5, 5, 12, 10, false, true, false, false},  {8, 2, 7, 7, 0, 0, false, true, false, false},
        {16, 1, 9, 10, 0, 0, false, true, false, false},   {4, 2, 1, 90, 99, 1, false, true, true, false},
        {4, 1, 1, 90, 99, 1, false, true, false, true},    {4, 1, 1, 0, 0, 0, true, false, false, false},
        {4, 1, 1, 0, 0, 0, true, true, false, false},
    };
    assert_summary(rows, sizeof rows / sizeof rows[0],
                   "rows         9, of which 1 not scored; the column skipped_reason says why\n"
                   "time         5 rows scored: error median 10.0 %, 90th percentile 32.0 %, worst 40.0 %, bias +0.0 "
                   "%\n"
                   "layouts      2 sweeps: regret median 25.0 %, worst 50.0 %\n"
                   "memory       2 rows scored: error median 15.0 %, 90th percentile 19.0 %, worst 20.0 %, bias +15.0 "
                   "%\n"
                   "memory       1 of 2 runs that ran out of memory foreseen; 1 of 5 that ran called too large\n");
}

static void long_sweeps_are_ranked(void **state)
{
    (void)state;
    /* d = 1 1 0 0 0 off: 1 - 6 * 2 / 120 = 0.9. */
    const made_row rows[] = {
        {4, 8, 2, 1, 0, 0, false, true, false, false}, {4, 4, 1, 2, 0, 0, false, true, false, false},
        {4, 2, 3, 3, 0, 0, false, true, false, false}, {4, 1, 4, 4, 0, 0, false, true, false, false},
        {4, 8, 5, 5, 0, 0, false, true, false, false},
    };
    assert_summary(rows, sizeof rows / sizeof rows[0],
                   "rows         5, of which 0 not scored; the column skipped_reason says why\n"
                   "time         5 rows scored: error median 0.0 %, 90th percentile 80.0 %, worst 100.0 %, bias +0.0 "
                   "%\n"
                   "layouts      1 sweeps: regret median 100.0 %, worst 100.0 %; rank correlation median 0.90 in 1 "
                   "sweeps of 5 or more\n");
    assert_summary(rows, 0, "rows         0, of which 0 not scored; the column skipped_reason says why\n");
}

static void predict(char **text, const char *table)
{
    const lcp_profile_set none = {NULL, 0, false};
    lcp_row_table rows;
    lcp_error err = {0};
    size_t size = 0;
    if (lcp_row_table_read(&rows, table_of("in", table), &none, &err) != LCP_OK) {
        fail_msg("%s: %s", err.where, err.text);
    }
    assert_int_equal(lcp_row_table_text(text, &size, &rows, &err), LCP_OK);
    assert_int_equal(size, strlen(*text));
    lcp_row_table_dispose(&rows);
    table_remove();
}

static const char columns_of_the_run[] = "model,layers,hidden,heads,seq_len,gbs,mbs,gpus,gpu_type,tp";

static void cells_come_back(void **state)
{
    (void)state;
    static const char table[] = "my note,model,layers,hidden,heads,seq_len,gbs,mbs,gpus,gpu_type,tp,\"a \"\"b\"\"\"\n"
                                "\"one, two\",m,4,1024,16,2048,8,1,8,A100-SXM-80,1,\"say \"\"so\"\"\"\n"
                                "\"1\n2\",m,4,1024,16,2048,8,1,8,Abacus,1\n"
                                "\"#3\",m,4,1024,16,2048,9,1,8,A100-SXM-80,1,x\n";
    char *text = NULL;
    predict(&text, table);
    lcp_csv csv;
    assert_int_equal(lcp_csv_read(&csv, table_of("out", text), NULL), LCP_OK);
    table_remove();
    assert_int_equal(csv.row_count, 3);
    assert_int_equal(csv.column_count, 12 + 7);
    assert_string_equal(csv.cells[0], "my note");
    assert_string_equal(csv.cells[11], "a \"b\"");
    assert_string_equal(lcp_csv_cell(&csv, 0, 0), "one, two");
    assert_string_equal(lcp_csv_cell(&csv, 0, 11), "say \"so\"");
    assert_string_equal(lcp_csv_cell(&csv, 1, 0), "1\n2");
    assert_string_equal(lcp_csv_cell(&csv, 1, 11), "");
    assert_string_equal(lcp_csv_cell(&csv, 2, 0), "#3");
    int why = lcp_csv_column(&csv, "skipped_reason");
    int seconds = lcp_csv_column(&csv, "predicted_iteration_seconds");
    assert_string_equal(lcp_csv_cell(&csv, 0, why), "");
    assert_string_equal(lcp_csv_cell(&csv, 1, why), "gpu_type: 'Abacus' is not in the catalogue");
    assert_string_equal(lcp_csv_cell(&csv, 2, why),
                        "a global batch of 9 sequences is not a multiple of microbatch x dp = 8");
    assert_true(strtod(lcp_csv_cell(&csv, 0, seconds), NULL) > 0);
    assert_string_equal(lcp_csv_cell(&csv, 1, seconds), "");
    assert_string_equal(lcp_csv_cell(&csv, 0, lcp_csv_column(&csv, "profile")), "catalogue");
    assert_string_equal(lcp_csv_cell(&csv, 0, lcp_csv_column(&csv, "predicted_fits")), "1");
    lcp_csv_dispose(&csv);
    free(text);
}

/* What was predicted before is written anew, not twice. */
static void predicting_twice_changes_nothing(void **state)
{
    (void)state;
    char table[512];
    char *once = NULL;
    char *twice = NULL;
    snprintf(table, sizeof table, "%s\nm,4,1024,16,2048,8,1,8,A100-SXM-80,2\n", columns_of_the_run);
    predict(&once, table);
    predict(&twice, once);
    assert_string_equal(twice, once);
    free(once);
    free(twice);
}

/* Value of a column of the only row. */
static double value_of(const char *text, const char *column)
{
    lcp_csv csv;
    assert_int_equal(lcp_csv_read(&csv, table_of("out", text), NULL), LCP_OK);
    table_remove();
    double value = strtod(lcp_csv_cell(&csv, 0, lcp_csv_column(&csv, column)), NULL);
    lcp_csv_dispose(&csv);
    return value;
}

static void columns_in_any_order(void **state)
{
    (void)state;
    char table[512];
    char *straight = NULL;
    char *turned = NULL;
    snprintf(table, sizeof table, "%s\nm,4,1024,16,2048,8,1,8,A100-SXM-80,2\n", columns_of_the_run);
    predict(&straight, table);
    predict(&turned, "tp,gpu_type,x,gpus,mbs,gbs,seq_len,heads,hidden,layers,model\n"
                     "2,A100-SXM-80,?,8,1,8,2048,16,1024,4,m\n");
    const char *const columns[] = {"predicted_iteration_seconds", "predicted_peak_memory_bytes", "predicted_mfu_ratio",
                                   "predicted_tokens_per_second_per_device"};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        assert_true(value_of(straight, columns[i]) > 0);
        assert_close(value_of(turned, columns[i]), value_of(straight, columns[i]), 0);
    }
    /* Throughput, time and MFU say the same. */
    double seconds = value_of(straight, "predicted_iteration_seconds");
    assert_close(value_of(straight, "predicted_tokens_per_second_per_device"), 8 * 2048.0 / 8 / seconds, 1e-8);
    free(straight);
    free(turned);
}

/* The row's estimate is that of the same run given by hand. */
static void a_row_is_its_run(void **state)
{
    (void)state;
    lcp_row_result result = {.row = row_of("recompute=full;zero_fsdp=zero1", NULL)};
    lcp_row_predict(&result);
    assert_string_equal(result.row.skipped, "");
    lcp_cluster cluster = lcp_row_bind(&result.row);
    lcp_run run = lcp_run_default();
    run.sequence_length_tokens = 2048;
    run.global_batch_sequences = 16;
    run.microbatch_sequences = 2;
    run.layout.tp = run.layout.pp = run.layout.dp = 2;
    run.layout.zero_stage = 1;
    run.recompute.method = LCP_METHOD_FULL;
    run.training = result.row.run.training;
    lcp_estimate e;
    assert_int_equal(lcp_estimate_run(&e, &result.row.model, &cluster, &run, NULL), LCP_OK);
    assert_close(result.seconds, e.iteration_seconds, 0);
    assert_close(result.bytes, (double)e.memory[e.fullest_stage].total, 0);
    result.row.last_rank_memory = true;
    lcp_row_predict(&result);
    assert_close(result.bytes, (double)e.memory[1].total, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_figures),
        cmocka_unit_test(ranks),
        cmocka_unit_test(summaries),
        cmocka_unit_test(long_sweeps_are_ranked),
        cmocka_unit_test(cells_come_back),
        cmocka_unit_test(predicting_twice_changes_nothing),
        cmocka_unit_test(columns_in_any_order),
        cmocka_unit_test(a_row_is_its_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
