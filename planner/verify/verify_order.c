/* The order of passes against the rule of the schedule that the plan names. */
#include "verify/verify_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Schedules whose order follows from chunks and ranks alone; the others search theirs. */
static bool has_rule(const char *name)
{
    static const char *const names[] = {"gpipe",       "1f1b",          "sliced-1f1b", "elastic-1f1b",
                                        "interleaved", "breadth-first", "zb-h1",       "zb-h2"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_pass(const lcp_op *op)
{
    return op->kind <= LCP_OP_WEIGHT_GRAD;
}

/* Passes only: recompute ahead of time and transfers may be anywhere that the schedule check allows. */
static lcp_status compare_rank(const lcp_plan *plan, int32_t dp, int32_t rank, const lcp_schedule *rule, int32_t first,
                               lcp_error *err)
{
    const lcp_schedule *planned = &plan->pipelines[dp];
    int32_t at = 0;
    for (int32_t i = 0; i < planned->op_count[rank]; i++) {
        const lcp_op *op = &planned->ops[rank][i];
        if (!is_pass(op)) {
            continue;
        }
        const lcp_op *wanted = at < rule->op_count[rank] ? &rule->ops[rank][at] : NULL;
        at++;
        if (wanted == NULL || wanted->kind != op->kind || wanted->chunk + first != op->chunk ||
            wanted->stage != op->stage) {
            char text[160];
            snprintf(text, sizeof text, "%s has %s of chunk %d on stage %d here", plan->schedule_name,
                     wanted != NULL ? lcp_op_names[wanted->kind] : "nothing",
                     wanted != NULL ? wanted->chunk + first : 0, wanted != NULL ? wanted->stage : 0);
            return lcp_broken(err, text, "$.schedule.pipelines[%d].ranks[%d].ops[%d]", dp, rank, i);
        }
    }
    return LCP_OK;
}

/* Chunks of a pipeline and their links, counted from its first chunk. */
static int32_t fill_links(lcp_chunk_link *links, const lcp_plan *plan, const lcp_slices *slices, int32_t dp,
                          int32_t *first)
{
    int32_t count = 0;
    for (int32_t k = 0; k < plan->chunk_count; k++) {
        if (plan->chunks[k].chunk.dp != dp) {
            continue;
        }
        *first = count == 0 ? k : *first;
        links[count++] = (lcp_chunk_link){slices->before[k] < 0 ? -1 : slices->before[k] - *first,
                                          slices->after[k] < 0 ? -1 : slices->after[k] - *first};
    }
    return count;
}

static lcp_status check_pipeline(const lcp_plan *plan, const lcp_slices *slices, lcp_chunk_link *links, int32_t dp,
                                 lcp_error *err)
{
    int32_t first = 0;
    lcp_schedule rule = {0};
    lcp_schedule_input input = {.rank_count = plan->layout.pp,
                                .virtual_count = plan->layout.vpp,
                                .chunk_count = fill_links(links, plan, slices, dp, &first),
                                .links = links,
                                .effort = 1};
    const lcp_schedule_kind *kind = lcp_schedule_find(plan->schedule_name);
    if (kind == NULL) {
        return lcp_fail(err, LCP_FALSE, "$.schedule.name", "unknown schedule %s", plan->schedule_name);
    }
    const char *reason = kind->unsupported(&input);
    if (reason != NULL) {
        return lcp_broken(err, reason, "$.schedule.pipelines[%d]", dp);
    }
    if (!has_rule(plan->schedule_name)) {
        return LCP_OK;
    }
    lcp_status status = lcp_schedule_generate(&rule, plan->schedule_name, &input, err);
    for (int32_t r = 0; status == LCP_OK && r < plan->layout.pp; r++) {
        status = compare_rank(plan, dp, r, &rule, first, err);
    }
    lcp_schedule_dispose(&rule);
    return status;
}

lcp_status lcp_verify_order(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    (void)problem;
    lcp_slices slices;
    lcp_status status = lcp_slices_find(&slices, plan, err);
    if (status != LCP_OK) {
        return status;
    }
    lcp_chunk_link *links = malloc((size_t)plan->chunk_count * sizeof *links);
    if (links == NULL) {
        status = lcp_fail(err, LCP_NOMEM, "", "cannot check the order");
    }
    for (int32_t dp = 0; status == LCP_OK && dp < plan->layout.dp; dp++) {
        status = check_pipeline(plan, &slices, links, dp, err);
    }
    free(links);
    lcp_slices_dispose(&slices);
    return status;
}
