/* CSV as RFC 4180 has it: what is read, and what is refused where. */
#include "support.h"
#include "table_case.h"

#include "rows/csv.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Cells of the header and the rows joined: ',' between cells, '|' between rows; then the lines where the rows begin. */
typedef struct good_row {
    const char *name, *text, *cells, *lines;
} good_row;

static const good_row good_rows[] = {
    {"plain", "a,b\n1,2\n3,4\n", "a,b|1,2|3,4", "2 3"},
    {"no newline at the end", "a,b\n1,2", "a,b|1,2", "2"},
    {"carriage returns", "a,b\r\n1,2\r\n3,4\r\n", "a,b|1,2|3,4", "2 3"},
    {"a carriage return at the very end", "a,b\r\n1,2\r", "a,b|1,2", "2"},
    {"header alone", "a,b\n", "a,b", ""},
    {"header without newline", "a", "a", ""},
    {"quotes", "a,b\n\"1\",\"2\"\n", "a,b|1,2", "2"},
    {"comma in quotes", "a,b\n\"1;2,3\",4\n", "a,b|1;2,3,4", "2"},
    {"doubled quotes", "a,b\n\"say \"\"so\"\"\",\"\"\"\"\n", "a,b|say \"so\",\"", "2"},
    {"empty quotes", "a,b\n\"\",\"\"\n", "a,b|,", "2"},
    {"quote inside a bare cell", "a,b\n5\" disk,2\n", "a,b|5\" disk,2", "2"},
    {"newline in quotes", "a,b\n\"1\n2\",3\n4,5\n", "a,b|1\n2,3|4,5", "2 4"},
    {"CRLF in quotes", "a,b\r\n\"1\r\n2\",3\r\n4,5\r\n", "a,b|1\r\n2,3|4,5", "2 4"},
    {"newline in a quoted name", "\"a\nb\",c\n1,2\n", "a\nb,c|1,2", "3"},
    {"quote at the end of the text", "a,b\n1,\"2\"", "a,b|1,2", "2"},
    {"comments and blank lines", "# of\n\n#more\na,b\n\n# here\n1,2\r\n\r\n#x\r\n3,4\n#end", "a,b|1,2|3,4", "7 10"},
    {"no comment inside a line", "a,b\n1,#2\n\"#3\",4\n", "a,b|1,#2|#3,4", "2 3"},
    {"no comment inside quotes", "a,b\n\"1\n#2\n\n\",3\n", "a,b|1\n#2\n\n,3", "2"},
    {"short rows", "a,b,c\n1\n2,3\n", "a,b,c|1,,|2,3,", "2 3"},
    {"cells left empty", "a,b,c\n,,\n1,,3\n", "a,b,c|,,|1,,3", "2 3"},
    {"spaces stay", "a,b\n 1 ,\t2\n", "a,b| 1 ,\t2", "2"},
    {"mark of byte order",
     "\xEF\xBB\xBF"
     "a,b\n1,2\n",
     "a,b|1,2", "2"},
};

static void append(char *out, size_t size, const char *text)
{
    size_t used = strlen(out);
    assert_true(used + strlen(text) < size);
    snprintf(out + used, size - used, "%s", text);
}

static void reads(void **state)
{
    const good_row *row = *state;
    lcp_csv csv;
    lcp_error err = {0};
    char cells[256] = "";
    char lines[64] = "";
    if (lcp_csv_read(&csv, table_of("good", row->text), &err) != LCP_OK) {
        fail_msg("%s: %s", err.where, err.text);
    }
    for (size_t i = 0; i <= csv.row_count; i++) {
        append(cells, sizeof cells, i > 0 ? "|" : "");
        for (size_t c = 0; c < csv.column_count; c++) {
            append(cells, sizeof cells, c > 0 ? "," : "");
            append(cells, sizeof cells, csv.cells[i * csv.column_count + c]);
        }
    }
    for (size_t i = 0; i < csv.row_count; i++) {
        char number[24];
        snprintf(number, sizeof number, "%s%zu", i > 0 ? " " : "", csv.lines[i]);
        append(lines, sizeof lines, number);
    }
    lcp_csv_dispose(&csv);
    assert_string_equal(cells, row->cells);
    assert_string_equal(lines, row->lines);
}

