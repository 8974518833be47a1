/* Text that grows, and words quoted as their readers demand. */
#ifndef LCP_EXPORT_TEXT_H
#define LCP_EXPORT_TEXT_H

#include "lcp/status.h"

#include <stdbool.h>

typedef struct lcp_text {
    char *bytes; /* NUL-terminated once anything was put; the owner frees it */
    size_t size, capacity;
    bool failed; /* out of memory: everything later is ignored */
} lcp_text;

void lcp_text_put(lcp_text *text, const char *format, ...) LCP_PRINTF(2, 3);
/* One word of a POSIX shell: bare if it holds nothing special, else in single quotes. */
void lcp_text_shell(lcp_text *text, const char *word);
/* A double-quoted string with the escapes that JSON, TOML, YAML and Python share. */
void lcp_text_quoted(lcp_text *text, const char *word);

#endif
