/* The JSON of DeepSpeed's engine, with Ulysses sequence parallelism. */
#include "export/rules.h"

static const char *const versions[] = {"0.18", NULL};

static const lcp_trainer_rule rules[] = {
    LCP_RULE("W1", NULL, NULL, LCP_SETUP_DEVICES, lcp_rule_world, "tp x cp x pp x dp is the number of devices"),
    LCP_RULE("H1", NULL, NULL, LCP_SETUP_TP, lcp_rule_heads_tp, "tp divides the attention heads"),
    LCP_RULE("H2", NULL, NULL, LCP_SETUP_TP, lcp_rule_kv_tp_strict, "tp divides the kv heads"),
    LCP_RULE("H5", NULL, NULL, LCP_SETUP_ULYSSES, lcp_rule_heads_ulysses,
             "ulysses divides the attention heads, and divides the kv heads or is a multiple of them"),
    LCP_RULE("S2", NULL, NULL, LCP_SETUP_SEQUENCE, lcp_rule_sequence_ulysses, "ulysses divides the sequence length"),
    LCP_RULE("S6", NULL, NULL, LCP_SETUP_SEQUENCE, lcp_rule_positions,
             "no sequence is longer than the learned positions"),
    LCP_RULE("M1", NULL, NULL, LCP_SETUP_SEQUENCES, lcp_rule_batch_dp, "dp divides the global batch"),
    LCP_RULE("M1b", NULL, NULL, LCP_SETUP_SEQUENCES, lcp_rule_batch_micro, "dp x micro-batch divides the global batch"),
    LCP_UNSAID("D1", NULL, NULL, LCP_SETUP_PP, lcp_rule_no_pp, "the JSON has no pipeline"),
    LCP_RULE("D4", NULL, NULL, LCP_SETUP_RING, lcp_rule_no_ring, "context parallelism is Ulysses alone"),
    LCP_UNSAID("D5", NULL, NULL, LCP_SETUP_EP, lcp_rule_no_ep, "the JSON has no expert degree"),
    LCP_RULES_END,
};

static void put_precision(lcp_text *out, const lcp_training *training)
{
    bool sixteen = training->precision != LCP_PRECISION_FP32;
    if (sixteen) {
        lcp_text_put(out, "  \"%s\": {\"enabled\": true},\n",
                     training->precision == LCP_PRECISION_FP16 ? "fp16" : "bf16");
    }
}

static void write(lcp_text *out, const lcp_export *from)
{
    const lcp_layout *l = &from->plan->layout;
    bool plain = from->run.equal_lengths && from->run.micro_sequences > 0;
    int64_t micro = plain ? from->run.micro_sequences : 1;
    int64_t most = 0;
    for (int32_t d = 0; d < l->dp; d++) {
        most = from->plan->pipelines[d].chunk_count > most ? from->plan->pipelines[d].chunk_count : most;
    }
    lcp_text_put(out, "{\n  \"train_batch_size\": %lld,\n", (long long)(micro * most * l->dp));
    lcp_text_put(out, "  \"train_micro_batch_size_per_gpu\": %lld,\n", (long long)micro);
    lcp_text_put(out, "  \"gradient_accumulation_steps\": %lld,\n", (long long)most);
    put_precision(out, &from->problem->options.training);
    if (l->ulysses > 1) {
        lcp_text_put(out, "  \"sequence_parallel_size\": %d,\n  \"data_parallel_size\": %d,\n", l->ulysses, l->dp);
    }
    if (l->tp > 1) {
        lcp_text_put(out, "  \"tensor_parallel\": {\"autotp_size\": %d},\n", l->tp);
    }
    lcp_text_put(out, "  \"zero_optimization\": {\"stage\": %d}\n}\n", l->zero_stage);
}

const lcp_trainer lcp_trainer_deepspeed = {
    .name = "deepspeed",
    .help = "DeepSpeed's engine, with Ulysses",
    .versions = versions,
    .writes = "JSON",
    .expresses = LCP_HAS(LCP_FEATURE_PACKS),
    .zero_stage = -1,
    .rules = rules,
    .write = write,
};
