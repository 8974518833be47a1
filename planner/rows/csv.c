#include "csv.h"

#include "input/json_reader.h"

#include <stdlib.h>
#include <string.h>

typedef struct csv_reader {
    const char *path;
    char *at, *end;
    size_t line;
} csv_reader;

void lcp_csv_dispose(lcp_csv *csv)
{
    free(csv->bytes);
    free(csv->cells);
    free(csv->lines);
    *csv = (lcp_csv){0};
}

static void skip_line(csv_reader *r)
{
    while (r->at < r->end && *r->at != '\n') {
        r->at++;
    }
    if (r->at < r->end) {
        r->at++;
        r->line++;
    }
}

/* At the end of the text, or of a line: \n or \r\n. */
static bool at_line_end(const csv_reader *r)
{
    bool pair = r->at + 1 < r->end && r->at[0] == '\r' && r->at[1] == '\n';
    return r->at >= r->end || *r->at == '\n' || pair || (*r->at == '\r' && r->at + 1 == r->end);
}

/* Past comments and blank lines; false at the end. */
static bool next_record(csv_reader *r)
{
    while (r->at < r->end && (*r->at == '#' || at_line_end(r))) {
        skip_line(r);
    }
    return r->at < r->end;
}

/* Unquotes a cell in place and leaves r->at on what follows it. */
static lcp_status read_quoted(char **cell, csv_reader *r, lcp_error *err)
{
    size_t begin = r->line;
    char *out = ++r->at;
    *cell = out;
    for (; r->at < r->end; r->at++) {
        if (*r->at == '"' && r->at + 1 < r->end && r->at[1] == '"') {
            r->at++;
        } else if (*r->at == '"') {
            r->at++;
            *out = '\0';
            return LCP_OK;
        }
        r->line += *r->at == '\n' ? 1 : 0;
        *out++ = *r->at;
    }
    return lcp_fail(err, LCP_INPUT, r->path, "line %zu: found a quote that does not end", begin);
}

/* One cell; *last says that the record ends after it. */
static lcp_status read_cell(char **cell, bool *last, csv_reader *r, lcp_error *err)
{
    char *stop = NULL;
    if (r->at < r->end && *r->at == '"') {
        lcp_status status = read_quoted(cell, r, err);
        if (status != LCP_OK) {
            return status;
        }
    } else {
        *cell = r->at;
        while (r->at < r->end && *r->at != ',' && *r->at != '\n' && *r->at != '\r') {
            r->at++;
        }
        stop = r->at;
    }
    if (!at_line_end(r) && *r->at != ',') {
        return lcp_fail(err, LCP_INPUT, r->path, "line %zu: found %s", r->line,
                        *r->at == '\r' ? "a carriage return inside a line" : "text after a closing quote");
    }
    *last = at_line_end(r);
    if (*last) {
        skip_line(r);
    } else {
        r->at++;
    }
    if (stop != NULL) {
        *stop = '\0';
    }
    return LCP_OK;
}

static lcp_status check_name(char *const *names, size_t column, const char *path, lcp_error *err)
{
    if (names[column][0] == '\0') {
        return lcp_fail(err, LCP_INPUT, path, "column %zu has no name", column + 1);
    }
    for (size_t i = 0; i < column; i++) {
        if (strcmp(names[i], names[column]) == 0) {
            return lcp_fail(err, LCP_INPUT, path, "column \"%.60s\" is named twice", names[i]);
        }
    }
    return LCP_OK;
}

