/* What trainers demand of a run, as predicates; trainers name those they have in their own table of rules. Identifiers
 * are shared: the same letter and number is the same kind of rule in every trainer. */
#ifndef LCP_EXPORT_RULES_H
#define LCP_EXPORT_RULES_H

#include "export/trainer.h"

/* W: devices. */
bool lcp_rule_world(const lcp_setup *run);
bool lcp_rule_expert_world(const lcp_setup *run);
/* H: heads. */
bool lcp_rule_heads_tp(const lcp_setup *run);
bool lcp_rule_kv_tp_strict(const lcp_setup *run);
bool lcp_rule_kv_tp_either(const lcp_setup *run);
bool lcp_rule_kv_tp_most(const lcp_setup *run);
bool lcp_rule_heads_a2a(const lcp_setup *run);
bool lcp_rule_heads_ulysses(const lcp_setup *run);
bool lcp_rule_state_heads(const lcp_setup *run);
bool lcp_rule_linear_heads(const lcp_setup *run);
/* S: tokens. */
bool lcp_rule_sequence_halves(const lcp_setup *run);
bool lcp_rule_sequence_ring(const lcp_setup *run);
bool lcp_rule_sequence_ulysses(const lcp_setup *run);
bool lcp_rule_sequence_shards(const lcp_setup *run);
bool lcp_rule_sequence_all(const lcp_setup *run);
bool lcp_rule_positions(const lcp_setup *run);
/* P: pipeline. */
bool lcp_rule_split_ends(const lcp_setup *run);
bool lcp_rule_split_equal(const lcp_setup *run);
bool lcp_rule_split_sum(const lcp_setup *run);
bool lcp_rule_interleaving(const lcp_setup *run);
bool lcp_rule_stages_most(const lcp_setup *run);
bool lcp_rule_untied(const lcp_setup *run);
bool lcp_rule_no_mtp(const lcp_setup *run);
/* M: batch. */
bool lcp_rule_batch_dp(const lcp_setup *run);
bool lcp_rule_batch_micro(const lcp_setup *run);
bool lcp_rule_interleaved_multiple(const lcp_setup *run);
bool lcp_rule_interleaved_rounds(const lcp_setup *run);
bool lcp_rule_fills_but_one(const lcp_setup *run);
bool lcp_rule_fills(const lcp_setup *run);
/* E: experts. */
bool lcp_rule_experts_divide(const lcp_setup *run);
bool lcp_rule_has_experts(const lcp_setup *run);
/* C: context parallelism. */
bool lcp_rule_window_ring(const lcp_setup *run);
bool lcp_rule_sinks_ring(const lcp_setup *run);
bool lcp_rule_two_levels(const lcp_setup *run);
/* Z: sharding. */
bool lcp_rule_zero_pipeline(const lcp_setup *run);
bool lcp_rule_zero_two_pipeline(const lcp_setup *run);
bool lcp_rule_zero_at_most_one(const lcp_setup *run);
bool lcp_rule_zero_fsdp(const lcp_setup *run);
bool lcp_rule_zero_none(const lcp_setup *run);
bool lcp_rule_fsdp_or_one(const lcp_setup *run);
/* D: degrees that do not exist. */
bool lcp_rule_no_pp(const lcp_setup *run);
bool lcp_rule_no_vpp(const lcp_setup *run);
bool lcp_rule_no_tp(const lcp_setup *run);
bool lcp_rule_no_ulysses(const lcp_setup *run);
bool lcp_rule_no_ring(const lcp_setup *run);
bool lcp_rule_no_ep(const lcp_setup *run);
bool lcp_rule_ring_gathers(const lcp_setup *run);
bool lcp_rule_ring_sends(const lcp_setup *run);

/* Megatron is inside of three trainers: verl uses its own FSDP engine where that can say the plan. */
bool lcp_runs_on_fsdp(const lcp_setup *run);

#endif
