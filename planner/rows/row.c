/* Cells of a row, the device and its profile, what was measured. */
#include "row_internal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const lcp_row_columns[LCP_COLUMN_COUNT] = {
    "model",         "params_b", "layers",      "hidden",     "heads",       "kv_heads",
    "head_dim",      "ffn",      "gated_mlp",   "vocab",      "experts",     "topk",
    "seq_len",       "gbs",      "mbs",         "grad_accum", "gpus",        "gpu_type",
    "gpus_per_node", "tp",       "sp",          "cp",         "ulysses",     "pp",
    "vpp",           "ep",       "dp",          "zero_fsdp",  "recompute",   "offload",
    "precision",     "schedule", "attn_impl",   "framework",  "iter_time_s", "tokens_per_s_gpu",
    "mfu_pct",       "hfu_pct",  "peak_mem_gb", "mem_unit",   "status",      "notes",
    "extra_args"};

lcp_row_map lcp_row_map_of(const lcp_csv *csv)
{
    lcp_row_map map;
    for (int32_t i = 0; i < LCP_COLUMN_COUNT; i++) {
        map.at[i] = lcp_csv_column(csv, lcp_row_columns[i]);
    }
    return map;
}

const char *lcp_row_text(const lcp_row_source *from, lcp_column column)
{
    return lcp_csv_cell(from->csv, from->number, from->map->at[column]);
}

bool lcp_row_blank(const lcp_row_source *from, lcp_column column)
{
    return lcp_row_text(from, column)[0] == '\0';
}

void lcp_row_skip(lcp_row *row, const char *format, ...)
{
    if (row->skipped[0] == '\0') {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(row->skipped, sizeof row->skipped, format, arguments);
        va_end(arguments);
    }
}

double lcp_row_number(const lcp_row_source *from, lcp_row *row, lcp_column column, double preset, double low,
                      double high)
{
    const char *text = lcp_row_text(from, column);
    char *end = NULL;
    if (text[0] == '\0') {
        return preset;
    }
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= low && value <= high)) {
        lcp_row_skip(row, "%s: found '%.40s', expected a number from %g to %g", lcp_row_columns[column], text, low,
                     high);
        return preset;
    }
    return value;
}

int64_t lcp_row_integer(const lcp_row_source *from, lcp_row *row, lcp_column column, int64_t preset, int64_t low,
                        int64_t high)
{
    double value = lcp_row_number(from, row, column, (double)preset, (double)low, (double)high);
    if (value != floor(value)) {
        lcp_row_skip(row, "%s: found '%.40s', expected a whole number", lcp_row_columns[column],
                     lcp_row_text(from, column));
        return preset;
    }
    return (int64_t)value;
}

bool lcp_row_says(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (; *text != '\0'; text++) {
        size_t i = 0;
        while (i < length && tolower((unsigned char)text[i]) == tolower((unsigned char)word[i])) {
            i++;
        }
        if (i == length) {
            return true;
        }
    }
    return false;
}

static void read_device(lcp_row *row, const lcp_row_source *from)
{
    const char *type = lcp_row_text(from, LCP_COLUMN_GPU_TYPE);
    char guess[96];
    row->group.usable_memory_ratio = LCP_USABLE_MEMORY_RATIO;
    bool found = lcp_device_find(&row->group.device, type);
    /* "A100-SXM" without a memory size: the larger one that was sold. */
    snprintf(guess, sizeof guess, "%.80s-80", type);
    found = found || lcp_device_find(&row->group.device, guess);
    if (!found) {
        lcp_row_skip(row, type[0] == '\0' ? "gpu_type: blank" : "gpu_type: '%.40s' is not in the catalogue", type);
        return;
    }
    row->group.intra_node = row->group.device.intra_node;
    row->group.inter_node = row->group.device.inter_node;
    row->group.host = row->group.device.host;
    int64_t domain = lcp_device_domain(row->group.device.name);
    int64_t devices = lcp_row_integer(from, row, LCP_COLUMN_GPUS, 1, 1, 10000000);
    row->group.devices_per_node = lcp_row_integer(from, row, LCP_COLUMN_GPUS_PER_NODE, 8, 1, 1024);
    if (domain > row->group.devices_per_node) {
        row->group.devices_per_node = devices < domain ? devices : domain;
    }
}

static void read_precision(lcp_row *row, const lcp_row_source *from)
{
    const char *text = lcp_row_text(from, LCP_COLUMN_PRECISION);
    lcp_precision precision = LCP_PRECISION_BF16;
    if (lcp_row_says(text, "fp4")) {
        precision = LCP_PRECISION_FP4;
    } else if (lcp_row_says(text, "fp8")) {
        precision = LCP_PRECISION_FP8;
    } else if (lcp_row_says(text, "fp16")) {
        precision = LCP_PRECISION_FP16;
    } else if (lcp_row_says(text, "bf16") || text[0] == '\0') {
        precision = LCP_PRECISION_BF16;
    } else if (lcp_row_says(text, "fp32") || lcp_row_says(text, "tf32")) {
        precision = LCP_PRECISION_FP32;
    } else {
        lcp_row_skip(row, "precision: '%.40s' is not known", text);
    }
    row->run.training.precision = precision;
    row->sixteen_bit = precision != LCP_PRECISION_FP8 && precision != LCP_PRECISION_FP4;
}

