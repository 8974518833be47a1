/* Mamba-2 and its mixtures with attention layer by layer: mamba2, bamba, granitemoehybrid. */
#include "input/model_hf.h"

lcp_attention lcp_hf_mamba(lcp_hf *hf, const lcp_hf_mamba_keys *keys)
{
    lcp_attention a = {.kind = LCP_ATTENTION_STATE_SPACE};
    a.heads = lcp_hf_int(hf, keys->heads, 1, 65536);
    a.head_dim = lcp_hf_int(hf, keys->head_dim, 1, 65536);
    a.v_head_dim = a.head_dim;
    a.state_size = lcp_hf_int(hf, keys->state_size, 1, 65536);
    a.groups = lcp_hf_int(hf, keys->groups, 1, 65536);
    a.conv_width = lcp_hf_int(hf, keys->conv_width, 1, 64);
    int64_t inner = a.heads * a.head_dim;
    int64_t convolved = inner + 2 * a.groups * a.state_size;
    int64_t taps = a.conv_width + (lcp_hf_bool_or(hf, keys->conv_bias, true) ? 1 : 0);
    a.extra_parameters = convolved * taps + 3 * a.heads + inner; /* A, D, step bias per head; norm of the inner width */
    return a;
}

static void read_mamba2(lcp_hf *hf)
{
    static const lcp_hf_mamba_keys keys = {"num_heads", "head_dim",    "state_size",
                                           "n_groups",  "conv_kernel", "use_conv_bias"};
    lcp_model *out = hf->out;
    out->hidden_size = lcp_hf_int(hf, "hidden_size", 1, LCP_HF_DIMENSION_MAX);
    out->vocab_size = lcp_hf_int(hf, "vocab_size", 1, LCP_HF_DIMENSION_MAX);
    out->tied_embeddings = lcp_hf_tied(hf, false);
    out->final_extra_parameters = out->hidden_size;
    int64_t layers = lcp_hf_int(hf, "num_hidden_layers", 1, LCP_MAX_LAYERS);
    lcp_hf_mark(hf, "rms_norm");
    lcp_hf_mark(hf, "norm_before_gate");
    lcp_layer_class class = {.attention = lcp_hf_mamba(hf, &keys), .norm_parameters = out->hidden_size};
    lcp_hf_uniform(hf, layers, &class);
}

static const lcp_hf_mamba_keys mixed_keys = {"mamba_n_heads",  "mamba_d_head", "mamba_d_state",
                                             "mamba_n_groups", "mamba_d_conv", "mamba_conv_bias"};

static lcp_attention grouped_with_bias(lcp_hf *hf, const lcp_hf_base *base)
{
    lcp_attention a = lcp_hf_grouped(base);
    a.extra_parameters = lcp_hf_bool_or(hf, "attention_bias", false) ? lcp_hf_qkv_width(base) + base->hidden : 0;
    return a;
}

/* A mixer of either kind and a gated ffn in each layer; attn_layer_indices: which have attention. */
static void read_bamba(lcp_hf *hf)
{
    bool attention[LCP_MAX_LAYERS];
    lcp_hf_base base = lcp_hf_read_base(hf, (lcp_hf_presets){0});
    lcp_hf_need_ffn(hf, &base);
    lcp_hf_mark(hf, "attn_rotary_emb");
    lcp_hf_read_layer_numbers(attention, hf, "attn_layer_indices", base.layers);
    lcp_attention mixers[] = {lcp_hf_mamba(hf, &mixed_keys), grouped_with_bias(hf, &base)};
    lcp_hf_start_layers(hf, base.layers);
    for (int64_t l = 0; l < base.layers && hf->status == LCP_OK; l++) {
        lcp_layer_class class = {.attention = mixers[attention[l]], .ffn = lcp_hf_gated(base.ffn_size)};
        class.norm_parameters = 2 * base.hidden;
        lcp_hf_set_layer(hf, l, &class);
    }
}

/* Every layer has the shared expert; without routed experts it is a gated ffn. */
static lcp_ffn granite_ffn(lcp_hf *hf, const lcp_hf_base *base)
{
    int64_t shared = lcp_hf_int(hf, "shared_intermediate_size", 1, LCP_HF_DIMENSION_MAX);
    int64_t experts = lcp_hf_int_or(hf, "num_local_experts", 0, 0, 65536);
    int64_t top_k = lcp_hf_int_or(hf, "num_experts_per_tok", 0, 0, 65536);
    if (experts == 0) {
        return lcp_hf_gated(shared);
    }
    if (top_k < 1 || top_k > experts) {
        lcp_hf_fail(hf, "num_experts_per_tok", "must be from 1 to num_local_experts");
    }
    lcp_hf_need_ffn(hf, base);
    return (lcp_ffn){.kind = LCP_FFN_MOE,
                     .size = base->ffn_size,
                     .gated_experts = true,
                     .experts = experts,
                     .top_k = top_k,
                     .shared_experts = 1,
                     .shared_size = shared};
}

static void read_granite_hybrid(lcp_hf *hf)
{
    static const char *const words[] = {"mamba", "attention", NULL};
    lcp_hf_words types;
    lcp_hf_base base = lcp_hf_read_base(hf, (lcp_hf_presets){0});
    lcp_hf_mark(hf, "position_embedding_type"); /* rotary or none */
    lcp_hf_mark(hf, "normalization_function");
    lcp_ffn ffn = granite_ffn(hf, &base);
    lcp_attention mixers[] = {lcp_hf_mamba(hf, &mixed_keys), grouped_with_bias(hf, &base)};
    lcp_hf_read_words(&types, hf, "layer_types", base.layers, words);
    if (types.list.value == NULL) {
        lcp_hf_fail(hf, "layer_types", "is missing");
    }
    lcp_hf_start_layers(hf, base.layers);
    for (int64_t l = 0; l < base.layers && hf->status == LCP_OK; l++) {
        lcp_layer_class class = {.attention = mixers[lcp_hf_word(hf, &types, l, 0)], .ffn = ffn};
        class.norm_parameters = 2 * base.hidden;
        lcp_hf_set_layer(hf, l, &class);
    }
}

const lcp_hf_family lcp_hf_mamba_families[] = {
    {"mamba2", read_mamba2},
    {"bamba", read_bamba},
    {"granitemoehybrid", read_granite_hybrid},
    {NULL, NULL},
};
