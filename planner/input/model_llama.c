/* Dense decoders with rotary positions and a gated ffn: llama, mistral, qwen2, qwen3, phi3, chatglm, glm, glm4. */
#include "input/model_hf.h"

/* sliding_window where it is in force, 0 = nowhere. */
static int64_t window_in_force(lcp_hf *hf, bool by_default)
{
    bool windowed = lcp_hf_bool_or(hf, "use_sliding_window", by_default);
    bool silent = json_object_get(hf->object->value, "sliding_window") == NULL;
    int64_t window = lcp_hf_int_or(hf, "sliding_window", 0, 1, LCP_HF_POSITIONS_MAX);
    if (windowed && silent && lcp_hf_has(hf, "use_sliding_window")) {
        lcp_hf_fail(hf, "sliding_window", "is missing, and use_sliding_window is true");
    }
    return windowed ? window : 0;
}

/* Which layers have the window: layer_types or, without it, all from max_window_layers on. */
static void set_windowed(lcp_hf *hf, const lcp_hf_base *base, lcp_layer_class *class, bool windowed_by_default)
{
    lcp_hf_words types;
    int64_t window = window_in_force(hf, windowed_by_default);
    int64_t first = lcp_hf_int_or(hf, "max_window_layers", 0, 0, LCP_MAX_LAYERS);
    lcp_hf_read_words(&types, hf, "layer_types", base->layers, lcp_hf_window_words);
    lcp_hf_start_layers(hf, base->layers);
    for (int64_t l = 0; l < base->layers && hf->status == LCP_OK; l++) {
        int32_t preset = window > 0 && l >= first ? LCP_HF_LOCAL : LCP_HF_GLOBAL;
        bool local = lcp_hf_word(hf, &types, l, preset) == LCP_HF_LOCAL;
        if (local && window == 0) {
            lcp_json_cursor at = lcp_json_element(&types.list, (size_t)l);
            hf->status = lcp_json_fail(&at, NULL, hf->err, "found sliding_attention, but no window is in force");
        }
        class->attention.window_tokens = local ? window : 0;
        lcp_hf_set_layer(hf, l, class);
    }
}

static void read_llama(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, (lcp_hf_presets){.kv_heads = LCP_HF_LIKE_HEADS});
    lcp_hf_need_ffn(hf, &base);
    lcp_layer_class class = {.attention = lcp_hf_grouped(&base), .ffn = lcp_hf_gated(base.ffn_size)};
    class.norm_parameters = 2 * base.hidden;
    if (lcp_hf_bool_or(hf, "attention_bias", false)) {
        class.attention.extra_parameters = lcp_hf_qkv_width(&base) + base.hidden;
    }
    if (lcp_hf_bool_or(hf, "mlp_bias", false)) {
        class.ffn.extra_parameters = 2 * base.ffn_size + base.hidden;
    }
    lcp_hf_uniform(hf, base.layers, &class);
}

static void read_mistral(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, (lcp_hf_presets){0});
    lcp_hf_need_ffn(hf, &base);
    lcp_layer_class class = {.attention = lcp_hf_grouped(&base), .ffn = lcp_hf_gated(base.ffn_size)};
    class.norm_parameters = 2 * base.hidden;
    set_windowed(hf, &base, &class, true);
}

static void read_qwen2(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, (lcp_hf_presets){0});
    lcp_hf_need_ffn(hf, &base);
    lcp_layer_class class = {.attention = lcp_hf_grouped(&base), .ffn = lcp_hf_gated(base.ffn_size)};
    class.attention.extra_parameters = lcp_hf_qkv_width(&base);
    class.norm_parameters = 2 * base.hidden;
    set_windowed(hf, &base, &class, false);
}

static void read_qwen3(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, (lcp_hf_presets){.head_dim = 128});
    lcp_hf_need_ffn(hf, &base);
    lcp_layer_class class = {.attention = lcp_hf_grouped(&base), .ffn = lcp_hf_gated(base.ffn_size)};
    class.attention.extra_parameters = 2 * base.head_dim;
    if (lcp_hf_bool_or(hf, "attention_bias", false)) {
        class.attention.extra_parameters += lcp_hf_qkv_width(&base) + base.hidden;
    }
    class.norm_parameters = 2 * base.hidden;
    set_windowed(hf, &base, &class, false);
}

static void read_phi3(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, (lcp_hf_presets){.kv_heads = LCP_HF_LIKE_HEADS});
    lcp_hf_need_ffn(hf, &base);
    lcp_layer_class class = {.attention = lcp_hf_grouped(&base), .ffn = lcp_hf_gated(base.ffn_size)};
    class.norm_parameters = 2 * base.hidden;
    lcp_hf_int_or(hf, "full_attn_mod", 1, 1, 1);
    set_windowed(hf, &base, &class, true);
}

