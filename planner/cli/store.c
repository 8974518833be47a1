#include "cli/options.h"

#include <stdlib.h>
#include <string.h>

lcp_status lcp_store_on(void *field, const lcp_option *option, const char *value, lcp_error *err)
{
    (void)option, (void)value, (void)err;
    *(bool *)field = true;
    return LCP_OK;
}

lcp_status lcp_store_off(void *field, const lcp_option *option, const char *value, lcp_error *err)
{
    (void)option, (void)value, (void)err;
    *(bool *)field = false;
    return LCP_OK;
}

static lcp_status wrong_value(const lcp_option *option, const char *expected, const char *value, lcp_error *err)
{
    return lcp_fail(err, LCP_USAGE, "", "--%s: found '%s', expected %s", option->name, value, expected);
}

lcp_status lcp_store_text(void *field, const lcp_option *option, const char *value, lcp_error *err)
{
    if (value[0] == '\0') {
        return wrong_value(option, option->argument, value, err);
    }
    *(const char **)field = value;
    return LCP_OK;
}

bool lcp_parse_integer(int64_t *out, const char *text)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 18) {
        return false;
    }
    int64_t value = strtoll(text, NULL, 10);
    const char *suffix = text + digits;
    int64_t unit = *suffix == 'K' ? 1024 : *suffix == 'M' ? 1024 * 1024 : 1;
    suffix += unit > 1;
    if (*suffix != '\0' || value > INT64_MAX / unit) {
        return false;
    }
    *out = value * unit;
    return true;
}

lcp_status lcp_store_int64(void *field, const lcp_option *option, const char *value, lcp_error *err)
{
    int64_t number = 0;
    if (!lcp_parse_integer(&number, value) || !((double)number >= option->low && (double)number <= option->high)) {
        char expected[96];
        snprintf(expected, sizeof expected, "an integer from %.0f to %.0f", option->low, option->high);
        return wrong_value(option, expected, value, err);
    }
    *(int64_t *)field = number;
    return LCP_OK;
}

lcp_status lcp_store_int32(void *field, const lcp_option *option, const char *value, lcp_error *err)
{
    int64_t number = 0;
    lcp_status status = lcp_store_int64(&number, option, value, err);
    if (status == LCP_OK) {
        *(int32_t *)field = (int32_t)number;
    }
    return status;
}

lcp_status lcp_store_real(void *field, const lcp_option *option, const char *value, lcp_error *err)
{
    char *end = NULL;
    double number = strtod(value, &end);
    bool plain = value[0] != '\0' && strspn(value, "0123456789.eE+-") == strlen(value) && *end == '\0';
    if (!plain || !(number >= option->low && number <= option->high)) {
        char expected[96];
        snprintf(expected, sizeof expected, "a number from %g to %g", option->low, option->high);
        return wrong_value(option, expected, value, err);
    }
    *(double *)field = number;
    return LCP_OK;
}

lcp_status lcp_store_choice(void *field, const lcp_option *option, const char *value, lcp_error *err)
{
    char expected[256] = "";
    for (int i = 0; option->choices[i] != NULL; i++) {
        if (strcmp(option->choices[i], value) == 0) {
            *(int *)field = i; /* every enum of ours is as wide as int */
            return LCP_OK;
        }
        size_t used = strlen(expected);
        snprintf(expected + used, sizeof expected - used, "%s%s", i > 0 ? ", " : "", option->choices[i]);
    }
    return wrong_value(option, expected, value, err);
}
