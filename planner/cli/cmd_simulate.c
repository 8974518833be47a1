#include "cli/commands.h"
#include "cli/print_json.h"
#include "cli/problem_options.h"

#include "input/input.h"
#include "output/plan_json.h"
#include "output/simulation.h"
#include "simulate/simulate.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct simulating {
    const lcp_arguments *arguments;
    lcp_plan plan;
    lcp_problem problem;
    lcp_perturbation perturbation;
    double *makespans;   /* [runs], of the slowest pipeline in each */
    lcp_simulated shown; /* the pipeline that is asked for, or the slowest */
    lcp_error blocking, batched;
    lcp_simulation_figures figures;
} simulating;

/* "RANK:FACTOR" */
static lcp_status read_straggler(lcp_perturbation *out, const char *text, int32_t ranks, lcp_error *err)
{
    char *end = NULL;
    long rank = strtol(text, &end, 10);
    double factor = *end == ':' && end != text ? strtod(end + 1, &end) : 0;
    if (*end != '\0' || !(factor > 0 && factor <= 1000)) {
        return lcp_fail(err, LCP_USAGE, "",
                        "--straggler: found '%s', expected RANK:FACTOR with a factor up to 1000, as 3:1.2", text);
    }
    if (rank < 0 || rank >= ranks) {
        return lcp_fail(err, LCP_USAGE, "", "--straggler: found rank %ld, the plan has pipeline ranks 0 to %d", rank,
                        ranks - 1);
    }
    out->straggler_rank = (int32_t)rank;
    out->straggler_factor = factor;
    return LCP_OK;
}

static lcp_status prepare(simulating *s, lcp_error *err)
{
    const lcp_arguments *a = s->arguments;
    bool perturbed = a->jitter_ratio > 0 || a->straggler != NULL;
    s->perturbation = (lcp_perturbation){
        .jitter_ratio = a->jitter_ratio, .seed = (uint64_t)a->seed, .straggler_rank = -1, .straggler_factor = 1};
    if (!perturbed && (a->runs > 0 || a->seed > 0)) {
        return lcp_fail(err, LCP_USAGE, "", "--runs and --seed say how --jitter is drawn, which is not given");
    }
    if (a->order == NULL && a->stages_a_rank > 0) {
        return lcp_fail(err, LCP_USAGE, "", "--vpp goes with --schedule: the plan's own order has its own stages");
    }
    if (a->order == NULL && a->recompute_ahead) {
        return lcp_fail(err, LCP_USAGE, "",
                        "--recompute-ahead goes with --schedule: the plan's order is simulated as it is");
    }
    if (a->pipeline > s->plan.layout.dp) {
        return lcp_fail(err, LCP_USAGE, "", "--pipeline: found %d, the plan has pipelines 0 to %d", a->pipeline - 1,
                        s->plan.layout.dp - 1);
    }
    s->perturbation.runs = !perturbed ? 0 : a->runs > 0 ? a->runs : a->jitter_ratio > 0 ? 100 : 1;
    s->makespans = calloc((size_t)s->perturbation.runs + 1, sizeof *s->makespans);
    if (s->makespans == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "no memory for %d runs", s->perturbation.runs);
    }
    return a->straggler != NULL ? read_straggler(&s->perturbation, a->straggler, s->plan.layout.pp, err) : LCP_OK;
}

/* Every pipeline counts for the runs; one is shown. */
static lcp_status simulate_all(simulating *s, lcp_error *err)
{
    lcp_simulate_options options = {.schedule = s->arguments->order,
                                    .virtual_count = s->arguments->stages_a_rank,
                                    .recompute_ahead = s->arguments->recompute_ahead,
                                    .link_queues = s->arguments->link_queues};
    lcp_status status = LCP_OK;
    for (int32_t dp = 0; status == LCP_OK && dp < s->plan.layout.dp; dp++) {
        lcp_simulated one;
        status = lcp_simulate(&one, &s->plan, &s->problem, dp, &options, err);
        if (status == LCP_OK && s->perturbation.runs > 0) {
            status = lcp_simulated_perturb(s->makespans, &one, &s->perturbation, err);
        }
        if (status != LCP_OK) {
            break;
        }
        bool slowest = dp == 0 || one.replay.makespan_seconds > s->shown.replay.makespan_seconds;
        bool wanted = s->arguments->pipeline > 0 ? dp == s->arguments->pipeline - 1 : slowest;
        if (wanted) {
            lcp_simulated_dispose(&s->shown);
            s->shown = one;
        } else {
            lcp_simulated_dispose(&one);
        }
    }
    return status;
}

