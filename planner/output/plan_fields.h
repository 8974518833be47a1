/* What the writer and the reader of plans share: tables of members, and where a rank sits. */
#ifndef LCP_PLAN_FIELDS_H
#define LCP_PLAN_FIELDS_H

#include "input/json_fields.h"
#include "lcp/plan.h"

#define LCP_PLAN_FORMAT "lcplan.plan/1"
#define LCP_RANK_ORDER "tp-cp-dp-pp"
#define LCP_MAX_RANKS (1 << 20)

extern const lcp_field lcp_layout_fields[];
extern const lcp_field lcp_stage_fields[];
extern const lcp_field lcp_segment_fields[];
extern const lcp_field lcp_prediction_fields[];
extern const lcp_field lcp_breakdown_fields[];
extern const lcp_field lcp_stage_prediction_fields[];
extern const lcp_field lcp_memory_fields[];
extern const lcp_field lcp_certificate_fields[];
extern const lcp_field lcp_candidate_fields[]; /* of lcp_certificate: "candidates" */
extern const lcp_field lcp_solver_fields[];    /* of lcp_certificate: "solver" */
extern const lcp_field lcp_alternative_fields[];

/* One entry of "ranks". */
typedef struct lcp_rank_place {
    int32_t group;
    int64_t rank, node, local_rank; /* node within its group */
    int64_t dp, pp, cp, tp;
} lcp_rank_place;
extern const lcp_field lcp_rank_fields[]; /* "group", a name, apart */

int64_t lcp_layout_ranks(const lcp_layout *layout);
/* rank is below lcp_layout_ranks() and the devices of the cluster. */
lcp_rank_place lcp_rank_place_of(const lcp_layout *layout, const lcp_cluster *cluster, int64_t rank);

#endif
