#define _POSIX_C_SOURCE 200809L

#include "json_case.h"

#include "output/plan_json.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "t_write_file"

static int make_folder(void **state)
{
    (void)state;
    return mkdir(FOLDER, 0700);
}

static int remove_folder(void **state)
{
    (void)state;
    remove(FOLDER "/plan.json");
    return rmdir(FOLDER);
}

static int files_in_folder(void)
{
    DIR *folder = opendir(FOLDER);
    assert_non_null(folder);
    int count = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        count += entry->d_name[0] != '.';
    }
    closedir(folder);
    return count;
}

static void assert_content(const char *path, const char *expected)
{
    char content[256] = "";
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(content, 1, sizeof content - 1, file);
    fclose(file);
    assert_int_equal(size, strlen(expected));
    assert_string_equal(content, expected);
}

static void files_are_replaced_whole(void **state)
{
    (void)state;
    assert_int_equal(lcp_write_file(FOLDER "/plan.json", "first", 5, NULL), LCP_OK);
    assert_content(FOLDER "/plan.json", "first");
    assert_int_equal(lcp_write_file(FOLDER "/plan.json", "2nd", 3, NULL), LCP_OK);
    assert_content(FOLDER "/plan.json", "2nd");
    assert_int_equal(lcp_write_file(FOLDER "/plan.json", "", 0, NULL), LCP_OK);
    assert_content(FOLDER "/plan.json", "");
    assert_int_equal(files_in_folder(), 1);
}

/* A limit on the size of files stands for a full disk: the write in the middle fails, the old file stays. */
static void a_failed_write_leaves_the_old_file(void **state)
{
    (void)state;
    struct rlimit old;
    lcp_error err = {0};
    char *big = calloc(1, 100000);
    assert_non_null(big);
    assert_int_equal(lcp_write_file(FOLDER "/plan.json", "kept", 4, NULL), LCP_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    struct rlimit small = {.rlim_cur = 4096, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    lcp_status status = lcp_write_file(FOLDER "/plan.json", big, 100000, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, LCP_IO);
    assert_string_equal(err.where, FOLDER "/plan.json");
    assert_string_equal(err.text, "cannot write: File too large");
    assert_content(FOLDER "/plan.json", "kept");
    assert_int_equal(files_in_folder(), 1);
    free(big);
}

static void places_that_cannot_be_written_say_why(void **state)
{
    (void)state;
    static const struct {
        const char *path, *text;
    } rows[] = {
        {"/dev/full", "cannot write: No space left on device"},
        {"no/such/folder/plan.json", "cannot create a temporary file beside it: No such file or directory"},
        {FOLDER, "cannot replace: Is a directory"},
        {"support.c/plan.json", "cannot create a temporary file beside it: Not a directory"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lcp_error err = {0};
        assert_int_equal(lcp_write_file(rows[i].path, "x", 1, &err), LCP_IO);
        assert_string_equal(err.where, rows[i].path);
        assert_string_equal(err.text, rows[i].text);
    }
    assert_int_equal(access("t_write_file.tmp", F_OK), -1);
}

/* Permissions do not bind the superuser, who becomes nobody for a moment. */
static void read_only_folders_are_refused(void **state)
{
    (void)state;
    lcp_error err = {0};
    bool superuser = geteuid() == 0;
    assert_int_equal(chmod(FOLDER, 0500), 0);
    if (superuser && seteuid(65534) != 0) {
        skip();
    }
    lcp_status status = lcp_write_file(FOLDER "/new.json", "x", 1, &err);
    if (superuser) {
        assert_int_equal(seteuid(0), 0);
    }
    assert_int_equal(chmod(FOLDER, 0700), 0);
    assert_int_equal(status, LCP_IO);
    assert_string_equal(err.text, "cannot create a temporary file beside it: Permission denied");
}

static void devices_are_written_in_place(void **state)
{
    (void)state;
    assert_int_equal(lcp_write_file("/dev/null", "x", 1, NULL), LCP_OK);
    struct stat info;
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

static void assert_text(json_t *document, const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(lcp_json_text(&text, &size, document, NULL), LCP_OK);
    assert_string_equal(text, expected);
    assert_int_equal(size, strlen(expected));
    free(text);
    json_decref(document);
}

static void numbers_are_shortest(void **state)
{
    (void)state;
    json_t *array = json_array();
    static const double numbers[] = {0.1, 1.0 / 3, 1e16, 2.5e15, 1e300, 5e-324, 0.1 + 0.2, -2.5, 100, 1e20};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        assert_int_equal(json_array_append_new(array, json_real(numbers[i])), 0);
    }
    assert_int_equal(json_array_append_new(array, json_integer(INT64_MAX)), 0);
    assert_text(array, "[\n 0.1, 0.3333333333333333, 1e+16, 2.5e+15, 1e+300, 4.94065645841247e-324, "
                       "0.30000000000000004, -2.5, 100, 1e+20,\n 9223372036854775807\n]\n");
}

static void small_things_share_a_line(void **state)
{
    (void)state;
    assert_text(json_of("{'a': [1, 2], 'b': {'c': null, 'd': [true, false]}}"),
                "{\"a\": [1, 2], \"b\": {\"c\": null, \"d\": [true, false]}}\n");
    assert_text(json_of("{}"), "{}\n");
    assert_text(json_of("{'a\\u0001\\\\': 'x\\ty'}"), "{\"a\\u0001\\\\\": \"x\\u0009y\"}\n");
}

static void long_lists_fill_their_lines(void **state)
{
    (void)state;
    json_t *ops = json_array();
    for (int i = 0; i < 20; i++) {
        json_t *op = json_array();
        assert_int_equal(json_array_append_new(op, json_string("F")), 0);
        assert_int_equal(json_array_append_new(op, json_integer(i)), 0);
        assert_int_equal(json_array_append_new(ops, op), 0);
    }
    json_t *root = json_object();
    assert_int_equal(json_object_set_new(root, "ops", ops), 0);
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(lcp_json_text(&text, &size, root, NULL), LCP_OK);
    assert_true(strncmp(text, "{\n \"ops\": [\n  [\"F\", 0], [\"F\", 1], ", 34) == 0);
    int lines = 0;
    for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
        assert_true(strchr(line, '\n') - line <= 120);
        lines++;
    }
    assert_int_equal(lines, 6);
    json_t *again = NULL;
    assert_int_equal(lcp_json_load_bytes(&again, text, size, "t", NULL), LCP_OK);
    assert_true(json_equal(root, again));
    json_decref(again);
    json_decref(root);
    free(text);
}

static void no_document_is_no_memory(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(lcp_json_text(&text, &size, NULL, NULL), LCP_NOMEM);
    assert_null(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_are_replaced_whole, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_failed_write_leaves_the_old_file, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(places_that_cannot_be_written_say_why, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(read_only_folders_are_refused, make_folder, remove_folder),
        cmocka_unit_test(devices_are_written_in_place),
        cmocka_unit_test(numbers_are_shortest),
        cmocka_unit_test(small_things_share_a_line),
        cmocka_unit_test(long_lists_fill_their_lines),
        cmocka_unit_test(no_document_is_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
