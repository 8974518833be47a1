/* Where the process groups of a layout lie: rank order tp, ulysses, ring, dp, pp, devices in the order of the cluster's
 * groups. Of all instances of a group the slowest one is what the model sees. */
#include "internal.h"

#include <math.h>

/* Ranks base + i * stride, i < count; one instance for each base in [0, stride) of each block of stride * count. */
typedef struct rank_pattern {
    int64_t stride, count;
} rank_pattern;

typedef struct device_place {
    int32_t group;
    int64_t node; /* over the whole cluster */
} device_place;

static device_place place_of(const lcp_cluster *cluster, int64_t rank)
{
    int64_t node = 0;
    for (int32_t g = 0; g < cluster->group_count; g++) {
        const lcp_group *group = &cluster->groups[g];
        int64_t devices = group->nodes * group->devices_per_node;
        if (rank < devices || g == cluster->group_count - 1) {
            return (device_place){g, node + rank / group->devices_per_node};
        }
        rank -= devices;
        node += group->nodes;
    }
    return (device_place){0, 0};
}

static lcp_link slower(lcp_link a, lcp_link b)
{
    return (lcp_link){fmin(a.bandwidth_bytes_per_second, b.bandwidth_bytes_per_second),
                      fmax(a.latency_seconds, b.latency_seconds)};
}

/* The link two cluster groups share; when none is given, their slower network. */
static lcp_link link_between(const lcp_cluster *cluster, int32_t from, int32_t to)
{
    for (int32_t i = 0; i < cluster->link_count; i++) {
        const lcp_group_link *row = &cluster->links[i];
        if ((row->from == from && row->to == to) || (row->from == to && row->to == from)) {
            return row->link;
        }
    }
    return slower(cluster->groups[from].inter_node, cluster->groups[to].inter_node);
}

static void widen(lcp_group_placement *out, lcp_link link)
{
    out->inter = out->inter.bandwidth_bytes_per_second > 0 ? slower(out->inter, link) : link;
}

/* Notes one instance; ranks of an instance are ascending, so nodes and groups come in runs. */
static void note_instance(lcp_group_placement *out, const lcp_cluster *cluster, rank_pattern pattern, int64_t base)
{
    device_place first = place_of(cluster, base);
    device_place previous = first;
    int64_t run = 1;
    int64_t shortest = pattern.count;
    for (int64_t i = 1; i < pattern.count; i++) {
        device_place place = place_of(cluster, base + i * pattern.stride);
        if (place.node == previous.node) {
            run++;
            continue;
        }
        shortest = run < shortest ? run : shortest;
        run = 1;
        widen(out, cluster->groups[place.group].inter_node);
        if (place.group != previous.group) {
            widen(out, link_between(cluster, previous.group, place.group));
        }
        previous = place;
    }
    if (previous.node != first.node) {
        widen(out, cluster->groups[first.group].inter_node);
        shortest = run < shortest ? run : shortest;
    }
    out->ranks_per_node = shortest < out->ranks_per_node ? shortest : out->ranks_per_node;
}

static lcp_link slowest_intra(const lcp_cluster *cluster)
{
    lcp_link link = cluster->groups[0].intra_node;
    for (int32_t g = 1; g < cluster->group_count; g++) {
        link = slower(link, cluster->groups[g].intra_node);
    }
    return link;
}

/* All instances look alike when nodes and blocks of ranks fit into each other. */
static bool regular(const lcp_cluster *cluster, rank_pattern pattern)
{
    int64_t block = pattern.stride * pattern.count;
    int64_t node = cluster->groups[0].devices_per_node;
    return cluster->group_count == 1 && (node % block == 0 || block % node == 0) &&
           (node % pattern.stride == 0 || pattern.stride % node == 0);
}

static void note_regular(lcp_group_placement *out, const lcp_group *group, rank_pattern pattern)
{
    int64_t node = group->devices_per_node;
    if (pattern.stride * pattern.count > node) {
        out->ranks_per_node = pattern.stride < node ? node / pattern.stride : 1;
        widen(out, group->inter_node);
    }
}

static void note_all(lcp_group_placement *out, const lcp_cluster *cluster, rank_pattern pattern, int64_t ranks)
{
    int64_t block = pattern.stride * pattern.count;
    for (int64_t start = 0; start + block <= ranks; start += block) {
        for (int64_t base = start; base < start + pattern.stride; base++) {
            note_instance(out, cluster, pattern, base);
        }
    }
}

static lcp_group_placement place(const lcp_cost *cost, rank_pattern pattern, int64_t ranks)
{
    const lcp_cluster *cluster = cost->cluster;
    lcp_group_placement out = {
        .ranks = pattern.count,
        .ranks_per_node = pattern.count,
        .intra = slowest_intra(cluster),
        .half_bytes = cost->device->collective_half_bytes,
    };
    out.intra.bandwidth_bytes_per_second *= cost->device->collective_ratio;
    if (regular(cluster, pattern)) {
        note_regular(&out, &cluster->groups[0], pattern);
    } else {
        note_all(&out, cluster, pattern, ranks);
    }
    out.inter.bandwidth_bytes_per_second *= cost->device->network_ratio;
    return out;
}

/* A rank and its neighbour on the next stage, at every boundary. */
static lcp_group_placement place_boundaries(const lcp_cost *cost, int64_t stage_ranks, int64_t ranks)
{
    lcp_group_placement out = place(cost, (rank_pattern){1, 1}, 1);
    if (ranks <= stage_ranks) {
        return out;
    }
    out.ranks = 2;
    out.ranks_per_node = 2;
    for (int64_t rank = 0; rank + stage_ranks < ranks; rank++) {
        note_instance(&out, cost->cluster, (rank_pattern){stage_ranks, 2}, rank);
        if (cost->cluster->group_count == 1 && stage_ranks >= cost->cluster->groups[0].devices_per_node) {
            break;
        }
    }
    out.inter.bandwidth_bytes_per_second *= cost->device->network_ratio;
    return out;
}

void lcp_place_groups(lcp_cost *cost)
{
    const lcp_layout *layout = &cost->layout;
    int64_t tp = layout->tp;
    int64_t context = tp * layout->ulysses;
    int64_t sequence = context * layout->ring;
    int64_t stage = sequence * layout->dp;
    int64_t ranks = stage * layout->pp;
    cost->tp = place(cost, (rank_pattern){1, tp}, ranks);
    cost->ulysses = place(cost, (rank_pattern){tp, layout->ulysses}, ranks);
    cost->ring = place(cost, (rank_pattern){context, layout->ring}, ranks);
    cost->dp = place(cost, (rank_pattern){tp, stage / tp}, ranks);
    int64_t shard = layout->shard_ranks > 0 && layout->shard_ranks < stage / tp ? layout->shard_ranks : stage / tp;
    cost->shard = place(cost, (rank_pattern){tp, shard}, ranks);
    cost->replicas = place(cost, (rank_pattern){tp * shard, stage / tp / shard}, ranks);
    cost->ep = place(cost, (rank_pattern){1, layout->ep}, ranks);
    cost->expert_dp = place(cost, (rank_pattern){layout->ep, stage / layout->ep}, ranks);
    cost->pp = place_boundaries(cost, stage, ranks);
}
