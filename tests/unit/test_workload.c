#include "json_case.h"

#include "input/lengths.h"
#include "input/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOCUMENT(members) "{'format': 'lcplan.workload/1', " members "}"
#define BATCH "'global_batch': {'sequences': 4}, "

static json_case cases[] = {
    {"{'format': 'lcplan.model/1'}", "t: $.format", "found \"lcplan.model/1\", expected one of: lcplan.workload/1"},
    {DOCUMENT("'length': 1"), "t: $.length",
     "unknown key, expected one of: format, name, max_length_tokens, above_max, global_batch, seed, lengths"},
    {DOCUMENT("'name': 'a\\nb', 'lengths': {'values': [1]}"), "t: $.name",
     "found a control character, expected printable text"},
    {DOCUMENT("'max_length_tokens': 0"), "t: $.max_length_tokens", "found 0, expected an integer in [1, 2147483647]"},
    {DOCUMENT("'above_max': 'cut'"), "t: $.above_max", "found \"cut\", expected one of: truncate, drop, error"},
    {DOCUMENT("'seed': -1"), "t: $.seed", "found -1, expected an integer of at least 0"},
    {DOCUMENT("'global_batch': 4"), "t: $.global_batch", "found 4, expected an object"},
    {DOCUMENT("'global_batch': {}"), "t: $.global_batch", "expected exactly one of: sequences, tokens"},
    {DOCUMENT("'global_batch': {'sequences': 1, 'tokens': 1}"), "t: $.global_batch",
     "expected exactly one of: sequences, tokens"},
    {DOCUMENT("'global_batch': {'sequence': 1}"), "t: $.global_batch.sequence",
     "unknown key, expected one of: sequences, tokens"},
    {DOCUMENT("'global_batch': {'sequences': 10000001}"), "t: $.global_batch.sequences",
     "found 10000001, expected an integer in [1, 10000000]"},
    {DOCUMENT("'global_batch': {'tokens': 0}"), "t: $.global_batch.tokens",
     "found 0, expected an integer in [1, 9007199254740992]"},
    {DOCUMENT("'seed': 1"), "t: $.lengths", "missing, expected an object"},
    {DOCUMENT("'lengths': {}"), "t: $.lengths",
     "found no lengths, expected one of: values, histogram, percentiles, file"},
    {DOCUMENT("'lengths': {'values': [1], 'histogram': []}"), "t: $.lengths.histogram",
     "unknown key, expected one of: values"},
    {DOCUMENT("'lengths': {'values': []}"), "t: $.lengths.values",
     "found an array of 0 elements, expected an array of 1 to 10000000 elements"},
    {DOCUMENT("'lengths': {'values': [5, 0]}"), "t: $.lengths.values[1]",
     "found 0, expected an integer in [1, 2147483647]"},
    {DOCUMENT(BATCH "'lengths': {'values': [5, 6]}"), "t: $.lengths",
     "found 2 sequences of 11 tokens in all, expected what global_batch asks for"},
    {DOCUMENT("'global_batch': {'tokens': 12}, 'lengths': {'values': [5, 6]}"), "t: $.lengths",
     "found 2 sequences of 11 tokens in all, expected what global_batch asks for"},
    {DOCUMENT("'max_length_tokens': 5, 'above_max': 'error', 'lengths': {'values': [5, 6]}"), "t: $.lengths",
     "found a length of 6 tokens, expected at most max_length_tokens, 5"},
    {DOCUMENT("'max_length_tokens': 4, 'above_max': 'drop', 'lengths': {'values': [5, 6]}"), "t: $.lengths",
     "found no sequence within max_length_tokens, expected at least one"},
    {DOCUMENT("'lengths': {'histogram': [{'up_to_tokens': 5, 'share': 1}]}"), "t: $.global_batch",
     "missing, expected it with lengths that are drawn"},
    {DOCUMENT(BATCH "'lengths': {'histogram': []}"), "t: $.lengths.histogram",
     "found an array of 0 elements, expected an array of 1 to 100000 elements"},
    {DOCUMENT(BATCH "'lengths': {'histogram': [7]}"), "t: $.lengths.histogram[0]", "found 7, expected an object"},
    {DOCUMENT(BATCH "'lengths': {'histogram': [{'up_to_tokens': 5, 'share': 1}, {'up_to_tokens': 5, 'share': 1}]}"),
     "t: $.lengths.histogram[1].up_to_tokens", "found 5, expected an integer in [6, 2147483647]"},
    {DOCUMENT(BATCH "'lengths': {'histogram': [{'up_to_tokens': 5}]}"), "t: $.lengths.histogram[0].share",
     "missing, expected a number in [0, 1e+15]"},
    {DOCUMENT(BATCH "'lengths': {'histogram': [{'up_to_tokens': 5, 'share': -1}]}"), "t: $.lengths.histogram[0].share",
     "found -1, expected a number in [0, 1e+15]"},
    {DOCUMENT(BATCH "'lengths': {'histogram': [{'up_to_tokens': 5, 'share': 1, 'count': 1}]}"),
     "t: $.lengths.histogram[0].count", "unknown key, expected one of: up_to_tokens, share"},
    {DOCUMENT(BATCH "'lengths': {'histogram': [{'up_to_tokens': 5, 'share': 0}]}"), "t: $.lengths.histogram",
     "found shares that sum to 0, expected a sum above 0"},
    {DOCUMENT(BATCH "'max_length_tokens': 4, 'above_max': 'error', 'lengths': {'histogram': [{'up_to_tokens': 5, "
                    "'share': 1}]}, 'seed': 1"),
     "t: $.lengths", "found a length of 5 tokens, expected at most max_length_tokens, 4"},
    {DOCUMENT(BATCH "'max_length_tokens': 4, 'above_max': 'drop', 'lengths': {'percentiles': {'0': 5, '100': 9}}"),
     "t: $.lengths", "found a length of 5 tokens, expected at most max_length_tokens, 4"},
    {DOCUMENT(BATCH "'lengths': {'percentiles': 5}"), "t: $.lengths.percentiles", "found 5, expected an object"},
    {DOCUMENT(BATCH "'lengths': {'percentiles': {'50': 5}}"), "t: $.lengths.percentiles[\"100\"]",
     "missing, expected the longest length"},
    {DOCUMENT(BATCH "'lengths': {'percentiles': {'p50': 5, '100': 9}}"), "t: $.lengths.percentiles.p50",
     "unknown key, expected a percentile from \"0\" to \"100\""},
    {DOCUMENT(BATCH "'lengths': {'percentiles': {'101': 5}}"), "t: $.lengths.percentiles[\"101\"]",
     "unknown key, expected a percentile from \"0\" to \"100\""},
    {DOCUMENT(BATCH "'lengths': {'percentiles': {'5.': 1.5, '100': 9}}"), "t: $.lengths.percentiles[\"5.\"]",
     "found 1.5, expected an integer in [1, 2147483647]"},
    {DOCUMENT(BATCH "'lengths': {'percentiles': {'50': 10, '100': 9}}"), "t: $.lengths.percentiles",
     "found 10 tokens at 50 and 9 at 100 per cent, expected lengths that rise"},
    {DOCUMENT(BATCH "'lengths': {'percentiles': {'50': 5, '50.0': 6, '100': 9}}"), "t: $.lengths.percentiles",
     "found 5 tokens at 50 and 6 at 50 per cent, expected lengths that rise"},
    {DOCUMENT(BATCH "'lengths': {'file': 5}"), "t: $.lengths.file", "found 5, expected a string"},
    {DOCUMENT(BATCH "'lengths': {'file': 'x', 'column': 5}"), "t: $.lengths.column", "found 5, expected a string"},
    {DOCUMENT(BATCH "'lengths': {'file': 'x', 'in_order': 5}"), "t: $.lengths.in_order",
     "found 5, expected true or false"},
    {DOCUMENT(BATCH "'lengths': {'file': 'x', 'sep': 5}"), "t: $.lengths.sep",
     "unknown key, expected one of: file, column, in_order"},
    {DOCUMENT(BATCH "'lengths': {'file': 'a.jsonl'}"), "a.jsonl",
     "found no \"column\", expected the key of the lengths"},
    {DOCUMENT("'global_batch': {'tokens': 9e15}, 'lengths': {'histogram': [{'up_to_tokens': 5, 'share': 1}]}"),
     "t: $.global_batch", "found a batch of about 3e+15 sequences, expected at most 10000000"},
};

