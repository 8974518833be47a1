#include "search/candidates.h"

#include "search/legality.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void lcp_candidates_dispose(lcp_candidates *candidates)
{
    free(candidates->items);
    *candidates = (lcp_candidates){0};
}

/* The whole enumeration: what every step needs. */
typedef struct enumeration {
    lcp_candidates *out;
    const lcp_problem *problem;
    const lcp_length_summary *lengths;
    int64_t devices;
    lcp_error *err;
} enumeration;

static bool degree_allows(const lcp_degree *degree, int64_t value)
{
    if (degree->count == 0) {
        return true;
    }
    for (int32_t i = 0; i < degree->count; i++) {
        if (degree->values[i] == value) {
            return true;
        }
    }
    return false;
}

/* Budgets: powers of two from four times the depth of a pipeline (fewer chunks leave it idle a fifth of the time and
 * more), until chunks would be shorter than two useful slices. */
static int32_t largest_budget(const enumeration *e, const lcp_layout *layout)
{
    int64_t ranks = (int64_t)layout->ulysses * layout->ring;
    int64_t shortest =
        2 * e->problem->options.min_slice_tokens * ranks; /* on average; single slices may be half of it */
    int64_t by_tokens = e->lengths->total_tokens / (layout->dp * (shortest > 0 ? shortest : 1));
    int64_t limit = layout->pp == 1 || !e->problem->options.slicing
                        ? (e->problem->workload.sequence_count + layout->dp - 1) / layout->dp
                        : by_tokens;
    limit = limit < by_tokens ? limit : by_tokens;
    return (int32_t)(limit < 1 ? 1 : limit > 2048 ? 2048 : limit);
}

static lcp_status push(enumeration *e, const lcp_layout *layout, const lcp_layout_bound *bound, int32_t budget)
{
    lcp_candidates *out = e->out;
    if (out->count == out->capacity) {
        int64_t capacity = out->capacity == 0 ? 1024 : 2 * out->capacity;
        lcp_candidate *items = realloc(out->items, (size_t)capacity * sizeof *items);
        if (items == NULL) {
            return lcp_fail(e->err, LCP_NOMEM, "", "cannot hold %lld candidates", (long long)capacity);
        }
        out->items = items;
        out->capacity = capacity;
    }
    bool slicing = e->problem->options.slicing && layout->pp > 1;
    double seconds = lcp_layout_bound_iteration(bound, layout, budget, slicing);
    out->items[out->count++] = (lcp_candidate){
        .layout = *layout,
        .chunks_per_rank = budget,
        .bound_seconds = seconds,
        .estimate_seconds = lcp_layout_estimate(bound, layout, budget, e->lengths),
    };
    return LCP_OK;
}

/* Equal chunks: budgets that divide the sequences of a rank. */
static lcp_status push_divisors(enumeration *e, const lcp_layout *layout, const lcp_layout_bound *bound)
{
    int64_t sequences = e->problem->workload.sequence_count / layout->dp;
    lcp_status status = LCP_OK;
    for (int64_t budget = 1; status == LCP_OK && budget <= sequences && budget <= INT32_MAX; budget++) {
        if (sequences % budget == 0) {
            status = push(e, layout, bound, (int32_t)budget);
        }
    }
    return status;
}

static lcp_status push_budgets(enumeration *e, const lcp_layout *layout, const lcp_layout_bound *bound)
{
    if (e->problem->options.equal_chunks) {
        return push_divisors(e, layout, bound);
    }
    int32_t largest = largest_budget(e, layout);
    int32_t first = layout->pp > 1 ? 4 * layout->pp : 1;
    for (int32_t budget = first < largest ? first : largest;; budget *= 2) {
        lcp_status status = push(e, layout, bound, budget < largest ? budget : largest);
        if (status != LCP_OK || budget >= largest) {
            return status;
        }
    }
}

