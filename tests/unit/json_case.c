#include "json_case.h"

#include <stdlib.h>
#include <string.h>

json_t *json_of(const char *document)
{
    json_t *root = NULL;
    lcp_error err = {0};
    size_t size = strlen(document);
    char *text = malloc(size + 1);
    assert_non_null(text);
    memcpy(text, document, size + 1);
    for (char *c = strchr(text, '\''); c != NULL; c = strchr(c, '\'')) {
        *c = '"';
    }
    if (lcp_json_load_bytes(&root, text, size, "t", &err) != LCP_OK) {
        fail_msg("%s: %s", text, err.text);
    }
    free(text);
    return root;
}

void assert_error(const lcp_error *err, const char *where, const char *text)
{
    size_t length = strlen(text);
    bool open_end = length > 3 && strcmp(text + length - 3, "...") == 0;
    assert_int_equal(err->status, LCP_INPUT);
    assert_string_equal(err->where, where);
    if (!open_end) {
        assert_string_equal(err->text, text);
    } else if (strncmp(err->text, text, length - 3) != 0) {
        fail_msg("'%s' does not begin like '%s'", err->text, text);
    }
}