static void take_spread(lcp_spread *out, double *values, int32_t runs)
{
    *out = (lcp_spread){.runs = runs};
    for (int32_t i = 0; i < runs; i++) {
        out->mean_seconds += values[i] / runs;
    }
    if (runs > 0) {
        out->p5_seconds = lcp_percentile(values, runs, 0.05);
        out->p50_seconds = lcp_percentile(values, runs, 0.5);
        out->p95_seconds = lcp_percentile(values, runs, 0.95);
        out->p99_seconds = lcp_percentile(values, runs, 0.99);
        out->largest_seconds = lcp_percentile(values, runs, 1);
    }
}

static lcp_status check_sends(simulating *s, lcp_error *err)
{
    lcp_status blocking = lcp_rendezvous_check(&s->shown.schedule, LCP_SENDING_BLOCKING, &s->blocking);
    lcp_status batched = lcp_rendezvous_check(&s->shown.schedule, LCP_SENDING_BATCHED, &s->batched);
    if ((blocking != LCP_OK && blocking != LCP_FALSE) || (batched != LCP_OK && batched != LCP_FALSE)) {
        return lcp_fail(err, LCP_NOMEM, "", "no memory to check the sends");
    }
    s->figures.blocking = blocking == LCP_OK ? NULL : s->blocking.text;
    s->figures.batched = batched == LCP_OK ? NULL : s->batched.text;
    return LCP_OK;
}

static lcp_status write_trace(const simulating *s, lcp_error *err)
{
    char *text = NULL;
    size_t size = 0;
    json_t *document = lcp_trace_json(&s->shown);
    lcp_status status = document != NULL ? lcp_json_text(&text, &size, document, err)
                                         : lcp_fail(err, LCP_NOMEM, "", "no memory for the trace");
    if (status == LCP_OK) {
        status = lcp_write_file(s->arguments->trace, text, size, err);
    }
    free(text);
    json_decref(document);
    return status;
}

static lcp_status write_svg(const simulating *s, lcp_error *err)
{
    char *text = NULL;
    size_t size = 0;
    lcp_status status = lcp_timeline_svg(&text, &size, &s->shown, s->figures.schedule, err);
    if (status == LCP_OK) {
        status = lcp_write_file(s->arguments->svg, text, size, err);
    }
    free(text);
    return status;
}

