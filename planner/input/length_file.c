#include "lengths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FIELD 64

/* A text file read line by line; `line` is NUL-terminated in place. */
typedef struct line_reader {
    const char *path;
    char *next, *end;
    char *line;
    size_t number;
} line_reader;

typedef struct length_list {
    int64_t *values;
    size_t count, capacity;
} length_list;

static bool next_line(line_reader *r)
{
    if (r->next >= r->end) {
        return false;
    }
    char *stop = memchr(r->next, '\n', (size_t)(r->end - r->next));
    r->line = r->next;
    r->next = stop != NULL ? stop + 1 : r->end;
    stop = stop != NULL ? stop : r->end;
    if (stop > r->line && stop[-1] == '\r') {
        stop--;
    }
    *stop = '\0';
    r->number++;
    return true;
}

static bool is_blank_or_comment(const char *line)
{
    const char *first = line + strspn(line, " \t");
    return *first == '\0' || *first == '#';
}

static lcp_status append(length_list *list, int64_t value, const line_reader *r, lcp_error *err)
{
    if (list->count == LCP_MAX_SEQUENCES) {
        return lcp_fail(err, LCP_INPUT, r->path, "found more than %d lengths, expected at most that",
                        LCP_MAX_SEQUENCES);
    }
    if (list->count == list->capacity) {
        size_t capacity = 2 * list->capacity + 1024;
        int64_t *values = realloc(list->values, capacity * sizeof *values);
        if (values == NULL) {
            return lcp_fail(err, LCP_NOMEM, r->path, "no memory for %zu lengths", capacity);
        }
        list->values = values;
        list->capacity = capacity;
    }
    list->values[list->count++] = value;
    return LCP_OK;
}

static lcp_status append_text(length_list *list, const char *text, const line_reader *r, lcp_error *err)
{
    int64_t value = 0;
    const char *first = text + strspn(text, " \t");
    size_t digits = strspn(first, "0123456789");
    size_t spaces = strspn(first + digits, " \t");
    if (digits > 0 && digits <= 10) {
        value = strtoll(first, NULL, 10);
    }
    if (first[digits + spaces] != '\0' || value < 1 || value > LCP_MAX_LENGTH_TOKENS) {
        return lcp_fail(err, LCP_INPUT, r->path, "line %zu: found \"%.60s\", expected an integer in [1, %d]", r->number,
                        text, LCP_MAX_LENGTH_TOKENS);
    }
    return append(list, value, r, err);
}

static lcp_status read_plain(length_list *list, line_reader *r, const char *column, lcp_error *err)
{
    (void)column;
    lcp_status status = LCP_OK;
    while (status == LCP_OK && next_line(r)) {
        if (!is_blank_or_comment(r->line)) {
            status = append_text(list, r->line, r, err);
        }
    }
    return status;
}

/* Copies one field, quotes removed, as far as it fits; returns what follows its comma, NULL after the last field. */
static const char *csv_field(char field[MAX_FIELD], const char *from)
{
    bool quoted = *from == '"';
    size_t used = 0;
    const char *c = quoted ? from + 1 : from;
    for (; *c != '\0' && (quoted || *c != ','); c++) {
        if (*c == '"' && quoted && c[1] != '"') {
            quoted = false;
            continue;
        }
        c += *c == '"' && quoted ? 1 : 0;
        field[used] = *c;
        used += used + 1 < MAX_FIELD ? 1 : 0;
    }
    field[used] = '\0';
    return *c == ',' ? c + 1 : NULL;
}

static bool next_record(line_reader *r)
{
    while (next_line(r)) {
        if (!is_blank_or_comment(r->line)) {
            return true;
        }
    }
    return false;
}

static lcp_status find_column(size_t *index, line_reader *r, const char *column, lcp_error *err)
{
    char field[MAX_FIELD];
    const char *rest = next_record(r) ? r->line : NULL;
    for (*index = 0; rest != NULL; (*index)++) {
        rest = csv_field(field, rest);
        if (strcmp(field, column) == 0) {
            return LCP_OK;
        }
    }
    return lcp_fail(err, LCP_INPUT, r->path, "line %zu: found no column \"%s\" in the header", r->number, column);
}

static lcp_status read_csv(length_list *list, line_reader *r, const char *column, lcp_error *err)
{
    size_t index = 0;
    lcp_status status = find_column(&index, r, column, err);
    while (status == LCP_OK && next_record(r)) {
        char field[MAX_FIELD] = "";
        const char *rest = r->line;
        for (size_t i = 0; i <= index && rest != NULL; i++) {
            field[0] = '\0';
            rest = csv_field(field, rest);
            if (rest == NULL && i < index) {
                field[0] = '\0';
            }
        }
        status = append_text(list, field, r, err);
    }
    return status;
}

static lcp_status read_json_line(int64_t *out, const line_reader *r, const char *column, lcp_error *err)
{
    json_t *root = NULL;
    char name[600];
    snprintf(name, sizeof name, "%.500s: line %zu", r->path, r->number);
    lcp_status status = lcp_json_load_bytes(&root, r->line, strlen(r->line), name, err);
    if (status == LCP_OK) {
        lcp_json_cursor cursor = lcp_json_root(name, root);
        status = lcp_json_int(out, &cursor, column, 1, LCP_MAX_LENGTH_TOKENS, err);
    }
    json_decref(root);
    return status;
}

static lcp_status read_jsonl(length_list *list, line_reader *r, const char *column, lcp_error *err)
{
    lcp_status status = LCP_OK;
    while (status == LCP_OK && next_record(r)) {
        int64_t value = 0;
        status = read_json_line(&value, r, column, err);
        if (status == LCP_OK) {
            status = append(list, value, r, err);
        }
    }
    return status;
}

static bool ends_with(const char *word, const char *ending)
{
    size_t length = strlen(word);
    return length >= strlen(ending) && strcmp(word + length - strlen(ending), ending) == 0;
}

/* One byte more than the file, so that the last line can be ended in place. */
static lcp_status read_text(char **out, size_t *size, const char *path, lcp_error *err)
{
    lcp_status status = lcp_read_bytes(out, size, path, err);
    char *grown = status == LCP_OK ? realloc(*out, *size + 1) : NULL;
    if (status == LCP_OK && grown == NULL) {
        free(*out);
        *out = NULL;
        return lcp_fail(err, LCP_NOMEM, path, "no memory for a file of %zu bytes", *size);
    }
    if (grown != NULL) {
        grown[*size] = '\0';
        *out = grown;
    }
    return status;
}

lcp_status lcp_length_file_read(int64_t **out, size_t *count, const char *path, const char *column, lcp_error *err)
{
    char *bytes = NULL;
    size_t size = 0;
    length_list list = {0};
    bool jsonl = ends_with(path, ".jsonl") || ends_with(path, ".ndjson");
    *out = NULL;
    *count = 0;
    if (jsonl && column == NULL) {
        return lcp_fail(err, LCP_INPUT, path, "found no \"column\", expected the key of the lengths");
    }
    lcp_status status = read_text(&bytes, &size, path, err);
    if (status != LCP_OK) {
        return status;
    }
    line_reader r = {.path = path, .next = bytes, .end = bytes + size};
    status = (jsonl ? read_jsonl : column != NULL ? read_csv : read_plain)(&list, &r, column, err);
    if (status == LCP_OK && list.count == 0) {
        status = lcp_fail(err, LCP_INPUT, path, "found no length, expected at least one");
    }
    free(bytes);
    if (status != LCP_OK) {
        free(list.values);
        return status;
    }
    *out = list.values;
    *count = list.count;
    return LCP_OK;
}