static void count_memory(enumeration *e, const lcp_layout *layout, int64_t missing_bytes)
{
    lcp_candidates *out = e->out;
    out->reason_count[lcp_legality_rule_count]++;
    if (out->least_missing_bytes == 0 || missing_bytes < out->least_missing_bytes) {
        out->least_missing_bytes = missing_bytes;
        out->least_missing_layout = *layout;
    }
}

static lcp_status add_layout(enumeration *e, const lcp_layout *layout)
{
    e->out->considered++;
    int32_t broken = lcp_legality_broken(e->problem, layout);
    if (broken >= 0) {
        e->out->reason_count[broken]++;
        return LCP_OK;
    }
    lcp_cost cost;
    lcp_status status = lcp_cost_prepare(&cost, &e->problem->model, &e->problem->cluster, layout,
                                         &e->problem->options.training, e->err);
    if (status != LCP_OK) {
        return status;
    }
    lcp_layout_bound bound;
    lcp_layout_bound_compute(&bound, &cost, e->lengths, &e->problem->options);
    if (bound.missing_bytes > 0) {
        count_memory(e, layout, bound.missing_bytes);
        return LCP_OK;
    }
    return push_budgets(e, layout, &bound);
}

/* ZeRO stage 1 shards the optimizer at no cost over stage 0, so auto never needs stage 0; with one replica nothing is
 * sharded and all stages are the same; in a pipeline every chunk's pass would gather and reduce again, which auto
 * leaves to those who ask for it. */
static lcp_status add_zero_stages(enumeration *e, lcp_layout layout)
{
    int32_t wanted = e->problem->options.zero_stage;
    bool one_stage_of_zero = layout.pp > 1 || layout.dp * layout.ulysses * layout.ring == 1;
    int32_t first = wanted >= 0 ? wanted : 1;
    int32_t last = wanted >= 0 ? wanted : one_stage_of_zero ? 1 : 3;
    lcp_status status = LCP_OK;
    for (layout.zero_stage = first; status == LCP_OK && layout.zero_stage <= last; layout.zero_stage++) {
        status = add_layout(e, &layout);
    }
    return status;
}

static bool has_experts(const lcp_model *model)
{
    for (int32_t c = 0; c < model->class_count; c++) {
        if (model->classes[c].ffn.kind == LCP_FFN_MOE) {
            return true;
        }
    }
    return false;
}

static int64_t most_experts(const lcp_model *model)
{
    int64_t most = 1;
    for (int32_t c = 0; c < model->class_count; c++) {
        if (model->classes[c].ffn.kind == LCP_FFN_MOE && model->classes[c].ffn.experts > most) {
            most = model->classes[c].ffn.experts;
        }
    }
    return most;
}

static bool has_window(const lcp_model *model)
{
    for (int32_t c = 0; c < model->class_count; c++) {
        if (model->classes[c].attention.window_tokens > 0) {
            return true;
        }
    }
    return false;
}

static lcp_status add_expert_degrees(enumeration *e, lcp_layout layout)
{
    int64_t ranks = (int64_t)layout.tp * layout.ulysses * layout.ring * layout.dp;
    int64_t most = has_experts(&e->problem->model) ? most_experts(&e->problem->model) : 1;
    lcp_status status = LCP_OK;
    for (int64_t ep = 1; status == LCP_OK && ep <= ranks && ep <= most; ep++) {
        if (ranks % ep == 0 && degree_allows(&e->problem->options.ep, ep)) {
            layout.ep = (int32_t)ep;
            status = add_zero_stages(e, layout);
        }
    }
    return status;
}

