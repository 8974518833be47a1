#include "cli/commands.h"
#include "cli/print_json.h"
#include "cli/problem_options.h"
#include "cli/profiles.h"

#include "input/input.h"
#include "output/plan_json.h"
#include "verify/verify.h"

#include <stddef.h>
#include <string.h>

/* One input of the plan against the file it is said to come from. */
typedef struct comparison {
    const char *input; /* key inside the plan's "inputs" */
    const char *path;
    const lcp_source *planned, *read;
    json_t *planned_document, *read_document; /* owned */
} comparison;

static lcp_status compare(const comparison *c, lcp_error *err)
{
    char where[64];
    snprintf(where, sizeof where, "$.inputs.%s", c->input);
    if (c->planned_document == NULL || c->read_document == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "no memory to compare the %s", c->input);
    }
    if (strcmp(c->planned->sha256, c->read->sha256) != 0) {
        return lcp_fail(err, LCP_FALSE, where, "the plan was made for bytes with SHA-256 %s, %s has %s",
                        c->planned->sha256, c->path, c->read->sha256);
    }
    if (!json_equal(c->planned_document, c->read_document)) {
        return lcp_fail(err, LCP_FALSE, where, "the resolved document differs from what %s says", c->path);
    }
    return LCP_OK;
}

static lcp_status compare_and_release(comparison *c, lcp_error *err)
{
    lcp_status status = compare(c, err);
    json_decref(c->planned_document);
    json_decref(c->read_document);
    return status;
}

static lcp_status hold_against_model(const lcp_problem *planned, const char *path, lcp_error *err)
{
    lcp_model model = {0};
    lcp_source source = {0};
    lcp_status status = lcp_read_model(&model, &source, path, err);
    if (status == LCP_OK) {
        comparison c = {"model",
                        path,
                        &planned->model_source,
                        &source,
                        lcp_model_to_json(&planned->model),
                        lcp_model_to_json(&model)};
        status = compare_and_release(&c, err);
    }
    lcp_model_dispose(&model);
    return status;
}

static lcp_status hold_against_cluster(const lcp_problem *planned, const char *path, const char *profile_name,
                                       lcp_error *err)
{
    lcp_cluster cluster = {0};
    lcp_source source = {0};
    lcp_status status = lcp_read_cluster(&cluster, &source, path, err);
    if (status == LCP_OK && profile_name != NULL) {
        lcp_profile profile;
        lcp_training training = lcp_training_default();
        status = lcp_apply_profile(&profile, &cluster, &training, profile_name, err);
    }
    if (status == LCP_OK) {
        comparison c = {"cluster",
                        path,
                        &planned->cluster_source,
                        &source,
                        lcp_cluster_to_json(&planned->cluster),
                        lcp_cluster_to_json(&cluster)};
        status = compare_and_release(&c, err);
    }
    lcp_cluster_dispose(&cluster);
    return status;
}

static lcp_status hold_against_workload(const lcp_problem *planned, const char *path, lcp_error *err)
{
    lcp_workload workload = {0};
    lcp_source source = {0};
    lcp_status status = lcp_read_workload(&workload, &source, path, err);
    if (status == LCP_OK) {
        comparison c = {"workload",
                        path,
                        &planned->workload_source,
                        &source,
                        lcp_workload_to_json(&planned->workload),
                        lcp_workload_to_json(&workload)};
        status = compare_and_release(&c, err);
    }
    lcp_workload_dispose(&workload);
    return status;
}

static lcp_status hold_against_files(const lcp_problem *planned, const lcp_arguments *arguments, lcp_error *err)
{
    lcp_status status = LCP_OK;
    if (arguments->model != NULL) {
        status = hold_against_model(planned, arguments->model, err);
    }
    if (status == LCP_OK && arguments->cluster != NULL) {
        status = hold_against_cluster(planned, arguments->cluster, arguments->profile, err);
    }
    if (status == LCP_OK && arguments->workload != NULL) {
        status = hold_against_workload(planned, arguments->workload, err);
    }
    return status;
}

static void print_checks(const char *path)
{
    printf("ok: %s:", path);
    for (size_t i = 0; i < lcp_verify_rule_count; i++) {
        printf("%s %s", i > 0 ? "," : "", lcp_verify_rules[i].name);
    }
    printf("\n");
}

static json_t *checks_json(void)
{
    json_t *checks = json_array();
    for (size_t i = 0; checks != NULL && i < lcp_verify_rule_count; i++) {
        json_array_append_new(checks, json_string(lcp_verify_rules[i].name));
    }
    return checks;
}

static lcp_status report(lcp_status verdict, const lcp_arguments *arguments, lcp_error *err)
{
    if (!arguments->json) {
        if (verdict == LCP_OK && !arguments->quiet) {
            print_checks(arguments->operands[0]);
        }
        return verdict;
    }
    if (verdict != LCP_OK && verdict != LCP_FALSE) {
        return verdict;
    }
    json_t *document = json_pack("{s:s, s:b, s:o}", "plan", arguments->operands[0], "holds", verdict == LCP_OK,
                                 "checks", checks_json());
    if (document != NULL && verdict == LCP_FALSE) {
        json_object_set_new(document, "where", json_string(err->where));
        json_object_set_new(document, "text", json_string(err->text));
    }
    lcp_status status = lcp_print_json(document, err);
    json_decref(document);
    return status != LCP_OK ? status : verdict;
}

/* Rules name a place inside the plan; people want the file too. */
static void name_plan(const char *path, lcp_error *err)
{
    size_t most = sizeof err->where / 2 - 2;
    size_t prefix = strlen(path) < most ? strlen(path) : most;
    size_t place = strlen(err->where) < most ? strlen(err->where) : most;
    if (err->where[0] == '$') {
        memmove(err->where + prefix + 2, err->where, place);
        memcpy(err->where, path, prefix);
        memcpy(err->where + prefix, ": ", 2);
        err->where[prefix + 2 + place] = '\0';
    }
}

static lcp_status run(const lcp_arguments *arguments, lcp_error *err)
{
    lcp_plan plan = {0};
    lcp_problem problem = {0};
    lcp_status status = lcp_read_plan(&plan, &problem, arguments->operands[0], err);
    if (status == LCP_OK) {
        status = hold_against_files(&problem, arguments, err);
    }
    if (status == LCP_OK) {
        status = lcp_verify(&plan, &problem, err);
    }
    name_plan(arguments->operands[0], err);
    status = report(status, arguments, err);
    lcp_plan_dispose(&plan);
    lcp_problem_dispose(&problem);
    return status;
}

#define AT(field) offsetof(lcp_arguments, field)
static const lcp_option options[] = {
    {0, "json", NULL, "print JSON", lcp_store_on, AT(json), 0, 0, NULL},
    {0, "quiet", NULL, "the exit status says it all", lcp_store_on, AT(quiet), 0, 0, NULL},
};
static const lcp_option_group own_options = LCP_OPTION_GROUP("Output", options);
static const lcp_option_group *const groups[] = {&lcp_input_options, &own_options, &lcp_common_options, NULL};

const lcp_command lcp_command_verify = {
    "verify", "PLAN", "holds a plan against its inputs, and against the files given, without the search", 1, 1,
    groups,   run};
