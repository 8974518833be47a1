#include "partition/partition.h"

#include <stdlib.h>

void lcp_pipeline_tables_dispose(lcp_pipeline_tables *tables)
{
    free(tables->links);
    free(tables->layers);
    free(tables->embedding);
    free(tables->head);
    free(tables->hop_seconds);
    lcp_schedule_dispose(&tables->schedule);
    *tables = (lcp_pipeline_tables){0};
}

static lcp_status allocate(lcp_pipeline_tables *out, int32_t classes, lcp_error *err)
{
    size_t chunks = (size_t)out->chunk_count;
    out->links = malloc(chunks * sizeof *out->links);
    out->layers = malloc(chunks * (size_t)classes * sizeof *out->layers);
    out->embedding = malloc(chunks * sizeof *out->embedding);
    out->head = malloc(chunks * sizeof *out->head);
    out->hop_seconds = malloc(chunks * sizeof *out->hop_seconds);
    bool complete = out->links != NULL && out->layers != NULL && out->embedding != NULL && out->head != NULL &&
                    out->hop_seconds != NULL;
    return complete ? LCP_OK : lcp_fail(err, LCP_NOMEM, "", "cannot hold the costs of %d chunks", out->chunk_count);
}

static void price_chunks(lcp_pipeline_tables *out, const lcp_cost *cost)
{
    int32_t classes = cost->model->class_count;
    for (int32_t k = 0; k < out->chunk_count; k++) {
        const lcp_chunk *chunk = &out->chunks[k];
        for (int32_t c = 0; c < classes; c++) {
            lcp_cost_layer(cost, c, chunk, &out->layers[(size_t)k * (size_t)classes + (size_t)c]);
        }
        lcp_cost_embedding(cost, chunk, &out->embedding[k]);
        lcp_cost_head(cost, chunk, &out->head[k]);
        out->hop_seconds[k] = lcp_cost_hop_seconds(cost, chunk);
        int64_t tokens = lcp_cost_padded_tokens(cost, chunk);
        out->max_padded_tokens = tokens > out->max_padded_tokens ? tokens : out->max_padded_tokens;
    }
}

lcp_status lcp_pipeline_tables_build(lcp_pipeline_tables *out, const lcp_cost *cost, const lcp_chunk *chunks,
                                     int32_t chunk_count, const lcp_schedule_kind *kind, lcp_error *err)
{
    *out = (lcp_pipeline_tables){.chunk_count = chunk_count, .chunks = chunks};
    lcp_status status = allocate(out, cost->model->class_count, err);
    if (status == LCP_OK) {
        status = lcp_chunk_links(out->links, chunks, chunk_count, err);
    }
    if (status == LCP_OK) {
        lcp_schedule_input input = {.rank_count = cost->layout.pp, .chunk_count = chunk_count, .links = out->links};
        const char *reason = kind->unsupported(&input);
        status = reason == NULL ? kind->build(&out->schedule, &input, err)
                                : lcp_fail(err, LCP_INFEASIBLE, "schedule", "%s", reason);
    }
    if (status == LCP_OK) {
        price_chunks(out, cost);
    } else {
        lcp_pipeline_tables_dispose(out);
    }
    return status;
}
