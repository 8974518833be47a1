/* Search guided by list schedules: a division of layers for every number of stages, then changes of one boundary or one
 * place at a time, kept when the schedule gets no slower. */
#include "coopt/candidate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STARTS 3      /* numbers of stages that are searched further */
#define ROUND 1000    /* trials before the search goes back to the best so far */
#define QUICK_RULES 6 /* of list scheduling, while the search goes on */

void lcp_coopt_dispose(lcp_coopt *coopt)
{
    free(coopt->stage_layers);
    lcp_schedule_dispose(&coopt->schedule);
    *coopt = (lcp_coopt){0};
}

static uint32_t pick(uint64_t *state, int32_t count)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (uint32_t)((z ^ (z >> 31)) % (uint64_t)count);
}

/* A layer over a boundary, a stage to another rank, or two stages that change places. False if it would leave a stage
 * or a rank empty. */
static bool change(lcp_division *d, const lcp_coopt_input *input, uint64_t *state)
{
    int32_t a = (int32_t)pick(state, d->stage_count);
    int32_t b = (int32_t)pick(state, d->stage_count);
    switch (pick(state, 3)) {
    case 0: {
        int32_t to = pick(state, 2) == 0 ? a - 1 : a + 1;
        if (to < 0 || to >= d->stage_count || d->layers[a] < 2) {
            return false;
        }
        d->layers[a]--;
        d->layers[to]++;
        return true;
    }
    case 1: {
        int32_t old = d->rank[a];
        d->rank[a] = (int32_t)pick(state, input->rank_count);
        for (int32_t s = 0; s < d->stage_count; s++) {
            if (d->rank[s] == old) {
                return d->rank[a] != old;
            }
        }
        return false;
    }
    default: {
        int32_t rank = d->rank[a];
        d->rank[a] = d->rank[b];
        d->rank[b] = rank;
        return d->rank[a] != rank;
    }
    }
}

typedef struct climbing {
    const lcp_coopt_input *input;
    lcp_coopt_tables tables;
    lcp_division best[STARTS + 1]; /* sorted by cost; the last is the one being tried */
    int32_t found;
    uint64_t state;
    lcp_error *err;
} climbing;

static void insert_best(climbing *c)
{
    for (int32_t i = STARTS; i > 0 && c->best[i].cost < c->best[i - 1].cost; i--) {
        lcp_division better = c->best[i];
        c->best[i] = c->best[i - 1];
        c->best[i - 1] = better;
    }
}

static lcp_status try_stage_counts(climbing *c)
{
    lcp_status status = LCP_OK;
    int64_t most = (int64_t)c->input->max_stages_a_rank * c->input->rank_count;
    most = most < c->input->layer_count ? most : c->input->layer_count;
    for (int32_t stages = c->input->rank_count; status == LCP_OK && stages <= most; stages++) {
        lcp_division *last = &c->best[STARTS];
        status = lcp_division_start(last, c->input, stages, c->err);
        if (status == LCP_OK) {
            status = lcp_division_price(last, NULL, &c->tables, QUICK_RULES, c->err);
        }
        if (status == LCP_OK) {
            insert_best(c);
        }
    }
    return status;
}

/* Changes that make it no slower are kept; now and then one that does, less and less so. */
static lcp_status climb(climbing *c, lcp_division *from, int64_t trials)
{
    lcp_division *trial = &c->best[STARTS];
    lcp_division here = {0};
    lcp_status status = lcp_division_allocate(&here, c->input, c->err);
    if (status == LCP_OK) {
        lcp_division_copy(&here, from, c->input);
    }
    for (int64_t i = 0; status == LCP_OK && i < trials; i++) {
        double patience = 0.01 * (1 - (double)i / (double)trials);
        double bar = here.cost * (1 + patience * pick(&c->state, 1000) / 1000 * (pick(&c->state, 4) == 0));
        lcp_division_copy(trial, &here, c->input);
        bool changed = change(trial, c->input, &c->state);
        changed = changed && (pick(&c->state, 3) > 0 || change(trial, c->input, &c->state));
        if (!changed || lcp_division_load(trial, c->input) > bar) {
            continue;
        }
        status = lcp_division_price(trial, NULL, &c->tables, QUICK_RULES, c->err);
        if (status == LCP_OK && trial->cost <= bar && trial->cost < HUGE_VAL) {
            lcp_division_copy(&here, trial, c->input);
        }
        if (status == LCP_OK && here.cost < from->cost) {
            lcp_division_copy(from, &here, c->input);
        }
    }
    lcp_division_dispose(&here);
    return status;
}

