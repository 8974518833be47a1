/* Figures of a plan that summaries share. */
#ifndef LCP_PLAN_FIGURES_H
#define LCP_PLAN_FIGURES_H

#include "lcp/plan.h"
#include "lcp/problem.h"

typedef struct lcp_plan_figures {
    int32_t fullest_stage; /* least memory left */
    int64_t fullest_bytes; /* reserve included */
    int64_t device_bytes;
    int32_t least_chunks, most_chunks; /* over pipelines */
    int64_t least_tokens, most_tokens; /* over chunks */
    int32_t most_segments;
    int64_t sliced_sequences; /* cut into several slices */
    int64_t packs, hybrids;   /* chunks of several whole sequences; chunks of a slice and whole sequences */
    double recomputed_ratio;  /* of all (layer, chunk) pairs, those that keep less than everything */
} lcp_plan_figures;

lcp_plan_figures lcp_plan_figures_of(const lcp_plan *plan, const lcp_problem *problem);

int64_t lcp_chunk_tokens(const lcp_chunk *chunk); /* without padding */

/* Every part of a breakdown with its name, in a fixed order. */
typedef struct lcp_breakdown_part {
    const char *key; /* as in the plan's document */
    const char *help;
    size_t offset; /* of the double in lcp_breakdown */
} lcp_breakdown_part;
#define LCP_BREAKDOWN_PARTS 9
extern const lcp_breakdown_part lcp_breakdown_parts[LCP_BREAKDOWN_PARTS];
double lcp_breakdown_value(const lcp_breakdown *breakdown, size_t part);

#endif
