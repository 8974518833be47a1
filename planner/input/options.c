#include "input.h"
#include "json_fields.h"

#include <stdio.h>
#include <string.h>

static const char *const recompute_modes[] = {"auto", "none", "selective", "full", "block", NULL};
static const lcp_field training_fields[] = {
    LCP_OPTIONAL_CHOICE_FIELD(lcp_training, precision, lcp_precision_names),
    LCP_OPTIONAL_CHOICE_FIELD(lcp_training, optimizer, lcp_optimizer_names),
    LCP_OPTIONAL_CHOICE_FIELD(lcp_training, loss, lcp_loss_names),
    LCP_OPTIONAL_INT32_FIELD(lcp_training, gradient_bytes, 2, 4),
    LCP_OPTIONAL_INT32_FIELD(lcp_training, kv_gradient_bytes, 2, 4),
    LCP_OPTIONAL_REAL_FIELD(lcp_training, expert_imbalance, 1, 1e6),
    LCP_OPTIONAL_REAL_FIELD(lcp_training, dp_overlap_ratio, 0, 1),
    LCP_OPTIONAL_REAL_FIELD(lcp_training, tp_overlap_ratio, 0, 1),
    LCP_OPTIONAL_REAL_FIELD(lcp_training, tp_grad_overlap_ratio, 0, 1),
    LCP_OPTIONAL_REAL_FIELD(lcp_training, ep_overlap_ratio, 0, 1),
    LCP_OPTIONAL_REAL_FIELD(lcp_training, zero_overlap_ratio, 0, 1),
    LCP_OPTIONAL_CHOICE_FIELD(lcp_training, attention_core, lcp_attention_core_names),
    LCP_OPTIONAL_BOOL_FIELD(lcp_training, dropout),
    LCP_OPTIONAL_BOOL_FIELD(lcp_training, mla_keeps_expanded_kv),
    {.key = NULL},
};

static const lcp_field option_fields[] = {
    LCP_OPTIONAL_STRING_FIELD(lcp_options, schedule),
    LCP_OPTIONAL_CHOICE_FIELD(lcp_options, recompute, recompute_modes),
    LCP_OPTIONAL_BOOL_FIELD(lcp_options, slicing),
    LCP_OPTIONAL_BOOL_FIELD(lcp_options, uniform_recompute),
    LCP_OPTIONAL_BOOL_FIELD(lcp_options, equal_layers),
    LCP_OPTIONAL_BOOL_FIELD(lcp_options, equal_chunks),
    LCP_OPTIONAL_STRING_FIELD(lcp_options, trainer),
    LCP_OPTIONAL_INT_FIELD(lcp_options, min_slice_tokens, 1, INT32_MAX),
    LCP_OPTIONAL_REAL_FIELD(lcp_options, gap_ratio, 0, 1),
    LCP_OPTIONAL_INT32_FIELD(lcp_options, threads, 0, 4096),
    LCP_OPTIONAL_INT_FIELD(lcp_options, max_candidates, 0, INT64_MAX),
    LCP_OPTIONAL_REAL_FIELD(lcp_options, time_limit_seconds, 0, 1e9),
    {.key = NULL},
};

typedef struct degree_row {
    const char *key;
    size_t offset;
} degree_row;

static const degree_row degrees[] = {
    {"dp", offsetof(lcp_options, dp)},           {"pp", offsetof(lcp_options, pp)},
    {"vpp", offsetof(lcp_options, vpp)},         {"tp", offsetof(lcp_options, tp)},
    {"ulysses", offsetof(lcp_options, ulysses)}, {"ring", offsetof(lcp_options, ring)},
    {"ep", offsetof(lcp_options, ep)},
};
#define DEGREE_COUNT (sizeof degrees / sizeof degrees[0])

#define MAX_DEGREE (1 << 20)

lcp_options lcp_options_default(void)
{
    lcp_options options = {
        .zero_stage = -1,
        .recompute = LCP_RECOMPUTE_MODE_AUTO,
        .slicing = true,
        .min_slice_tokens = 1024,
        .gap_ratio = 0.02,
        .training = lcp_training_default(),
    };
    snprintf(options.schedule, sizeof options.schedule, "auto");
    return options;
}

static bool is_auto(const lcp_json_cursor *object, const char *key)
{
    const char *word = json_string_value(json_object_get(object->value, key));
    return word != NULL && strcmp(word, "auto") == 0;
}

