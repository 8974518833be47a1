#include "schedule/greedy_state.h"

#include <math.h>

static size_t cell_of(const lcp_greedy_state *s, int32_t stage, int32_t chunk)
{
    return (size_t)stage * (size_t)s->chunks + (size_t)chunk;
}

/* End of a pass on a neighbour stage and the hop from there; HUGE_VAL if it has not started. */
static double arrival(const lcp_greedy_state *s, const double *end, int32_t stage, int32_t chunk, int32_t rank)
{
    double seconds = end[cell_of(s, stage, chunk)];
    if (seconds < 0) {
        return HUGE_VAL;
    }
    return lcp_schedule_rank(s->out, stage, chunk) == rank ? seconds : seconds + lcp_pass_hop_seconds(s->input, chunk);
}

static double forward_ready(const lcp_greedy_state *s, const lcp_lane *lane)
{
    if (lane->next_forward == s->list_count[lane->direction]) {
        return HUGE_VAL;
    }
    int32_t chunk = s->forward_list[lane->direction][lane->next_forward];
    return lane->stage == 0 ? 0 : arrival(s, s->forward_end, lane->stage - 1, chunk, lane->rank);
}

static double backward_ready(const lcp_greedy_state *s, const lcp_lane *lane)
{
    if (lane->next_backward == s->list_count[lane->direction]) {
        return HUGE_VAL;
    }
    int32_t chunk = s->backward_list[lane->direction][lane->next_backward];
    double own = s->forward_end[cell_of(s, lane->stage, chunk)];
    if (own < 0) {
        return HUGE_VAL;
    }
    return lane->stage == s->stages - 1 ? own
                                        : fmax(own, arrival(s, s->backward_end, lane->stage + 1, chunk, lane->rank));
}

/* Room for the oldest sequence of the rank is kept free, so it always finishes. */
static bool admitted(const lcp_greedy_state *s, const lcp_lane *lane)
{
    size_t index = (size_t)lane->direction * (size_t)s->stages + (size_t)lane->stage;
    if (s->window != NULL && lane->next_forward - lane->next_backward >= s->window[index]) {
        return false;
    }
    if (s->limit_bytes == NULL) {
        return true;
    }
    const lcp_greedy_rank *rank = &s->ranks[lane->rank];
    int32_t chunk = s->forward_list[lane->direction][lane->next_forward];
    int64_t kept = lcp_pass_kept_bytes(s->input, lane->stage, chunk);
    int64_t limit = s->limit_bytes[lane->rank];
    if (s->sequence_of[chunk] == rank->oldest) {
        return rank->used_bytes + kept <= limit;
    }
    size_t at = (size_t)lane->rank * ((size_t)s->sequences + 1) + (size_t)rank->oldest;
    return rank->used_bytes - s->used_by[at] + kept + s->most_after[at] <= limit;
}

typedef struct choice {
    lcp_lane *forward, *backward; /* ready now */
    double next_seconds;          /* when the next pass is known to be ready */
    double next_backward_seconds;
} choice;

static bool better_forward(const lcp_greedy_state *s, const lcp_lane *a, const lcp_lane *than)
{
    if (than == NULL) {
        return true;
    }
    bool deeper = a->stage > than->stage;
    return s->rule->deep || a->next_forward == than->next_forward ? deeper : a->next_forward < than->next_forward;
}

static bool better_backward(const lcp_lane *a, const lcp_lane *than)
{
    return than == NULL || a->next_backward < than->next_backward ||
           (a->next_backward == than->next_backward && a->stage < than->stage);
}

static choice look(const lcp_greedy_state *s, int32_t r, double now)
{
    choice c = {.next_seconds = HUGE_VAL, .next_backward_seconds = HUGE_VAL};
    const lcp_greedy_rank *rank = &s->ranks[r];
    double just_now = now + 1e-12 * now;
    for (int32_t i = 0; i < rank->lane_count; i++) {
        lcp_lane *lane = &s->lanes[s->lane_of_rank[rank->first_lane + i]];
        double ready = backward_ready(s, lane);
        if (ready <= just_now) {
            c.backward = better_backward(lane, c.backward) ? lane : c.backward;
        } else {
            c.next_backward_seconds = fmin(c.next_backward_seconds, ready);
        }
        ready = forward_ready(s, lane);
        if (ready < HUGE_VAL && admitted(s, lane)) {
            if (ready <= just_now) {
                c.forward = better_forward(s, lane, c.forward) ? lane : c.forward;
            } else {
                c.next_seconds = fmin(c.next_seconds, ready);
            }
        }
    }
    c.next_seconds = fmin(c.next_seconds, c.next_backward_seconds);
    return c;
}

