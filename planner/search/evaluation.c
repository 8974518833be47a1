#include "search/evaluation.h"

#include "search/legality.h"
#include "solver/lp.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void lcp_evaluation_dispose(lcp_evaluation *evaluation)
{
    for (int32_t d = 0; evaluation->pipelines != NULL && d < evaluation->candidate.layout.dp; d++) {
        lcp_pipeline_tables_dispose(&evaluation->pipelines[d]);
    }
    free(evaluation->pipelines);
    free(evaluation->predicted.stages);
    lcp_chunking_dispose(&evaluation->chunking);
    lcp_partition_dispose(&evaluation->partition);
    *evaluation = (lcp_evaluation){0};
}

const lcp_schedule_kind *lcp_chosen_schedule(const lcp_options *options)
{
    return lcp_schedule_find(strcmp(options->schedule, "auto") == 0 ? "elastic-1f1b" : options->schedule);
}

/* Cutting pays only where slices of one sequence can run on different stages at once, and only if the schedule keeps
 * them in order. */
static bool cuts_sequences(const lcp_options *options, const lcp_layout *layout)
{
    return options->slicing && layout->pp > 1 && strcmp(lcp_chosen_schedule(options)->name, "1f1b") != 0;
}

static lcp_status cut(lcp_evaluation *e, const lcp_problem *problem, lcp_error *err)
{
    const lcp_layout *layout = &e->candidate.layout;
    lcp_chunking_input input = {
        .cost = &e->cost,
        .workload = &problem->workload,
        .chunks_per_rank = e->candidate.chunks_per_rank,
        .slicing = cuts_sequences(&problem->options, layout),
        .min_slice_tokens = problem->options.min_slice_tokens * layout->ulysses * layout->ring,
        .slice_alignment_tokens = lcp_slice_alignment(layout),
        .columns_generated = layout->pp > 1, /* chunks of one stage need not take the same time */
    };
    lcp_status status = lcp_chunking_solve(&e->chunking, &input, err);
    e->lp_solves += e->chunking.lp_solves;
    e->mip_nodes += e->chunking.mip_nodes;
    return status;
}

static lcp_status build_table(lcp_evaluation *e, const lcp_problem *problem, int32_t pipeline, lcp_error *err)
{
    int32_t first = e->chunking.rank_first[pipeline];
    int32_t count = e->chunking.rank_first[pipeline + 1] - first;
    return lcp_pipeline_tables_build(&e->pipelines[pipeline], &e->cost, &e->chunking.chunks[first], count,
                                     lcp_chosen_schedule(&problem->options), err);
}

static lcp_partition_input partition_input(const lcp_evaluation *e, const lcp_problem *problem, double cutoff_seconds)
{
    return (lcp_partition_input){
        .cost = &e->cost,
        .pipeline_count = e->candidate.layout.dp,
        .pipelines = e->pipelines,
        .policy_mask = lcp_recompute_mask(problem->options.recompute),
        .uniform_recompute = problem->options.uniform_recompute,
        .equal_layers = problem->options.equal_layers,
        .gap_ratio = problem->options.gap_ratio / 4,
        .cutoff_seconds = cutoff_seconds,
    };
}

/* The first pipeline is priced and bounded before the others: most candidates end here. */
static lcp_status build_tables(lcp_evaluation *e, const lcp_problem *problem, double cutoff_seconds, bool *given_up,
                               lcp_error *err)
{
    int32_t dp = e->candidate.layout.dp;
    *given_up = false;
    e->pipelines = calloc((size_t)dp, sizeof *e->pipelines);
    if (e->pipelines == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold the cost tables of %d pipelines", dp);
    }
    double bound = 0;
    lcp_status status = build_table(e, problem, 0, err);
    if (status == LCP_OK && dp > 1) {
        lcp_partition_input input = partition_input(e, problem, cutoff_seconds);
        status = lcp_partition_bound(&bound, &e->missing_bytes, &input, 0, err);
    }
    if (status == LCP_OK && bound >= cutoff_seconds) {
        *given_up = true;
        e->fits = isfinite(bound);
        e->bound_seconds = bound;
        return LCP_OK;
    }
    for (int32_t d = 1; status == LCP_OK && d < dp; d++) {
        status = build_table(e, problem, d, err);
    }
    return status;
}

/* The candidate's own bound counts its budget of chunks; a batch with too little to cut may yield fewer. */
static bool has_whole_budget(const lcp_evaluation *e)
{
    for (int32_t d = 0; d < e->candidate.layout.dp; d++) {
        if (e->chunking.rank_first[d + 1] - e->chunking.rank_first[d] < e->candidate.chunks_per_rank) {
            return false;
        }
    }
    return true;
}

