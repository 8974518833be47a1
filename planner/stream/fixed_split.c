/* Recompute choices when the layers of every stage are given. */
#include "stream/stream_internal.h"

#include "partition/fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t count_bytes(const lcp_view *v)
{
    return (size_t)v->chunks * (size_t)v->stages * (size_t)v->classes * LCP_RECOMPUTE_COUNT * sizeof(int32_t);
}

static lcp_status prepare(lcp_partition *out, const lcp_partition_input *input, const int32_t *stage_layers,
                          lcp_error *err)
{
    int32_t stages = input->cost->layout.pp;
    *out = (lcp_partition){.stage_count = stages, .pipeline_count = input->pipeline_count, .found = true};
    out->stage_layers = malloc((size_t)stages * sizeof *out->stage_layers);
    out->recompute_counts = calloc((size_t)input->pipeline_count, sizeof *out->recompute_counts);
    if (out->stage_layers == NULL || out->recompute_counts == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold the choices of %d pipelines", input->pipeline_count);
    }
    memcpy(out->stage_layers, stage_layers, (size_t)stages * sizeof *out->stage_layers);
    return LCP_OK;
}

/* One pipeline: the least recompute that fits, replayed and improved. */
static lcp_status fill_one(lcp_partition *out, const lcp_view *view, int32_t pipeline, int32_t replays, lcp_error *err)
{
    lcp_fill fill;
    lcp_status status = lcp_fill_build(&fill, view, out->stage_layers, err);
    if (status != LCP_OK) {
        return status;
    }
    out->found = lcp_fill_round(&fill, NULL);
    status = out->found ? lcp_fill_replay(&fill, err) : LCP_OK;
    if (status == LCP_OK && out->found && replays > 0) {
        status = lcp_fill_improve(&fill, replays, err);
    }
    out->iteration_seconds = fmax(out->iteration_seconds, fill.makespan_seconds);
    out->recompute_counts[pipeline] = malloc(count_bytes(view));
    if (out->recompute_counts[pipeline] == NULL) {
        status = lcp_fail(err, LCP_NOMEM, "", "cannot hold the choices of %d chunks", view->chunks);
    } else {
        memcpy(out->recompute_counts[pipeline], fill.counts, count_bytes(view));
    }
    lcp_fill_dispose(&fill);
    return status;
}

lcp_status lcp_stream_fill(lcp_partition *out, const lcp_partition_input *input, const int32_t *stage_layers,
                           int32_t replays, lcp_error *err)
{
    lcp_status status = prepare(out, input, stage_layers, err);
    for (int32_t d = 0; status == LCP_OK && out->found && d < input->pipeline_count; d++) {
        lcp_view view;
        status = lcp_view_build(&view, input, d, err);
        if (status == LCP_OK) {
            status = fill_one(out, &view, d, replays, err);
        }
        lcp_view_dispose(&view);
    }
    if (status != LCP_OK) {
        lcp_partition_dispose(out);
    }
    return status;
}
