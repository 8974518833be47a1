#include "simulate/simulate.h"

#include <stdlib.h>
#include <string.h>

void lcp_simulated_dispose(lcp_simulated *simulated)
{
    lcp_replay_dispose(&simulated->replay);
    lcp_schedule_dispose(&simulated->schedule);
    free(simulated->links);
    free(simulated->peaks);
    free(simulated->level_bytes);
    free(simulated->seconds);
    free(simulated->bytes);
    *simulated = (lcp_simulated){0};
}

/* Chunks of a dp rank are consecutive. */
static int32_t count_chunks(const lcp_plan *plan, int32_t dp, int32_t *first)
{
    int32_t count = 0;
    for (int32_t k = 0; k < plan->chunk_count; k++) {
        if (plan->chunks[k].chunk.dp == dp) {
            *first = count == 0 ? k : *first;
            count++;
        }
    }
    return count;
}

static lcp_status find_links(lcp_simulated *s, int32_t chunk_count, lcp_error *err)
{
    s->links = malloc(((size_t)chunk_count + 1) * sizeof *s->links);
    lcp_chunk *chunks = malloc(((size_t)chunk_count + 1) * sizeof *chunks);
    lcp_status status = s->links != NULL && chunks != NULL
                            ? LCP_OK
                            : lcp_fail(err, LCP_NOMEM, "", "cannot link %d chunks", chunk_count);
    for (int32_t k = 0; status == LCP_OK && k < chunk_count; k++) {
        chunks[k] = s->plan->chunks[s->first_chunk + k].chunk;
    }
    if (status == LCP_OK) {
        status = lcp_chunk_links(s->links, chunks, chunk_count, err);
    }
    free(chunks);
    return status;
}

/* The plan's own order, chunks counted from the pipeline's first. */
static lcp_status take_order(lcp_schedule *out, const lcp_plan *plan, int32_t dp, int32_t first, lcp_error *err)
{
    const lcp_schedule *planned = &plan->pipelines[dp];
    size_t ranks = (size_t)planned->rank_count;
    *out = (lcp_schedule){
        .rank_count = planned->rank_count, .stage_count = planned->stage_count, .chunk_count = planned->chunk_count};
    out->stage_rank = malloc((size_t)planned->stage_count * sizeof *out->stage_rank);
    out->op_count = calloc(ranks, sizeof *out->op_count);
    out->ops = calloc(ranks, sizeof *out->ops);
    bool complete = out->stage_rank != NULL && out->op_count != NULL && out->ops != NULL;
    for (size_t r = 0; complete && r < ranks; r++) {
        size_t count = (size_t)planned->op_count[r];
        out->ops[r] = malloc((count + 1) * sizeof *out->ops[r]);
        complete = out->ops[r] != NULL;
        for (size_t i = 0; complete && i < count; i++) {
            out->ops[r][i] = planned->ops[r][i];
            out->ops[r][i].chunk -= first;
        }
        out->op_count[r] = complete ? planned->op_count[r] : 0;
    }
    if (!complete) {
        lcp_schedule_dispose(out);
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold the order of a pipeline");
    }
    for (int32_t s = 0; s < planned->stage_count; s++) {
        out->stage_rank[s] = plan->stages[s].pp;
    }
    return LCP_OK;
}

/* The most that gradients of keys and values of one sequence take on a stage. */
static int64_t largest_kv_grad(const lcp_simulated *s, int32_t stage)
{
    int64_t largest = 0;
    int64_t sum = 0;
    for (int32_t k = 0; k < s->schedule.chunk_count; k++) {
        sum = s->links[k].previous_slice < 0 ? 0 : sum;
        sum += s->memory.kv_grad_bytes[(size_t)stage * (size_t)s->schedule.chunk_count + (size_t)k];
        largest = sum > largest ? sum : largest;
    }
    return largest;
}

/* Room that passes have on each rank beside what is always there, what a pass works in, and the gradients of keys and
 * values of one sequence a stage. */
