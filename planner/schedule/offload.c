#include "schedule/offload.h"

#include <stdlib.h>

#define ROUND_TRIPS 3

typedef struct inserting {
    lcp_schedule *schedule;
    const lcp_schedule_input *input;
    int32_t rank, count;
    double *until;      /* [count + 1]: time of the passes before an op */
    int32_t *forward;   /* [stage][chunk]: index of F */
    int32_t *reload_at; /* [count]: of a backward pass, the op that its L comes before; -1 = not offloaded */
    bool *offload;      /* [count]: an O follows this forward pass */
    double *lifespan;   /* [stage]: summed over chunks */
} inserting;

static double duration(const lcp_schedule_input *input, const lcp_op *op)
{
    switch (op->kind) {
    case LCP_OP_FORWARD:
        return lcp_pass_forward_seconds(input, op->stage, op->chunk);
    case LCP_OP_BACKWARD:
        return lcp_pass_backward_seconds(input, op->stage, op->chunk);
    case LCP_OP_INPUT_GRAD:
    case LCP_OP_WEIGHT_GRAD:
    case LCP_OP_RECOMPUTE:
    case LCP_OP_OFFLOAD:
    case LCP_OP_RELOAD:
    case LCP_OP_KIND_COUNT:
        break;
    }
    return 0;
}

static size_t cell_of(const inserting *in, const lcp_op *op)
{
    return (size_t)op->stage * (size_t)in->schedule->chunk_count + (size_t)op->chunk;
}

static double transfer(const inserting *in, const lcp_op *op)
{
    const lcp_durations *d = in->input->durations;
    return d != NULL && d->offload_seconds != NULL ? d->offload_seconds[cell_of(in, op)] : 0;
}

static void measure(inserting *in)
{
    const lcp_op *ops = in->schedule->ops[in->rank];
    in->until[0] = 0;
    for (int32_t i = 0; i < in->count; i++) {
        in->until[i + 1] = in->until[i] + duration(in->input, &ops[i]);
        in->reload_at[i] = -1;
        in->offload[i] = false;
        if (ops[i].kind == LCP_OP_FORWARD) {
            in->forward[cell_of(in, &ops[i])] = i;
        } else {
            in->lifespan[ops[i].stage] += in->until[i] - in->until[in->forward[cell_of(in, &ops[i])] + 1];
        }
    }
}

/* Whether the stage is among the share of its rank's stages that keep longest. */
static bool keeps_long(const inserting *in, int32_t stage, double share)
{
    int32_t stages = 0;
    int32_t longer = 0;
    for (int32_t s = 0; s < in->schedule->stage_count; s++) {
        if (in->schedule->stage_rank[s] == in->rank) {
            stages++;
            bool before =
                in->lifespan[s] > in->lifespan[stage] || (s < stage && in->lifespan[s] >= in->lifespan[stage]);
            longer += s != stage && before;
        }
    }
    return longer < share * stages;
}

static void choose(inserting *in, double share)
{
    const lcp_op *ops = in->schedule->ops[in->rank];
    bool one_stage = in->schedule->stage_count == in->schedule->rank_count;
    int32_t earliest = 0; /* reloads keep the order of the backward passes */
    for (int32_t i = 0; i < in->count; i++) {
        if (ops[i].kind != LCP_OP_BACKWARD) {
            continue;
        }
        int32_t forward = in->forward[cell_of(in, &ops[i])];
        double seconds = transfer(in, &ops[i]);
        bool wanted = one_stage ? ops[i].chunk * share - (double)(int64_t)(ops[i].chunk * share) < share
                                : keeps_long(in, ops[i].stage, share);
        int32_t at = i - 1;
        while (at > forward + 1 && in->until[i] - in->until[at] < seconds) {
            at--;
        }
        at = at < earliest ? earliest : at;
        bool pays = at > forward + 1 && in->until[i] - in->until[forward + 1] >= ROUND_TRIPS * 2 * seconds;
        if (wanted && pays) {
            in->offload[forward] = true;
            in->reload_at[i] = at;
            earliest = at;
        }
    }
}

static int32_t write_ops(const inserting *in, lcp_op *longer)
{
    const lcp_op *ops = in->schedule->ops[in->rank];
    int32_t at = 0;
    int32_t next = 0; /* backward pass whose reload comes next */
    for (int32_t i = 0; i < in->count; i++) {
        for (; next < in->count && (in->reload_at[next] < 0 || in->reload_at[next] <= i); next++) {
            if (in->reload_at[next] >= 0) {
                longer[at++] = (lcp_op){.kind = LCP_OP_RELOAD, .chunk = ops[next].chunk, .stage = ops[next].stage};
            }
        }
        longer[at++] = ops[i];
        if (in->offload[i]) {
            longer[at++] = (lcp_op){.kind = LCP_OP_OFFLOAD, .chunk = ops[i].chunk, .stage = ops[i].stage};
        }
    }
    return at;
}

static lcp_status insert_rank(lcp_schedule *schedule, const lcp_schedule_input *input, int32_t rank, double share,
                              lcp_error *err)
{
    size_t count = (size_t)schedule->op_count[rank];
    size_t cells = (size_t)schedule->stage_count * (size_t)schedule->chunk_count;
    inserting in = {.schedule = schedule, .input = input, .rank = rank, .count = schedule->op_count[rank]};
    in.until = malloc((count + 1) * sizeof *in.until);
    in.lifespan = calloc((size_t)schedule->stage_count, sizeof *in.lifespan);
    in.forward = malloc((cells + count) * sizeof *in.forward);
    in.offload = malloc((count + 1) * sizeof *in.offload);
    lcp_op *longer = malloc(2 * (count + 1) * sizeof *longer);
    bool complete =
        in.until != NULL && in.lifespan != NULL && in.forward != NULL && in.offload != NULL && longer != NULL;
    if (complete) {
        in.reload_at = in.forward + cells;
        measure(&in);
        choose(&in, share);
        schedule->op_count[rank] = write_ops(&in, longer);
        free(schedule->ops[rank]);
        schedule->ops[rank] = longer;
    } else {
        free(longer);
    }
    free(in.until);
    free(in.lifespan);
    free(in.forward);
    free(in.offload);
    return complete ? LCP_OK : lcp_fail(err, LCP_NOMEM, "", "cannot hold the transfers of rank %d", rank);
}

lcp_status lcp_schedule_insert_offload(lcp_schedule *schedule, const lcp_schedule_input *input, double share,
                                       lcp_error *err)
{
    lcp_status status = LCP_OK;
    for (int32_t r = 0; status == LCP_OK && r < schedule->rank_count; r++) {
        status = insert_rank(schedule, input, r, share, err);
    }
    return status;
}

static const lcp_schedule_kind *base_of(const lcp_schedule_input *input)
{
    return input->virtual_count > 1 ? &lcp_schedule_interleaved : &lcp_schedule_elastic_1f1b;
}

const char *lcp_schedule_offload_unsupported(const lcp_schedule_input *input)
{
    return base_of(input)->unsupported(input);
}

lcp_status lcp_schedule_build_offload(lcp_schedule *out, const lcp_schedule_input *input, double share, lcp_error *err)
{
    lcp_status status = base_of(input)->build(out, input, err);
    if (status == LCP_OK) {
        status = lcp_schedule_insert_offload(out, input, share, err);
        if (status != LCP_OK) {
            lcp_schedule_dispose(out);
        }
    }
    return status;
}
