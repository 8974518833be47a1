/* Coverage of passes and an order that runs. */
#include "verify/verify_internal.h"

#include <stdlib.h>
#include <string.h>

/* What has run of a (chunk, stage). A whole backward pass is both of its parts. */
enum {
    DONE_FORWARD = 1,
    DONE_INPUT_GRAD = 2,
    DONE_WEIGHT_GRAD = 4,
    DONE_RECOMPUTE = 8,
    DONE_OFFLOAD = 16,
    DONE_RELOAD = 32,
    DONE_PASSES = DONE_FORWARD | DONE_INPUT_GRAD | DONE_WEIGHT_GRAD
};

static const uint8_t done_by[LCP_OP_KIND_COUNT] = {
    [LCP_OP_FORWARD] = DONE_FORWARD,       [LCP_OP_BACKWARD] = DONE_INPUT_GRAD | DONE_WEIGHT_GRAD,
    [LCP_OP_INPUT_GRAD] = DONE_INPUT_GRAD, [LCP_OP_WEIGHT_GRAD] = DONE_WEIGHT_GRAD,
    [LCP_OP_RECOMPUTE] = DONE_RECOMPUTE,   [LCP_OP_OFFLOAD] = DONE_OFFLOAD,
    [LCP_OP_RELOAD] = DONE_RELOAD,
};

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

static bool has(const progress *p, int32_t chunk, int32_t stage, uint8_t bit)
{
    return (*done_at(p, chunk, stage) & bit) != 0;
}

static bool runnable(const progress *p, const lcp_op *op)
{
    int32_t before = p->slices->before[op->chunk];
    int32_t after = p->slices->after[op->chunk];
    if (op->kind == LCP_OP_FORWARD) {
        bool arrived = op->stage == 0 || has(p, op->chunk, op->stage - 1, DONE_FORWARD);
        return arrived && (before < 0 || has(p, before, op->stage, DONE_FORWARD));
    }
    bool forward = has(p, op->chunk, op->stage, DONE_FORWARD);
    if (op->kind == LCP_OP_WEIGHT_GRAD) {
        return has(p, op->chunk, op->stage, DONE_INPUT_GRAD);
    }
    if (op->kind != LCP_OP_BACKWARD && op->kind != LCP_OP_INPUT_GRAD) {
        return forward;
    }
    bool arrived = op->stage == p->plan->stage_count - 1 || has(p, op->chunk, op->stage + 1, DONE_INPUT_GRAD);
    return forward && arrived && (after < 0 || has(p, after, op->stage, DONE_INPUT_GRAD));
}

/* Letters of the operations that a schedule has; recompute ahead of time goes with any. */
static const struct {
    const char *name, *letters;
} schedule_letters[] = {
    {"gpipe", "FBR"},       {"1f1b", "FBR"},           {"sliced-1f1b", "FBR"},    {"elastic-1f1b", "FBR"},
    {"interleaved", "FBR"}, {"breadth-first", "FBR"},  {"hanayo", "FBR"},         {"chimera", "FBR"},
    {"zb-h1", "FIWR"},      {"zb-h2", "FIWR"},         {"zb-v", "FIWR"},          {"v-half", "FIWR"},
    {"v-min", "FIWR"},      {"offload-half", "FBROL"}, {"offload-full", "FBROL"},
};

static bool knows(const char *name, lcp_op_kind kind)
{
    for (size_t i = 0; i < sizeof schedule_letters / sizeof schedule_letters[0]; i++) {
        if (strcmp(schedule_letters[i].name, name) == 0) {
            return strchr(schedule_letters[i].letters, lcp_op_names[kind][0]) != NULL;
        }
    }
    return true;
}

static lcp_status check_op(const progress *p, int32_t rank, int32_t at, lcp_error *err)
{
    const lcp_op *op = &p->plan->pipelines[p->dp].ops[rank][at];
    const char *text = NULL;
    if (!knows(p->plan->schedule_name, op->kind)) {
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
    uint8_t *done = done_at(p, op->chunk, op->stage);
    bool backward = op->kind == LCP_OP_BACKWARD || op->kind == LCP_OP_INPUT_GRAD;
    bool away = (*done & (DONE_OFFLOAD | DONE_RELOAD)) == DONE_OFFLOAD;
    const char *text = NULL;
    if ((*done & done_by[op->kind]) != 0) {
        text = "the same pass twice";
    } else if (backward && away) {
        text = "reads activations that are in host memory";
    } else if (op->kind == LCP_OP_RELOAD && !away) {
        text = "reloads activations that are not in host memory";
    } else if (op->kind >= LCP_OP_RECOMPUTE && (*done & DONE_INPUT_GRAD) != 0) {
        text = "comes after the backward pass that it is for";
    }
    if (text != NULL) {
        return lcp_broken(err, text, "$.schedule.pipelines[%d].ranks[%d].ops[%d]", p->dp, rank, p->next[rank]);
    }
    *done |= done_by[op->kind];
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
            if ((*done_at(p, k, s) & DONE_PASSES) != DONE_PASSES) {
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
