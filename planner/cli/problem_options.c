#include "cli/problem_options.h"

#include "cli/profiles.h"
#include "input/input.h"
#include "lcp/schedule.h"

#include <stddef.h>
#include <string.h>

#define AT(field) offsetof(lcp_arguments, field)

#define MAX_DEGREE 1048576

/* Keeps the list ascending; false if the value is there already or there is no room. */
static bool degree_insert(lcp_degree *degree, int32_t value)
{
    int32_t at = degree->count;
    while (at > 0 && degree->values[at - 1] > value) {
        at--;
    }
    if (degree->count == LCP_MAX_DEGREE_VALUES || (at > 0 && degree->values[at - 1] == value)) {
        return false;
    }
    memmove(degree->values + at + 1, degree->values + at, (size_t)(degree->count - at) * sizeof degree->values[0]);
    degree->values[at] = value;
    degree->count++;
    return true;
}

static lcp_status store_degree(void *field, const lcp_option *option, const char *value, lcp_error *err)
{
    lcp_degree degree = {0};
    const char *rest = value;
    bool good = true;
    while (good && strcmp(value, "auto") != 0) {
        char item[32];
        size_t length = strcspn(rest, ",");
        int64_t number = 0;
        snprintf(item, sizeof item, "%.*s", length < sizeof item ? (int)length : 0, rest);
        good = lcp_parse_integer(&number, item) && number >= 1 && number <= MAX_DEGREE &&
               degree_insert(&degree, (int32_t)number);
        if (rest[length] == '\0') {
            break;
        }
        rest += length + 1;
    }
    if (!good) {
        return lcp_fail(err, LCP_USAGE, "",
                        "--%s: found '%s', expected auto, a number from 1 to %d, or a list of at most %d such numbers "
                        "without repetition, as 2,4",
                        option->name, value, MAX_DEGREE, LCP_MAX_DEGREE_VALUES);
    }
    *(lcp_degree *)field = degree;
    return LCP_OK;
}

/* Virtual stages need a schedule that interleaves them. */
static lcp_status store_vpp(void *field, const lcp_option *option, const char *value, lcp_error *err)
{
    lcp_degree degree = {0};
    lcp_status status = store_degree(&degree, option, value, err);
    if (status != LCP_OK) {
        return status;
    }
    if (degree.count > 0 && degree.values[degree.count - 1] > 1) {
        return lcp_fail(err, LCP_USAGE, "",
                        "--vpp: found '%s', expected 1: no schedule here interleaves virtual stages", value);
    }
    *(lcp_degree *)field = degree;
    return LCP_OK;
}

static lcp_status store_zero(void *field, const lcp_option *option, const char *value, lcp_error *err)
{
    bool one_digit = value[0] >= '0' && value[0] <= '3' && value[1] == '\0';
    if (!one_digit && strcmp(value, "auto") != 0) {
        return lcp_fail(err, LCP_USAGE, "", "--%s: found '%s', expected 0, 1, 2, 3 or auto", option->name, value);
    }
    *(int32_t *)field = one_digit ? value[0] - '0' : -1;
    return LCP_OK;
}

static const char *schedule_name_at(size_t index, const void *context)
{
    (void)context;
    return index < lcp_schedule_kind_count() ? lcp_schedule_kind_at(index)->name : NULL;
}

static lcp_status store_schedule(void *field, const lcp_option *option, const char *value, lcp_error *err)
{
    const lcp_schedule_kind *kind = lcp_schedule_find(value);
    if (kind != NULL && !kind->planned) {
        return lcp_fail(
            err, LCP_USAGE, "",
            "--%s: plan divides layers for 1f1b and elastic-1f1b; 'lcplan simulate PLAN --schedule %s' runs "
            "the chunks of a plan in that order",
            option->name, value);
    }
    if (strcmp(value, "auto") != 0 && kind == NULL) {
        const char *near = lcp_nearest(value, schedule_name_at, NULL);
        return lcp_fail(err, LCP_USAGE, "", "--%s: unknown schedule '%s'%s%s; 'lcplan list schedules' names them",
                        option->name, value, near != NULL ? ", the nearest is " : "", near != NULL ? near : "");
    }
    snprintf(field, sizeof((lcp_options *)NULL)->schedule, "%s", value);
    return LCP_OK;
}

static lcp_status store_two_or_four(void *field, const lcp_option *option, const char *value, lcp_error *err)
{
    if (strcmp(value, "2") != 0 && strcmp(value, "4") != 0) {
        return lcp_fail(err, LCP_USAGE, "", "--%s: found '%s', expected 2 or 4", option->name, value);
    }
    *(int32_t *)field = value[0] - '0';
    return LCP_OK;
}

static const char *const recompute_modes[] = {"auto", "none", "selective", "full", "block", NULL};
static const lcp_option common[] = {
    {'h', "help", NULL, "print this and exit", lcp_store_on, AT(help), 0, 0, NULL},
};

