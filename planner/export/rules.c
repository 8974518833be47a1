#include "export/rules.h"

static int64_t context(const lcp_setup *run)
{
    return (int64_t)run->layout.ulysses * run->layout.ring;
}

static bool every_class(const lcp_setup *run, bool (*holds)(const lcp_layer_class *, const lcp_setup *))
{
    for (int32_t c = 0; c < run->model->class_count; c++) {
        if (!holds(&run->model->classes[c], run)) {
            return false;
        }
    }
    return true;
}

/* A rule of the run that is a rule of each layer class. */
#define EVERY_CLASS(name, condition)                                                                                   \
    static bool class_##name(const lcp_layer_class *class, const lcp_setup *run)                                       \
    {                                                                                                                  \
        const lcp_attention *a = &class->attention;                                                                    \
        const lcp_layout *l = &run->layout;                                                                            \
        (void)a, (void)l;                                                                                              \
        return condition;                                                                                              \
    }                                                                                                                  \
    bool lcp_rule_##name(const lcp_setup *run)                                                                         \
    {                                                                                                                  \
        return every_class(run, class_##name);                                                                         \
    }

static bool softmax(const lcp_attention *a)
{
    return a->kind == LCP_ATTENTION_GROUPED || a->kind == LCP_ATTENTION_LATENT;
}

static bool either(int64_t a, int64_t b)
{
    return a % b == 0 || b % a == 0;
}

bool lcp_rule_world(const lcp_setup *run)
{
    const lcp_layout *l = &run->layout;
    return run->devices == 0 || run->devices == (int64_t)l->dp * l->pp * l->tp * context(run);
}

bool lcp_rule_expert_world(const lcp_setup *run)
{
    return (int64_t)run->layout.dp * run->layout.tp * context(run) % run->layout.ep == 0;
}

EVERY_CLASS(heads_tp, a->kind == LCP_ATTENTION_NONE || a->heads % l->tp == 0)
EVERY_CLASS(kv_tp_strict, a->kind != LCP_ATTENTION_GROUPED || a->kv_heads % l->tp == 0)
EVERY_CLASS(kv_tp_either, a->kind != LCP_ATTENTION_GROUPED || either(a->kv_heads, l->tp))
EVERY_CLASS(kv_tp_most, a->kind != LCP_ATTENTION_GROUPED || l->tp <= a->kv_heads)
EVERY_CLASS(heads_a2a, !softmax(a) || l->ulysses == 1 ||
                           (a->heads % ((int64_t)l->tp * l->ulysses) == 0 &&
                            (a->kind == LCP_ATTENTION_LATENT || a->kv_heads % ((int64_t)l->tp * l->ulysses) == 0)))
EVERY_CLASS(heads_ulysses, !softmax(a) || (a->heads % l->ulysses == 0 &&
                                           (a->kind == LCP_ATTENTION_LATENT || either(a->kv_heads, l->ulysses))))
EVERY_CLASS(state_heads, a->kind != LCP_ATTENTION_STATE_SPACE || context(run) == 1 ||
                             (a->heads % (l->tp * context(run)) == 0 && a->groups % l->tp == 0 &&
                              either(a->groups / l->tp, context(run))))
EVERY_CLASS(linear_heads, a->kind != LCP_ATTENTION_LINEAR ||
                              (a->heads % (l->tp * context(run)) == 0 && a->kv_heads % (l->tp * context(run)) == 0))
EVERY_CLASS(window_ring,
            a->window_tokens == 0 || l->ring == 1 || (l->ring_method == LCP_RING_ALL_GATHER && l->ulysses == 1))

/* Sequences of unequal length are padded one by one where they are packed: nothing has to divide them. */
static int64_t tokens(const lcp_setup *run)
{
    return run->equal_lengths ? run->sequence_tokens : 0;
}

bool lcp_rule_sequence_halves(const lcp_setup *run)
{
    return context(run) == 1 || tokens(run) % (2 * context(run)) == 0;
}

bool lcp_rule_sequence_ring(const lcp_setup *run)
{
    return run->layout.ring == 1 || tokens(run) % (2 * (int64_t)run->layout.ring) == 0;
}

bool lcp_rule_sequence_ulysses(const lcp_setup *run)
{
    return tokens(run) % run->layout.ulysses == 0;
}

/* Each rank's share is sharded over the tensor group once more. */
bool lcp_rule_sequence_shards(const lcp_setup *run)
{
    return tokens(run) % (context(run) * run->layout.tp) == 0;
}

bool lcp_rule_sequence_all(const lcp_setup *run)
{
    int64_t parts = run->layout.tp * (context(run) > 1 ? 2 * context(run) : 1);
    return tokens(run) % parts == 0;
}

bool lcp_rule_positions(const lcp_setup *run)
{
    return !run->model->learned_positions || run->sequence_tokens <= run->model->max_position_tokens;
}

static int64_t stages_of(const lcp_setup *run)
{
    return (int64_t)run->layout.pp * run->layout.vpp;
}

bool lcp_rule_split_equal(const lcp_setup *run)
{
    for (int32_t s = 1; s < run->stage_count; s++) {
        if (run->stage_layers[s] != run->stage_layers[0]) {
            return false;
        }
    }
    return run->stage_count > 0 || run->model->layer_count % stages_of(run) == 0;
}

/* The first and the last stage may differ, the others are equal. */
bool lcp_rule_split_ends(const lcp_setup *run)
{
    for (int32_t s = 2; s < run->stage_count - 1; s++) {
        if (run->stage_layers[s] != run->stage_layers[1]) {
            return false;
        }
    }
    if (run->layout.vpp > 1) {
        return lcp_rule_split_equal(run);
    }
    return run->stage_count > 0 || run->model->layer_count % stages_of(run) == 0;
}

bool lcp_rule_split_sum(const lcp_setup *run)
{
    int64_t sum = 0;
    for (int32_t s = 0; s < run->stage_count; s++) {
        sum += run->stage_layers[s];
    }
    return run->stage_count == 0 || (sum == run->model->layer_count && run->stage_count == stages_of(run));
}

bool lcp_rule_interleaving(const lcp_setup *run)
{
    return run->layout.vpp == 1 || run->layout.pp > 1;
}

bool lcp_rule_stages_most(const lcp_setup *run)
{
    return stages_of(run) <= (int64_t)run->model->layer_count + 2;
}

bool lcp_rule_untied(const lcp_setup *run)
{
    return !run->model->tied_embeddings || run->layout.pp == 1;
}

bool lcp_rule_no_mtp(const lcp_setup *run)
{
    return run->model->mtp_count == 0 || (run->layout.pp == 1 && context(run) == 1);
}

bool lcp_rule_batch_dp(const lcp_setup *run)
{
    return !run->equal_lengths || run->sequences % run->layout.dp == 0;
}

bool lcp_rule_batch_micro(const lcp_setup *run)
{
    bool known = run->equal_lengths && run->sequences > 0 && run->micro_sequences > 0;
    return !known || run->sequences % (run->micro_sequences * run->layout.dp) == 0;
}

static bool interleaved(const lcp_setup *run)
{
    return run->layout.vpp > 1 && run->microbatches > 0;
}

bool lcp_rule_interleaved_multiple(const lcp_setup *run)
{
    return !interleaved(run) || run->microbatches % run->layout.pp == 0;
}

bool lcp_rule_interleaved_rounds(const lcp_setup *run)
{
    int64_t rounds = run->microbatches / run->layout.pp;
    return !interleaved(run) || run->microbatches % (rounds > 1 ? rounds : 1) == 0;
}

bool lcp_rule_fills_but_one(const lcp_setup *run)
{
    return run->microbatches == 0 || run->microbatches >= run->layout.pp - 1;
}

bool lcp_rule_fills(const lcp_setup *run)
{
    return run->microbatches == 0 || run->microbatches >= stages_of(run);
}

static bool class_has_experts(const lcp_layer_class *class)
{
    return class->ffn.kind == LCP_FFN_MOE;
}

EVERY_CLASS(experts_divide, !class_has_experts(class) || class->ffn.experts % l->ep == 0)

bool lcp_rule_has_experts(const lcp_setup *run)
{
    for (int32_t c = 0; c < run->model->class_count; c++) {
        if (class_has_experts(&run->model->classes[c])) {
            return true;
        }
    }
    return run->layout.ep == 1;
}

bool lcp_rule_sinks_ring(const lcp_setup *run)
{
    return !run->model->attention_needs_all_keys || run->layout.ring == 1;
}

bool lcp_rule_two_levels(const lcp_setup *run)
{
    bool both = run->layout.ulysses > 1 && run->layout.ring > 1;
    return !both || run->layout.ring_method == LCP_RING_P2P;
}

bool lcp_rule_zero_pipeline(const lcp_setup *run)
{
    return run->layout.zero_stage < 2 || run->layout.pp == 1;
}

bool lcp_rule_zero_two_pipeline(const lcp_setup *run)
{
    return run->layout.zero_stage != 2 || run->layout.pp == 1;
}

/* With one replica nothing is sharded, whatever the stage. */
static bool one_shard(const lcp_setup *run)
{
    return run->layout.dp * context(run) == 1;
}

bool lcp_rule_zero_at_most_one(const lcp_setup *run)
{
    return run->layout.zero_stage < 2 || one_shard(run);
}

bool lcp_rule_zero_fsdp(const lcp_setup *run)
{
    const lcp_layout *l = &run->layout;
    return l->zero_stage >= 2 || one_shard(run) || (l->zero_stage == 0 && context(run) == 1);
}

bool lcp_rule_zero_none(const lcp_setup *run)
{
    return run->layout.zero_stage == 0 || one_shard(run);
}

bool lcp_runs_on_fsdp(const lcp_setup *run)
{
    const lcp_layout *l = &run->layout;
    return l->zero_stage == 3 && l->pp == 1 && l->tp == 1 && l->ring == 1 && l->ep == 1;
}

bool lcp_rule_fsdp_or_one(const lcp_setup *run)
{
    return lcp_runs_on_fsdp(run) || lcp_rule_zero_at_most_one(run);
}

bool lcp_rule_no_pp(const lcp_setup *run)
{
    return run->layout.pp == 1;
}

bool lcp_rule_no_vpp(const lcp_setup *run)
{
    return run->layout.vpp == 1;
}

bool lcp_rule_no_tp(const lcp_setup *run)
{
    return run->layout.tp == 1;
}

bool lcp_rule_no_ulysses(const lcp_setup *run)
{
    return run->layout.ulysses == 1;
}

bool lcp_rule_no_ring(const lcp_setup *run)
{
    return run->layout.ring == 1;
}

bool lcp_rule_no_ep(const lcp_setup *run)
{
    return run->layout.ep == 1;
}

bool lcp_rule_ring_gathers(const lcp_setup *run)
{
    return run->layout.ring == 1 || run->layout.ring_method == LCP_RING_ALL_GATHER;
}

bool lcp_rule_ring_sends(const lcp_setup *run)
{
    return run->layout.ring == 1 || run->layout.ring_method == LCP_RING_P2P;
}
