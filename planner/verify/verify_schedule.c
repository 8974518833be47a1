/* Coverage of passes and an order that runs. */
#include "verify/verify_internal.h"

#include <stdlib.h>

/* Which passes of a pipeline have run: bit 0 forward, bit 1 backward, per (chunk, stage). */
typedef struct progress {
    const lcp_plan *plan;
    const lcp_slices *slices;
    int32_t dp;
    uint8_t *done; /* [chunk_count * stage_count] */
    int32_t *next; /* [rank_count] */
} progress;

static uint8_t *done_at(const progress *p, int32_t chunk, int32_t stage)
{
    return &p->done[(size_t)chunk * (size_t)p->plan->stage_count + (size_t)stage];
}

static bool runnable(const progress *p, const lcp_op *op)
{
    int32_t before = p->slices->before[op->chunk];
    int32_t after = p->slices->after[op->chunk];
    if (op->kind == LCP_OP_FORWARD) {
        bool arrived = op->stage == 0 || (*done_at(p, op->chunk, op->stage - 1) & 1U) != 0;
        return arrived && (before < 0 || (*done_at(p, before, op->stage) & 1U) != 0);
    }
    bool forward = (*done_at(p, op->chunk, op->stage) & 1U) != 0;
    bool arrived = op->stage == p->plan->stage_count - 1 || (*done_at(p, op->chunk, op->stage + 1) & 2U) != 0;
    return forward && arrived && (after < 0 || (*done_at(p, after, op->stage) & 2U) != 0);
}

static lcp_status check_op(const progress *p, int32_t rank, int32_t at, lcp_error *err)
{
    const lcp_op *op = &p->plan->pipelines[p->dp].ops[rank][at];
    const char *text = NULL;
    if (op->kind != LCP_OP_FORWARD && op->kind != LCP_OP_BACKWARD) {
        text = "an operation this schedule does not have";
    } else if (op->chunk < 0 || op->chunk >= p->plan->chunk_count || p->plan->chunks[op->chunk].chunk.dp != p->dp) {
        text = "a chunk of another data-parallel rank, or none";
    } else if (op->stage < 0 || op->stage >= p->plan->stage_count || p->plan->stages[op->stage].pp != rank) {
        text = "a stage of another rank, or none";
    }
    return text == NULL ? LCP_OK : lcp_broken(err, text, "$.schedule.pipelines[%d].ranks[%d].ops[%d]", p->dp, rank, at);
}

static lcp_status run_op(progress *p, int32_t rank, lcp_error *err)
{
    const lcp_op *op = &p->plan->pipelines[p->dp].ops[rank][p->next[rank]];
    uint8_t bit = op->kind == LCP_OP_FORWARD ? 1 : 2;
    uint8_t *done = done_at(p, op->chunk, op->stage);
    if ((*done & bit) != 0) {
        return lcp_broken(err, "the same pass twice", "$.schedule.pipelines[%d].ranks[%d].ops[%d]", p->dp, rank,
                          p->next[rank]);
    }
    *done |= bit;
    p->next[rank]++;
    return LCP_OK;
}

/* Runs every rank as far as it goes, again and again; stuck with ops left is a deadlock. */
static lcp_status run_pipeline(progress *p, lcp_error *err)
{
    const lcp_schedule *schedule = &p->plan->pipelines[p->dp];
    lcp_status status = LCP_OK;
    bool moved = true;
    while (status == LCP_OK && moved) {
        moved = false;
        for (int32_t r = 0; status == LCP_OK && r < schedule->rank_count; r++) {
            while (status == LCP_OK && p->next[r] < schedule->op_count[r]) {
                status = check_op(p, r, p->next[r], err);
                if (status != LCP_OK || !runnable(p, &schedule->ops[r][p->next[r]])) {
                    break;
                }
                status = run_op(p, r, err);
                moved = true;
            }
        }
    }
    for (int32_t r = 0; status == LCP_OK && r < schedule->rank_count; r++) {
        if (p->next[r] < schedule->op_count[r]) {
            status = lcp_broken(err, "deadlock: what this operation waits for never runs",
                                "$.schedule.pipelines[%d].ranks[%d].ops[%d]", p->dp, r, p->next[r]);
        }
    }
    return status;
}

static lcp_status check_coverage(const progress *p, lcp_error *err)
{
    for (int32_t k = 0; k < p->plan->chunk_count; k++) {
        for (int32_t s = 0; p->plan->chunks[k].chunk.dp == p->dp && s < p->plan->stage_count; s++) {
            if (*done_at(p, k, s) != 3) {
                return lcp_fail(err, LCP_FALSE, "$.schedule", "chunk %d lacks its forward or backward pass on stage %d",
                                k, s);
            }
        }
    }
    return LCP_OK;
}

lcp_status lcp_verify_schedule(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    (void)problem;
    lcp_slices slices;
    lcp_status status = lcp_slices_find(&slices, plan, err);
    if (status != LCP_OK) {
        return status;
    }
    progress p = {.plan = plan, .slices = &slices};
    for (p.dp = 0; status == LCP_OK && p.dp < plan->layout.dp; p.dp++) {
        if (plan->pipelines[p.dp].rank_count != plan->layout.pp) {
            status = lcp_broken(err, "not one list for each pipeline rank", "$.schedule.pipelines[%d].ranks", p.dp);
            break;
        }
        p.done = calloc((size_t)plan->chunk_count * (size_t)plan->stage_count, sizeof *p.done);
        p.next = calloc((size_t)plan->layout.pp, sizeof *p.next);
        if (p.done == NULL || p.next == NULL) {
            status = lcp_fail(err, LCP_NOMEM, "", "cannot check the schedule");
        }
        status = status == LCP_OK ? run_pipeline(&p, err) : status;
        status = status == LCP_OK ? check_coverage(&p, err) : status;
        free(p.done);
        free(p.next);
    }
    lcp_slices_dispose(&slices);
    return status;
}
