/* Typed reading of JSON with the path kept for messages. The only input header that shows jansson.
 *
 * A lcp_json_cursor is a value with its place: `file` and the JSON path, linked through parents on the stack, so no
 * allocation. Every getter takes the cursor of the OBJECT and a key; on failure the error says
 * "FILE: $.a.b[2].key: found X, expected Y". */
#ifndef LCP_JSON_READER_H
#define LCP_JSON_READER_H

#include "lcp/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct lcp_json_cursor {
    const char *file;
    const struct lcp_json_cursor *parent;
    const char *key; /* NULL for an array element or the root */
    size_t index;
    json_t *value; /* borrowed */
} lcp_json_cursor;

#define LCP_JSON_MAX_DEPTH 64
#define LCP_JSON_MAX_FILE_BYTES (256 * 1024 * 1024)

/* Bytes of a file or, for "-", of standard input, at most LCP_JSON_MAX_FILE_BYTES; the caller frees *out. */
lcp_status lcp_read_bytes(char **out, size_t *size, const char *path, lcp_error *err);

/* Whole file with limits on size; "-" is standard input. *out_root is a new reference. If sha256 is not NULL it gets
 * the hex digest of the bytes. Duplicate keys, trailing garbage, depth beyond the limit, NUL bytes: LCP_INPUT with line
 * and column. Unreadable: LCP_IO. */
lcp_status lcp_json_load_file(json_t **out_root, const char *path, char sha256[65], lcp_error *err);
lcp_status lcp_json_load_bytes(json_t **out_root, const char *bytes, size_t size, const char *name, lcp_error *err);

lcp_json_cursor lcp_json_root(const char *file, json_t *root);
/* Writes "$.groups[0].nodes" into buffer. */
void lcp_json_path(const lcp_json_cursor *at, char *buffer, size_t size);
/* Reports at `at` (key may be NULL): where = "file: path". */
lcp_status lcp_json_fail(const lcp_json_cursor *at, const char *key, lcp_error *err, const char *format, ...)
    LCP_PRINTF(4, 5);

bool lcp_json_has(const lcp_json_cursor *object, const char *key); /* present and not null */

/* Required values: missing key is an error naming it. lo and hi are inclusive. */
lcp_status lcp_json_int(int64_t *out, const lcp_json_cursor *object, const char *key, int64_t lo, int64_t hi,
                        lcp_error *err);
lcp_status lcp_json_int32(int32_t *out, const lcp_json_cursor *object, const char *key, int32_t lo, int32_t hi,
                          lcp_error *err);
/* lo = DBL_MIN reads "above 0" in the message. */
lcp_status lcp_json_real(double *out, const lcp_json_cursor *object, const char *key, double lo, double hi,
                         lcp_error *err);
lcp_status lcp_json_bool(bool *out, const lcp_json_cursor *object, const char *key, lcp_error *err);
/* Copies at most size - 1 bytes; longer strings, control characters and invalid UTF-8 are errors. */
lcp_status lcp_json_string(char *out, size_t size, const lcp_json_cursor *object, const char *key, lcp_error *err);
lcp_status lcp_json_object(lcp_json_cursor *out, const lcp_json_cursor *object, const char *key, lcp_error *err);
lcp_status lcp_json_array(lcp_json_cursor *out, const lcp_json_cursor *object, const char *key, size_t min_count,
                          size_t max_count, lcp_error *err);
/* *out = position of the word in names[] (NULL-terminated). */
lcp_status lcp_json_choice(int32_t *out, const lcp_json_cursor *object, const char *key, const char *const *names,
                           lcp_error *err);
/* Optional values: *out keeps `preset` when the key is missing or null. */
lcp_status lcp_json_int_or(int64_t *out, int64_t preset, const lcp_json_cursor *object, const char *key, int64_t lo,
                           int64_t hi, lcp_error *err);
lcp_status lcp_json_real_or(double *out, double preset, const lcp_json_cursor *object, const char *key, double lo,
                            double hi, lcp_error *err);
lcp_status lcp_json_bool_or(bool *out, bool preset, const lcp_json_cursor *object, const char *key, lcp_error *err);
lcp_status lcp_json_choice_or(int32_t *out, int32_t preset, const lcp_json_cursor *object, const char *key,
                              const char *const *names, lcp_error *err);

/* Element i of an array cursor; caller checked the index. */
lcp_json_cursor lcp_json_element(const lcp_json_cursor *array, size_t index);
/* An element as integer / real / string, same messages. */
lcp_status lcp_json_element_int(int64_t *out, const lcp_json_cursor *array, size_t index, int64_t lo, int64_t hi,
                                lcp_error *err);
lcp_status lcp_json_element_real(double *out, const lcp_json_cursor *array, size_t index, double lo, double hi,
                                 lcp_error *err);
lcp_status lcp_json_element_string(const char **out, const lcp_json_cursor *array, size_t index, lcp_error *err);

lcp_status lcp_json_expect_object(const lcp_json_cursor *at, lcp_error *err);
/* It is an object, and every key is in allowed[] (NULL-terminated) or starts with '_'; else an error that names the key
 * and lists the allowed ones. */
lcp_status lcp_json_only_keys(const lcp_json_cursor *object, const char *const *allowed, lcp_error *err);
/* "format" must equal `format`. */
lcp_status lcp_json_format(const lcp_json_cursor *root, const char *format, lcp_error *err);

#endif
