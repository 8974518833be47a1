#include "output/show_cluster.h"

#include "output/units.h"

#include <inttypes.h>

static void show_link(FILE *out, const char *name, const lcp_link *link)
{
    fprintf(out, "  %-20s%s per device and direction, %s\n", name,
            lcp_text_rate(link->bandwidth_bytes_per_second, "B").text, lcp_text_seconds(link->latency_seconds).text);
}

static void show_rate(FILE *out, const char *name, const lcp_rate *rate)
{
    fprintf(out, "  %-20s%.3g of peak, half of that at %.4g rows, %s a launch\n", name, rate->ratio, rate->half_rows,
            lcp_text_seconds(rate->overhead_seconds).text);
}

static void show_device(FILE *out, const lcp_device *device)
{
    fprintf(out, "  %-20s%s, %s of memory at %s\n", "device", device->name,
            lcp_text_bytes((double)device->memory_bytes).text,
            lcp_text_rate(device->memory_bandwidth_bytes_per_second, "B").text);
    fprintf(out, "  %-20s%s", "peak", lcp_text_rate(device->peak_flops_per_second, "FLOP").text);
    if (device->peak_fp8_flops_per_second > 0) {
        fprintf(out, ", 8 bits: %s", lcp_text_rate(device->peak_fp8_flops_per_second, "FLOP").text);
    }
    fprintf(out, "\n");
    show_rate(out, "products", &device->matmul);
    show_rate(out, "attention forward", &device->attention_forward);
    show_rate(out, "attention backward", &device->attention_backward);
    fprintf(out, "  %-20s%.3g of memory bandwidth\n", "element-wise", device->memory_ratio);
    fprintf(out, "  %-20s%.3g of link bandwidth, half of that at %s\n", "collectives", device->collective_ratio,
            lcp_text_bytes(device->collective_half_bytes).text);
    fprintf(out, "  %-20s%s a pass, %s a send between stages\n", "overheads",
            lcp_text_seconds(device->pass_overhead_seconds).text, lcp_text_seconds(device->hop_overhead_seconds).text);
    fprintf(out, "  %-20s%s\n", "always taken", lcp_text_bytes((double)device->fixed_memory_bytes).text);
}

static void show_group(FILE *out, const lcp_group *group)
{
    fprintf(out, "group %s: %" PRId64 " nodes of %" PRId64 " devices\n", group->name, group->nodes,
            group->devices_per_node);
    show_device(out, &group->device);
    fprintf(out, "  %-20s%.3g of the memory, %s\n", "usable", group->usable_memory_ratio,
            lcp_text_bytes((double)group->device.memory_bytes * group->usable_memory_ratio).text);
    show_link(out, "within a node", &group->intra_node);
    show_link(out, "between nodes", &group->inter_node);
    show_link(out, "to the host", &group->host);
    if (group->host_memory_bytes > 0) {
        fprintf(out, "  %-20s%s a node\n", "host memory", lcp_text_bytes((double)group->host_memory_bytes).text);
    }
    if (group->device.provenance[0] != '\0') {
        fprintf(out, "  %-20s%s\n", "figures from", group->device.provenance);
    }
}

void lcp_show_cluster(FILE *out, const lcp_cluster *cluster)
{
    fprintf(out, "cluster %s: %" PRId64 " devices in %" PRId32 " group%s\n", cluster->name,
            lcp_cluster_devices(cluster), cluster->group_count, cluster->group_count == 1 ? "" : "s");
    for (int32_t i = 0; i < cluster->group_count; i++) {
        show_group(out, &cluster->groups[i]);
    }
    for (int32_t i = 0; i < cluster->link_count; i++) {
        const lcp_group_link *link = &cluster->links[i];
        fprintf(out, "link %s to %s\n", cluster->groups[link->from].name, cluster->groups[link->to].name);
        show_link(out, "", &link->link);
    }
}
