/* Transfers of what passes keep to host memory and back. */
#ifndef LCP_OFFLOAD_H
#define LCP_OFFLOAD_H

#include "schedule/schedule_internal.h"

/* An O right after the forward pass and an L as late before the backward pass as it may be, for this share of each
 * rank's stages, those that keep longest (of its chunks, if it has one stage). A pair that waits less than three round
 * trips stays where it is. */
lcp_status lcp_schedule_insert_offload(lcp_schedule *schedule, const lcp_schedule_input *input, double share,
                                       lcp_error *err);

/* 1F1B, interleaved if a rank holds several stages, with transfers. */
lcp_status lcp_schedule_build_offload(lcp_schedule *out, const lcp_schedule_input *input, double share, lcp_error *err);
const char *lcp_schedule_offload_unsupported(const lcp_schedule_input *input);

#endif
