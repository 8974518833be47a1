#include "cluster_fields.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

const lcp_field lcp_link_fields[] = {
    LCP_OPTIONAL_REAL_FIELD(lcp_link, bandwidth_bytes_per_second, 0, LCP_MAX_RATE),
    LCP_OPTIONAL_REAL_FIELD(lcp_link, latency_seconds, 0, LCP_MAX_SECONDS),
    {.key = NULL},
};

static const lcp_field rate_fields[] = {
    LCP_REAL_FIELD(lcp_rate, ratio, DBL_MIN, 1),
    LCP_REAL_FIELD(lcp_rate, half_rows, 0, 1e9),
    LCP_REAL_FIELD(lcp_rate, overhead_seconds, 0, LCP_MAX_SECONDS),
    {.key = NULL},
};

static const lcp_field device_fields[] = {
    LCP_OPTIONAL_STRING_FIELD(lcp_device, name),
    LCP_OPTIONAL_REAL_FIELD(lcp_device, peak_flops_per_second, DBL_MIN, LCP_MAX_RATE),
    LCP_OPTIONAL_REAL_FIELD(lcp_device, peak_fp8_flops_per_second, 0, LCP_MAX_RATE),
    LCP_OPTIONAL_REAL_FIELD(lcp_device, peak_fp4_flops_per_second, 0, LCP_MAX_RATE),
    LCP_OPTIONAL_INT_FIELD(lcp_device, memory_bytes, 1, LCP_MAX_MEMORY_BYTES),
    LCP_OPTIONAL_REAL_FIELD(lcp_device, memory_bandwidth_bytes_per_second, DBL_MIN, LCP_MAX_RATE),
    LCP_OPTIONAL_REAL_FIELD(lcp_device, attention_narrow_width, 0, 1e6),
    LCP_OPTIONAL_REAL_FIELD(lcp_device, attention_parallel_rows, 0, 1e9),
    LCP_OPTIONAL_REAL_FIELD(lcp_device, memory_ratio, DBL_MIN, 1),
    LCP_OPTIONAL_REAL_FIELD(lcp_device, collective_ratio, DBL_MIN, 1),
    LCP_OPTIONAL_REAL_FIELD(lcp_device, collective_half_bytes, 0, 1e12),
    LCP_OPTIONAL_REAL_FIELD(lcp_device, pass_overhead_seconds, 0, LCP_MAX_SECONDS),
    LCP_OPTIONAL_REAL_FIELD(lcp_device, hop_overhead_seconds, 0, LCP_MAX_SECONDS),
    LCP_OPTIONAL_REAL_FIELD(lcp_device, network_ratio, DBL_MIN, 1),
    LCP_OPTIONAL_REAL_FIELD(lcp_device, layer_host_seconds, 0, LCP_MAX_SECONDS),
    LCP_OPTIONAL_REAL_FIELD(lcp_device, step_overhead_seconds, 0, LCP_MAX_SECONDS),
    LCP_OPTIONAL_REAL_FIELD(lcp_device, activation_ratio, 1, 10),
    LCP_OPTIONAL_INT_FIELD(lcp_device, fixed_memory_bytes, 0, LCP_MAX_MEMORY_BYTES),
    LCP_OPTIONAL_REAL_FIELD(lcp_device, power_watts, 0, 1e6),
    LCP_OPTIONAL_STRING_FIELD(lcp_device, provenance),
    {.key = NULL},
};

static const lcp_part device_parts[] = {
    {"matmul", offsetof(lcp_device, matmul), rate_fields},
    {"attention_forward", offsetof(lcp_device, attention_forward), rate_fields},
    {"attention_backward", offsetof(lcp_device, attention_backward), rate_fields},
    {"intra_node", offsetof(lcp_device, intra_node), lcp_link_fields},
    {"inter_node", offsetof(lcp_device, inter_node), lcp_link_fields},
    {"host", offsetof(lcp_device, host), lcp_link_fields},
    {NULL, 0, NULL},
};
static const char *const device_extra[] = {
    "like", "matmul", "attention_forward", "attention_backward", "intra_node", "inter_node", "host", NULL};

