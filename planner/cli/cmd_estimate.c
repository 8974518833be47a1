#include "cli/commands.h"
#include "cli/print_json.h"
#include "cli/problem_options.h"
#include "cli/profiles.h"

#include "input/input.h"
#include "output/plan_json.h"
#include "output/show_estimate.h"
#include "rows/table.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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
    lcp_status status = lcp_take_profiles(&set, &owned, arguments->profile, err);
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

static lcp_status check_given(const lcp_arguments *a, lcp_error *err)
{
    const char *missing = a->model == NULL                 ? "--model FILE, or --rows FILE,"
                          : a->cluster == NULL             ? "--cluster FILE or DEVICE:NODESxPER_NODE"
                          : a->sequence_length_tokens == 0 ? "--sequence-length N"
                          : a->global_batch_sequences == 0 ? "--global-batch N"
                                                           : NULL;
    return missing == NULL ? LCP_OK : lcp_fail(err, LCP_USAGE, "", "%s is needed", missing);
}

/* Data-parallel replicas fill the cluster unless --dp says how many. */
static void set_layout(lcp_run *run, const lcp_arguments *a, const lcp_cluster *cluster)
{
    lcp_layout *l = &run->layout;
    int64_t devices = lcp_cluster_devices(cluster);
    int64_t replica = (int64_t)l->pp * l->tp * l->ulysses * l->ring;
    if (l->dp == 0) {
        l->dp = devices / replica > 0 ? (int32_t)(devices / replica) : 1;
    }
    l->sequence_parallel = l->tp > 1 && !a->no_sequence_parallel;
    run->schedule = l->vpp > 1 && run->schedule == LCP_RUN_1F1B ? LCP_RUN_INTERLEAVED : run->schedule;
    run->sequence_length_tokens = a->sequence_length_tokens;
    run->global_batch_sequences = a->global_batch_sequences;
}

static lcp_status print_report(const lcp_estimate_report *report, const lcp_arguments *arguments, lcp_error *err)
{
    if (!arguments->json) {
        lcp_show_estimate(stdout, report, arguments->explain);
        return LCP_OK;
    }
    json_t *document = lcp_show_estimate_json(report);
    lcp_status status = lcp_print_json(document, err);
    json_decref(document);
    return status;
}

static lcp_status estimate_one(const lcp_arguments *arguments, lcp_error *err)
{
    lcp_model model = {0};
    lcp_cluster cluster = {0};
    lcp_source source;
    lcp_profile profile;
    lcp_estimate estimate;
    lcp_run run = arguments->run;
    bool profiled = arguments->profile != NULL;
    run.training = arguments->options.training;
    lcp_status status = check_given(arguments, err);
    status = status == LCP_OK ? lcp_read_model(&model, &source, arguments->model, err) : status;
    status = status == LCP_OK ? lcp_read_cluster(&cluster, &source, arguments->cluster, err) : status;
    if (status == LCP_OK && profiled) {
        status = lcp_apply_profile(&profile, &cluster, &run.training, arguments->profile, err);
    }
    if (status == LCP_OK) {
        set_layout(&run, arguments, &cluster);
        status = lcp_estimate_run(&estimate, &model, &cluster, &run, err);
    }
    if (status == LCP_OK) {
        lcp_estimate_report report = {&model, &cluster, &run, profiled ? &profile : NULL, &estimate};
        status = print_report(&report, arguments, err);
    }
    if (status == LCP_OK && !estimate.fits) {
        double missing =
            (double)(estimate.memory[estimate.fullest_stage].total + estimate.reserve_bytes - estimate.capacity_bytes);
        status = lcp_fail(err, LCP_FALSE, "", "memory: stage %d needs %.2f GiB more than the device has",
                          (int)estimate.fullest_stage, missing / 1073741824.0);
    }
    lcp_model_dispose(&model);
    lcp_cluster_dispose(&cluster);
    return status;
}

static lcp_status run(const lcp_arguments *arguments, lcp_error *err)
{
    return arguments->rows != NULL ? estimate_rows(arguments, err) : estimate_one(arguments, err);
}

static lcp_status store_recompute(void *field, const lcp_option *option, const char *value, lcp_error *err)
{
    if (!lcp_recompute_parse(field, value)) {
        return lcp_fail(err, LCP_USAGE, "",
                        "--%s: found '%s', expected none, full, full:block:N, full:uniform:N, selective:MODULE,... "
                        "(core_attn, layernorm, moe_act, mlp, mla_up_proj) or a policy of 'lcplan list recompute'",
                        option->name, value);
    }
    return LCP_OK;
}

