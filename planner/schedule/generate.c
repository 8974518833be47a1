#include "schedule/schedule_internal.h"

#include <stdlib.h>
#include <string.h>

static bool is_backward(const lcp_op *op)
{
    return op->kind == LCP_OP_BACKWARD || op->kind == LCP_OP_INPUT_GRAD;
}

/* An R in front of each backward pass: it runs while the gradient is on its way. A fused pair stays together. */
static lcp_status insert_recompute(lcp_schedule *schedule, int32_t rank, lcp_error *err)
{
    int32_t count = schedule->op_count[rank];
    const lcp_op *ops = schedule->ops[rank];
    lcp_op *longer = malloc(2 * (size_t)(count + 1) * sizeof *longer);
    int32_t at = 0;
    if (longer == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold %d operations", 2 * count);
    }
    for (int32_t i = 0; i < count; i++) {
        bool second = i > 0 && ops[i - 1].fused;
        const lcp_op *of = ops[i].fused ? &ops[i + 1] : &ops[i];
        if (!second && is_backward(of)) {
            longer[at++] = (lcp_op){.kind = LCP_OP_RECOMPUTE, .chunk = of->chunk, .stage = of->stage};
        }
        longer[at++] = ops[i];
    }
    free(schedule->ops[rank]);
    schedule->ops[rank] = longer;
    schedule->op_count[rank] = at;
    return LCP_OK;
}

lcp_status lcp_schedule_generate(lcp_schedule *out, const char *name, const lcp_schedule_input *input, lcp_error *err)
{
    *out = (lcp_schedule){0};
    const lcp_schedule_kind *kind = lcp_schedule_find(name);
    if (kind == NULL) {
        return lcp_fail(err, LCP_USAGE, "schedule", "unknown schedule '%s'", name);
    }
    const char *reason = kind->unsupported(input);
    if (reason != NULL) {
        return lcp_fail(err, LCP_INFEASIBLE, "schedule", "%s", reason);
    }
    lcp_status status = kind->build(out, input, err);
    for (int32_t r = 0; status == LCP_OK && input->recompute_ahead && r < out->rank_count; r++) {
        status = insert_recompute(out, r, err);
    }
    if (status != LCP_OK) {
        lcp_schedule_dispose(out);
    }
    return status;
}

/* Times where the input has none, by the conventions of lcp_schedule_input. */
static lcp_status price_alike(lcp_replay *replay, const lcp_schedule *schedule, const lcp_schedule_input *input)
{
    size_t cells = (size_t)schedule->stage_count * (size_t)schedule->chunk_count;
    double *seconds = malloc(2 * cells * sizeof *seconds);
    if (seconds == NULL) {
        return LCP_NOMEM;
    }
    for (size_t i = 0; i < cells; i++) {
        seconds[i] = 1;
        seconds[cells + i] = 2;
    }
    lcp_durations durations = {.forward_seconds = seconds,
                               .backward_seconds = seconds + cells,
                               .input_grad_seconds = seconds,
                               .weight_grad_seconds = seconds};
    lcp_status status = lcp_replay_run(replay, schedule, input->links, &durations, NULL);
    free(seconds);
    return status;
}

lcp_status lcp_schedule_price(double *makespan_seconds, double *span_seconds, const lcp_schedule *schedule,
                              const lcp_schedule_input *input)
{
    lcp_replay replay = {0};
    lcp_status status = input->durations != NULL
                            ? lcp_replay_run(&replay, schedule, input->links, input->durations, NULL)
                            : price_alike(&replay, schedule, input);
    *makespan_seconds = replay.makespan_seconds;
    *span_seconds = replay.span_seconds;
    lcp_replay_dispose(&replay);
    return status;
}