/* Splits `ranks` context-parallel ranks into ulysses x ring. */
static lcp_status add_context_degrees(enumeration *e, lcp_layout layout, int64_t ranks)
{
    lcp_status status = LCP_OK;
    for (int64_t ulysses = 1; status == LCP_OK && ulysses <= ranks; ulysses++) {
        if (ranks % ulysses != 0 || !degree_allows(&e->problem->options.ulysses, ulysses) ||
            !degree_allows(&e->problem->options.ring, ranks / ulysses)) {
            continue;
        }
        layout.ulysses = (int32_t)ulysses;
        layout.ring = (int32_t)(ranks / ulysses);
        layout.ring_method = has_window(&e->problem->model) ? LCP_RING_ALL_GATHER : LCP_RING_P2P;
        status = add_expert_degrees(e, layout);
    }
    return status;
}

static lcp_status add_data_degrees(enumeration *e, lcp_layout layout, int64_t ranks)
{
    lcp_status status = LCP_OK;
    for (int64_t dp = 1; status == LCP_OK && dp <= ranks; dp++) {
        if (ranks % dp == 0 && degree_allows(&e->problem->options.dp, dp)) {
            layout.dp = (int32_t)dp;
            status = add_context_degrees(e, layout, ranks / dp);
        }
    }
    return status;
}

static lcp_status add_tensor_degrees(enumeration *e, lcp_layout layout, int64_t ranks)
{
    int64_t per_node = e->problem->cluster.groups[0].devices_per_node;
    lcp_status status = LCP_OK;
    for (int64_t tp = 1; status == LCP_OK && tp <= ranks && tp <= per_node; tp++) {
        if (ranks % tp == 0 && degree_allows(&e->problem->options.tp, tp)) {
            layout.tp = (int32_t)tp;
            layout.sequence_parallel = tp > 1;
            status = add_data_degrees(e, layout, ranks / tp);
        }
    }
    return status;
}

static lcp_status add_pipeline_degrees(enumeration *e)
{
    int64_t most = e->problem->model.layer_count < e->devices ? e->problem->model.layer_count : e->devices;
    lcp_status status = LCP_OK;
    for (int64_t pp = 1; status == LCP_OK && pp <= most; pp++) {
        if (e->devices % pp == 0 && degree_allows(&e->problem->options.pp, pp)) {
            lcp_layout layout = {.pp = (int32_t)pp, .vpp = 1};
            status = add_tensor_degrees(e, layout, e->devices / pp);
        }
    }
    return status;
}

static int compare_layouts(const lcp_layout *a, const lcp_layout *b)
{
    const int32_t x[] = {a->pp, a->tp, a->dp, a->ulysses, a->ring, a->ep, a->zero_stage};
    const int32_t y[] = {b->pp, b->tp, b->dp, b->ulysses, b->ring, b->ep, b->zero_stage};
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return 0;
}

static int compare_candidates(const void *a, const void *b)
{
    const lcp_candidate *x = a;
    const lcp_candidate *y = b;
    if (x->bound_seconds < y->bound_seconds || x->bound_seconds > y->bound_seconds) {
        return x->bound_seconds < y->bound_seconds ? -1 : 1;
    }
    int order = compare_layouts(&x->layout, &y->layout);
    return order != 0 ? order : (x->chunks_per_rank > y->chunks_per_rank) - (x->chunks_per_rank < y->chunks_per_rank);
}

lcp_status lcp_candidates_enumerate(lcp_candidates *out, const lcp_problem *problem, lcp_error *err)
{
    *out = (lcp_candidates){0};
    lcp_length_summary lengths;
    lcp_status status = lcp_length_summarize(&lengths, &problem->workload, err);
    if (status != LCP_OK) {
        return status;
    }
    enumeration e = {.out = out, .problem = problem, .lengths = &lengths, .err = err};
    e.devices = lcp_cluster_devices(&problem->cluster);
    status = add_pipeline_degrees(&e);
    if (status != LCP_OK) {
        lcp_candidates_dispose(out);
        return status;
    }
    if (out->count > 0) {
        qsort(out->items, (size_t)out->count, sizeof *out->items, compare_candidates);
    }
    return LCP_OK;
}
