#include "json_reader.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WORDS_SIZE 160

lcp_json_cursor lcp_json_root(const char *file, json_t *root)
{
    return (lcp_json_cursor){.file = file, .value = root};
}

lcp_json_cursor lcp_json_element(const lcp_json_cursor *array, size_t index)
{
    return (lcp_json_cursor){
        .file = array->file, .parent = array, .index = index, .value = json_array_get(array->value, index)};
}

static lcp_json_cursor member(const lcp_json_cursor *object, const char *key)
{
    return (lcp_json_cursor){
        .file = object->file, .parent = object, .key = key, .value = json_object_get(object->value, key)};
}

static bool is_plain_key(const char *key)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    bool starts_plain = key[0] != '\0' && !(key[0] >= '0' && key[0] <= '9');
    return starts_plain && strspn(key, plain) == strlen(key);
}

static size_t append_path(const lcp_json_cursor *at, char *buffer, size_t size)
{
    if (at->parent == NULL) {
        snprintf(buffer, size, "$");
        return strlen(buffer);
    }
    size_t used = append_path(at->parent, buffer, size);
    if (at->key == NULL) {
        snprintf(buffer + used, size - used, "[%zu]", at->index);
    } else if (is_plain_key(at->key)) {
        snprintf(buffer + used, size - used, ".%s", at->key);
    } else {
        snprintf(buffer + used, size - used, "[\"%s\"]", at->key);
    }
    return used + strlen(buffer + used);
}

void lcp_json_path(const lcp_json_cursor *at, char *buffer, size_t size)
{
    append_path(at, buffer, size);
}

static void place_of(const lcp_json_cursor *at, const char *key, char *where, size_t size)
{
    char path[384];
    lcp_json_cursor child = key != NULL ? member(at, key) : *at;
    lcp_json_path(&child, path, sizeof path);
    snprintf(where, size, "%s: %s", at->file, path);
}

lcp_status lcp_json_fail(const lcp_json_cursor *at, const char *key, lcp_error *err, const char *format, ...)
{
    char where[512];
    char words[1024];
    va_list arguments;
    place_of(at, key, where, sizeof where);
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    return lcp_fail(err, LCP_INPUT, where, "%s", words);
}

/* What stands there, in a few words. */
static void describe(const json_t *value, char *words, size_t size)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        snprintf(words, size, "an object of %zu keys", json_object_size(value));
        return;
    case JSON_ARRAY:
        snprintf(words, size, "an array of %zu elements", json_array_size(value));
        return;
    case JSON_STRING:
        snprintf(words, size, json_string_length(value) > 60 ? "\"%.60s...\"" : "\"%.60s\"", json_string_value(value));
        return;
    case JSON_INTEGER:
        snprintf(words, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return;
    case JSON_REAL:
        snprintf(words, size, "%.17g", json_real_value(value));
        return;
    case JSON_TRUE:
    case JSON_FALSE:
        snprintf(words, size, json_is_true(value) ? "true" : "false");
        return;
    case JSON_NULL:
        break;
    }
    snprintf(words, size, "null");
}

/* The one message of every typed getter; a NULL value is a missing key. */
static lcp_status mismatch(const lcp_json_cursor *at, const char *expected, lcp_error *err)
{
    char found[WORDS_SIZE];
    if (at->value == NULL) {
        return lcp_json_fail(at, NULL, err, "missing, expected %s", expected);
    }
    describe(at->value, found, sizeof found);
    return lcp_json_fail(at, NULL, err, "found %s, expected %s", found, expected);
}

lcp_status lcp_json_expect_object(const lcp_json_cursor *at, lcp_error *err)
{
    return json_is_object(at->value) ? LCP_OK : mismatch(at, "an object", err);
}

/* Finds object.key, which may be missing (value NULL); fails if `object` is no object. */
static lcp_status find(lcp_json_cursor *out, const lcp_json_cursor *object, const char *key, lcp_error *err)
{
    *out = member(object, key);
    return lcp_json_expect_object(object, err);
}

