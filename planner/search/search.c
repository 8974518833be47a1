#define _POSIX_C_SOURCE 200809L /* clock_gettime, sysconf */

/* Best bound first over (layout, chunk budget). Work is done in batches of a fixed size, whatever the number of
 * threads, and results are taken in the order of the batch: the plan does not depend on timing. */
#include "search/search.h"

#include "search/alternatives.h"
#include "search/candidates.h"
#include "search/certificate.h"
#include "search/evaluation.h"
#include "search/infeasible.h"
#include "solver/lp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BATCH 8
#define FIRST_ONLY_CANDIDATES 32

typedef struct search {
    const lcp_problem *problem;
    const lcp_search_hooks *hooks;
    lcp_candidates candidates;
    bool *done;                  /* [candidates.count]: evaluated */
    int64_t *by_estimate;        /* candidate indices, most promising first */
    lcp_evaluation best;         /* best.found tells whether there is one */
    double solved_bound_seconds; /* least bound over the evaluated candidates */
    int64_t solved, lp_solves, mip_nodes, no_fit;
    int64_t least_missing_bytes;
    lcp_layout least_missing_layout;
    lcp_alternatives alternatives;
    int32_t threads;
    bool first_only; /* any plan will do */
    double started_seconds;
    const char *stopped_by;
    lcp_error *err;
} search;

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double incumbent_seconds(const search *s)
{
    return s->best.found ? s->best.iteration_seconds : HUGE_VAL;
}

/* A candidate whose bound reaches this cannot improve the plan by more than the gap. */
static double cutoff_seconds(const search *s)
{
    return incumbent_seconds(s) * (1 - s->problem->options.gap_ratio);
}

/* Least bound over everything not proven worse: what no plan in scope beats. */
static double lower_bound_seconds(const search *s)
{
    double bound = fmin(s->solved_bound_seconds, incumbent_seconds(s));
    for (int64_t i = 0; i < s->candidates.count; i++) {
        if (!s->done[i]) {
            return fmin(bound, s->candidates.items[i].bound_seconds); /* sorted by bound */
        }
    }
    return bound;
}

static int64_t done_count(const search *s)
{
    int64_t count = 0;
    for (int64_t i = 0; i < s->candidates.count; i++) {
        count += s->done[i];
    }
    return count;
}

static void report_progress(const search *s)
{
    if (s->hooks == NULL || s->hooks->progress == NULL) {
        return;
    }
    int64_t left = 0;
    for (int64_t i = 0; i < s->candidates.count; i++) {
        left += !s->done[i] && s->candidates.items[i].bound_seconds < cutoff_seconds(s);
    }
    lcp_progress progress = {.candidates_left = left, .solved = s->solved};
    progress.incumbent_seconds = s->best.found ? s->best.iteration_seconds : 0;
    progress.lower_bound_seconds = lower_bound_seconds(s);
    s->hooks->progress(s->hooks->context, &progress);
}

/* Why the search has to stop now, NULL if it may go on. */
static const char *stop_reason(const search *s)
{
    const lcp_options *options = &s->problem->options;
    if (s->hooks != NULL && s->hooks->interrupted != NULL && s->hooks->interrupted(s->hooks->context)) {
        return "interrupted";
    }
    if (options->max_candidates > 0 && s->solved >= options->max_candidates) {
        return "candidates";
    }
    if (options->time_limit_seconds > 0 && now_seconds() - s->started_seconds > options->time_limit_seconds) {
        return "time";
    }
    return s->first_only && (s->best.found || s->solved >= FIRST_ONLY_CANDIDATES) ? "first" : NULL;
}

static void take_result(search *s, lcp_evaluation *result)
{
    s->solved++;
    s->lp_solves += result->lp_solves;
    s->mip_nodes += result->mip_nodes;
    s->solved_bound_seconds = fmin(s->solved_bound_seconds, result->bound_seconds);
    lcp_alternatives_add(&s->alternatives, result);
    if (!result->fits) {
        s->no_fit++;
        if (s->least_missing_bytes == 0 || result->missing_bytes < s->least_missing_bytes) {
            s->least_missing_bytes = result->missing_bytes;
            s->least_missing_layout = result->candidate.layout;
        }
    }
    if (result->found && result->iteration_seconds < incumbent_seconds(s)) {
        lcp_evaluation_dispose(&s->best);
        s->best = *result;
        return;
    }
    lcp_evaluation_dispose(result);
}

