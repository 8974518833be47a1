#include "cluster_fields.h"
#include "input.h"
#include "output/plan_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t lcp_cluster_devices(const lcp_cluster *cluster)
{
    int64_t devices = 0;
    for (int32_t g = 0; g < cluster->group_count; g++) {
        devices += cluster->groups[g].nodes * cluster->groups[g].devices_per_node;
    }
    return devices;
}

/* "16x8" with up to 7 digits each. */
static bool read_shape(int64_t *nodes, int64_t *devices_per_node, const char *words)
{
    static const char digits[] = "0123456789";
    size_t first = strspn(words, digits);
    const char *second = words + first + 1;
    if (first == 0 || first > 7 || words[first] != 'x' || strspn(second, digits) != strlen(second) ||
        strlen(second) == 0 || strlen(second) > 7) {
        return false;
    }
    *nodes = strtoll(words, NULL, 10);
    *devices_per_node = strtoll(second, NULL, 10);
    return true;
}

/* The document that DEVICE:NODESxPER_NODE stands for; NULL when out of memory. */
static json_t *short_document(const char *device, int64_t nodes, int64_t devices_per_node)
{
    json_t *root = json_object();
    json_t *group = json_object();
    json_t *groups = json_array();
    bool good = root != NULL && group != NULL && groups != NULL && lcp_json_put(group, "device", json_string(device)) &&
                lcp_json_put(group, "nodes", json_integer(nodes)) &&
                lcp_json_put(group, "devices_per_node", json_integer(devices_per_node)) &&
                lcp_json_append(groups, json_incref(group)) &&
                lcp_json_put(root, "format", json_string("lcplan.cluster/1")) &&
                lcp_json_put(root, "groups", json_incref(groups));
    json_decref(group);
    json_decref(groups);
    if (!good) {
        json_decref(root);
        return NULL;
    }
    return root;
}

lcp_status lcp_source_of_document(lcp_source *out, json_t *document, lcp_error *err)
{
    char *text = NULL;
    size_t size = 0;
    *out = (lcp_source){0};
    lcp_status status = lcp_json_text(&text, &size, document, err);
    if (status == LCP_OK) {
        lcp_sha256_hex(out->sha256, text, size);
    }
    free(text);
    json_decref(document);
    return status;
}

static lcp_status read_short(lcp_cluster *out, lcp_source *source, const char *words, lcp_error *err)
{
    char device[LCP_NAME_SIZE];
    int64_t nodes = 0;
    int64_t devices_per_node = 0;
    const char *colon = strrchr(words, ':');
    read_shape(&nodes, &devices_per_node, colon + 1);
    snprintf(device, sizeof device, "%.*s", (int)(colon - words), words);
    json_t *root = short_document(device, nodes, devices_per_node);
    if (root == NULL) {
        return lcp_fail(err, LCP_NOMEM, words, "no memory for a cluster");
    }
    lcp_status status = lcp_cluster_from_json(out, root, words, err);
    json_decref(root);
    return status != LCP_OK ? status : lcp_source_of_document(source, lcp_cluster_to_json(out), err);
}

static bool is_short(const char *words)
{
    int64_t ignored;
    const char *colon = strrchr(words, ':');
    return colon != NULL && colon - words < LCP_NAME_SIZE && read_shape(&ignored, &ignored, colon + 1);
}

lcp_status lcp_read_cluster(lcp_cluster *out, lcp_source *source, const char *path_or_short, lcp_error *err)
{
    json_t *root = NULL;
    *out = (lcp_cluster){0};
    *source = (lcp_source){0};
    if (is_short(path_or_short)) {
        return read_short(out, source, path_or_short, err);
    }
    lcp_status status = lcp_json_load_file(&root, path_or_short, source->sha256, err);
    if (status == LCP_OK) {
        snprintf(source->path, sizeof source->path, "%s", path_or_short);
        status = lcp_cluster_from_json(out, root, path_or_short, err);
    }
    json_decref(root);
    return status;
}
