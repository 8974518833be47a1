#include "support.h"

#include "export/text.h"

#include <stdlib.h>

static void text_is_quoted(void **state)
{
    (void)state;
    static const struct {
        const char *word, *shell, *quoted;
    } rows[] = {
        {"plain-1.0", "plain-1.0", "\"plain-1.0\""},
        {"", "''", "\"\""},
        {"Et*2|t*2L", "'Et*2|t*2L'", "\"Et*2|t*2L\""},
        {"it's", "'it'\\''s'", "\"it's\""},
        {"a\"b\\c\n", "'a\"b\\c\n'", "\"a\\\"b\\\\c\\u000a\""},
        {"$(x) `y`", "'$(x) `y`'", "\"$(x) `y`\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lcp_text shell = {0};
        lcp_text quoted = {0};
        lcp_text_shell(&shell, rows[i].word);
        lcp_text_quoted(&quoted, rows[i].word);
        assert_string_equal(shell.bytes, rows[i].shell);
        assert_string_equal(quoted.bytes, rows[i].quoted);
        free(shell.bytes);
        free(quoted.bytes);
    }
}

/* What was put is one text, however long, and memory that ran out stays out. */
static void text_grows(void **state)
{
    (void)state;
    lcp_text text = {0};
    for (int i = 0; i < 10000; i++) {
        lcp_text_put(&text, "%d,", i % 10);
    }
    assert_int_equal(text.size, 20000);
    assert_int_equal(text.bytes[19998], '9');
    assert_int_equal(text.bytes[20000], '\0');
    free(text.bytes);
    lcp_text full = {.failed = true};
    lcp_text_put(&full, "x");
    lcp_text_shell(&full, "a b");
    assert_null(full.bytes);
    assert_int_equal(full.size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_quoted),
        cmocka_unit_test(text_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