static lcp_status read_degree_list(lcp_degree *out, const lcp_json_cursor *array, lcp_error *err)
{
    *out = (lcp_degree){0};
    for (size_t i = 0; i < json_array_size(array->value); i++) {
        int64_t value = 0;
        int64_t above = i > 0 ? out->values[i - 1] + 1 : 1;
        lcp_status status = lcp_json_element_int(&value, array, i, above, MAX_DEGREE, err);
        if (status != LCP_OK) {
            return status;
        }
        out->values[out->count++] = (int32_t)value;
    }
    return LCP_OK;
}

/* "auto", a number or an ascending list. */
static lcp_status read_degree(lcp_degree *out, const lcp_json_cursor *object, const char *key, lcp_error *err)
{
    lcp_json_cursor array;
    if (!lcp_json_has(object, key)) {
        return LCP_OK;
    }
    if (is_auto(object, key)) {
        out->count = 0;
        return LCP_OK;
    }
    if (json_is_number(json_object_get(object->value, key))) {
        lcp_status status = lcp_json_int32(&out->values[0], object, key, 1, MAX_DEGREE, err);
        out->count = 1;
        return status;
    }
    lcp_status status = lcp_json_array(&array, object, key, 1, LCP_MAX_DEGREE_VALUES, err);
    return status != LCP_OK ? status : read_degree_list(out, &array, err);
}

static lcp_status read_zero_stage(int32_t *out, const lcp_json_cursor *object, lcp_error *err)
{
    if (!lcp_json_has(object, "zero_stage")) {
        return LCP_OK;
    }
    if (is_auto(object, "zero_stage")) {
        *out = -1;
        return LCP_OK;
    }
    return lcp_json_int32(out, object, "zero_stage", 0, 3, err);
}

static lcp_status read_training(lcp_training *out, const lcp_json_cursor *root, lcp_error *err)
{
    lcp_json_cursor at;
    if (!lcp_json_has(root, "training")) {
        return LCP_OK;
    }
    lcp_status status = lcp_json_object(&at, root, "training", err);
    if (status == LCP_OK) {
        status = lcp_fields_read_only(out, &at, training_fields, err);
    }
    if (status == LCP_OK && out->gradient_bytes == 3) {
        status = lcp_json_fail(&at, "gradient_bytes", err, "found 3, expected 2 or 4");
    }
    if (status == LCP_OK && out->kv_gradient_bytes == 3) {
        status = lcp_json_fail(&at, "kv_gradient_bytes", err, "found 3, expected 2 or 4");
    }
    return status;
}

lcp_status lcp_options_read(lcp_options *out, const lcp_json_cursor *root, lcp_error *err)
{
    static const char *const extra[] = {"dp",   "pp", "vpp",        "tp",       "ulysses",
                                        "ring", "ep", "zero_stage", "training", NULL};
    *out = lcp_options_default();
    lcp_status status = lcp_fields_only(root, option_fields, extra, err);
    for (size_t i = 0; status == LCP_OK && i < DEGREE_COUNT; i++) {
        status = read_degree((lcp_degree *)(void *)((char *)out + degrees[i].offset), root, degrees[i].key, err);
    }
    if (status == LCP_OK) {
        status = read_zero_stage(&out->zero_stage, root, err);
    }
    if (status == LCP_OK) {
        status = lcp_fields_read(out, root, option_fields, err);
    }
    return status != LCP_OK ? status : read_training(&out->training, root, err);
}

lcp_status lcp_options_from_json(lcp_options *out, json_t *root, const char *file, lcp_error *err)
{
    lcp_json_cursor cursor = lcp_json_root(file, root);
    return lcp_options_read(out, &cursor, err);
}

static json_t *degree_to_json(const lcp_degree *degree)
{
    if (degree->count == 0) {
        return json_string("auto");
    }
    json_t *array = json_array();
    for (int32_t i = 0; array != NULL && i < degree->count; i++) {
        if (!lcp_json_append(array, json_integer(degree->values[i]))) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

json_t *lcp_options_to_json(const lcp_options *options)
{
    json_t *root = json_object();
    bool good = root != NULL;
    for (size_t i = 0; good && i < DEGREE_COUNT; i++) {
        const lcp_degree *degree = (const lcp_degree *)(const void *)((const char *)options + degrees[i].offset);
        good = lcp_json_put(root, degrees[i].key, degree_to_json(degree));
    }
    json_t *zero_stage = options->zero_stage < 0 ? json_string("auto") : json_integer(options->zero_stage);
    good = good && lcp_json_put(root, "zero_stage", json_incref(zero_stage)) &&
           lcp_fields_write(root, options, option_fields) &&
           lcp_json_put(root, "training", lcp_fields_object(&options->training, training_fields));
    json_decref(zero_stage);
    if (!good) {
        json_decref(root);
        return NULL;
    }
    return root;
}
