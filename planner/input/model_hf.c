#include "input/model_hf.h"

#include <stdio.h>
#include <string.h>

const lcp_hf_family *const lcp_hf_families[] = {
    lcp_hf_llama_families,
    lcp_hf_gemma_families,
    lcp_hf_moe_families,
    lcp_hf_gpt_families,
    lcp_hf_hybrid_families,
    lcp_hf_mamba_families,
    NULL,
};

void lcp_hf_mark(lcp_hf *hf, const char *key)
{
    if (hf->used_count < LCP_HF_MAX_KEYS) {
        hf->used[hf->used_count++] = key;
    }
}

void lcp_hf_fail(lcp_hf *hf, const char *key, const char *text)
{
    if (hf->status == LCP_OK) {
        hf->status = lcp_json_fail(hf->object, key, hf->err, "%s", text);
    }
}

int64_t lcp_hf_int(lcp_hf *hf, const char *key, int64_t lo, int64_t hi)
{
    int64_t value = lo;
    lcp_hf_mark(hf, key);
    if (hf->status == LCP_OK) {
        hf->status = lcp_json_int(&value, hf->object, key, lo, hi, hf->err);
    }
    return hf->status == LCP_OK ? value : lo;
}

int64_t lcp_hf_int_or(lcp_hf *hf, const char *key, int64_t preset, int64_t lo, int64_t hi)
{
    return lcp_hf_has(hf, key) ? lcp_hf_int(hf, key, lo, hi) : (lcp_hf_mark(hf, key), preset);
}

bool lcp_hf_bool_or(lcp_hf *hf, const char *key, bool preset)
{
    bool value = preset;
    lcp_hf_mark(hf, key);
    if (hf->status == LCP_OK) {
        hf->status = lcp_json_bool_or(&value, preset, hf->object, key, hf->err);
    }
    return value;
}

bool lcp_hf_has(lcp_hf *hf, const char *key)
{
    return lcp_json_has(hf->object, key);
}

bool lcp_hf_tied(lcp_hf *hf, bool preset)
{
    static const char key[] = "tie_word_embeddings";
    bool tied = preset;
    if (hf->status == LCP_OK) {
        hf->status = lcp_json_bool_or(&tied, preset, hf->root, key, hf->err);
    }
    return lcp_hf_bool_or(hf, key, tied);
}

/* 0 as preset: the key must be there. */
static int64_t int_preset(lcp_hf *hf, const char *key, int64_t preset, int64_t hi)
{
    return preset != 0 ? lcp_hf_int_or(hf, key, preset, 1, hi) : lcp_hf_int(hf, key, 1, hi);
}

lcp_hf_base lcp_hf_read_base(lcp_hf *hf, lcp_hf_presets presets)
{
    lcp_hf_base base;
    base.hidden = lcp_hf_int(hf, "hidden_size", 1, LCP_HF_DIMENSION_MAX);
    base.layers = lcp_hf_int(hf, "num_hidden_layers", 1, LCP_MAX_LAYERS);
    base.heads = int_preset(hf, "num_attention_heads", presets.heads, 65536);
    int64_t kv_heads = presets.kv_heads == LCP_HF_LIKE_HEADS ? base.heads : presets.kv_heads;
    base.kv_heads = int_preset(hf, "num_key_value_heads", kv_heads, 65536);
    if (!lcp_hf_has(hf, "head_dim") && presets.head_dim == 0 && base.hidden % base.heads != 0) {
        lcp_hf_fail(hf, "num_attention_heads", "does not divide hidden_size, and there is no head_dim");
    }
    int64_t head_dim = presets.head_dim > 0 ? presets.head_dim : base.hidden / base.heads;
    base.head_dim = lcp_hf_int_or(hf, "head_dim", head_dim, 1, 65536);
    base.ffn_size = lcp_hf_int_or(hf, "intermediate_size", 0, 1, LCP_HF_DIMENSION_MAX);
    if (base.heads % base.kv_heads != 0) {
        lcp_hf_fail(hf, "num_key_value_heads", "does not divide num_attention_heads");
    }
    hf->out->hidden_size = base.hidden;
    hf->out->vocab_size = int_preset(hf, "vocab_size", presets.vocab, LCP_HF_DIMENSION_MAX);
    hf->out->max_position_tokens =
        lcp_hf_int_or(hf, "max_position_embeddings", presets.positions, 1, LCP_HF_POSITIONS_MAX);
    hf->out->tied_embeddings = lcp_hf_tied(hf, presets.tied);
    hf->out->final_extra_parameters = base.hidden;
    return base;
}

