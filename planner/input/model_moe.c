/* Mixtures of experts: mixtral, qwen2_moe, qwen3_moe, deepseek v2/v3, kimi_k2, glm4_moe, gpt_oss. */
#include "input/model_hf.h"

#include <string.h>

static lcp_ffn moe(int64_t experts, int64_t top_k, int64_t size)
{
    return (lcp_ffn){.kind = LCP_FFN_MOE, .size = size, .gated_experts = true, .experts = experts, .top_k = top_k};
}

static void check_top_k(lcp_hf *hf, const char *key, const lcp_ffn *ffn)
{
    if (ffn->top_k > ffn->experts) {
        lcp_hf_fail(hf, key, "is larger than the number of experts");
    }
}

static void read_mixtral(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, (lcp_hf_presets){0});
    lcp_hf_need_ffn(hf, &base);
    int64_t experts = lcp_hf_int(hf, "num_local_experts", 1, 65536);
    lcp_ffn ffn = moe(experts, lcp_hf_int(hf, "num_experts_per_tok", 1, 65536), base.ffn_size);
    check_top_k(hf, "num_experts_per_tok", &ffn);
    lcp_layer_class class = {.attention = lcp_hf_grouped(&base), .ffn = ffn, .norm_parameters = 2 * base.hidden};
    class.attention.window_tokens = lcp_hf_int_or(hf, "sliding_window", 0, 1, LCP_HF_POSITIONS_MAX);
    lcp_hf_uniform(hf, base.layers, &class);
}

/* decoder_sparse_step and mlp_only_layers say which layers are dense. */
static void set_sparse(lcp_hf *hf, const lcp_hf_base *base, const lcp_attention *attention, const lcp_ffn *sparse)
{
    bool dense_layer[LCP_MAX_LAYERS];
    int64_t step = lcp_hf_int_or(hf, "decoder_sparse_step", 1, 1, LCP_MAX_LAYERS);
    lcp_hf_read_layer_numbers(dense_layer, hf, "mlp_only_layers", base->layers);
    lcp_hf_start_layers(hf, base->layers);
    for (int64_t l = 0; l < base->layers && hf->status == LCP_OK; l++) {
        bool dense = dense_layer[l] || (l + 1) % step != 0;
        if (dense && base->ffn_size == 0) {
            lcp_hf_fail(hf, "intermediate_size", "is missing, and there are dense layers");
        }
        lcp_layer_class class = {.attention = *attention, .ffn = dense ? lcp_hf_gated(base->ffn_size) : *sparse};
        class.norm_parameters = 2 * base->hidden;
        lcp_hf_set_layer(hf, l, &class);
    }
}

static void ignore_unused_window(lcp_hf *hf)
{
    bool windowed = lcp_hf_bool_or(hf, "use_sliding_window", false);
    lcp_hf_mark(hf, "sliding_window");
    lcp_hf_mark(hf, "max_window_layers");
    if (windowed) {
        lcp_hf_fail(hf, "use_sliding_window", "true is not known for this family");
    }
}

static void read_qwen2_moe(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, (lcp_hf_presets){0});
    ignore_unused_window(hf);
    int64_t experts = lcp_hf_int(hf, "num_experts", 1, 65536);
    int64_t top_k = lcp_hf_int(hf, "num_experts_per_tok", 1, 65536);
    lcp_ffn ffn = moe(experts, top_k, lcp_hf_int(hf, "moe_intermediate_size", 1, LCP_HF_DIMENSION_MAX));
    check_top_k(hf, "num_experts_per_tok", &ffn);
    ffn.shared_experts = 1;
    ffn.shared_size = lcp_hf_int(hf, "shared_expert_intermediate_size", 1, LCP_HF_DIMENSION_MAX);
    ffn.extra_parameters = base.hidden; /* gate of the shared expert */
    lcp_attention attention = lcp_hf_grouped(&base);
    attention.extra_parameters = lcp_hf_bool_or(hf, "qkv_bias", true) ? lcp_hf_qkv_width(&base) : 0;
    set_sparse(hf, &base, &attention, &ffn);
}

