#include "input/lengths_line.h"

#include "input/json_reader.h"

#include <stdlib.h>

static lcp_status take_array(int64_t **out, int64_t *count, const lcp_json_cursor *array, lcp_error *err)
{
    size_t size = json_array_size(array->value);
    if (size < 1 || size > LCP_MAX_BATCH_SEQUENCES) {
        return lcp_json_fail(array, NULL, err, "found %zu lengths, expected 1 to %d", size, LCP_MAX_BATCH_SEQUENCES);
    }
    *out = malloc(size * sizeof **out);
    if (*out == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold %zu lengths", size);
    }
    *count = (int64_t)size;
    lcp_status status = LCP_OK;
    for (size_t i = 0; status == LCP_OK && i < size; i++) {
        status = lcp_json_element_int(&(*out)[i], array, i, 1, INT32_MAX, err);
    }
    return status;
}

static lcp_status take_root(int64_t **out, int64_t *count, const lcp_json_cursor *root, lcp_error *err)
{
    static const char *const allowed[] = {"lengths_tokens", NULL};
    if (json_is_array(root->value)) {
        return take_array(out, count, root, err);
    }
    lcp_json_cursor array;
    lcp_status status = lcp_json_only_keys(root, allowed, err);
    if (status == LCP_OK) {
        status = lcp_json_array(&array, root, "lengths_tokens", 1, LCP_MAX_BATCH_SEQUENCES, err);
    }
    return status == LCP_OK ? take_array(out, count, &array, err) : status;
}

lcp_status lcp_lengths_from_line(int64_t **out, int64_t *count, const char *line, size_t size, lcp_error *err)
{
    json_t *root = NULL;
    *out = NULL;
    lcp_status status = lcp_json_load_bytes(&root, line, size, "line", err);
    if (status == LCP_OK) {
        lcp_json_cursor cursor = lcp_json_root("line", root);
        status = take_root(out, count, &cursor, err);
    }
    json_decref(root);
    if (status != LCP_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}