static lcp_status read_header(lcp_csv *out, csv_reader *r, lcp_error *err)
{
    char *names[LCP_CSV_MAX_COLUMNS];
    bool last = false;
    if (!next_record(r)) {
        return lcp_fail(err, LCP_INPUT, r->path, "found no header, expected the names of the columns");
    }
    while (!last) {
        if (out->column_count == LCP_CSV_MAX_COLUMNS) {
            return lcp_fail(err, LCP_INPUT, r->path, "line %zu: found more than %d columns", r->line,
                            LCP_CSV_MAX_COLUMNS);
        }
        lcp_status status = read_cell(&names[out->column_count], &last, r, err);
        if (status != LCP_OK) {
            return status;
        }
        status = check_name(names, out->column_count, r->path, err);
        if (status != LCP_OK) {
            return status;
        }
        out->column_count++;
    }
    out->cells = malloc(out->column_count * sizeof *out->cells);
    if (out->cells == NULL) {
        return lcp_fail(err, LCP_NOMEM, r->path, "no memory for the header");
    }
    memcpy(out->cells, names, out->column_count * sizeof *out->cells);
    return LCP_OK;
}

static lcp_status grow(lcp_csv *out, size_t *capacity, const csv_reader *r, lcp_error *err)
{
    if (out->row_count < *capacity) {
        return LCP_OK;
    }
    if (out->row_count >= LCP_CSV_MAX_ROWS) {
        return lcp_fail(err, LCP_INPUT, r->path, "found more than %d rows", LCP_CSV_MAX_ROWS);
    }
    size_t next = 2 * *capacity + 64;
    char **cells = realloc(out->cells, (1 + next) * out->column_count * sizeof *cells);
    if (cells != NULL) {
        out->cells = cells;
    }
    size_t *lines = realloc(out->lines, next * sizeof *lines);
    if (lines != NULL) {
        out->lines = lines;
    }
    if (cells == NULL || lines == NULL) {
        return lcp_fail(err, LCP_NOMEM, r->path, "no memory for %zu rows", next);
    }
    *capacity = next;
    return LCP_OK;
}

static lcp_status read_row(lcp_csv *out, csv_reader *r, lcp_error *err)
{
    static char empty[] = "";
    char **cells = out->cells + (1 + out->row_count) * out->column_count;
    size_t line = r->line;
    bool last = false;
    for (size_t i = 0; i < out->column_count; i++) {
        cells[i] = empty;
        lcp_status status = last ? LCP_OK : read_cell(&cells[i], &last, r, err);
        if (status != LCP_OK) {
            return status;
        }
    }
    if (!last) {
        return lcp_fail(err, LCP_INPUT, r->path, "line %zu: found more than the %zu cells of the header", line,
                        out->column_count);
    }
    out->lines[out->row_count++] = line;
    return LCP_OK;
}

lcp_status lcp_csv_read(lcp_csv *out, const char *path, lcp_error *err)
{
    size_t size = 0;
    size_t capacity = 0;
    *out = (lcp_csv){0};
    lcp_status status = lcp_read_bytes(&out->bytes, &size, path, err);
    if (status != LCP_OK) {
        return status;
    }
    char *grown = realloc(out->bytes, size + 1); /* so that the last cell can be ended in place */
    if (grown == NULL) {
        lcp_csv_dispose(out);
        return lcp_fail(err, LCP_NOMEM, path, "no memory for a file of %zu bytes", size);
    }
    out->bytes = grown;
    grown[size] = '\0';
    csv_reader r = {path, grown, grown + size, 1};
    if (size >= 3 && memcmp(grown, "\xEF\xBB\xBF", 3) == 0) { /* mark of byte order */
        r.at += 3;
    }
    if (memchr(grown, '\0', size) != NULL) {
        status = lcp_fail(err, LCP_INPUT, path, "found a NUL byte, expected text");
    }
    if (status == LCP_OK) {
        status = read_header(out, &r, err);
    }
    while (status == LCP_OK && next_record(&r)) {
        status = grow(out, &capacity, &r, err);
        status = status == LCP_OK ? read_row(out, &r, err) : status;
    }
    if (status != LCP_OK) {
        lcp_csv_dispose(out);
    }
    return status;
}

int lcp_csv_column(const lcp_csv *csv, const char *name)
{
    for (size_t i = 0; i < csv->column_count; i++) {
        if (strcmp(csv->cells[i], name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

const char *lcp_csv_cell(const lcp_csv *csv, size_t row, int column)
{
    return column < 0 ? "" : csv->cells[(1 + row) * csv->column_count + (size_t)column];
}
