#include "lengths.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BINS 100000

void lcp_lengths_dispose(lcp_lengths *lengths)
{
    free(lengths->bins);
    free(lengths->points);
    free(lengths->values);
    free(lengths->sorted);
    *lengths = (lcp_lengths){0};
}

static lcp_status out_of_memory(const lcp_json_cursor *at, size_t count, lcp_error *err)
{
    return lcp_fail(err, LCP_NOMEM, at->file, "no memory for %zu lengths", count);
}

static lcp_status read_values(lcp_lengths *out, const lcp_json_cursor *at, const char *base_directory, lcp_error *err)
{
    static const char *const allowed[] = {"values", NULL};
    lcp_json_cursor array;
    (void)base_directory;
    lcp_status status = lcp_json_only_keys(at, allowed, err);
    if (status == LCP_OK) {
        status = lcp_json_array(&array, at, "values", 1, LCP_MAX_SEQUENCES, err);
    }
    if (status != LCP_OK) {
        return status;
    }
    out->in_order = true;
    out->count = json_array_size(array.value);
    out->values = malloc(out->count * sizeof *out->values);
    if (out->values == NULL) {
        return out_of_memory(at, out->count, err);
    }
    for (size_t i = 0; status == LCP_OK && i < out->count; i++) {
        status = lcp_json_element_int(&out->values[i], &array, i, 1, LCP_MAX_LENGTH_TOKENS, err);
    }
    return status;
}

static lcp_status read_bin(lcp_length_bin *out, int64_t first_tokens, const lcp_json_cursor *at, lcp_error *err)
{
    static const char *const allowed[] = {"up_to_tokens", "share", NULL};
    out->first_tokens = first_tokens;
    lcp_status status = lcp_json_int(&out->last_tokens, at, "up_to_tokens", first_tokens, LCP_MAX_LENGTH_TOKENS, err);
    if (status == LCP_OK) {
        status = lcp_json_real(&out->share, at, "share", 0, 1e15, err);
    }
    return status != LCP_OK ? status : lcp_json_only_keys(at, allowed, err);
}

static void normalise(lcp_lengths *out, double sum)
{
    double below = 0;
    for (size_t i = 0; i < out->count; i++) {
        out->bins[i].share_below = below / sum;
        below += out->bins[i].share;
        out->bins[i].share /= sum;
    }
}

static lcp_status read_histogram(lcp_lengths *out, const lcp_json_cursor *at, const char *base_directory,
                                 lcp_error *err)
{
    static const char *const allowed[] = {"histogram", NULL};
    lcp_json_cursor array;
    double sum = 0;
    (void)base_directory;
    lcp_status status = lcp_json_only_keys(at, allowed, err);
    if (status == LCP_OK) {
        status = lcp_json_array(&array, at, "histogram", 1, MAX_BINS, err);
    }
    if (status != LCP_OK) {
        return status;
    }
    out->count = json_array_size(array.value);
    out->bins = calloc(out->count, sizeof *out->bins);
    if (out->bins == NULL) {
        return out_of_memory(at, out->count, err);
    }
    for (size_t i = 0; status == LCP_OK && i < out->count; i++) {
        lcp_json_cursor bin = lcp_json_element(&array, i);
        status = read_bin(&out->bins[i], i > 0 ? out->bins[i - 1].last_tokens + 1 : 1, &bin, err);
        sum += out->bins[i].share;
    }
    if (status == LCP_OK && !(sum > 0)) {
        status = lcp_json_fail(at, "histogram", err, "found shares that sum to 0, expected a sum above 0");
    }
    if (status == LCP_OK) {
        normalise(out, sum);
    }
    return status;
}

static int by_ratio(const void *a, const void *b)
{
    double x = ((const lcp_length_point *)a)->ratio;
    double y = ((const lcp_length_point *)b)->ratio;
    return (x > y) - (x < y);
}

/* A key such as "99.9". */
static lcp_status read_percentile(lcp_length_point *out, const lcp_json_cursor *object, const char *key, lcp_error *err)
{
    size_t digits = strspn(key, "0123456789");
    size_t rest = key[digits] == '.' ? 1 + strspn(key + digits + 1, "0123456789") : 0;
    double percent = 0;
    /* Assembled digit by digit: strtod would follow the locale. */
    double scale = 1;
    for (const char *c = key; *c != '\0'; c++) {
        percent = *c == '.' ? percent : percent * 10 + (*c - '0');
        scale *= c > key + digits ? 10 : 1;
    }
    out->ratio = percent / scale / 100;
    if (digits == 0 || digits + rest != strlen(key) || strlen(key) > 12 || !(out->ratio <= 1)) {
        return lcp_json_fail(object, key, err, "unknown key, expected a percentile from \"0\" to \"100\"");
    }
    return lcp_json_int(&out->tokens, object, key, 1, LCP_MAX_LENGTH_TOKENS, err);
}

static lcp_status check_points(const lcp_lengths *lengths, const lcp_json_cursor *object, lcp_error *err)
{
    for (size_t i = 1; i < lengths->count; i++) {
        const lcp_length_point *p = &lengths->points[i];
        if (!(p[-1].ratio < p->ratio) || p[-1].tokens > p->tokens) {
            return lcp_json_fail(object, NULL, err,
                                 "found %lld tokens at %.9g and %lld at %.9g per cent, expected lengths that rise",
                                 (long long)p[-1].tokens, p[-1].ratio * 100, (long long)p->tokens, p->ratio * 100);
        }
    }
    return lengths->points[lengths->count - 1].ratio < 1
               ? lcp_json_fail(object, "100", err, "missing, expected the longest length")
               : LCP_OK;
}