/* A document on standard output leaves no place there for the figures. */
static bool to_standard_output(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

static lcp_status report(const simulating *s, lcp_error *err)
{
    const lcp_arguments *a = s->arguments;
    lcp_status status = a->trace != NULL ? write_trace(s, err) : LCP_OK;
    if (status == LCP_OK && a->svg != NULL) {
        status = write_svg(s, err);
    }
    if (status != LCP_OK || a->quiet || to_standard_output(a->trace) || to_standard_output(a->svg)) {
        return status;
    }
    if (!a->json) {
        lcp_show_simulation(stdout, &s->shown, &s->figures);
        return LCP_OK;
    }
    json_t *document = lcp_show_simulation_json(&s->shown, &s->figures);
    status = lcp_print_json(document, err);
    json_decref(document);
    return status;
}

static lcp_status run(const lcp_arguments *arguments, lcp_error *err)
{
    simulating s = {.arguments = arguments};
    lcp_status status = lcp_read_plan(&s.plan, &s.problem, arguments->operands[0], err);
    if (status == LCP_OK) {
        status = prepare(&s, err);
    }
    if (status == LCP_OK) {
        status = simulate_all(&s, err);
    }
    if (status == LCP_OK) {
        s.figures.schedule = arguments->order != NULL ? arguments->order : s.plan.schedule_name;
        s.figures.pipelines = s.plan.layout.dp;
        s.figures.slowest = arguments->pipeline == 0;
        take_spread(&s.figures.spread, s.makespans, s.perturbation.runs);
        status = check_sends(&s, err);
    }
    if (status == LCP_OK) {
        status = report(&s, err);
    }
    lcp_simulated_dispose(&s.shown);
    free(s.makespans);
    lcp_plan_dispose(&s.plan);
    lcp_problem_dispose(&s.problem);
    return status;
}

static const char *schedule_name_at(size_t index, const void *context)
{
    (void)context;
    return index < lcp_schedule_kind_count() ? lcp_schedule_kind_at(index)->name : NULL;
}

static lcp_status store_order(void *field, const lcp_option *option, const char *value, lcp_error *err)
{
    if (lcp_schedule_find(value) == NULL) {
        const char *near = lcp_nearest(value, schedule_name_at, NULL);
        return lcp_fail(err, LCP_USAGE, "", "--%s: found '%s', expected a name of 'lcplan list schedules'%s%s",
                        option->name, value, near != NULL ? ", the nearest is " : "", near != NULL ? near : "");
    }
    *(const char **)field = value;
    return LCP_OK;
}

/* Stored one higher, so that 0 is "not given". */
static lcp_status store_pipeline(void *field, const lcp_option *option, const char *value, lcp_error *err)
{
    lcp_status status = lcp_store_int32(field, option, value, err);
    if (status == LCP_OK) {
        ++*(int32_t *)field;
    }
    return status;
}

#define AT(field) offsetof(lcp_arguments, field)
static const lcp_option order_options[] = {
    {0, "schedule", "NAME", "another order over the same chunks; 'lcplan list schedules'", store_order, AT(order), 0, 0,
     NULL},
    {0, "vpp", "N", "its stages per pipeline rank, layers dealt out evenly", lcp_store_int32, AT(stages_a_rank), 1,
     1024, NULL},
    {0, "recompute-ahead", NULL, "recompute before the gradient is there", lcp_store_on, AT(recompute_ahead), 0, 0,
     NULL},
    {0, "link-queues", NULL, "hops over one link wait for each other", lcp_store_on, AT(link_queues), 0, 0, NULL},
};
static const lcp_option noise_options[] = {
    {0, "jitter", "RATIO", "standard deviation of every duration over its mean", lcp_store_real, AT(jitter_ratio), 0, 1,
     NULL},
    {0, "straggler", "RANK:FACTOR", "a pipeline rank whose passes take FACTOR times as long", lcp_store_text,
     AT(straggler), 0, 0, NULL},
    {0, "runs", "N", "iterations with other durations (100)", lcp_store_int32, AT(runs), 1, 1000000, NULL},
    {0, "seed", "N", "of the durations; the same seed, the same times (0)", lcp_store_int64, AT(seed), 0, 1e15, NULL},
};
static const lcp_option output_options[] = {
    {0, "trace", "FILE", "Chrome trace events, for Perfetto", lcp_store_text, AT(trace), 0, 0, NULL},
    {0, "svg", "FILE", "timeline and memory as a picture", lcp_store_text, AT(svg), 0, 0, NULL},
    {0, "pipeline", "N", "which pipeline to show, instead of the slowest", store_pipeline, AT(pipeline), 0, 1e9 - 1,
     NULL},
    {0, "json", NULL, "print JSON", lcp_store_on, AT(json), 0, 0, NULL},
    {0, "quiet", NULL, "print no figures", lcp_store_on, AT(quiet), 0, 0, NULL},
};
static const lcp_option_group order_group = LCP_OPTION_GROUP("Order", order_options);
static const lcp_option_group noise_group = LCP_OPTION_GROUP("Perturbed durations", noise_options);
static const lcp_option_group output_group = LCP_OPTION_GROUP("Output", output_options);
static const lcp_option_group *const groups[] = {&order_group, &noise_group, &output_group, &lcp_common_options, NULL};

const lcp_command lcp_command_simulate = {
    "simulate", "PLAN", "runs a plan in time: figures of each rank, a trace, a picture, perturbed durations", 1, 1,
    groups,     run};
