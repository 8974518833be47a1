#include "cli/commands.h"
#include "cli/print_json.h"
#include "cli/problem_options.h"
#include "cli/trainer_option.h"

#include "input/input.h"
#include "input/model_hf.h"
#include "lcp/profile.h"
#include "lcp/schedule.h"
#include "output/plan_json.h"
#include "search/legality.h"
#include "verify/verify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    const char *name, *help;
    const char *needs; /* NULL = nothing to say */
} row;

static row parameter_row(size_t i)
{
    return (row){lcp_parameter_rows[i].name, lcp_parameter_rows[i].help, NULL};
}

static size_t parameter_count(void)
{
    return LCP_PARAMETER_COUNT;
}

static row profile_row(size_t i)
{
    return (row){lcp_profile_name_at(i), "rates of a device and software stack", NULL};
}

static row command_row(size_t i)
{
    return (row){lcp_command_at(i)->name, lcp_command_at(i)->help, NULL};
}

static size_t device_count(void)
{
    return lcp_device_row_count;
}

static row device_row(size_t i)
{
    return (row){lcp_device_rows[i].short_name, lcp_device_rows[i].name, NULL};
}

static row schedule_row(size_t i)
{
    return (row){lcp_schedule_kind_at(i)->name, lcp_schedule_kind_at(i)->help, lcp_schedule_kind_at(i)->needs};
}

static const lcp_hf_family *family_at(size_t index)
{
    for (size_t t = 0; lcp_hf_families[t] != NULL; t++) {
        for (const lcp_hf_family *family = lcp_hf_families[t]; family->model_type != NULL; family++) {
            if (index-- == 0) {
                return family;
            }
        }
    }
    return NULL;
}

static size_t family_count(void)
{
    size_t count = 0;
    while (family_at(count) != NULL) {
        count++;
    }
    return count;
}

static row family_row(size_t i)
{
    return (row){family_at(i)->model_type, "model_type of a config.json that is understood", NULL};
}

static size_t recompute_count(void)
{
    return LCP_RECOMPUTE_COUNT;
}

static row recompute_row(size_t i)
{
    return (row){lcp_recompute_rows[i].name, lcp_recompute_rows[i].help, NULL};
}

static size_t legality_count(void)
{
    return lcp_legality_rule_count;
}

static row legality_row(size_t i)
{
    return (row){lcp_legality_rules[i].reason, lcp_legality_rules[i].help, NULL};
}

static size_t verify_count(void)
{
    return lcp_verify_rule_count;
}

static row verify_row(size_t i)
{
    return (row){lcp_verify_rules[i].name, lcp_verify_rules[i].help, NULL};
}

static row trainer_row(size_t i)
{
    return (row){lcp_trainer_at(i)->name, lcp_trainer_summary(i), NULL};
}

static const row statuses[] = {
#define STATUS_ROW(name, exit_status, text) {#exit_status, text, NULL},
    LCP_STATUS_MAP(STATUS_ROW)
#undef STATUS_ROW
};

static size_t status_count(void)
{
    return sizeof statuses / sizeof statuses[0];
}

static row status_row(size_t i)
{
    return statuses[i];
}

typedef struct kind {
    const char *name, *help;
    size_t (*count)(void);
    row (*at)(size_t index);
} kind;

static const kind kinds[] = {
    {"commands", "what lcplan does", lcp_command_count, command_row},
    {"devices", "device catalogue: short form and name", device_count, device_row},
    {"models", "families of models that are read as published", family_count, family_row},
    {"rules", "rules a layout must keep to be considered", legality_count, legality_row},
    {"recompute", "what a layer keeps of a chunk's activations", recompute_count, recompute_row},
    {"profiles", "measured rates of devices and software stacks", lcp_profile_count, profile_row},
    {"parameters", "what a profile may set, what calibrate fits", parameter_count, parameter_row},
    {"schedules", "orders of passes", lcp_schedule_kind_count, schedule_row},
    {"checks", "rules that verify holds a plan against", verify_count, verify_row},
    {"trainers", "programs that plans are written for, their versions and what they can be told", lcp_trainer_count,
     trainer_row},
    {"statuses", "exit statuses", status_count, status_row},
};

#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

static const char *kind_name_at(size_t index, const void *context)
{
    (void)context;
    return index < KIND_COUNT ? kinds[index].name : NULL;
}

static size_t kind_count(void)
{
    return KIND_COUNT;
}

static row kind_row(size_t i)
{
    return (row){kinds[i].name, kinds[i].help, NULL};
}

/* Without an operand: the kinds themselves. */
static const kind kind_of_kinds = {"kinds", "what can be listed", kind_count, kind_row};

static const kind *find_kind(const char *name)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

static void print_rows(const kind *wanted)
{
    int width = 0;
    for (size_t i = 0; i < wanted->count(); i++) {
        int length = (int)strlen(wanted->at(i).name);
        width = length > width ? length : width;
    }
    for (size_t i = 0; i < wanted->count(); i++) {
        row line = wanted->at(i);
        printf("%-*s  %s%s%s\n", width, line.name, line.help, line.needs != NULL ? "; needs " : "",
               line.needs != NULL ? line.needs : "");
    }
}

static lcp_status print_json(const kind *wanted, lcp_error *err)
{
    json_t *rows = json_array();
    for (size_t i = 0; rows != NULL && i < wanted->count(); i++) {
        row line = wanted->at(i);
        json_t *document = json_pack("{s:s, s:s, s:s*}", "name", line.name, "help", line.help, "needs", line.needs);
        if (json_array_append_new(rows, document) != 0) {
            json_decref(rows);
            rows = NULL;
        }
    }
    lcp_status status = lcp_print_json(rows, err);
    json_decref(rows);
    return status;
}

static lcp_status run(const lcp_arguments *arguments, lcp_error *err)
{
    const kind *wanted = arguments->operand_count > 0 ? find_kind(arguments->operands[0]) : &kind_of_kinds;
    if (wanted == NULL) {
        const char *near = lcp_nearest(arguments->operands[0], kind_name_at, NULL);
        return lcp_fail(err, LCP_USAGE, "", "unknown kind '%s'%s%s; 'lcplan list' names them", arguments->operands[0],
                        near != NULL ? ", the nearest is " : "", near != NULL ? near : "");
    }
    if (arguments->json) {
        return print_json(wanted, err);
    }
    print_rows(wanted);
    return LCP_OK;
}

static const lcp_option options[] = {
    {0, "json", NULL, "print JSON", lcp_store_on, offsetof(lcp_arguments, json), 0, 0, NULL},
};
static const lcp_option_group own_options = LCP_OPTION_GROUP("Output", options);
static const lcp_option_group *const groups[] = {&own_options, &lcp_common_options, NULL};

const lcp_command lcp_command_list = {"list", "[KIND]", "names what a kind of table holds", 0, 1, groups, run};
