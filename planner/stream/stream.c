/* The entry points of lcp/stream.h. */
#include "stream/stream_internal.h"

#include "input/input.h"
#include "input/lengths_line.h"
#include "output/plan_line.h"
#include "verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lcp_stream_close(lcp_stream *stream)
{
    if (stream != NULL) {
        lcp_problem_dispose(&stream->problem);
        free(stream->stage_layers);
        free(stream);
    }
}

static lcp_status take_layout(lcp_stream *stream, const lcp_plan *base, lcp_error *err)
{
    stream->layout = base->layout;
    stream->stage_count = base->stage_count;
    snprintf(stream->schedule_name, sizeof stream->schedule_name, "%s", base->schedule_name);
    stream->kind = lcp_schedule_find(base->schedule_name);
    if (stream->kind == NULL || base->layout.vpp != 1) {
        return lcp_fail(err, LCP_INPUT, "$.schedule", "%s with %d virtual stages a rank cannot be streamed",
                        base->schedule_name, base->layout.vpp);
    }
    if (stream->problem.options.uniform_recompute) {
        return lcp_fail(err, LCP_INPUT, "$.inputs.options.uniform_recompute",
                        "a plan with one recompute setting for all chunks cannot be streamed");
    }
    stream->stage_layers = malloc((size_t)base->stage_count * sizeof *stream->stage_layers);
    if (stream->stage_layers == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold %d stages", base->stage_count);
    }
    for (int32_t s = 0; s < base->stage_count; s++) {
        stream->stage_layers[s] = base->stages[s].layer_count;
    }
    return lcp_cost_prepare(&stream->cost, &stream->problem.model, &stream->problem.cluster, &stream->layout,
                            &stream->problem.options.training, err);
}

lcp_status lcp_stream_open(lcp_stream **out, const char *text, size_t size, lcp_error *err)
{
    lcp_plan base = {0};
    lcp_stream *stream = calloc(1, sizeof *stream);
    *out = NULL;
    if (stream == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot open a stream");
    }
    lcp_status status = lcp_plan_from_text(&base, &stream->problem, text, size, err);
    if (status == LCP_OK) {
        status = lcp_verify(&base, &stream->problem, err);
    }
    if (status == LCP_OK) {
        status = take_layout(stream, &base, err);
    }
    if (status == LCP_OK) {
        const lcp_workload *workload = &stream->problem.workload;
        stream->chunk_seconds =
            lcp_stream_work_seconds(&stream->cost, workload->lengths_tokens, workload->sequence_count) /
            base.chunk_count;
        *out = stream;
    } else {
        lcp_stream_close(stream);
    }
    lcp_plan_dispose(&base);
    return status;
}

/* A workload of these lengths. */
static lcp_status take_lengths(lcp_workload *out, const lcp_stream *stream, const int64_t *lengths, int64_t count,
                               lcp_error *err)
{
    if (count < stream->layout.dp || count > LCP_MAX_BATCH_SEQUENCES) {
        return lcp_fail(err, LCP_INPUT, "lengths_tokens", "found %lld lengths, expected %d (one a replica) to %d",
                        (long long)count, stream->layout.dp, LCP_MAX_BATCH_SEQUENCES);
    }
    out->sequence_count = count;
    out->lengths_tokens = malloc((size_t)count * sizeof *out->lengths_tokens);
    if (out->lengths_tokens == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold %lld lengths", (long long)count);
    }
    for (int64_t i = 0; i < count; i++) {
        if (lengths[i] < 1 || lengths[i] > INT32_MAX) {
            return lcp_fail(err, LCP_INPUT, "lengths_tokens", "[%lld]: found %lld, expected an integer in [1, %d]",
                            (long long)i, (long long)lengths[i], INT32_MAX);
        }
        out->lengths_tokens[i] = lengths[i];
        out->total_tokens += lengths[i];
        out->max_length_tokens = lengths[i] > out->max_length_tokens ? lengths[i] : out->max_length_tokens;
    }
    return LCP_OK;
}

/* batch: the base problem with other lengths; it owns only these. */
static lcp_status plan_batch(lcp_plan *out, lcp_problem *batch, const lcp_stream *stream, const int64_t *lengths,
                             int64_t count, lcp_error *err)
{
    *batch = stream->problem;
    batch->workload = (lcp_workload){0};
    snprintf(batch->options.schedule, sizeof batch->options.schedule, "%s", stream->schedule_name);
    lcp_evaluation evaluation = {0};
    lcp_status status = take_lengths(&batch->workload, stream, lengths, count, err);
    if (status == LCP_OK) {
        status = lcp_problem_check(batch, err);
    }
    if (status == LCP_OK) {
        status = lcp_stream_decide(&evaluation, stream, batch, err);
    }
    if (status == LCP_OK && !evaluation.found) {
        status = lcp_fail(err, LCP_INFEASIBLE, "memory", "the batch does not fit, whatever is recomputed");
    }
    if (status == LCP_OK) {
        status = lcp_plan_assemble(out, batch, &evaluation, err);
    }
    lcp_evaluation_dispose(&evaluation);
    return status;
}

lcp_status lcp_stream_batch(lcp_plan *out, lcp_stream *stream, const int64_t *lengths_tokens, int64_t count,
                            lcp_error *err)
{
    lcp_problem batch;
    *out = (lcp_plan){0};
    lcp_status status = plan_batch(out, &batch, stream, lengths_tokens, count, err);
    lcp_workload_dispose(&batch.workload);
    return status;
}

lcp_status lcp_stream_plan(char **line, lcp_stream *stream, const int64_t *lengths_tokens, int64_t count,
                           lcp_error *err)
{
    lcp_problem batch;
    lcp_plan plan = {0};
    *line = NULL;
    lcp_status status = plan_batch(&plan, &batch, stream, lengths_tokens, count, err);
    if (status == LCP_OK) {
        status = lcp_plan_line(line, &plan, &batch, err);
    }
    lcp_plan_dispose(&plan);
    lcp_workload_dispose(&batch.workload);
    return status;
}

lcp_status lcp_stream_answer(char **answer, lcp_stream *stream, const char *line, size_t size)
{
    int64_t *lengths = NULL;
    int64_t count = 0;
    lcp_error err = {0};
    *answer = NULL;
    lcp_status status = lcp_lengths_from_line(&lengths, &count, line, size, &err);
    if (status == LCP_OK) {
        status = lcp_stream_plan(answer, stream, lengths, count, &err);
    }
    free(lengths);
    return status == LCP_OK ? LCP_OK : lcp_error_line(answer, &err);
}

void lcp_stream_free(char *line)
{
    free(line);
}
