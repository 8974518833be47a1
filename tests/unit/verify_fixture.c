#include "verify_fixture.h"

#include "support.h"

#include "partition/partition.h"
#include "verify/verify.h"

#include <stdlib.h>
#include <string.h>

#define CLASSES 2
#define STAGES 2
#define COUNTS_PER_CHUNK (STAGES * CLASSES * LCP_RECOMPUTE_COUNT)

static void take_counts(int32_t *counts, const lcp_plan_chunk *chunk)
{
    for (int32_t i = 0; i < chunk->recompute_count; i++) {
        const lcp_chunk_recompute *entry = &chunk->recompute[i];
        counts[(entry->stage * CLASSES + entry->layer_class) * LCP_RECOMPUTE_COUNT + (int32_t)entry->policy] =
            entry->layers;
    }
}

/* The prediction of the fixture's plan, by the code the search uses. */
static void price(plan_fixture *f)
{
    lcp_plan *plan = &f->plan;
    const lcp_schedule_kind *kind = lcp_schedule_find(plan->schedule_name);
    lcp_chunk chunks[3];
    int32_t counts[3 * COUNTS_PER_CHUNK] = {0};
    int32_t *by_pipeline[2] = {counts, counts + 2 * COUNTS_PER_CHUNK};
    int32_t layers[STAGES];
    lcp_cost cost;
    lcp_pipeline_tables tables[2];
    lcp_error err = {0};
    for (int32_t k = 0; k < 3; k++) {
        chunks[k] = plan->chunks[k].chunk;
        take_counts(&counts[k * COUNTS_PER_CHUNK], &plan->chunks[k]);
    }
    for (int32_t s = 0; s < STAGES; s++) {
        layers[s] = plan->stages[s].layer_count;
    }
    lcp_partition decisions = {
        .stage_count = STAGES, .stage_layers = layers, .recompute_counts = by_pipeline, .pipeline_count = 2};
    assert_int_equal(lcp_cost_prepare(&cost, &f->problem.model, &f->problem.cluster, &plan->layout,
                                      &f->problem.options.training, &err),
                     LCP_OK);
    assert_int_equal(lcp_pipeline_tables_build(&tables[0], &cost, chunks, 2, kind, &err), LCP_OK);
    assert_int_equal(lcp_pipeline_tables_build(&tables[1], &cost, chunks + 2, 1, kind, &err), LCP_OK);
    free(plan->predicted.stages);
    assert_int_equal(lcp_evaluate(&plan->predicted, &cost, 2, tables, &decisions, &f->problem.workload, &err), LCP_OK);
    lcp_pipeline_tables_dispose(&tables[0]);
    lcp_pipeline_tables_dispose(&tables[1]);
}

void verify_fixture(plan_fixture *f)
{
    fixture_plan(f);
    price(f);
    f->plan.certificate.lower_bound_seconds = 0.75 * f->plan.predicted.iteration_seconds;
    f->plan.certificate.gap_ratio = 0.25;
}

/* Name of the first rule that does not hold. */
static const char *broken_rule(const plan_fixture *f)
{
    for (size_t i = 0; i < lcp_verify_rule_count; i++) {
        lcp_error err = {0};
        if (lcp_verify_rules[i].check(&f->plan, &f->problem, &err) != LCP_OK) {
            return lcp_verify_rules[i].name;
        }
    }
    return "none";
}

/* What disposal goes by is put back before it. */
static void apply_and_verify(const damage *d)
{
    plan_fixture f;
    lcp_error err = {0};
    verify_fixture(&f);
    d->apply(&f);
    assert_string_equal(broken_rule(&f), d->rule);
    assert_int_equal(lcp_verify(&f.plan, &f.problem, &err), LCP_FALSE);
    if (d->where[0] != '\0') {
        assert_string_equal(err.where, d->where);
    }
    assert_true(strlen(err.text) > 0);
    f.plan.layout.dp = 2;
    f.plan.pipelines[1].rank_count = 2;
    fixture_plan_dispose(&f);
}

void assert_found(const damage *damages, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        print_message("%zu: %s %s\n", i, damages[i].rule, damages[i].where);
        apply_and_verify(&damages[i]);
    }
}
