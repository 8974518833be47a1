#include "json_case.h"

#include "output/plan_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP "'device': 'h100-sxm', 'nodes': 2, 'devices_per_node': 8"
#define ONE(members) "{'format': 'lcplan.cluster/1', 'groups': [{" members "}]}"
#define TWO(links)                                                                                                     \
    "{'format': 'lcplan.cluster/1', 'groups': [{'name': 'a', " GROUP "}, {'name': 'b', " GROUP "}], 'links': " links "}"
#define INLINE(members) ONE("'nodes': 1, 'devices_per_node': 1, 'device': {" members "}")

static json_case cases[] = {
    {"{'groups': []}", "t: $.format", "missing, expected a string"},
    {"{'format': 'lcplan.cluster/1', 'group': []}", "t: $.group",
     "unknown key, expected one of: format, name, groups, links"},
    {"{'format': 'lcplan.cluster/1'}", "t: $.groups", "missing, expected an array of 1 to 64 elements"},
    {"{'format': 'lcplan.cluster/1', 'name': 7, 'groups': [{" GROUP "}]}", "t: $.name", "found 7, expected a string"},
    {"{'format': 'lcplan.cluster/1', 'groups': [3]}", "t: $.groups[0]", "found 3, expected an object"},
    {ONE("'nodes': 2, 'devices_per_node': 8"), "t: $.groups[0].device", "missing, expected an object"},
    {ONE("'device': 'h100', 'nodes': 2, 'devices_per_node': 8"), "t: $.groups[0].device",
     "unknown device \"h100\", expected an object or one of: v100, a100-40, a100-80, ..."},
    {ONE("'device': 'h200', 'nodes': 0, 'devices_per_node': 8"), "t: $.groups[0].nodes",
     "found 0, expected an integer in [1, 1048576]"},
    {ONE("'device': 'h200', 'nodes': 1"), "t: $.groups[0].devices_per_node",
     "missing, expected an integer in [1, 1048576]"},
    {ONE("'device': 'h200', 'nodes': 1048576, 'devices_per_node': 2"), "t: $.groups[0]",
     "found more than 1048576 devices so far, expected at most that"},
    {ONE(GROUP ", 'nic': 1"), "t: $.groups[0].nic",
     "unknown key, expected one of: device, intra_node, inter_node, host, name, nodes, devices_per_node, "
     "usable_memory_ratio"},
    {ONE(GROUP ", 'usable_memory_ratio': 1.01"), "t: $.groups[0].usable_memory_ratio",
     "found 1.01, expected a number in (0, 1]"},
    {ONE(GROUP ", 'usable_memory_ratio': 0"), "t: $.groups[0].usable_memory_ratio",
     "found 0, expected a number in (0, 1]"},
    {ONE(GROUP ", 'intra_node': 5"), "t: $.groups[0].intra_node", "found 5, expected an object"},
    {ONE(GROUP ", 'intra_node': {'latency_seconds': -1e-6}"), "t: $.groups[0].intra_node.latency_seconds",
     "found -9.9999999999999995e-07, expected a number in [0, 3600]"},
    {ONE(GROUP ", 'inter_node': {'bandwidth_bytes_per_second': 0}"), "t: $.groups[0].inter_node",
     "found no bandwidth, expected one: the device has none"},
    {ONE(GROUP ", 'host': {'memory': 1}"), "t: $.groups[0].host.memory",
     "unknown key, expected one of: memory_bytes, bandwidth_bytes_per_second, latency_seconds"},
    {ONE(GROUP ", 'host': {'memory_bytes': 1.5}"), "t: $.groups[0].host.memory_bytes",
     "found 1.5, expected an integer in [0, 1125899906842624]"},
    {TWO("[{'from': 'a', 'to': 'c'}]"), "t: $.links[0].to", "found \"c\", expected the name of a group"},
    {TWO("[{'from': 'a', 'to': 'a'}]"), "t: $.links[0].to", "found the group of \"from\", expected another one"},
    {TWO("[{'from': 'a', 'to': 'b'}]"), "t: $.links[0].bandwidth_bytes_per_second",
     "found no bandwidth, expected a number above 0"},
    {TWO("[{'from': 'a', 'to': 'b', 'bandwidth_bytes_per_second': 1e9}, {'from': 'b', 'to': 'a', "
         "'bandwidth_bytes_per_second': 1e9}]"),
     "t: $.links[1]", "found a second link between groups that element 0 links"},
    {TWO("[{'from': 'a', 'to': 'b', 'bandwidth': 1}]"), "t: $.links[0].bandwidth",
     "unknown key, expected one of: from, to, bandwidth_bytes_per_second, latency_seconds"},
    {TWO("[0]"), "t: $.links[0]", "found 0, expected an object"},
    {"{'format': 'lcplan.cluster/1', 'groups': [{'name': 'x', " GROUP "}, {'name': 'x', " GROUP "}]}",
     "t: $.groups[1].name", "found \"x\" again, expected a name of its own"},
    {INLINE("'peak': 1"), "t: $.groups[0].device.peak", "unknown key, expected one of: like, matmul, ..."},
    {INLINE("'like': 'z9'"), "t: $.groups[0].device.like", "unknown device \"z9\", expected an object or one of: ..."},
    {INLINE("'peak_flops_per_second': 1e15"), "t: $.groups[0].device.name",
     "missing, expected it in a device that is \"like\" no other"},
    {INLINE("'name': 'x', 'peak_flops_per_second': 1e15, 'memory_bytes': 1e9"),
     "t: $.groups[0].device.memory_bandwidth_bytes_per_second",
     "missing, expected it in a device that is \"like\" no other"},
    {INLINE("'like': 'h200', 'matmul': {'ratio': 0.5}"), "t: $.groups[0].device.matmul.half_rows",
     "missing, expected a number in [0, 1e+09]"},
    {INLINE("'like': 'h200', 'memory_ratio': 1.5"), "t: $.groups[0].device.memory_ratio",
     "found 1.5, expected a number in (0, 1]"},
    {ONE("'nodes': 1, 'devices_per_node': 2, 'device': {'name': 'x', 'peak_flops_per_second': 1e15, 'memory_bytes': "
         "1e9, 'memory_bandwidth_bytes_per_second': 1e12}"),
     "t: $.groups[0].intra_node", "found no bandwidth, expected one: the device has none"},
};

