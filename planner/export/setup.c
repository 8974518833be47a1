#include "export/setup.h"

static bool lengths_are_equal(const lcp_workload *workload)
{
    for (int64_t i = 1; i < workload->sequence_count; i++) {
        if (workload->lengths_tokens[i] != workload->lengths_tokens[0]) {
            return false;
        }
    }
    return true;
}

static int64_t longest(const lcp_workload *workload)
{
    int64_t most = 0;
    for (int64_t i = 0; i < workload->sequence_count; i++) {
        most = workload->lengths_tokens[i] > most ? workload->lengths_tokens[i] : most;
    }
    return most;
}

void lcp_setup_of_layout(lcp_setup *out, const lcp_problem *problem, const lcp_layout *layout)
{
    *out = (lcp_setup){
        .model = &problem->model,
        .layout = *layout,
        .devices = lcp_cluster_devices(&problem->cluster),
        .sequence_tokens = longest(&problem->workload),
        .equal_lengths = lengths_are_equal(&problem->workload),
        .sequences = problem->workload.sequence_count,
    };
}

void lcp_setup_of_plan(lcp_setup *out, const lcp_plan *plan, const lcp_problem *problem)
{
    lcp_setup_of_layout(out, problem, &plan->layout);
    out->stage_count = plan->stage_count < LCP_MAX_LAYERS ? plan->stage_count : LCP_MAX_LAYERS;
    for (int32_t s = 0; s < out->stage_count; s++) {
        out->stage_layers[s] = plan->stages[s].layer_count;
    }
    out->microbatches = plan->pipelines[0].chunk_count;
    for (int32_t d = 1; d < plan->layout.dp; d++) {
        out->microbatches = plan->pipelines[d].chunk_count == out->microbatches ? out->microbatches : 0;
    }
    out->micro_sequences = plan->chunks[0].chunk.segment_count;
    for (int32_t k = 1; k < plan->chunk_count; k++) {
        int32_t segments = plan->chunks[k].chunk.segment_count;
        out->micro_sequences = segments == out->micro_sequences ? out->micro_sequences : 0;
    }
}

typedef struct field_row {
    const char *option, *path;
    bool number;
} field_row;

static const field_row rows[LCP_SETUP_FIELD_COUNT] = {
    [LCP_SETUP_DP] = {"--dp", "$.parallelism.dp", true},
    [LCP_SETUP_PP] = {"--pp", "$.parallelism.pp", true},
    [LCP_SETUP_VPP] = {"--vpp", "$.parallelism.vpp", true},
    [LCP_SETUP_TP] = {"--tp", "$.parallelism.tp", true},
    [LCP_SETUP_ULYSSES] = {"--ulysses", "$.parallelism.ulysses", true},
    [LCP_SETUP_RING] = {"--ring", "$.parallelism.ring", true},
    [LCP_SETUP_EP] = {"--ep", "$.parallelism.ep", true},
    [LCP_SETUP_ZERO] = {"--zero", "$.parallelism.zero_stage", true},
    [LCP_SETUP_DEVICES] = {"the cluster's devices", "$.ranks", true},
    [LCP_SETUP_SEQUENCE] = {"--sequence-length", "$.sequences", true},
    [LCP_SETUP_SEQUENCES] = {"--global-batch", "$.sequences", true},
    [LCP_SETUP_MICROBATCHES] = {"micro-batches of a replica", "$.chunks", true},
    [LCP_SETUP_LAYERS] = {"--stage-layers", "$.stages", false},
};

const char *lcp_setup_field_option(lcp_setup_field field)
{
    return rows[field].option;
}

const char *lcp_setup_field_path(lcp_setup_field field)
{
    return rows[field].path;
}

bool lcp_setup_field_is_number(lcp_setup_field field)
{
    return rows[field].number;
}

static int32_t *degree(lcp_setup *run, lcp_setup_field field)
{
    lcp_layout *l = &run->layout;
    int32_t *const degrees[LCP_SETUP_FIELD_COUNT] = {
        [LCP_SETUP_DP] = &l->dp,           [LCP_SETUP_PP] = &l->pp,           [LCP_SETUP_VPP] = &l->vpp,
        [LCP_SETUP_TP] = &l->tp,           [LCP_SETUP_RING] = &l->ring,       [LCP_SETUP_EP] = &l->ep,
        [LCP_SETUP_ULYSSES] = &l->ulysses, [LCP_SETUP_ZERO] = &l->zero_stage,
    };
    return degrees[field];
}

static int64_t *count(lcp_setup *run, lcp_setup_field field)
{
    int64_t *const counts[LCP_SETUP_FIELD_COUNT] = {
        [LCP_SETUP_DEVICES] = &run->devices,
        [LCP_SETUP_SEQUENCE] = &run->sequence_tokens,
        [LCP_SETUP_SEQUENCES] = &run->sequences,
        [LCP_SETUP_MICROBATCHES] = &run->microbatches,
    };
    return counts[field];
}

int64_t lcp_setup_get(const lcp_setup *run, lcp_setup_field field)
{
    lcp_setup copy = *run;
    const int32_t *d = degree(&copy, field);
    const int64_t *c = count(&copy, field);
    return d != NULL ? *d : c != NULL ? *c : 0;
}

void lcp_setup_set(lcp_setup *run, lcp_setup_field field, int64_t value)
{
    int32_t *d = degree(run, field);
    int64_t *c = count(run, field);
    if (d != NULL) {
        *d = (int32_t)value;
    } else if (c != NULL) {
        *c = value;
    }
    run->layout.sequence_parallel = run->layout.tp > 1;
}