void lcp_hf_need_ffn(lcp_hf *hf, const lcp_hf_base *base)
{
    if (base->ffn_size == 0) {
        lcp_hf_fail(hf, "intermediate_size", "is missing");
    }
}

lcp_attention lcp_hf_grouped(const lcp_hf_base *base)
{
    return (lcp_attention){.kind = LCP_ATTENTION_GROUPED,
                           .heads = base->heads,
                           .kv_heads = base->kv_heads,
                           .head_dim = base->head_dim,
                           .v_head_dim = base->head_dim};
}

int64_t lcp_hf_qkv_width(const lcp_hf_base *base)
{
    return (base->heads + 2 * base->kv_heads) * base->head_dim;
}

lcp_ffn lcp_hf_gated(int64_t size)
{
    return (lcp_ffn){.kind = LCP_FFN_GATED, .size = size};
}

lcp_ffn lcp_hf_plain(int64_t size)
{
    return (lcp_ffn){.kind = LCP_FFN_PLAIN, .size = size};
}

static bool understood(const lcp_hf *hf, const char *key, const json_t *value)
{
    for (int32_t i = 0; i < hf->used_count; i++) {
        if (strcmp(hf->used[i], key) == 0) {
            return true;
        }
    }
    return key[0] == '_' || lcp_hf_harmless(key, value);
}

static void refuse_unknown_keys(lcp_hf *hf)
{
    const char *key;
    json_t *value;
    json_object_foreach(hf->object->value, key, value)
    {
        if (!json_is_null(value) && !understood(hf, key, value)) {
            if (hf->status == LCP_OK) {
                hf->status =
                    lcp_json_fail(hf->object, key, hf->err,
                                  "is not understood for model_type \"%s\" and might change cost; remove it if it "
                                  "does not, or describe the model as lcplan.model/1",
                                  hf->model_type);
            }
            return;
        }
    }
}

static const lcp_hf_family *find_family(const char *model_type)
{
    for (size_t t = 0; lcp_hf_families[t] != NULL; t++) {
        for (const lcp_hf_family *row = lcp_hf_families[t]; row->model_type != NULL; row++) {
            if (strcmp(row->model_type, model_type) == 0) {
                return row;
            }
        }
    }
    return NULL;
}

static lcp_status unknown_family(const lcp_json_cursor *object, const char *model_type, lcp_error *err)
{
    char known[700];
    size_t used = 0;
    for (size_t t = 0; lcp_hf_families[t] != NULL; t++) {
        for (const lcp_hf_family *row = lcp_hf_families[t]; row->model_type != NULL; row++) {
            int written = snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", row->model_type);
            used = written > 0 && used + (size_t)written < sizeof known ? used + (size_t)written : used;
        }
    }
    return lcp_json_fail(object, "model_type", err,
                         "found \"%s\", known are %s; or describe the model as lcplan.model/1", model_type, known);
}

/* A composite config describes its text model under text_config; its other parts are not planned. */
lcp_status lcp_model_from_hf(lcp_model *out, const lcp_json_cursor *root, lcp_error *err)
{
    lcp_json_cursor text = *root;
    char model_type[64];
    *out = (lcp_model){.mtp_class = -1};
    if (!lcp_json_has(root, "model_type") && !lcp_json_has(root, "text_config")) {
        return lcp_json_fail(
            root, NULL, err,
            "neither \"format\": \"lcplan.model/1\" nor a Hugging Face config: no \"model_type\" and no "
            "\"text_config\"");
    }
    if (lcp_json_has(root, "text_config")) {
        lcp_status status = lcp_json_object(&text, root, "text_config", err);
        if (status != LCP_OK) {
            return status;
        }
    }
    lcp_status status = lcp_json_string(model_type, sizeof model_type, &text, "model_type", err);
    if (status != LCP_OK) {
        return status;
    }
    const lcp_hf_family *family = find_family(model_type);
    if (family == NULL) {
        return unknown_family(&text, model_type, err);
    }
    lcp_hf hf = {.root = root, .object = &text, .model_type = model_type, .out = out, .err = err};
    lcp_hf_mark(&hf, "model_type");
    family->read(&hf);
    refuse_unknown_keys(&hf);
    if (hf.status != LCP_OK) {
        lcp_model_dispose(out);
    }
    return hf.status;
}
