/* torchtitan: the TOML of 0.2 and the Python configuration of 0.3. */
#include "export/rules.h"

#include <string.h>

static const char *const versions[] = {"0.2", "0.3", NULL};

static const lcp_trainer_rule rules[] = {
    LCP_RULE("W3", NULL, NULL, LCP_SETUP_DEVICES, lcp_rule_world, "tp x cp x pp x dp is the number of devices"),
    LCP_RULE("W4", NULL, NULL, LCP_SETUP_EP, lcp_rule_expert_world, "ep divides tp x cp x dp"),
    LCP_RULE("H1", NULL, NULL, LCP_SETUP_TP, lcp_rule_heads_tp, "tp divides the attention heads"),
    LCP_RULE("H2", NULL, NULL, LCP_SETUP_TP, lcp_rule_kv_tp_strict, "tp divides the kv heads"),
    LCP_RULE("S7", NULL, NULL, LCP_SETUP_SEQUENCE, lcp_rule_sequence_all, "tp x 2 x cp divides the sequence length"),
    LCP_RULE("S6", NULL, NULL, LCP_SETUP_SEQUENCE, lcp_rule_positions,
             "no sequence is longer than the learned positions"),
    LCP_RULE("P8", NULL, NULL, LCP_SETUP_LAYERS, lcp_rule_split_sum, "the stages' layers add up to the model's"),
    LCP_RULE("P9", NULL, NULL, LCP_SETUP_PP, lcp_rule_stages_most, "pp x vpp is at most the layers and the two ends"),
    LCP_RULE("P10", NULL, NULL, LCP_SETUP_PP, lcp_rule_untied, "tied embeddings take no pipeline"),
    LCP_RULE("P11", "0.3", NULL, LCP_SETUP_PP, lcp_rule_no_mtp,
             "multi-token prediction takes no pipeline and no context degree"),
    LCP_RULE("M1", NULL, NULL, LCP_SETUP_SEQUENCES, lcp_rule_batch_dp, "dp divides the global batch"),
    LCP_RULE("M1b", NULL, NULL, LCP_SETUP_SEQUENCES, lcp_rule_batch_micro, "dp x micro-batch divides the global batch"),
    LCP_RULE("M3", NULL, NULL, LCP_SETUP_MICROBATCHES, lcp_rule_interleaved_rounds,
             "with vpp > 1, max(1, micro-batches / pp) divides the micro-batches of a replica"),
    LCP_RULE("M4", NULL, NULL, LCP_SETUP_MICROBATCHES, lcp_rule_fills,
             "a replica runs at least one micro-batch for each stage"),
    LCP_RULE("E1", NULL, NULL, LCP_SETUP_EP, lcp_rule_experts_divide, "ep divides the experts"),
    LCP_RULE("E2", NULL, NULL, LCP_SETUP_EP, lcp_rule_has_experts, "ep > 1 needs experts"),
    LCP_RULE("Z1", NULL, NULL, LCP_SETUP_ZERO, lcp_rule_zero_fsdp,
             "ZeRO 2 or 3 (FSDP), or replicas (ZeRO 0) without context degree"),
    LCP_RULE("Z2", NULL, NULL, LCP_SETUP_ZERO, lcp_rule_zero_two_pipeline, "ZeRO 2 needs pp = 1"),
    LCP_RULE("D3", NULL, NULL, LCP_SETUP_ULYSSES, lcp_rule_no_ulysses, "no Ulysses"),
    LCP_RULE("D8", "0.3", NULL, LCP_SETUP_RING, lcp_rule_ring_gathers, "the ring is by all-gather"),
    LCP_RULES_END,
};

/* The same keys with the same values in both; only how a section opens and a line ends differs. */
typedef struct form {
    lcp_text *out;
    bool toml;
} form;

static void open_section(form *f, const char *toml, const char *python)
{
    lcp_text_put(f->out, f->toml ? "[%s]\n" : "%s(\n", f->toml ? toml : python);
}

static void close_section(form *f)
{
    lcp_text_put(f->out, f->toml ? "\n" : ")\n");
}

static void key(form *f, const char *name)
{
    lcp_text_put(f->out, f->toml ? "%s = " : "    %s=", name);
}

static void end(form *f)
{
    lcp_text_put(f->out, f->toml ? "\n" : ",\n");
}

static void number(form *f, const char *name, int64_t value)
{
    key(f, name);
    lcp_text_put(f->out, "%lld", (long long)value);
    end(f);
}

static void text(form *f, const char *name, const char *value)
{
    key(f, name);
    lcp_text_quoted(f->out, value);
    end(f);
}

