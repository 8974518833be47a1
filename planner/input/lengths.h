/* Distributions of sequence lengths, and the lists of lengths that files hold. */
#ifndef LCP_LENGTHS_H
#define LCP_LENGTHS_H

#include "json_reader.h"
#include "lcp/workload.h"

#define LCP_MAX_SEQUENCES 10000000
#define LCP_MAX_LENGTH_TOKENS INT32_MAX

/* Integer lengths first..last, uniform, with `share` of the whole. */
typedef struct lcp_length_bin {
    int64_t first_tokens, last_tokens;
    double share_below; /* of all bins before this one, in [0, 1] */
    double share;       /* sums to 1 */
} lcp_length_bin;

/* At `ratio` of the sequences, lengths reach `tokens`; between points the logarithm of the length is linear. */
typedef struct lcp_length_point {
    double ratio;
    int64_t tokens;
} lcp_length_point;

/* Exactly one of bins, points, values is not NULL. */
typedef struct lcp_lengths {
    size_t count;
    lcp_length_bin *bins;
    lcp_length_point *points;
    int64_t *values; /* as given */
    int64_t *sorted; /* of values, made when a batch is drawn from them */
    bool in_order;   /* values: the batch itself, not a population */
} lcp_lengths;
void lcp_lengths_dispose(lcp_lengths *lengths);

/* "lengths" of a workload; base_directory as in lcp_workload_from_json. */
lcp_status lcp_lengths_read(lcp_lengths *out, const lcp_json_cursor *at, const char *base_directory, lcp_error *err);
/* Lengths of a text file: one a line, or a column of a CSV file with a header or (path ends in .jsonl or .ndjson) of a
 * file of JSON objects. column may be NULL. */
lcp_status lcp_length_file_read(int64_t **out, size_t *count, const char *path, const char *column, lcp_error *err);

/* Length that `ratio` of the sequences do not exceed; never decreasing in ratio, which is in [0, 1). Distributions
 * only: values need `sorted`. Uses +, -, *, / and sqrt alone, so that it is the same on every machine. */
int64_t lcp_lengths_quantile(const lcp_lengths *lengths, double ratio);

#endif
