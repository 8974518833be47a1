#include "plan_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Widest line of values, indentation included. */
#define LINE_COLUMNS 120
/* No limit: the text of a value that is written whatever its width. */
#define UNLIMITED SIZE_MAX

typedef struct text {
    char *bytes;
    size_t size, capacity;
    size_t limit; /* bytes beyond it set `full` instead */
    bool full, failed;
} text;

static void put_bytes(text *t, const char *bytes, size_t size)
{
    if (t->failed || t->full || t->limit - t->size < size) {
        t->full = true;
        return;
    }
    if (t->capacity - t->size <= size) {
        size_t capacity = 2 * t->capacity + size + 4096;
        char *grown = realloc(t->bytes, capacity);
        if (grown == NULL) {
            t->failed = true;
            return;
        }
        t->bytes = grown;
        t->capacity = capacity;
    }
    memcpy(t->bytes + t->size, bytes, size);
    t->size += size;
    t->bytes[t->size] = '\0';
}

static void put(text *t, const char *string)
{
    put_bytes(t, string, strlen(string));
}

static void put_string(text *t, const char *string, size_t length)
{
    put(t, "\"");
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)string[i];
        char escaped[8];
        if (c == '"' || c == '\\') {
            snprintf(escaped, sizeof escaped, "\\%c", c);
            put(t, escaped);
        } else if (c < 0x20) {
            snprintf(escaped, sizeof escaped, "\\u%04x", c);
            put(t, escaped);
        } else {
            put_bytes(t, string + i, 1);
        }
    }
    put(t, "\"");
}

/* The first of 15, 16 and 17 digits that reads back as the same double; 17 always does. */
static void put_real(text *t, double value)
{
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        double back = strtod(digits, NULL);
        if (!(back < value) && !(back > value)) {
            break;
        }
    }
    for (char *c = digits; *c != '\0'; c++) {
        if (strchr("0123456789+-e", *c) == NULL) {
            *c = '.'; /* whatever the locale has */
        }
    }
    put(t, digits);
}

static void put_scalar(text *t, const json_t *value)
{
    char digits[32];
    if (json_is_string(value)) {
        put_string(t, json_string_value(value), json_string_length(value));
    } else if (json_is_integer(value)) {
        snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        put(t, digits);
    } else if (json_is_real(value)) {
        put_real(t, json_real_value(value));
    } else {
        put(t, json_is_true(value) ? "true" : json_is_false(value) ? "false" : "null");
    }
}

typedef struct member {
    const char *key; /* NULL in an array */
    const json_t *value;
} member;

/* Steps over the members of an object or the elements of an array, in order. */
typedef struct walk {
    json_t *container;
    void *next_member;
    size_t next_index;
} walk;

/* jansson's iterators take a non-const object and leave it as it is. */
static walk walk_start(const json_t *container)
{
    union {
        const json_t *constant;
        json_t *plain;
    } cast = {container};
    return (walk){cast.plain, json_object_iter(cast.plain), 0};
}

static bool walk_next(walk *w, member *out)
{
    if (json_is_array(w->container)) {
        *out = (member){NULL, json_array_get(w->container, w->next_index++)};
        return out->value != NULL;
    }
    if (w->next_member == NULL) {
        return false;
    }
    *out = (member){json_object_iter_key(w->next_member), json_object_iter_value(w->next_member)};
    w->next_member = json_object_iter_next(w->container, w->next_member);
    return true;
}

static void put_key(text *t, const char *key)
{
    if (key != NULL) {
        put_string(t, key, strlen(key));
        put(t, ": ");
    }
}

static void put_inline(text *t, const json_t *value)
{
    bool array = json_is_array(value);
    if (!array && !json_is_object(value)) {
        put_scalar(t, value);
        return;
    }
    walk w = walk_start(value);
    member m;
    put(t, array ? "[" : "{");
    for (bool first = true; !t->full && walk_next(&w, &m); first = false) {
        put(t, first ? "" : ", ");
        put_key(t, m.key);
        put_inline(t, m.value);
    }
    put(t, array ? "]" : "}");
}

/* One line if it ends by the last column, else nothing is written. */
static bool put_within(text *t, const json_t *value, size_t columns)
{
    size_t start = t->size;
    t->limit = start + columns;
    put_inline(t, value);
    t->limit = UNLIMITED;
    if (t->full && !t->failed) {
        t->full = false;
        t->size = start;
        return false;
    }
    return true;
}

static void put_line_start(text *t, size_t indent)
{
    put(t, "\n");
    for (size_t i = 0; i < indent; i++) {
        put(t, " ");
    }
}

static size_t column(const text *t)
{
    size_t i = t->size;
    while (i > 0 && t->bytes[i - 1] != '\n') {
        i--;
    }
    return t->size - i;
}

static size_t room(const text *t)
{
    size_t used = column(t) + 1; /* a comma may follow */
    return used < LINE_COLUMNS ? LINE_COLUMNS - used : 0;
}

/* Arrays of numbers and arrays of operations fill their lines; everything else has a line for each element. */
static bool fills_lines(const json_t *value)
{
    const json_t *first = json_array_get(value, 0);
    return json_is_array(value) && !json_is_object(first) && !json_is_object(json_array_get(first, 0));
}

static void put_value(text *t, const json_t *value, size_t indent)
{
    bool container = json_is_array(value) || json_is_object(value);
    if (!container || put_within(t, value, room(t))) {
        if (!container) {
            put_scalar(t, value);
        }
        return;
    }
    bool array = json_is_array(value);
    bool fill = fills_lines(value);
    walk w = walk_start(value);
    member m;
    put(t, array ? "[" : "{");
    for (bool first = true; walk_next(&w, &m); first = false) {
        put(t, first ? "" : ",");
        if (!first && fill) {
            put(t, " ");
        }
        if (first || !fill || !put_within(t, m.value, room(t))) {
            t->size -= !first && fill ? 1 : 0;
            put_line_start(t, indent + 1);
            put_key(t, m.key);
            put_value(t, m.value, indent + 1);
        }
    }
    put_line_start(t, indent);
    put(t, array ? "]" : "}");
}

lcp_status lcp_json_text(char **out, size_t *size, const json_t *document, lcp_error *err)
{
    text t = {.limit = UNLIMITED};
    *out = NULL;
    *size = 0;
    if (document == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "no memory for a document");
    }
    put_value(&t, document, 0);
    put(&t, "\n");
    if (t.failed) {
        free(t.bytes);
        return lcp_fail(err, LCP_NOMEM, "", "no memory for the text of a document");
    }
    *out = t.bytes;
    *size = t.size;
    return LCP_OK;
}