static void refusal_says_why(void **state)
{
    const json_case *c = *state;
    lcp_cluster cluster;
    lcp_error err = {0};
    json_t *root = json_of(c->document);
    assert_int_equal(lcp_cluster_from_json(&cluster, root, "t", &err), LCP_INPUT);
    assert_error(&err, c->where, c->text);
    assert_null(cluster.groups);
    json_decref(root);
}

/* The catalogue's figures are those of the published table (column gpu_type), spelled in units of ours. */
static void catalogue_holds_data_sheet_figures(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double peak, fp8, memory_gib, memory_bandwidth, intra, inter;
    } rows[] = {
        {"A100-SXM4-80GB", 312e12, 0, 80, 2.04e12, 300e9, 25e9},
        {"h100-sxm", 989e12, 1979e12, 80, 3.35e12, 450e9, 50e9},
        {"H200-SXM-141", 989e12, 1979e12, 141, 4.8e12, 450e9, 50e9},
        {"b200", 2250e12, 4500e12, 180, 8e12, 900e9, 50e9},
        {"V100", 125e12, 0, 32, 0.9e12, 150e9, 3.125e9},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lcp_device d;
        assert_true(lcp_device_find(&d, rows[i].name));
        assert_close(d.peak_flops_per_second, rows[i].peak, 1e-12);
        assert_close(d.peak_fp8_flops_per_second, rows[i].fp8, 1e-12);
        assert_close((double)d.memory_bytes, rows[i].memory_gib * 1024 * 1024 * 1024, 0);
        assert_close(d.memory_bandwidth_bytes_per_second, rows[i].memory_bandwidth, 1e-12);
        assert_close(d.intra_node.bandwidth_bytes_per_second, rows[i].intra, 1e-12);
        assert_close(d.inter_node.bandwidth_bytes_per_second, rows[i].inter, 1e-12);
    }
}

static json_t *short_cluster(const char *words)
{
    lcp_cluster cluster;
    lcp_source source;
    lcp_error err = {0};
    if (lcp_read_cluster(&cluster, &source, words, &err) != LCP_OK) {
        fail_msg("%s: %s", err.where, err.text);
    }
    json_t *document = lcp_cluster_to_json(&cluster);
    assert_non_null(document);
    assert_int_equal(strlen(source.sha256), 64);
    assert_string_equal(source.path, "");
    lcp_cluster_dispose(&cluster);
    return document;
}

/* Every row resolves to a document that reads back as the same document, and names are unique. */
static void every_row_reads_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < lcp_device_row_count; i++) {
        char words[64];
        snprintf(words, sizeof words, "%s:3x4", lcp_device_rows[i].short_name);
        json_t *document = short_cluster(words);
        lcp_cluster again;
        assert_int_equal(lcp_cluster_from_json(&again, document, "t", NULL), LCP_OK);
        assert_int_equal(lcp_cluster_devices(&again), 12);
        assert_string_equal(again.groups[0].device.name, lcp_device_rows[i].name);
        assert_true(strlen(again.groups[0].device.provenance) + 1 < sizeof again.groups[0].device.provenance);
        json_t *twice = lcp_cluster_to_json(&again);
        assert_true(json_equal(document, twice));
        lcp_cluster_dispose(&again);
        json_decref(twice);
        json_decref(document);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(lcp_device_rows[i].short_name, lcp_device_rows[j].short_name);
        }
    }
}

