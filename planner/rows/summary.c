/* Errors of a table: of times and of memory, ranks and regrets of sweeps. */
#include "summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y ? 1 : 0;
}

/* Sorts; linear between ranks. */
static double quantile(double *values, size_t count, double ratio)
{
    qsort(values, count, sizeof *values, ascending);
    double at = ratio * (double)(count - 1);
    size_t below = (size_t)at;
    size_t above = below + 1 < count ? below + 1 : below;
    return values[below] + (at - (double)below) * (values[above] - values[below]);
}

lcp_error_summary lcp_error_summary_of(double *errors, size_t count)
{
    lcp_error_summary out = {.count = count};
    if (count == 0) {
        return out;
    }
    out.bias = quantile(errors, count, 0.5);
    for (size_t i = 0; i < count; i++) {
        errors[i] = fabs(errors[i]);
        out.worst = fmax(out.worst, errors[i]);
    }
    out.median = quantile(errors, count, 0.5);
    out.ninetieth = quantile(errors, count, 0.9);
    return out;
}

double lcp_rank_correlation(const double *a, const double *b, size_t count)
{
    double sum_a = 0;
    double sum_b = 0;
    double product = 0;
    double mean = ((double)count - 1) / 2;
    for (size_t i = 0; i < count; i++) {
        double rank_a = 0;
        double rank_b = 0;
        for (size_t j = 0; j < count; j++) { /* ties take the mean of their ranks */
            rank_a += j == i ? 0 : a[j] < a[i] ? 1 : a[j] > a[i] ? 0 : 0.5;
            rank_b += j == i ? 0 : b[j] < b[i] ? 1 : b[j] > b[i] ? 0 : 0.5;
        }
        sum_a += (rank_a - mean) * (rank_a - mean);
        sum_b += (rank_b - mean) * (rank_b - mean);
        product += (rank_a - mean) * (rank_b - mean);
    }
    return sum_a > 0 && sum_b > 0 ? product / sqrt(sum_a * sum_b) : 0;
}

static bool scored(const lcp_row_result *r, bool of_memory)
{
    if (r->row.skipped[0] != '\0' || r->row.suspect || r->row.out_of_memory) {
        return false;
    }
    return (of_memory ? r->row.measured_bytes : r->row.measured_seconds) > 0;
}

static double error_of(const lcp_row_result *r, bool of_memory)
{
    return of_memory ? r->bytes / r->row.measured_bytes - 1 : r->seconds / r->row.measured_seconds - 1;
}

static void print_errors(FILE *out, const lcp_row_table *table, bool of_memory, double *scratch)
{
    size_t count = 0;
    for (size_t i = 0; i < table->csv.row_count; i++) {
        if (scored(&table->results[i], of_memory)) {
            scratch[count++] = error_of(&table->results[i], of_memory);
        }
    }
    if (count == 0) {
        return;
    }
    lcp_error_summary s = lcp_error_summary_of(scratch, count);
    fprintf(out, "%-12s %zu rows scored: error median %.1f %%, 90th percentile %.1f %%, worst %.1f %%, bias %+.1f %%\n",
            of_memory ? "memory" : "time", s.count, 100 * s.median, 100 * s.ninetieth, 100 * s.worst, 100 * s.bias);
}

/* Layouts of one model, batch and number of devices. */
static bool same_sweep(const lcp_row *a, const lcp_row *b)
{
    const lcp_layout *x = &a->run.layout;
    const lcp_layout *y = &b->run.layout;
    int64_t devices_a = (int64_t)x->dp * x->pp * x->tp * x->ring * x->ulysses;
    int64_t devices_b = (int64_t)y->dp * y->pp * y->tp * y->ring * y->ulysses;
    return devices_a == devices_b && a->run.global_batch_sequences == b->run.global_batch_sequences &&
           a->run.sequence_length_tokens == b->run.sequence_length_tokens &&
           a->model.hidden_size == b->model.hidden_size && a->model.layer_count == b->model.layer_count &&
           strcmp(a->model.name, b->model.name) == 0 && strcmp(a->group.device.name, b->group.device.name) == 0 &&
           strcmp(a->framework, b->framework) == 0;
}