#define AT(field) offsetof(lcp_arguments, field)
static const lcp_option layout[] = {
    {0, "microbatch", "N", "sequences of a microbatch (1)", lcp_store_int64, AT(run.microbatch_sequences), 1, 1e9,
     NULL},
    {0, "dp", "N", "data-parallel degree (fills the cluster)", lcp_store_int32, AT(run.layout.dp), 1, 1048576, NULL},
    {0, "pp", "N", "pipeline degree (1)", lcp_store_int32, AT(run.layout.pp), 1, 256, NULL},
    {0, "vpp", "N", "virtual stages per pipeline rank (1)", lcp_store_int32, AT(run.layout.vpp), 1, 1024, NULL},
    {0, "tp", "N", "tensor degree (1)", lcp_store_int32, AT(run.layout.tp), 1, 1048576, NULL},
    {0, "ulysses", "N", "context degree, all-to-all part (1)", lcp_store_int32, AT(run.layout.ulysses), 1, 1048576,
     NULL},
    {0, "ring", "N", "context degree, ring part (1)", lcp_store_int32, AT(run.layout.ring), 1, 1048576, NULL},
    {0, "ep", "N", "expert degree (1)", lcp_store_int32, AT(run.layout.ep), 1, 1048576, NULL},
    {0, "zero", "0..3", "ZeRO stage (0)", lcp_store_int32, AT(run.layout.zero_stage), 0, 3, NULL},
    {0, "zero-group", "N", "ranks that share one copy of ZeRO's shards (all replicas)", lcp_store_int32,
     AT(run.layout.shard_ranks), 1, 1048576, NULL},
    {0, "no-sequence-parallel", NULL, "norms and residual stream whole on every tensor-parallel rank", lcp_store_on,
     AT(no_sequence_parallel), 0, 0, NULL},
    {0, "schedule", "NAME", "gpipe, 1f1b or interleaved (by --vpp)", lcp_store_choice, AT(run.schedule), 0, 0,
     lcp_run_schedule_names},
    {0, "recompute", "WHAT", "none, full, full:block:N, full:uniform:N, selective:MODULE,... or a policy",
     store_recompute, AT(run.recompute), 0, 0, NULL},
    {0, "offload-activations", "RATIO", "share of kept activations that moves to the host (0)", lcp_store_real,
     AT(run.activation_offload_ratio), 0, 1, NULL},
    {0, "offload-optimizer", NULL, "optimizer states live on the host", lcp_store_on, AT(run.optimizer_on_host), 0, 0,
     NULL},
    {0, "first-stage-layers", "N", "layers of the first stage (as the others)", lcp_store_int32,
     AT(run.first_stage_layers), 1, 1024, NULL},
    {0, "last-stage-layers", "N", "layers of the last stage (as the others)", lcp_store_int32,
     AT(run.last_stage_layers), 1, 1024, NULL},
};
static const lcp_option options[] = {
    {0, "model", "FILE", "config.json of the model, or lcplan.model/1", lcp_store_text, AT(model), 0, 0, NULL},
    {0, "cluster", "FILE|DEVICE:NxM", "lcplan.cluster/1, or N nodes of M devices, as h100-sxm:16x8", lcp_store_text,
     AT(cluster), 0, 0, NULL},
    {0, "rows", "FILE", "instead: a table of runs (CSV); the same rows with predictions added", lcp_store_text,
     AT(rows), 0, 0, NULL},
    {0, "profile", "NAME|FILE",
     "rates of a device and software stack; 'lcplan list profiles' (rows: the one that suits)", lcp_store_text,
     AT(profile), 0, 0, NULL},
};
static const lcp_option output[] = {
    {'o', "output", "FILE", "rows: write there, whole or not at all (standard output)", lcp_store_text, AT(output), 0,
     0, NULL},
    {0, "json", NULL, "print JSON", lcp_store_on, AT(json), 0, 0, NULL},
    {0, "explain", NULL, "every constant used, and where it comes from", lcp_store_on, AT(explain), 0, 0, NULL},
    {0, "quiet", NULL, "rows: no summary", lcp_store_on, AT(quiet), 0, 0, NULL},
};
static const lcp_option_group input_options = LCP_OPTION_GROUP("Inputs", options);
static const lcp_option_group run_options = LCP_OPTION_GROUP("The configuration", layout);
static const lcp_option_group output_options = LCP_OPTION_GROUP("Output", output);
static const lcp_option_group *const groups[] = {
    &input_options,  &lcp_batch_options,  &run_options, &lcp_training_options,
    &output_options, &lcp_common_options, NULL};

const lcp_command lcp_command_estimate = {
    "estimate", "", "time and memory of one configuration, or of every row of a table", 0, 0, groups, run};
