/* Rules of verification, one group a file. Nothing here is shared with the search but the cost model. */
#ifndef LCP_VERIFY_INTERNAL_H
#define LCP_VERIFY_INTERNAL_H

#include "verify/verify.h"

/* Returns LCP_FALSE with where = "$.<path>" as printed. */
lcp_status lcp_broken(lcp_error *err, const char *text, const char *path_format, ...) LCP_PRINTF(3, 4);

lcp_status lcp_verify_inputs(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err);
lcp_status lcp_verify_degrees(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err);
lcp_status lcp_verify_stages(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err);
lcp_status lcp_verify_segments(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err);
lcp_status lcp_verify_schedule(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err);
lcp_status lcp_verify_order(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err);
lcp_status lcp_verify_recompute(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err);
lcp_status lcp_verify_options(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err);
lcp_status lcp_verify_prediction(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err);
lcp_status lcp_verify_certificate(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err);

/* A plan whose ranks hold several stages, or whose passes are more than F and B: its prediction is held against a
 * simulation. */
bool lcp_verify_is_general(const lcp_plan *plan);
lcp_status lcp_verify_simulated(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err);

/* Layers of each class on a stage. */
void lcp_verify_stage_classes(const lcp_plan *plan, const lcp_model *model, int32_t stage, int32_t *layers);

/* The slice before and after each chunk's slice in the plan's numbering, -1 = none. [chunk_count] each. */
typedef struct lcp_slices {
    int32_t *before, *after;
} lcp_slices;
lcp_status lcp_slices_find(lcp_slices *out, const lcp_plan *plan, lcp_error *err);
void lcp_slices_dispose(lcp_slices *slices);

#endif