static size_t gather_sweep(const lcp_row_table *table, size_t first, bool *seen, double *predicted, double *measured)
{
    size_t count = 0;
    for (size_t i = first; i < table->csv.row_count; i++) {
        const lcp_row_result *r = &table->results[i];
        if (!seen[i] && scored(r, false) && same_sweep(&table->results[first].row, &r->row)) {
            seen[i] = true;
            predicted[count] = r->seconds;
            measured[count++] = r->row.measured_seconds;
        }
    }
    return count;
}

static double regret_of(const double *predicted, const double *measured, size_t count)
{
    size_t chosen = 0;
    double best = measured[0];
    for (size_t i = 1; i < count; i++) {
        chosen = predicted[i] < predicted[chosen] ? i : chosen;
        best = fmin(best, measured[i]);
    }
    return measured[chosen] / best - 1;
}

static void print_sweeps(FILE *out, const lcp_row_table *table, double *scratch, bool *seen)
{
    size_t rows = table->csv.row_count;
    double *predicted = scratch;
    double *measured = scratch + rows;
    double *ranks = scratch + 2 * rows;
    double *regrets = scratch + 3 * rows;
    size_t sweeps = 0;
    size_t ranked = 0;
    for (size_t i = 0; i < rows; i++) {
        if (seen[i] || !scored(&table->results[i], false)) {
            continue;
        }
        size_t count = gather_sweep(table, i, seen, predicted, measured);
        if (count >= LCP_SWEEP_LEAST_ROWS) {
            ranks[ranked++] = lcp_rank_correlation(predicted, measured, count);
        }
        if (count >= 2) {
            regrets[sweeps++] = regret_of(predicted, measured, count);
        }
    }
    if (sweeps > 0) {
        double median = quantile(regrets, sweeps, 0.5);
        fprintf(out, "%-12s %zu sweeps: regret median %.1f %%, worst %.1f %%", "layouts", sweeps, 100 * median,
                100 * regrets[sweeps - 1]);
        if (ranked > 0) {
            fprintf(out, "; rank correlation median %.2f in %zu sweeps of %d or more", quantile(ranks, ranked, 0.5),
                    ranked, LCP_SWEEP_LEAST_ROWS);
        }
        fprintf(out, "\n");
    }
}

static void print_failures(FILE *out, const lcp_row_table *table)
{
    size_t failed = 0;
    size_t foreseen = 0;
    size_t ran = 0;
    size_t refused = 0;
    for (size_t i = 0; i < table->csv.row_count; i++) {
        const lcp_row_result *r = &table->results[i];
        bool known = r->row.skipped[0] == '\0' && !r->row.suspect;
        failed += known && r->row.out_of_memory ? 1 : 0;
        foreseen += known && r->row.out_of_memory && !r->fits ? 1 : 0;
        ran += known && !r->row.out_of_memory ? 1 : 0;
        refused += known && !r->row.out_of_memory && !r->fits ? 1 : 0;
    }
    if (failed > 0) {
        fprintf(out, "%-12s %zu of %zu runs that ran out of memory foreseen; ", "memory", foreseen, failed);
        fprintf(out, "%zu of %zu that ran called too large\n", refused, ran);
    }
}

void lcp_row_table_summary(FILE *out, const lcp_row_table *table)
{
    size_t rows = table->csv.row_count;
    double *scratch = malloc((4 * rows + 1) * sizeof *scratch);
    bool *seen = calloc(rows + 1, sizeof *seen);
    size_t skipped = 0;
    for (size_t i = 0; i < rows; i++) {
        skipped += table->results[i].row.skipped[0] != '\0' ? 1 : 0;
    }
    fprintf(out, "%-12s %zu, of which %zu not scored; the column skipped_reason says why\n", "rows", rows, skipped);
    if (scratch != NULL && seen != NULL) {
        print_errors(out, table, false, scratch);
        print_sweeps(out, table, scratch, seen);
        print_errors(out, table, true, scratch);
        print_failures(out, table);
    }
    free(scratch);
    free(seen);
}
