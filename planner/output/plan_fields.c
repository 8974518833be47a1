#include "plan_fields.h"

#include <float.h>

#define MAX_COUNT (INT64_C(1) << 53)
#define ANY_REAL_FIELD(type, member) LCP_REAL_FIELD(type, member, -DBL_MAX, DBL_MAX)
/* A member whose key is not its name. */
#define NAMED_FIELD(word, type, member) .key = (word), .offset = offsetof(type, member)

static const char *const ring_methods[] = {"p2p", "all-gather", NULL};

const lcp_field lcp_layout_fields[] = {
    LCP_INT32_FIELD(lcp_layout, dp, 1, LCP_MAX_RANKS),
    LCP_INT32_FIELD(lcp_layout, pp, 1, LCP_MAX_LAYERS),
    LCP_INT32_FIELD(lcp_layout, vpp, 1, LCP_MAX_LAYERS),
    LCP_INT32_FIELD(lcp_layout, tp, 1, LCP_MAX_RANKS),
    LCP_INT32_FIELD(lcp_layout, ulysses, 1, LCP_MAX_RANKS),
    LCP_INT32_FIELD(lcp_layout, ring, 1, LCP_MAX_RANKS),
    LCP_INT32_FIELD(lcp_layout, ep, 1, LCP_MAX_RANKS),
    LCP_INT32_FIELD(lcp_layout, zero_stage, 0, 3),
    LCP_BOOL_FIELD(lcp_layout, sequence_parallel),
    LCP_CHOICE_FIELD(lcp_layout, ring_method, ring_methods),
    {.key = NULL},
};

const lcp_field lcp_stage_fields[] = {
    LCP_INT32_FIELD(lcp_stage, pp, 0, LCP_MAX_LAYERS - 1),
    {NAMED_FIELD("virtual", lcp_stage, virtual_index), .kind = LCP_FIELD_INT32, .int_hi = LCP_MAX_LAYERS - 1},
    LCP_INT32_FIELD(lcp_stage, first_layer, 0, LCP_MAX_LAYERS),
    LCP_INT32_FIELD(lcp_stage, layer_count, 0, LCP_MAX_LAYERS),
    LCP_BOOL_FIELD(lcp_stage, embedding),
    LCP_BOOL_FIELD(lcp_stage, head),
    {.key = NULL},
};

const lcp_field lcp_segment_fields[] = {
    LCP_INT_FIELD(lcp_segment, sequence, 0, INT32_MAX),
    LCP_INT_FIELD(lcp_segment, offset_tokens, 0, INT32_MAX),
    LCP_INT_FIELD(lcp_segment, length_tokens, 1, INT32_MAX),
    {.key = NULL},
};

const lcp_field lcp_prediction_fields[] = {
    LCP_REAL_FIELD(lcp_prediction, iteration_seconds, DBL_MIN, DBL_MAX),
    LCP_REAL_FIELD(lcp_prediction, tokens_per_second_per_device, 0, DBL_MAX),
    LCP_REAL_FIELD(lcp_prediction, mfu_ratio, 0, DBL_MAX),
    ANY_REAL_FIELD(lcp_prediction, bubble_ratio),
    {.key = NULL},
};

const lcp_field lcp_breakdown_fields[] = {
    ANY_REAL_FIELD(lcp_breakdown, compute),    ANY_REAL_FIELD(lcp_breakdown, recompute),
    ANY_REAL_FIELD(lcp_breakdown, exposed_tp), ANY_REAL_FIELD(lcp_breakdown, exposed_cp),
    ANY_REAL_FIELD(lcp_breakdown, exposed_pp), ANY_REAL_FIELD(lcp_breakdown, exposed_ep),
    ANY_REAL_FIELD(lcp_breakdown, exposed_dp), ANY_REAL_FIELD(lcp_breakdown, optimizer),
    ANY_REAL_FIELD(lcp_breakdown, bubble),     {.key = NULL},
};

const lcp_field lcp_stage_prediction_fields[] = {
    LCP_REAL_FIELD(lcp_stage_prediction, busy_seconds, 0, DBL_MAX),
    LCP_INT_FIELD(lcp_stage_prediction, peak_memory_bytes, 0, MAX_COUNT),
    {.key = NULL},
};