static void put_modules(form *f, const lcp_export *from)
{
    key(f, "module_fqns_per_model_part");
    lcp_text_put(f->out, "[");
    for (int32_t s = 0; s < from->plan->stage_count; s++) {
        const lcp_stage *stage = &from->plan->stages[s];
        const char *comma = "";
        lcp_text_put(f->out, "%s[", s > 0 ? ", " : "");
        if (stage->embedding) {
            lcp_text_put(f->out, "\"tok_embeddings\"");
            comma = ", ";
        }
        for (int32_t l = 0; l < stage->layer_count; l++) {
            lcp_text_put(f->out, "%s\"layers.%d\"", comma, stage->first_layer + l);
            comma = ", ";
        }
        if (stage->head) {
            lcp_text_put(f->out, "%s\"norm\", \"%s\"", comma, f->toml ? "output" : "lm_head");
        }
        lcp_text_put(f->out, "]");
    }
    lcp_text_put(f->out, "]");
    end(f);
}

/* FSDP shards over dp x cp; ZeRO 0 replicates instead, and the context ranks are sharded by themselves. */
static void put_data(form *f, const lcp_layout *l)
{
    bool sharded = l->zero_stage >= 2;
    number(f, "data_parallel_replicate_degree", sharded ? 1 : l->dp);
    number(f, "data_parallel_shard_degree", sharded ? l->dp : 1);
    if (sharded) {
        text(f, "fsdp_reshard_after_forward", l->zero_stage == 3 ? "always" : "never");
    }
}

static void put_parallelism(form *f, const lcp_export *from)
{
    const lcp_layout *l = &from->plan->layout;
    open_section(f, "parallelism", "parallelism = ParallelismConfig");
    put_data(f, l);
    number(f, "tensor_parallel_degree", l->tp);
    number(f, "pipeline_parallel_degree", l->pp);
    if (l->pp > 1) {
        text(f, "pipeline_parallel_schedule", l->vpp > 1 ? "Interleaved1F1B" : "1F1B");
        number(f, "pipeline_parallel_microbatch_size", from->run.micro_sequences > 0 ? from->run.micro_sequences : 1);
        put_modules(f, from);
    }
    number(f, "context_parallel_degree", l->ring);
    if (f->toml && l->ring > 1) {
        text(f, "context_parallel_rotate_method", l->ring_method == LCP_RING_ALL_GATHER ? "allgather" : "alltoall");
    }
    number(f, "expert_parallel_degree", l->ep);
    close_section(f);
}

/* With a pipeline, a replica's whole share is one local batch, cut into micro-batches. */
static void put_training(form *f, const lcp_export *from)
{
    int64_t micro = from->run.micro_sequences > 0 ? from->run.micro_sequences : 1;
    int64_t microbatches = from->run.microbatches > 0 ? from->run.microbatches : 1;
    const lcp_layout *l = &from->plan->layout;
    open_section(f, "training", "training = TrainingConfig");
    number(f, "local_batch_size", l->pp > 1 ? micro * microbatches : micro);
    number(f, "global_batch_size", micro * microbatches * l->dp);
    number(f, "seq_len", from->run.sequence_tokens);
    close_section(f);
}

static void put_recompute(form *f, const lcp_export *from)
{
    bool none = from->recompute.policy == LCP_RECOMPUTE_NONE;
    if (f->toml) {
        open_section(f, "activation_checkpoint", "");
        text(f, "mode", none ? "none" : "full");
        close_section(f);
    } else {
        lcp_text_put(f->out, "activation_checkpoint = %s\n", none ? "None" : "FullAC.Config()");
    }
}

static void write(lcp_text *out, const lcp_export *from)
{
    form f = {out, strcmp(lcp_target_version(&from->target), "0.2") == 0};
    if (!f.toml) {
        lcp_text_put(out, "from torchtitan.config.configs import ParallelismConfig, TrainingConfig\n");
        if (from->recompute.policy != LCP_RECOMPUTE_NONE) {
            lcp_text_put(out, "from torchtitan.distributed.activation_checkpoint import FullAC\n");
        }
        lcp_text_put(out, "\n");
    }
    put_parallelism(&f, from);
    put_training(&f, from);
    put_recompute(&f, from);
}

const lcp_trainer lcp_trainer_torchtitan = {
    .name = "torchtitan",
    .help = "torchtitan",
    .versions = versions,
    .writes = "TOML (0.2) or Python (0.3)",
    .expresses = LCP_HAS(LCP_FEATURE_SPLIT) | LCP_HAS(LCP_FEATURE_INTERLEAVING) | LCP_HAS(LCP_FEATURE_FULL_RECOMPUTE),
    .zero_stage = 3,
    .rules = rules,
    .write = write,
};
