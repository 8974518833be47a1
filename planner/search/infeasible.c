#include "search/infeasible.h"

#include "search/legality.h"
#include "search/search.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB (1024.0 * 1024.0 * 1024.0)

/* A growing line of suggestions, cut when full. */
typedef struct line {
    char text[768];
    size_t used;
} line;

static void append(line *out, const char *format, ...) LCP_PRINTF(2, 3);
static void append(line *out, const char *format, ...)
{
    if (out->used >= sizeof out->text) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(out->text + out->used, sizeof out->text - out->used, format, arguments);
    va_end(arguments);
    out->used += written > 0 ? (size_t)written : 0;
}

/* Whether a plan exists; a failure of the trial itself counts as no. */
static bool fits(const lcp_problem *problem)
{
    bool found = false;
    return lcp_search_fits(&found, problem, NULL) == LCP_OK && found;
}

typedef bool (*cluster_change)(lcp_group *group, double amount);

static bool more_memory(lcp_group *group, double bytes)
{
    group->device.memory_bytes += (int64_t)(bytes / group->usable_memory_ratio);
    return true;
}

static bool more_nodes(lcp_group *group, double factor)
{
    group->nodes = (int64_t)((double)group->nodes * factor);
    return group->nodes * group->devices_per_node <= 1 << 17;
}

/* Tries the problem with every group changed. */
static bool fits_with_cluster(const lcp_problem *problem, cluster_change change, double amount)
{
    lcp_problem changed = *problem;
    size_t count = (size_t)problem->cluster.group_count;
    changed.cluster.groups = malloc(count * sizeof *changed.cluster.groups);
    if (changed.cluster.groups == NULL) {
        return false;
    }
    memcpy(changed.cluster.groups, problem->cluster.groups, count * sizeof *changed.cluster.groups);
    bool possible = true;
    for (size_t i = 0; i < count; i++) {
        possible = change(&changed.cluster.groups[i], amount) && possible;
    }
    bool found = possible && fits(&changed);
    free(changed.cluster.groups);
    return found;
}

static bool fits_with_context(const lcp_problem *problem, int64_t longest_tokens)
{
    lcp_problem changed = *problem;
    size_t count = (size_t)problem->workload.sequence_count;
    changed.workload.lengths_tokens = malloc(count * sizeof *changed.workload.lengths_tokens);
    if (changed.workload.lengths_tokens == NULL) {
        return false;
    }
    changed.workload.max_length_tokens = longest_tokens;
    changed.workload.total_tokens = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t length = problem->workload.lengths_tokens[i];
        changed.workload.lengths_tokens[i] = length < longest_tokens ? length : longest_tokens;
        changed.workload.total_tokens += changed.workload.lengths_tokens[i];
    }
    bool found = fits(&changed);
    free(changed.workload.lengths_tokens);
    return found;
}

/* Smallest of a few trial amounts, growing from the shortfall seen; 0 = none helped. */
static double memory_that_fits(const lcp_problem *problem, double missing_bytes)
{
    for (double factor = 1.0; factor < 9.0; factor *= 1.25) {
        if (fits_with_cluster(problem, more_memory, missing_bytes * factor)) {
            return missing_bytes * factor;
        }
    }
    return 0;
}

static double nodes_that_fit(const lcp_problem *problem)
{
    for (double factor = 2; factor <= 64; factor *= 2) {
        if (fits_with_cluster(problem, more_nodes, factor)) {
            return factor;
        }
    }
    return 0;
}

