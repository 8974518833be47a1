#include "cli/commands.h"
#include "cli/problem_options.h"

#include "input/profile.h"
#include "output/plan_json.h"
#include "rows/table.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The profile that was asked for, or all shipped ones to choose from. */
static lcp_status take_profiles(lcp_profile_set *out, lcp_profile **owned, const char *wanted, lcp_error *err)
{
    size_t count = 1;
    if (wanted == NULL) {
        lcp_status status = lcp_profiles_load(owned, &count, err);
        *out = (lcp_profile_set){*owned, count, false};
        return status;
    }
    *owned = calloc(1, sizeof **owned);
    if (*owned == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "no memory for a profile");
    }
    *out = (lcp_profile_set){*owned, 1, true};
    return lcp_read_profile(*owned, wanted, err);
}

static lcp_status write_table(const lcp_row_table *table, const lcp_arguments *arguments, lcp_error *err)
{
    char *text = NULL;
    size_t size = 0;
    lcp_status status = lcp_row_table_text(&text, &size, table, err);
    if (status == LCP_OK) {
        status = lcp_write_file(arguments->output, text, size, err);
    }
    free(text);
    return status;
}

static lcp_status estimate_rows(const lcp_arguments *arguments, lcp_error *err)
{
    lcp_profile_set set = {0};
    lcp_profile *owned = NULL;
    lcp_row_table table = {0};
    lcp_status status = take_profiles(&set, &owned, arguments->profile, err);
    if (status == LCP_OK) {
        status = lcp_row_table_read(&table, arguments->rows, &set, err);
    }
    if (status == LCP_OK) {
        status = write_table(&table, arguments, err);
    }
    if (status == LCP_OK && !arguments->quiet) {
        lcp_row_table_summary(stderr, &table);
    }
    lcp_row_table_dispose(&table);
    free(owned);
    return status;
}

static lcp_status run(const lcp_arguments *arguments, lcp_error *err)
{
    if (arguments->rows != NULL) {
        return estimate_rows(arguments, err);
    }
    return lcp_fail(err, LCP_USAGE, "", "--rows FILE is needed");
}

#define AT(field) offsetof(lcp_arguments, field)
static const lcp_option options[] = {
    {0, "rows", "FILE", "a table of runs (CSV): the same rows with predictions added", lcp_store_text, AT(rows), 0, 0,
     NULL},
    {0, "profile", "NAME|FILE", "rates of a device and software stack; 'lcplan list profiles'", lcp_store_text,
     AT(profile), 0, 0, NULL},
    {'o', "output", "FILE", "write there, whole or not at all (standard output)", lcp_store_text, AT(output), 0, 0,
     NULL},
    {0, "quiet", NULL, "no summary", lcp_store_on, AT(quiet), 0, 0, NULL},
};
static const lcp_option_group own_options = LCP_OPTION_GROUP("Estimate", options);
static const lcp_option_group *const groups[] = {&own_options, &lcp_common_options, NULL};

const lcp_command lcp_command_estimate = {
    "estimate", "", "time and memory of one configuration, or of every row of a table", 0, 0, groups, run};
