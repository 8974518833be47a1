#include "schedule/schedule_internal.h"

#include <stdlib.h>

const char *const lcp_op_names[LCP_OP_KIND_COUNT] = {"F", "B", "I", "W", "R"};

void lcp_schedule_dispose(lcp_schedule *schedule)
{
    for (int32_t r = 0; schedule->ops != NULL && r < schedule->rank_count; r++) {
        free(schedule->ops[r]);
    }
    free(schedule->ops);
    free(schedule->op_count);
    free(schedule->stage_rank);
    *schedule = (lcp_schedule){0};
}

lcp_status lcp_schedule_allocate(lcp_schedule *out, const lcp_schedule_input *input, int32_t ops_per_rank,
                                 lcp_error *err)
{
    *out = (lcp_schedule){
        .rank_count = input->rank_count, .stage_count = input->rank_count, .chunk_count = input->chunk_count};
    size_t ranks = (size_t)input->rank_count;
    out->stage_rank = malloc(ranks * sizeof *out->stage_rank);
    out->op_count = calloc(ranks, sizeof *out->op_count);
    out->ops = calloc(ranks, sizeof *out->ops);
    if (out->stage_rank == NULL || out->op_count == NULL || out->ops == NULL) {
        goto no_memory;
    }
    for (int32_t r = 0; r < input->rank_count; r++) {
        out->stage_rank[r] = r;
        out->ops[r] = malloc((size_t)ops_per_rank * sizeof *out->ops[r]);
        if (out->ops[r] == NULL) {
            goto no_memory;
        }
    }
    return LCP_OK;
no_memory:
    lcp_schedule_dispose(out);
    return lcp_fail(err, LCP_NOMEM, "", "cannot hold a schedule of %d ranks and %d operations each", input->rank_count,
                    ops_per_rank);
}

void lcp_schedule_append(lcp_schedule *schedule, int32_t rank, lcp_op_kind kind, int32_t chunk)
{
    schedule->ops[rank][schedule->op_count[rank]++] = (lcp_op){.kind = kind, .chunk = chunk, .stage = rank};
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