static void short_form_takes_the_catalogue(void **state)
{
    (void)state;
    lcp_cluster cluster;
    lcp_source source;
    assert_int_equal(lcp_read_cluster(&cluster, &source, "H100-SXM5-80GB:16x8", NULL), LCP_OK);
    assert_string_equal(cluster.name, "16 x 8 H100-SXM5-80GB");
    assert_int_equal(cluster.group_count, 1);
    assert_int_equal(cluster.groups[0].nodes, 16);
    assert_int_equal(cluster.groups[0].devices_per_node, 8);
    assert_close(cluster.groups[0].usable_memory_ratio, 0.92, 0);
    assert_close(cluster.groups[0].intra_node.bandwidth_bytes_per_second, 450e9, 0);
    lcp_cluster_dispose(&cluster);
}

static void bad_short_forms_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        lcp_status status;
    } rows[] = {
        {"h900:2x8", LCP_INPUT},     {"h200:0x8", LCP_INPUT}, {"h200:2x8x1", LCP_IO}, {"h200:2", LCP_IO},
        {"h200:99999999x8", LCP_IO}, {"h200", LCP_IO},        {"h200:x8", LCP_IO},    {":2x8", LCP_INPUT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lcp_cluster cluster;
        lcp_source source;
        assert_int_equal(lcp_read_cluster(&cluster, &source, rows[i].words, NULL), rows[i].status);
        assert_null(cluster.groups);
    }
}

static void groups_override_devices(void **state)
{
    (void)state;
    json_t *root = json_of(
        "{'format': 'lcplan.cluster/1', 'name': 'two', 'groups': [{'device': 'a100-80', 'nodes': 4, "
        "'devices_per_node': 8, 'inter_node': {'latency_seconds': 1e-3}, 'host': {'memory_bytes': 2e12}}, {'name': "
        "'far', 'nodes': 1, 'devices_per_node': 4, 'device': {'like': 'a100-80', 'memory_bytes': 4e10, 'matmul': "
        "{'ratio': 0.5, 'half_rows': 10, 'overhead_seconds': 0}}}], 'links': [{'from': '0', 'to': 'far', "
        "'bandwidth_bytes_per_second': 1e9}]}");
    lcp_cluster cluster;
    lcp_error err = {0};
    assert_int_equal(lcp_cluster_from_json(&cluster, root, "t", &err), LCP_OK);
    assert_string_equal(cluster.name, "two");
    assert_int_equal(lcp_cluster_devices(&cluster), 36);
    assert_close(cluster.groups[0].inter_node.latency_seconds, 1e-3, 0);
    assert_close(cluster.groups[0].inter_node.bandwidth_bytes_per_second, 25e9, 0);
    assert_close((double)cluster.groups[0].host_memory_bytes, 2e12, 0);
    assert_close((double)cluster.groups[1].device.memory_bytes, 4e10, 0);
    assert_close(cluster.groups[1].device.matmul.ratio, 0.5, 0);
    assert_string_equal(cluster.groups[1].device.name, "A100-SXM4-80GB");
    assert_int_equal(cluster.link_count, 1);
    assert_int_equal(cluster.links[0].from, 0);
    assert_int_equal(cluster.links[0].to, 1);
    assert_close(cluster.links[0].link.latency_seconds, 2e-5, 0);
    lcp_cluster_dispose(&cluster);
    json_decref(root);
}

static void examples_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int64_t devices;
    } rows[] = {
        {"../examples/clusters/a100-4x8.json", 32},     {"../examples/clusters/h100-16x8.json", 128},
        {"../examples/clusters/h100-128x8.json", 1024}, {"../examples/clusters/h100-32x8.json", 256},
        {"../examples/clusters/h800-64x8.json", 512},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lcp_cluster cluster;
        lcp_source source;
        lcp_error err = {0};
        if (lcp_read_cluster(&cluster, &source, rows[i].path, &err) != LCP_OK) {
            fail_msg("%s: %s", err.where, err.text);
        }
        assert_int_equal(lcp_cluster_devices(&cluster), rows[i].devices);
        assert_string_equal(source.path, rows[i].path);
        lcp_cluster_dispose(&cluster);
    }
}

#define CASES (sizeof cases / sizeof cases[0])

int main(void)
{
    static struct CMUnitTest refusals[CASES];
    for (size_t i = 0; i < CASES; i++) {
        refusals[i] = (struct CMUnitTest){cases[i].document, refusal_says_why, NULL, NULL, &cases[i]};
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(catalogue_holds_data_sheet_figures),
        cmocka_unit_test(every_row_reads_back),
        cmocka_unit_test(short_form_takes_the_catalogue),
        cmocka_unit_test(bad_short_forms_are_refused),
        cmocka_unit_test(groups_override_devices),
        cmocka_unit_test(examples_are_read),
    };
    int failed = cmocka_run_group_tests(refusals, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
