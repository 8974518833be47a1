#include "export/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(lcp_text *text, size_t more)
{
    if (text->failed || text->capacity - text->size > more) {
        return !text->failed;
    }
    size_t capacity = 2 * text->capacity + more + 256;
    char *grown = realloc(text->bytes, capacity);
    text->failed = grown == NULL;
    if (grown != NULL) {
        text->bytes = grown;
        text->capacity = capacity;
    }
    return grown != NULL;
}

void lcp_text_put(lcp_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || !reserve(text, (size_t)length)) {
        text->failed = true;
        return;
    }
    va_start(arguments, format);
    vsnprintf(text->bytes + text->size, text->capacity - text->size, format, arguments);
    va_end(arguments);
    text->size += (size_t)length;
}

static bool is_bare(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    return word[0] != '\0' && strspn(word, plain) == strlen(word);
}

void lcp_text_shell(lcp_text *text, const char *word)
{
    if (is_bare(word)) {
        lcp_text_put(text, "%s", word);
        return;
    }
    lcp_text_put(text, "'");
    for (const char *c = word; *c != '\0'; c++) {
        if (*c == '\'') {
            lcp_text_put(text, "'\\''");
        } else {
            lcp_text_put(text, "%c", *c);
        }
    }
    lcp_text_put(text, "'");
}

void lcp_text_quoted(lcp_text *text, const char *word)
{
    lcp_text_put(text, "\"");
    for (const char *c = word; *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;
        if (byte == '"' || byte == '\\') {
            lcp_text_put(text, "\\%c", byte);
        } else if (byte < 0x20 || byte == 0x7f) {
            lcp_text_put(text, "\\u%04x", byte);
        } else {
            lcp_text_put(text, "%c", byte);
        }
    }
    lcp_text_put(text, "\"");
}
