/* Collectives: a row each. Seconds = latency of the steps + (bytes on the wire + start-up) / bandwidth.
 *
 * Inside a node every byte moves at the intra bandwidth. A ring over several nodes enters and leaves each node through
 * all the network ports of its k ranks at once: bandwidth min(intra, k * inter). In an all-to-all each rank sends
 * (g - k) / g of its buffer through its own port while (k - 1) / g moves inside the node: the slower of the two.
 * half_bytes is measured inside a node; it is a start-up time that crossing nodes keeps. */
#include "internal.h"

#include <assert.h>
#include <math.h>

typedef struct collective_row {
    double rings; /* times the buffer goes round: wire bytes = rings * (g - 1) / g * bytes */
    double (*second_per_byte)(const lcp_group_placement *group);
} collective_row;

static bool in_one_node(const lcp_group_placement *group)
{
    return group->ranks <= group->ranks_per_node;
}

static double send_second_per_byte(const lcp_group_placement *group)
{
    const lcp_link *link = in_one_node(group) ? &group->intra : &group->inter;
    return 1 / link->bandwidth_bytes_per_second;
}

static double ring_second_per_byte(const lcp_group_placement *group)
{
    double ranks = (double)group->ranks;
    double bandwidth = group->intra.bandwidth_bytes_per_second;
    if (!in_one_node(group)) {
        bandwidth = fmin(bandwidth, (double)group->ranks_per_node * group->inter.bandwidth_bytes_per_second);
    }
    return (ranks - 1) / ranks / bandwidth;
}

static double all_to_all_second_per_byte(const lcp_group_placement *group)
{
    double ranks = (double)group->ranks;
    if (in_one_node(group)) {
        return (ranks - 1) / ranks / group->intra.bandwidth_bytes_per_second;
    }
    double inside = (double)group->ranks_per_node;
    double outer = (ranks - inside) / ranks / group->inter.bandwidth_bytes_per_second;
    return fmax(outer, (inside - 1) / ranks / group->intra.bandwidth_bytes_per_second);
}

static const collective_row rows[LCP_COLLECTIVE_COUNT] = {
    [LCP_COLLECTIVE_SEND_RECV] = {1, send_second_per_byte},
    [LCP_COLLECTIVE_ALL_GATHER] = {1, ring_second_per_byte},
    [LCP_COLLECTIVE_REDUCE_SCATTER] = {1, ring_second_per_byte},
    [LCP_COLLECTIVE_ALL_REDUCE] = {2, ring_second_per_byte},
    [LCP_COLLECTIVE_ALL_TO_ALL] = {1, all_to_all_second_per_byte},
};

/* Steps in sequence: a ring while it is short, two trees beyond. */
static double steps(double ranks)
{
    return fmin(ranks - 1, 2 * ceil(log2(ranks)));
}

static double latency_seconds(const lcp_group_placement *group)
{
    if (in_one_node(group)) {
        return steps((double)group->ranks) * group->intra.latency_seconds;
    }
    double inside = (double)group->ranks_per_node;
    double nodes = ceil((double)group->ranks / inside);
    return steps(inside) * group->intra.latency_seconds + steps(nodes) * group->inter.latency_seconds;
}

static double send_latency_seconds(const lcp_group_placement *group)
{
    return in_one_node(group) ? group->intra.latency_seconds : group->inter.latency_seconds;
}

double lcp_collective_seconds(lcp_collective kind, double bytes, const lcp_group_placement *group)
{
    assert(bytes >= 0);
    if (group->ranks <= 1) {
        return 0;
    }
    const collective_row *row = &rows[kind];
    double moving = row->rings * row->second_per_byte(group) * bytes;
    if (kind == LCP_COLLECTIVE_SEND_RECV) {
        return send_latency_seconds(group) + moving;
    }
    double ranks = (double)group->ranks;
    double start_up = (ranks - 1) / ranks * group->half_bytes / group->intra.bandwidth_bytes_per_second;
    return row->rings * (latency_seconds(group) + start_up) + moving;
}

double lcp_collective_wire_bytes(lcp_collective kind, double bytes, const lcp_group_placement *group)
{
    if (group->ranks <= 1) {
        return 0;
    }
    if (kind == LCP_COLLECTIVE_SEND_RECV) {
        return bytes;
    }
    double ranks = (double)group->ranks;
    return rows[kind].rings * (ranks - 1) / ranks * bytes;
}

lcp_line lcp_collective_line(lcp_collective kind, double bytes_per_token, const lcp_group_placement *group)
{
    if (group->ranks <= 1 || !(bytes_per_token > 0)) {
        return (lcp_line){0, 0};
    }
    return (lcp_line){
        .fixed = lcp_collective_seconds(kind, 0, group),
        .per_token = rows[kind].rings * rows[kind].second_per_byte(group) * bytes_per_token,
    };
}
