/* One batch: how many chunks, which ones, and what they recompute. The number of chunks is looked for around what the
 * base plan's mean chunk suggests; all steps are counted, none is timed, so that the same batch gets the same answer.
 */
#include "stream/stream_internal.h"

#include "search/legality.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP_RATIO 1.25      /* between the numbers of chunks that are tried */
#define MOST_TRIES 8         /* numbers of chunks, once one fits */
#define IMPROVE_PASSES 30000 /* passes replayed to move recompute off the critical path */

double lcp_stream_work_seconds(const lcp_cost *cost, const int64_t *lengths_tokens, int64_t count)
{
    double seconds = 0;
    for (int64_t i = 0; i < count; i++) {
        seconds += lcp_cost_segment_seconds(cost, 0, lengths_tokens[i]);
    }
    return seconds;
}

static lcp_chunking_input chunking_input(const lcp_stream *stream, const lcp_problem *batch, int32_t chunks)
{
    const lcp_layout *layout = &stream->layout;
    const lcp_options *options = &batch->options;
    return (lcp_chunking_input){
        .cost = &stream->cost,
        .workload = &batch->workload,
        .chunks_per_rank = chunks,
        .slicing = options->slicing && layout->pp > 1 && strcmp(stream->schedule_name, "1f1b") != 0,
        .min_slice_tokens = options->min_slice_tokens * layout->ulysses * layout->ring,
        .slice_alignment_tokens = lcp_slice_alignment(layout),
    };
}

static lcp_partition_input partition_input(const lcp_evaluation *e, const lcp_problem *batch)
{
    return (lcp_partition_input){
        .cost = &e->cost,
        .pipeline_count = e->candidate.layout.dp,
        .pipelines = e->pipelines,
        .policy_mask = lcp_recompute_mask(batch->options.recompute),
        .cutoff_seconds = HUGE_VAL,
    };
}

static lcp_status build_tables(lcp_evaluation *e, const lcp_stream *stream, lcp_error *err)
{
    int32_t dp = stream->layout.dp;
    e->pipelines = calloc((size_t)dp, sizeof *e->pipelines);
    lcp_status status =
        e->pipelines != NULL ? LCP_OK : lcp_fail(err, LCP_NOMEM, "", "cannot hold the costs of %d pipelines", dp);
    for (int32_t d = 0; status == LCP_OK && d < dp; d++) {
        int32_t first = e->chunking.rank_first[d];
        status = lcp_pipeline_tables_build(&e->pipelines[d], &e->cost, &e->chunking.chunks[first],
                                           e->chunking.rank_first[d + 1] - first, stream->kind, err);
    }
    return status;
}

/* The batch in `chunks` chunks a rank, under the least recompute that fits. */
static lcp_status try_chunks(lcp_evaluation *out, const lcp_stream *stream, const lcp_problem *batch, int32_t chunks,
                             lcp_error *err)
{
    *out = (lcp_evaluation){.candidate = {.layout = stream->layout, .chunks_per_rank = chunks}, .cost = stream->cost};
    lcp_chunking_input cut = chunking_input(stream, batch, chunks);
    lcp_status status = lcp_chunking_solve(&out->chunking, &cut, err);
    if (status == LCP_OK) {
        status = build_tables(out, stream, err);
    }
    if (status == LCP_OK) {
        lcp_partition_input input = partition_input(out, batch);
        status = lcp_stream_fill(&out->partition, &input, stream->stage_layers, 0, err);
    }
    out->found = status == LCP_OK && out->partition.found;
    out->iteration_seconds = out->found ? out->partition.iteration_seconds : HUGE_VAL;
    return status;
}

/* Most chunks worth trying: two useful slices a chunk on average, or one chunk a sequence where none is cut. */
static int32_t most_chunks(const lcp_stream *stream, const lcp_problem *batch)
{
    const lcp_layout *layout = &stream->layout;
    int64_t shortest = batch->options.min_slice_tokens * layout->ulysses * layout->ring;
    int64_t limit = batch->workload.total_tokens / (layout->dp * (shortest > 0 ? shortest : 1));
    int64_t sequences = (batch->workload.sequence_count + layout->dp - 1) / layout->dp;
    if (!chunking_input(stream, batch, 1).slicing && sequences < limit) {
        limit = sequences;
    }
    return (int32_t)(limit < 1 ? 1 : limit > 4096 ? 4096 : limit);
}

