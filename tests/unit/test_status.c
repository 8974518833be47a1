#include "support.h"

#include "lcp/status.h"

static void first_error_wins(void **state)
{
    (void)state;
    lcp_error err = {0};
    assert_int_equal(lcp_fail(&err, LCP_INPUT, "a.json: $.x", "found %d", 7), LCP_INPUT);
    assert_int_equal(lcp_fail(&err, LCP_IO, "b", "later"), LCP_IO);
    assert_int_equal(err.status, LCP_INPUT);
    assert_string_equal(err.where, "a.json: $.x");
    assert_string_equal(err.text, "found 7");
}

static void null_error_is_allowed(void **state)
{
    (void)state;
    assert_int_equal(lcp_fail(NULL, LCP_NOMEM, NULL, "x"), LCP_NOMEM);
}

static void every_status_has_a_text(void **state)
{
    (void)state;
    for (int status = LCP_OK; status <= LCP_INTERNAL; status++) {
        assert_string_not_equal(lcp_status_text((lcp_status)status), "unknown status");
    }
    assert_string_equal(lcp_status_text((lcp_status)99), "unknown status");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_error_wins),
        cmocka_unit_test(null_error_is_allowed),
        cmocka_unit_test(every_status_has_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