/* Facts of the stack; the row's own words follow in the readers of the run. */
static void apply_profile(lcp_row *row, const lcp_profile_set *set)
{
    lcp_precision precision = row->run.training.precision;
    const lcp_profile *profile = set->forced ? set->profiles
                                             : lcp_profile_choose(set->profiles, set->count, row->group.device.name,
                                                                  row->framework, row->sixteen_bit);
    row->run.layout.zero_stage = 0;
    if (profile != NULL) {
        lcp_profile_apply(profile, &row->group.device, &row->run.training);
        row->run.layout.zero_stage = profile->zero_stage;
        snprintf(row->recompute, sizeof row->recompute, "%s", profile->recompute);
        snprintf(row->offload, sizeof row->offload, "%s", profile->offload);
        snprintf(row->profile, sizeof row->profile, "%s", profile->name);
    }
    row->run.training.precision = precision;
}

static void read_measured(lcp_row *row, const lcp_row_source *from)
{
    const char *status = lcp_row_text(from, LCP_COLUMN_STATUS);
    const char *unit = lcp_row_text(from, LCP_COLUMN_MEM_UNIT);
    double tokens = (double)row->run.global_batch_sequences * (double)row->run.sequence_length_tokens;
    double devices = lcp_row_number(from, row, LCP_COLUMN_GPUS, 0, 0, 1e7);
    double rate = lcp_row_number(from, row, LCP_COLUMN_TOKENS_PER_S_GPU, 0, 0, 1e12);
    row->measured_seconds = lcp_row_number(from, row, LCP_COLUMN_ITER_TIME_S, 0, 0, 1e9);
    if (!(row->measured_seconds > 0) && rate > 0 && devices > 0) {
        row->measured_seconds = tokens / rate / devices;
    }
    double scale = lcp_row_says(unit, "GiB") ? 1073741824.0 : 1e9;
    row->measured_bytes = scale * lcp_row_number(from, row, LCP_COLUMN_PEAK_MEM_GB, 0, 0, 1e6);
    row->last_rank_memory = lcp_row_says(lcp_row_text(from, LCP_COLUMN_FRAMEWORK), "Megatron-Core");
    row->out_of_memory = strcmp(status, "oom") == 0;
    row->suspect = lcp_row_says(lcp_row_text(from, LCP_COLUMN_NOTES), "SUSPECT");
    if (status[0] != '\0' && strcmp(status, "ok") != 0 && !row->out_of_memory) {
        lcp_row_skip(row, "status: found '%.40s', expected ok or oom", status);
    }
}

/* Settings that decide the time, all in the row? */
static bool is_described(const lcp_row_source *from)
{
    static const lcp_column needed[] = {LCP_COLUMN_LAYERS, LCP_COLUMN_HIDDEN, LCP_COLUMN_HEADS, LCP_COLUMN_SEQ_LEN,
                                        LCP_COLUMN_GBS,    LCP_COLUMN_MBS,    LCP_COLUMN_GPUS,  LCP_COLUMN_TP,
                                        LCP_COLUMN_PP,     LCP_COLUMN_CP,     LCP_COLUMN_DP};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (lcp_row_blank(from, needed[i])) {
            return false;
        }
    }
    return true;
}

void lcp_row_read(lcp_row *out, const lcp_csv *csv, const lcp_row_map *map, size_t number,
                  const lcp_profile_set *profiles)
{
    lcp_row_source from = {csv, map, number};
    *out = (lcp_row){.number = number, .run = lcp_run_default()};
    snprintf(out->framework, sizeof out->framework, "%.60s", lcp_row_text(&from, LCP_COLUMN_FRAMEWORK));
    read_device(out, &from);
    read_precision(out, &from);
    if (out->skipped[0] == '\0') {
        apply_profile(out, profiles);
    }
    lcp_row_read_model(out, &from);
    lcp_row_read_run(out, &from);
    lcp_row_read_recompute(out, &from);
    read_measured(out, &from);
    bool recompute_known = !lcp_row_blank(&from, LCP_COLUMN_RECOMPUTE);
    out->described = is_described(&from) && (recompute_known || out->recompute[0] != '\0');
    out->complete = out->described && recompute_known;
}

/* One class for all layers. */
static int32_t same_class[LCP_MAX_LAYERS];

lcp_cluster lcp_row_bind(lcp_row *row)
{
    row->model.classes = &row->class;
    row->model.layer_class = same_class;
    return (lcp_cluster){.group_count = 1, .groups = &row->group};
}