typedef struct bad_row {
    const char *name, *text, *message;
} bad_row;

static const bad_row bad_rows[] = {
    {"empty", "", "found no header, expected the names of the columns"},
    {"comments alone", "# a\n\n# b\n", "found no header, expected the names of the columns"},
    {"too many cells", "a,b\n1,2\n\n3,4,5\n", "line 4: found more than the 2 cells of the header"},
    {"an empty cell too many", "a,b\n1,2,\n", "line 2: found more than the 2 cells of the header"},
    {"too many after a newline in quotes", "a\n\"1\n2\",3\n", "line 2: found more than the 1 cells of the header"},
    {"a quote that does not end", "a,b\n1,2\n3,\"4\n5,6\n", "line 3: found a quote that does not end"},
    {"a quote that ends in a doubled one", "a\n\"1\"\"", "line 2: found a quote that does not end"},
    {"a quote open in the header", "a,\"b\n", "line 1: found a quote that does not end"},
    {"text after a quote", "a,b\n1,2\n\"3\"4,5\n", "line 3: found text after a closing quote"},
    {"space after a quote", "a,b\n\"3\" ,5\n", "line 2: found text after a closing quote"},
    {"text after a quote of two lines", "a,b\n\"1\n2\"x,5\n", "line 3: found text after a closing quote"},
    {"carriage return in a cell", "a,b\n1\r2,3\n", "line 2: found a carriage return inside a line"},
    {"carriage returns alone", "a,b\r1,2\r", "line 1: found a carriage return inside a line"},
    {"carriage return after a quote", "a,b\n\"1\"\r2,3\n", "line 2: found a carriage return inside a line"},
    {"column twice", "# c\na,b,a\n", "column \"a\" is named twice"},
    {"column twice, once quoted", "a,\"a\"\n", "column \"a\" is named twice"},
    {"column without a name", "a,,b\n1,2,3\n", "column 2 has no name"},
    {"a comma too many in the header", "a,b,\n1,2\n", "column 3 has no name"},
};

static void refuses(void **state)
{
    const bad_row *row = *state;
    lcp_csv csv;
    lcp_error err = {0};
    const char *path = table_of("bad", row->text);
    assert_int_equal(lcp_csv_read(&csv, path, &err), LCP_INPUT);
    assert_string_equal(err.where, path);
    assert_string_equal(err.text, row->message);
    assert_null(csv.cells);
    assert_null(csv.bytes);
}

static void nul_byte(void **state)
{
    (void)state;
    static const char bytes[] = "a,b\n1,\0002\n";
    lcp_csv csv;
    lcp_error err = {0};
    assert_int_equal(lcp_csv_read(&csv, table_file("nul", bytes, sizeof bytes - 1), &err), LCP_INPUT);
    assert_string_equal(err.text, "found a NUL byte, expected text");
}

static void too_many_columns(void **state)
{
    (void)state;
    char *text = malloc((LCP_CSV_MAX_COLUMNS + 1) * 8);
    assert_non_null(text);
    size_t used = 0;
    for (int c = 0; c <= LCP_CSV_MAX_COLUMNS; c++) {
        used += (size_t)snprintf(text + used, 8, "%sc%d", c > 0 ? "," : "", c);
    }
    lcp_csv csv;
    lcp_error err = {0};
    assert_int_equal(lcp_csv_read(&csv, table_file("wide", text, used), &err), LCP_INPUT);
    assert_string_equal(err.text, "line 1: found more than 512 columns");
    /* One less is read. */
    *strrchr(text, ',') = '\0';
    err = (lcp_error){0};
    assert_int_equal(lcp_csv_read(&csv, table_of("wide", text), &err), LCP_OK);
    assert_int_equal(csv.column_count, LCP_CSV_MAX_COLUMNS);
    lcp_csv_dispose(&csv);
    free(text);
}

