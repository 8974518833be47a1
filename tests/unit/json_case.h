/* A document that a reader refuses, and what it says. */
#ifndef LCP_JSON_CASE_H
#define LCP_JSON_CASE_H

#include "support.h"

#include "input/input.h"

typedef struct json_case {
    const char *document;
    const char *where;
    const char *text; /* the message, or its beginning when it ends in "..." */
} json_case;

/* The document with every ' turned into ". Fails the test if it is not JSON. */
json_t *json_of(const char *document);
void assert_error(const lcp_error *err, const char *where, const char *text);

#endif
