/* Swaps of neighbours on the critical path, as long as they help. */
#include "schedule/backfill.h"

#include <math.h>
#include <stdlib.h>

typedef struct searching {
    lcp_schedule *schedule;
    const lcp_schedule_input *input;
    const int64_t *limit_bytes;
    lcp_replay replay;
    double cost;
    int64_t left; /* trials */
} searching;

static int32_t rank_of(const searching *s, int64_t op)
{
    int32_t rank = 0;
    while (op >= s->replay.rank_first[rank + 1]) {
        rank++;
    }
    return rank;
}

/* Where the critical path ends: the last op, or that of the rank with the longest span. */
static int64_t path_end(const searching *s)
{
    if (!s->input->by_span) {
        return s->replay.last_op;
    }
    int64_t end = -1;
    double longest = -1;
    for (int32_t r = 0; r < s->schedule->rank_count; r++) {
        int64_t last = s->replay.rank_first[r + 1] - 1;
        if (last >= s->replay.rank_first[r]) {
            double span = s->replay.end_seconds[last] - s->replay.start_seconds[s->replay.rank_first[r]];
            end = span > longest ? last : end;
            longest = span > longest ? span : longest;
        }
    }
    return end;
}

static lcp_status measure(searching *s)
{
    lcp_replay_dispose(&s->replay);
    lcp_status status = lcp_replay_run(&s->replay, s->schedule, s->input->links, s->input->durations, NULL);
    s->cost = status != LCP_OK ? HUGE_VAL : s->input->by_span ? s->replay.span_seconds : s->replay.makespan_seconds;
    return status;
}

static void swap(lcp_op *ops, int32_t at)
{
    lcp_op second = ops[at];
    ops[at] = ops[at - 1];
    ops[at - 1] = second;
}

/* Puts an op before its neighbour; keeps that if it is faster and fits. */
static bool try_swap(searching *s, int32_t rank, int32_t at)
{
    lcp_op *ops = s->schedule->ops[rank];
    if (ops[at].chunk == ops[at - 1].chunk && ops[at].stage == ops[at - 1].stage) {
        return false;
    }
    s->left--;
    swap(ops, at);
    bool fits = s->limit_bytes == NULL || lcp_schedule_peak_kept(s->schedule, s->input, rank) <= s->limit_bytes[rank];
    if (fits && lcp_schedule_cost(s->schedule, s->input) < s->cost * (1 - 1e-12)) {
        return true;
    }
    swap(ops, at);
    return false;
}

/* One walk along the critical path, from its end; true if a swap was kept. */
static bool walk(searching *s)
{
    for (int64_t at = path_end(s); at >= 0 && s->left > 0; at = s->replay.critical_predecessor[at]) {
        int32_t rank = rank_of(s, at);
        int32_t index = (int32_t)(at - s->replay.rank_first[rank]);
        if (index > 0 && try_swap(s, rank, index)) {
            return true;
        }
        bool next = index + 1 < s->schedule->op_count[rank];
        if (next && try_swap(s, rank, index + 1)) {
            return true;
        }
    }
    return false;
}

void lcp_schedule_local_search(lcp_schedule *schedule, const lcp_schedule_input *input, const int64_t *limit_bytes,
                               int64_t trials)
{
    searching s = {.schedule = schedule, .input = input, .limit_bytes = limit_bytes, .left = trials};
    while (s.left > 0 && input->durations != NULL && measure(&s) == LCP_OK && walk(&s)) {
    }
    lcp_replay_dispose(&s.replay);
}
