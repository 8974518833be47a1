#include "input.h"
#include "json_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct text {
    char *bytes;
    size_t size, capacity;
} text;

static lcp_status grow(text *t, const char *name, lcp_error *err)
{
    size_t capacity = t->capacity == 0 ? 65536 : t->capacity * 2;
    char *bytes = realloc(t->bytes, capacity);
    if (bytes == NULL) {
        return lcp_fail(err, LCP_NOMEM, name, "no memory for a file of more than %zu bytes", t->size);
    }
    t->bytes = bytes;
    t->capacity = capacity;
    return LCP_OK;
}

static lcp_status read_stream(text *t, FILE *stream, const char *name, lcp_error *err)
{
    for (;;) {
        if (t->size == t->capacity && grow(t, name, err) != LCP_OK) {
            return LCP_NOMEM;
        }
        errno = 0;
        size_t got = fread(t->bytes + t->size, 1, t->capacity - t->size, stream);
        t->size += got;
        if (t->size > LCP_JSON_MAX_FILE_BYTES) {
            return lcp_fail(err, LCP_INPUT, name, "found more than %d bytes, expected at most that",
                            LCP_JSON_MAX_FILE_BYTES);
        }
        if (got == 0 && ferror(stream)) {
            return lcp_fail(err, LCP_IO, name, "cannot read: %s", strerror(errno));
        }
        if (got == 0) {
            return LCP_OK;
        }
    }
}

lcp_status lcp_read_bytes(char **out, size_t *size, const char *path, lcp_error *err)
{
    text t = {0};
    bool standard_input = strcmp(path, "-") == 0;
    FILE *stream = standard_input ? stdin : fopen(path, "rb");
    *out = NULL;
    *size = 0;
    if (stream == NULL) {
        return lcp_fail(err, LCP_IO, path, "cannot open: %s", strerror(errno));
    }
    lcp_status status = read_stream(&t, stream, standard_input ? "standard input" : path, err);
    if (!standard_input) {
        fclose(stream);
    }
    if (status != LCP_OK) {
        free(t.bytes);
        return status;
    }
    *out = t.bytes;
    *size = t.size;
    return LCP_OK;
}

/* Position in a text, for messages before there is a tree. */
typedef struct place {
    size_t line, column;
} place;

static void advance(place *at, char c)
{
    at->column++;
    if (c == '\n') {
        at->line++;
        at->column = 0;
    }
}

/* Runs before the parser, which recurses once for each level. */
static lcp_status check_depth(const char *bytes, size_t size, const char *name, lcp_error *err)
{
    place at = {1, 0};
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        char c = bytes[i];
        advance(&at, c);
        if (c == '\0') {
            return lcp_fail(err, LCP_INPUT, name, "line %zu column %zu: found a NUL byte, expected JSON text", at.line,
                            at.column);
        }
        if (in_string && c == '\\' && i + 1 < size) {
            i++;
            advance(&at, bytes[i]);
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string && (c == '{' || c == '[')) {
            depth++;
        } else if (!in_string && (c == '}' || c == ']')) {
            depth--;
        }
        if (depth > LCP_JSON_MAX_DEPTH) {
            return lcp_fail(err, LCP_INPUT, name, "line %zu column %zu: nested deeper than %d levels", at.line,
                            at.column, LCP_JSON_MAX_DEPTH);
        }
    }
    return LCP_OK;
}

lcp_status lcp_json_load_bytes(json_t **out_root, const char *bytes, size_t size, const char *name, lcp_error *err)
{
    json_error_t error;
    *out_root = NULL;
    lcp_status status = check_depth(bytes, size, name, err);
    if (status != LCP_OK) {
        return status;
    }
    json_t *root = json_loadb(size > 0 ? bytes : "", size, JSON_REJECT_DUPLICATES, &error);
    /* The library says nothing at all where most of its allocations fail. */
    if (root == NULL && (error.text[0] == '\0' || json_error_code(&error) == json_error_out_of_memory)) {
        return lcp_fail(err, LCP_NOMEM, name, "no memory for the document");
    }
    if (root == NULL) {
        return lcp_fail(err, LCP_INPUT, name, "line %d column %d: not a JSON document: %s", error.line, error.column,
                        error.text);
    }
    *out_root = root;
    return LCP_OK;
}

lcp_status lcp_json_load_file(json_t **out_root, const char *path, char sha256[65], lcp_error *err)
{
    char *bytes = NULL;
    size_t size = 0;
    *out_root = NULL;
    lcp_status status = lcp_read_bytes(&bytes, &size, path, err);
    if (status != LCP_OK) {
        return status;
    }
    status = lcp_json_load_bytes(out_root, bytes, size, strcmp(path, "-") == 0 ? "standard input" : path, err);
    if (status == LCP_OK && sha256 != NULL) {
        lcp_sha256_hex(sha256, bytes, size);
    }
    free(bytes);
    return status;
}