/* When a rank can decide next: now if it has something to do, else when something arrives. */
static void set_decision(lcp_greedy_state *s, int32_t r)
{
    lcp_greedy_rank *rank = &s->ranks[r];
    choice c = look(s, r, rank->free_seconds);
    bool weight = rank->waiting_first < rank->waiting_end && (!rank->waiting || c.next_seconds == HUGE_VAL);
    bool now = weight || c.backward != NULL || (c.forward != NULL && !rank->yields);
    rank->decide_seconds = now ? rank->free_seconds : c.next_seconds;
}

static void start_pass(lcp_greedy_rank *rank, double now, double duration)
{
    rank->first_seconds = rank->first_seconds < 0 ? now : rank->first_seconds;
    rank->free_seconds = now + duration;
    rank->waiting = false;
    rank->yields = false;
}

static void run_forward(lcp_greedy_state *s, lcp_lane *lane, double now)
{
    lcp_greedy_rank *rank = &s->ranks[lane->rank];
    int32_t chunk = s->forward_list[lane->direction][lane->next_forward++];
    int64_t kept = lcp_pass_kept_bytes(s->input, lane->stage, chunk);
    start_pass(rank, now, lcp_pass_forward_seconds(s->input, lane->stage, chunk));
    s->forward_end[cell_of(s, lane->stage, chunk)] = rank->free_seconds;
    rank->used_bytes += kept;
    s->used_by[(size_t)lane->rank * ((size_t)s->sequences + 1) + (size_t)s->sequence_of[chunk]] += kept;
    rank->last_was_backward = false;
    lcp_schedule_append(s->out, lane->rank, LCP_OP_FORWARD, chunk, lane->stage);
    if (lane->stage + 1 < s->stages) {
        set_decision(s, lcp_schedule_rank(s->out, lane->stage + 1, chunk));
    }
}

static void run_backward(lcp_greedy_state *s, lcp_lane *lane, double now)
{
    lcp_greedy_rank *rank = &s->ranks[lane->rank];
    int32_t chunk = s->backward_list[lane->direction][lane->next_backward++];
    size_t row = (size_t)lane->rank * ((size_t)s->sequences + 1);
    bool split = s->rule->split;
    int64_t kept = lcp_pass_kept_bytes(s->input, lane->stage, chunk);
    start_pass(rank, now,
               split ? lcp_pass_input_grad_seconds(s->input, lane->stage, chunk)
                     : lcp_pass_backward_seconds(s->input, lane->stage, chunk));
    s->backward_end[cell_of(s, lane->stage, chunk)] = rank->free_seconds;
    rank->used_bytes -= split ? kept - lcp_pass_held_bytes(s->input, lane->stage, chunk) : kept;
    s->used_by[row + (size_t)s->sequence_of[chunk]] -= kept;
    s->left[row + (size_t)s->sequence_of[chunk]]--;
    while (rank->oldest < s->sequences && s->left[row + (size_t)rank->oldest] == 0) {
        rank->oldest++;
    }
    rank->last_was_backward = true;
    lcp_schedule_append(s->out, lane->rank, split ? LCP_OP_INPUT_GRAD : LCP_OP_BACKWARD, chunk, lane->stage);
    if (split) {
        s->pending[rank->waiting_end++] = (int32_t)cell_of(s, lane->stage, chunk);
    }
    if (lane->stage > 0) {
        set_decision(s, lcp_schedule_rank(s->out, lane->stage - 1, chunk));
    }
}

static void run_weight(lcp_greedy_state *s, int32_t r, double now)
{
    lcp_greedy_rank *rank = &s->ranks[r];
    int32_t cell = s->pending[rank->waiting_first++];
    int32_t stage = cell / s->chunks;
    int32_t chunk = cell % s->chunks;
    start_pass(rank, now, lcp_pass_weight_grad_seconds(s->input, stage, chunk));
    rank->used_bytes -= lcp_pass_held_bytes(s->input, stage, chunk);
    lcp_schedule_append(s->out, r, LCP_OP_WEIGHT_GRAD, chunk, stage);
}

