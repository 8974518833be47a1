/* Shared by the steps of a stream: opening, deciding one batch. */
#ifndef LCP_STREAM_INTERNAL_H
#define LCP_STREAM_INTERNAL_H

#include "lcp/stream.h"

#include "search/evaluation.h"

struct lcp_stream {
    lcp_problem problem; /* its workload is that of the base plan */
    lcp_cost cost;       /* borrows from problem */
    lcp_layout layout;
    char schedule_name[32];
    int32_t stage_count;
    int32_t *stage_layers; /* [stage_count] */
    double chunk_seconds;  /* mean of the base plan's chunks, additive price */
    const lcp_schedule_kind *kind;
};

/* Recompute under a fixed split: what memory demands, then moved off the critical path with at most `replays` replays
 * of a pipeline. out->found tells whether it fits. */
lcp_status lcp_stream_fill(lcp_partition *out, const lcp_partition_input *input, const int32_t *stage_layers,
                           int32_t replays, lcp_error *err);

/* Chunks, order and recompute for a batch; out->found is false if nothing fits. */
lcp_status lcp_stream_decide(lcp_evaluation *out, const lcp_stream *stream, const lcp_problem *batch, lcp_error *err);

/* Sum of the additive prices of whole sequences, all stages. */
double lcp_stream_work_seconds(const lcp_cost *cost, const int64_t *lengths_tokens, int64_t count);

#endif