static void read_qwen3_moe(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, (lcp_hf_presets){0});
    ignore_unused_window(hf);
    int64_t experts = lcp_hf_int(hf, "num_experts", 1, 65536);
    int64_t top_k = lcp_hf_int(hf, "num_experts_per_tok", 1, 65536);
    lcp_ffn ffn = moe(experts, top_k, lcp_hf_int(hf, "moe_intermediate_size", 1, LCP_HF_DIMENSION_MAX));
    check_top_k(hf, "num_experts_per_tok", &ffn);
    lcp_attention attention = lcp_hf_grouped(&base);
    attention.extra_parameters = 2 * base.head_dim;
    attention.extra_parameters +=
        lcp_hf_bool_or(hf, "attention_bias", false) ? lcp_hf_qkv_width(&base) + base.hidden : 0;
    set_sparse(hf, &base, &attention, &ffn);
}

/* DeepSeek's mixture: the first layers dense, then every moe_layer_freq-th a mixture with shared experts. */
static void set_deepseek(lcp_hf *hf, const lcp_hf_base *base, const lcp_attention *attention, bool corrected)
{
    int64_t experts = lcp_hf_int(hf, "n_routed_experts", 1, 65536);
    int64_t top_k = lcp_hf_int(hf, "num_experts_per_tok", 1, 65536);
    lcp_ffn ffn = moe(experts, top_k, lcp_hf_int(hf, "moe_intermediate_size", 1, LCP_HF_DIMENSION_MAX));
    check_top_k(hf, "num_experts_per_tok", &ffn);
    ffn.shared_experts = lcp_hf_int_or(hf, "n_shared_experts", 0, 0, 1024);
    ffn.shared_size = ffn.shared_experts > 0 ? ffn.size : 0;
    ffn.extra_parameters = corrected ? experts : 0; /* one correction per expert in the router */
    int64_t dense = lcp_hf_int_or(hf, "first_k_dense_replace", 0, 0, LCP_MAX_LAYERS);
    int64_t step = lcp_hf_int_or(hf, "moe_layer_freq", 1, 1, LCP_MAX_LAYERS);
    int64_t mtp = lcp_hf_int_or(hf, "num_nextn_predict_layers", 0, 0, 64);
    lcp_layer_class class = {.attention = *attention, .norm_parameters = 2 * base->hidden};
    lcp_hf_start_layers(hf, base->layers);
    for (int64_t l = 0; l < base->layers && hf->status == LCP_OK; l++) {
        bool sparse = l >= dense && l % step == 0;
        if (!sparse && base->ffn_size == 0) {
            lcp_hf_fail(hf, "intermediate_size", "is missing, and there are dense layers");
        }
        class.ffn = sparse ? ffn : lcp_hf_gated(base->ffn_size);
        lcp_hf_set_layer(hf, l, &class);
    }
    class.ffn = ffn;
    lcp_hf_set_mtp(hf, mtp, &class);
}

/* `corrected`: the router's correction where topk_method is silent. */
static void read_deepseek(lcp_hf *hf, bool corrected)
{
    /* num_key_value_heads equals the heads and head_dim, where present, is not a width of latent attention */
    lcp_hf_mark(hf, "head_dim");
    lcp_hf_mark(hf, "qk_head_dim"); /* the sum of the two widths */
    lcp_hf_base base = {.hidden = lcp_hf_int(hf, "hidden_size", 1, LCP_HF_DIMENSION_MAX)};
    base.layers = lcp_hf_int(hf, "num_hidden_layers", 1, LCP_MAX_LAYERS);
    base.heads = lcp_hf_int(hf, "num_attention_heads", 1, 65536);
    lcp_hf_int_or(hf, "num_key_value_heads", base.heads, 1, 65536);
    base.ffn_size = lcp_hf_int_or(hf, "intermediate_size", 0, 1, LCP_HF_DIMENSION_MAX);
    hf->out->hidden_size = base.hidden;
    hf->out->vocab_size = lcp_hf_int(hf, "vocab_size", 1, LCP_HF_DIMENSION_MAX);
    hf->out->max_position_tokens = lcp_hf_int_or(hf, "max_position_embeddings", 0, 1, LCP_HF_POSITIONS_MAX);
    hf->out->tied_embeddings = lcp_hf_tied(hf, false);
    hf->out->final_extra_parameters = base.hidden;
    lcp_attention attention = {.kind = LCP_ATTENTION_LATENT, .heads = base.heads, .kv_heads = base.heads};
    attention.q_rank = lcp_hf_int_or(hf, "q_lora_rank", 0, 1, LCP_HF_DIMENSION_MAX);
    attention.kv_rank = lcp_hf_int(hf, "kv_lora_rank", 1, LCP_HF_DIMENSION_MAX);
    attention.nope_head_dim = lcp_hf_int(hf, "qk_nope_head_dim", 1, 65536);
    attention.rope_head_dim = lcp_hf_int(hf, "qk_rope_head_dim", 1, 65536);
    attention.head_dim = attention.nope_head_dim + attention.rope_head_dim;
    attention.v_head_dim = lcp_hf_int(hf, "v_head_dim", 1, 65536);
    attention.extra_parameters = attention.q_rank + attention.kv_rank; /* norms of the latents */
    json_t *method = json_object_get(hf->object->value, "topk_method");
    if (json_is_string(method)) {
        corrected = strcmp(json_string_value(method), "noaux_tc") == 0;
    }
    set_deepseek(hf, &base, &attention, corrected);
}

