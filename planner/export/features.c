/* What plans use beyond the plain, and where: what a trainer that cannot say it would lose. */
#include "export/trainer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const lcp_feature_row lcp_feature_rows[LCP_FEATURE_COUNT] = {
    [LCP_FEATURE_SLICES] = {"slices", "a sequence is cut into slices"},
    [LCP_FEATURE_PACKS] = {"packs", "which sequences of unequal length share a chunk"},
    [LCP_FEATURE_CHUNK_SIZES] = {"chunk-sizes", "chunks hold unequally many sequences"},
    [LCP_FEATURE_PIPELINES] = {"pipelines", "replicas run unequally many chunks"},
    [LCP_FEATURE_SPLIT] = {"split", "stages have unequally many layers"},
    [LCP_FEATURE_INTERLEAVING] = {"interleaving", "a rank holds several virtual stages"},
    [LCP_FEATURE_PLACEMENT] = {"placement", "a stage is not on the rank of its number modulo pp"},
    [LCP_FEATURE_ORDERS] = {"orders", "the order of passes is not that of 1F1B"},
    [LCP_FEATURE_RECOMPUTE_AHEAD] = {"recompute-ahead", "recompute is an operation of its own"},
    [LCP_FEATURE_VERSIONS] = {"weight-versions", "a pass uses an older version of the weights"},
    [LCP_FEATURE_MIXED_RECOMPUTE] = {"mixed-recompute", "recompute differs by stage, chunk or layer"},
    [LCP_FEATURE_BLOCK_RECOMPUTE] = {"block-recompute", "the first layers of every stage are recomputed whole"},
    [LCP_FEATURE_FULL_RECOMPUTE] = {"full-recompute", "every layer is recomputed whole"},
    [LCP_FEATURE_MLP_RECOMPUTE] = {"mlp-recompute", "the inside of every ffn is recomputed"},
    [LCP_FEATURE_PART_RECOMPUTE] = {"part-recompute", "a part of every layer is recomputed"},
};

typedef struct finder {
    lcp_loss_list *out;
    uint32_t expressed;
    const lcp_plan *plan;
    const lcp_problem *problem;
} finder;

static void lose(finder *f, lcp_feature feature, const char *format, ...) LCP_PRINTF(3, 4);
static void lose(finder *f, lcp_feature feature, const char *format, ...)
{
    lcp_loss_list *list = f->out;
    if ((f->expressed & LCP_HAS(feature)) != 0) {
        return;
    }
    for (int32_t i = 0; i < list->count; i++) {
        if (list->items[i].feature == feature) {
            list->items[i].places++;
            return;
        }
    }
    lcp_loss_item *item = &list->items[list->count++];
    *item = (lcp_loss_item){.feature = feature, .places = 1};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(item->path, sizeof item->path, format, arguments);
    va_end(arguments);
}

static void find_slices(finder *f)
{
    for (int32_t k = 0; k < f->plan->chunk_count; k++) {
        const lcp_chunk *chunk = &f->plan->chunks[k].chunk;
        for (int32_t i = 0; i < chunk->segment_count; i++) {
            if (chunk->segments[i].has_successor || chunk->segments[i].offset_tokens > 0) {
                lose(f, LCP_FEATURE_SLICES, "$.chunks[%d].segments[%d]", k, i);
            }
        }
    }
}

static void find_chunk_contents(finder *f)
{
    lcp_setup run;
    lcp_setup_of_plan(&run, f->plan, f->problem);
    int32_t first = f->plan->chunks[0].chunk.segment_count;
    for (int32_t k = 0; k < f->plan->chunk_count; k++) {
        if (!run.equal_lengths) {
            lose(f, LCP_FEATURE_PACKS, "$.chunks[%d].segments", k);
        } else if (f->plan->chunks[k].chunk.segment_count != first) {
            lose(f, LCP_FEATURE_CHUNK_SIZES, "$.chunks[%d].segments", k);
        }
    }
    for (int32_t d = 1; d < f->plan->layout.dp; d++) {
        if (f->plan->pipelines[d].chunk_count != f->plan->pipelines[0].chunk_count) {
            lose(f, LCP_FEATURE_PIPELINES, "$.schedule.pipelines[%d]", d);
        }
    }
}

