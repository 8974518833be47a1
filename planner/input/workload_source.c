#include "input.h"
#include "json_fields.h"
#include "lengths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The folder part of a path, "." without one; NULL for standard input. */
static const char *directory_of(char *buffer, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (strcmp(path, "-") == 0) {
        return NULL;
    }
    snprintf(buffer, size, "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1, slash != NULL ? path : ".");
    return buffer;
}

lcp_status lcp_read_workload(lcp_workload *out, lcp_source *source, const char *path, lcp_error *err)
{
    char directory[512];
    json_t *root = NULL;
    *out = (lcp_workload){0};
    *source = (lcp_source){0};
    if (strlen(path) >= sizeof directory) {
        return lcp_fail(err, LCP_INPUT, path, "found a path of %zu bytes, expected less than %zu", strlen(path),
                        sizeof directory);
    }
    lcp_status status = lcp_json_load_file(&root, path, source->sha256, err);
    if (status == LCP_OK) {
        snprintf(source->path, sizeof source->path, "%s", path);
        status = lcp_workload_from_json(out, root, path, directory_of(directory, sizeof directory, path), err);
    }
    json_decref(root);
    return status;
}

lcp_status lcp_workload_uniform(lcp_workload *out, lcp_source *source, int64_t length_tokens, int64_t sequences,
                                lcp_error *err)
{
    *out = (lcp_workload){.max_length_tokens = length_tokens, .sequence_count = sequences};
    *source = (lcp_source){0};
    if (length_tokens < 1 || length_tokens > LCP_MAX_LENGTH_TOKENS) {
        return lcp_fail(err, LCP_INPUT, "--sequence-length", "found %lld, expected an integer in [1, %d]",
                        (long long)length_tokens, LCP_MAX_LENGTH_TOKENS);
    }
    if (sequences < 1 || sequences > LCP_MAX_SEQUENCES) {
        return lcp_fail(err, LCP_INPUT, "--global-batch", "found %lld, expected an integer in [1, %d]",
                        (long long)sequences, LCP_MAX_SEQUENCES);
    }
    out->lengths_tokens = malloc((size_t)sequences * sizeof *out->lengths_tokens);
    if (out->lengths_tokens == NULL) {
        return lcp_fail(err, LCP_NOMEM, "--global-batch", "no memory for %lld sequences", (long long)sequences);
    }
    for (int64_t i = 0; i < sequences; i++) {
        out->lengths_tokens[i] = length_tokens;
    }
    out->total_tokens = length_tokens * sequences;
    snprintf(out->name, sizeof out->name, "%lld x %lld tokens", (long long)sequences, (long long)length_tokens);
    lcp_status status = lcp_source_of_document(source, lcp_workload_to_json(out), err);
    if (status != LCP_OK) {
        lcp_workload_dispose(out);
    }
    return status;
}

/* {key: value}; NULL when out of memory. The reference to value is taken. */
static json_t *wrap(const char *key, json_t *value)
{
    json_t *object = json_object();
    if (object == NULL) {
        json_decref(value);
        return NULL;
    }
    if (!lcp_json_put(object, key, value)) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *values_of(const lcp_workload *workload)
{
    json_t *values = json_array();
    for (int64_t i = 0; values != NULL && i < workload->sequence_count; i++) {
        if (!lcp_json_append(values, json_integer(workload->lengths_tokens[i]))) {
            json_decref(values);
            return NULL;
        }
    }
    return values;
}

json_t *lcp_workload_to_json(const lcp_workload *workload)
{
    json_t *root = json_object();
    if (root != NULL && lcp_json_put(root, "format", json_string("lcplan.workload/1")) &&
        lcp_json_put(root, "name", json_string(workload->name)) &&
        lcp_json_put(root, "max_length_tokens", json_integer(workload->max_length_tokens)) &&
        lcp_json_put(root, "global_batch", wrap("sequences", json_integer(workload->sequence_count))) &&
        lcp_json_put(root, "lengths", wrap("values", values_of(workload)))) {
        return root;
    }
    json_decref(root);
    return NULL;
}
