/* Layers without softmax attention: nemotron_h (Mamba-2, attention and ffn as layers of their own), qwen3_next (gated
 * delta net with full attention every few layers). */
#include "input/model_hf.h"

#include <string.h>

static lcp_ffn nemotron_moe(lcp_hf *hf)
{
    lcp_ffn ffn = {.kind = LCP_FFN_MOE, .gated_experts = false};
    ffn.experts = lcp_hf_int(hf, "n_routed_experts", 1, 65536);
    ffn.top_k = lcp_hf_int(hf, "num_experts_per_tok", 1, 65536);
    ffn.size = lcp_hf_int(hf, "moe_intermediate_size", 1, LCP_HF_DIMENSION_MAX);
    ffn.shared_experts = lcp_hf_int_or(hf, "n_shared_experts", 0, 0, 1024);
    int64_t shared = lcp_hf_int_or(hf, "moe_shared_expert_intermediate_size", ffn.size, 1, LCP_HF_DIMENSION_MAX);
    ffn.shared_size = ffn.shared_experts > 0 ? shared : 0;
    if (ffn.top_k > ffn.experts) {
        lcp_hf_fail(hf, "num_experts_per_tok", "is larger than the number of experts");
    }
    return ffn;
}

/* Kinds of sub-layer, in the order of both notations. */
enum { MAMBA, ATTENTION, DENSE, EXPERTS, KINDS };
static const char symbols[] = "M*-E";
static const char *const kind_words[] = {"mamba", "attention", "mlp", "moe", NULL};

static void read_pattern(int32_t kinds[LCP_MAX_LAYERS], lcp_hf *hf, int64_t layers)
{
    static const char key[] = "hybrid_override_pattern";
    json_t *pattern = json_object_get(hf->object->value, key);
    const char *text = json_is_string(pattern) ? json_string_value(pattern) : NULL;
    lcp_hf_mark(hf, key);
    if (text == NULL) {
        lcp_hf_fail(hf, key, "must be a string of M (Mamba), * (attention), - (ffn), E (experts)");
    } else if ((int64_t)strlen(text) != layers) {
        lcp_hf_fail(hf, key, "must have one symbol for each of num_hidden_layers");
    }
    for (int64_t l = 0; l < layers && hf->status == LCP_OK; l++) {
        const char *symbol = strchr(symbols, text[l]);
        if (symbol == NULL) {
            lcp_hf_fail(hf, key, "may hold M, *, - and E only");
            return;
        }
        kinds[l] = (int32_t)(symbol - symbols);
    }
}

/* The list layers_block_type of newer files says the same as hybrid_override_pattern. */
static void read_kinds(int32_t kinds[LCP_MAX_LAYERS], lcp_hf *hf, int64_t layers)
{
    lcp_hf_words words;
    memset(kinds, 0, LCP_MAX_LAYERS * sizeof *kinds);
    lcp_hf_read_words(&words, hf, "layers_block_type", layers, kind_words);
    if (words.list.value == NULL || lcp_hf_has(hf, "hybrid_override_pattern")) {
        read_pattern(kinds, hf, layers);
    }
    for (int64_t l = 0; l < layers && hf->status == LCP_OK; l++) {
        int32_t kind = lcp_hf_word(hf, &words, l, kinds[l]);
        if (lcp_hf_has(hf, "hybrid_override_pattern") && kind != kinds[l]) {
            lcp_hf_fail(hf, "layers_block_type", "does not agree with hybrid_override_pattern");
        }
        kinds[l] = kind;
    }
}

static void read_nemotron_h(lcp_hf *hf)
{
    static const lcp_hf_mamba_keys keys = {"mamba_num_heads", "mamba_head_dim", "ssm_state_size",
                                           "n_groups",        "conv_kernel",    "use_conv_bias"};
    int32_t kinds[LCP_MAX_LAYERS];
    int64_t head_dim = lcp_hf_int_or(hf, "attention_head_dim", 0, 1, 65536);
    lcp_hf_base base = lcp_hf_read_base(hf, (lcp_hf_presets){.head_dim = head_dim});
    read_kinds(kinds, hf, base.layers);
    bool used[KINDS] = {false};
    for (int64_t l = 0; l < base.layers && hf->status == LCP_OK; l++) {
        used[kinds[l]] = true;
    }
    lcp_layer_class classes[KINDS] = {{.attention = lcp_hf_mamba(hf, &keys)},
                                      {.attention = lcp_hf_grouped(&base)},
                                      {.ffn = lcp_hf_plain(base.ffn_size)},
                                      {.norm_parameters = 0}};
    if (used[EXPERTS]) {
        classes[EXPERTS].ffn = nemotron_moe(hf);
    }
    if (used[DENSE]) {
        lcp_hf_need_ffn(hf, &base);
    }
    lcp_hf_start_layers(hf, base.layers);
    for (int64_t l = 0; l < base.layers && hf->status == LCP_OK; l++) {
        classes[kinds[l]].norm_parameters = base.hidden;
        lcp_hf_set_layer(hf, l, &classes[kinds[l]]);
    }
}