static int64_t *room(const lcp_simulated *s, int32_t ranks)
{
    int64_t working = 0;
    int64_t *limits = malloc((size_t)ranks * sizeof *limits);
    size_t cells = (size_t)s->schedule.stage_count * (size_t)s->schedule.chunk_count;
    for (size_t i = 0; i < cells; i++) {
        working = s->memory.working_bytes[i] > working ? s->memory.working_bytes[i] : working;
    }
    for (int32_t r = 0; limits != NULL && r < ranks; r++) {
        limits[r] = s->capacity_bytes - s->memory.static_bytes[r] - working;
    }
    for (int32_t stage = 0; limits != NULL && stage < s->schedule.stage_count; stage++) {
        int64_t kv_grad = largest_kv_grad(s, stage);
        limits[s->schedule.stage_rank[stage]] -= kv_grad;
        limits[ranks - 1 - s->schedule.stage_rank[stage]] -= s->schedule.chunk_direction != NULL ? kv_grad : 0;
    }
    return limits;
}

/* Another schedule: first its stages, from the same order without times, then its order with them. */
static lcp_status generate(lcp_simulated *s, const lcp_problem *problem, int32_t chunk_count,
                           const lcp_simulate_options *options, lcp_error *err)
{
    lcp_schedule_input input = {.rank_count = s->plan->layout.pp,
                                .virtual_count = options->virtual_count,
                                .chunk_count = chunk_count,
                                .links = s->links,
                                .effort = 1};
    lcp_status status = lcp_schedule_generate(&s->schedule, options->schedule, &input, err);
    if (status == LCP_OK && s->schedule.head_shards > 0) {
        status = lcp_fail(err, LCP_INFEASIBLE, "schedule",
                          "the cost model has no passes for a head that is cut over the ranks");
    }
    if (status == LCP_OK && s->schedule.stage_count > problem->model.layer_count) {
        status = lcp_fail(err, LCP_INFEASIBLE, "schedule", "%d layers do not give each of %d stages one",
                          problem->model.layer_count, s->schedule.stage_count);
    }
    if (status == LCP_OK) {
        status = lcp_simulated_fill_tables(s, problem, &s->schedule, options, err);
    }
    if (status != LCP_OK) {
        return status;
    }
    int64_t *limits = room(s, input.rank_count);
    input.durations = &s->durations;
    input.memory = &s->memory;
    input.limit_bytes = limits;
    input.recompute_ahead = options->recompute_ahead;
    input.effort = 0;
    lcp_schedule_dispose(&s->schedule);
    status = limits != NULL ? lcp_schedule_generate(&s->schedule, options->schedule, &input, err)
                            : lcp_fail(err, LCP_NOMEM, "", "cannot order %d chunks", chunk_count);
    free(limits);
    return status;
}

static lcp_status run(lcp_simulated *s, lcp_error *err)
{
    lcp_status status = lcp_replay_run(&s->replay, &s->schedule, s->links, &s->durations, err);
    if (status != LCP_OK) {
        return status;
    }
    s->peaks = calloc((size_t)s->schedule.rank_count, sizeof *s->peaks);
    s->level_bytes = calloc((size_t)s->replay.op_count + 1, sizeof *s->level_bytes);
    if (s->peaks == NULL || s->level_bytes == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold the memory of %lld operations", (long long)s->replay.op_count);
    }
    return lcp_memory_replay_timed(s->peaks, s->level_bytes, &s->schedule, s->links, &s->memory, &s->replay, err);
}

lcp_status lcp_simulate(lcp_simulated *out, const lcp_plan *plan, const lcp_problem *problem, int32_t dp,
                        const lcp_simulate_options *options, lcp_error *err)
{
    *out = (lcp_simulated){.dp = dp, .plan = plan};
    int32_t chunks = count_chunks(plan, dp, &out->first_chunk);
    lcp_status status = find_links(out, chunks, err);
    if (status == LCP_OK && options->schedule != NULL) {
        status = generate(out, problem, chunks, options, err);
    } else if (status == LCP_OK) {
        status = take_order(&out->schedule, plan, dp, out->first_chunk, err);
        if (status == LCP_OK) {
            status = lcp_simulated_fill_tables(out, problem, &out->schedule, options, err);
        }
    }
    if (status == LCP_OK) {
        status = run(out, err);
    }
    if (status != LCP_OK) {
        lcp_simulated_dispose(out);
    }
    return status;
}