static void many_rows(void **state)
{
    (void)state;
    enum { ROWS = 5000 };
    char *text = malloc(ROWS * 16);
    assert_non_null(text);
    size_t used = (size_t)snprintf(text, 16, "a,b\n");
    for (int i = 0; i < ROWS; i++) {
        used += (size_t)snprintf(text + used, 16, "%d,\"x%d\"\n", i, i % 7);
    }
    lcp_csv csv;
    assert_int_equal(lcp_csv_read(&csv, table_file("many", text, used), NULL), LCP_OK);
    assert_int_equal(csv.row_count, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        char want[16];
        snprintf(want, sizeof want, "%zu", i);
        assert_string_equal(lcp_csv_cell(&csv, i, 0), want);
        snprintf(want, sizeof want, "x%zu", i % 7);
        assert_string_equal(lcp_csv_cell(&csv, i, 1), want);
        assert_int_equal(csv.lines[i], i + 2);
    }
    lcp_csv_dispose(&csv);
    free(text);
}

static void columns_by_name(void **state)
{
    (void)state;
    lcp_csv csv;
    assert_int_equal(lcp_csv_read(&csv, table_of("names", "a,b c,A\n1,2,3\n"), NULL), LCP_OK);
    assert_int_equal(lcp_csv_column(&csv, "a"), 0);
    assert_int_equal(lcp_csv_column(&csv, "b c"), 1);
    assert_int_equal(lcp_csv_column(&csv, "A"), 2);
    assert_int_equal(lcp_csv_column(&csv, "b"), -1);
    assert_string_equal(lcp_csv_cell(&csv, 0, lcp_csv_column(&csv, "A")), "3");
    assert_string_equal(lcp_csv_cell(&csv, 0, -1), "");
    lcp_csv_dispose(&csv);
    lcp_csv_dispose(&csv); /* of nothing */
}

static void missing_file(void **state)
{
    (void)state;
    lcp_csv csv;
    lcp_error err = {0};
    assert_int_equal(lcp_csv_read(&csv, "no-such-table.csv", &err), LCP_IO);
    assert_string_equal(err.where, "no-such-table.csv");
    lcp_csv_dispose(&csv);
}

static void standard_input(void **state)
{
    (void)state;
    int saved = dup(STDIN_FILENO);
    assert_non_null(freopen(table_of("stdin", "a,b\n\"1\n\",2\n3,4,5\n"), "rb", stdin));
    lcp_csv csv;
    lcp_error err = {0};
    assert_int_equal(lcp_csv_read(&csv, "-", &err), LCP_INPUT);
    assert_string_equal(err.where, "-");
    assert_string_equal(err.text, "line 4: found more than the 2 cells of the header");
    assert_true(dup2(saved, STDIN_FILENO) >= 0);
    assert_int_equal(close(saved), 0);
}

static int tidy(void **state)
{
    (void)state;
    table_remove();
    return 0;
}

#define GOOD (sizeof good_rows / sizeof good_rows[0])
#define BAD (sizeof bad_rows / sizeof bad_rows[0])

int main(void)
{
    const struct CMUnitTest plain[] = {
        cmocka_unit_test_teardown(nul_byte, tidy),     cmocka_unit_test_teardown(too_many_columns, tidy),
        cmocka_unit_test_teardown(many_rows, tidy),    cmocka_unit_test_teardown(columns_by_name, tidy),
        cmocka_unit_test_teardown(missing_file, tidy), cmocka_unit_test_teardown(standard_input, tidy),
    };
    const size_t plain_count = sizeof plain / sizeof plain[0];
    struct CMUnitTest tests[sizeof plain / sizeof plain[0] + GOOD + BAD];
    memcpy(tests, plain, sizeof plain);
    for (size_t i = 0; i < GOOD; i++) {
        tests[plain_count + i] =
            (struct CMUnitTest){good_rows[i].name, reads, NULL, tidy, (void *)(uintptr_t)&good_rows[i]};
    }
    for (size_t i = 0; i < BAD; i++) {
        tests[plain_count + GOOD + i] =
            (struct CMUnitTest){bad_rows[i].name, refuses, NULL, tidy, (void *)(uintptr_t)&bad_rows[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
