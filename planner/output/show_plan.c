#include "output/show_plan.h"

#include "output/plan_figures.h"
#include "output/units.h"

#include <inttypes.h>
#include <stdlib.h>

static void show_stages(FILE *out, const lcp_plan *plan)
{
    fprintf(out, "\nstages\n  stage    pp       layers  ends            busy          peak\n");
    for (int32_t s = 0; s < plan->stage_count; s++) {
        const lcp_stage *stage = &plan->stages[s];
        char layers[32];
        if (stage->layer_count > 0) {
            snprintf(layers, sizeof layers, "%d to %d", stage->first_layer,
                     stage->first_layer + stage->layer_count - 1);
        } else {
            snprintf(layers, sizeof layers, "none");
        }
        const char *ends = stage->embedding && stage->head ? "both"
                           : stage->embedding              ? "embedding"
                           : stage->head                   ? "head"
                                                           : "";
        fprintf(out, "  %5d %5d %12s  %-10s%10s  %12s\n", s, stage->pp, layers, ends,
                lcp_text_seconds(plan->predicted.stages[s].busy_seconds).text,
                lcp_text_bytes((double)plan->predicted.stages[s].peak_memory_bytes).text);
    }
}

/* Columns of the memory table, in the order of lcp_memory_terms. */
static const char *const term_names[] = {"parameters", "gradients", "optimizer", "activations", "kv",
                                         "logits",     "buffers",   "versions",  "reserve"};
#define TERM_COUNT (sizeof term_names / sizeof term_names[0])

static void list_terms(int64_t terms[TERM_COUNT], const lcp_memory_terms *memory)
{
    const int64_t values[TERM_COUNT] = {memory->parameters,  memory->gradients, memory->optimizer,
                                        memory->activations, memory->kv,        memory->logits,
                                        memory->buffers,     memory->versions,  memory->reserve};
    for (size_t t = 0; t < TERM_COUNT; t++) {
        terms[t] = values[t];
    }
}

/* Terms that no stage has are left out. */
static void show_memory(FILE *out, const lcp_plan *plan)
{
    bool used[TERM_COUNT] = {false};
    int64_t terms[TERM_COUNT];
    for (int32_t s = 0; s < plan->stage_count; s++) {
        list_terms(terms, &plan->predicted.stages[s].memory);
        for (size_t t = 0; t < TERM_COUNT; t++) {
            used[t] = used[t] || terms[t] > 0;
        }
    }
    fprintf(out, "\nmemory at the peak of each stage, per device\n  stage");
    for (size_t t = 0; t < TERM_COUNT; t++) {
        if (used[t]) {
            fprintf(out, "  %12s", term_names[t]);
        }
    }
    fprintf(out, "\n");
    for (int32_t s = 0; s < plan->stage_count; s++) {
        list_terms(terms, &plan->predicted.stages[s].memory);
        fprintf(out, "  %5d", s);
        for (size_t t = 0; t < TERM_COUNT; t++) {
            if (used[t]) {
                fprintf(out, "  %12s", lcp_text_bytes((double)terms[t]).text);
            }
        }
        fprintf(out, "\n");
    }
}

static int compare_tokens(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static lcp_status show_chunks(FILE *out, const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    lcp_plan_figures figures = lcp_plan_figures_of(plan, problem);
    size_t count = (size_t)plan->chunk_count;
    if (count == 0) {
        return LCP_OK;
    }
    int64_t *tokens = malloc(count * sizeof *tokens);
    if (tokens == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "no memory to sort %zu chunks", count);
    }
    for (size_t i = 0; i < count; i++) {
        tokens[i] = lcp_chunk_tokens(&plan->chunks[i].chunk);
    }
    qsort(tokens, count, sizeof *tokens, compare_tokens);
    fprintf(out,
            "\nchunks\n  tokens: least %" PRId64 ", median %" PRId64 ", most %" PRId64
            "\n  at most %d segments in a chunk; %" PRId64 " sequences cut into slices; %" PRId64
            " chunks of several whole sequences, %" PRId64 " of a slice and whole sequences\n",
            tokens[0], tokens[count / 2], tokens[count - 1], figures.most_segments, figures.sliced_sequences,
            figures.packs, figures.hybrids);
    free(tokens);
    return LCP_OK;
}

/* Layers of a stage times chunks that use each policy. */
static void count_policies(int64_t counts[LCP_RECOMPUTE_COUNT], const lcp_plan *plan, int32_t stage)
{
    int64_t all = (int64_t)plan->chunk_count * plan->stages[stage].layer_count;
    for (int32_t i = 0; i < plan->chunk_count; i++) {
        for (int32_t j = 0; j < plan->chunks[i].recompute_count; j++) {
            const lcp_chunk_recompute *entry = &plan->chunks[i].recompute[j];
            if (entry->stage == stage && entry->policy != LCP_RECOMPUTE_NONE) {
                counts[entry->policy] += entry->layers;
                all -= entry->layers;
            }
        }
    }
    counts[LCP_RECOMPUTE_NONE] = all;
}

static void show_recompute(FILE *out, const lcp_plan *plan)
{
    fprintf(out, "\nrecompute, in layers times chunks\n  stage");
    for (int32_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
        fprintf(out, "  %16s", lcp_recompute_rows[q].name);
    }
    fprintf(out, "\n");
    for (int32_t s = 0; s < plan->stage_count; s++) {
        int64_t counts[LCP_RECOMPUTE_COUNT] = {0};
        count_policies(counts, plan, s);
        fprintf(out, "  %5d", s);
        for (int32_t q = 0; q < LCP_RECOMPUTE_COUNT; q++) {
            fprintf(out, "  %16" PRId64, counts[q]);
        }
        fprintf(out, "\n");
    }
}

lcp_status lcp_show_plan(FILE *out, const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    lcp_plan_summary(out, plan, problem);
    show_stages(out, plan);
    show_memory(out, plan);
    lcp_status status = show_chunks(out, plan, problem, err);
    show_recompute(out, plan);
    lcp_plan_explanation(out, plan, problem);
    return status;
}
