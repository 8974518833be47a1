/* Fits the parameters of a profile to measured runs. */
#ifndef LCP_CALIBRATE_H
#define LCP_CALIBRATE_H

#include "rows/summary.h"
#include "rows/table.h"

#define LCP_CALIBRATE_LEAST_ROWS 3
#define LCP_CALIBRATE_FOLDS 5

typedef struct lcp_calibration_input {
    const lcp_row_table *tables; /* read with a set of one forced profile: the start */
    size_t table_count;
    const bool *fit; /* [LCP_PARAMETER_COUNT]: which parameters move */
} lcp_calibration_input;

typedef struct lcp_calibration {
    size_t time_rows, memory_rows;     /* measurements the fit used */
    double start[LCP_PARAMETER_COUNT]; /* where each parameter began: the mean of its prior */
    bool fitted[LCP_PARAMETER_COUNT];
    lcp_parameter_value values[LCP_PARAMETER_COUNT]; /* what the fit found, also where the profile leaves it alone */
    lcp_error_summary time, memory;                  /* of the rows it was fitted to */
    lcp_error_summary crossed_time, crossed_memory;  /* of rows left out: whole sweeps, in LCP_CALIBRATE_FOLDS parts */
} lcp_calibration;

/* profile: in, the start (its given values, else the catalogue's); out, with fitted values and standard errors.
 * Residuals are logarithms of predicted over measured, in units of 5 %; every table weighs as the square root of its
 * rows; each parameter is held by its spread (lcp_parameter_rows). Rows that are skipped, suspect or ran out of memory
 * take no part. LCP_INPUT when too few rows are left. */
lcp_status lcp_calibrate(lcp_calibration *out, lcp_profile *profile, const lcp_calibration_input *input,
                         lcp_error *err);

#endif
