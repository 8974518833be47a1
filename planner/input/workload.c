#include "input.h"
#include "json_fields.h"
#include "lengths.h"
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "lcplan.workload/1"
#define MAX_BATCH_TOKENS (INT64_C(1) << 53)

/* Quantiles looked at to guess how many sequences make a batch given in tokens. */
#define PROBES 4096

static const char *const above_max_names[] = {"truncate", "drop", "error", NULL};

/* What a document asks for; exactly one of sequences and tokens is > 0, or both are 0 for a list in order. */
typedef struct request {
    int64_t max_length_tokens; /* INT64_MAX: whatever comes */
    lcp_above_max above_max;
    int64_t sequences, tokens;
    int64_t seed;
} request;

static lcp_status append(lcp_workload *out, size_t *capacity, int64_t length_tokens, const lcp_json_cursor *root,
                         lcp_error *err)
{
    if (out->sequence_count == LCP_MAX_SEQUENCES) {
        return lcp_fail(err, LCP_INPUT, root->file, "found more than %d sequences, expected at most that",
                        LCP_MAX_SEQUENCES);
    }
    if ((size_t)out->sequence_count == *capacity) {
        size_t grown = 2 * *capacity + 256;
        int64_t *lengths = realloc(out->lengths_tokens, grown * sizeof *lengths);
        if (lengths == NULL) {
            return lcp_fail(err, LCP_NOMEM, root->file, "no memory for %zu lengths", grown);
        }
        out->lengths_tokens = lengths;
        *capacity = grown;
    }
    out->lengths_tokens[out->sequence_count++] = length_tokens;
    out->total_tokens += length_tokens;
    return LCP_OK;
}

static lcp_status too_long(const lcp_json_cursor *root, int64_t length_tokens, const request *r, lcp_error *err)
{
    return lcp_json_fail(root, "lengths", err,
                         "found a length of %lld tokens, expected at most max_length_tokens, %lld",
                         (long long)length_tokens, (long long)r->max_length_tokens);
}

/* A list in order: the batch is its head. */
static lcp_status take_in_order(lcp_workload *out, const lcp_lengths *lengths, const request *r,
                                const lcp_json_cursor *root, lcp_error *err)
{
    size_t capacity = 0;
    lcp_status status = LCP_OK;
    for (size_t i = 0; status == LCP_OK && i < lengths->count; i++) {
        int64_t length = lengths->values[i];
        if ((r->sequences > 0 && out->sequence_count == r->sequences) ||
            (r->tokens > 0 && out->total_tokens == r->tokens)) {
            break;
        }
        if (length > r->max_length_tokens && r->above_max == LCP_ABOVE_MAX_ERROR) {
            return too_long(root, length, r, err);
        }
        if (length > r->max_length_tokens && r->above_max == LCP_ABOVE_MAX_DROP) {
            continue;
        }
        length = length < r->max_length_tokens ? length : r->max_length_tokens;
        if (r->tokens > 0 && length > r->tokens - out->total_tokens) {
            length = r->tokens - out->total_tokens;
        }
        status = append(out, &capacity, length, root, err);
    }
    if (status == LCP_OK && (out->sequence_count < r->sequences || out->total_tokens < r->tokens)) {
        status = lcp_json_fail(root, "lengths", err,
                               "found %lld sequences of %lld tokens in all, expected what global_batch asks for",
                               (long long)out->sequence_count, (long long)out->total_tokens);
    }
    return status;
}