/* The walk over numbers of chunks: upwards from the start, then downwards, as long as that helps. */
typedef struct walk {
    const lcp_stream *stream;
    const lcp_problem *batch;
    lcp_evaluation best;
    int32_t tries, most;
} walk;

/* *better: there is a new best. */
static lcp_status step_to(walk *w, int32_t chunks, bool *better, lcp_error *err)
{
    lcp_evaluation found;
    lcp_status status = try_chunks(&found, w->stream, w->batch, chunks, err);
    *better =
        status == LCP_OK && found.found && (!w->best.found || found.iteration_seconds < w->best.iteration_seconds);
    if (*better) {
        lcp_evaluation worse = w->best;
        w->best = found;
        found = worse;
    }
    w->tries += w->best.found ? 1 : 0;
    lcp_evaluation_dispose(&found);
    return status;
}

static int32_t next_number(int32_t chunks, double ratio)
{
    int32_t next = (int32_t)lround(chunks * ratio);
    return next != chunks ? next : chunks + (ratio > 1 ? 1 : -1);
}

static lcp_status walk_along(walk *w, int32_t start, double ratio, lcp_error *err)
{
    lcp_status status = LCP_OK;
    bool better = true;
    int32_t chunks = next_number(start, ratio);
    while (status == LCP_OK && (better || !w->best.found) && w->tries < MOST_TRIES && chunks >= 1 &&
           chunks <= w->most) {
        status = step_to(w, chunks, &better, err);
        chunks = next_number(chunks, ratio);
    }
    return status;
}

/* What is left of the effort goes into recompute on the critical path. */
static lcp_status improve(lcp_evaluation *e, const lcp_stream *stream, const lcp_problem *batch, lcp_error *err)
{
    int64_t passes = 2 * (int64_t)stream->stage_count * e->chunking.chunk_count;
    int32_t replays = (int32_t)(IMPROVE_PASSES / passes);
    if (replays < 1) {
        return LCP_OK;
    }
    lcp_partition_input input = partition_input(e, batch);
    lcp_partition better;
    lcp_status status = lcp_stream_fill(&better, &input, stream->stage_layers, replays, err);
    if (status == LCP_OK) {
        lcp_partition_dispose(&e->partition);
        e->partition = better;
    }
    return status;
}

lcp_status lcp_stream_decide(lcp_evaluation *out, const lcp_stream *stream, const lcp_problem *batch, lcp_error *err)
{
    walk w = {.stream = stream, .batch = batch, .most = most_chunks(stream, batch)};
    const lcp_workload *workload = &batch->workload;
    double work = lcp_stream_work_seconds(&stream->cost, workload->lengths_tokens, workload->sequence_count);
    double wanted = round(work / stream->layout.dp / stream->chunk_seconds);
    int32_t start = (int32_t)fmin(fmax(wanted, 1), w.most);
    bool better = false;
    lcp_status status = step_to(&w, start, &better, err);
    if (status == LCP_OK) {
        status = walk_along(&w, start, STEP_RATIO, err);
    }
    bool at_start = w.best.found && w.best.candidate.chunks_per_rank == start;
    if (status == LCP_OK && (at_start || !w.best.found)) {
        status = walk_along(&w, start, 1 / STEP_RATIO, err);
    }
    if (status == LCP_OK && w.best.found) {
        status = improve(&w.best, stream, batch, err);
    }
    if (status == LCP_OK && w.best.found) {
        status = lcp_evaluate(&w.best.predicted, &w.best.cost, stream->layout.dp, w.best.pipelines, &w.best.partition,
                              workload, err);
    }
    *out = w.best;
    if (status != LCP_OK) {
        lcp_evaluation_dispose(out);
    }
    return status;
}
