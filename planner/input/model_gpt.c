/* Earlier decoders with a plain ffn: gpt2, gpt_neox, opt, mpt. */
#include "input/model_hf.h"

/* Biases of q, k, v, o and of the two ffn products; norms with a bias. */
static lcp_layer_class biased(const lcp_hf_base *base, bool bias)
{
    lcp_layer_class class = {.attention = lcp_hf_grouped(base), .ffn = lcp_hf_plain(base->ffn_size)};
    class.norm_parameters = 2 * base->hidden * (bias ? 2 : 1);
    if (bias) {
        class.attention.extra_parameters = lcp_hf_qkv_width(base) + base->hidden;
        class.ffn.extra_parameters = base->ffn_size + base->hidden;
    }
    return class;
}

static void set_common(lcp_hf *hf, const lcp_hf_base *base, bool tied, bool bias)
{
    if (base->hidden % base->heads != 0) {
        lcp_hf_fail(hf, NULL, "the number of heads does not divide the hidden width");
    }
    hf->out->hidden_size = base->hidden;
    hf->out->tied_embeddings = lcp_hf_bool_or(hf, "tie_word_embeddings", tied);
    hf->out->final_extra_parameters = base->hidden * (bias ? 2 : 1);
    lcp_layer_class class = biased(base, bias);
    lcp_hf_uniform(hf, base->layers, &class);
}

static void read_gpt2(lcp_hf *hf)
{
    lcp_hf_base base = {.hidden = lcp_hf_int(hf, "n_embd", 1, LCP_HF_DIMENSION_MAX)};
    base.layers = lcp_hf_int(hf, "n_layer", 1, LCP_MAX_LAYERS);
    base.heads = lcp_hf_int(hf, "n_head", 1, 65536);
    base.kv_heads = base.heads;
    base.head_dim = base.hidden / base.heads;
    base.ffn_size = lcp_hf_int_or(hf, "n_inner", 4 * base.hidden, 1, LCP_HF_DIMENSION_MAX);
    hf->out->vocab_size = lcp_hf_int(hf, "vocab_size", 1, LCP_HF_DIMENSION_MAX);
    hf->out->max_position_tokens = lcp_hf_int(hf, "n_positions", 1, INT64_C(1) << 40);
    lcp_hf_mark(hf, "n_ctx"); /* the same number */
    hf->out->learned_positions = true;
    hf->out->position_parameters = hf->out->max_position_tokens * base.hidden;
    set_common(hf, &base, true, true);
}

static void read_gpt_neox(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, false);
    bool bias = lcp_hf_bool_or(hf, "attention_bias", true);
    lcp_hf_mark(hf, "use_parallel_residual"); /* same products and norms, another order */
    lcp_layer_class class = biased(&base, true);
    class.attention.extra_parameters = bias ? class.attention.extra_parameters : 0;
    hf->out->final_extra_parameters = 2 * base.hidden;
    lcp_hf_uniform(hf, base.layers, &class);
}

/* Learned positions with two spare rows. */
static void read_opt(lcp_hf *hf)
{
    lcp_hf_base base = {.hidden = lcp_hf_int(hf, "hidden_size", 1, LCP_HF_DIMENSION_MAX)};
    base.layers = lcp_hf_int(hf, "num_hidden_layers", 1, LCP_MAX_LAYERS);
    base.heads = lcp_hf_int(hf, "num_attention_heads", 1, 65536);
    base.kv_heads = base.heads;
    base.head_dim = base.hidden / base.heads;
    base.ffn_size = lcp_hf_int(hf, "ffn_dim", 1, LCP_HF_DIMENSION_MAX);
    hf->out->vocab_size = lcp_hf_int(hf, "vocab_size", 1, LCP_HF_DIMENSION_MAX);
    hf->out->max_position_tokens = lcp_hf_int(hf, "max_position_embeddings", 1, INT64_C(1) << 40);
    hf->out->learned_positions = true;
    hf->out->position_parameters = (hf->out->max_position_tokens + 2) * base.hidden;
    if (lcp_hf_int_or(hf, "word_embed_proj_dim", base.hidden, 1, LCP_HF_DIMENSION_MAX) != base.hidden) {
        lcp_hf_fail(hf, "word_embed_proj_dim", "must equal hidden_size: projected embeddings are not known");
    }
    if (!lcp_hf_bool_or(hf, "do_layer_norm_before", true)) {
        lcp_hf_fail(hf, "do_layer_norm_before", "false is not known for this family");
    }
    bool bias = lcp_hf_bool_or(hf, "enable_bias", true);
    lcp_hf_mark(hf, "layer_norm_elementwise_affine");
    set_common(hf, &base, true, bias);
}

/* ALiBi positions are computed inside attention. */
static void read_mpt(lcp_hf *hf)
{
    lcp_hf_base base = {.hidden = lcp_hf_int(hf, "d_model", 1, LCP_HF_DIMENSION_MAX)};
    base.layers = lcp_hf_int(hf, "n_layers", 1, LCP_MAX_LAYERS);
    base.heads = lcp_hf_int(hf, "n_heads", 1, 65536);
    base.head_dim = base.hidden / base.heads;
    base.kv_heads = base.heads;
    base.ffn_size = base.hidden * lcp_hf_int_or(hf, "expansion_ratio", 4, 1, 64);
    hf->out->vocab_size = lcp_hf_int(hf, "vocab_size", 1, LCP_HF_DIMENSION_MAX);
    hf->out->max_position_tokens = lcp_hf_int_or(hf, "max_seq_len", 0, 1, INT64_C(1) << 40);
    bool bias = !lcp_hf_bool_or(hf, "no_bias", false);
    lcp_hf_mark(hf, "learned_pos_emb");
    lcp_hf_mark(hf, "verbose");
    lcp_hf_mark(hf, "norm_type");
    lcp_json_cursor attention;
    lcp_hf_mark(hf, "attn_config");
    if (lcp_hf_has(hf, "attn_config") && hf->status == LCP_OK) {
        static const char *const keys[] = {
            "attn_type", "attn_impl", "alibi", "alibi_bias_max", "attn_pdrop", "attn_uses_sequence_id",
            "clip_qkv",  "prefix_lm", "qk_ln", "softmax_scale",  "model_type", "kv_n_heads",
            NULL};
        hf->status = lcp_json_object(&attention, hf->object, "attn_config", hf->err);
        if (hf->status == LCP_OK) {
            hf->status = lcp_json_only_keys(&attention, keys, hf->err);
        }
        if (hf->status == LCP_OK) {
            hf->status = lcp_json_int_or(&base.kv_heads, base.heads, &attention, "kv_n_heads", 1, base.heads, hf->err);
        }
    }
    set_common(hf, &base, true, bias);
}

const lcp_hf_family lcp_hf_gpt_families[] = {
    {"gpt2", read_gpt2}, {"gpt_neox", read_gpt_neox}, {"opt", read_opt}, {"mpt", read_mpt}, {NULL, NULL},
};
