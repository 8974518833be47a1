#include "json_fields.h"

#include <assert.h>
#include <string.h>

_Static_assert(sizeof(enum lcp_field_kind) == sizeof(int32_t), "choices are read and written as 32-bit integers");

#define MAX_KEYS 64

typedef struct field_row {
    lcp_status (*read)(void *member, const lcp_field *field, const lcp_json_cursor *object, lcp_error *err);
    json_t *(*write)(const void *member, const lcp_field *field);
} field_row;

static lcp_status read_int(void *member, const lcp_field *field, const lcp_json_cursor *object, lcp_error *err)
{
    return lcp_json_int(member, object, field->key, field->int_lo, field->int_hi, err);
}

static json_t *write_int(const void *member, const lcp_field *field)
{
    (void)field;
    return json_integer(*(const int64_t *)member);
}

static lcp_status read_int32(void *member, const lcp_field *field, const lcp_json_cursor *object, lcp_error *err)
{
    return lcp_json_int32(member, object, field->key, (int32_t)field->int_lo, (int32_t)field->int_hi, err);
}

static json_t *write_int32(const void *member, const lcp_field *field)
{
    (void)field;
    return json_integer(*(const int32_t *)member);
}

static lcp_status read_real(void *member, const lcp_field *field, const lcp_json_cursor *object, lcp_error *err)
{
    return lcp_json_real(member, object, field->key, field->real_lo, field->real_hi, err);
}

static json_t *write_real(const void *member, const lcp_field *field)
{
    (void)field;
    return json_real(*(const double *)member);
}

static lcp_status read_bool(void *member, const lcp_field *field, const lcp_json_cursor *object, lcp_error *err)
{
    return lcp_json_bool(member, object, field->key, err);
}

static json_t *write_bool(const void *member, const lcp_field *field)
{
    (void)field;
    return json_boolean(*(const bool *)member);
}

static lcp_status read_string(void *member, const lcp_field *field, const lcp_json_cursor *object, lcp_error *err)
{
    return lcp_json_string(member, field->size, object, field->key, err);
}

static json_t *write_string(const void *member, const lcp_field *field)
{
    (void)field;
    return json_string(member);
}

static lcp_status read_choice(void *member, const lcp_field *field, const lcp_json_cursor *object, lcp_error *err)
{
    int32_t choice = 0;
    lcp_status status = lcp_json_choice(&choice, object, field->key, field->names, err);
    if (status == LCP_OK) {
        memcpy(member, &choice, sizeof choice);
    }
    return status;
}

static json_t *write_choice(const void *member, const lcp_field *field)
{
    int32_t choice = 0;
    memcpy(&choice, member, sizeof choice);
    return json_string(field->names[choice]);
}

static const field_row rows[LCP_FIELD_KIND_COUNT] = {
    [LCP_FIELD_INT] = {read_int, write_int},          [LCP_FIELD_INT32] = {read_int32, write_int32},
    [LCP_FIELD_REAL] = {read_real, write_real},       [LCP_FIELD_BOOL] = {read_bool, write_bool},
    [LCP_FIELD_STRING] = {read_string, write_string}, [LCP_FIELD_CHOICE] = {read_choice, write_choice},
};

lcp_status lcp_fields_read(void *out, const lcp_json_cursor *object, const lcp_field *fields, lcp_error *err)
{
    for (const lcp_field *field = fields; field->key != NULL; field++) {
        if (field->optional && !lcp_json_has(object, field->key)) {
            continue;
        }
        lcp_status status = rows[field->kind].read((char *)out + field->offset, field, object, err);
        if (status != LCP_OK) {
            return status;
        }
    }
    return LCP_OK;
}

lcp_status lcp_fields_only(const lcp_json_cursor *object, const lcp_field *fields, const char *const *extra,
                           lcp_error *err)
{
    const char *allowed[MAX_KEYS + 1];
    size_t count = 0;
    for (; extra != NULL && *extra != NULL; extra++) {
        assert(count < MAX_KEYS);
        allowed[count++] = *extra;
    }
    for (; fields->key != NULL; fields++) {
        assert(count < MAX_KEYS);
        allowed[count++] = fields->key;
    }
    allowed[count] = NULL;
    return lcp_json_only_keys(object, allowed, err);
}

lcp_status lcp_fields_read_only(void *out, const lcp_json_cursor *object, const lcp_field *fields, lcp_error *err)
{
    lcp_status status = lcp_fields_only(object, fields, NULL, err);
    return status != LCP_OK ? status : lcp_fields_read(out, object, fields, err);
}

bool lcp_json_put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

bool lcp_json_append(json_t *array, json_t *value)
{
    return json_array_append_new(array, value) == 0;
}

bool lcp_fields_write(json_t *object, const void *in, const lcp_field *fields)
{
    for (const lcp_field *field = fields; field->key != NULL; field++) {
        if (!lcp_json_put(object, field->key, rows[field->kind].write((const char *)in + field->offset, field))) {
            return false;
        }
    }
    return true;
}

json_t *lcp_fields_object(const void *in, const lcp_field *fields)
{
    json_t *object = json_object();
    if (object != NULL && !lcp_fields_write(object, in, fields)) {
        json_decref(object);
        return NULL;
    }
    return object;
}
