/* The table as CSV with what was predicted. */
#include "table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const added[] = {"predicted_iteration_seconds",
                                    "predicted_tokens_per_second_per_device",
                                    "predicted_mfu_ratio",
                                    "predicted_peak_memory_bytes",
                                    "predicted_fits",
                                    "profile",
                                    "skipped_reason"};
#define ADDED (sizeof added / sizeof added[0])

typedef struct text_buffer {
    char *bytes;
    size_t size, capacity;
    bool failed;
} text_buffer;

static void append(text_buffer *t, const char *bytes, size_t size)
{
    if (t->size + size + 1 > t->capacity && !t->failed) {
        size_t capacity = 2 * t->capacity + size + 4096;
        char *grown = realloc(t->bytes, capacity);
        t->failed = grown == NULL;
        t->bytes = grown == NULL ? t->bytes : grown;
        t->capacity = grown == NULL ? t->capacity : capacity;
    }
    if (!t->failed) {
        memcpy(t->bytes + t->size, bytes, size);
        t->size += size;
        t->bytes[t->size] = '\0';
    }
}

static void append_cell(text_buffer *t, const char *cell)
{
    if (strpbrk(cell, "\",\n\r") == NULL && cell[0] != '#') {
        append(t, cell, strlen(cell));
        return;
    }
    append(t, "\"", 1);
    for (const char *c = cell; *c != '\0'; c++) {
        append(t, c, 1);
        if (*c == '"') {
            append(t, c, 1);
        }
    }
    append(t, "\"", 1);
}

static void append_number(text_buffer *t, double value)
{
    char text[40];
    int length = snprintf(text, sizeof text, "%.9g,", value);
    append(t, text, (size_t)length);
}

static void append_result(text_buffer *t, const lcp_row_result *result)
{
    if (result->row.skipped[0] == '\0') {
        append_number(t, result->seconds);
        append_number(t, result->tokens_per_second_per_device);
        append_number(t, result->mfu_ratio);
        char bytes[40];
        int length = snprintf(bytes, sizeof bytes, "%.0f,%d,", result->bytes, result->fits ? 1 : 0);
        append(t, bytes, (size_t)length);
    } else {
        append(t, ",,,,,", 5);
    }
    append_cell(t, result->row.profile[0] != '\0' ? result->row.profile : "catalogue");
    append(t, ",", 1);
    append_cell(t, result->row.skipped);
    append(t, "\n", 1);
}

/* A table that was predicted before has them already: they are written anew. */
static bool is_added(const char *name)
{
    for (size_t i = 0; i < ADDED; i++) {
        if (strcmp(added[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void append_given(text_buffer *t, const lcp_csv *csv, size_t row)
{
    for (size_t c = 0; c < csv->column_count; c++) {
        if (!is_added(csv->cells[c])) {
            append_cell(t, csv->cells[row * csv->column_count + c]);
            append(t, ",", 1);
        }
    }
}

static void append_names(text_buffer *t)
{
    for (size_t i = 0; i < ADDED; i++) {
        append_cell(t, added[i]);
        append(t, i + 1 < ADDED ? "," : "\n", 1);
    }
}

lcp_status lcp_row_table_text(char **text, size_t *size, const lcp_row_table *table, lcp_error *err)
{
    text_buffer t = {0};
    const lcp_csv *csv = &table->csv;
    for (size_t i = 0; i <= csv->row_count; i++) {
        append_given(&t, csv, i);
        if (i == 0) {
            append_names(&t);
        } else {
            append_result(&t, &table->results[i - 1]);
        }
    }
    if (t.failed) {
        free(t.bytes);
        return lcp_fail(err, LCP_NOMEM, "", "no memory for the table");
    }
    *text = t.bytes;
    *size = t.size;
    return LCP_OK;
}
