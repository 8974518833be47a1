/* Gemma 1 to 3: tied tables, explicit head width, local and global layers in turn. */
#include "input/model_hf.h"

static const lcp_hf_presets presets = {.head_dim = 256, .tied = true};
/* Published files of gemma 3 say little more than the number of layers and two widths. */
static const lcp_hf_presets presets_3 = {
    .heads = 8, .kv_heads = 4, .head_dim = 256, .vocab = 262208, .positions = 131072, .tied = true};

static lcp_hf_base read_sizes(lcp_hf *hf, const lcp_hf_presets *family)
{
    lcp_hf_base base = lcp_hf_read_base(hf, *family);
    lcp_hf_need_ffn(hf, &base);
    return base;
}

static void read_gemma(lcp_hf *hf)
{
    lcp_hf_base base = read_sizes(hf, &presets);
    lcp_layer_class class = {.attention = lcp_hf_grouped(&base), .ffn = lcp_hf_gated(base.ffn_size)};
    class.attention.extra_parameters =
        lcp_hf_bool_or(hf, "attention_bias", false) ? lcp_hf_qkv_width(&base) + base.hidden : 0;
    class.norm_parameters = 2 * base.hidden;
    lcp_hf_uniform(hf, base.layers, &class);
}

/* layer_types or, without it, every `period`-th layer global and the others local. */
static void set_pattern(lcp_hf *hf, const lcp_hf_base *base, lcp_layer_class *class, int64_t period)
{
    lcp_hf_words types;
    int64_t window = lcp_hf_int(hf, "sliding_window", 1, LCP_HF_POSITIONS_MAX);
    lcp_hf_mark(hf, "sliding_window_size"); /* the same number in early files */
    lcp_hf_read_words(&types, hf, "layer_types", base->layers, lcp_hf_window_words);
    lcp_hf_start_layers(hf, base->layers);
    for (int64_t l = 0; l < base->layers && hf->status == LCP_OK; l++) {
        int32_t preset = l % period == period - 1 ? LCP_HF_GLOBAL : LCP_HF_LOCAL;
        class->attention.window_tokens = lcp_hf_word(hf, &types, l, preset) == LCP_HF_LOCAL ? window : 0;
        lcp_hf_set_layer(hf, l, class);
    }
}

static void read_gemma2(lcp_hf *hf)
{
    lcp_hf_base base = read_sizes(hf, &presets);
    lcp_layer_class class = {.attention = lcp_hf_grouped(&base), .ffn = lcp_hf_gated(base.ffn_size)};
    class.attention.extra_parameters =
        lcp_hf_bool_or(hf, "attention_bias", false) ? lcp_hf_qkv_width(&base) + base.hidden : 0;
    class.norm_parameters = 4 * base.hidden;
    set_pattern(hf, &base, &class, 2);
}

static void read_gemma3(lcp_hf *hf)
{
    lcp_hf_base base = read_sizes(hf, &presets_3);
    int64_t period = lcp_hf_int_or(hf, "sliding_window_pattern", 6, 1, LCP_MAX_LAYERS);
    lcp_layer_class class = {.attention = lcp_hf_grouped(&base), .ffn = lcp_hf_gated(base.ffn_size)};
    class.attention.extra_parameters = 2 * base.head_dim; /* q and k norms */
    class.attention.extra_parameters +=
        lcp_hf_bool_or(hf, "attention_bias", false) ? lcp_hf_qkv_width(&base) + base.hidden : 0;
    class.norm_parameters = 4 * base.hidden;
    set_pattern(hf, &base, &class, period);
}

const lcp_hf_family lcp_hf_gemma_families[] = {
    {"gemma", read_gemma}, {"gemma2", read_gemma2}, {"gemma3", read_gemma3}, {"gemma3_text", read_gemma3}, {NULL, NULL},
};
