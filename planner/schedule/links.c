#include "lcp/schedule.h"

#include <stdio.h>

/* The segment of a chunk that continues a sequence (offset > 0) or is continued (has_successor); NULL if none. */
static const lcp_segment *sliced_segment(const lcp_chunk *chunk)
{
    for (int32_t i = 0; i < chunk->segment_count; i++) {
        if (chunk->segments[i].offset_tokens > 0 || chunk->segments[i].has_successor) {
            return &chunk->segments[i];
        }
    }
    return NULL;
}

static int32_t sliced_count(const lcp_chunk *chunk)
{
    int32_t count = 0;
    for (int32_t i = 0; i < chunk->segment_count; i++) {
        count += chunk->segments[i].offset_tokens > 0 || chunk->segments[i].has_successor;
    }
    return count;
}

static lcp_status bad(int32_t chunk, const char *text, lcp_error *err)
{
    char where[64];
    snprintf(where, sizeof where, "$.chunks[%d]", chunk);
    return lcp_fail(err, LCP_INPUT, where, "%s", text);
}

lcp_status lcp_chunk_links(lcp_chunk_link *links, const lcp_chunk *chunks, int32_t chunk_count, lcp_error *err)
{
    const lcp_segment *open = NULL; /* slice that still waits for its successor, always in the chunk before */
    for (int32_t k = 0; k < chunk_count; k++) {
        links[k] = (lcp_chunk_link){.previous_slice = -1, .next_slice = -1};
        if (sliced_count(&chunks[k]) > 1) {
            return bad(k, "more than one sliced segment in a chunk", err);
        }
        const lcp_segment *slice = sliced_segment(&chunks[k]);
        if (open != NULL) {
            bool continues = slice != NULL && slice->sequence == open->sequence &&
                             slice->offset_tokens == open->offset_tokens + open->length_tokens;
            if (!continues) {
                return bad(k, "the slice that continues the sequence of the chunk before is missing or out of order",
                           err);
            }
            links[k].previous_slice = k - 1;
            links[k - 1].next_slice = k;
        } else if (slice != NULL && slice->offset_tokens > 0) {
            return bad(k, "a slice without the slices before it", err);
        }
        open = slice != NULL && slice->has_successor ? slice : NULL;
    }
    return open != NULL ? bad(chunk_count - 1, "the last slice of a sequence is missing", err) : LCP_OK;
}