lcp_status lcp_parts_read(void *out, const lcp_json_cursor *object, const lcp_part *parts, lcp_error *err)
{
    for (; parts->key != NULL; parts++) {
        lcp_json_cursor at;
        if (!lcp_json_has(object, parts->key)) {
            continue;
        }
        lcp_status status = lcp_json_object(&at, object, parts->key, err);
        if (status == LCP_OK) {
            status = lcp_fields_read_only((char *)out + parts->offset, &at, parts->fields, err);
        }
        if (status != LCP_OK) {
            return status;
        }
    }
    return LCP_OK;
}

bool lcp_parts_write(json_t *object, const void *in, const lcp_part *parts)
{
    for (; parts->key != NULL; parts++) {
        if (!lcp_json_put(object, parts->key, lcp_fields_object((const char *)in + parts->offset, parts->fields))) {
            return false;
        }
    }
    return true;
}

void lcp_device_list(char *words, size_t size)
{
    words[0] = '\0';
    for (size_t i = 0, used = 0; i < lcp_device_row_count && used + 1 < size; i++) {
        snprintf(words + used, size - used, "%s%s", i > 0 ? ", " : "", lcp_device_rows[i].short_name);
        used += strlen(words + used);
    }
}

static lcp_status unknown_device(const lcp_json_cursor *at, const char *key, const char *name, lcp_error *err)
{
    char words[768];
    lcp_device_list(words, sizeof words);
    return lcp_json_fail(at, key, err, "unknown device \"%s\", expected an object or one of: %s", name, words);
}

static lcp_status read_catalogue(lcp_device *out, const lcp_json_cursor *object, const char *key, lcp_error *err)
{
    char name[LCP_NAME_SIZE];
    lcp_status status = lcp_json_string(name, sizeof name, object, key, err);
    if (status == LCP_OK && !lcp_device_find(out, name)) {
        status = unknown_device(object, key, name, err);
    }
    return status;
}

/* What a device without a catalogue row must say. */
static lcp_status check_device(const lcp_device *device, const lcp_json_cursor *at, lcp_error *err)
{
    const struct {
        const char *key;
        bool given;
    } needed[] = {
        {"name", device->name[0] != '\0'},
        {"peak_flops_per_second", device->peak_flops_per_second > 0},
        {"memory_bytes", device->memory_bytes > 0},
        {"memory_bandwidth_bytes_per_second", device->memory_bandwidth_bytes_per_second > 0},
    };
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (!needed[i].given) {
            return lcp_json_fail(at, needed[i].key, err, "missing, expected it in a device that is \"like\" no other");
        }
    }
    return LCP_OK;
}

static lcp_status read_inline_device(lcp_device *out, const lcp_json_cursor *at, lcp_error *err)
{
    *out = lcp_device_generic();
    lcp_status status = lcp_fields_only(at, device_fields, device_extra, err);
    if (status == LCP_OK && lcp_json_has(at, "like")) {
        status = read_catalogue(out, at, "like", err);
    }
    if (status == LCP_OK) {
        status = lcp_fields_read(out, at, device_fields, err);
    }
    if (status == LCP_OK) {
        status = lcp_parts_read(out, at, device_parts, err);
    }
    return status != LCP_OK ? status : check_device(out, at, err);
}

lcp_status lcp_device_read(lcp_device *out, const lcp_json_cursor *group, lcp_error *err)
{
    lcp_json_cursor at;
    if (json_is_string(json_object_get(group->value, "device"))) {
        return read_catalogue(out, group, "device", err);
    }
    lcp_status status = lcp_json_object(&at, group, "device", err);
    return status != LCP_OK ? status : read_inline_device(out, &at, err);
}

json_t *lcp_device_to_json(const lcp_device *device)
{
    json_t *object = lcp_fields_object(device, device_fields);
    if (object != NULL && !lcp_parts_write(object, device, device_parts)) {
        json_decref(object);
        return NULL;
    }
    return object;
}