static const lcp_option inputs[] = {
    {0, "model", "FILE", "config.json of the model, or lcplan.model/1", lcp_store_text, AT(model), 0, 0, NULL},
    {0, "cluster", "FILE|DEVICE:NxM", "lcplan.cluster/1, or N nodes of M devices, as h100-sxm:16x8", lcp_store_text,
     AT(cluster), 0, 0, NULL},
    {0, "profile", "NAME|FILE", "rates of a device and software stack; 'lcplan list profiles' (the catalogue's)",
     lcp_store_text, AT(profile), 0, 0, NULL},
    {0, "workload", "FILE", "lcplan.workload/1: the lengths of a global batch", lcp_store_text, AT(workload), 0, 0,
     NULL},
};

static const lcp_option batch[] = {
    {0, "sequence-length", "N", "tokens of every sequence (128K = 131072), instead of --workload", lcp_store_int64,
     AT(sequence_length_tokens), 1, 1e12, NULL},
    {0, "global-batch", "N", "sequences of a global batch, with --sequence-length", lcp_store_int64,
     AT(global_batch_sequences), 1, 1e7, NULL},
};

static const lcp_option layout[] = {
    {0, "dp", "N", "data-parallel degree", store_degree, AT(options.dp), 0, 0, NULL},
    {0, "pp", "N", "pipeline degree", store_degree, AT(options.pp), 0, 0, NULL},
    {0, "vpp", "N", "virtual stages per pipeline rank (1 today)", store_vpp, AT(options.vpp), 0, 0, NULL},
    {0, "tp", "N", "tensor degree, within a node", store_degree, AT(options.tp), 0, 0, NULL},
    {0, "ulysses", "N", "context degree, all-to-all part", store_degree, AT(options.ulysses), 0, 0, NULL},
    {0, "ring", "N", "context degree, ring part", store_degree, AT(options.ring), 0, 0, NULL},
    {0, "ep", "N", "expert degree, dividing tp x ulysses x ring x dp", store_degree, AT(options.ep), 0, 0, NULL},
    {0, "zero", "0..3|auto", "ZeRO stage", store_zero, AT(options.zero_stage), 0, 0, NULL},
    {0, "schedule", "NAME|auto", "order of passes; 'lcplan list schedules'", store_schedule, AT(options.schedule), 0, 0,
     NULL},
    {0, "recompute", "MODE", "auto, none, selective, full or block (whole layers or none of them)", lcp_store_choice,
     AT(options.recompute), 0, 0, recompute_modes},
    {0, "no-slicing", NULL, "cut no sequence", lcp_store_off, AT(options.slicing), 0, 0, NULL},
    {0, "uniform-recompute", NULL, "one recompute setting for all stages and chunks", lcp_store_on,
     AT(options.uniform_recompute), 0, 0, NULL},
    {0, "equal-layers", NULL, "as many layers on each stage, within one", lcp_store_on, AT(options.equal_layers), 0, 0,
     NULL},
    {0, "equal-chunks", NULL, "as many sequences in each chunk; with --no-slicing, sequences of one length",
     lcp_store_on, AT(options.equal_chunks), 0, 0, NULL},
    {0, "min-slice-tokens", "N", "no shorter slices, except the last of a sequence", lcp_store_int64,
     AT(options.min_slice_tokens), 1, 2147483647, NULL},
};

static const lcp_option training[] = {
    {0, "precision", "NAME", "bf16, fp16, fp32, fp8 or fp4", lcp_store_choice, AT(options.training.precision), 0, 0,
     lcp_precision_names},
    {0, "optimizer", "NAME", "adam, sgd or muon", lcp_store_choice, AT(options.training.optimizer), 0, 0,
     lcp_optimizer_names},
    {0, "loss", "NAME", "eager, fused, chunked, vocab-parallel or fused-linear", lcp_store_choice,
     AT(options.training.loss), 0, 0, lcp_loss_names},
    {0, "gradient-bytes", "2|4", "bytes of an accumulated gradient (4)", store_two_or_four,
     AT(options.training.gradient_bytes), 0, 0, NULL},
    {0, "kv-gradient-bytes", "2|4", "bytes of an accumulated gradient of keys and values (4)", store_two_or_four,
     AT(options.training.kv_gradient_bytes), 0, 0, NULL},
    {0, "expert-imbalance", "RATIO", "load of the fullest expert rank over the mean (1.05)", lcp_store_real,
     AT(options.training.expert_imbalance), 1, 1000, NULL},
    {0, "dp-overlap", "RATIO", "share of gradient exchange that is hidden (0.5)", lcp_store_real,
     AT(options.training.dp_overlap_ratio), 0, 1, NULL},
    {0, "tp-overlap", "RATIO", "share of tensor-parallel traffic that is hidden (0)", lcp_store_real,
     AT(options.training.tp_overlap_ratio), 0, 1, NULL},
    {0, "tp-grad-overlap", "RATIO", "share of tensor-parallel gradient reduction under weight gradients (0)",
     lcp_store_real, AT(options.training.tp_grad_overlap_ratio), 0, 1, NULL},
    {0, "zero-overlap", "RATIO", "share of ZeRO 2 and 3 exchanges that hides, of what could (1)", lcp_store_real,
     AT(options.training.zero_overlap_ratio), 0, 1, NULL},
    {0, "attention", "NAME", "flash, or unfused: every score computed and kept", lcp_store_choice,
     AT(options.training.attention_core), 0, 0, lcp_attention_core_names},
    {0, "dropout", NULL, "masks of dropout are kept", lcp_store_on, AT(options.training.dropout), 0, 0, NULL},
    {0, "ep-overlap", "RATIO", "share of expert traffic that is hidden (0)", lcp_store_real,
     AT(options.training.ep_overlap_ratio), 0, 1, NULL},
    {0, "latent-kv", NULL, "latent attention keeps latents and expands them again", lcp_store_off,
     AT(options.training.mla_keeps_expanded_kv), 0, 0, NULL},
};

