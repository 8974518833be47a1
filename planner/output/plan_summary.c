#include "output/show_plan.h"

#include "output/plan_figures.h"
#include "output/units.h"

#include <inttypes.h>

static void show_layout(FILE *out, const lcp_layout *layout)
{
    fprintf(out, "dp %d, pp %d, tp %d, ulysses %d, ring %d, ep %d, ZeRO %d", layout->dp, layout->pp, layout->tp,
            layout->ulysses, layout->ring, layout->ep, layout->zero_stage);
    if (layout->ring > 1) {
        fprintf(out, " (ring by %s)", layout->ring_method == LCP_RING_P2P ? "sends" : "all-gather");
    }
}

static void show_chunks(FILE *out, const lcp_plan *plan, const lcp_plan_figures *figures)
{
    fprintf(out, "chunks       %d in all, ", plan->chunk_count);
    if (figures->least_chunks == figures->most_chunks) {
        fprintf(out, "%d per pipeline", figures->most_chunks);
    } else {
        fprintf(out, "%d to %d per pipeline", figures->least_chunks, figures->most_chunks);
    }
    fprintf(out,
            ", of %" PRId64 " to %" PRId64 " tokens; %" PRId64 " sequences sliced, %" PRId64 " packs, %" PRId64
            " mixed\n",
            figures->least_tokens, figures->most_tokens, figures->sliced_sequences, figures->packs, figures->hybrids);
}

static void show_memory(FILE *out, const lcp_plan_figures *figures)
{
    int64_t left = figures->device_bytes - figures->fullest_bytes;
    fprintf(out, "memory       at most %s of %s, reserve included, on stage %d; %s left\n",
            lcp_text_bytes((double)figures->fullest_bytes).text, lcp_text_bytes((double)figures->device_bytes).text,
            figures->fullest_stage, lcp_text_bytes((double)left).text);
}

void lcp_plan_summary(FILE *out, const lcp_plan *plan, const lcp_problem *problem)
{
    const lcp_prediction *predicted = &plan->predicted;
    const lcp_certificate *certificate = &plan->certificate;
    lcp_plan_figures figures = lcp_plan_figures_of(plan, problem);
    fprintf(out,
            "plan         %s on %s (%" PRId64 " devices), %" PRId64 " sequences, %s tokens, at most %" PRId64 " each\n",
            problem->model.name, problem->cluster.name, lcp_cluster_devices(&problem->cluster),
            problem->workload.sequence_count, lcp_text_count((double)problem->workload.total_tokens).text,
            problem->workload.max_length_tokens);
    fprintf(out, "parallelism  ");
    show_layout(out, &plan->layout);
    fprintf(out, "; %s\n", plan->schedule_name);
    show_chunks(out, plan, &figures);
    fprintf(out, "iteration    %s; no plan in scope is below %s (gap %.2f %%, stopped by %s)\n",
            lcp_text_seconds(predicted->iteration_seconds).text,
            lcp_text_seconds(certificate->lower_bound_seconds).text, 100 * certificate->gap_ratio,
            certificate->stopped_by);
    fprintf(out, "throughput   %.1f tokens/s per device, MFU %.2f %%\n", predicted->tokens_per_second_per_device,
            100 * predicted->mfu_ratio);
    fprintf(out, "bubble       %.2f %%; recompute in %.1f %% of the passes of a layer\n", 100 * predicted->bubble_ratio,
            100 * figures.recomputed_ratio);
    show_memory(out, &figures);
    for (int32_t i = 0; i < plan->alternative_count && i < 3; i++) {
        fprintf(out, "%s%s: ", i == 0 ? "runners-up   " : "             ",
                lcp_text_seconds(plan->alternatives[i].iteration_seconds).text);
        show_layout(out, &plan->alternatives[i].layout);
        fprintf(out, "\n");
    }
}

static void show_breakdown(FILE *out, const lcp_breakdown *breakdown, double iteration_seconds)
{
    fprintf(out, "\nwhere the iteration goes\n");
    for (size_t i = 0; i < LCP_BREAKDOWN_PARTS; i++) {
        double seconds = lcp_breakdown_value(breakdown, i);
        fprintf(out, "  %-12s%12s  %6.2f %%  %s\n", lcp_breakdown_parts[i].key, lcp_text_seconds(seconds).text,
                100 * seconds / iteration_seconds, lcp_breakdown_parts[i].help);
    }
}

