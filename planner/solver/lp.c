#include "solver/lp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct lp_line {
    char *name;
    double lower, upper, cost;
    bool integer;
} lp_line;

typedef struct lp_lines {
    int32_t count, capacity;
    lp_line *items;
} lp_lines;

struct lcp_lp {
    lp_lines columns, rows;
    int64_t entry_count, entry_capacity;
    lcp_lp_entry *entries; /* in the order of the calls */
    bool out_of_memory;
};

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    if (copy != NULL) {
        memcpy(copy, text, size);
    }
    return copy;
}

lcp_lp *lcp_lp_new(void)
{
    return calloc(1, sizeof(lcp_lp));
}

static void free_lines(lp_lines *lines)
{
    for (int32_t i = 0; i < lines->count; i++) {
        free(lines->items[i].name);
    }
    free(lines->items);
}

void lcp_lp_free(lcp_lp *lp)
{
    if (lp == NULL) {
        return;
    }
    free_lines(&lp->columns);
    free_lines(&lp->rows);
    free(lp->entries);
    free(lp);
}

static int32_t add_line(lcp_lp *lp, lp_lines *lines, const char *name, lp_line line)
{
    if (lines->count == lines->capacity) {
        int32_t capacity = lines->capacity == 0 ? 64 : 2 * lines->capacity;
        lp_line *items = realloc(lines->items, (size_t)capacity * sizeof *items);
        if (items == NULL) {
            lp->out_of_memory = true;
            return -1;
        }
        lines->items = items;
        lines->capacity = capacity;
    }
    line.name = name != NULL ? copy_text(name) : NULL;
    if (name != NULL && line.name == NULL) {
        lp->out_of_memory = true;
        return -1;
    }
    lines->items[lines->count] = line;
    return lines->count++;
}

int32_t lcp_lp_add_column(lcp_lp *lp, const char *name, double lower, double upper, double cost, bool integer)
{
    return add_line(lp, &lp->columns, name,
                    (lp_line){.lower = lower, .upper = upper, .cost = cost, .integer = integer});
}

int32_t lcp_lp_add_row(lcp_lp *lp, const char *name, double lower, double upper)
{
    return add_line(lp, &lp->rows, name, (lp_line){.lower = lower, .upper = upper});
}

void lcp_lp_set(lcp_lp *lp, int32_t row, int32_t column, double value)
{
    if (row < 0 || column < 0) {
        lp->out_of_memory = true; /* the index is what a failed addition returned */
        return;
    }
    if (lp->entry_count == lp->entry_capacity) {
        int64_t capacity = lp->entry_capacity == 0 ? 256 : 2 * lp->entry_capacity;
        lcp_lp_entry *entries = realloc(lp->entries, (size_t)capacity * sizeof *entries);
        if (entries == NULL) {
            lp->out_of_memory = true;
            return;
        }
        lp->entries = entries;
        lp->entry_capacity = capacity;
    }
    lp->entries[lp->entry_count++] = (lcp_lp_entry){.row = row, .column = column, .value = value};
}

void lcp_lp_set_cost(lcp_lp *lp, int32_t column, double cost)
{
    lp->columns.items[column].cost = cost;
}

void lcp_lp_set_bounds(lcp_lp *lp, int32_t column, double lower, double upper)
{
    lp->columns.items[column].lower = lower;
    lp->columns.items[column].upper = upper;
}

void lcp_lp_set_row_bounds(lcp_lp *lp, int32_t row, double lower, double upper)
{
    lp->rows.items[row].lower = lower;
    lp->rows.items[row].upper = upper;
}

int32_t lcp_lp_columns(const lcp_lp *lp)
{
    return lp->columns.count;
}

int32_t lcp_lp_rows(const lcp_lp *lp)
{
    return lp->rows.count;
}

static lcp_lp_line line_at(const lp_lines *lines, int32_t index)
{
    const lp_line *line = &lines->items[index];
    return (lcp_lp_line){line->name, line->lower, line->upper, line->cost, line->integer};
}