const lcp_field lcp_memory_fields[] = {
    LCP_INT_FIELD(lcp_memory_terms, parameters, 0, MAX_COUNT),
    LCP_INT_FIELD(lcp_memory_terms, gradients, 0, MAX_COUNT),
    LCP_INT_FIELD(lcp_memory_terms, optimizer, 0, MAX_COUNT),
    LCP_INT_FIELD(lcp_memory_terms, activations, 0, MAX_COUNT),
    LCP_INT_FIELD(lcp_memory_terms, kv, 0, MAX_COUNT),
    LCP_INT_FIELD(lcp_memory_terms, logits, 0, MAX_COUNT),
    LCP_INT_FIELD(lcp_memory_terms, buffers, 0, MAX_COUNT),
    LCP_INT_FIELD(lcp_memory_terms, versions, 0, MAX_COUNT),
    LCP_INT_FIELD(lcp_memory_terms, reserve, 0, MAX_COUNT),
    {.key = NULL},
};

const lcp_field lcp_certificate_fields[] = {
    LCP_REAL_FIELD(lcp_certificate, lower_bound_seconds, 0, DBL_MAX),
    ANY_REAL_FIELD(lcp_certificate, gap_ratio),
    LCP_STRING_FIELD(lcp_certificate, scope),
    LCP_STRING_FIELD(lcp_certificate, stopped_by),
    {.key = NULL},
};

const lcp_field lcp_candidate_fields[] = {
    LCP_INT_FIELD(lcp_certificate, considered, 0, MAX_COUNT),
    LCP_INT_FIELD(lcp_certificate, bounded, 0, MAX_COUNT),
    LCP_INT_FIELD(lcp_certificate, solved, 0, MAX_COUNT),
    {.key = NULL},
};

const lcp_field lcp_solver_fields[] = {
    {NAMED_FIELD("version", lcp_certificate, solver_version), .kind = LCP_FIELD_STRING,
     .size = sizeof(((const lcp_certificate *)NULL)->solver_version)},
    LCP_INT_FIELD(lcp_certificate, lp_solves, 0, MAX_COUNT),
    LCP_INT_FIELD(lcp_certificate, mip_nodes, 0, MAX_COUNT),
    {.key = NULL},
};

const lcp_field lcp_alternative_fields[] = {
    LCP_REAL_FIELD(lcp_alternative, iteration_seconds, 0, DBL_MAX),
    LCP_STRING_FIELD(lcp_alternative, reason),
    {.key = NULL},
};

const lcp_field lcp_rank_fields[] = {
    LCP_INT_FIELD(lcp_rank_place, rank, 0, LCP_MAX_RANKS),       LCP_INT_FIELD(lcp_rank_place, node, 0, LCP_MAX_RANKS),
    LCP_INT_FIELD(lcp_rank_place, local_rank, 0, LCP_MAX_RANKS), LCP_INT_FIELD(lcp_rank_place, dp, 0, LCP_MAX_RANKS),
    LCP_INT_FIELD(lcp_rank_place, pp, 0, LCP_MAX_RANKS),         LCP_INT_FIELD(lcp_rank_place, cp, 0, LCP_MAX_RANKS),
    LCP_INT_FIELD(lcp_rank_place, tp, 0, LCP_MAX_RANKS),         {.key = NULL},
};

int64_t lcp_layout_ranks(const lcp_layout *layout)
{
    const int32_t degrees[] = {layout->dp, layout->pp, layout->tp, layout->ulysses, layout->ring};
    int64_t ranks = 1;
    for (size_t i = 0; i < sizeof degrees / sizeof degrees[0] && ranks <= LCP_MAX_RANKS; i++) {
        ranks *= degrees[i];
    }
    return ranks;
}

lcp_rank_place lcp_rank_place_of(const lcp_layout *layout, const lcp_cluster *cluster, int64_t rank)
{
    int64_t cp = (int64_t)layout->ulysses * layout->ring;
    lcp_rank_place place = {
        .rank = rank,
        .tp = rank % layout->tp,
        .cp = rank / layout->tp % cp,
        .dp = rank / layout->tp / cp % layout->dp,
        .pp = rank / layout->tp / cp / layout->dp,
    };
    int64_t device = rank;
    for (const lcp_group *group = cluster->groups; device >= group->nodes * group->devices_per_node; group++) {
        device -= group->nodes * group->devices_per_node;
        place.group++;
    }
    place.node = device / cluster->groups[place.group].devices_per_node;
    place.local_rank = device % cluster->groups[place.group].devices_per_node;
    return place;
}