static void find_stages(finder *f)
{
    const lcp_plan *plan = f->plan;
    for (int32_t s = 0; s < plan->stage_count; s++) {
        if (plan->stages[s].layer_count != plan->stages[0].layer_count) {
            lose(f, LCP_FEATURE_SPLIT, "$.stages[%d].layer_count", s);
        }
        if (plan->stages[s].pp != s % plan->layout.pp) {
            lose(f, LCP_FEATURE_PLACEMENT, "$.stages[%d].pp", s);
        }
        if (plan->stages[s].virtual_index > 0) {
            lose(f, LCP_FEATURE_INTERLEAVING, "$.stages[%d].virtual", s);
        }
    }
}

/* The i-th operation of 1F1B on a rank: warm-up, then one forward and one backward in turn, then the rest. */
static lcp_op plain_op(int32_t rank, int32_t ranks, int32_t first_chunk, int32_t chunks, int32_t i)
{
    int32_t warm_up = ranks - rank - 1 < chunks ? ranks - rank - 1 : chunks;
    int32_t steady = i - warm_up;
    lcp_op op = {.kind = LCP_OP_FORWARD, .chunk = first_chunk + i, .stage = rank};
    if (steady >= 2 * (chunks - warm_up)) {
        op.kind = LCP_OP_BACKWARD;
        op.chunk = first_chunk + i - chunks;
    } else if (steady >= 0) {
        op.kind = steady % 2 == 0 ? LCP_OP_FORWARD : LCP_OP_BACKWARD;
        op.chunk = first_chunk + steady / 2 + (steady % 2 == 0 ? warm_up : 0);
    }
    return op;
}

/* Interleaved schedules are known by their name: trainers have one of them. */
static bool named_interleaved(const lcp_plan *plan)
{
    return plan->layout.vpp > 1 && strcmp(plan->schedule_name, "interleaved") == 0;
}

static void find_rank_order(finder *f, int32_t d, int32_t r, int32_t first_chunk)
{
    const lcp_schedule *pipeline = &f->plan->pipelines[d];
    bool whole = pipeline->op_count[r] == 2 * pipeline->chunk_count;
    for (int32_t i = 0; i < pipeline->op_count[r]; i++) {
        const lcp_op *op = &pipeline->ops[r][i];
        if (op->kind == LCP_OP_RECOMPUTE) {
            lose(f, LCP_FEATURE_RECOMPUTE_AHEAD, "$.schedule.pipelines[%d].ranks[%d].ops[%d]", d, r, i);
        }
        if (op->version != 0) {
            lose(f, LCP_FEATURE_VERSIONS, "$.schedule.pipelines[%d].ranks[%d].ops[%d]", d, r, i);
        }
        lcp_op plain = plain_op(r, pipeline->rank_count, first_chunk, pipeline->chunk_count, i);
        bool same = whole && op->kind == plain.kind && op->chunk == plain.chunk && op->stage == plain.stage;
        if (!same && !named_interleaved(f->plan)) {
            lose(f, LCP_FEATURE_ORDERS, "$.schedule.pipelines[%d].ranks[%d].ops[%d]", d, r, i);
        }
    }
}

static void find_orders(finder *f)
{
    int32_t first_chunk = 0;
    for (int32_t d = 0; d < f->plan->layout.dp; d++) {
        for (int32_t r = 0; r < f->plan->pipelines[d].rank_count; r++) {
            find_rank_order(f, d, r, first_chunk);
        }
        first_chunk += f->plan->pipelines[d].chunk_count;
    }
}

static void find_recompute(finder *f)
{
    lcp_recompute_form form;
    lcp_recompute_form_find(&form, f->plan, f->problem);
    if (form.policy == LCP_RECOMPUTE_NONE) {
        return;
    }
    lose(f, form.feature, "$.chunks[%d].recompute", form.chunk);
}

void lcp_losses_find(lcp_loss_list *out, const lcp_target *target, const lcp_plan *plan, const lcp_problem *problem,
                     bool with_packs)
{
    *out = (lcp_loss_list){0};
    uint32_t expressed = target->trainer->expresses;
    if (!with_packs && !target->trainer->reads_plan) {
        expressed &= ~LCP_HAS(LCP_FEATURE_PACKS);
    }
    finder f = {.out = out, .expressed = expressed, .plan = plan, .problem = problem};
    find_slices(&f);
    find_chunk_contents(&f);
    find_stages(&f);
    find_orders(&f);
    find_recompute(&f);
}
