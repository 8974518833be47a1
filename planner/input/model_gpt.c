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

/* Width of the plain ffn where it is a multiple of the hidden width. */
static int64_t multiple(lcp_hf *hf, const char *key, int64_t hidden, int64_t times)
{
    if (hidden * times > LCP_HF_DIMENSION_MAX) {
        lcp_hf_fail(hf, key, "is too large: the width of the ffn is beyond 16777216");
    }
    return hidden * times;
}

static void set_common(lcp_hf *hf, const lcp_hf_base *base, const lcp_layer_class *class)
{
    if (base->hidden % base->heads != 0) {
        lcp_hf_fail(hf, NULL, "the number of heads does not divide the hidden width");
    }
    hf->out->hidden_size = base->hidden;
    hf->out->tied_embeddings = lcp_hf_tied(hf, true);
    hf->out->final_extra_parameters = class->norm_parameters / 2;
    lcp_hf_uniform(hf, base->layers, class);
}

static void read_gpt2(lcp_hf *hf)
{
    lcp_hf_base base = {.hidden = lcp_hf_int(hf, "n_embd", 1, LCP_HF_DIMENSION_MAX)};
    base.layers = lcp_hf_int(hf, "n_layer", 1, LCP_MAX_LAYERS);
    base.heads = lcp_hf_int(hf, "n_head", 1, 65536);
    base.kv_heads = base.heads;
    base.head_dim = base.hidden / base.heads;
    base.ffn_size = lcp_hf_int_or(hf, "n_inner", 0, 1, LCP_HF_DIMENSION_MAX);
    base.ffn_size = base.ffn_size > 0 ? base.ffn_size : multiple(hf, "n_embd", base.hidden, 4);
    hf->out->vocab_size = lcp_hf_int(hf, "vocab_size", 1, LCP_HF_DIMENSION_MAX);
    hf->out->max_position_tokens = lcp_hf_int(hf, "n_positions", 1, LCP_HF_DIMENSION_MAX);
    lcp_hf_mark(hf, "n_ctx"); /* the same number */
    hf->out->learned_positions = true;
    hf->out->position_parameters = hf->out->max_position_tokens * base.hidden;
    lcp_layer_class class = biased(&base, true);
    set_common(hf, &base, &class);
}

static void read_gpt_neox(lcp_hf *hf)
{
    lcp_hf_base base = lcp_hf_read_base(hf, (lcp_hf_presets){.kv_heads = LCP_HF_LIKE_HEADS});
    lcp_hf_need_ffn(hf, &base);
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
    hf->out->max_position_tokens = lcp_hf_int(hf, "max_position_embeddings", 1, LCP_HF_DIMENSION_MAX);
    hf->out->learned_positions = true;
    hf->out->position_parameters = (hf->out->max_position_tokens + 2) * base.hidden;
    if (lcp_hf_int_or(hf, "word_embed_proj_dim", base.hidden, 1, LCP_HF_DIMENSION_MAX) != base.hidden) {
        lcp_hf_fail(hf, "word_embed_proj_dim", "must equal hidden_size: projected embeddings are not known");
    }
    if (!lcp_hf_bool_or(hf, "do_layer_norm_before", true)) {
        lcp_hf_fail(hf, "do_layer_norm_before", "false is not known for this family");
    }
    lcp_layer_class class = biased(&base, lcp_hf_bool_or(hf, "enable_bias", true));
    class.norm_parameters = lcp_hf_bool_or(hf, "layer_norm_elementwise_affine", true) ? 4 * base.hidden : 0;
    set_common(hf, &base, &class);
}

/* attn_config of mpt. */
typedef struct mpt_attention {
    int64_t kv_heads;
    bool alibi, qk_norm;
} mpt_attention;

static const char *const mpt_attention_keys[] = {
    "attn_type", "attn_impl", "alibi", "alibi_bias_max", "attn_pdrop", "attn_uses_sequence_id",
    "clip_qkv",  "prefix_lm", "qk_ln", "softmax_scale",  "model_type", "kv_n_heads",
    NULL};