static lcp_status evaluate(search *s, const lcp_candidate *batch, int32_t count, double cutoff)
{
    lcp_evaluation results[BATCH];
    lcp_status status = lcp_evaluate_batch(results, s->problem, batch, count, cutoff, s->threads, s->err);
    for (int32_t i = 0; i < count; i++) {
        if (status == LCP_OK) {
            take_result(s, &results[i]);
        } else {
            lcp_evaluation_dispose(&results[i]);
        }
    }
    report_progress(s);
    return status;
}

/* The next candidates that could still improve the plan, in the given order (NULL = by bound). */
static int32_t next_batch(search *s, const int64_t *order, lcp_candidate batch[BATCH])
{
    int32_t count = 0;
    double cutoff = cutoff_seconds(s);
    for (int64_t i = 0; i < s->candidates.count && count < BATCH; i++) {
        int64_t at = order != NULL ? order[i] : i;
        const lcp_candidate *candidate = &s->candidates.items[at];
        if (s->done[at]) {
            continue;
        }
        if (!(candidate->bound_seconds < cutoff)) {
            if (order == NULL) {
                break; /* sorted: all that follow are bounded too */
            }
            continue;
        }
        s->done[at] = true;
        batch[count++] = *candidate;
    }
    return count;
}

/* Dive: a few batches of the most promising candidates, so that there is an incumbent to prune with. Then best bound
 * first until no remaining bound beats the incumbent by more than the gap. */
#define DIVE_BATCHES 12
static lcp_status run(search *s)
{
    for (int64_t round = 0;; round++) {
        lcp_candidate batch[BATCH];
        bool dive = round < DIVE_BATCHES || !s->best.found;
        s->stopped_by = stop_reason(s);
        if (s->stopped_by != NULL) {
            return LCP_OK;
        }
        int32_t count = next_batch(s, dive ? s->by_estimate : NULL, batch);
        if (count == 0) {
            return LCP_OK;
        }
        lcp_status status = evaluate(s, batch, count, cutoff_seconds(s));
        if (status != LCP_OK) {
            return status;
        }
    }
}

/* Budgets near the best one, without those already tried. A budget that no candidate bounded has only the trivial
 * bound until it is evaluated. */
static int32_t near_budgets(const search *s, lcp_candidate batch[BATCH])
{
    int32_t budget = s->best.candidate.chunks_per_rank;
    const int32_t near[] = {budget * 3 / 4, budget * 7 / 8, budget * 5 / 4, budget * 3 / 2};
    int32_t count = 0;
    if (s->problem->options.equal_chunks) {
        return 0; /* every divisor is a candidate */
    }
    for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
        bool repeated = near[i] < 1 || near[i] == budget || (count > 0 && near[i] == batch[count - 1].chunks_per_rank);
        if (!repeated) {
            batch[count] = s->best.candidate;
            batch[count].bound_seconds = 0;
            batch[count++].chunks_per_rank = near[i];
        }
    }
    return count;
}

/* Budgets between the powers of two around the best one, as long as that helps: any improvement counts. */
static lcp_status refine(search *s)
{
    int32_t tried = 0;
    while (s->best.found && s->stopped_by == NULL && tried != s->best.candidate.chunks_per_rank) {
        tried = s->best.candidate.chunks_per_rank;
        lcp_candidate batch[BATCH];
        int32_t count = near_budgets(s, batch);
        lcp_status status = count > 0 ? evaluate(s, batch, count, incumbent_seconds(s)) : LCP_OK;
        if (status != LCP_OK) {
            return status;
        }
        s->stopped_by = stop_reason(s);
    }
    return LCP_OK;
}

static int compare_estimates(const void *a, const void *b, void *context)
{
    const lcp_candidate *items = context;
    int64_t i = *(const int64_t *)a;
    int64_t j = *(const int64_t *)b;
    double x = items[i].estimate_seconds;
    double y = items[j].estimate_seconds;
    return x < y || x > y ? (x < y ? -1 : 1) : (i > j) - (i < j);
}

/* Merge sort: qsort has no context for the comparison. */
static void sort_indices(int64_t *indices, int64_t *scratch, int64_t count, void *context)
{
    if (count < 2) {
        return;
    }
    int64_t half = count / 2;
    sort_indices(indices, scratch, half, context);
    sort_indices(indices + half, scratch, count - half, context);
    int64_t left = 0;
    int64_t right = half;
    for (int64_t i = 0; i < count; i++) {
        bool take_left =
            right == count || (left < half && compare_estimates(&indices[left], &indices[right], context) <= 0);
        scratch[i] = take_left ? indices[left++] : indices[right++];
    }
    memcpy(indices, scratch, (size_t)count * sizeof *indices);
}

