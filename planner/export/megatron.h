/* What Megatron-LM and the trainers built on it share: the facts of their arguments, and their rules. */
#ifndef LCP_EXPORT_MEGATRON_H
#define LCP_EXPORT_MEGATRON_H

#include "export/rules.h"

typedef struct lcp_megatron {
    int32_t context;          /* ulysses x ring */
    const char *comm;         /* cp_comm_type; NULL without context parallelism */
    bool two_levels;          /* sizes: ulysses, ring */
    bool needs_layout;        /* stages are not what an equal split gives */
    int32_t first, last;      /* layers of the end stages */
    const char *granularity;  /* of recompute: full, selective; NULL = none */
    const char *method;       /* with full */
    int32_t recompute_layers; /* with full */
    const char *modules[3];   /* with selective; NULL-terminated, empty without */
    int64_t micro_batch, global_batch, sequence_tokens;
    bool experts;
} lcp_megatron;
void lcp_megatron_of(lcp_megatron *out, const lcp_export *from);

/* Et*8|t*8|t*8L: a letter for each item, stages in order. */
void lcp_megatron_layout(lcp_text *out, const lcp_export *from);

/* Rows shared by every trainer on Megatron Core; strict: the last version without replicated kv heads, NULL = none;
 * either: the first with them. */
#define LCP_MEGATRON_RULES(strict, either)                                                                             \
    LCP_RULE("W1", NULL, NULL, LCP_SETUP_DEVICES, lcp_rule_world, "tp x cp x pp x dp is the number of devices"),       \
        LCP_RULE("W2", NULL, NULL, LCP_SETUP_EP, lcp_rule_expert_world, "ep divides tp x cp x dp"),                    \
        LCP_RULE("H1", NULL, NULL, LCP_SETUP_TP, lcp_rule_heads_tp, "tp divides the attention heads"),                 \
        LCP_RULE("H2", NULL, strict, LCP_SETUP_TP, lcp_rule_kv_tp_strict, "tp divides the kv heads"),                  \
        LCP_RULE("H2", either, NULL, LCP_SETUP_TP, lcp_rule_kv_tp_either,                                              \
                 "tp divides the kv heads or is a multiple of them"),                                                  \
        LCP_RULE("H4", NULL, NULL, LCP_SETUP_ULYSSES, lcp_rule_heads_a2a,                                              \
                 "tp x ulysses divides the attention heads and the kv heads"),                                         \
        LCP_RULE(                                                                                                      \
            "H6", NULL, NULL, LCP_SETUP_TP, lcp_rule_state_heads,                                                      \
            "tp x cp divides the heads of state-space layers, and cp and their groups over tp divide one another"),    \
        LCP_RULE("H7", NULL, NULL, LCP_SETUP_TP, lcp_rule_linear_heads,                                                \
                 "tp x cp divides the heads of linear attention"),                                                     \
        LCP_RULE("S1", NULL, NULL, LCP_SETUP_SEQUENCE, lcp_rule_sequence_halves,                                       \
                 "2 x cp divides the sequence length"),                                                                \
        LCP_RULE("S3", NULL, NULL, LCP_SETUP_SEQUENCE, lcp_rule_sequence_shards,                                       \
                 "cp x tp divides the sequence length"),                                                               \
        LCP_RULE("S6", NULL, NULL, LCP_SETUP_SEQUENCE, lcp_rule_positions,                                             \
                 "no sequence is longer than the learned positions"),                                                  \
        LCP_RULE("P6", NULL, NULL, LCP_SETUP_PP, lcp_rule_interleaving, "vpp > 1 needs pp > 1"),                       \
        LCP_RULE("P8", NULL, NULL, LCP_SETUP_LAYERS, lcp_rule_split_sum, "the stages' layers add up to the model's"),  \
        LCP_RULE("M1", NULL, NULL, LCP_SETUP_SEQUENCES, lcp_rule_batch_dp, "dp divides the global batch"),             \
        LCP_RULE("M1b", NULL, NULL, LCP_SETUP_SEQUENCES, lcp_rule_batch_micro,                                         \
                 "dp x micro-batch divides the global batch"),                                                         \
        LCP_RULE("M2", NULL, NULL, LCP_SETUP_MICROBATCHES, lcp_rule_interleaved_multiple,                              \
                 "with vpp > 1, pp divides the micro-batches of a replica"),                                           \
        LCP_RULE("E1", NULL, NULL, LCP_SETUP_EP, lcp_rule_experts_divide, "ep divides the experts"),                   \
        LCP_RULE("E2", NULL, NULL, LCP_SETUP_EP, lcp_rule_has_experts, "ep > 1 needs experts"),                        \
        LCP_RULE("C1", NULL, NULL, LCP_SETUP_RING, lcp_rule_two_levels, "with ulysses > 1, the ring sends (p2p)"),     \
        LCP_RULE("C3", NULL, NULL, LCP_SETUP_RING, lcp_rule_window_ring,                                               \
                 "sliding windows take a ring by all-gather alone, or none"),                                          \
        LCP_RULE("C4", NULL, NULL, LCP_SETUP_RING, lcp_rule_sinks_ring, "attention sinks take no ring")

#endif