bool lcp_json_has(const lcp_json_cursor *object, const char *key)
{
    const json_t *value = json_object_get(object->value, key);
    return value != NULL && !json_is_null(value);
}

static void describe_int_range(char *words, size_t size, int64_t lo, int64_t hi)
{
    if (hi == INT64_MAX && lo == INT64_MIN) {
        snprintf(words, size, "an integer");
    } else if (hi == INT64_MAX) {
        snprintf(words, size, "an integer of at least %lld", (long long)lo);
    } else {
        snprintf(words, size, "an integer in [%lld, %lld]", (long long)lo, (long long)hi);
    }
}

static void describe_real_range(char *words, size_t size, double lo, double hi)
{
    bool positive = lo > 0 && lo <= DBL_MIN;
    if (hi < DBL_MAX) {
        snprintf(words, size, positive ? "a number in (%.9g, %.9g]" : "a number in [%.9g, %.9g]", positive ? 0.0 : lo,
                 hi);
    } else if (lo > -DBL_MAX) {
        snprintf(words, size, positive ? "a number above %.9g" : "a number of at least %.9g", positive ? 0.0 : lo);
    } else {
        snprintf(words, size, "a number");
    }
}

/* 1e9 is an integer, 1.5 and 1e19 are not. */
static bool integral_value(int64_t *out, const json_t *value)
{
    if (json_is_integer(value)) {
        *out = json_integer_value(value);
        return true;
    }
    double real = json_real_value(value);
    if (!json_is_real(value) || !(fabs(real) < 0x1p63) || trunc(real) < real || trunc(real) > real) {
        return false;
    }
    *out = (int64_t)real;
    return true;
}

static lcp_status read_int(int64_t *out, const lcp_json_cursor *at, int64_t lo, int64_t hi, lcp_error *err)
{
    int64_t value = 0;
    if (!integral_value(&value, at->value) || value < lo || value > hi) {
        char expected[WORDS_SIZE];
        describe_int_range(expected, sizeof expected, lo, hi);
        return mismatch(at, expected, err);
    }
    *out = value;
    return LCP_OK;
}

static lcp_status read_real(double *out, const lcp_json_cursor *at, double lo, double hi, lcp_error *err)
{
    /* The sum turns -0 into 0. */
    double value = json_number_value(at->value) + 0.0;
    if (!json_is_number(at->value) || !(value >= lo && value <= hi)) {
        char expected[WORDS_SIZE];
        describe_real_range(expected, sizeof expected, lo, hi);
        return mismatch(at, expected, err);
    }
    *out = value;
    return LCP_OK;
}

static bool has_control_character(const char *string)
{
    for (const char *c = string; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            return true;
        }
    }
    return false;
}

static lcp_status read_string(const char **out, const lcp_json_cursor *at, size_t max_bytes, lcp_error *err)
{
    const char *string = json_string_value(at->value);
    size_t length = json_string_length(at->value);
    if (string == NULL) {
        return mismatch(at, "a string", err);
    }
    if (length != strlen(string) || has_control_character(string)) {
        return lcp_json_fail(at, NULL, err, "found a control character, expected printable text");
    }
    if (length > max_bytes) {
        return lcp_json_fail(at, NULL, err, "found a string of %zu bytes, expected at most %zu", length, max_bytes);
    }
    *out = string;
    return LCP_OK;
}

lcp_status lcp_json_int(int64_t *out, const lcp_json_cursor *object, const char *key, int64_t lo, int64_t hi,
                        lcp_error *err)
{
    lcp_json_cursor at;
    lcp_status status = find(&at, object, key, err);
    return status != LCP_OK ? status : read_int(out, &at, lo, hi, err);
}

lcp_status lcp_json_int32(int32_t *out, const lcp_json_cursor *object, const char *key, int32_t lo, int32_t hi,
                          lcp_error *err)
{
    int64_t wide = 0;
    lcp_status status = lcp_json_int(&wide, object, key, lo, hi, err);
    if (status == LCP_OK) {
        *out = (int32_t)wide;
    }
    return status;
}

