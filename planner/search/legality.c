#include "search/legality.h"

#include "export/trainer.h"

static bool softmax(const lcp_attention *attention)
{
    return attention->kind == LCP_ATTENTION_GROUPED || attention->kind == LCP_ATTENTION_LATENT;
}

static bool every_class(const lcp_problem *problem, const lcp_layout *layout,
                        bool (*holds)(const lcp_layer_class *, const lcp_layout *))
{
    for (int32_t c = 0; c < problem->model.class_count; c++) {
        if (!holds(&problem->model.classes[c], layout)) {
            return false;
        }
    }
    return true;
}

static bool tensor_group_in_node(const lcp_problem *problem, const lcp_layout *layout)
{
    int64_t per_node = problem->cluster.groups[0].devices_per_node;
    return layout->tp <= per_node && per_node % layout->tp == 0;
}

static bool class_heads_divide(const lcp_layer_class *class, const lcp_layout *layout)
{
    int64_t ranks = (int64_t)layout->tp * layout->ulysses;
    return class->attention.kind == LCP_ATTENTION_NONE || class->attention.heads % ranks == 0;
}

static bool heads_divide(const lcp_problem *problem, const lcp_layout *layout)
{
    return every_class(problem, layout, class_heads_divide);
}

static bool divides_either_way(int64_t a, int64_t b)
{
    return a % b == 0 || b % a == 0;
}

/* Fewer KV heads than ranks are replicated, which needs a whole number of ranks per KV head. */
static bool class_kv_heads_divide(const lcp_layer_class *class, const lcp_layout *layout)
{
    int64_t kv_heads = class->attention.kv_heads;
    if (class->attention.kind != LCP_ATTENTION_GROUPED && class->attention.kind != LCP_ATTENTION_LINEAR) {
        return true;
    }
    return divides_either_way(kv_heads, layout->tp) &&
           divides_either_way(kv_heads, (int64_t)layout->tp * layout->ulysses);
}

static bool kv_heads_divide(const lcp_problem *problem, const lcp_layout *layout)
{
    return every_class(problem, layout, class_kv_heads_divide);
}

static bool class_ffn_divides(const lcp_layer_class *class, const lcp_layout *layout)
{
    switch (class->ffn.kind) {
    case LCP_FFN_PLAIN:
    case LCP_FFN_GATED:
        return class->ffn.size % layout->tp == 0;
    case LCP_FFN_MOE:
        return class->ffn.shared_experts == 0 || (class->ffn.shared_experts * class->ffn.shared_size) % layout->tp == 0;
    case LCP_FFN_NONE:
    case LCP_FFN_KIND_COUNT:
        break;
    }
    return true;
}

static bool ffn_divides(const lcp_problem *problem, const lcp_layout *layout)
{
    return every_class(problem, layout, class_ffn_divides);
}

static bool layers_fill_stages(const lcp_problem *problem, const lcp_layout *layout)
{
    return layout->pp <= problem->model.layer_count;
}

static bool class_experts_divide(const lcp_layer_class *class, const lcp_layout *layout)
{
    return class->ffn.kind != LCP_FFN_MOE || class->ffn.experts % layout->ep == 0;
}

static bool experts_divide(const lcp_problem *problem, const lcp_layout *layout)
{
    return every_class(problem, layout, class_experts_divide);
}

static bool expert_group_in_stage(const lcp_problem *problem, const lcp_layout *layout)
{
    (void)problem;
    int64_t ranks = (int64_t)layout->tp * layout->ulysses * layout->ring * layout->dp;
    return ranks % layout->ep == 0;
}

/* Attention sinks change the softmax denominator, which ring exchange would have to merge; heads can be exchanged. */
static bool ring_allowed(const lcp_problem *problem, const lcp_layout *layout)
{
    return layout->ring == 1 || !problem->model.attention_needs_all_keys;
}

static bool batch_fills_replicas(const lcp_problem *problem, const lcp_layout *layout)
{
    return layout->dp <= problem->workload.sequence_count;
}

static bool alignment_within_context(const lcp_problem *problem, const lcp_layout *layout)
{
    return lcp_slice_alignment(layout) <= problem->workload.max_length_tokens ||
           layout->tp * layout->ulysses * layout->ring == 1;
}

/* ZeRO 2 reduces gradients after every chunk, which pipelines that accumulate gradients do not do. */
static bool zero_allowed(const lcp_problem *problem, const lcp_layout *layout)
{
    (void)problem;
    return layout->zero_stage != 2 || layout->pp == 1;
}

static bool pipeline_has_softmax_or_state(const lcp_problem *problem, const lcp_layout *layout)
{
    /* A ring over layers without softmax attention has nothing to circulate. */
    if (layout->ring == 1) {
        return true;
    }
    for (int32_t c = 0; c < problem->model.class_count; c++) {
        if (softmax(&problem->model.classes[c].attention)) {
            return true;
        }
    }
    return false;
}

static bool trainer_allows(const lcp_problem *problem, const lcp_layout *layout)
{
    lcp_target target;
    lcp_setup run;
    if (problem->options.trainer[0] == '\0') {
        return true;
    }
    lcp_setup_of_layout(&run, problem, layout);
    return lcp_target_parse(&target, problem->options.trainer) && lcp_rule_broken(&target, &run, NULL) == NULL;
}

static bool chunks_can_be_equal(const lcp_problem *problem, const lcp_layout *layout)
{
    return !problem->options.equal_chunks || problem->workload.sequence_count % layout->dp == 0;
}

const lcp_legality_rule lcp_legality_rules[] = {
    {"nodes", "a tensor-parallel group stays inside a node and divides it", tensor_group_in_node},
    {"heads", "attention heads are a multiple of tp x ulysses", heads_divide},
    {"kv_heads", "kv heads divide or are divided by tp and by tp x ulysses", kv_heads_divide},
    {"ffn", "the ffn width is a multiple of tp", ffn_divides},
    {"layers", "at least one layer on every stage", layers_fill_stages},
    {"experts", "experts are a multiple of ep", experts_divide},
    {"expert_group", "ep divides tp x cp x dp", expert_group_in_stage},
    {"sinks", "attention sinks allow no ring", ring_allowed},
    {"ring", "a ring needs softmax attention", pipeline_has_softmax_or_state},
    {"batch", "at least one sequence for every data-parallel rank", batch_fills_replicas},
    {"alignment", "slice alignment is not longer than the longest sequence", alignment_within_context},
    {"zero", "ZeRO 2 needs pp = 1", zero_allowed},
    {"equal_chunks", "equal chunks need as many sequences on every data-parallel rank", chunks_can_be_equal},
    {"trainer", "the trainer that --for names can run the degrees", trainer_allows},
};
const size_t lcp_legality_rule_count = sizeof lcp_legality_rules / sizeof lcp_legality_rules[0];

int32_t lcp_legality_broken(const lcp_problem *problem, const lcp_layout *layout)
{
    for (size_t i = 0; i < lcp_legality_rule_count; i++) {
        if (!lcp_legality_rules[i].holds(problem, layout)) {
            return (int32_t)i;
        }
    }
    return -1;
}

int64_t lcp_slice_alignment(const lcp_layout *layout)
{
    int64_t tile = 128;
    int64_t ranks = (int64_t)layout->tp * layout->ulysses * layout->ring * (layout->ring > 1 ? 2 : 1);
    int64_t alignment = ranks;
    while (alignment % tile != 0) { /* least common multiple; tile is a power of two, so at most 7 doublings */
        alignment *= 2;
    }
    return alignment;
}