/* Largest context found by halving and then four bisections; 0 = none. */
static int64_t context_that_fits(const lcp_problem *problem)
{
    int64_t high = problem->workload.max_length_tokens;
    int64_t low = high / 2;
    while (low >= 256 && !fits_with_context(problem, low)) {
        high = low;
        low /= 2;
    }
    if (low < 256) {
        return 0;
    }
    for (int32_t step = 0; step < 4; step++) {
        int64_t middle = (low + high) / 2 / 256 * 256;
        if (middle <= low) {
            break;
        }
        if (fits_with_context(problem, middle)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static void suggest_options(line *out, const lcp_problem *problem)
{
    lcp_problem changed = *problem;
    changed.options.recompute = LCP_RECOMPUTE_MODE_AUTO;
    changed.options.uniform_recompute = false;
    bool anyone = problem->options.trainer[0] == '\0'; /* else the trainer has no other choice */
    if (anyone && problem->options.recompute != LCP_RECOMPUTE_MODE_AUTO && fits(&changed)) {
        append(out, "; --recompute auto fits");
    }
    changed = *problem;
    changed.options.slicing = true;
    if (anyone && !problem->options.slicing && fits(&changed)) {
        append(out, "; cutting sequences (without --no-slicing) fits");
    }
    changed = *problem;
    changed.options.zero_stage = -1;
    if (problem->options.zero_stage >= 0 && fits(&changed)) {
        append(out, "; --zero auto fits");
    }
    lcp_degree *const degrees[] = {&changed.options.dp,      &changed.options.pp,   &changed.options.tp,
                                   &changed.options.ulysses, &changed.options.ring, &changed.options.ep};
    changed = *problem;
    bool fixed = false;
    for (size_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++) {
        fixed = fixed || degrees[i]->count > 0;
        degrees[i]->count = 0;
    }
    if (fixed && fits(&changed)) {
        append(out, "; free degrees (auto) fit");
    }
}

static lcp_status explain_memory(const lcp_problem *problem, const lcp_shortage *shortage, lcp_error *err)
{
    const lcp_device *device = &problem->cluster.groups[0].device;
    const lcp_layout *layout = &shortage->layout;
    line out = {.used = 0};
    suggest_options(&out, problem);
    double memory = memory_that_fits(problem, (double)shortage->missing_bytes);
    if (memory > 0) {
        append(&out, "; %.1f GiB more usable memory per device fits", memory / GIB);
    }
    double nodes = nodes_that_fit(problem);
    if (nodes > 0) {
        append(&out, "; %.0f times the nodes fit", nodes);
    }
    int64_t context = context_that_fits(problem);
    if (context > 0) {
        append(&out, "; sequences of at most %lld tokens fit", (long long)context);
    }
    return lcp_fail(err, LCP_INFEASIBLE, "memory",
                    "no plan fits into %.1f GiB per device (%s, usable ratio %.2f): the closest layout (dp %d, pp %d, "
                    "tp %d, ulysses %d, ring %d, ep %d, ZeRO %d) lacks %.2f GiB%s",
                    (double)device->memory_bytes / GIB, device->name, problem->cluster.groups[0].usable_memory_ratio,
                    layout->dp, layout->pp, layout->tp, layout->ulysses, layout->ring, layout->ep, layout->zero_stage,
                    (double)shortage->missing_bytes / GIB, out.used > 0 ? out.text : "; no single change tried helps");
}

static lcp_status explain_legality(const lcp_problem *problem, const lcp_shortage *shortage, lcp_error *err)
{
    const lcp_candidates *candidates = shortage->candidates;
    if (candidates->considered == 0) {
        return lcp_fail(err, LCP_INFEASIBLE, "degrees",
                        "the fixed degrees cannot be multiplied to the %lld devices of the cluster (dp x pp x tp x "
                        "ulysses x ring; tp within a node of %lld, pp at most %d layers, ep dividing tp x cp x dp)",
                        (long long)lcp_cluster_devices(&problem->cluster),
                        (long long)problem->cluster.groups[0].devices_per_node, problem->model.layer_count);
    }
    line out = {.used = 0};
    for (size_t i = 0; i < lcp_legality_rule_count; i++) {
        if (candidates->reason_count[i] > 0) {
            append(&out, "%s %lld break \"%s\" (%s)", out.used > 0 ? ";" : "", (long long)candidates->reason_count[i],
                   lcp_legality_rules[i].reason, lcp_legality_rules[i].help);
        }
    }
    return lcp_fail(err, LCP_INFEASIBLE, "degrees", "none of %lld layouts is legal:%s",
                    (long long)candidates->considered, out.text);
}

lcp_status lcp_explain_infeasible(const lcp_problem *problem, const lcp_shortage *shortage, lcp_error *err)
{
    return shortage->missing_bytes > 0 ? explain_memory(problem, shortage, err)
                                       : explain_legality(problem, shortage, err);
}
