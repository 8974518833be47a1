/* A launcher line and the map of ranks, for programs that read the plan themselves. */
#include "export/rules.h"

#include "output/plan_fields.h"

static const char *const versions[] = {"2", NULL};

static const lcp_trainer_rule rules[] = {
    LCP_RULE("W1", NULL, NULL, LCP_SETUP_DEVICES, lcp_rule_world, "tp x cp x pp x dp is the number of devices"),
    LCP_RULE("W2", NULL, NULL, LCP_SETUP_EP, lcp_rule_expert_world, "ep divides tp x cp x dp"),
    LCP_RULES_END,
};

static void put_launch(lcp_text *out, const lcp_export *from)
{
    const lcp_cluster *cluster = &from->problem->cluster;
    int64_t nodes = 0;
    for (int32_t g = 0; g < cluster->group_count; g++) {
        nodes += cluster->groups[g].nodes;
    }
    lcp_text_put(out,
                 "# On every node: set NODE_RANK (0 to %lld) and MASTER_ADDR, source this file with bash, then\n"
                 "#   \"${LAUNCH[@]}\" SCRIPT ARGUMENTS\n",
                 (long long)(nodes - 1));
    lcp_text_put(out,
                 "LAUNCH=(torchrun --nnodes %lld --nproc-per-node %lld --node-rank \"$NODE_RANK\" --master-addr "
                 "\"$MASTER_ADDR\" --master-port \"${MASTER_PORT:-29500}\")\n",
                 (long long)nodes, (long long)cluster->groups[0].devices_per_node);
}

static void put_degrees(lcp_text *out, const lcp_layout *l)
{
    const struct {
        const char *name;
        int32_t value;
    } degrees[] = {{"DP", l->dp},           {"PP", l->pp},     {"VPP", l->vpp}, {"TP", l->tp},
                   {"ULYSSES", l->ulysses}, {"RING", l->ring}, {"EP", l->ep},   {"ZERO", l->zero_stage}};
    for (size_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++) {
        lcp_text_put(out, "export LCPLAN_%s=%d\n", degrees[i].name, degrees[i].value);
    }
}

static void write(lcp_text *out, const lcp_export *from)
{
    put_launch(out, from);
    lcp_text_put(out, "export LCPLAN_PLAN=");
    lcp_text_shell(out, from->plan_path);
    lcp_text_put(out, "\n");
    put_degrees(out, &from->plan->layout);
    lcp_text_put(out, "# rank node local_rank dp pp cp tp\nLCPLAN_RANKS='\n");
    for (int64_t rank = 0; rank < lcp_layout_ranks(&from->plan->layout); rank++) {
        lcp_rank_place p = lcp_rank_place_of(&from->plan->layout, &from->problem->cluster, rank);
        lcp_text_put(out, "%lld %lld %lld %lld %lld %lld %lld\n", (long long)p.rank, (long long)p.node,
                     (long long)p.local_rank, (long long)p.dp, (long long)p.pp, (long long)p.cp, (long long)p.tp);
    }
    lcp_text_put(out, "'\nexport LCPLAN_RANKS\n");
}

const lcp_trainer lcp_trainer_torchrun = {
    .name = "torchrun",
    .help = "any program started by torchrun that reads the plan itself",
    .versions = versions,
    .writes = "a launcher line, degrees and the map of ranks, for bash",
    .expresses = LCP_HAS(LCP_FEATURE_COUNT) - 1,
    .reads_plan = true,
    .zero_stage = -1,
    .rules = rules,
    .write = write,
};