static lcp_status take_result(lcp_coopt *out, climbing *c)
{
    lcp_status status = LCP_OK;
    double best = HUGE_VAL;
    for (int32_t i = 0; status == LCP_OK && i < STARTS; i++) {
        lcp_schedule schedule = {0};
        lcp_division *d = &c->best[i];
        if (d->cost >= HUGE_VAL) {
            continue;
        }
        status = lcp_division_price(d, &schedule, &c->tables, 0, c->err);
        if (status == LCP_OK && d->cost < best) {
            best = d->cost;
            lcp_schedule_dispose(&out->schedule);
            out->schedule = schedule;
            out->stage_count = d->stage_count;
            out->makespan_seconds = d->cost;
            memcpy(out->stage_layers, d->layers, (size_t)d->stage_count * sizeof *d->layers);
            memcpy(out->stage_rank, d->rank, (size_t)d->stage_count * sizeof *d->rank);
        } else {
            lcp_schedule_dispose(&schedule);
        }
    }
    bool none = status == LCP_OK && best >= HUGE_VAL;
    return none ? lcp_fail(c->err, LCP_INFEASIBLE, "memory", "no division of %d layers that was tried fits",
                           c->input->layer_count)
                : status;
}

static lcp_status check(const lcp_coopt_input *input, lcp_error *err)
{
    if (input->rank_count < 1 || input->chunk_count < 1 || input->max_stages_a_rank < 1) {
        return lcp_fail(err, LCP_INPUT, "coopt", "ranks, chunks and stages a rank must be at least 1");
    }
    if (input->layer_count < input->rank_count) {
        return lcp_fail(err, LCP_INFEASIBLE, "coopt", "%d layers do not give each of %d ranks one", input->layer_count,
                        input->rank_count);
    }
    return LCP_OK;
}

lcp_status lcp_schedule_coopt(lcp_coopt *out, const lcp_coopt_input *input, lcp_error *err)
{
    *out = (lcp_coopt){0};
    lcp_status status = check(input, err);
    if (status != LCP_OK) {
        return status;
    }
    climbing c = {.input = input, .state = input->seed, .err = err};
    out->stage_layers = malloc(2 * (size_t)input->layer_count * sizeof *out->stage_layers);
    status = out->stage_layers != NULL ? lcp_coopt_tables_allocate(&c.tables, input, err)
                                       : lcp_fail(err, LCP_NOMEM, "", "cannot hold %d stages", input->layer_count);
    for (int32_t i = 0; status == LCP_OK && i <= STARTS; i++) {
        status = lcp_division_allocate(&c.best[i], input, err);
    }
    if (status == LCP_OK) {
        out->stage_rank = out->stage_layers + input->layer_count;
        out->lower_bound_seconds = lcp_coopt_lower_bound(input);
        status = try_stage_counts(&c);
    }
    for (int64_t left = input->trials; status == LCP_OK && left > 0; left -= ROUND) {
        int64_t turn = (input->trials - left) / ROUND % STARTS;
        int64_t trials = left < ROUND ? left : ROUND;
        status = c.best[turn].cost < HUGE_VAL ? climb(&c, &c.best[turn], trials) : LCP_OK;
    }
    if (status == LCP_OK) {
        status = take_result(out, &c);
    }
    for (int32_t i = 0; i <= STARTS; i++) {
        lcp_division_dispose(&c.best[i]);
    }
    lcp_coopt_tables_dispose(&c.tables);
    if (status != LCP_OK) {
        lcp_coopt_dispose(out);
    }
    return status;
}
