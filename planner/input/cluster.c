#include "cluster_fields.h"
#include "input.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "lcplan.cluster/1"
#define MAX_GROUPS 64
#define MAX_LINKS (MAX_GROUPS * (MAX_GROUPS - 1) / 2)
#define MAX_DEVICES (1 << 20)
#define LINK_LATENCY_SECONDS 2e-5

static const lcp_field group_fields[] = {
    LCP_OPTIONAL_STRING_FIELD(lcp_group, name),
    LCP_INT_FIELD(lcp_group, nodes, 1, MAX_DEVICES),
    LCP_INT_FIELD(lcp_group, devices_per_node, 1, MAX_DEVICES),
    LCP_OPTIONAL_REAL_FIELD(lcp_group, usable_memory_ratio, DBL_MIN, 1),
    {.key = NULL},
};

static const lcp_part group_parts[] = {
    {"intra_node", offsetof(lcp_group, intra_node), lcp_link_fields},
    {"inter_node", offsetof(lcp_group, inter_node), lcp_link_fields},
    {NULL, 0, NULL},
};
static const char *const group_extra[] = {"device", "intra_node", "inter_node", "host", NULL};

static lcp_status read_host(lcp_group *out, const lcp_json_cursor *group, lcp_error *err)
{
    static const char *const extra[] = {"memory_bytes", NULL};
    lcp_json_cursor at;
    if (!lcp_json_has(group, "host")) {
        return LCP_OK;
    }
    lcp_status status = lcp_json_object(&at, group, "host", err);
    if (status == LCP_OK) {
        status = lcp_fields_only(&at, lcp_link_fields, extra, err);
    }
    if (status == LCP_OK) {
        status = lcp_fields_read(&out->host, &at, lcp_link_fields, err);
    }
    return status != LCP_OK
               ? status
               : lcp_json_int_or(&out->host_memory_bytes, 0, &at, "memory_bytes", 0, LCP_MAX_MEMORY_BYTES, err);
}

static lcp_status check_links(const lcp_group *group, const lcp_json_cursor *at, lcp_error *err)
{
    if (group->devices_per_node > 1 && !(group->intra_node.bandwidth_bytes_per_second > 0)) {
        return lcp_json_fail(at, "intra_node", err, "found no bandwidth, expected one: the device has none");
    }
    if (group->nodes > 1 && !(group->inter_node.bandwidth_bytes_per_second > 0)) {
        return lcp_json_fail(at, "inter_node", err, "found no bandwidth, expected one: the device has none");
    }
    return LCP_OK;
}

static lcp_group group_of(const lcp_device *device)
{
    return (lcp_group){.device = *device,
                       .usable_memory_ratio = LCP_USABLE_MEMORY_RATIO,
                       .intra_node = device->intra_node,
                       .inter_node = device->inter_node,
                       .host = device->host};
}

static lcp_status read_group(lcp_group *out, size_t index, const lcp_json_cursor *at, lcp_error *err)
{
    lcp_device device;
    lcp_status status = lcp_fields_only(at, group_fields, group_extra, err);
    if (status == LCP_OK) {
        status = lcp_device_read(&device, at, err);
    }
    if (status != LCP_OK) {
        return status;
    }
    *out = group_of(&device);
    snprintf(out->name, sizeof out->name, "%zu", index);
    status = lcp_fields_read(out, at, group_fields, err);
    if (status == LCP_OK) {
        status = lcp_parts_read(out, at, group_parts, err);
    }
    if (status == LCP_OK) {
        status = read_host(out, at, err);
    }
    return status != LCP_OK ? status : check_links(out, at, err);
}

static int32_t find_group(const lcp_cluster *cluster, const char *name)
{
    for (int32_t g = 0; g < cluster->group_count; g++) {
        if (strcmp(cluster->groups[g].name, name) == 0) {
            return g;
        }
    }
    return -1;
}

static lcp_status read_groups(lcp_cluster *out, const lcp_json_cursor *root, lcp_error *err)
{
    lcp_json_cursor array;
    lcp_status status = lcp_json_array(&array, root, "groups", 1, MAX_GROUPS, err);
    if (status != LCP_OK) {
        return status;
    }
    size_t count = json_array_size(array.value);
    out->groups = calloc(count, sizeof *out->groups);
    if (out->groups == NULL) {
        return lcp_fail(err, LCP_NOMEM, root->file, "no memory for %zu groups", count);
    }
    for (size_t i = 0; i < count; i++) {
        lcp_json_cursor at = lcp_json_element(&array, i);
        lcp_group *group = &out->groups[i];
        status = read_group(group, i, &at, err);
        if (status != LCP_OK) {
            return status;
        }
        if (find_group(out, group->name) >= 0) {
            return lcp_json_fail(&at, "name", err, "found \"%s\" again, expected a name of its own", group->name);
        }
        out->group_count++;
        if (lcp_cluster_devices(out) > MAX_DEVICES) {
            return lcp_json_fail(&at, NULL, err, "found more than %d devices so far, expected at most that",
                                 MAX_DEVICES);
        }
    }
    return LCP_OK;
}

static lcp_status read_end(int32_t *out, const lcp_cluster *cluster, const lcp_json_cursor *at, const char *key,
                           lcp_error *err)
{
    char name[LCP_NAME_SIZE];
    lcp_status status = lcp_json_string(name, sizeof name, at, key, err);
    if (status != LCP_OK) {
        return status;
    }
    *out = find_group(cluster, name);
    return *out >= 0 ? LCP_OK : lcp_json_fail(at, key, err, "found \"%s\", expected the name of a group", name);
}

static bool links_same_groups(const lcp_group_link *a, const lcp_group_link *b)
{
    return (a->from == b->from && a->to == b->to) || (a->from == b->to && a->to == b->from);
}

