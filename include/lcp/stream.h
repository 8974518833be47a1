/* One global batch after the other under a plan made once: mesh, layers of each stage and options stay those of the
 * base plan, chunks, recompute and the order of passes are decided anew for the lengths of each batch.
 *
 * The answer depends on the base plan and the lengths alone, not on the batches before. A stream keeps nothing of a
 * batch; several streams may be used at the same time, one stream by one thread at a time. */
#ifndef LCP_STREAM_H
#define LCP_STREAM_H

#include "lcp/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lcp_stream lcp_stream;

/* text: a document lcplan.plan/1 of `size` bytes. *out is closed with lcp_stream_close; NULL after a failure.
 * LCP_INPUT: not such a document, or one with virtual stages or with one recompute setting for all; LCP_FALSE: a plan
 * that does not hold.
 */
lcp_status lcp_stream_open(lcp_stream **out, const char *text, size_t size, lcp_error *err);
void lcp_stream_close(lcp_stream *stream); /* NULL is accepted */

/* Plans one batch: lengths_tokens[count], each in [1, 2147483647], count in [dp, 10^7]; a sequence has the number of
 * its place. `out` is a whole plan without certificate and alternatives: lcp_plan_dispose. LCP_INPUT: a length or their
 * number is out of range; LCP_INFEASIBLE: the batch does not fit in memory, whatever is recomputed. */
lcp_status lcp_stream_batch(lcp_plan *out, lcp_stream *stream, const int64_t *lengths_tokens, int64_t count,
                            lcp_error *err);

/* The same as text: one line of JSON without the newline, an object of `sequences`, `chunks`, `schedule` and
 * `predicted` as in lcplan.plan/1. *line is the caller's: lcp_stream_free. */
lcp_status lcp_stream_plan(char **line, lcp_stream *stream, const int64_t *lengths_tokens, int64_t count,
                           lcp_error *err);

/* Text to text: `line` is [lengths] or {"lengths_tokens": [lengths]}, `size` bytes. Whatever happens *answer is a line:
 * the plan, or {"error": message}. Fails only if there is no memory for the answer (then *answer is NULL). */
lcp_status lcp_stream_answer(char **answer, lcp_stream *stream, const char *line, size_t size);
void lcp_stream_free(char *line);

#ifdef __cplusplus
}
#endif

#endif
