#include "calibrate.h"

#include "least_squares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Runs repeat to within some per cent, and the model leaves out about as much. */
#define MEASUREMENT_SPREAD 0.05

/* One measurement: a row and which of its figures. */
typedef struct sample {
    const lcp_row *row;
    double weight; /* of the residual */
    bool of_memory;
    uint32_t fold;
} sample;

typedef struct fit_context {
    const sample *samples;
    size_t count;
    uint32_t left_out; /* fold, or LCP_CALIBRATE_FOLDS = none */
    const lcp_parameter *parameters;
    size_t parameter_count;
    const double *start;
} fit_context;

static double predicted(const sample *s, const fit_context *context, const double *values)
{
    lcp_row_result result = {.row = *s->row};
    for (size_t p = 0; p < context->parameter_count; p++) {
        lcp_parameter_set(context->parameters[p], values[p], &result.row.group.device, &result.row.run.training);
    }
    lcp_row_predict(&result);
    return s->of_memory ? result.bytes : result.seconds;
}

static double log_error(const sample *s, const fit_context *context, const double *values)
{
    double measured = s->of_memory ? s->row->measured_bytes : s->row->measured_seconds;
    return log(predicted(s, context, values) / measured);
}

static double prior(lcp_parameter parameter, double value, double start)
{
    const lcp_parameter_row *row = &lcp_parameter_rows[parameter];
    return row->low > 0 ? log(value / start) / row->spread : (value - start) / (row->spread * row->high);
}

static void residuals(double *out, const double *values, void *context)
{
    const fit_context *fit = context;
    for (size_t i = 0; i < fit->count; i++) {
        const sample *s = &fit->samples[i];
        out[i] = s->fold == fit->left_out ? 0 : s->weight * log_error(s, fit, values) / MEASUREMENT_SPREAD;
    }
    for (size_t p = 0; p < fit->parameter_count; p++) {
        out[fit->count + p] = prior(fit->parameters[p], values[p], fit->start[p]);
    }
}

static bool usable(const lcp_row *row, const lcp_profile *profile, bool of_memory)
{
    if (lcp_profile_suits(profile, row->group.device.name, row->framework, row->sixteen_bit) == 0) {
        return false;
    }
    double measured = of_memory ? row->measured_bytes : row->measured_seconds;
    return row->skipped[0] == '\0' && !row->suspect && !row->out_of_memory && row->described && measured > 0;
}

/* Rows of one model, device count and length stay in one fold, so that a fold is new to the others. */
static uint32_t fold_of(const lcp_row *row)
{
    const lcp_layout *l = &row->run.layout;
    int64_t devices = (int64_t)l->dp * l->pp * l->tp * l->ring * l->ulysses;
    uint64_t hash = (uint64_t)row->model.hidden_size * 1000003U + (uint64_t)row->model.layer_count * 10007U;
    hash = (hash + (uint64_t)devices) * 31U + (uint64_t)row->run.sequence_length_tokens;
    hash ^= hash >> 17;
    hash *= 0x9E3779B97F4A7C15U;
    return (uint32_t)((hash >> 40) % LCP_CALIBRATE_FOLDS);
}

static size_t take_samples(sample *out, const lcp_row_table *table, const lcp_profile *profile, bool of_memory)
{
    size_t count = 0;
    for (size_t i = 0; i < table->csv.row_count; i++) {
        const lcp_row *row = &table->results[i].row;
        if (usable(row, profile, of_memory)) {
            out[count++] = (sample){.row = row, .of_memory = of_memory, .fold = fold_of(row)};
        }
    }
    for (size_t i = 0; i < count; i++) {
        out[i].weight = pow((double)count, -0.25);
    }
    return count;
}

/* Weights with a mean square of 1 over all samples of a kind. */
static void level(sample *samples, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += samples[i].weight * samples[i].weight;
    }
    for (size_t i = 0; i < count; i++) {
        samples[i].weight /= sqrt(sum / (double)count);
    }
}

static void gather_errors(const fit_context *fit, const double *values, bool of_memory, uint32_t fold, double *scratch,
                          size_t *used)
{
    size_t count = *used;
    for (size_t i = 0; i < fit->count; i++) {
        const sample *s = &fit->samples[i];
        if (s->of_memory == of_memory && (fold == LCP_CALIBRATE_FOLDS || s->fold == fold)) {
            scratch[count++] = exp(log_error(s, fit, values)) - 1;
        }
    }
    *used = count;
}

static lcp_error_summary summary_of(const fit_context *fit, const double *values, bool of_memory, double *scratch)
{
    size_t used = 0;
    gather_errors(fit, values, of_memory, LCP_CALIBRATE_FOLDS, scratch, &used);
    return lcp_error_summary_of(scratch, used);
}

static lcp_status solve(double *values, double *errors, fit_context *fit, lcp_error *err)
{
    double low[LCP_PARAMETER_COUNT];
    double high[LCP_PARAMETER_COUNT];
    for (size_t p = 0; p < fit->parameter_count; p++) {
        low[p] = lcp_parameter_rows[fit->parameters[p]].low;
        high[p] = lcp_parameter_rows[fit->parameters[p]].high;
    }
    lcp_least_squares problem = {.parameter_count = fit->parameter_count,
                                 .residual_count = fit->count + fit->parameter_count,
                                 .robust_count = fit->count,
                                 .low = low,
                                 .high = high,
                                 .residuals = residuals,
                                 .context = fit};
    return lcp_least_squares_solve(values, errors, &problem, err);
}