static void read_glm_norms(lcp_hf *hf, int64_t norms)
{
    lcp_hf_base base = lcp_hf_read_base(hf, (lcp_hf_presets){.head_dim = 128});
    lcp_hf_need_ffn(hf, &base);
    lcp_layer_class class = {.attention = lcp_hf_grouped(&base), .ffn = lcp_hf_gated(base.ffn_size)};
    class.attention.extra_parameters = lcp_hf_bool_or(hf, "attention_bias", false) ? lcp_hf_qkv_width(&base) : 0;
    class.norm_parameters = norms * base.hidden;
    lcp_hf_uniform(hf, base.layers, &class);
}

static void read_glm(lcp_hf *hf)
{
    read_glm_norms(hf, 2);
}

static void read_glm4(lcp_hf *hf)
{
    read_glm_norms(hf, 4);
}

static lcp_hf_base chatglm_base(lcp_hf *hf)
{
    lcp_hf_base base = {.hidden = lcp_hf_int(hf, "hidden_size", 1, LCP_HF_DIMENSION_MAX)};
    base.layers = lcp_hf_int(hf, "num_layers", 1, LCP_MAX_LAYERS);
    lcp_hf_int_or(hf, "num_hidden_layers", base.layers, base.layers, base.layers);
    base.heads = lcp_hf_int(hf, "num_attention_heads", 1, 65536);
    if (!lcp_hf_has(hf, "kv_channels") && base.hidden % base.heads != 0) {
        lcp_hf_fail(hf, "num_attention_heads", "does not divide hidden_size, and there is no kv_channels");
    }
    base.head_dim = lcp_hf_int_or(hf, "kv_channels", base.hidden / base.heads, 1, 65536);
    bool grouped = lcp_hf_bool_or(hf, "multi_query_attention", false);
    base.kv_heads = lcp_hf_int_or(hf, "multi_query_group_num", grouped ? 1 : base.heads, 1, 65536);
    base.kv_heads = grouped ? base.kv_heads : base.heads;
    if (base.heads % base.kv_heads != 0) {
        lcp_hf_fail(hf, "multi_query_group_num", "does not divide num_attention_heads");
    }
    base.ffn_size = lcp_hf_int(hf, "ffn_hidden_size", 1, LCP_HF_DIMENSION_MAX);
    return base;
}

static void read_chatglm(lcp_hf *hf)
{
    lcp_hf_base base = chatglm_base(hf);
    int64_t norm = base.hidden * (lcp_hf_bool_or(hf, "rmsnorm", true) ? 1 : 2);
    int64_t vocabulary = lcp_hf_int_or(hf, "vocab_size", 0, 1, LCP_HF_DIMENSION_MAX);
    hf->out->vocab_size = lcp_hf_int_or(hf, "padded_vocab_size", vocabulary, 1, LCP_HF_DIMENSION_MAX);
    if (hf->out->vocab_size == 0) {
        lcp_hf_fail(hf, "padded_vocab_size", "is missing, and so is vocab_size");
    }
    hf->out->hidden_size = base.hidden;
    hf->out->max_position_tokens = lcp_hf_int_or(hf, "seq_length", 0, 1, LCP_HF_POSITIONS_MAX);
    hf->out->tied_embeddings = lcp_hf_tied(hf, false);
    hf->out->final_extra_parameters = norm;
    bool linear_bias = lcp_hf_bool_or(hf, "add_bias_linear", false);
    bool qkv_bias = lcp_hf_bool_or(hf, "add_qkv_bias", false);
    lcp_layer_class class = {.attention = lcp_hf_grouped(&base), .ffn = lcp_hf_gated(base.ffn_size)};
    class.attention.extra_parameters =
        (linear_bias || qkv_bias ? lcp_hf_qkv_width(&base) : 0) + (linear_bias ? base.hidden : 0);
    class.ffn.extra_parameters = linear_bias ? 2 * base.ffn_size + base.hidden : 0;
    class.norm_parameters = 2 * norm;
    lcp_hf_uniform(hf, base.layers, &class);
}

const lcp_hf_family lcp_hf_llama_families[] = {
    {"llama", read_llama}, {"mistral", read_mistral}, {"ministral", read_mistral},
    {"qwen2", read_qwen2}, {"qwen3", read_qwen3},     {"phi3", read_phi3},
    {"glm", read_glm},     {"glm4", read_glm4},       {"chatglm", read_chatglm},
    {NULL, NULL},
};