static lcp_status split(lcp_evaluation *e, const lcp_problem *problem, double cutoff_seconds, lcp_error *err)
{
    lcp_partition_input input = partition_input(e, problem, cutoff_seconds);
    lcp_status status = lcp_partition_solve(&e->partition, &input, err);
    if (status != LCP_OK) {
        return status;
    }
    e->lp_solves += e->partition.lp_solves;
    e->mip_nodes += e->partition.mip_nodes;
    e->fits = !e->partition.infeasible;
    e->missing_bytes = e->partition.missing_bytes;
    e->found = e->partition.found;
    e->bound_seconds = e->partition.lower_bound_seconds;
    if (!e->fits) {
        e->bound_seconds = HUGE_VAL;
    } else if (has_whole_budget(e)) {
        e->bound_seconds = fmax(e->bound_seconds, e->candidate.bound_seconds);
    }
    if (!e->found) {
        return LCP_OK;
    }
    status = lcp_evaluate(&e->predicted, &e->cost, e->candidate.layout.dp, e->pipelines, &e->partition,
                          &problem->workload, err);
    e->iteration_seconds = e->predicted.iteration_seconds;
    return status;
}

lcp_status lcp_evaluate_candidate(lcp_evaluation *out, const lcp_problem *problem, const lcp_candidate *candidate,
                                  double cutoff_seconds, lcp_error *err)
{
    *out = (lcp_evaluation){.candidate = *candidate, .fits = true, .bound_seconds = candidate->bound_seconds};
    lcp_status status = lcp_cost_prepare(&out->cost, &problem->model, &problem->cluster, &candidate->layout,
                                         &problem->options.training, err);
    if (status == LCP_OK) {
        status = cut(out, problem, err);
    }
    bool given_up = false;
    if (status == LCP_OK) {
        status = build_tables(out, problem, cutoff_seconds, &given_up, err);
    }
    if (status == LCP_OK && !given_up) {
        status = split(out, problem, cutoff_seconds, err);
    }
    return status;
}

typedef struct batch {
    lcp_evaluation *results;
    const lcp_problem *problem;
    const lcp_candidate *candidates;
    int32_t count;
    double cutoff_seconds;
    atomic_int next;
    lcp_status *statuses;
    lcp_error *errors;
} batch;

static void run_batch(batch *b)
{
    for (;;) {
        int32_t i = atomic_fetch_add(&b->next, 1);
        if (i >= b->count) {
            return;
        }
        b->statuses[i] =
            lcp_evaluate_candidate(&b->results[i], b->problem, &b->candidates[i], b->cutoff_seconds, &b->errors[i]);
    }
}

static void *worker(void *argument)
{
    run_batch(argument);
    lcp_solver_thread_end();
    return NULL;
}

#define MAX_THREADS 256

/* The calling thread works too; a thread that cannot be started leaves its share to the others. */
static void run_on_threads(batch *b, int32_t threads)
{
    pthread_t ids[MAX_THREADS];
    int32_t started = 0;
    int32_t wanted = threads < b->count ? threads : b->count;
    while (started < wanted - 1 && started < MAX_THREADS && pthread_create(&ids[started], NULL, worker, b) == 0) {
        started++;
    }
    run_batch(b);
    for (int32_t i = 0; i < started; i++) {
        pthread_join(ids[i], NULL);
    }
}

lcp_status lcp_evaluate_batch(lcp_evaluation *results, const lcp_problem *problem, const lcp_candidate *candidates,
                              int32_t count, double cutoff_seconds, int32_t threads, lcp_error *err)
{
    lcp_status status = LCP_OK;
    batch b = {.results = results, .problem = problem, .candidates = candidates, .count = count};
    b.cutoff_seconds = cutoff_seconds;
    atomic_init(&b.next, 0);
    b.statuses = calloc((size_t)count, sizeof *b.statuses);
    b.errors = calloc((size_t)count, sizeof *b.errors);
    memset(results, 0, (size_t)count * sizeof *results);
    if (b.statuses == NULL || b.errors == NULL) {
        status = lcp_fail(err, LCP_NOMEM, "", "cannot start %d candidates", count);
        goto out;
    }
    run_on_threads(&b, threads);
    for (int32_t i = 0; status == LCP_OK && i < count; i++) {
        if (b.statuses[i] != LCP_OK) {
            status = lcp_fail(err, b.statuses[i], b.errors[i].where, "%s", b.errors[i].text);
        }
    }
out:
    free(b.statuses);
    free(b.errors);
    return status;
}
