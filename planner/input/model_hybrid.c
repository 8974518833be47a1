/* Layers without softmax attention: nemotron_h (Mamba-2, attention and ffn as layers of their own), qwen3_next (gated
 * delta net with full attention every few layers). */
#include "input/model_hf.h"

#include <string.h>

/* in_proj, convolution over x, B and C with bias, A, D, dt bias per head, a norm over the inner width, out_proj. */
static lcp_attention mamba(lcp_hf *hf)
{
    lcp_attention a = {.kind = LCP_ATTENTION_STATE_SPACE, .kv_heads = 0};
    a.heads = lcp_hf_int(hf, "mamba_num_heads", 1, 65536);
    a.head_dim = lcp_hf_int(hf, "mamba_head_dim", 1, 65536);
    a.v_head_dim = a.head_dim;
    a.state_size = lcp_hf_int(hf, "ssm_state_size", 1, 65536);
    a.groups = lcp_hf_int(hf, "n_groups", 1, 65536);
    a.conv_width = lcp_hf_int(hf, "conv_kernel", 1, 64);
    int64_t inner = a.heads * a.head_dim;
    int64_t convolved = inner + 2 * a.groups * a.state_size;
    bool conv_bias = lcp_hf_bool_or(hf, "use_conv_bias", true);
    a.extra_parameters = convolved * (a.conv_width + (conv_bias ? 1 : 0)) + 3 * a.heads + inner;
    return a;
}

static lcp_ffn nemotron_moe(lcp_hf *hf)
{
    lcp_ffn ffn = {.kind = LCP_FFN_MOE, .gated_experts = false};
    ffn.experts = lcp_hf_int(hf, "n_routed_experts", 1, 65536);
    ffn.top_k = lcp_hf_int(hf, "num_experts_per_tok", 1, 65536);
    ffn.size = lcp_hf_int(hf, "moe_intermediate_size", 1, LCP_HF_DIMENSION_MAX);
    ffn.shared_experts = lcp_hf_int_or(hf, "n_shared_experts", 0, 0, 1024);
    ffn.shared_size = lcp_hf_int_or(hf, "moe_shared_expert_intermediate_size", ffn.size, 1, LCP_HF_DIMENSION_MAX);
    if (ffn.top_k > ffn.experts) {
        lcp_hf_fail(hf, "num_experts_per_tok", "is larger than the number of experts");
    }
    return ffn;
}

static const char *pattern_of(lcp_hf *hf, int64_t layers)
{
    json_t *pattern = json_object_get(hf->object->value, "hybrid_override_pattern");
    lcp_hf_mark(hf, "hybrid_override_pattern");
    const char *text = json_is_string(pattern) ? json_string_value(pattern) : NULL;
    if (text == NULL) {
        lcp_hf_fail(hf, "hybrid_override_pattern",
                    "must be a string of M (Mamba), * (attention), - (ffn), E (experts)");
    } else if ((int64_t)strlen(text) != layers) {
        lcp_hf_fail(hf, "hybrid_override_pattern", "must have one symbol for each of num_hidden_layers");
    }
    return text;
}

static void read_nemotron_h(lcp_hf *hf)
{
    int64_t head_dim = lcp_hf_int_or(hf, "attention_head_dim", 0, 1, 65536);
    lcp_hf_base base = lcp_hf_read_base(hf, false);
    base.head_dim = head_dim > 0 ? head_dim : base.head_dim;
    const char *pattern = pattern_of(hf, base.layers);
    if (lcp_hf_bool_or(hf, "use_bias", false) || lcp_hf_bool_or(hf, "attention_bias", false) ||
        lcp_hf_bool_or(hf, "mlp_bias", false)) {
        lcp_hf_fail(hf, "use_bias", "biases are not known for this family");
    }
    bool experts = pattern != NULL && strchr(pattern, 'E') != NULL;
    lcp_layer_class mamba_class = {.attention = mamba(hf), .norm_parameters = base.hidden};
    lcp_layer_class attention_class = {.attention = lcp_hf_grouped(&base), .norm_parameters = base.hidden};
    lcp_layer_class ffn_class = {.ffn = lcp_hf_plain(base.ffn_size), .norm_parameters = base.hidden};
    lcp_layer_class moe_class = {.norm_parameters = base.hidden};
    if (experts) {
        moe_class.ffn = nemotron_moe(hf);
    }
    static const char symbols[] = "M*-E";
    const lcp_layer_class *classes[] = {&mamba_class, &attention_class, &ffn_class, &moe_class};
    lcp_hf_start_layers(hf, base.layers);
    for (int64_t l = 0; l < base.layers && hf->status == LCP_OK; l++) {
        const char *symbol = strchr(symbols, pattern[l]);
        if (symbol == NULL || (*symbol == '-' && base.ffn_size == 0)) {
            lcp_hf_fail(hf, "hybrid_override_pattern", "may hold M, *, - and E only, and - needs intermediate_size");
            return;
        }
        lcp_hf_set_layer(hf, l, classes[symbol - symbols]);
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

static void read_qwen3_next(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, false);
    int64_t interval = lcp_hf_int_or(hf, "full_attention_interval", 4, 1, LCP_MAX_LAYERS);
    lcp_ffn ffn = {.kind = LCP_FFN_MOE, .gated_experts = true, .shared_experts = 1, .extra_parameters = base.hidden};
    ffn.experts = lcp_hf_int(hf, "num_experts", 1, 65536);
    ffn.top_k = lcp_hf_int(hf, "num_experts_per_tok", 1, 65536);
    ffn.size = lcp_hf_int(hf, "moe_intermediate_size", 1, LCP_HF_DIMENSION_MAX);
    ffn.shared_size = lcp_hf_int(hf, "shared_expert_intermediate_size", 1, LCP_HF_DIMENSION_MAX);
    if (lcp_hf_int_or(hf, "decoder_sparse_step", 1, 1, LCP_MAX_LAYERS) != 1) {
        lcp_hf_fail(hf, "decoder_sparse_step", "must be 1 for this family");
    }
    json_t *dense = json_object_get(hf->object->value, "mlp_only_layers");
    lcp_hf_mark(hf, "mlp_only_layers");
    lcp_hf_mark(hf, "layer_types"); /* follows from full_attention_interval */
    if (json_array_size(dense) > 0) {
        lcp_hf_fail(hf, "mlp_only_layers", "must be empty for this family");
    }
    lcp_attention full = lcp_hf_grouped(&base);
    full.output_gate = true;
    full.extra_parameters = 2 * base.head_dim; /* q and k norms */
    lcp_attention linear = delta_net(hf);
    lcp_hf_start_layers(hf, base.layers);
    for (int64_t l = 0; l < base.layers && hf->status == LCP_OK; l++) {
        lcp_layer_class class = {.attention = (l + 1) % interval == 0 ? full : linear, .ffn = ffn};
        class.norm_parameters = 2 * base.hidden;
        lcp_hf_set_layer(hf, l, &class);
    }
}

const lcp_hf_family lcp_hf_hybrid_families[] = {
    {"nemotron_h", read_nemotron_h},
    {"qwen3_next", read_qwen3_next},
    {NULL, NULL},
};
