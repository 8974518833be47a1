#include "profile.h"

#include "json_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const lcp_field fields[] = {
    LCP_STRING_FIELD(lcp_profile, name),
    LCP_STRING_FIELD(lcp_profile, device),
    LCP_OPTIONAL_STRING_FIELD(lcp_profile, stack),
    LCP_OPTIONAL_STRING_FIELD(lcp_profile, provenance),
    LCP_OPTIONAL_BOOL_FIELD(lcp_profile, sixteen_bit),
    LCP_OPTIONAL_CHOICE_FIELD(lcp_profile, attention_core, lcp_attention_core_names),
    LCP_OPTIONAL_BOOL_FIELD(lcp_profile, dropout),
    LCP_OPTIONAL_CHOICE_FIELD(lcp_profile, loss, lcp_loss_names),
    LCP_OPTIONAL_INT32_FIELD(lcp_profile, gradient_bytes, 2, 4),
    LCP_OPTIONAL_INT32_FIELD(lcp_profile, zero_stage, 0, 3),
    LCP_OPTIONAL_STRING_FIELD(lcp_profile, recompute),
    LCP_OPTIONAL_STRING_FIELD(lcp_profile, offload),
    {.key = NULL},
};

static lcp_status read_words(lcp_words *out, const lcp_json_cursor *root, const char *key, lcp_error *err)
{
    lcp_json_cursor array;
    if (!lcp_json_has(root, key)) {
        return LCP_OK;
    }
    lcp_status status = lcp_json_array(&array, root, key, 0, LCP_PROFILE_MAX_WORDS, err);
    size_t count = status == LCP_OK ? json_array_size(array.value) : 0;
    for (size_t i = 0; status == LCP_OK && i < count; i++) {
        const char *word = NULL;
        status = lcp_json_element_string(&word, &array, i, err);
        if (status == LCP_OK && (word[0] == '\0' || strlen(word) >= sizeof out->words[0])) {
            lcp_json_cursor element = lcp_json_element(&array, i);
            status = lcp_json_fail(&element, NULL, err, "found %zu characters, expected 1 to %zu", strlen(word),
                                   sizeof out->words[0] - 1);
        }
        if (status == LCP_OK) {
            snprintf(out->words[out->count++], sizeof out->words[0], "%s", word);
        }
    }
    return status;
}

static lcp_status read_value(lcp_parameter_value *out, const lcp_parameter_row *row, const lcp_json_cursor *parameters,
                             lcp_error *err)
{
    static const char *const keys[] = {"value", "error", "unit", NULL};
    lcp_json_cursor at;
    if (!lcp_json_has(parameters, row->name)) {
        return LCP_OK;
    }
    if (json_is_number(json_object_get(parameters->value, row->name))) {
        out->given = true;
        return lcp_json_real(&out->value, parameters, row->name, row->low, row->high, err);
    }
    lcp_status status = lcp_json_object(&at, parameters, row->name, err);
    status = status == LCP_OK ? lcp_json_only_keys(&at, keys, err) : status;
    status = status == LCP_OK ? lcp_json_real(&out->value, &at, "value", row->low, row->high, err) : status;
    status = status == LCP_OK ? lcp_json_real_or(&out->error, 0, &at, "error", 0, 1e300, err) : status;
    out->given = status == LCP_OK;
    return status;
}

static lcp_status read_parameters(lcp_profile *out, const lcp_json_cursor *root, lcp_error *err)
{
    const char *names[LCP_PARAMETER_COUNT + 1] = {NULL};
    lcp_json_cursor at;
    for (int32_t p = 0; p < LCP_PARAMETER_COUNT; p++) {
        names[p] = lcp_parameter_rows[p].name;
    }
    lcp_status status = lcp_json_object(&at, root, "parameters", err);
    status = status == LCP_OK ? lcp_json_only_keys(&at, names, err) : status;
    for (int32_t p = 0; status == LCP_OK && p < LCP_PARAMETER_COUNT; p++) {
        status = read_value(&out->values[p], &lcp_parameter_rows[p], &at, err);
    }
    return status;
}

