#include "output/show_workload.h"

#include "output/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BIN_COUNT 41 /* lengths of up to 2^0, 2^1, ... 2^40 tokens */
#define BAR_COLUMNS 40

static const int percents[] = {0, 1, 10, 25, 50, 75, 90, 99, 100};
#define PERCENT_COUNT (sizeof percents / sizeof percents[0])

typedef struct statistics {
    int64_t at_percent[PERCENT_COUNT];
    int64_t sequences[BIN_COUNT];
    int64_t tokens[BIN_COUNT];
    int32_t first_bin, last_bin; /* with a sequence in them */
} statistics;

static int compare_lengths(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int32_t bin_of(int64_t length)
{
    int32_t bin = 0;
    while (bin < BIN_COUNT - 1 && length > (int64_t)1 << bin) {
        bin++;
    }
    return bin;
}

/* Percentile p: the shortest length that at least p of a hundred sequences do not exceed. */
static void take_percentiles(statistics *out, const int64_t *sorted, int64_t count)
{
    for (size_t i = 0; i < PERCENT_COUNT; i++) {
        int64_t rank = (percents[i] * count + 99) / 100;
        out->at_percent[i] = sorted[rank > 0 ? rank - 1 : 0];
    }
}

static lcp_status collect(statistics *out, const lcp_workload *workload, lcp_error *err)
{
    *out = (statistics){.first_bin = BIN_COUNT};
    if (workload->sequence_count < 1) {
        return lcp_fail(err, LCP_INPUT, workload->name, "the workload has no sequence");
    }
    size_t count = (size_t)workload->sequence_count;
    int64_t *sorted = malloc(count * sizeof *sorted);
    if (sorted == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "no memory to sort %zu lengths", count);
    }
    memcpy(sorted, workload->lengths_tokens, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_lengths);
    take_percentiles(out, sorted, workload->sequence_count);
    for (size_t i = 0; i < count; i++) {
        int32_t bin = bin_of(sorted[i]);
        out->sequences[bin]++;
        out->tokens[bin] += sorted[i];
        out->first_bin = bin < out->first_bin ? bin : out->first_bin;
        out->last_bin = bin;
    }
    free(sorted);
    return LCP_OK;
}

static void show_bar(FILE *out, double share)
{
    int columns = (int)(share * BAR_COLUMNS + 0.5);
    for (int i = 0; i < columns; i++) {
        fputc('#', out);
    }
    fputc('\n', out);
}

static void show_histogram(FILE *out, const lcp_workload *workload, const statistics *s)
{
    fprintf(out, "  %14s  %10s  %9s  %7s\n", "up to tokens", "sequences", "share", "tokens");
    for (int32_t bin = s->first_bin; bin <= s->last_bin; bin++) {
        double share = (double)s->sequences[bin] / (double)workload->sequence_count;
        fprintf(out, "  %14" PRId64 "  %10" PRId64 "  %7.2f %%  %5.1f %%  ", (int64_t)1 << bin, s->sequences[bin],
                100 * share, 100 * (double)s->tokens[bin] / (double)workload->total_tokens);
        show_bar(out, share);
    }
}

lcp_status lcp_show_workload(FILE *out, const lcp_workload *workload, lcp_error *err)
{
    statistics s;
    lcp_status status = collect(&s, workload, err);
    if (status != LCP_OK) {
        return status;
    }
    fprintf(out, "workload %s: %" PRId64 " sequences, %" PRId64 " tokens (%s), at most %" PRId64 " tokens each\n",
            workload->name, workload->sequence_count, workload->total_tokens,
            lcp_text_count((double)workload->total_tokens).text, workload->max_length_tokens);
    fprintf(out, "  mean length %.1f\n  percentiles ",
            (double)workload->total_tokens / (double)workload->sequence_count);
    for (size_t i = 0; i < PERCENT_COUNT; i++) {
        fprintf(out, "%s%d: %" PRId64, i > 0 ? ", " : "", percents[i], s.at_percent[i]);
    }
    fprintf(out, "\n");
    show_histogram(out, workload, &s);
    return LCP_OK;
}

static json_t *percentiles_json(const statistics *s)
{
    json_t *out = json_object();
    for (size_t i = 0; out != NULL && i < PERCENT_COUNT; i++) {
        char key[8];
        snprintf(key, sizeof key, "%d", percents[i]);
        json_object_set_new(out, key, json_integer(s->at_percent[i]));
    }
    return out;
}

static json_t *histogram_json(const statistics *s)
{
    json_t *out = json_array();
    for (int32_t bin = s->first_bin; out != NULL && bin <= s->last_bin; bin++) {
        json_array_append_new(out, json_pack("{s:I, s:I, s:I}", "up_to_tokens", (json_int_t)1 << bin, "sequences",
                                             (json_int_t)s->sequences[bin], "tokens", (json_int_t)s->tokens[bin]));
    }
    return out;
}

lcp_status lcp_show_workload_json(json_t **out, const lcp_workload *workload, lcp_error *err)
{
    statistics s;
    *out = NULL;
    lcp_status status = collect(&s, workload, err);
    if (status != LCP_OK) {
        return status;
    }
    *out = json_pack("{s:s, s:I, s:I, s:I, s:f, s:o, s:o}", "name", workload->name, "sequences",
                     (json_int_t)workload->sequence_count, "tokens", (json_int_t)workload->total_tokens,
                     "max_length_tokens", (json_int_t)workload->max_length_tokens, "mean_length_tokens",
                     (double)workload->total_tokens / (double)workload->sequence_count, "percentiles_tokens",
                     percentiles_json(&s), "histogram", histogram_json(&s));
    return *out != NULL ? LCP_OK : lcp_fail(err, LCP_NOMEM, "", "no memory for a document");
}
