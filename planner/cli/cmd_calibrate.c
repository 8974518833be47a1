#include "cli/commands.h"
#include "cli/print_json.h"
#include "cli/problem_options.h"

#include "calibrate/calibrate.h"
#include "input/profile.h"
#include "output/plan_json.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Parameters named in "a,b,c"; all where NULL. */
static lcp_status choose(bool fit[LCP_PARAMETER_COUNT], const char *names, lcp_error *err)
{
    for (int32_t p = 0; p < LCP_PARAMETER_COUNT; p++) {
        fit[p] = names == NULL;
    }
    while (names != NULL && *names != '\0') {
        size_t length = strcspn(names, ",");
        int32_t p = 0;
        while (p < LCP_PARAMETER_COUNT && (strlen(lcp_parameter_rows[p].name) != length ||
                                           strncmp(lcp_parameter_rows[p].name, names, length) != 0)) {
            p++;
        }
        if (p == LCP_PARAMETER_COUNT) {
            return lcp_fail(err, LCP_USAGE, "", "--fit: unknown parameter '%.*s'; 'lcplan list parameters' names them",
                            (int)length, names);
        }
        fit[p] = true;
        names += length + (names[length] == ',' ? 1 : 0);
    }
    return LCP_OK;
}

static void print_errors(const char *what, const lcp_error_summary *fit, const lcp_error_summary *crossed)
{
    if (fit->count > 0) {
        fprintf(stderr, "%-8s %zu rows: error median %.1f %%, 90th percentile %.1f %%, bias %+.1f %%; ", what,
                fit->count, 100 * fit->median, 100 * fit->ninetieth, 100 * fit->bias);
        fprintf(stderr, "of rows left out: %.1f %%, %.1f %%, %+.1f %%\n", 100 * crossed->median,
                100 * crossed->ninetieth, 100 * crossed->bias);
    }
}

static void print_fit(const lcp_calibration *fit)
{
    print_errors("time", &fit->time, &fit->crossed_time);
    print_errors("memory", &fit->memory, &fit->crossed_memory);
    fprintf(stderr, "%-26s %12s %12s %12s  %s\n", "parameter", "start", "fitted", "error", "determined");
    for (int32_t p = 0; p < LCP_PARAMETER_COUNT; p++) {
        const lcp_parameter_row *row = &lcp_parameter_rows[p];
        if (!fit->fitted[p]) {
            continue;
        }
        const lcp_parameter_value *v = &fit->values[p];
        double held = row->low > 0 ? row->spread * v->value : row->spread * row->high;
        double ratio = v->error / held;
        fprintf(stderr, "%-26s %12.4g %12.4g %12.2g  %s\n", row->name, fit->start[p], v->value, v->error,
                ratio < 0.3   ? "by the rows"
                : ratio < 0.8 ? "partly"
                              : "by its start only");
    }
}

/* What the profile says of itself. */
static void set_provenance(lcp_profile *profile, const lcp_calibration *fit, const lcp_arguments *arguments)
{
    char *at = profile->provenance;
    size_t left = sizeof profile->provenance;
    int used = snprintf(at, left, "fitted to %zu times and %zu memory figures of", fit->time_rows, fit->memory_rows);
    for (int32_t i = 0; i < arguments->operand_count && (size_t)used < left; i++) {
        const char *slash = strrchr(arguments->operands[i], '/');
        at += used;
        left -= (size_t)used;
        used = snprintf(at, left, "%s %s", i > 0 ? "," : "", slash != NULL ? slash + 1 : arguments->operands[i]);
    }
    const lcp_error_summary *sums[] = {&fit->time, &fit->memory};
    const lcp_error_summary *crossed[] = {&fit->crossed_time, &fit->crossed_memory};
    const char *const names[] = {"time", "memory"};
    for (int32_t k = 0; k < 2 && (size_t)used < left; k++) {
        at += used;
        left -= (size_t)used;
        used = sums[k]->count == 0
                   ? 0
                   : snprintf(at, left,
                              "; %s error median %.1f %%, 90th percentile %.1f %%, of rows left out %.1f %%, %.1f %%",
                              names[k], 100 * sums[k]->median, 100 * sums[k]->ninetieth, 100 * crossed[k]->median,
                              100 * crossed[k]->ninetieth);
    }
}

static lcp_status write_profile(const lcp_profile *profile, const char *path, lcp_error *err)
{
    json_t *root = lcp_profile_to_json(profile);
    char *text = NULL;
    size_t size = 0;
    lcp_status status = lcp_json_text(&text, &size, root, err);
    if (status == LCP_OK) {
        status = lcp_write_file(path, text, size, err);
    }
    free(text);
    json_decref(root);
    return status;
}

static lcp_status run(const lcp_arguments *arguments, lcp_error *err)
{
    bool fit[LCP_PARAMETER_COUNT];
    lcp_profile profile;
    lcp_calibration result;
    lcp_row_table tables[LCP_MAX_OPERANDS] = {0};
    lcp_status status = choose(fit, arguments->fit, err);
    if (status == LCP_OK && arguments->profile == NULL) {
        status = lcp_fail(err, LCP_USAGE, "", "--profile NAME|FILE is needed: where the fit starts");
    }
    status = status == LCP_OK ? lcp_read_profile(&profile, arguments->profile, err) : status;
    lcp_profile_set set = {&profile, 1, true};
    for (int32_t i = 0; status == LCP_OK && i < arguments->operand_count; i++) {
        status = lcp_row_table_read(&tables[i], arguments->operands[i], &set, err);
    }
    lcp_calibration_input input = {tables, (size_t)arguments->operand_count, fit};
    status = status == LCP_OK ? lcp_calibrate(&result, &profile, &input, err) : status;
    if (status == LCP_OK) {
        set_provenance(&profile, &result, arguments);
        status = write_profile(&profile, arguments->output, err);
    }
    if (status == LCP_OK && !arguments->quiet) {
        print_fit(&result);
    }
    for (int32_t i = 0; i < arguments->operand_count; i++) {
        lcp_row_table_dispose(&tables[i]);
    }
    return status;
}

#define AT(field) offsetof(lcp_arguments, field)
static const lcp_option options[] = {
    {0, "profile", "NAME|FILE", "where the fit starts, with the facts of the stack", lcp_store_text, AT(profile), 0, 0,
     NULL},
    {0, "fit", "NAMES", "parameters to fit, as matmul_ratio,network_ratio (all)", lcp_store_text, AT(fit), 0, 0, NULL},
    {'o', "output", "FILE", "write the profile there, whole or not at all (standard output)", lcp_store_text,
     AT(output), 0, 0, NULL},
    {0, "quiet", NULL, "no report", lcp_store_on, AT(quiet), 0, 0, NULL},
};
static const lcp_option_group own_options = LCP_OPTION_GROUP("Calibrate", options);
static const lcp_option_group *const groups[] = {&own_options, &lcp_common_options, NULL};

const lcp_command lcp_command_calibrate = {
    "calibrate", "ROWS...", "fits a profile to measured runs", 1, LCP_MAX_OPERANDS, groups, run};
