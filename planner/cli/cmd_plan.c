#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/print_json.h"
#include "cli/problem_options.h"
#include "cli/progress.h"
#include "cli/trainer_option.h"

#include "export/trainer.h"
#include "output/plan_json.h"
#include "output/show_plan.h"
#include "search/search.h"

#include <stddef.h>
#include <string.h>

static lcp_status summarise(const lcp_plan *plan, const lcp_problem *problem, const lcp_arguments *arguments,
                            lcp_error *err)
{
    if (!arguments->quiet) {
        lcp_plan_summary(stderr, plan, problem);
    }
    if (!arguments->quiet && arguments->explain) {
        lcp_plan_explanation(stderr, plan, problem);
    }
    if (!arguments->json) {
        return LCP_OK;
    }
    json_t *summary = lcp_plan_summary_json(plan, problem);
    lcp_status status = lcp_print_json(summary, err);
    json_decref(summary);
    return status;
}

static lcp_status search(lcp_plan *plan, const lcp_problem *problem, const lcp_arguments *arguments, lcp_error *err)
{
    lcp_progress_line line;
    lcp_progress_start(&line, !arguments->quiet);
    lcp_search_hooks hooks = {.progress = lcp_progress_print, .interrupted = lcp_interrupted, .context = &line};
    lcp_interrupt_watch();
    lcp_status status = lcp_plan_search(plan, problem, &hooks, err);
    lcp_progress_end(&line);
    return status;
}

/* Where a trainer recomputes all layers or none, both are searched: the faster plan is taken. */
static lcp_status search_both(lcp_plan *plan, lcp_problem *problem, const lcp_arguments *arguments, lcp_error *err)
{
    lcp_plan other = {0};
    lcp_error first_error = {0};
    lcp_status first = search(plan, problem, arguments, &first_error);
    if (first != LCP_OK && first != LCP_INFEASIBLE && first != LCP_LIMIT) {
        return lcp_fail(err, first, first_error.where, "%s", first_error.text);
    }
    problem->options.recompute = LCP_RECOMPUTE_MODE_FULL;
    lcp_status second = search(&other, problem, arguments, first == LCP_OK ? &first_error : err);
    bool keep_first = first == LCP_OK &&
                      (second != LCP_OK || !(other.predicted.iteration_seconds < plan->predicted.iteration_seconds));
    lcp_plan worse = keep_first ? other : *plan;
    *plan = keep_first ? *plan : other;
    lcp_plan_dispose(&worse);
    problem->options.recompute = keep_first ? LCP_RECOMPUTE_MODE_NONE : LCP_RECOMPUTE_MODE_FULL;
    return keep_first ? LCP_OK : second;
}

static lcp_status search_for(lcp_plan *plan, lcp_problem *problem, const lcp_arguments *arguments, lcp_error *err)
{
    bool or_full = false;
    if (arguments->target.trainer == NULL) {
        return search(plan, problem, arguments, err);
    }
    lcp_status status = lcp_target_restrict(problem, &or_full, &arguments->target, err);
    if (status == LCP_OK) {
        status = or_full ? search_both(plan, problem, arguments, err) : search(plan, problem, arguments, err);
    }
    if (status != LCP_OK) {
        return status;
    }
    lcp_error broken = {0};
    status = lcp_export_check(&arguments->target, plan, problem, false, true, &broken);
    return status == LCP_OK
               ? status
               : lcp_fail(err, LCP_INFEASIBLE, "", "of the best plan found, %s %s", broken.text, broken.where);
}

static lcp_status check_output(const lcp_arguments *arguments, lcp_error *err)
{
    bool to_file = arguments->output != NULL && strcmp(arguments->output, "-") != 0;
    if (arguments->json && !to_file) {
        return lcp_fail(err, LCP_USAGE, "", "--json needs -o FILE: standard output carries the plan");
    }
    if (arguments->quiet && arguments->explain) {
        return lcp_fail(err, LCP_USAGE, "", "--quiet and --explain exclude each other");
    }
    return LCP_OK;
}

static lcp_status run(const lcp_arguments *arguments, lcp_error *err)
{
    lcp_problem problem = {0};
    lcp_plan plan = {0};
    lcp_status status = check_output(arguments, err);
    if (status == LCP_OK) {
        status = lcp_problem_read(&problem, arguments, err);
    }
    if (status == LCP_OK) {
        status = search_for(&plan, &problem, arguments, err);
    }
    if (status == LCP_OK) {
        status = lcp_plan_write(arguments->output, &plan, &problem, arguments->times, err);
    }
    if (status == LCP_OK) {
        status = summarise(&plan, &problem, arguments, err);
    }
    lcp_plan_dispose(&plan);
    lcp_problem_dispose(&problem);
    return status;
}

#define AT(field) offsetof(lcp_arguments, field)
static const lcp_option trainer[] = {
    {0, "for", "NAME[@VERSION]", "only plans that this trainer can be told; 'lcplan list trainers'", lcp_store_target,
     AT(target), 0, 0, NULL},
};
static const lcp_option_group trainer_options = LCP_OPTION_GROUP("Who runs the plan", trainer);
static const lcp_option options[] = {
    {'o', "output", "FILE", "write the plan there, whole or not at all (standard output)", lcp_store_text, AT(output),
     0, 0, NULL},
    {0, "times", NULL, "add the start and end of each operation to the plan", lcp_store_on, AT(times), 0, 0, NULL},
    {0, "json", NULL, "with -o FILE: print the summary as JSON on standard output", lcp_store_on, AT(json), 0, 0, NULL},
    {0, "explain", NULL, "say why this plan won: breakdown, rejections, runners-up", lcp_store_on, AT(explain), 0, 0,
     NULL},
    {0, "quiet", NULL, "no summary and no progress", lcp_store_on, AT(quiet), 0, 0, NULL},
};
static const lcp_option_group own_options = LCP_OPTION_GROUP("Output", options);
static const lcp_option_group *const groups[] = {&lcp_input_options, &lcp_batch_options,    &lcp_layout_options,
                                                 &trainer_options,   &lcp_training_options, &lcp_search_options,
                                                 &own_options,       &lcp_common_options,   NULL};

const lcp_command lcp_command_plan = {
    "plan", "", "decides how to train a model on a cluster and proves how good that is", 0, 0, groups, run};