static void show_search(FILE *out, const lcp_certificate *certificate)
{
    fprintf(out,
            "\nwhat was searched\n  layouts considered %" PRId64 "; candidates solved %" PRId64
            ", left out because their bound is no better %" PRId64 "\n",
            certificate->considered, certificate->solved, certificate->bounded);
    for (int32_t i = 0; i < certificate->rejected_count; i++) {
        fprintf(out, "  rejected by %-24s%" PRId64 "\n", certificate->rejected[i].reason,
                certificate->rejected[i].count);
    }
    fprintf(out, "  linear programs %" PRId64 ", branch-and-bound nodes %" PRId64 "\n  scope: %s\n",
            certificate->lp_solves, certificate->mip_nodes, certificate->scope);
}

static void show_winner(FILE *out, const lcp_plan *plan)
{
    fprintf(out, "\nwhy this one\n  its iteration of %s is within %.2f %% of the bound for the whole scope\n",
            lcp_text_seconds(plan->predicted.iteration_seconds).text, 100 * plan->certificate.gap_ratio);
    for (int32_t i = 0; i < plan->alternative_count; i++) {
        const lcp_alternative *other = &plan->alternatives[i];
        fprintf(out, "  ");
        show_layout(out, &other->layout);
        fprintf(out, ": %s, %s\n", lcp_text_seconds(other->iteration_seconds).text, other->reason);
    }
}

void lcp_plan_explanation(FILE *out, const lcp_plan *plan, const lcp_problem *problem)
{
    (void)problem;
    show_breakdown(out, &plan->predicted.breakdown, plan->predicted.iteration_seconds);
    show_search(out, &plan->certificate);
    show_winner(out, plan);
}

static json_t *layout_json(const lcp_layout *layout)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "dp", layout->dp, "pp", layout->pp, "vpp", layout->vpp,
                     "tp", layout->tp, "ulysses", layout->ulysses, "ring", layout->ring, "ep", layout->ep, "zero_stage",
                     layout->zero_stage);
}

static json_t *breakdown_json(const lcp_breakdown *breakdown)
{
    json_t *out = json_object();
    for (size_t i = 0; out != NULL && i < LCP_BREAKDOWN_PARTS; i++) {
        json_object_set_new(out, lcp_breakdown_parts[i].key, json_real(lcp_breakdown_value(breakdown, i)));
    }
    return out;
}

json_t *lcp_plan_summary_json(const lcp_plan *plan, const lcp_problem *problem)
{
    const lcp_prediction *predicted = &plan->predicted;
    lcp_plan_figures figures = lcp_plan_figures_of(plan, problem);
    json_t *out =
        json_pack("{s:s, s:s, s:I, s:o, s:s, s:i}", "model", problem->model.name, "cluster", problem->cluster.name,
                  "devices", (json_int_t)lcp_cluster_devices(&problem->cluster), "parallelism",
                  layout_json(&plan->layout), "schedule", plan->schedule_name, "chunks", plan->chunk_count);
    json_t *figures_json = json_pack(
        "{s:f, s:f, s:f, s:s, s:f, s:f, s:f, s:I, s:I, s:o}", "iteration_seconds", predicted->iteration_seconds,
        "lower_bound_seconds", plan->certificate.lower_bound_seconds, "gap_ratio", plan->certificate.gap_ratio,
        "stopped_by", plan->certificate.stopped_by, "tokens_per_second_per_device",
        predicted->tokens_per_second_per_device, "mfu_ratio", predicted->mfu_ratio, "bubble_ratio",
        predicted->bubble_ratio, "peak_memory_bytes", (json_int_t)figures.fullest_bytes, "device_memory_bytes",
        (json_int_t)figures.device_bytes, "breakdown_seconds", breakdown_json(&predicted->breakdown));
    if (out == NULL || figures_json == NULL || json_object_update(out, figures_json) != 0) {
        json_decref(out);
        out = NULL;
    }
    json_decref(figures_json);
    return out;
}