lcp_status lcp_json_real(double *out, const lcp_json_cursor *object, const char *key, double lo, double hi,
                         lcp_error *err)
{
    lcp_json_cursor at;
    lcp_status status = find(&at, object, key, err);
    return status != LCP_OK ? status : read_real(out, &at, lo, hi, err);
}

lcp_status lcp_json_bool(bool *out, const lcp_json_cursor *object, const char *key, lcp_error *err)
{
    lcp_json_cursor at;
    lcp_status status = find(&at, object, key, err);
    if (status == LCP_OK && !json_is_boolean(at.value)) {
        status = mismatch(&at, "true or false", err);
    }
    if (status == LCP_OK) {
        *out = json_is_true(at.value);
    }
    return status;
}

lcp_status lcp_json_string(char *out, size_t size, const lcp_json_cursor *object, const char *key, lcp_error *err)
{
    lcp_json_cursor at;
    const char *string = NULL;
    lcp_status status = find(&at, object, key, err);
    if (status == LCP_OK) {
        status = read_string(&string, &at, size - 1, err);
    }
    if (status == LCP_OK) {
        snprintf(out, size, "%s", string);
    }
    return status;
}

lcp_status lcp_json_object(lcp_json_cursor *out, const lcp_json_cursor *object, const char *key, lcp_error *err)
{
    lcp_status status = find(out, object, key, err);
    if (status == LCP_OK && !json_is_object(out->value)) {
        status = mismatch(out, "an object", err);
    }
    return status;
}

lcp_status lcp_json_array(lcp_json_cursor *out, const lcp_json_cursor *object, const char *key, size_t min_count,
                          size_t max_count, lcp_error *err)
{
    lcp_status status = find(out, object, key, err);
    size_t count = status == LCP_OK ? json_array_size(out->value) : 0;
    if (status == LCP_OK && (!json_is_array(out->value) || count < min_count || count > max_count)) {
        char expected[WORDS_SIZE];
        snprintf(expected, sizeof expected, "an array of %zu to %zu elements", min_count, max_count);
        status = mismatch(out, expected, err);
    }
    return status;
}

lcp_status lcp_json_int_or(int64_t *out, int64_t preset, const lcp_json_cursor *object, const char *key, int64_t lo,
                           int64_t hi, lcp_error *err)
{
    *out = preset;
    return lcp_json_has(object, key) ? lcp_json_int(out, object, key, lo, hi, err) : LCP_OK;
}

lcp_status lcp_json_real_or(double *out, double preset, const lcp_json_cursor *object, const char *key, double lo,
                            double hi, lcp_error *err)
{
    *out = preset;
    return lcp_json_has(object, key) ? lcp_json_real(out, object, key, lo, hi, err) : LCP_OK;
}

lcp_status lcp_json_bool_or(bool *out, bool preset, const lcp_json_cursor *object, const char *key, lcp_error *err)
{
    *out = preset;
    return lcp_json_has(object, key) ? lcp_json_bool(out, object, key, err) : LCP_OK;
}

lcp_status lcp_json_element_int(int64_t *out, const lcp_json_cursor *array, size_t index, int64_t lo, int64_t hi,
                                lcp_error *err)
{
    lcp_json_cursor at = lcp_json_element(array, index);
    return read_int(out, &at, lo, hi, err);
}

lcp_status lcp_json_element_real(double *out, const lcp_json_cursor *array, size_t index, double lo, double hi,
                                 lcp_error *err)
{
    lcp_json_cursor at = lcp_json_element(array, index);
    return read_real(out, &at, lo, hi, err);
}

lcp_status lcp_json_element_string(const char **out, const lcp_json_cursor *array, size_t index, lcp_error *err)
{
    lcp_json_cursor at = lcp_json_element(array, index);
    return read_string(out, &at, SIZE_MAX, err);
}