/* Whether to fill the gap up to the next known pass with the oldest weight gradient. */
static bool fills(const lcp_greedy_state *s, int32_t r, double now, double next_seconds)
{
    const lcp_greedy_rank *rank = &s->ranks[r];
    if (rank->waiting_first == rank->waiting_end) {
        return false;
    }
    int32_t cell = s->pending[rank->waiting_first];
    double weight = lcp_pass_weight_grad_seconds(s->input, cell / s->chunks, cell % s->chunks);
    return next_seconds - now >= s->rule->fill_ratio * weight;
}

static void decide(lcp_greedy_state *s, int32_t r)
{
    lcp_greedy_rank *rank = &s->ranks[r];
    double now = fmax(rank->free_seconds, rank->decide_seconds);
    choice c = look(s, r, now);
    if (c.forward != NULL && c.backward == NULL && s->rule->yield_ratio > 0) {
        int32_t chunk = s->forward_list[c.forward->direction][c.forward->next_forward];
        double forward = lcp_pass_forward_seconds(s->input, c.forward->stage, chunk);
        if (c.next_backward_seconds < now + s->rule->yield_ratio * forward) {
            c.forward = NULL;
            rank->yields = true;
            c.next_seconds = c.next_backward_seconds;
        }
    }
    bool forward_now = s->rule->order == LCP_GREEDY_FORWARD_FIRST ||
                       (s->rule->order == LCP_GREEDY_ALTERNATE && rank->last_was_backward);
    if (c.backward != NULL && (c.forward == NULL || !forward_now)) {
        run_backward(s, c.backward, now);
    } else if (c.forward != NULL) {
        run_forward(s, c.forward, now);
    } else if (fills(s, r, now, c.next_seconds)) {
        run_weight(s, r, now);
    } else {
        rank->waiting = true;
        rank->free_seconds = now;
    }
    set_decision(s, r);
}

static lcp_status check_limits(const lcp_greedy_state *s, lcp_error *err)
{
    for (int32_t r = 0; s->limit_bytes != NULL && r < s->out->rank_count; r++) {
        int64_t least = s->most_after[(size_t)r * ((size_t)s->sequences + 1)];
        if (least > s->limit_bytes[r]) {
            return lcp_fail(err, LCP_INFEASIBLE, "schedule",
                            "rank %d may keep %lld bytes, one sequence alone keeps %lld there", r,
                            (long long)s->limit_bytes[r], (long long)least);
        }
    }
    return LCP_OK;
}

/* The rank that decides next has seen everything that was ready before. */
static void run(lcp_greedy_state *s, lcp_greedy_result *result)
{
    for (int32_t r = 0; r < s->out->rank_count; r++) {
        set_decision(s, r);
    }
    for (;;) {
        int32_t next = 0;
        for (int32_t r = 1; r < s->out->rank_count; r++) {
            next = s->ranks[r].decide_seconds < s->ranks[next].decide_seconds ? r : next;
        }
        if (s->ranks[next].decide_seconds == HUGE_VAL) {
            break;
        }
        decide(s, next);
    }
    *result = (lcp_greedy_result){0};
    for (int32_t r = 0; r < s->out->rank_count; r++) {
        const lcp_greedy_rank *rank = &s->ranks[r];
        double tail = s->input->durations != NULL && s->input->durations->tail_seconds != NULL
                          ? s->input->durations->tail_seconds[r]
                          : 0;
        result->makespan_seconds = fmax(result->makespan_seconds, rank->free_seconds + tail);
        result->span_seconds = fmax(result->span_seconds, rank->free_seconds + tail - rank->first_seconds);
    }
}

lcp_status lcp_greedy_fill(lcp_schedule *out, lcp_greedy_result *result, const lcp_schedule_input *input,
                           const lcp_greedy_rule *rule, const int64_t *limit_bytes, const int32_t *window,
                           lcp_error *err)
{
    lcp_greedy_state s = {.out = out, .input = input, .rule = rule, .limit_bytes = limit_bytes, .window = window};
    lcp_status status = lcp_greedy_state_build(&s, err);
    if (status == LCP_OK) {
        status = check_limits(&s, err);
    }
    if (status == LCP_OK) {
        for (int32_t r = 0; r < out->rank_count; r++) {
            out->op_count[r] = 0;
        }
        run(&s, result);
    }
    lcp_greedy_state_dispose(&s);
    return status;
}
