#include "cli/commands.h"
#include "cli/print_json.h"
#include "cli/problem_options.h"

#include "input/input.h"
#include "input/json_reader.h"
#include "input/profile.h"
#include "output/plan_json.h"
#include "output/show_cluster.h"
#include "output/show_estimate.h"
#include "output/show_model.h"
#include "output/show_plan.h"
#include "output/show_workload.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A document that was loaded but not yet understood. */
typedef struct opened {
    const char *path;
    json_t *root; /* borrowed; NULL for a cluster named on the command line */
    bool json;
} opened;

static lcp_status show_model(const opened *from, lcp_error *err)
{
    lcp_model model = {0};
    lcp_status status = lcp_model_from_json(&model, from->root, from->path, err);
    if (status == LCP_OK && from->json) {
        json_t *document = lcp_show_model_json(&model);
        status = lcp_print_json(document, err);
        json_decref(document);
    } else if (status == LCP_OK) {
        status = lcp_show_model(stdout, &model, err);
    }
    lcp_model_dispose(&model);
    return status;
}

static lcp_status show_cluster(const opened *from, lcp_error *err)
{
    lcp_cluster cluster = {0};
    lcp_source source = {0};
    lcp_status status = from->root != NULL ? lcp_cluster_from_json(&cluster, from->root, from->path, err)
                                           : lcp_read_cluster(&cluster, &source, from->path, err);
    if (status == LCP_OK && from->json) {
        json_t *document = lcp_cluster_to_json(&cluster);
        status = lcp_print_json(document, err);
        json_decref(document);
    } else if (status == LCP_OK) {
        lcp_show_cluster(stdout, &cluster);
    }
    lcp_cluster_dispose(&cluster);
    return status;
}

/* Where a workload's own relative paths start: the folder of its file. */
static lcp_status workload_from(lcp_workload *out, const opened *from, lcp_error *err)
{
    char *folder = strdup(from->path);
    if (folder == NULL) {
        return lcp_fail(err, LCP_NOMEM, from->path, "no memory for a file name");
    }
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        slash[slash == folder ? 1 : 0] = '\0';
    }
    lcp_status status = lcp_workload_from_json(out, from->root, from->path, slash != NULL ? folder : NULL, err);
    free(folder);
    return status;
}

static lcp_status show_workload(const opened *from, lcp_error *err)
{
    lcp_workload workload = {0};
    json_t *document = NULL;
    lcp_status status = workload_from(&workload, from, err);
    if (status == LCP_OK && from->json) {
        status = lcp_show_workload_json(&document, &workload, err);
        if (status == LCP_OK) {
            status = lcp_print_json(document, err);
        }
    } else if (status == LCP_OK) {
        status = lcp_show_workload(stdout, &workload, err);
    }
    json_decref(document);
    lcp_workload_dispose(&workload);
    return status;
}

static lcp_status show_plan(const opened *from, lcp_error *err)
{
    lcp_plan plan = {0};
    lcp_problem problem = {0};
    lcp_status status = lcp_plan_from_json(&plan, &problem, from->root, from->path, err);
    if (status == LCP_OK && from->json) {
        json_t *document = lcp_plan_summary_json(&plan, &problem);
        status = lcp_print_json(document, err);
        json_decref(document);
    } else if (status == LCP_OK) {
        status = lcp_show_plan(stdout, &plan, &problem, err);
    }
    lcp_plan_dispose(&plan);
    lcp_problem_dispose(&problem);
    return status;
}

static lcp_status print_profile(const lcp_profile *profile, bool as_json, lcp_error *err)
{
    if (!as_json) {
        lcp_show_profile(stdout, profile);
        return LCP_OK;
    }
    json_t *document = lcp_profile_to_json(profile);
    lcp_status status = lcp_print_json(document, err);
    json_decref(document);
    return status;
}

static lcp_status show_profile(const opened *from, lcp_error *err)
{
    lcp_profile profile;
    lcp_status status = lcp_profile_from_json(&profile, from->root, from->path, err);
    return status == LCP_OK ? print_profile(&profile, from->json, err) : status;
}

static bool is_shipped_profile(const char *word)
{
    for (size_t i = 0; i < lcp_profile_count(); i++) {
        if (strcmp(lcp_profile_name_at(i), word) == 0) {
            return true;
        }
    }
    return false;
}

/* Formats by the start of their name; a document without one is the config.json of a model. */
static const struct {
    const char *format;
    lcp_status (*show)(const opened *from, lcp_error *err);
} formats[] = {
    {"lcplan.model/", show_model}, {"lcplan.cluster/", show_cluster}, {"lcplan.workload/", show_workload},
    {"lcplan.plan/", show_plan},   {"lcplan.profile/", show_profile},
};

static lcp_status show_document(const opened *from, lcp_error *err)
{
    json_t *format = json_object_get(from->root, "format");
    if (format == NULL) {
        return show_model(from, err);
    }
    for (size_t i = 0; json_is_string(format) && i < sizeof formats / sizeof formats[0]; i++) {
        if (strncmp(json_string_value(format), formats[i].format, strlen(formats[i].format)) == 0) {
            return formats[i].show(from, err);
        }
    }
    lcp_json_cursor root = lcp_json_root(from->path, from->root);
    return lcp_json_fail(&root, "format", err, "found %s, expected the name of one of our formats, as lcplan.model/1",
                         json_is_string(format) ? json_string_value(format) : "no string");
}

/* DEVICE:NODESxPER_NODE, unless there is such a file. */
static bool is_short_cluster(const char *word)
{
    const char *colon = strchr(word, ':');
    FILE *file = colon != NULL && strchr(word, '/') == NULL ? fopen(word, "rb") : NULL;
    bool exists = file != NULL;
    if (exists) {
        fclose(file);
    }
    return colon != NULL && strchr(word, '/') == NULL && !exists;
}

static lcp_status run(const lcp_arguments *arguments, lcp_error *err)
{
    opened from = {.path = arguments->operands[0], .json = arguments->json};
    if (is_short_cluster(from.path)) {
        return show_cluster(&from, err);
    }
    if (is_shipped_profile(from.path)) {
        lcp_profile profile;
        lcp_status read = lcp_read_profile(&profile, from.path, err);
        return read == LCP_OK ? print_profile(&profile, from.json, err) : read;
    }
    lcp_status status = lcp_json_load_file(&from.root, from.path, NULL, err);
    if (status == LCP_OK) {
        status = show_document(&from, err);
    }
    json_decref(from.root);
    return status;
}

static const lcp_option options[] = {
    {0, "json", NULL, "print JSON", lcp_store_on, offsetof(lcp_arguments, json), 0, 0, NULL},
};
static const lcp_option_group own_options = LCP_OPTION_GROUP("Output", options);
static const lcp_option_group *const groups[] = {&own_options, &lcp_common_options, NULL};

const lcp_command lcp_command_show = {"show",
                                      "FILE|DEVICE:NxM|PROFILE",
                                      "prints what was understood of a model, cluster, workload, plan or profile",
                                      1,
                                      1,
                                      groups,
                                      run};
