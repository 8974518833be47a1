/* Figures that say how good predictions are. */
#ifndef LCP_ROW_SUMMARY_H
#define LCP_ROW_SUMMARY_H

#include "table.h"

#define LCP_SWEEP_LEAST_ROWS 5

/* Relative errors, predicted over measured - 1. */
typedef struct lcp_error_summary {
    size_t count;
    double median, ninetieth, worst; /* of the absolute error */
    double bias;                     /* median of the signed error */
} lcp_error_summary;
/* Reorders and overwrites `errors`. */
lcp_error_summary lcp_error_summary_of(double *errors, size_t count);

/* Spearman; ties take the mean of their ranks. */
double lcp_rank_correlation(const double *a, const double *b, size_t count);

#endif
