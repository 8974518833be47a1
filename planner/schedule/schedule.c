#include "schedule/schedule_internal.h"

#include <stdlib.h>
#include <string.h>

const char *const lcp_op_names[LCP_OP_KIND_COUNT] = {"F", "B", "I", "W", "R", "O", "L"};

void lcp_schedule_dispose(lcp_schedule *schedule)
{
    for (int32_t r = 0; schedule->ops != NULL && r < schedule->rank_count; r++) {
        free(schedule->ops[r]);
    }
    free(schedule->ops);
    free(schedule->op_count);
    free(schedule->stage_rank);
    free(schedule->chunk_direction);
    *schedule = (lcp_schedule){0};
}

static lcp_status no_memory(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    lcp_schedule_dispose(out);
    return lcp_fail(err, LCP_NOMEM, "", "cannot hold a schedule of %d ranks and %d chunks", input->rank_count,
                    input->chunk_count);
}

lcp_status lcp_schedule_allocate_stages(lcp_schedule *out, const lcp_schedule_input *input, int32_t stage_count,
                                        int64_t ops_per_rank, lcp_error *err)
{
    *out =
        (lcp_schedule){.rank_count = input->rank_count, .stage_count = stage_count, .chunk_count = input->chunk_count};
    size_t ranks = (size_t)input->rank_count;
    out->stage_rank = malloc((size_t)out->stage_count * sizeof *out->stage_rank);
    out->op_count = calloc(ranks, sizeof *out->op_count);
    out->ops = calloc(ranks, sizeof *out->ops);
    if (out->stage_rank == NULL || out->op_count == NULL || out->ops == NULL) {
        return no_memory(out, input, err);
    }
    for (int32_t s = 0; s < out->stage_count; s++) {
        out->stage_rank[s] = s % input->rank_count;
    }
    for (int32_t r = 0; r < input->rank_count; r++) {
        out->ops[r] = malloc((size_t)ops_per_rank * sizeof *out->ops[r]);
        if (out->ops[r] == NULL) {
            return no_memory(out, input, err);
        }
    }
    return LCP_OK;
}

lcp_status lcp_schedule_allocate(lcp_schedule *out, const lcp_schedule_input *input, int32_t virtual_count,
                                 int32_t head_shards, int64_t ops_per_rank, lcp_error *err)
{
    int32_t stages = input->rank_count * virtual_count + head_shards;
    lcp_status status = lcp_schedule_allocate_stages(out, input, stages, ops_per_rank, err);
    if (status == LCP_OK) {
        out->head_shards = head_shards;
    }
    return status;
}

void lcp_schedule_append(lcp_schedule *schedule, int32_t rank, lcp_op_kind kind, int32_t chunk, int32_t stage)
{
    schedule->ops[rank][schedule->op_count[rank]++] = (lcp_op){.kind = kind, .chunk = chunk, .stage = stage};
}

void lcp_schedule_place_wave(lcp_schedule *schedule)
{
    int32_t ranks = schedule->rank_count;
    for (int32_t s = 0; s < schedule->stage_count; s++) {
        bool up = (s / ranks) % 2 != 0;
        schedule->stage_rank[s] = up ? ranks - 1 - s % ranks : s % ranks;
    }
}

lcp_status lcp_schedule_alternate_directions(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    out->chunk_direction = malloc((size_t)out->chunk_count);
    if (out->chunk_direction == NULL) {
        lcp_schedule_dispose(out);
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold a schedule of two directions");
    }
    uint8_t direction = 0;
    for (int32_t k = 0; k < out->chunk_count; k++) {
        out->chunk_direction[k] = direction;
        direction = input->links[k].next_slice >= 0 ? direction : 1 - direction;
    }
    return LCP_OK;
}

int32_t lcp_schedule_backward_order(int32_t *order, const lcp_schedule_input *input)
{
    int32_t longest = 1;
    for (int32_t first = 0; first < input->chunk_count;) {
        int32_t last = first;
        while (input->links[last].next_slice >= 0) {
            last = input->links[last].next_slice;
        }
        for (int32_t k = first; k <= last; k++) {
            order[k] = first + last - k;
        }
        longest = last - first + 1 > longest ? last - first + 1 : longest;
        first = last + 1;
    }
    return longest;
}

bool lcp_schedule_is_sliced(const lcp_schedule_input *input)
{
    for (int32_t k = 0; k < input->chunk_count; k++) {
        if (input->links[k].next_slice >= 0) {
            return true;
        }
    }
    return false;
}

int32_t lcp_schedule_virtual(const lcp_schedule_input *input, int32_t own)
{
    return input->virtual_count > 0 ? input->virtual_count : own;
}

bool lcp_schedule_runs(const lcp_schedule *schedule, const lcp_chunk_link *links)
{
    size_t cells = (size_t)schedule->stage_count * (size_t)schedule->chunk_count;
    double *zero = calloc(cells, sizeof *zero);
    lcp_durations durations = {.forward_seconds = zero, .backward_seconds = zero};
    lcp_replay replay = {0};
    bool runs = zero != NULL && lcp_replay_run(&replay, schedule, links, &durations, NULL) == LCP_OK;
    lcp_replay_dispose(&replay);
    free(zero);
    return runs;
}
