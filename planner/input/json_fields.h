/* Structs to and from JSON objects by tables: one row per field, key = member name. */
#ifndef LCP_JSON_FIELDS_H
#define LCP_JSON_FIELDS_H

#include "json_reader.h"

#include <stddef.h>

typedef enum lcp_field_kind {
    LCP_FIELD_INT,    /* int64_t */
    LCP_FIELD_INT32,  /* int32_t */
    LCP_FIELD_REAL,   /* double */
    LCP_FIELD_BOOL,   /* bool */
    LCP_FIELD_STRING, /* char[size] */
    LCP_FIELD_CHOICE, /* enum, counted from 0 in the order of names */
    LCP_FIELD_KIND_COUNT
} lcp_field_kind;

typedef struct lcp_field {
    const char *key; /* NULL ends a table */
    lcp_field_kind kind;
    size_t offset, size;
    bool optional;            /* a missing key or null leaves the member as it is */
    int64_t int_lo, int_hi;   /* inclusive */
    double real_lo, real_hi;  /* inclusive */
    const char *const *names; /* NULL-terminated */
} lcp_field;

#define LCP_FIELD_OF(type, member)                                                                                     \
    .key = #member, .offset = offsetof(type, member), .size = sizeof(((const type *)NULL)->member)
#define LCP_INT_FIELD(type, member, lo, hi)                                                                            \
    {                                                                                                                  \
        LCP_FIELD_OF(type, member), .kind = LCP_FIELD_INT, .int_lo = (lo), .int_hi = (hi)                              \
    }
#define LCP_INT32_FIELD(type, member, lo, hi)                                                                          \
    {                                                                                                                  \
        LCP_FIELD_OF(type, member), .kind = LCP_FIELD_INT32, .int_lo = (lo), .int_hi = (hi)                            \
    }
#define LCP_REAL_FIELD(type, member, lo, hi)                                                                           \
    {                                                                                                                  \
        LCP_FIELD_OF(type, member), .kind = LCP_FIELD_REAL, .real_lo = (lo), .real_hi = (hi)                           \
    }
#define LCP_BOOL_FIELD(type, member)                                                                                   \
    {                                                                                                                  \
        LCP_FIELD_OF(type, member), .kind = LCP_FIELD_BOOL                                                             \
    }
#define LCP_STRING_FIELD(type, member)                                                                                 \
    {                                                                                                                  \
        LCP_FIELD_OF(type, member), .kind = LCP_FIELD_STRING                                                           \
    }
#define LCP_CHOICE_FIELD(type, member, words)                                                                          \
    {                                                                                                                  \
        LCP_FIELD_OF(type, member), .kind = LCP_FIELD_CHOICE, .names = (words)                                         \
    }
#define LCP_OPTIONAL_REAL_FIELD(type, member, lo, hi)                                                                  \
    {                                                                                                                  \
        LCP_FIELD_OF(type, member), .kind = LCP_FIELD_REAL, .optional = true, .real_lo = (lo), .real_hi = (hi)         \
    }
#define LCP_OPTIONAL_INT_FIELD(type, member, lo, hi)                                                                   \
    {                                                                                                                  \
        LCP_FIELD_OF(type, member), .kind = LCP_FIELD_INT, .optional = true, .int_lo = (lo), .int_hi = (hi)            \
    }
#define LCP_OPTIONAL_INT32_FIELD(type, member, lo, hi)                                                                 \
    {                                                                                                                  \
        LCP_FIELD_OF(type, member), .kind = LCP_FIELD_INT32, .optional = true, .int_lo = (lo), .int_hi = (hi)          \
    }
#define LCP_OPTIONAL_BOOL_FIELD(type, member)                                                                          \
    {                                                                                                                  \
        LCP_FIELD_OF(type, member), .kind = LCP_FIELD_BOOL, .optional = true                                           \
    }
#define LCP_OPTIONAL_STRING_FIELD(type, member)                                                                        \
    {                                                                                                                  \
        LCP_FIELD_OF(type, member), .kind = LCP_FIELD_STRING, .optional = true                                         \
    }
#define LCP_OPTIONAL_CHOICE_FIELD(type, member, words)                                                                 \
    {                                                                                                                  \
        LCP_FIELD_OF(type, member), .kind = LCP_FIELD_CHOICE, .optional = true, .names = (words)                       \
    }

/* Reads the rows into the struct at `out`; other keys of the object are left to the caller. */
lcp_status lcp_fields_read(void *out, const lcp_json_cursor *object, const lcp_field *fields, lcp_error *err);
/* Every key is in the table, in `extra` (NULL-terminated, may be NULL) or starts with '_'. */
lcp_status lcp_fields_only(const lcp_json_cursor *object, const lcp_field *fields, const char *const *extra,
                           lcp_error *err);
/* Both: all keys of the object are in the table. */
lcp_status lcp_fields_read_only(void *out, const lcp_json_cursor *object, const lcp_field *fields, lcp_error *err);

/* Appends the rows to `object`; false when out of memory. */
bool lcp_fields_write(json_t *object, const void *in, const lcp_field *fields);
/* A new object of the rows; NULL when out of memory. */
json_t *lcp_fields_object(const void *in, const lcp_field *fields);

/* object[key] = value, whose reference is taken; false when value is NULL or memory is short. */
bool lcp_json_put(json_t *object, const char *key, json_t *value);
bool lcp_json_append(json_t *array, json_t *value);

#endif
