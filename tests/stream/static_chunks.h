/* The rival of a stream: one chunk length and one recompute setting for all batches. */
#ifndef LCP_STATIC_CHUNKS_H
#define LCP_STATIC_CHUNKS_H

#include "partition/partition.h"

typedef struct static_setting {
    int64_t chunk_tokens;
    int32_t policy; /* of lcp_recompute */
    int32_t layers; /* of each stage */
} static_setting;

/* Sequences cut every chunk_tokens, what is shorter packed first-fit decreasing into chunks of chunk_tokens; pipelines
 * by least work first. *seconds: iteration under the setting, infinity if a stage does not fit. */
lcp_status static_iteration(double *seconds, const lcp_cost *cost, const lcp_schedule_kind *kind,
                            const int32_t *stage_layers, const int64_t *lengths, int64_t count,
                            const static_setting *setting, lcp_error *err);

#endif
