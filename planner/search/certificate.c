#include "search/certificate.h"

#include "search/evaluation.h"
#include "search/legality.h"
#include "solver/lp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_reasons(const void *a, const void *b)
{
    return strcmp(((const lcp_reason_count *)a)->reason, ((const lcp_reason_count *)b)->reason);
}

static void add_reason(lcp_certificate *certificate, const char *reason, int64_t count)
{
    if (count > 0 && certificate->rejected_count < LCP_MAX_REASONS) {
        lcp_reason_count *row = &certificate->rejected[certificate->rejected_count++];
        snprintf(row->reason, sizeof row->reason, "%s", reason);
        row->count = count;
    }
}

void lcp_certificate_fill(lcp_certificate *out, const lcp_problem *problem, const lcp_search_totals *totals)
{
    const lcp_options *options = &problem->options;
    double seconds = totals->iteration_seconds;
    out->lower_bound_seconds = totals->lower_bound_seconds;
    out->gap_ratio = (seconds - out->lower_bound_seconds) / seconds;
    snprintf(out->stopped_by, sizeof out->stopped_by, "%s",
             totals->stopped_by != NULL             ? totals->stopped_by
             : out->gap_ratio <= options->gap_ratio ? "gap"
                                                    : "exhausted");
    snprintf(
        out->scope, sizeof out->scope,
        "every legal dp, pp, tp, ulysses, ring, ep and ZeRO stage on all %lld devices that the options allow; chunk "
        "budgets %s, "
        "each with the "
        "chunks that the cutting program makes for it%s; every contiguous split of layers over stages%s; every "
        "recompute policy the options allow, per stage, chunk and layer%s; order %s",
        (long long)lcp_cluster_devices(&problem->cluster),
        options->equal_chunks ? "that divide the sequences of a data-parallel rank"
                              : "1, 2, 4, ... (from 4 x pp in a pipeline) chunks per data-parallel rank, and budgets "
                                "refined around the best",
        options->slicing ? " (sequences are cut only when pp > 1)" : " (no sequence is cut)",
        options->equal_layers ? " with equal layers" : "", options->uniform_recompute ? " (one setting for all)" : "",
        lcp_chosen_schedule(options)->name);
    out->considered = totals->candidates->considered;
    out->solved = totals->solved;
    out->bounded = totals->bounded;
    for (size_t i = 0; i < lcp_legality_rule_count; i++) {
        add_reason(out, lcp_legality_rules[i].reason, totals->candidates->reason_count[i]);
    }
    add_reason(out, "memory", totals->candidates->reason_count[lcp_legality_rule_count]);
    add_reason(out, "memory_after_cut", totals->did_not_fit);
    qsort(out->rejected, (size_t)out->rejected_count, sizeof out->rejected[0], compare_reasons);
    snprintf(out->solver_version, sizeof out->solver_version, "%s", lcp_solver_version());
    out->lp_solves = totals->lp_solves;
    out->mip_nodes = totals->mip_nodes;
}