lcp_lp_line lcp_lp_column_at(const lcp_lp *lp, int32_t column)
{
    return line_at(&lp->columns, column);
}

lcp_lp_line lcp_lp_row_at(const lcp_lp *lp, int32_t row)
{
    return line_at(&lp->rows, row);
}

static bool lines_are_numbers(const lp_lines *lines)
{
    for (int32_t i = 0; i < lines->count; i++) {
        const lp_line *line = &lines->items[i];
        if (!(line->lower <= line->upper) || !isfinite(line->cost)) {
            return false;
        }
    }
    return true;
}

lcp_status lcp_lp_check(const lcp_lp *lp, lcp_error *err)
{
    if (lp->out_of_memory) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold a program of %d columns and %d rows", lp->columns.count,
                        lp->rows.count);
    }
    bool numbers = lines_are_numbers(&lp->columns) && lines_are_numbers(&lp->rows);
    for (int64_t i = 0; numbers && i < lp->entry_count; i++) {
        const lcp_lp_entry *entry = &lp->entries[i];
        numbers = isfinite(entry->value) && entry->row < lp->rows.count && entry->column < lp->columns.count;
    }
    return numbers ? LCP_OK
                   : lcp_fail(err, LCP_INTERNAL, "", "a program with a number that is not finite or crossed bounds");
}

static int by_row_then_column(const void *a, const void *b)
{
    const lcp_lp_entry *x = a;
    const lcp_lp_entry *y = b;
    if (x->row != y->row) {
        return x->row < y->row ? -1 : 1;
    }
    return (x->column > y->column) - (x->column < y->column);
}

lcp_status lcp_lp_entries(lcp_lp_entry **out, int64_t *count, const lcp_lp *lp, lcp_error *err)
{
    *count = 0;
    *out = malloc(((size_t)lp->entry_count + 1) * sizeof **out);
    if (*out == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot sort %lld entries", (long long)lp->entry_count);
    }
    if (lp->entry_count > 0) {
        memcpy(*out, lp->entries, (size_t)lp->entry_count * sizeof **out);
        qsort(*out, (size_t)lp->entry_count, sizeof **out, by_row_then_column);
    }
    for (int64_t i = 0; i < lp->entry_count; i++) {
        lcp_lp_entry *last = *count > 0 ? &(*out)[*count - 1] : NULL;
        if (last != NULL && last->row == (*out)[i].row && last->column == (*out)[i].column) {
            last->value += (*out)[i].value;
        } else {
            (*out)[(*count)++] = (*out)[i];
        }
    }
    return LCP_OK;
}

static double outside(double value, double lower, double upper)
{
    return fmax(0, fmax(lower - value, value - upper));
}

double lcp_lp_violation(const lcp_lp *lp, const double *values)
{
    double worst = 0;
    for (int32_t c = 0; c < lp->columns.count; c++) {
        const lp_line *column = &lp->columns.items[c];
        worst = fmax(worst, outside(values[c], column->lower, column->upper));
        if (column->integer) {
            worst = fmax(worst, fabs(values[c] - round(values[c])));
        }
    }
    double *sums = calloc((size_t)lp->rows.count + 1, sizeof *sums);
    if (sums == NULL) {
        return HUGE_VAL;
    }
    for (int64_t i = 0; i < lp->entry_count; i++) {
        sums[lp->entries[i].row] += lp->entries[i].value * values[lp->entries[i].column];
    }
    for (int32_t r = 0; r < lp->rows.count; r++) {
        worst = fmax(worst, outside(sums[r], lp->rows.items[r].lower, lp->rows.items[r].upper));
    }
    free(sums);
    return worst;
}

void lcp_lp_solution_dispose(lcp_lp_solution *solution)
{
    free(solution->values);
    free(solution->duals);
    *solution = (lcp_lp_solution){0};
}
