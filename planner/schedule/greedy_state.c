#include "schedule/greedy_state.h"

#include <stdlib.h>

void lcp_greedy_state_dispose(lcp_greedy_state *s)
{
    free(s->lanes);
    free(s->ranks);
    free(s->lane_of_rank);
    free(s->used_by);
    free(s->forward_end);
    s->lanes = NULL;
    s->ranks = NULL;
    s->lane_of_rank = NULL;
    s->used_by = NULL;
    s->forward_end = NULL;
}

static int32_t number_sequences(const lcp_schedule_input *input, int32_t *sequence_of)
{
    int32_t count = 0;
    for (int32_t k = 0; k < input->chunk_count; k++) {
        if (sequence_of != NULL) {
            sequence_of[k] = count;
        }
        count += input->links[k].next_slice < 0;
    }
    return count;
}

static bool allocate(lcp_greedy_state *s)
{
    size_t ranks = (size_t)s->out->rank_count;
    size_t lanes = (size_t)s->directions * (size_t)s->stages;
    size_t chunks = (size_t)s->chunks;
    size_t cells = (size_t)s->stages * chunks;
    size_t per_sequence = ranks * ((size_t)s->sequences + 1);
    s->lanes = malloc(lanes * sizeof *s->lanes);
    s->ranks = calloc(ranks, sizeof *s->ranks);
    s->lane_of_rank = malloc((lanes + 5 * chunks + per_sequence + lanes * chunks) * sizeof *s->lane_of_rank);
    s->used_by = calloc(2 * per_sequence, sizeof *s->used_by);
    s->forward_end = malloc(2 * cells * sizeof *s->forward_end);
    if (s->lanes == NULL || s->ranks == NULL || s->lane_of_rank == NULL || s->used_by == NULL ||
        s->forward_end == NULL) {
        return false;
    }
    int32_t *at = s->lane_of_rank + lanes;
    for (int32_t d = 0; d < 2; d++) {
        s->forward_list[d] = at;
        s->backward_list[d] = at + chunks;
        at += 2 * chunks;
    }
    s->sequence_of = at;
    s->left = s->sequence_of + chunks;
    s->pending = s->left + per_sequence;
    s->most_after = s->used_by + per_sequence;
    s->backward_end = s->forward_end + cells;
    for (size_t i = 0; i < 2 * cells; i++) {
        s->forward_end[i] = -1;
    }
    for (size_t i = 0; i < per_sequence; i++) {
        s->left[i] = 0;
    }
    return true;
}

static int32_t direction_of(const lcp_greedy_state *s, int32_t chunk)
{
    return s->out->chunk_direction != NULL ? s->out->chunk_direction[chunk] : 0;
}

static void fill_lists(lcp_greedy_state *s)
{
    int32_t *order = s->pending; /* not in use yet */
    lcp_schedule_backward_order(order, s->input);
    int32_t backward_count[2] = {0, 0};
    for (int32_t k = 0; k < s->chunks; k++) {
        int32_t d = direction_of(s, k);
        s->forward_list[d][s->list_count[d]++] = k;
        d = direction_of(s, order[k]);
        s->backward_list[d][backward_count[d]++] = order[k];
    }
    number_sequences(s->input, s->sequence_of);
}

static void fill_lanes(lcp_greedy_state *s)
{
    int32_t count = 0;
    int32_t waiting = 0;
    for (int32_t r = 0; r < s->out->rank_count; r++) {
        s->ranks[r] = (lcp_greedy_rank){.first_seconds = -1, .first_lane = count};
        for (int32_t lane = 0; lane < s->directions * s->stages; lane++) {
            int32_t d = lane / s->stages;
            int32_t stage = lane % s->stages;
            int32_t placed = s->out->stage_rank[stage];
            int32_t rank = d == 0 ? placed : s->out->rank_count - 1 - placed;
            if (rank == r) {
                s->lanes[lane] = (lcp_lane){.rank = r, .stage = stage, .direction = d};
                s->lane_of_rank[count++] = lane;
            }
        }
        s->ranks[r].lane_count = count - s->ranks[r].first_lane;
        s->ranks[r].waiting_first = waiting;
        s->ranks[r].waiting_end = waiting;
        waiting += s->ranks[r].lane_count * s->chunks;
    }
}

/* Passes and bytes of each sequence on each rank. */
static void fill_sequences(lcp_greedy_state *s)
{
    size_t row = (size_t)s->sequences + 1;
    for (int32_t k = 0; k < s->chunks; k++) {
        for (int32_t stage = 0; stage < s->stages; stage++) {
            size_t at = (size_t)lcp_schedule_rank(s->out, stage, k) * row + (size_t)s->sequence_of[k];
            s->left[at]++;
            s->most_after[at] += lcp_pass_kept_bytes(s->input, stage, k);
        }
    }
    for (size_t r = 0; r < (size_t)s->out->rank_count; r++) {
        for (size_t q = (size_t)s->sequences; q-- > 0;) {
            int64_t *here = &s->most_after[r * row + q];
            *here = here[1] > *here ? here[1] : *here;
        }
        while (s->ranks[r].oldest < s->sequences && s->left[r * row + (size_t)s->ranks[r].oldest] == 0) {
            s->ranks[r].oldest++;
        }
    }
}

lcp_status lcp_greedy_state_build(lcp_greedy_state *s, lcp_error *err)
{
    s->directions = s->out->chunk_direction != NULL ? 2 : 1;
    s->stages = s->out->stage_count;
    s->chunks = s->out->chunk_count;
    s->sequences = number_sequences(s->input, NULL);
    if (!allocate(s)) {
        lcp_greedy_state_dispose(s);
        return lcp_fail(err, LCP_NOMEM, "", "cannot order %d chunks on %d stages", s->chunks, s->stages);
    }
    fill_lists(s);
    fill_lanes(s);
    fill_sequences(s);
    return LCP_OK;
}
