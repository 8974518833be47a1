#include "simulate/simulate.h"

#include <math.h>

/* Start of the first backward pass of the pipeline and end of its last forward pass. */
static void find_phases(const lcp_simulated *s, double *first_backward, double *last_forward)
{
    *first_backward = HUGE_VAL;
    *last_forward = 0;
    for (int32_t r = 0; r < s->schedule.rank_count; r++) {
        for (int32_t i = 0; i < s->schedule.op_count[r]; i++) {
            int64_t at = s->replay.rank_first[r] + i;
            lcp_op_kind kind = s->schedule.ops[r][i].kind;
            if (kind == LCP_OP_BACKWARD || kind == LCP_OP_INPUT_GRAD) {
                *first_backward = fmin(*first_backward, s->replay.start_seconds[at]);
            } else if (kind == LCP_OP_FORWARD) {
                *last_forward = fmax(*last_forward, s->replay.end_seconds[at]);
            }
        }
    }
}

static double overlap(double start, double end, double from, double to)
{
    return fmax(0, fmin(end, to) - fmax(start, from));
}

lcp_idle lcp_simulated_idle(const lcp_simulated *s, int32_t rank)
{
    lcp_idle idle = {0};
    double first_backward;
    double last_forward;
    find_phases(s, &first_backward, &last_forward);
    last_forward = fmax(last_forward, first_backward);
    double tail = s->durations.tail_seconds != NULL ? s->durations.tail_seconds[rank] : 0;
    double busy_until = 0;
    for (int32_t i = 0; i <= s->schedule.op_count[rank]; i++) {
        int64_t at = s->replay.rank_first[rank] + i;
        bool end = i == s->schedule.op_count[rank];
        if (!end && s->schedule.ops[rank][i].kind >= LCP_OP_OFFLOAD) {
            continue;
        }
        double start = end ? s->replay.makespan_seconds - tail : s->replay.start_seconds[at];
        idle.warm_up_seconds += overlap(busy_until, start, 0, first_backward);
        idle.inside_seconds += overlap(busy_until, start, first_backward, last_forward);
        idle.drain_seconds += overlap(busy_until, start, last_forward, HUGE_VAL);
        busy_until = end ? busy_until : fmax(busy_until, s->replay.end_seconds[at]);
    }
    return idle;
}