/* Share of the distribution that max_length_tokens lets through. */
static double allowed_share(const lcp_lengths *lengths, int64_t max_length_tokens)
{
    double low = 0;
    double high = 1;
    if (lcp_lengths_quantile(lengths, 1 - 0x1p-53) <= max_length_tokens) {
        return 1;
    }
    for (int i = 0; i < 53; i++) {
        double middle = low + (high - low) / 2;
        if (lcp_lengths_quantile(lengths, middle) <= max_length_tokens) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

typedef struct draw {
    const lcp_lengths *lengths;
    const request *request;
    double share; /* of the distribution that is drawn from */
    lcp_random random;
} draw;

static int64_t length_at(const draw *d, double ratio)
{
    int64_t length = lcp_lengths_quantile(d->lengths, ratio * d->share);
    bool cut = d->request->above_max != LCP_ABOVE_MAX_ERROR && length > d->request->max_length_tokens;
    return cut ? d->request->max_length_tokens : length;
}

static void shuffle(int64_t *values, int64_t count, lcp_random *random)
{
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t j = (int64_t)lcp_random_below(random, (uint64_t)i + 1);
        int64_t kept = values[i];
        values[i] = values[j];
        values[j] = kept;
    }
}

/* Stratified: the i-th of n draws falls into the i-th of n equal slices of the distribution, so that a batch shows the
 * tail in its true share; then shuffled. */
static lcp_status draw_round(int64_t **out, int64_t count, draw *d, const lcp_json_cursor *root, lcp_error *err)
{
    int64_t *values = malloc((size_t)count * sizeof *values);
    if (values == NULL) {
        return lcp_fail(err, LCP_NOMEM, root->file, "no memory for %lld lengths", (long long)count);
    }
    for (int64_t i = 0; i < count; i++) {
        values[i] = length_at(d, ((double)i + lcp_random_real(&d->random)) / (double)count);
        if (values[i] > d->request->max_length_tokens) {
            lcp_status status = too_long(root, values[i], d->request, err);
            free(values);
            return status;
        }
    }
    shuffle(values, count, &d->random);
    *out = values;
    return LCP_OK;
}

static double mean_tokens(const draw *d)
{
    double sum = 0;
    for (int i = 0; i < PROBES; i++) {
        sum += (double)length_at(d, (i + 0.5) / PROBES);
    }
    return sum / PROBES;
}

static lcp_status draw_sequences(lcp_workload *out, draw *d, const lcp_json_cursor *root, lcp_error *err)
{
    lcp_status status = draw_round(&out->lengths_tokens, d->request->sequences, d, root, err);
    out->sequence_count = status == LCP_OK ? d->request->sequences : 0;
    for (int64_t i = 0; i < out->sequence_count; i++) {
        out->total_tokens += out->lengths_tokens[i];
    }
    return status;
}

/* Rounds of as many sequences as the mean asks for, until the tokens are there; the last sequence is shortened. */
static lcp_status draw_tokens(lcp_workload *out, draw *d, const lcp_json_cursor *root, lcp_error *err)
{
    int64_t tokens = d->request->tokens;
    double sequences = (double)tokens / mean_tokens(d) + 1;
    size_t capacity = 0;
    lcp_status status = LCP_OK;
    if (!(sequences <= LCP_MAX_SEQUENCES)) {
        return lcp_json_fail(root, "global_batch", err, "found a batch of about %.3g sequences, expected at most %d",
                             sequences, LCP_MAX_SEQUENCES);
    }
    while (status == LCP_OK && out->total_tokens < tokens) {
        int64_t *values = NULL;
        status = draw_round(&values, (int64_t)sequences, d, root, err);
        for (int64_t i = 0; status == LCP_OK && i < (int64_t)sequences && out->total_tokens < tokens; i++) {
            int64_t left = tokens - out->total_tokens;
            status = append(out, &capacity, values[i] < left ? values[i] : left, root, err);
        }
        free(values);
    }
    return status;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static lcp_status sort_population(lcp_lengths *lengths, const lcp_json_cursor *root, lcp_error *err)
{
    size_t bytes = lengths->count * sizeof *lengths->values;
    if (lengths->values == NULL) {
        return LCP_OK;
    }
    lengths->sorted = malloc(bytes);
    if (lengths->sorted == NULL) {
        return lcp_fail(err, LCP_NOMEM, root->file, "no memory for %zu lengths", lengths->count);
    }
    memcpy(lengths->sorted, lengths->values, bytes);
    qsort(lengths->sorted, lengths->count, sizeof *lengths->sorted, by_value);
    return LCP_OK;
}

static lcp_status take_drawn(lcp_workload *out, lcp_lengths *lengths, const request *r, const lcp_json_cursor *root,
                             lcp_error *err)
{
    if (r->sequences == 0 && r->tokens == 0) {
        return lcp_json_fail(root, "global_batch", err, "missing, expected it with lengths that are drawn");
    }
    lcp_status status = sort_population(lengths, root, err);
    if (status != LCP_OK) {
        return status;
    }
    draw d = {.lengths = lengths, .request = r, .share = 1, .random = {(uint64_t)r->seed}};
    if (r->above_max == LCP_ABOVE_MAX_DROP) {
        d.share = allowed_share(lengths, r->max_length_tokens);
    }
    if (!(d.share > 0)) {
        return too_long(root, lcp_lengths_quantile(lengths, 0), r, err);
    }
    return r->sequences > 0 ? draw_sequences(out, &d, root, err) : draw_tokens(out, &d, root, err);
}

static lcp_status read_batch(request *r, const lcp_json_cursor *root, lcp_error *err)
{
    static const char *const allowed[] = {"sequences", "tokens", NULL};
    lcp_json_cursor at;
    if (!lcp_json_has(root, "global_batch")) {
        return LCP_OK;
    }
    lcp_status status = lcp_json_object(&at, root, "global_batch", err);
    if (status == LCP_OK) {
        status = lcp_json_only_keys(&at, allowed, err);
    }
    if (status == LCP_OK && lcp_json_has(&at, "sequences") == lcp_json_has(&at, "tokens")) {
        status = lcp_json_fail(&at, NULL, err, "expected exactly one of: sequences, tokens");
    }
    if (status == LCP_OK && lcp_json_has(&at, "sequences")) {
        status = lcp_json_int(&r->sequences, &at, "sequences", 1, LCP_MAX_SEQUENCES, err);
    }
    if (status == LCP_OK && lcp_json_has(&at, "tokens")) {
        status = lcp_json_int(&r->tokens, &at, "tokens", 1, MAX_BATCH_TOKENS, err);
    }
    return status;
}

static lcp_status read_request(request *r, const lcp_json_cursor *root, lcp_error *err)
{
    static const char *const allowed[] = {"format",       "name", "max_length_tokens", "above_max",
                                          "global_batch", "seed", "lengths",           NULL};
    int32_t above_max = LCP_ABOVE_MAX_TRUNCATE;
    lcp_status status = lcp_json_format(root, FORMAT, err);
    if (status == LCP_OK) {
        status = lcp_json_only_keys(root, allowed, err);
    }
    if (status == LCP_OK) {
        status =
            lcp_json_int_or(&r->max_length_tokens, INT64_MAX, root, "max_length_tokens", 1, LCP_MAX_LENGTH_TOKENS, err);
    }
    if (status == LCP_OK) {
        status = lcp_json_choice_or(&above_max, above_max, root, "above_max", above_max_names, err);
    }
    if (status == LCP_OK) {
        status = lcp_json_int_or(&r->seed, 1, root, "seed", 0, INT64_MAX, err);
    }
    r->above_max = (lcp_above_max)above_max;
    return status != LCP_OK ? status : read_batch(r, root, err);
}

static lcp_status finish(lcp_workload *out, const request *r, const lcp_json_cursor *root, lcp_error *err)
{
    if (out->sequence_count == 0) {
        return lcp_json_fail(root, "lengths", err, "found no sequence within max_length_tokens, expected at least one");
    }
    out->max_length_tokens = r->max_length_tokens;
    for (int64_t i = 0; r->max_length_tokens == INT64_MAX && i < out->sequence_count; i++) {
        int64_t longest = i > 0 ? out->max_length_tokens : 0;
        out->max_length_tokens = out->lengths_tokens[i] > longest ? out->lengths_tokens[i] : longest;
    }
    return LCP_OK;
}

static lcp_status read_root(lcp_workload *out, const lcp_json_cursor *root, const char *base_directory, lcp_error *err)
{
    request r = {0};
    lcp_json_cursor at;
    lcp_lengths lengths = {0};
    snprintf(out->name, sizeof out->name, "workload");
    lcp_status status = read_request(&r, root, err);
    if (status == LCP_OK && lcp_json_has(root, "name")) {
        status = lcp_json_string(out->name, sizeof out->name, root, "name", err);
    }
    if (status == LCP_OK) {
        status = lcp_json_object(&at, root, "lengths", err);
    }
    if (status == LCP_OK) {
        status = lcp_lengths_read(&lengths, &at, base_directory, err);
    }
    if (status == LCP_OK) {
        status =
            lengths.in_order ? take_in_order(out, &lengths, &r, root, err) : take_drawn(out, &lengths, &r, root, err);
    }
    lcp_lengths_dispose(&lengths);
    return status != LCP_OK ? status : finish(out, &r, root, err);
}

lcp_status lcp_workload_from_json(lcp_workload *out, json_t *root, const char *file, const char *base_directory,
                                  lcp_error *err)
{
    lcp_json_cursor cursor = lcp_json_root(file, root);
    *out = (lcp_workload){0};
    lcp_status status = read_root(out, &cursor, base_directory, err);
    if (status != LCP_OK) {
        lcp_workload_dispose(out);
    }
    return status;
}