/* Errors of every fold under a fit to the others. */
static lcp_status cross_validate(lcp_calibration *out, fit_context *fit, const double *solution, double *scratch,
                                 lcp_error *err)
{
    double values[LCP_PARAMETER_COUNT];
    double errors[LCP_PARAMETER_COUNT];
    size_t used[2] = {0, 0};
    lcp_status status = LCP_OK;
    for (uint32_t fold = 0; status == LCP_OK && fold < LCP_CALIBRATE_FOLDS; fold++) {
        fit->left_out = fold;
        memcpy(values, solution, sizeof values);
        status = solve(values, errors, fit, err);
        for (int32_t kind = 0; status == LCP_OK && kind < 2; kind++) {
            gather_errors(fit, values, kind == 1, fold, scratch + (kind == 1 ? fit->count : 0), &used[kind]);
        }
    }
    fit->left_out = LCP_CALIBRATE_FOLDS;
    out->crossed_time = lcp_error_summary_of(scratch, used[0]);
    out->crossed_memory = lcp_error_summary_of(scratch + fit->count, used[1]);
    return status;
}

static size_t choose_parameters(lcp_parameter *out, double *start, const lcp_calibration_input *input,
                                const lcp_calibration *counts, const lcp_row *row)
{
    size_t count = 0;
    for (int32_t p = 0; p < LCP_PARAMETER_COUNT; p++) {
        size_t rows = lcp_parameter_rows[p].of_memory ? counts->memory_rows : counts->time_rows;
        if (input->fit[p] && rows > 0) {
            start[count] = lcp_parameter_get((lcp_parameter)p, &row->group.device, &row->run.training);
            start[count] = fmin(fmax(start[count], lcp_parameter_rows[p].low), lcp_parameter_rows[p].high);
            out[count++] = (lcp_parameter)p;
        }
    }
    return count;
}

/* The rows held it, or pulled it away from its start. */
static bool moved(lcp_parameter parameter, const lcp_parameter_value *value, double start)
{
    const lcp_parameter_row *row = &lcp_parameter_rows[parameter];
    double held = row->low > 0 ? row->spread * start : row->spread * row->high;
    return value->error < 0.9 * held || fabs(value->value - start) > 0.05 * held;
}

static lcp_status fit_all(lcp_calibration *out, lcp_profile *profile, fit_context *fit, double *scratch, lcp_error *err)
{
    double values[LCP_PARAMETER_COUNT];
    double errors[LCP_PARAMETER_COUNT];
    memcpy(values, fit->start, sizeof values);
    lcp_status status = solve(values, errors, fit, err);
    if (status != LCP_OK) {
        return status;
    }
    for (size_t i = 0; i < fit->parameter_count; i++) {
        lcp_parameter p = fit->parameters[i];
        out->fitted[p] = true;
        out->start[p] = fit->start[i];
        out->values[p] = (lcp_parameter_value){true, values[i], errors[i]};
        if (!moved(p, &out->values[p], fit->start[i])) {
            continue; /* the rows say nothing of it: the profile leaves it alone */
        }
        profile->values[p] = out->values[p];
    }
    out->time = summary_of(fit, values, false, scratch);
    out->memory = summary_of(fit, values, true, scratch);
    return cross_validate(out, fit, values, scratch, err);
}

lcp_status lcp_calibrate(lcp_calibration *out, lcp_profile *profile, const lcp_calibration_input *input, lcp_error *err)
{
    lcp_parameter parameters[LCP_PARAMETER_COUNT];
    double start[LCP_PARAMETER_COUNT];
    size_t rows = 0;
    *out = (lcp_calibration){0};
    for (size_t t = 0; t < input->table_count; t++) {
        rows += input->tables[t].csv.row_count;
    }
    sample *samples = malloc((2 * rows + 1) * sizeof *samples);
    double *scratch = malloc((4 * rows + 1) * sizeof *scratch);
    if (samples == NULL || scratch == NULL) {
        free(samples);
        free(scratch);
        return lcp_fail(err, LCP_NOMEM, "", "no memory for %zu rows", rows);
    }
    for (size_t t = 0; t < input->table_count; t++) {
        out->time_rows += take_samples(samples + out->time_rows, &input->tables[t], profile, false);
    }
    for (size_t t = 0; t < input->table_count; t++) {
        out->memory_rows += take_samples(samples + out->time_rows + out->memory_rows, &input->tables[t], profile, true);
    }
    level(samples, out->time_rows);
    level(samples + out->time_rows, out->memory_rows);
    fit_context fit = {samples, out->time_rows + out->memory_rows, LCP_CALIBRATE_FOLDS, parameters, 0, start};
    lcp_status status = LCP_OK;
    if (fit.count < LCP_CALIBRATE_LEAST_ROWS) {
        status = lcp_fail(err, LCP_INPUT, "", "found %zu complete measurements, expected at least %d", fit.count,
                          LCP_CALIBRATE_LEAST_ROWS);
    }
    if (status == LCP_OK) {
        fit.parameter_count = choose_parameters(parameters, start, input, out, samples[0].row);
        status = fit.parameter_count > 0 ? fit_all(out, profile, &fit, scratch, err)
                                         : lcp_fail(err, LCP_INPUT, "", "no parameter to fit");
    }
    free(samples);
    free(scratch);
    return status;
}
