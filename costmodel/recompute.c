/* Recompute policies: names and what each keeps and runs again. */
#include "internal.h"

const lcp_recompute_row lcp_recompute_rows[LCP_RECOMPUTE_COUNT] = {
    [LCP_RECOMPUTE_NONE] = {"none", "keep everything the backward pass reads"},
    [LCP_RECOMPUTE_ACTIVATION] = {"activation", "rebuild norm outputs and the ffn activation output"},
    [LCP_RECOMPUTE_MLP] = {"mlp", "rebuild the inside of the ffn"},
    [LCP_RECOMPUTE_ATTENTION_OUTPUT] = {"attention-output", "keep the layer input and the attention output"},
    [LCP_RECOMPUTE_FULL] = {"full", "keep the layer input only"},
};

const lcp_recompute_rule lcp_recompute_rules[LCP_RECOMPUTE_COUNT] = {
    [LCP_RECOMPUTE_NONE] =
        {.keeps_norms = true, .keeps_activation = true, .keeps_ffn = true, .keeps_mixer = true, .keeps_core = true},
    [LCP_RECOMPUTE_ACTIVATION] = {.keeps_ffn = true, .keeps_mixer = true, .keeps_core = true},
    [LCP_RECOMPUTE_MLP] = {.keeps_mixer = true, .keeps_core = true, .rebuilds = {[LCP_PART_FFN_IN] = true}},
    [LCP_RECOMPUTE_ATTENTION_OUTPUT] =
        {.keeps_core = true,
         .rebuilds = {[LCP_PART_MIXER_IN] = true, [LCP_PART_MIXER_OUT] = true, [LCP_PART_FFN_IN] = true}},
    [LCP_RECOMPUTE_FULL] = {.rebuilds = {[LCP_PART_MIXER_IN] = true,
                                         [LCP_PART_MIXER_OUT] = true,
                                         [LCP_PART_FFN_IN] = true,
                                         [LCP_PART_FFN_OUT] = true},
                            .rebuilds_core = true},
};