static const lcp_option search[] = {
    {0, "gap", "RATIO", "stop when the plan is proven within this of the best (0.02)", lcp_store_real,
     AT(options.gap_ratio), 0, 0.99, NULL},
    {0, "threads", "N", "threads; the plan does not depend on it (one per core)", lcp_store_int32, AT(options.threads),
     1, 1024, NULL},
    {0, "max-candidates", "N", "stop after so many candidates", lcp_store_int64, AT(options.max_candidates), 1, 1e12,
     NULL},
    {0, "time-limit", "SECONDS", "stop after so long; such plans need not repeat", lcp_store_real,
     AT(options.time_limit_seconds), 1e-3, 1e9, NULL},
};

const lcp_option_group lcp_common_options = LCP_OPTION_GROUP("Help", common);
const lcp_option_group lcp_input_options = LCP_OPTION_GROUP("Inputs", inputs);
const lcp_option_group lcp_batch_options = LCP_OPTION_GROUP("Batch of equal sequences", batch);
const lcp_option_group lcp_layout_options =
    LCP_OPTION_GROUP("What the plan may choose (degrees: a number, a list as 2,4, or auto)", layout);
const lcp_option_group lcp_training_options = LCP_OPTION_GROUP("How the trainer computes", training);
const lcp_option_group lcp_search_options = LCP_OPTION_GROUP("Search", search);

static lcp_status check_given(const lcp_arguments *arguments, lcp_error *err)
{
    bool length = arguments->sequence_length_tokens > 0;
    bool sequences = arguments->global_batch_sequences > 0;
    const char *missing = NULL;
    if (arguments->model == NULL) {
        missing = "--model FILE";
    } else if (arguments->cluster == NULL) {
        missing = "--cluster FILE or --cluster DEVICE:NODESxPER_NODE";
    } else if (arguments->workload == NULL && !length && !sequences) {
        missing = "--workload FILE, or --sequence-length N with --global-batch N,";
    } else if (length != sequences) {
        missing = length ? "--global-batch N" : "--sequence-length N";
    }
    if (missing != NULL) {
        return lcp_fail(err, LCP_USAGE, "", "%s is needed", missing);
    }
    if (arguments->workload != NULL && length) {
        return lcp_fail(err, LCP_USAGE, "", "--workload and --sequence-length exclude each other");
    }
    return LCP_OK;
}

lcp_status lcp_problem_read(lcp_problem *out, const lcp_arguments *arguments, lcp_error *err)
{
    *out = (lcp_problem){.options = arguments->options};
    lcp_status status = check_given(arguments, err);
    if (status == LCP_OK) {
        status = lcp_read_model(&out->model, &out->model_source, arguments->model, err);
    }
    if (status == LCP_OK) {
        status = lcp_read_cluster(&out->cluster, &out->cluster_source, arguments->cluster, err);
    }
    if (status == LCP_OK && arguments->profile != NULL) {
        lcp_profile profile;
        status = lcp_apply_profile(&profile, &out->cluster, &out->options.training, arguments->profile, err);
    }
    if (status == LCP_OK && arguments->workload != NULL) {
        status = lcp_read_workload(&out->workload, &out->workload_source, arguments->workload, err);
    } else if (status == LCP_OK) {
        status = lcp_workload_uniform(&out->workload, &out->workload_source, arguments->sequence_length_tokens,
                                      arguments->global_batch_sequences, err);
    }
    if (status == LCP_OK) {
        status = lcp_problem_check(out, err);
    }
    if (status != LCP_OK) {
        lcp_problem_dispose(out);
    }
    return status;
}
