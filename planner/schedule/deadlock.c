/* One cycle of operations that wait for each other, in words. */
#include "schedule/replay_state.h"

#include <stdio.h>

static int32_t rank_of(const lcp_replay_state *s, int64_t op)
{
    int32_t rank = 0;
    while (op >= s->out->rank_first[rank + 1]) {
        rank++;
    }
    return rank;
}

static const lcp_op *op_at(const lcp_replay_state *s, int64_t op, int32_t *rank)
{
    *rank = rank_of(s, op);
    return &s->schedule->ops[*rank][op - s->out->rank_first[*rank]];
}

/* Both passes of a fused pair wait for what either waits for. */
static int64_t missing_input(const lcp_replay_state *s, const lcp_op *op, int32_t rank)
{
    lcp_replay_edge edges[LCP_MAX_EDGES];
    int32_t count = lcp_replay_edges(s, op, rank, edges);
    for (int32_t i = 0; i < count; i++) {
        if (edges[i].from < 0 || !lcp_replay_timed(s, edges[i].from)) {
            return edges[i].from < 0 ? -2 : edges[i].from;
        }
    }
    return op->fused ? missing_input(s, op + 1, rank) : -2;
}

/* The op that op `at` waits for: its predecessor in program order, or a producer not timed yet. -2 if a producer does
 * not exist at all. */
static int64_t blocker(const lcp_replay_state *s, int64_t at)
{
    int32_t rank;
    const lcp_op *op = op_at(s, at, &rank);
    return at - s->out->rank_first[rank] > s->next[rank] ? at - 1 : missing_input(s, op, rank);
}

static void name_op(const lcp_replay_state *s, int64_t at, char *text, size_t size)
{
    int32_t rank;
    const lcp_op *op = op_at(s, at, &rank);
    snprintf(text, size, "%s(chunk %d, stage %d) on rank %d", lcp_op_names[op->kind], op->chunk, op->stage, rank);
}

static int64_t first_stuck(const lcp_replay_state *s)
{
    int32_t rank = 0;
    while (s->next[rank] == s->schedule->op_count[rank]) {
        rank++;
    }
    return s->out->rank_first[rank] + s->next[rank];
}

/* Follows blockers until one repeats: that is a cycle. Two pointers of different speed need no memory. */
lcp_status lcp_replay_report_deadlock(const lcp_replay_state *s, lcp_error *err)
{
    int64_t slow = first_stuck(s);
    int64_t fast = slow;
    char text[160];
    do {
        int64_t before = slow;
        slow = blocker(s, slow);
        int64_t next = fast < 0 ? -2 : blocker(s, fast);
        fast = next < 0 ? -2 : blocker(s, next);
        if (slow < 0 || fast < 0) {
            while (slow >= 0) {
                before = slow;
                slow = blocker(s, slow);
            }
            name_op(s, before, text, sizeof text);
            return lcp_fail(err, LCP_FALSE, "schedule", "%s waits for an operation that is nowhere in the schedule",
                            text);
        }
    } while (slow != fast);
    char cycle[900];
    size_t used = 0;
    int64_t at = slow;
    do {
        name_op(s, at, text, sizeof text);
        int written = snprintf(cycle + used, sizeof cycle - used, "%s waits for ", text);
        used = written > 0 && used + (size_t)written < sizeof cycle ? used + (size_t)written : used;
        at = blocker(s, at);
    } while (at != slow && used + sizeof text < sizeof cycle);
    name_op(s, at, text, sizeof text);
    return lcp_fail(err, LCP_FALSE, "schedule", "deadlock: %s%s", cycle, text);
}
