/* Hydra overrides of verl's actor: its FSDP engine with Ulysses where that says the plan, else its Megatron engine. */
#include "export/megatron.h"

#include <stdlib.h>

#define ACTOR "actor_rollout_ref.actor."
#define MEGATRON ACTOR "megatron."
#define TRANSFORMER "+" MEGATRON "override_transformer_config."

static const char *const versions[] = {"0.7", NULL};

static const lcp_trainer_rule rules[] = {
    LCP_MEGATRON_RULES("0.7", "0.7"),
    LCP_RULE("Z1", NULL, NULL, LCP_SETUP_ZERO, lcp_rule_fsdp_or_one,
             "ZeRO 0 or 1, or ZeRO 3 with pp, tp, ring and ep of 1 (FSDP engine)"),
    LCP_RULES_END,
};

static void put_fsdp(lcp_text *out, const lcp_export *from)
{
    const lcp_layout *l = &from->plan->layout;
    lcp_text_put(out, ACTOR "strategy=fsdp2\n");
    lcp_text_put(out, ACTOR "ulysses_sequence_parallel_size=%d\n", l->ulysses);
    lcp_text_put(out, ACTOR "fsdp_config.fsdp_size=%d\n", l->dp * l->ulysses);
    lcp_text_put(out, "actor_rollout_ref.model.use_remove_padding=True\n");
    lcp_text_put(out, "actor_rollout_ref.model.enable_gradient_checkpointing=%s\n",
                 from->recompute.policy == LCP_RECOMPUTE_NONE ? "False" : "True");
}

static void put_recompute(lcp_text *out, const lcp_megatron *m)
{
    if (m->granularity == NULL) {
        return;
    }
    lcp_text_put(out, TRANSFORMER "recompute_granularity=%s\n", m->granularity);
    lcp_text_put(out, TRANSFORMER "recompute_method=%s\n" TRANSFORMER "recompute_num_layers=%d\n", m->method,
                 m->recompute_layers);
}

static void put_megatron(lcp_text *out, const lcp_export *from, const lcp_megatron *m)
{
    const lcp_layout *l = &from->plan->layout;
    lcp_text_put(out, ACTOR "strategy=megatron\n" MEGATRON "tensor_model_parallel_size=%d\n", l->tp);
    lcp_text_put(out, MEGATRON "sequence_parallel=%s\n", l->tp > 1 ? "True" : "False");
    lcp_text_put(out, MEGATRON "pipeline_model_parallel_size=%d\n", l->pp);
    if (l->vpp > 1) {
        lcp_text_put(out, MEGATRON "virtual_pipeline_model_parallel_size=%d\n", l->vpp);
    }
    if (m->needs_layout) {
        lcp_text_put(out, TRANSFORMER "pipeline_model_parallel_layout='");
        lcp_megatron_layout(out, from);
        lcp_text_put(out, "'\n");
    }
    lcp_text_put(out, MEGATRON "context_parallel_size=%d\n", m->context);
    if (m->comm != NULL) {
        lcp_text_put(out, TRANSFORMER "cp_comm_type='%s'\n", m->comm);
    }
    if (m->two_levels) {
        lcp_text_put(out, TRANSFORMER "hierarchical_context_parallel_sizes=[%d,%d]\n", l->ulysses, l->ring);
    }
    if (m->experts) {
        lcp_text_put(out, MEGATRON "expert_model_parallel_size=%d\n" MEGATRON "expert_tensor_parallel_size=1\n", l->ep);
    }
    lcp_text_put(out, MEGATRON "use_distributed_optimizer=%s\n", l->zero_stage >= 1 ? "True" : "False");
    put_recompute(out, m);
}

static void write(lcp_text *out, const lcp_export *from)
{
    lcp_megatron m;
    lcp_megatron_of(&m, from);
    if (lcp_runs_on_fsdp(&from->run)) {
        put_fsdp(out, from);
    } else {
        put_megatron(out, from, &m);
    }
    lcp_text_put(out, ACTOR "use_dynamic_bsz=False\n");
    lcp_text_put(out, ACTOR "ppo_mini_batch_size=%lld\n", (long long)m.global_batch);
    lcp_text_put(out, ACTOR "ppo_micro_batch_size_per_gpu=%lld\n", (long long)m.micro_batch);
    lcp_text_put(out, "trainer.nnodes=%lld\ntrainer.n_gpus_per_node=%lld\n",
                 (long long)from->problem->cluster.groups[0].nodes,
                 (long long)from->problem->cluster.groups[0].devices_per_node);
}

const lcp_trainer lcp_trainer_verl = {
    .name = "verl",
    .help = "verl, the actor's engine",
    .versions = versions,
    .writes = "Hydra overrides, one a line",
    .expresses = LCP_HAS(LCP_FEATURE_SPLIT) | LCP_HAS(LCP_FEATURE_INTERLEAVING) | LCP_HAS(LCP_FEATURE_FULL_RECOMPUTE),
    .zero_stage = -1,
    .rules = rules,
    .write = write,
};
