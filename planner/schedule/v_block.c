#include "schedule/v_block.h"
#include "schedule/backfill.h"
#include "schedule/greedy.h"

#include <stdlib.h>

#define PERIOD 6

const char *lcp_v_block_unsupported(const lcp_schedule_input *input)
{
    if (input->virtual_count != 0 && input->virtual_count != 2) {
        return "v-half and v-min need two virtual stages a rank";
    }
    return lcp_schedule_refuse_slices(input) != NULL
               ? "the blocks of v-half and v-min are of whole sequences: use zb-v or list for slices"
               : lcp_schedule_refuse_empty(input);
}

/* The chunk whose pass is at a slot, -1 if none. */
static int32_t chunk_at(int32_t slot, int32_t first, int32_t chunk_count)
{
    int32_t since = slot - first;
    return since >= 0 && since % PERIOD == 0 && since / PERIOD < chunk_count ? since / PERIOD : -1;
}

/* Passes in their slots; a slot without one takes the oldest weight gradient. */
static void fill_rank(lcp_schedule *out, int32_t rank, const lcp_v_block *b, lcp_op *waiting)
{
    int32_t n = out->chunk_count;
    int32_t up = 2 * out->rank_count - 1 - rank;
    const struct {
        int32_t slot;
        lcp_op_kind kind;
        int32_t stage;
    } passes[] = {{b->forward_down, LCP_OP_FORWARD, rank},
                  {b->forward_up, LCP_OP_FORWARD, up},
                  {b->backward_down, LCP_OP_INPUT_GRAD, up},
                  {b->backward_up, LCP_OP_INPUT_GRAD, rank}};
    int32_t waits = 0;
    int32_t written = 0;
    for (int32_t slot = 0; slot <= b->backward_up + PERIOD * n; slot++) {
        bool taken = false;
        for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
            int32_t chunk = chunk_at(slot, passes[i].slot, n);
            if (chunk >= 0) {
                taken = true;
                lcp_schedule_append(out, rank, passes[i].kind, chunk, passes[i].stage);
                if (passes[i].kind == LCP_OP_INPUT_GRAD) {
                    waiting[waits++] = (lcp_op){.chunk = chunk, .stage = passes[i].stage};
                }
            }
        }
        if (!taken && written < waits) {
            lcp_schedule_append(out, rank, LCP_OP_WEIGHT_GRAD, waiting[written].chunk, waiting[written].stage);
            written++;
        }
    }
    for (; written < waits; written++) {
        lcp_schedule_append(out, rank, LCP_OP_WEIGHT_GRAD, waiting[written].chunk, waiting[written].stage);
    }
}

static lcp_status fill_block(lcp_schedule *out, lcp_v_block (*block)(int32_t, int32_t), lcp_error *err)
{
    lcp_op *waiting = malloc(2 * (size_t)out->chunk_count * sizeof *waiting);
    if (waiting == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot order %d chunks", out->chunk_count);
    }
    for (int32_t r = 0; r < out->rank_count; r++) {
        lcp_v_block b = block(r, out->rank_count);
        fill_rank(out, r, &b, waiting);
    }
    free(waiting);
    return LCP_OK;
}

/* Every rank may keep what the block keeps on any, or the input's limit where that is less. Whether the block keeps to
 * that itself. */
static bool take_limits(int64_t *limits, const lcp_schedule *block, const lcp_schedule_input *input)
{
    int64_t most = 0;
    bool fits = true;
    for (int32_t r = 0; r < block->rank_count; r++) {
        limits[r] = lcp_schedule_peak_kept(block, input, r);
        most = limits[r] > most ? limits[r] : most;
    }
    for (int32_t r = 0; r < block->rank_count; r++) {
        bool limited = input->limit_bytes != NULL && input->limit_bytes[r] < most;
        fits = fits && (!limited || limits[r] <= input->limit_bytes[r]);
        limits[r] = limited ? input->limit_bytes[r] : most;
    }
    return fits;
}

static lcp_status search(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    int64_t *limits = malloc((size_t)input->rank_count * sizeof *limits);
    if (limits == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot order %d chunks", input->chunk_count);
    }
    bool fits = take_limits(limits, out, input);
    lcp_status status = lcp_search_order(out, input, true, limits, fits, err);
    free(limits);
    return status;
}

lcp_status lcp_v_block_build(lcp_schedule *out, const lcp_schedule_input *input,
                             lcp_v_block (*block)(int32_t rank, int32_t rank_count), lcp_error *err)
{
    lcp_status status = lcp_schedule_allocate(out, input, 2, 0, 6 * (int64_t)input->chunk_count, err);
    if (status == LCP_OK) {
        lcp_schedule_place_wave(out);
        status = fill_block(out, block, err);
    }
    if (status == LCP_OK) {
        status = search(out, input, err);
    }
    if (status != LCP_OK) {
        lcp_schedule_dispose(out);
    }
    return status;
}
