/* Dense decoders with rotary positions and a gated ffn: llama, mistral, qwen2, qwen3, phi3, chatglm, glm4. */
#include "input/model_hf.h"

static void require_ffn(lcp_hf *hf, const lcp_hf_base *base)
{
    if (base->ffn_size == 0) {
        lcp_hf_fail(hf, "intermediate_size", "is missing");
    }
}

/* use_sliding_window (absent: true) decides whether sliding_window counts; max_window_layers: layers before it see all.
 */
static void set_windowed(lcp_hf *hf, const lcp_hf_base *base, lcp_layer_class *class, bool windowed_by_default)
{
    bool windowed = lcp_hf_bool_or(hf, "use_sliding_window", windowed_by_default);
    int64_t window = lcp_hf_int_or(hf, "sliding_window", 0, 1, INT64_C(1) << 40);
    int64_t first = lcp_hf_int_or(hf, "max_window_layers", 0, 0, LCP_MAX_LAYERS);
    lcp_hf_mark(hf, "layer_types"); /* agrees with the three keys above in published files */
    lcp_hf_start_layers(hf, base->layers);
    for (int64_t l = 0; l < base->layers && hf->status == LCP_OK; l++) {
        class->attention.window_tokens = windowed && window > 0 && l >= first ? window : 0;
        lcp_hf_set_layer(hf, l, class);
    }
}

static void read_llama(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, false);
    require_ffn(hf, &base);
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
    lcp_hf_base base = lcp_hf_read_base(hf, false);
    require_ffn(hf, &base);
    lcp_layer_class class = {.attention = lcp_hf_grouped(&base), .ffn = lcp_hf_gated(base.ffn_size)};
    class.norm_parameters = 2 * base.hidden;
    set_windowed(hf, &base, &class, true);
}

static void read_qwen2(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, false);
    require_ffn(hf, &base);
    lcp_layer_class class = {.attention = lcp_hf_grouped(&base), .ffn = lcp_hf_gated(base.ffn_size)};
    class.attention.extra_parameters = lcp_hf_qkv_width(&base);
    class.norm_parameters = 2 * base.hidden;
    set_windowed(hf, &base, &class, false);
}

static void read_qwen3(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, false);
    require_ffn(hf, &base);
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
    lcp_hf_base base = lcp_hf_read_base(hf, false);
    require_ffn(hf, &base);
    lcp_layer_class class = {.attention = lcp_hf_grouped(&base), .ffn = lcp_hf_gated(base.ffn_size)};
    class.norm_parameters = 2 * base.hidden;
    if (lcp_hf_bool_or(hf, "attention_bias", false)) {
        lcp_hf_fail(hf, "attention_bias", "true is not known for this family");
    }
    set_windowed(hf, &base, &class, true);
}

/* GLM-4-0414: two norms more per layer. */
static void read_glm4(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, false);
    require_ffn(hf, &base);
    lcp_layer_class class = {.attention = lcp_hf_grouped(&base), .ffn = lcp_hf_gated(base.ffn_size)};
    class.attention.extra_parameters = lcp_hf_bool_or(hf, "attention_bias", false) ? lcp_hf_qkv_width(&base) : 0;
    class.norm_parameters = 4 * base.hidden;
    lcp_hf_uniform(hf, base.layers, &class);
}

static void read_chatglm(lcp_hf *hf)
{
    lcp_hf_base base = {.hidden = lcp_hf_int(hf, "hidden_size", 1, LCP_HF_DIMENSION_MAX)};
    base.layers = lcp_hf_int(hf, "num_layers", 1, LCP_MAX_LAYERS);
    base.heads = lcp_hf_int(hf, "num_attention_heads", 1, 65536);
    base.head_dim = lcp_hf_int_or(hf, "kv_channels", base.hidden / base.heads, 1, 65536);
    bool grouped = lcp_hf_bool_or(hf, "multi_query_attention", false);
    base.kv_heads = lcp_hf_int_or(hf, "multi_query_group_num", grouped ? 1 : base.heads, 1, 65536);
    base.kv_heads = grouped ? base.kv_heads : base.heads;
    base.ffn_size = lcp_hf_int(hf, "ffn_hidden_size", 1, LCP_HF_DIMENSION_MAX);
    int64_t norm = base.hidden * (lcp_hf_bool_or(hf, "rmsnorm", true) ? 1 : 2);
    int64_t vocabulary = lcp_hf_int_or(hf, "vocab_size", 0, 1, LCP_HF_DIMENSION_MAX);
    hf->out->vocab_size = lcp_hf_int_or(hf, "padded_vocab_size", vocabulary, 1, LCP_HF_DIMENSION_MAX);
    if (hf->out->vocab_size == 0) {
        lcp_hf_fail(hf, "padded_vocab_size", "is missing, and so is vocab_size");
    }
    hf->out->hidden_size = base.hidden;
    hf->out->max_position_tokens = lcp_hf_int_or(hf, "seq_length", 0, 1, INT64_C(1) << 40);
    hf->out->tied_embeddings = lcp_hf_bool_or(hf, "tie_word_embeddings", false);
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
    {"glm4", read_glm4},   {"chatglm", read_chatglm}, {NULL, NULL},
};