static lcp_status read(lcp_workload *out, const char *document, lcp_error *err)
{
    json_t *root = json_of(document);
    lcp_status status = lcp_workload_from_json(out, root, "t", NULL, err);
    json_decref(root);
    return status;
}

static void read_good(lcp_workload *out, const char *document)
{
    lcp_error err = {0};
    if (read(out, document, &err) != LCP_OK) {
        fail_msg("%s: %s", err.where, err.text);
    }
}

static void refusal_says_why(void **state)
{
    const json_case *c = *state;
    lcp_workload workload;
    lcp_error err = {0};
    assert_int_equal(read(&workload, c->document, &err), LCP_INPUT);
    assert_error(&err, c->where, c->text);
    assert_null(workload.lengths_tokens);
}

static void assert_lengths(const lcp_workload *w, const int64_t *lengths, int64_t count)
{
    int64_t total = 0;
    assert_int_equal(w->sequence_count, count);
    for (int64_t i = 0; i < count; i++) {
        assert_int_equal(w->lengths_tokens[i], lengths[i]);
        total += lengths[i];
    }
    assert_int_equal(w->total_tokens, total);
}

static void values_are_taken_as_they_are(void **state)
{
    (void)state;
    static const struct {
        const char *document;
        int64_t count, max_length_tokens, lengths[4];
    } rows[] = {
        {DOCUMENT("'lengths': {'values': [7, 3, 1e1, 2]}"), 4, 10, {7, 3, 10, 2}},
        {DOCUMENT("'max_length_tokens': 50, 'lengths': {'values': [7, 3]}"), 2, 50, {7, 3}},
        {DOCUMENT("'max_length_tokens': 5, 'lengths': {'values': [7, 3, 10, 2]}"), 4, 5, {5, 3, 5, 2}},
        {DOCUMENT("'max_length_tokens': 5, 'above_max': 'drop', 'lengths': {'values': [7, 3, 10, 2]}"), 2, 5, {3, 2}},
        {DOCUMENT("'global_batch': {'sequences': 2}, 'lengths': {'values': [7, 3, 10, 2]}"), 2, 7, {7, 3}},
        {DOCUMENT("'global_batch': {'tokens': 13}, 'lengths': {'values': [7, 3, 10, 2]}"), 3, 7, {7, 3, 3}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lcp_workload w;
        read_good(&w, rows[i].document);
        assert_lengths(&w, rows[i].lengths, rows[i].count);
        assert_int_equal(w.max_length_tokens, rows[i].max_length_tokens);
        lcp_workload_dispose(&w);
    }
}

static int64_t count_between(const lcp_workload *w, int64_t lo, int64_t hi)
{
    int64_t count = 0;
    for (int64_t i = 0; i < w->sequence_count; i++) {
        count += w->lengths_tokens[i] >= lo && w->lengths_tokens[i] <= hi;
    }
    return count;
}

/* Stratified draws: a bin of share s holds n * s sequences within one, for every seed. */
static void batches_show_every_bin_in_its_share(void **state)
{
    (void)state;
    for (int seed = 0; seed < 20; seed++) {
        char document[400];
        snprintf(document, sizeof document,
                 DOCUMENT("'seed': %d, 'global_batch': {'sequences': 512}, 'lengths': {'histogram': [{'up_to_tokens': "
                          "100, 'share': 90}, {'up_to_tokens': 200, 'share': 9}, {'up_to_tokens': 900, 'share': 1}]}"),
                 seed);
        lcp_workload w;
        read_good(&w, document);
        assert_int_equal(w.sequence_count, 512);
        assert_in_range(count_between(&w, 1, 100), 460, 461); /* 460.8 */
        assert_in_range(count_between(&w, 101, 200), 45, 47); /* 46.08 */
        assert_in_range(count_between(&w, 201, 900), 5, 6);   /* 5.12 */
        lcp_workload_dispose(&w);
    }
}

static const char *const log_linear =
    DOCUMENT("'seed': 3, 'global_batch': {'sequences': 1000}, 'lengths': {'percentiles': {'0': 16, '50': 1024, '100': "
             "65536}}");

/* Log-linear: from 2^4 to 2^10 over the first half and to 2^16 over the second, so half the logarithm at 25 %. */
static void percentiles_are_log_linear(void **state)
{
    (void)state;
    lcp_workload w;
    read_good(&w, log_linear);
    assert_in_range(count_between(&w, 1, 127), 249, 251);
    assert_in_range(count_between(&w, 1, 1023), 499, 501);
    assert_in_range(count_between(&w, 1, 8191), 749, 751);
    assert_int_equal(count_between(&w, 16, 65536), 1000);
    lcp_workload_dispose(&w);
}

static void order_depends_on_the_seed_alone(void **state)
{
    (void)state;
    lcp_workload a;
    lcp_workload b;
    lcp_workload c;
    read_good(&a, log_linear);
    read_good(&b, log_linear);
    read_good(&c, DOCUMENT("'seed': 4, 'global_batch': {'sequences': 1000}, 'lengths': {'percentiles': {'0': 16, '50': "
                           "1024, '100': 65536}}"));
    assert_memory_equal(a.lengths_tokens, b.lengths_tokens, 1000 * sizeof *a.lengths_tokens);
    assert_memory_not_equal(a.lengths_tokens, c.lengths_tokens, 1000 * sizeof *a.lengths_tokens);
    int rises = 0;
    for (int i = 1; i < 1000; i++) {
        rises += a.lengths_tokens[i] > a.lengths_tokens[i - 1];
    }
    assert_in_range(rises, 440, 560);
    lcp_workload_dispose(&a);
    lcp_workload_dispose(&b);
    lcp_workload_dispose(&c);
}

/* Drop draws from what is left of the distribution: uniform on 1..100 cut at 40 has mean 20.5. */
static void dropping_keeps_the_batch_full(void **state)
{
    (void)state;
    lcp_workload w;
    read_good(&w, DOCUMENT("'max_length_tokens': 40, 'above_max': 'drop', 'global_batch': {'sequences': 4000}, "
                           "'lengths': {'histogram': [{'up_to_tokens': 100, 'share': 1}]}"));
    assert_int_equal(w.sequence_count, 4000);
    assert_int_equal(count_between(&w, 1, 40), 4000);
    assert_close((double)w.total_tokens / 4000, 20.5, 2e-3);
    assert_int_equal(count_between(&w, 40, 40), 100);
    lcp_workload_dispose(&w);
    read_good(&w, DOCUMENT("'max_length_tokens': 40, 'global_batch': {'sequences': 4000}, 'lengths': {'histogram': "
                           "[{'up_to_tokens': 100, 'share': 1}]}"));
    assert_int_equal(count_between(&w, 40, 40), 2440);
    lcp_workload_dispose(&w);
}

static void token_batches_are_exact(void **state)
{
    (void)state;
    lcp_workload w;
    read_good(&w, DOCUMENT("'global_batch': {'tokens': 1000003}, 'lengths': {'histogram': [{'up_to_tokens': 999, "
                           "'share': 1}, {'up_to_tokens': 1000, 'share': 1}]}"));
    assert_int_equal(w.total_tokens, 1000003);
    /* mean (500 + 1000) / 2 */
    assert_close((double)w.sequence_count, 1000003.0 / 750, 0.01);
    lcp_workload_dispose(&w);
}

static void resolved_documents_read_back(void **state)
{
    (void)state;
    lcp_workload a;
    lcp_workload b;
    read_good(&a, log_linear);
    json_t *document = lcp_workload_to_json(&a);
    assert_int_equal(lcp_workload_from_json(&b, document, "t", NULL, NULL), LCP_OK);
    assert_string_equal(a.name, b.name);
    assert_int_equal(a.max_length_tokens, b.max_length_tokens);
    assert_lengths(&b, a.lengths_tokens, a.sequence_count);
    json_decref(document);
    lcp_workload_dispose(&a);
    lcp_workload_dispose(&b);
}

static void uniform_batches_need_no_file(void **state)
{
    (void)state;
    lcp_workload w;
    lcp_source source;
    assert_int_equal(lcp_workload_uniform(&w, &source, 131072, 64, NULL), LCP_OK);
    assert_int_equal(w.total_tokens, 64 * 131072);
    assert_int_equal(count_between(&w, 131072, 131072), 64);
    assert_int_equal(strlen(source.sha256), 64);
    lcp_workload_dispose(&w);
    static const int64_t bad[][2] = {{0, 1}, {INT64_C(1) << 31, 1}, {1, 0}, {1, 10000001}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(lcp_workload_uniform(&w, &source, bad[i][0], bad[i][1], NULL), LCP_INPUT);
    }
}

/* The first numbers of the reference generator for seed 1234567. */
static void generator_gives_published_numbers(void **state)
{
    (void)state;
    static const uint64_t expected[] = {6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                        4593380528125082431U, 16408922859458223821U};
    lcp_random random = {1234567};
    for (size_t i = 0; i < 5; i++) {
        assert_true(lcp_random_bits(&random) == expected[i]);
    }
    int64_t seen[3] = {0};
    for (int i = 0; i < 3000; i++) {
        seen[lcp_random_below(&random, 3)]++;
    }
    for (int i = 0; i < 3; i++) {
        assert_in_range(seen[i], 900, 1100);
    }
}

static void examples_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int64_t longest, sequences, tokens; /* sequences or tokens 0: not fixed */
    } rows[] = {
        {"../examples/workloads/long-tail-192k.json", 196608, 512, 0},
        {"../examples/workloads/code-1m.json", 1048576, 256, 0},
        {"../examples/workloads/mix-128k.json", 131072, 0, 16777216},
        {"../examples/workloads/mix-64k.json", 65536, 0, 33554432},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lcp_workload w;
        lcp_source source;
        lcp_error err = {0};
        if (lcp_read_workload(&w, &source, rows[i].path, &err) != LCP_OK) {
            fail_msg("%s: %s", err.where, err.text);
        }
        assert_true(rows[i].sequences == 0 || w.sequence_count == rows[i].sequences);
        assert_true(rows[i].tokens == 0 || w.total_tokens == rows[i].tokens);
        assert_true(count_between(&w, rows[i].longest / 2 + 1, rows[i].longest) >= 1);
        lcp_workload_dispose(&w);
    }
}

#define CASES (sizeof cases / sizeof cases[0])

int main(void)
{
    static struct CMUnitTest refusals[CASES];
    for (size_t i = 0; i < CASES; i++) {
        refusals[i] = (struct CMUnitTest){cases[i].document, refusal_says_why, NULL, NULL, &cases[i]};
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_taken_as_they_are),      cmocka_unit_test(batches_show_every_bin_in_its_share),
        cmocka_unit_test(percentiles_are_log_linear),        cmocka_unit_test(order_depends_on_the_seed_alone),
        cmocka_unit_test(dropping_keeps_the_batch_full),     cmocka_unit_test(token_batches_are_exact),

        cmocka_unit_test(resolved_documents_read_back),      cmocka_unit_test(uniform_batches_need_no_file),
        cmocka_unit_test(generator_gives_published_numbers), cmocka_unit_test(examples_are_read),
    };
    int failed = cmocka_run_group_tests(refusals, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
