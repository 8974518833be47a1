#include "json_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOCUMENT(members) "{'format': 'lcplan.workload/1', " members "}"

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

static int64_t count_between(const lcp_workload *w, int64_t lo, int64_t hi)
{
    int64_t count = 0;
    for (int64_t i = 0; i < w->sequence_count; i++) {
        count += w->lengths_tokens[i] >= lo && w->lengths_tokens[i] <= hi;
    }
    return count;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

typedef struct file_case {
    const char *path, *content;
    const char *members; /* of "lengths", besides the file */
    int64_t count, lengths[4];
    const char *text; /* of the error; NULL: the file is good */
} file_case;

static file_case file_cases[] = {
    {"t_lengths.txt", "5\n\n# comment\n 7 \n9", "", 3, {5, 7, 9}, NULL},
    {"t_lengths.txt", "5\r\n7\r\n", "", 2, {5, 7}, NULL},
    {"t_lengths.csv", "id,n\na,5\n\"b,\"\"c\",7\n", ", 'column': 'n'", 2, {5, 7}, NULL},
    {"t_lengths.csv", "n,id\n\"5\",x\n7\n", ", 'column': 'n'", 2, {5, 7}, NULL},
    {"t_lengths.jsonl", "{\"n\": 5}\n{\"n\": 7.0, \"x\": []}\n", ", 'column': 'n'", 2, {5, 7}, NULL},
    {"t_lengths.txt", "5\nsix\n", "", 0, {0}, "line 2: found \"six\", expected an integer in [1, 2147483647]"},
    {"t_lengths.txt", "5\n0\n", "", 0, {0}, "line 2: found \"0\", expected an integer in [1, 2147483647]"},
    {"t_lengths.txt", "5\n1.5\n", "", 0, {0}, "line 2: found \"1.5\", expected an integer in [1, 2147483647]"},
    {"t_lengths.txt", "99999999999\n", "", 0, {0}, "line 1: found \"99999999999\", ..."},
    {"t_lengths.txt", "# none\n", "", 0, {0}, "found no length, expected at least one"},
    {"t_lengths.csv", "id,m\na,5\n", ", 'column': 'n'", 0, {0}, "line 1: found no column \"n\" in the header"},
    {"t_lengths.csv", "", ", 'column': 'n'", 0, {0}, "line 0: found no column \"n\" in the header"},
    {"t_lengths.csv", "id,n\na\n", ", 'column': 'n'", 0, {0}, "line 2: found \"\", ..."},
    {"t_lengths.jsonl",
     "{\"n\": 5}\n{\"m\": 7}\n",
     ", 'column': 'n'",
     0,
     {0},
     "missing, expected an integer in [1, 2147483647]"},
    {"t_lengths.jsonl", "{\"n\": 5}\n7\n", ", 'column': 'n'", 0, {0}, "line 1 column 1: not a JSON document: ..."},
};

static void length_file_is_read(void **state)
{
    const file_case *c = *state;
    char document[400];
    lcp_workload w;
    lcp_error err = {0};
    write_text(c->path, c->content);
    snprintf(document, sizeof document, DOCUMENT("'lengths': {'file': '%s', 'in_order': true%s}"), c->path, c->members);
    lcp_status status = read(&w, document, &err);
    assert_int_equal(remove(c->path), 0);
    if (c->text == NULL) {
        assert_int_equal(status, LCP_OK);
        assert_lengths(&w, c->lengths, c->count);
    } else {
        char where[sizeof err.where];
        snprintf(where, sizeof where, "%s", err.where);
        assert_true(strncmp(where, c->path, strlen(c->path)) == 0);
        assert_error(&err, where, c->text);
    }
    lcp_workload_dispose(&w);
}

/* As many draws as there are lengths give each length once. */
static void drawing_everything_is_a_permutation(void **state)
{
    (void)state;
    lcp_workload w;
    write_text("t_lengths.txt", "30\n10\n20\n40\n");
    read_good(&w, DOCUMENT("'global_batch': {'sequences': 4}, 'lengths': {'file': 't_lengths.txt'}"));
    assert_int_equal(remove("t_lengths.txt"), 0);
    for (int64_t length = 10; length <= 40; length += 10) {
        assert_int_equal(count_between(&w, length, length), 1);
    }
    lcp_workload_dispose(&w);
}

static void files_are_beside_the_workload(void **state)
{
    (void)state;
    lcp_workload w;
    lcp_source source;
    write_text("unit/t_lengths.txt", "3\n4\n");
    write_text("unit/t_workload.json",
               "{\"format\": \"lcplan.workload/1\", \"lengths\": {\"file\": \"t_lengths.txt\", \"in_order\": true}}");
    lcp_status status = lcp_read_workload(&w, &source, "unit/t_workload.json", NULL);
    assert_int_equal(remove("unit/t_lengths.txt") + remove("unit/t_workload.json"), 0);
    assert_int_equal(status, LCP_OK);
    assert_int_equal(w.total_tokens, 7);
    assert_string_equal(source.path, "unit/t_workload.json");
    lcp_workload_dispose(&w);
    lcp_error err = {0};
    assert_int_equal(lcp_read_workload(&w, &source, "unit/absent.json", &err), LCP_IO);
}

#define FILES (sizeof file_cases / sizeof file_cases[0])

int main(void)
{
    static struct CMUnitTest table[FILES];
    for (size_t i = 0; i < FILES; i++) {
        table[i] = (struct CMUnitTest){file_cases[i].path, length_file_is_read, NULL, NULL, &file_cases[i]};
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawing_everything_is_a_permutation),
        cmocka_unit_test(files_are_beside_the_workload),
    };
    int failed = cmocka_run_group_tests(table, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