static const char *const mpt_attention_types[] = {"multihead_attention", "multiquery_attention",
                                                  "grouped_query_attention", NULL};
enum { MPT_MULTI_HEAD, MPT_MULTI_QUERY };

static lcp_status read_mpt_attention(mpt_attention *out, const lcp_json_cursor *object, int64_t heads, lcp_error *err)
{
    int32_t type = MPT_MULTI_HEAD;
    bool prefix = false;
    lcp_status status = lcp_json_only_keys(object, mpt_attention_keys, err);
    if (status == LCP_OK) {
        status = lcp_json_choice_or(&type, MPT_MULTI_HEAD, object, "attn_type", mpt_attention_types, err);
    }
    if (status == LCP_OK) {
        int64_t preset = type == MPT_MULTI_QUERY ? 1 : heads;
        status = lcp_json_int_or(&out->kv_heads, preset, object, "kv_n_heads", 1, heads, err);
    }
    if (status == LCP_OK) {
        status = lcp_json_bool_or(&out->alibi, true, object, "alibi", err);
    }
    if (status == LCP_OK) {
        status = lcp_json_bool_or(&out->qk_norm, false, object, "qk_ln", err);
    }
    if (status == LCP_OK) {
        status = lcp_json_bool_or(&prefix, false, object, "prefix_lm", err);
    }
    if (status == LCP_OK && prefix) {
        return lcp_json_fail(object, "prefix_lm", err, "found true, expected false: attention must be causal");
    }
    if (status == LCP_OK && heads % out->kv_heads != 0) {
        return lcp_json_fail(object, "kv_n_heads", err, "does not divide n_heads %lld", (long long)heads);
    }
    return status;
}

static void read_mpt(lcp_hf *hf)
{
    lcp_hf_base base = {.hidden = lcp_hf_int(hf, "d_model", 1, LCP_HF_DIMENSION_MAX)};
    base.layers = lcp_hf_int(hf, "n_layers", 1, LCP_MAX_LAYERS);
    base.heads = lcp_hf_int(hf, "n_heads", 1, 65536);
    base.head_dim = base.hidden / base.heads;
    base.ffn_size = multiple(hf, "expansion_ratio", base.hidden, lcp_hf_int_or(hf, "expansion_ratio", 4, 1, 64));
    hf->out->vocab_size = lcp_hf_int(hf, "vocab_size", 1, LCP_HF_DIMENSION_MAX);
    hf->out->max_position_tokens = lcp_hf_int(hf, "max_seq_len", 1, LCP_HF_DIMENSION_MAX);
    bool bias = !lcp_hf_bool_or(hf, "no_bias", false);
    bool table = lcp_hf_bool_or(hf, "learned_pos_emb", true);
    lcp_hf_mark(hf, "norm_type"); /* layer norms, in one precision or another */
    mpt_attention attention = {.kv_heads = base.heads, .alibi = true};
    lcp_json_cursor object;
    lcp_hf_mark(hf, "attn_config");
    if (lcp_hf_has(hf, "attn_config") && hf->status == LCP_OK) {
        hf->status = lcp_json_object(&object, hf->object, "attn_config", hf->err);
        if (hf->status == LCP_OK) {
            hf->status = read_mpt_attention(&attention, &object, base.heads, hf->err);
        }
    }
    base.kv_heads = attention.kv_heads;
    hf->out->learned_positions = table && !attention.alibi; /* biases of ALiBi are computed inside attention */
    hf->out->position_parameters = hf->out->learned_positions ? hf->out->max_position_tokens * base.hidden : 0;
    lcp_layer_class class = biased(&base, bias);
    if (attention.qk_norm) {
        class.attention.extra_parameters += (base.heads + base.kv_heads) * base.head_dim * (bias ? 2 : 1);
    }
    set_common(hf, &base, &class);
}

const lcp_hf_family lcp_hf_gpt_families[] = {
    {"gpt2", read_gpt2}, {"gpt_neox", read_gpt_neox}, {"opt", read_opt}, {"mpt", read_mpt}, {NULL, NULL},
};