lcp_status lcp_profile_from_json(lcp_profile *out, json_t *root, const char *file, lcp_error *err)
{
    static const char *const extra[] = {"format", "frameworks", "devices", "parameters", "fit", NULL};
    lcp_json_cursor cursor = lcp_json_root(file, root);
    lcp_device device;
    *out = (lcp_profile){.sixteen_bit = true, .loss = LCP_LOSS_FUSED, .gradient_bytes = 4};
    lcp_status status = lcp_json_format(&cursor, "lcplan.profile/1", err);
    status = status == LCP_OK ? lcp_fields_only(&cursor, fields, extra, err) : status;
    status = status == LCP_OK ? lcp_fields_read(out, &cursor, fields, err) : status;
    if (status == LCP_OK && out->gradient_bytes == 3) {
        status = lcp_json_fail(&cursor, "gradient_bytes", err, "found 3, expected 2 or 4");
    }
    if (status == LCP_OK && !lcp_device_find(&device, out->device)) {
        status = lcp_json_fail(&cursor, "device", err, "found \"%.60s\", expected a device of 'lcplan list devices'",
                               out->device);
    }
    status = status == LCP_OK ? read_words(&out->frameworks, &cursor, "frameworks", err) : status;
    status = status == LCP_OK ? read_words(&out->devices, &cursor, "devices", err) : status;
    return status == LCP_OK ? read_parameters(out, &cursor, err) : status;
}

static json_t *words_to_json(const lcp_words *words)
{
    json_t *array = json_array();
    for (int32_t i = 0; array != NULL && i < words->count; i++) {
        if (!lcp_json_append(array, json_string(words->words[i]))) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *value_to_json(const lcp_parameter_value *value, const lcp_parameter_row *row)
{
    json_t *object = json_object();
    bool good = object != NULL && lcp_json_put(object, "value", json_real(value->value)) &&
                lcp_json_put(object, "error", json_real(value->error)) &&
                lcp_json_put(object, "unit", json_string(row->unit));
    if (!good) {
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *lcp_profile_to_json(const lcp_profile *profile)
{
    json_t *root = json_object();
    json_t *parameters = json_object();
    bool good = root != NULL && parameters != NULL && lcp_json_put(root, "format", json_string("lcplan.profile/1")) &&
                lcp_fields_write(root, profile, fields) &&
                lcp_json_put(root, "frameworks", words_to_json(&profile->frameworks)) &&
                lcp_json_put(root, "devices", words_to_json(&profile->devices));
    for (int32_t p = 0; good && p < LCP_PARAMETER_COUNT; p++) {
        const lcp_parameter_row *row = &lcp_parameter_rows[p];
        good =
            !profile->values[p].given || lcp_json_put(parameters, row->name, value_to_json(&profile->values[p], row));
    }
    good = good && lcp_json_put(root, "parameters", json_incref(parameters));
    json_decref(parameters);
    if (!good) {
        json_decref(root);
        return NULL;
    }
    return root;
}

size_t lcp_profile_count(void)
{
    size_t count = 0;
    while (lcp_shipped_profiles[count].name != NULL) {
        count++;
    }
    return count;
}

const char *lcp_profile_name_at(size_t index)
{
    return lcp_shipped_profiles[index].name;
}

static lcp_status read_shipped(lcp_profile *out, const lcp_shipped_profile *shipped, lcp_error *err)
{
    json_t *root = NULL;
    lcp_status status = lcp_json_load_bytes(&root, shipped->text, strlen(shipped->text), shipped->name, err);
    status = status == LCP_OK ? lcp_profile_from_json(out, root, shipped->name, err) : status;
    json_decref(root);
    return status;
}

lcp_status lcp_read_profile(lcp_profile *out, const char *name_or_path, lcp_error *err)
{
    json_t *root = NULL;
    for (size_t i = 0; lcp_shipped_profiles[i].name != NULL; i++) {
        if (strcmp(lcp_shipped_profiles[i].name, name_or_path) == 0) {
            return read_shipped(out, &lcp_shipped_profiles[i], err);
        }
    }
    if (strpbrk(name_or_path, "./") == NULL) {
        return lcp_fail(err, LCP_USAGE, "", "unknown profile '%s'; 'lcplan list profiles' names them", name_or_path);
    }
    lcp_status status = lcp_json_load_file(&root, name_or_path, NULL, err);
    status = status == LCP_OK ? lcp_profile_from_json(out, root, name_or_path, err) : status;
    json_decref(root);
    return status;
}

lcp_status lcp_profiles_load(lcp_profile **out, size_t *count, lcp_error *err)
{
    *count = lcp_profile_count();
    *out = calloc(*count + 1, sizeof **out);
    if (*out == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "no memory for %zu profiles", *count);
    }
    lcp_status status = LCP_OK;
    for (size_t i = 0; status == LCP_OK && i < *count; i++) {
        status = read_shipped(&(*out)[i], &lcp_shipped_profiles[i], err);
    }
    if (status != LCP_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}