static void read_deepseek_v2(lcp_hf *hf)
{
    read_deepseek(hf, false);
}

static void read_deepseek_v3(lcp_hf *hf)
{
    read_deepseek(hf, true);
}

static void read_glm4_moe(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, (lcp_hf_presets){.head_dim = 128});
    lcp_attention attention = lcp_hf_grouped(&base);
    attention.extra_parameters = lcp_hf_bool_or(hf, "attention_bias", false) ? lcp_hf_qkv_width(&base) : 0;
    attention.extra_parameters += lcp_hf_bool_or(hf, "use_qk_norm", false) ? 2 * base.head_dim : 0;
    set_deepseek(hf, &base, &attention, true);
}

/* Local and global layers in turn, biases everywhere, one learned sink per head. */
static void read_gpt_oss(lcp_hf *hf)
{
    lcp_hf_words types;
    lcp_hf_base base = lcp_hf_read_base(hf, (lcp_hf_presets){.head_dim = 64});
    lcp_hf_need_ffn(hf, &base);
    int64_t experts = lcp_hf_int(hf, "num_local_experts", 1, 65536);
    int64_t top_k = lcp_hf_int(hf, "num_experts_per_tok", 1, 65536);
    lcp_hf_mark(hf, "experts_per_token"); /* the same number */
    lcp_ffn ffn = moe(experts, top_k, base.ffn_size);
    check_top_k(hf, "num_experts_per_tok", &ffn);
    ffn.extra_parameters = experts;
    ffn.expert_extra_parameters = 2 * base.ffn_size + base.hidden;
    lcp_layer_class class = {.attention = lcp_hf_grouped(&base), .ffn = ffn, .norm_parameters = 2 * base.hidden};
    bool bias = lcp_hf_bool_or(hf, "attention_bias", true);
    class.attention.extra_parameters = base.heads + (bias ? lcp_hf_qkv_width(&base) + base.hidden : 0);
    hf->out->attention_needs_all_keys = true;
    int64_t window = lcp_hf_int(hf, "sliding_window", 1, LCP_HF_POSITIONS_MAX);
    lcp_hf_read_words(&types, hf, "layer_types", base.layers, lcp_hf_window_words);
    lcp_hf_start_layers(hf, base.layers);
    for (int64_t l = 0; l < base.layers && hf->status == LCP_OK; l++) {
        int32_t preset = l % 2 == 0 ? LCP_HF_LOCAL : LCP_HF_GLOBAL;
        class.attention.window_tokens = lcp_hf_word(hf, &types, l, preset) == LCP_HF_LOCAL ? window : 0;
        lcp_hf_set_layer(hf, l, &class);
    }
}

const lcp_hf_family lcp_hf_moe_families[] = {
    {"mixtral", read_mixtral},         {"qwen2_moe", read_qwen2_moe},     {"qwen3_moe", read_qwen3_moe},
    {"deepseek_v2", read_deepseek_v2}, {"deepseek_v3", read_deepseek_v3}, {"kimi_k2", read_deepseek_v3},
    {"glm4_moe", read_glm4_moe},       {"gpt_oss", read_gpt_oss},         {NULL, NULL},
};
