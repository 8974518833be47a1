/* The schedule of torch.distributed.pipelining as CSV: a row for each pipeline rank, a cell for each pass. The file
 * says the order alone, so only plans that a pipeline says whole are exported without loss. */
#include "export/rules.h"

static const char *const versions[] = {"2", NULL};

static const lcp_trainer_rule rules[] = {
    LCP_RULE("W1", NULL, NULL, LCP_SETUP_DEVICES, lcp_rule_world, "tp x cp x pp x dp is the number of devices"),
    LCP_RULE("M3", NULL, NULL, LCP_SETUP_MICROBATCHES, lcp_rule_interleaved_rounds,
             "with vpp > 1, max(1, micro-batches / pp) divides the micro-batches of a replica"),
    LCP_UNSAID("P1", NULL, NULL, LCP_SETUP_LAYERS, lcp_rule_split_equal,
               "every stage has as many layers: the file has none"),
    LCP_UNSAID("Z1", NULL, NULL, LCP_SETUP_ZERO, lcp_rule_zero_none,
               "nothing is sharded (ZeRO 0): the file has no sharding"),
    LCP_UNSAID("D3", NULL, NULL, LCP_SETUP_ULYSSES, lcp_rule_no_ulysses,
               "ulysses is 1: the file has no context parallelism"),
    LCP_UNSAID("D4", NULL, NULL, LCP_SETUP_RING, lcp_rule_no_ring, "ring is 1: the file has no context parallelism"),
    LCP_UNSAID("D5", NULL, NULL, LCP_SETUP_EP, lcp_rule_no_ep, "ep is 1: the file has no expert parallelism"),
    LCP_UNSAID("D6", NULL, NULL, LCP_SETUP_TP, lcp_rule_no_tp, "tp is 1: the file has no tensor parallelism"),
    LCP_RULES_END,
};

static void write(lcp_text *out, const lcp_export *from)
{
    const lcp_schedule *pipeline = &from->plan->pipelines[0];
    for (int32_t r = 0; r < pipeline->rank_count; r++) {
        bool first = true;
        for (int32_t i = 0; i < pipeline->op_count[r]; i++) {
            const lcp_op *op = &pipeline->ops[r][i];
            if (op->kind != LCP_OP_RECOMPUTE) {
                lcp_text_put(out, "%s%d%s%d", first ? "" : ",", op->stage, lcp_op_names[op->kind], op->chunk);
                first = false;
            }
        }
        lcp_text_put(out, "\n");
    }
}

const lcp_trainer lcp_trainer_torch_pipelining = {
    .name = "torch-pipelining",
    .help = "torch.distributed.pipelining",
    .versions = versions,
    .writes = "CSV of the order of passes (compute_only)",
    .expresses = LCP_HAS(LCP_FEATURE_PACKS) | LCP_HAS(LCP_FEATURE_CHUNK_SIZES) | LCP_HAS(LCP_FEATURE_INTERLEAVING) |
                 LCP_HAS(LCP_FEATURE_PLACEMENT) | LCP_HAS(LCP_FEATURE_ORDERS),
    .zero_stage = 0,
    .rules = rules,
    .write = write,
};