/* q, k, v, gate and two scalars per value head in; a convolution over q, k, v; decay and dt bias; a norm per value
 * head. */
static lcp_attention delta_net(lcp_hf *hf)
{
    lcp_attention a = {.kind = LCP_ATTENTION_LINEAR};
    a.kv_heads = lcp_hf_int(hf, "linear_num_key_heads", 1, 65536);
    a.heads = lcp_hf_int(hf, "linear_num_value_heads", 1, 65536);
    a.head_dim = lcp_hf_int(hf, "linear_key_head_dim", 1, 65536);
    a.v_head_dim = lcp_hf_int(hf, "linear_value_head_dim", 1, 65536);
    a.conv_width = lcp_hf_int(hf, "linear_conv_kernel_dim", 1, 64);
    int64_t convolved = 2 * a.kv_heads * a.head_dim + a.heads * a.v_head_dim;
    a.extra_parameters = convolved * a.conv_width + 2 * a.heads + a.v_head_dim;
    if (a.heads % a.kv_heads != 0) {
        lcp_hf_fail(hf, "linear_num_key_heads", "does not divide linear_num_value_heads");
    }
    return a;
}

static lcp_ffn next_moe(lcp_hf *hf, int64_t hidden)
{
    lcp_ffn ffn = {.kind = LCP_FFN_MOE, .gated_experts = true, .shared_experts = 1};
    ffn.experts = lcp_hf_int(hf, "num_experts", 1, 65536);
    ffn.top_k = lcp_hf_int(hf, "num_experts_per_tok", 1, 65536);
    ffn.size = lcp_hf_int(hf, "moe_intermediate_size", 1, LCP_HF_DIMENSION_MAX);
    ffn.shared_size = lcp_hf_int(hf, "shared_expert_intermediate_size", 1, LCP_HF_DIMENSION_MAX);
    ffn.extra_parameters = hidden; /* gate of the shared expert */
    if (ffn.top_k > ffn.experts) {
        lcp_hf_fail(hf, "num_experts_per_tok", "is larger than the number of experts");
    }
    if (lcp_hf_int_or(hf, "decoder_sparse_step", 1, 1, LCP_MAX_LAYERS) != 1) {
        lcp_hf_fail(hf, "decoder_sparse_step", "must be 1 for this family");
    }
    lcp_hf_mark(hf, "mlp_only_layers");
    if (lcp_hf_has(hf, "mlp_only_layers") &&
        json_array_size(json_object_get(hf->object->value, "mlp_only_layers")) > 0) {
        lcp_hf_fail(hf, "mlp_only_layers", "must be empty for this family");
    }
    return ffn;
}

static void read_qwen3_next(lcp_hf *hf)
{
    static const char *const words[] = {"full_attention", "linear_attention", NULL};
    enum { FULL, LINEAR };
    lcp_hf_words types;
    lcp_hf_base base = lcp_hf_read_base(hf, (lcp_hf_presets){.head_dim = 256});
    int64_t interval = lcp_hf_int_or(hf, "full_attention_interval", 4, 1, LCP_MAX_LAYERS);
    lcp_ffn ffn = next_moe(hf, base.hidden);
    lcp_attention full = lcp_hf_grouped(&base);
    full.output_gate = true;
    full.extra_parameters = 2 * base.head_dim; /* q and k norms */
    lcp_attention linear = delta_net(hf);
    lcp_hf_read_words(&types, hf, "layer_types", base.layers, words);
    lcp_hf_start_layers(hf, base.layers);
    for (int64_t l = 0; l < base.layers && hf->status == LCP_OK; l++) {
        int32_t type = lcp_hf_word(hf, &types, l, (l + 1) % interval == 0 ? FULL : LINEAR);
        lcp_layer_class class = {.attention = type == FULL ? full : linear, .ffn = ffn};
        class.norm_parameters = 2 * base.hidden;
        lcp_hf_set_layer(hf, l, &class);
    }
}

const lcp_hf_family lcp_hf_hybrid_families[] = {
    {"nemotron_h", read_nemotron_h},
    {"qwen3_next", read_qwen3_next},
    {NULL, NULL},
};
