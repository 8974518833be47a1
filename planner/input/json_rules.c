#include "json_reader.h"

#include <stdio.h>
#include <string.h>

static bool is_listed(const char *key, const char *const *allowed)
{
    for (; *allowed != NULL; allowed++) {
        if (strcmp(key, *allowed) == 0) {
            return true;
        }
    }
    return false;
}

/* "a, b, c" of a NULL-terminated list. */
static void join(char *words, size_t size, const char *const *names)
{
    size_t used = 0;
    words[0] = '\0';
    for (; *names != NULL && used + 1 < size; names++) {
        snprintf(words + used, size - used, "%s%s", used > 0 ? ", " : "", *names);
        used += strlen(words + used);
    }
}

lcp_status lcp_json_only_keys(const lcp_json_cursor *object, const char *const *allowed, lcp_error *err)
{
    lcp_status status = lcp_json_expect_object(object, err);
    if (status != LCP_OK) {
        return status;
    }
    for (void *i = json_object_iter(object->value); i != NULL; i = json_object_iter_next(object->value, i)) {
        const char *key = json_object_iter_key(i);
        if (key[0] != '_' && !is_listed(key, allowed)) {
            char words[900];
            join(words, sizeof words, allowed);
            return lcp_json_fail(object, key, err, "unknown key, expected one of: %s", words);
        }
    }
    return LCP_OK;
}

lcp_status lcp_json_choice(int32_t *out, const lcp_json_cursor *object, const char *key, const char *const *names,
                           lcp_error *err)
{
    char word[64] = "";
    lcp_status status = lcp_json_string(word, sizeof word, object, key, err);
    for (int32_t i = 0; status == LCP_OK && names[i] != NULL; i++) {
        if (strcmp(word, names[i]) == 0) {
            *out = i;
            return LCP_OK;
        }
    }
    if (status == LCP_OK) {
        char words[512];
        join(words, sizeof words, names);
        status = lcp_json_fail(object, key, err, "found \"%s\", expected one of: %s", word, words);
    }
    return status;
}

lcp_status lcp_json_choice_or(int32_t *out, int32_t preset, const lcp_json_cursor *object, const char *key,
                              const char *const *names, lcp_error *err)
{
    *out = preset;
    return lcp_json_has(object, key) ? lcp_json_choice(out, object, key, names, err) : LCP_OK;
}

lcp_status lcp_json_format(const lcp_json_cursor *root, const char *format, lcp_error *err)
{
    const char *names[] = {format, NULL};
    int32_t only = 0;
    return lcp_json_choice(&only, root, "format", names, err);
}
