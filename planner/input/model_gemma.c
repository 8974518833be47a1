/* Gemma 1 to 3: tied tables, explicit head width, local and global layers in turn. */
#include "input/model_hf.h"

#include <string.h>

static void read_gemma(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, true);
    lcp_layer_class class = {.attention = lcp_hf_grouped(&base), .ffn = lcp_hf_gated(base.ffn_size)};
    class.attention.extra_parameters =
        lcp_hf_bool_or(hf, "attention_bias", false) ? lcp_hf_qkv_width(&base) + base.hidden : 0;
    class.norm_parameters = 2 * base.hidden;
    lcp_hf_uniform(hf, base.layers, &class);
}

/* "sliding_attention" or "full_attention" per layer; absent: every `period`-th layer is global, the others local. */
static void set_pattern(lcp_hf *hf, const lcp_hf_base *base, lcp_layer_class *class, int64_t period)
{
    int64_t window = lcp_hf_int(hf, "sliding_window", 1, INT64_C(1) << 40);
    lcp_json_cursor types = {0};
    bool listed = lcp_hf_has(hf, "layer_types");
    lcp_hf_mark(hf, "layer_types");
    if (listed && hf->status == LCP_OK) {
        hf->status =
            lcp_json_array(&types, hf->object, "layer_types", (size_t)base->layers, (size_t)base->layers, hf->err);
    }
    lcp_hf_start_layers(hf, base->layers);
    for (int64_t l = 0; l < base->layers && hf->status == LCP_OK; l++) {
        const char *type = l % period == period - 1 ? "full_attention" : "sliding_attention";
        if (listed) {
            hf->status = lcp_json_element_string(&type, &types, (size_t)l, hf->err);
        }
        if (hf->status == LCP_OK && strcmp(type, "full_attention") != 0 && strcmp(type, "sliding_attention") != 0) {
            lcp_hf_fail(hf, "layer_types", "may hold \"full_attention\" and \"sliding_attention\" only");
        }
        class->attention.window_tokens = strcmp(type, "sliding_attention") == 0 ? window : 0;
        lcp_hf_set_layer(hf, l, class);
    }
}

static void read_gemma2(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, true);
    lcp_layer_class class = {.attention = lcp_hf_grouped(&base), .ffn = lcp_hf_gated(base.ffn_size)};
    class.attention.extra_parameters =
        lcp_hf_bool_or(hf, "attention_bias", false) ? lcp_hf_qkv_width(&base) + base.hidden : 0;
    class.norm_parameters = 4 * base.hidden;
    set_pattern(hf, &base, &class, 2);
}

static void read_gemma3(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, true);
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