static lcp_status read_link(lcp_group_link *out, const lcp_cluster *cluster, const lcp_json_cursor *at, lcp_error *err)
{
    static const char *const extra[] = {"from", "to", NULL};
    lcp_status status = lcp_fields_only(at, lcp_link_fields, extra, err);
    if (status == LCP_OK) {
        status = read_end(&out->from, cluster, at, "from", err);
    }
    if (status == LCP_OK) {
        status = read_end(&out->to, cluster, at, "to", err);
    }
    if (status == LCP_OK && out->from == out->to) {
        status = lcp_json_fail(at, "to", err, "found the group of \"from\", expected another one");
    }
    out->link.latency_seconds = LINK_LATENCY_SECONDS;
    if (status == LCP_OK) {
        status = lcp_fields_read(&out->link, at, lcp_link_fields, err);
    }
    if (status == LCP_OK && !(out->link.bandwidth_bytes_per_second > 0)) {
        status = lcp_json_fail(at, "bandwidth_bytes_per_second", err, "found no bandwidth, expected a number above 0");
    }
    return status;
}

static lcp_status read_links(lcp_cluster *out, const lcp_json_cursor *root, lcp_error *err)
{
    lcp_json_cursor array;
    if (!lcp_json_has(root, "links")) {
        return LCP_OK;
    }
    lcp_status status = lcp_json_array(&array, root, "links", 0, MAX_LINKS, err);
    if (status != LCP_OK) {
        return status;
    }
    size_t count = json_array_size(array.value);
    out->links = calloc(count + 1, sizeof *out->links);
    if (out->links == NULL) {
        return lcp_fail(err, LCP_NOMEM, root->file, "no memory for %zu links", count);
    }
    for (size_t i = 0; status == LCP_OK && i < count; i++) {
        lcp_json_cursor at = lcp_json_element(&array, i);
        status = read_link(&out->links[i], out, &at, err);
        for (size_t j = 0; status == LCP_OK && j < i; j++) {
            if (links_same_groups(&out->links[i], &out->links[j])) {
                status = lcp_json_fail(&at, NULL, err, "found a second link between groups that element %zu links", j);
            }
        }
        out->link_count++;
    }
    return status;
}

static void name_cluster(lcp_cluster *out)
{
    const lcp_group *first = &out->groups[0];
    snprintf(out->name, sizeof out->name, "%lld x %lld %.80s%s", (long long)first->nodes,
             (long long)first->devices_per_node, first->device.name, out->group_count > 1 ? " and more" : "");
}

static lcp_status read_root(lcp_cluster *out, const lcp_json_cursor *root, lcp_error *err)
{
    static const char *const allowed[] = {"format", "name", "groups", "links", NULL};
    lcp_status status = lcp_json_format(root, FORMAT, err);
    if (status == LCP_OK) {
        status = lcp_json_only_keys(root, allowed, err);
    }
    if (status == LCP_OK) {
        status = read_groups(out, root, err);
    }
    if (status == LCP_OK) {
        status = read_links(out, root, err);
    }
    if (status == LCP_OK) {
        name_cluster(out);
    }
    return status == LCP_OK && lcp_json_has(root, "name")
               ? lcp_json_string(out->name, sizeof out->name, root, "name", err)
               : status;
}

lcp_status lcp_cluster_from_json(lcp_cluster *out, json_t *root, const char *file, lcp_error *err)
{
    lcp_json_cursor cursor = lcp_json_root(file, root);
    *out = (lcp_cluster){0};
    lcp_status status = read_root(out, &cursor, err);
    if (status != LCP_OK) {
        lcp_cluster_dispose(out);
    }
    return status;
}

static json_t *group_to_json(const lcp_group *group)
{
    json_t *object = json_object();
    json_t *host = lcp_fields_object(&group->host, lcp_link_fields);
    bool good = object != NULL && host != NULL && lcp_fields_write(object, group, group_fields) &&
                lcp_json_put(object, "device", lcp_device_to_json(&group->device)) &&
                lcp_parts_write(object, group, group_parts) &&
                lcp_json_put(host, "memory_bytes", json_integer(group->host_memory_bytes)) &&
                lcp_json_put(object, "host", json_incref(host));
    json_decref(host);
    if (!good) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *link_to_json(const lcp_cluster *cluster, const lcp_group_link *link)
{
    json_t *object = json_object();
    if (object != NULL && lcp_json_put(object, "from", json_string(cluster->groups[link->from].name)) &&
        lcp_json_put(object, "to", json_string(cluster->groups[link->to].name)) &&
        lcp_fields_write(object, &link->link, lcp_link_fields)) {
        return object;
    }
    json_decref(object);
    return NULL;
}

json_t *lcp_cluster_to_json(const lcp_cluster *cluster)
{
    json_t *root = json_object();
    json_t *groups = json_array();
    json_t *links = json_array();
    bool good = root != NULL && groups != NULL && links != NULL && lcp_json_put(root, "format", json_string(FORMAT)) &&
                lcp_json_put(root, "name", json_string(cluster->name)) &&
                lcp_json_put(root, "groups", json_incref(groups)) && lcp_json_put(root, "links", json_incref(links));
    for (int32_t g = 0; good && g < cluster->group_count; g++) {
        good = lcp_json_append(groups, group_to_json(&cluster->groups[g]));
    }
    for (int32_t i = 0; good && i < cluster->link_count; i++) {
        good = lcp_json_append(links, link_to_json(cluster, &cluster->links[i]));
    }
    json_decref(groups);
    json_decref(links);
    if (!good) {
        json_decref(root);
        return NULL;
    }
    return root;
}