static lcp_status prepare(search *s)
{
    lcp_status status = lcp_candidates_enumerate(&s->candidates, s->problem, s->err);
    if (status != LCP_OK || s->candidates.count == 0) {
        return status;
    }
    size_t count = (size_t)s->candidates.count;
    s->done = calloc(count, sizeof *s->done);
    s->by_estimate = malloc(2 * count * sizeof *s->by_estimate); /* second half: scratch of the sort */
    if (s->done == NULL || s->by_estimate == NULL) {
        return lcp_fail(s->err, LCP_NOMEM, "", "cannot hold %lld candidates", (long long)s->candidates.count);
    }
    for (size_t i = 0; i < count; i++) {
        s->by_estimate[i] = (int64_t)i;
    }
    sort_indices(s->by_estimate, s->by_estimate + count, (int64_t)count, s->candidates.items);
    return LCP_OK;
}

static int32_t thread_count(const lcp_options *options)
{
    long cores = options->threads > 0 ? options->threads : sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > BATCH ? BATCH : (int32_t)cores;
}

static lcp_status explain_failure(search *s)
{
    if (s->stopped_by != NULL) {
        return lcp_fail(s->err, LCP_LIMIT, "", "the search was stopped (%s) after %lld candidates, none of which fits",
                        s->stopped_by, (long long)s->solved);
    }
    lcp_shortage shortage = {
        .candidates = &s->candidates,
        .missing_bytes = s->candidates.least_missing_bytes,
        .layout = s->candidates.least_missing_layout,
    };
    if (s->no_fit > 0 && (shortage.missing_bytes == 0 || s->least_missing_bytes < shortage.missing_bytes)) {
        shortage.missing_bytes = s->least_missing_bytes;
        shortage.layout = s->least_missing_layout;
    }
    return lcp_explain_infeasible(s->problem, &shortage, s->err);
}

static lcp_status finish(search *s, lcp_plan *out)
{
    if (!s->best.found) {
        return explain_failure(s);
    }
    lcp_status status = lcp_plan_assemble(out, s->problem, &s->best, s->err);
    if (status == LCP_OK) {
        lcp_search_totals totals = {
            .candidates = &s->candidates,
            .iteration_seconds = s->best.iteration_seconds,
            .lower_bound_seconds = lower_bound_seconds(s),
            .stopped_by = s->stopped_by,
            .solved = s->solved,
            .bounded = s->candidates.count - done_count(s),
            .did_not_fit = s->no_fit,
            .lp_solves = s->lp_solves,
            .mip_nodes = s->mip_nodes,
        };
        lcp_certificate_fill(&out->certificate, s->problem, &totals);
        status = lcp_alternatives_list(out, &s->alternatives, &s->best, s->err);
    }
    if (status != LCP_OK) {
        lcp_plan_dispose(out);
    }
    return status;
}

static void search_init(search *s, const lcp_problem *problem, lcp_error *err)
{
    *s = (search){.problem = problem, .err = err, .solved_bound_seconds = HUGE_VAL};
    s->threads = thread_count(&problem->options);
    s->started_seconds = now_seconds();
}

static void search_dispose(search *s)
{
    lcp_evaluation_dispose(&s->best);
    lcp_candidates_dispose(&s->candidates);
    free(s->done);
    free(s->by_estimate);
}

lcp_status lcp_plan_search(lcp_plan *out, const lcp_problem *problem, const lcp_search_hooks *hooks, lcp_error *err)
{
    *out = (lcp_plan){0};
    search s;
    search_init(&s, problem, err);
    s.hooks = hooks;
    lcp_status status = prepare(&s);
    if (status == LCP_OK) {
        status = run(&s);
    }
    if (status == LCP_OK) {
        status = refine(&s);
    }
    if (status == LCP_OK) {
        status = finish(&s, out);
    }
    search_dispose(&s);
    return status;
}

lcp_status lcp_search_fits(bool *found, const lcp_problem *problem, lcp_error *err)
{
    search s;
    search_init(&s, problem, err);
    s.first_only = true;
    lcp_status status = prepare(&s);
    if (status == LCP_OK) {
        status = run(&s);
    }
    *found = status == LCP_OK && s.best.found;
    search_dispose(&s);
    return status;
}
