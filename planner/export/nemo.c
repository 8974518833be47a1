/* NeMo 2 (fields of its strategy and model, Python) and Megatron-Bridge (overrides, key=value). */
#include "export/megatron.h"

#include <stdlib.h>
#include <string.h>

static const char *const versions[] = {"2", "bridge", NULL};

static const lcp_trainer_rule rules[] = {
    LCP_MEGATRON_RULES("2", "bridge"),
    LCP_RULE("P3", NULL, "2", LCP_SETUP_LAYERS, lcp_rule_split_ends,
             "only the first and the last stage differ in layers"),
    LCP_RULE("Z1", NULL, NULL, LCP_SETUP_ZERO, lcp_rule_zero_at_most_one,
             "the optimizer alone is sharded (ZeRO 0 or 1)"),
    LCP_RULES_END,
};

/* Both forms have the same keys below a prefix of their own. */
typedef struct form {
    lcp_text *out;
    bool python;
} form;

static void start(form *f, const char *section, const char *key)
{
    if (f->python) {
        lcp_text_put(f->out, "    ");
        lcp_text_quoted(f->out, key);
        lcp_text_put(f->out, ": ");
    } else {
        lcp_text_put(f->out, "%s.%s=", section, key);
    }
}

static void number(form *f, const char *section, const char *key, int64_t value)
{
    start(f, section, key);
    lcp_text_put(f->out, "%lld%s", (long long)value, f->python ? ",\n" : "\n");
}

static void boolean(form *f, const char *section, const char *key, bool value)
{
    start(f, section, key);
    lcp_text_put(f->out, "%s%s", value ? (f->python ? "True" : "true") : (f->python ? "False" : "false"),
                 f->python ? ",\n" : "\n");
}

/* Values of overrides are quoted for Hydra: a bare | or + would be taken apart. */
static void text(form *f, const char *section, const char *key, const char *value)
{
    start(f, section, key);
    lcp_text_quoted(f->out, value);
    lcp_text_put(f->out, f->python ? ",\n" : "\n");
}

static void put_stages(form *f, const lcp_export *from, const lcp_megatron *m)
{
    const lcp_layout *l = &from->plan->layout;
    number(f, "model", "pipeline_model_parallel_size", l->pp);
    if (l->vpp > 1) {
        number(f, "model", "virtual_pipeline_model_parallel_size", l->vpp);
    }
    if (m->needs_layout && f->python) {
        number(f, "model", "num_layers_in_first_pipeline_stage", m->first);
        number(f, "model", "num_layers_in_last_pipeline_stage", m->last);
    } else if (m->needs_layout) {
        lcp_text layout = {0};
        lcp_megatron_layout(&layout, from);
        text(f, "model", "pipeline_model_parallel_layout", layout.bytes != NULL ? layout.bytes : "");
        f->out->failed = f->out->failed || layout.failed;
        free(layout.bytes);
    }
}

static void put_context(form *f, const lcp_export *from, const lcp_megatron *m)
{
    number(f, "model", "context_parallel_size", m->context);
    if (m->comm != NULL) {
        text(f, "model", "cp_comm_type", m->comm);
    }
    if (m->two_levels) {
        start(f, "model", "hierarchical_context_parallel_sizes");
        lcp_text_put(f->out, "[%d,%d]%s", from->plan->layout.ulysses, from->plan->layout.ring,
                     f->python ? ",\n" : "\n");
    }
}

static void put_recompute(form *f, const lcp_megatron *m)
{
    if (m->granularity == NULL) {
        return;
    }
    text(f, "model", "recompute_granularity", m->granularity);
    if (m->modules[0] != NULL) {
        start(f, "model", "recompute_modules");
        lcp_text_put(f->out, "[");
        for (int i = 0; m->modules[i] != NULL; i++) {
            lcp_text_put(f->out, "%s\"%s\"", i > 0 ? "," : "", m->modules[i]);
        }
        lcp_text_put(f->out, "]%s", f->python ? ",\n" : "\n");
    } else {
        text(f, "model", "recompute_method", m->method);
        number(f, "model", "recompute_num_layers", m->recompute_layers);
    }
}

static void put_batch(form *f, const lcp_export *from, const lcp_megatron *m)
{
    number(f, "model", "seq_length", m->sequence_tokens);
    if (f->python) {
        number(f, "train", "micro_batch_size", m->micro_batch);
        number(f, "train", "global_batch_size", m->global_batch);
        boolean(f, "ddp", "use_distributed_optimizer", from->plan->layout.zero_stage >= 1);
        return;
    }
    number(f, "dataset", "seq_length", m->sequence_tokens);
    number(f, "train", "micro_batch_size", m->micro_batch);
    number(f, "train", "global_batch_size", m->global_batch);
    boolean(f, "ddp", "use_distributed_optimizer", from->plan->layout.zero_stage >= 1);
}

static void write(lcp_text *out, const lcp_export *from)
{
    const lcp_layout *l = &from->plan->layout;
    form f = {out, strcmp(lcp_target_version(&from->target), "2") == 0};
    lcp_megatron m;
    lcp_megatron_of(&m, from);
    lcp_text_put(out, f.python
                          ? "# Fields of NeMo 2's MegatronStrategy, model configuration and data module.\nnemo = {\n"
                          : "# Overrides of Megatron-Bridge's ConfigContainer, one a line.\n");
    number(&f, "model", "tensor_model_parallel_size", l->tp);
    boolean(&f, "model", "sequence_parallel", l->tp > 1);
    put_stages(&f, from, &m);
    put_context(&f, from, &m);
    if (m.experts) {
        number(&f, "model", "expert_model_parallel_size", l->ep);
        number(&f, "model", "expert_tensor_parallel_size", 1);
    }
    put_recompute(&f, &m);
    put_batch(&f, from, &m);
    lcp_text_put(out, "%s", f.python ? "}\n" : "");
}

const lcp_trainer lcp_trainer_nemo = {
    .name = "nemo",
    .help = "NeMo 2 and Megatron-Bridge",
    .versions = versions,
    .writes = "Python (2) or key=value overrides (bridge)",
    .expresses = LCP_HAS(LCP_FEATURE_PACKS) | LCP_HAS(LCP_FEATURE_SPLIT) | LCP_HAS(LCP_FEATURE_INTERLEAVING) |
                 LCP_HAS(LCP_FEATURE_BLOCK_RECOMPUTE) | LCP_HAS(LCP_FEATURE_FULL_RECOMPUTE) |
                 LCP_HAS(LCP_FEATURE_MLP_RECOMPUTE),
    .split_since = "bridge",
    .zero_stage = -1,
    .rules = rules,
    .write = write,
};
