/* Recompute settings in words: none, full, full:block:4, full:uniform:2, selective:core_attn,mlp, or a policy. */
#include "row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bit of the module called so, 0 if there is none. */
static uint32_t module_named(const char *word)
{
    for (uint32_t m = 0; m < LCP_MODULE_COUNT; m++) {
        if (strcmp(lcp_module_rows[m].name, word) == 0) {
            return 1U << m;
        }
    }
    return strcmp(word, "moe") == 0 ? 1U << LCP_MODULE_MLP : 0;
}

/* Modules of "[layernorm moe_act]", "moe,layernorm"; 0 if a word is none. */
static uint32_t modules_of(const char *text)
{
    uint32_t modules = 0;
    char word[32];
    while (*text != '\0') {
        size_t length = strcspn(text, " ,[]");
        snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : 0, text);
        if (length > 0 && module_named(word) == 0) {
            return 0;
        }
        modules |= length > 0 ? module_named(word) : 0;
        text += length + (text[length] != '\0' ? 1 : 0);
    }
    return modules;
}

/* The whole of text is a number of layers. */
static int32_t layers_of(const char *text)
{
    char *end = NULL;
    long value = strtol(text, &end, 10);
    return end != text && *end == '\0' && value >= 1 && value <= 1024 ? (int32_t)value : 0;
}

static bool parse_counted(lcp_run_recompute *out, const char *text)
{
    static const struct {
        const char *start;
        lcp_recompute_method method;
    } forms[] = {{"full:block:", LCP_METHOD_BLOCK}, {"full:uniform:", LCP_METHOD_UNIFORM}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        size_t length = strlen(forms[i].start);
        if (strncmp(text, forms[i].start, length) == 0) {
            *out = (lcp_run_recompute){.method = forms[i].method, .layers = layers_of(text + length)};
            return out->layers > 0;
        }
    }
    return false;
}

bool lcp_recompute_parse(lcp_run_recompute *out, const char *text)
{
    if (strcmp(text, "none") == 0 || strcmp(text, "full") == 0 || strcmp(text, "full:uniform") == 0) {
        *out = (lcp_run_recompute){.method = text[0] == 'n' ? LCP_METHOD_NONE : LCP_METHOD_FULL};
        return true;
    }
    if (strncmp(text, "selective:", 10) == 0) {
        *out = (lcp_run_recompute){.method = LCP_METHOD_SELECTIVE, .modules = modules_of(text + 10)};
        return out->modules != 0;
    }
    for (int32_t p = LCP_RECOMPUTE_ACTIVATION; p < LCP_RECOMPUTE_FULL; p++) {
        if (strcmp(text, lcp_recompute_rows[p].name) == 0) {
            *out = (lcp_run_recompute){LCP_METHOD_POLICY, 0, 0, (lcp_recompute)p, 1};
            return true;
        }
    }
    return parse_counted(out, text);
}
