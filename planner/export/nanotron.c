/* The YAML of nanotron. It divides layers over stages by itself, from what the blocks cost. */
#include "export/rules.h"

static const char *const versions[] = {"0.4", NULL};

static const lcp_trainer_rule rules[] = {
    LCP_RULE("W1", NULL, NULL, LCP_SETUP_DEVICES, lcp_rule_world, "tp x cp x pp x dp is the number of devices"),
    LCP_RULE("W2", NULL, NULL, LCP_SETUP_EP, lcp_rule_expert_world, "ep divides tp x cp x dp"),
    LCP_RULE("H1", NULL, NULL, LCP_SETUP_TP, lcp_rule_heads_tp, "tp divides the attention heads"),
    LCP_RULE("H2", NULL, NULL, LCP_SETUP_TP, lcp_rule_kv_tp_most, "tp is at most the kv heads"),
    LCP_RULE("S1", NULL, NULL, LCP_SETUP_SEQUENCE, lcp_rule_sequence_ring, "2 x ring divides the sequence length"),
    LCP_RULE("S6", NULL, NULL, LCP_SETUP_SEQUENCE, lcp_rule_positions,
             "no sequence is longer than the learned positions"),
    LCP_RULE("P1", NULL, NULL, LCP_SETUP_LAYERS, lcp_rule_split_equal, "every stage has as many layers"),
    LCP_RULE("M1", NULL, NULL, LCP_SETUP_SEQUENCES, lcp_rule_batch_dp, "dp divides the global batch"),
    LCP_RULE("M1b", NULL, NULL, LCP_SETUP_SEQUENCES, lcp_rule_batch_micro, "dp x micro-batch divides the global batch"),
    LCP_RULE("M4", NULL, NULL, LCP_SETUP_MICROBATCHES, lcp_rule_fills_but_one,
             "a replica runs at least pp - 1 micro-batches"),
    LCP_RULE("E1", NULL, NULL, LCP_SETUP_EP, lcp_rule_experts_divide, "ep divides the experts"),
    LCP_RULE("E2", NULL, NULL, LCP_SETUP_EP, lcp_rule_has_experts, "ep > 1 needs experts"),
    LCP_RULE("Z1", NULL, NULL, LCP_SETUP_ZERO, lcp_rule_zero_at_most_one,
             "the optimizer alone is sharded (ZeRO 0 or 1)"),
    LCP_RULE("D2", NULL, NULL, LCP_SETUP_VPP, lcp_rule_no_vpp, "no schedule interleaves virtual stages"),
    LCP_RULE("D3", NULL, NULL, LCP_SETUP_ULYSSES, lcp_rule_no_ulysses, "context parallelism is a ring alone"),
    LCP_RULE("D7", NULL, NULL, LCP_SETUP_RING, lcp_rule_ring_sends, "the ring sends (p2p)"),
    LCP_RULES_END,
};

static void write(lcp_text *out, const lcp_export *from)
{
    const lcp_layout *l = &from->plan->layout;
    int64_t micro = from->run.micro_sequences > 0 ? from->run.micro_sequences : 1;
    lcp_text_put(out, "parallelism:\n  dp: %d\n  pp: %d\n  tp: %d\n", l->dp, l->pp, l->tp);
    lcp_text_put(out, "  context_parallel_size: %d\n  expert_parallel_size: %d\n", l->ring, l->ep);
    lcp_text_put(out, "  pp_engine: 1f1b\n  tp_mode: %s\n", l->tp > 1 ? "REDUCE_SCATTER" : "ALL_REDUCE");
    lcp_text_put(out, "  recompute_layer: %s\n", from->recompute.policy == LCP_RECOMPUTE_NONE ? "false" : "true");
    lcp_text_put(out, "tokens:\n  sequence_length: %lld\n  micro_batch_size: %lld\n",
                 (long long)from->run.sequence_tokens, (long long)micro);
    lcp_text_put(out, "  batch_accumulation_per_replica: %d\n", from->plan->pipelines[0].chunk_count);
    lcp_text_put(out, "optimizer:\n  zero_stage: %d\n", l->zero_stage);
}

const lcp_trainer lcp_trainer_nanotron = {
    .name = "nanotron",
    .help = "nanotron",
    .versions = versions,
    .writes = "YAML",
    .expresses = LCP_HAS(LCP_FEATURE_FULL_RECOMPUTE),
    .zero_stage = -1,
    .rules = rules,
    .write = write,
};
