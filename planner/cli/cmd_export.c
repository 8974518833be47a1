#include "cli/commands.h"
#include "cli/problem_options.h"
#include "cli/trainer_option.h"

#include "output/plan_json.h"

#include <stddef.h>
#include <stdlib.h>

static lcp_status write_packing(const lcp_plan *plan, const char *path, lcp_error *err)
{
    char *text = NULL;
    size_t size = 0;
    lcp_status status = lcp_packing_write(&text, &size, plan, err);
    if (status == LCP_OK) {
        status = lcp_write_file(path, text, size, err);
    }
    free(text);
    return status;
}

static void print_unsaid(const lcp_target *target, const lcp_plan *plan, const lcp_problem *problem)
{
    lcp_setup run;
    lcp_setup_of_plan(&run, plan, problem);
    const lcp_trainer_rule *rule = NULL;
    while ((rule = lcp_rule_broken(target, &run, rule)) != NULL) {
        fprintf(stderr, "lost: %s: %s\n", lcp_setup_field_path(rule->field), rule->demand);
    }
}

static void print_losses(const lcp_plan *plan, const lcp_problem *problem, const lcp_arguments *arguments)
{
    lcp_loss_list losses;
    print_unsaid(&arguments->target, plan, problem);
    lcp_losses_find(&losses, &arguments->target, plan, problem, arguments->packing != NULL);
    for (int32_t i = 0; i < losses.count; i++) {
        const lcp_loss_item *item = &losses.items[i];
        fprintf(stderr, "lost: %s: %s", item->path, lcp_feature_rows[item->feature].help);
        if (item->places > 1) {
            fprintf(stderr, " (%lld places)", (long long)item->places);
        }
        fprintf(stderr, "\n");
    }
}

static lcp_status write_configuration(const lcp_plan *plan, const lcp_problem *problem, const lcp_arguments *arguments,
                                      lcp_error *err)
{
    char *text = NULL;
    size_t size = 0;
    lcp_status status = lcp_export_write(&text, &size, &arguments->target, plan, problem, arguments->operands[0], err);
    if (status == LCP_OK && arguments->packing != NULL) {
        status = write_packing(plan, arguments->packing, err);
    }
    if (status == LCP_OK) {
        status = lcp_write_file(arguments->output, text, size, err);
    }
    free(text);
    if (status == LCP_OK && arguments->lossy && !arguments->quiet) {
        print_losses(plan, problem, arguments);
    }
    return status;
}

static lcp_status run(const lcp_arguments *arguments, lcp_error *err)
{
    lcp_plan plan = {0};
    lcp_problem problem = {0};
    lcp_status status = LCP_OK;
    if (arguments->target.trainer == NULL) {
        status = lcp_fail(err, LCP_USAGE, "", "--to NAME[@VERSION] is needed");
    }
    if (status == LCP_OK) {
        status = lcp_read_plan(&plan, &problem, arguments->operands[0], err);
    }
    if (status == LCP_OK) {
        status =
            lcp_export_check(&arguments->target, &plan, &problem, arguments->lossy, arguments->packing != NULL, err);
    }
    if (status == LCP_OK) {
        status = write_configuration(&plan, &problem, arguments, err);
    }
    lcp_plan_dispose(&plan);
    lcp_problem_dispose(&problem);
    return status;
}

#define AT(field) offsetof(lcp_arguments, field)
static const lcp_option options[] = {
    {0, "to", "NAME[@VERSION]", "the trainer; 'lcplan list trainers'", lcp_store_target, AT(target), 0, 0, NULL},
    {0, "lossy", NULL, "write what the trainer can say and print the rest", lcp_store_on, AT(lossy), 0, 0, NULL},
    {0, "packing", "FILE", "write which sequences each micro-batch holds, a JSON object a line", lcp_store_text,
     AT(packing), 0, 0, NULL},
    {'o', "output", "FILE", "write the configuration there (standard output)", lcp_store_text, AT(output), 0, 0, NULL},
    {0, "quiet", NULL, "do not print what is lost", lcp_store_on, AT(quiet), 0, 0, NULL},
};
static const lcp_option_group own_options = LCP_OPTION_GROUP("Output", options);
static const lcp_option_group *const groups[] = {&own_options, &lcp_common_options, NULL};

const lcp_command lcp_command_export = {"export", "PLAN", "writes a plan as the configuration of a trainer", 1, 1,
                                        groups,   run};
