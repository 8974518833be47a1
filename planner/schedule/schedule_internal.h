/* What the generators share. */
#ifndef LCP_SCHEDULE_INTERNAL_H
#define LCP_SCHEDULE_INTERNAL_H

#include "lcp/schedule.h"

/* One stage a rank, room for ops_per_rank operations each, none appended yet. */
lcp_status lcp_schedule_allocate(lcp_schedule *out, const lcp_schedule_input *input, int32_t ops_per_rank,
                                 lcp_error *err);
void lcp_schedule_append(lcp_schedule *schedule, int32_t rank, lcp_op_kind kind, int32_t chunk);

/* order[i] = chunk of the i-th backward pass: slices of one sequence last first, everything else in forward order.
 * Slices of a sequence must be consecutive chunks (lcp_chunk_links guarantees it). Returns the largest number of slices
 * of one sequence, 1 if nothing is sliced. */
int32_t lcp_schedule_backward_order(int32_t *order, const lcp_schedule_input *input);

extern const lcp_schedule_kind lcp_schedule_one_f_one_b;
extern const lcp_schedule_kind lcp_schedule_elastic_1f1b;

#endif
