/* Arguments of Megatron-LM, as an array of a shell. */
#include "export/megatron.h"

#include <stdlib.h>

static const char *const versions[] = {"0.11", "0.12", "0.13", "0.14", "0.15", "0.16", NULL};

static const lcp_trainer_rule rules[] = {
    LCP_MEGATRON_RULES("0.15", "0.16"),
    LCP_RULE("P3", NULL, "0.12", LCP_SETUP_LAYERS, lcp_rule_split_ends,
             "only the first and the last stage differ in layers"),
    LCP_RULE("Z1", NULL, "0.13", LCP_SETUP_ZERO, lcp_rule_zero_at_most_one,
             "the optimizer alone is sharded (ZeRO 0 or 1)"),
    LCP_RULE("Z2", "0.14", NULL, LCP_SETUP_ZERO, lcp_rule_zero_pipeline, "ZeRO 2 and 3 need pp = 1"),
    LCP_RULES_END,
};

static void option(lcp_text *out, const char *name, int64_t value)
{
    lcp_text_put(out, "    --%s %lld\n", name, (long long)value);
}

static void word(lcp_text *out, const char *name, const char *value)
{
    lcp_text_put(out, "    --%s ", name);
    lcp_text_shell(out, value);
    lcp_text_put(out, "\n");
}

static void flag(lcp_text *out, const char *name)
{
    lcp_text_put(out, "    --%s\n", name);
}

static void put_stages(lcp_text *out, const lcp_export *from, const lcp_megatron *m)
{
    const lcp_layout *l = &from->plan->layout;
    if (m->needs_layout && lcp_target_since(&from->target, "0.13")) {
        lcp_text layout = {0};
        lcp_megatron_layout(&layout, from);
        word(out, "pipeline-model-parallel-layout", layout.bytes != NULL ? layout.bytes : "");
        out->failed = out->failed || layout.failed;
        free(layout.bytes);
    } else if (m->needs_layout) {
        option(out, "decoder-first-pipeline-num-layers", m->first);
        option(out, "decoder-last-pipeline-num-layers", m->last);
    } else if (l->vpp > 1) {
        option(out, "num-layers-per-virtual-pipeline-stage", m->first);
    }
}

/* Samples of unequal length: the closest is a context degree that follows each sample's length, where there is one. */
static void put_context(lcp_text *out, const lcp_export *from, const lcp_megatron *m)
{
    const lcp_layout *l = &from->plan->layout;
    int32_t domain = l->dp * m->context;
    bool power_of_two = (domain & (domain - 1)) == 0;
    if (!from->run.equal_lengths && l->pp == 1 && power_of_two && lcp_target_since(&from->target, "0.16")) {
        flag(out, "hybrid-context-parallel");
        option(out, "max-seqlen-per-dp-cp-rank", (from->run.sequence_tokens + domain - 1) / domain);
        flag(out, "calculate-per-token-loss");
        option(out, "context-parallel-size", 1);
        return;
    }
    option(out, "context-parallel-size", m->context);
    if (m->comm != NULL) {
        word(out, "cp-comm-type", m->comm);
    }
    if (m->two_levels) {
        lcp_text_put(out, "    --hierarchical-context-parallel-sizes %d %d\n", l->ulysses, l->ring);
    }
}

static void put_experts(lcp_text *out, const lcp_export *from, const lcp_megatron *m)
{
    if (m->experts) {
        option(out, "expert-model-parallel-size", from->plan->layout.ep);
        option(out, "expert-tensor-parallel-size", 1);
    }
}

static void put_recompute(lcp_text *out, const lcp_export *from, const lcp_megatron *m)
{
    if (m->granularity == NULL) {
        return;
    }
    bool selective = m->modules[0] != NULL;
    if (selective && !lcp_target_since(&from->target, "0.12")) { /* it knew no modules yet: whole layers are leaner */
        word(out, "recompute-granularity", "full");
        word(out, "recompute-method", "uniform");
        option(out, "recompute-num-layers", 1);
        return;
    }
    word(out, "recompute-granularity", m->granularity);
    if (selective) {
        lcp_text_put(out, "    --recompute-modules");
        for (int i = 0; m->modules[i] != NULL; i++) {
            lcp_text_put(out, " %s", m->modules[i]);
        }
        lcp_text_put(out, "\n");
    } else {
        word(out, "recompute-method", m->method);
        option(out, "recompute-num-layers", m->recompute_layers);
    }
}

static void put_sharding(lcp_text *out, const lcp_export *from)
{
    int32_t zero = from->plan->layout.zero_stage;
    if (zero >= 2) {
        flag(out, "use-megatron-fsdp");
        word(out, "data-parallel-sharding-strategy", zero == 2 ? "optim_grads" : "optim_grads_params");
    }
    if (zero >= 1) {
        flag(out, "use-distributed-optimizer");
    }
}

static void put_precision(lcp_text *out, const lcp_training *training)
{
    switch (training->precision) {
    case LCP_PRECISION_FP8:
        flag(out, "bf16");
        word(out, "fp8-format", "hybrid");
        break;
    case LCP_PRECISION_FP4:
        flag(out, "bf16");
        word(out, "fp4-format", "e2m1");
        break;
    case LCP_PRECISION_BF16:
        flag(out, "bf16");
        break;
    case LCP_PRECISION_FP16:
        flag(out, "fp16");
        break;
    case LCP_PRECISION_FP32:
        break;
    }
}

static void write(lcp_text *out, const lcp_export *from)
{
    const lcp_layout *l = &from->plan->layout;
    lcp_megatron m;
    lcp_megatron_of(&m, from);
    lcp_text_put(
        out,
        "# Megatron-LM %s. Source this file with bash, then pass \"${MEGATRON_ARGS[@]}\" after the model's own "
        "arguments.\nMEGATRON_ARGS=(\n",
        lcp_target_version(&from->target));
    option(out, "tensor-model-parallel-size", l->tp);
    if (l->tp > 1) {
        flag(out, "sequence-parallel");
    }
    option(out, "pipeline-model-parallel-size", l->pp);
    put_stages(out, from, &m);
    put_context(out, from, &m);
    put_experts(out, from, &m);
    put_sharding(out, from);
    put_recompute(out, from, &m);
    option(out, "seq-length", m.sequence_tokens);
    option(out, "micro-batch-size", m.micro_batch);
    option(out, "global-batch-size", m.global_batch);
    put_precision(out, &from->problem->options.training);
    lcp_text_put(out, ")\n");
}

const lcp_trainer lcp_trainer_megatron_lm = {
    .name = "megatron-lm",
    .help = "Megatron-LM, versions of Megatron Core",
    .versions = versions,
    .writes = "arguments, as an array of bash",
    .expresses = LCP_HAS(LCP_FEATURE_SPLIT) | LCP_HAS(LCP_FEATURE_INTERLEAVING) | LCP_HAS(LCP_FEATURE_BLOCK_RECOMPUTE) |
                 LCP_HAS(LCP_FEATURE_FULL_RECOMPUTE) | LCP_HAS(LCP_FEATURE_MLP_RECOMPUTE),
    .split_since = "0.13",
    .zero_stage = -1,
    .rules = rules,
    .write = write,
};