static lcp_status read_points(lcp_lengths *out, const lcp_json_cursor *object, lcp_error *err)
{
    /* A distribution that does not say where it starts does so at one token. */
    out->points[out->count++] = (lcp_length_point){0, 1};
    for (void *i = json_object_iter(object->value); i != NULL; i = json_object_iter_next(object->value, i)) {
        lcp_length_point point = {0};
        const char *key = json_object_iter_key(i);
        lcp_status status = key[0] == '_' ? LCP_OK : read_percentile(&point, object, key, err);
        if (status != LCP_OK) {
            return status;
        }
        if (key[0] != '_') {
            out->points[point.ratio > 0 ? out->count++ : 0] = point;
        }
    }
    qsort(out->points, out->count, sizeof *out->points, by_ratio);
    return check_points(out, object, err);
}

static lcp_status read_percentiles(lcp_lengths *out, const lcp_json_cursor *at, const char *base_directory,
                                   lcp_error *err)
{
    static const char *const allowed[] = {"percentiles", NULL};
    lcp_json_cursor object;
    (void)base_directory;
    lcp_status status = lcp_json_only_keys(at, allowed, err);
    if (status == LCP_OK) {
        status = lcp_json_object(&object, at, "percentiles", err);
    }
    if (status != LCP_OK) {
        return status;
    }
    out->points = calloc(json_object_size(object.value) + 1, sizeof *out->points);
    return out->points != NULL ? read_points(out, &object, err)
                               : out_of_memory(at, json_object_size(object.value), err);
}

static lcp_status read_file(lcp_lengths *out, const lcp_json_cursor *at, const char *base_directory, lcp_error *err)
{
    static const char *const allowed[] = {"file", "column", "in_order", NULL};
    char name[512];
    char path[1100];
    char column[LCP_NAME_SIZE];
    bool has_column = lcp_json_has(at, "column");
    lcp_status status = lcp_json_only_keys(at, allowed, err);
    if (status == LCP_OK) {
        status = lcp_json_string(name, sizeof name, at, "file", err);
    }
    if (status == LCP_OK && has_column) {
        status = lcp_json_string(column, sizeof column, at, "column", err);
    }
    if (status == LCP_OK) {
        status = lcp_json_bool_or(&out->in_order, false, at, "in_order", err);
    }
    if (status != LCP_OK) {
        return status;
    }
    bool relative = name[0] != '/' && base_directory != NULL;
    snprintf(path, sizeof path, "%s%s%s", relative ? base_directory : "", relative ? "/" : "", name);
    return lcp_length_file_read(&out->values, &out->count, path, has_column ? column : NULL, err);
}

typedef struct form {
    const char *key;
    lcp_status (*read)(lcp_lengths *out, const lcp_json_cursor *at, const char *base_directory, lcp_error *err);
} form;

static const form forms[] = {
    {"values", read_values},
    {"histogram", read_histogram},
    {"percentiles", read_percentiles},
    {"file", read_file},
};

lcp_status lcp_lengths_read(lcp_lengths *out, const lcp_json_cursor *at, const char *base_directory, lcp_error *err)
{
    *out = (lcp_lengths){0};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (lcp_json_has(at, forms[i].key)) {
            return forms[i].read(out, at, base_directory, err);
        }
    }
    return lcp_json_fail(at, NULL, err, "found no lengths, expected one of: values, histogram, percentiles, file");
}

static int64_t bin_quantile(const lcp_lengths *lengths, double ratio)
{
    size_t low = 0;
    for (size_t high = lengths->count; high - low > 1;) {
        size_t middle = low + (high - low) / 2;
        if (lengths->bins[middle].share_below <= ratio) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const lcp_length_bin *bin = &lengths->bins[low];
    int64_t width = bin->last_tokens - bin->first_tokens + 1;
    double inside = bin->share > 0 ? (ratio - bin->share_below) / bin->share : 0;
    int64_t step = (int64_t)(fmin(inside, 1) * (double)width);
    return bin->first_tokens + (step < width ? step : width - 1);
}

/* base^exponent for an exponent in [0, 1): the product of the roots that its binary digits name. */
static double fractional_power(double base, double exponent)
{
    double result = 1;
    double root = base;
    for (int i = 0; i < 53 && exponent > 0; i++) {
        root = sqrt(root);
        exponent *= 2;
        if (exponent >= 1) {
            result *= root;
            exponent -= 1;
        }
    }
    return result;
}

static int64_t point_quantile(const lcp_lengths *lengths, double ratio)
{
    size_t i = 1;
    while (i + 1 < lengths->count && lengths->points[i].ratio <= ratio) {
        i++;
    }
    const lcp_length_point *a = &lengths->points[i - 1];
    const lcp_length_point *b = &lengths->points[i];
    double exponent = (ratio - a->ratio) / (b->ratio - a->ratio);
    double tokens = (double)a->tokens * fractional_power((double)b->tokens / (double)a->tokens, exponent);
    return (int64_t)(tokens + 0.5);
}

int64_t lcp_lengths_quantile(const lcp_lengths *lengths, double ratio)
{
    if (lengths->bins != NULL) {
        return bin_quantile(lengths, ratio);
    }
    if (lengths->points != NULL) {
        return point_quantile(lengths, ratio);
    }
    size_t index = (size_t)(ratio * (double)lengths->count);
    return lengths->sorted[index < lengths->count ? index : lengths->count - 1];
}
