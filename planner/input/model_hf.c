#include "input/model_hf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const lcp_hf_family *const lcp_hf_families[] = {
    lcp_hf_llama_families, lcp_hf_gemma_families,  lcp_hf_moe_families,
    lcp_hf_gpt_families,   lcp_hf_hybrid_families, NULL,
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

lcp_hf_base lcp_hf_read_base(lcp_hf *hf, bool tied)
{
    lcp_hf_base base;
    base.hidden = lcp_hf_int(hf, "hidden_size", 1, LCP_HF_DIMENSION_MAX);
    base.layers = lcp_hf_int(hf, "num_hidden_layers", 1, LCP_MAX_LAYERS);
    base.heads = lcp_hf_int(hf, "num_attention_heads", 1, 65536);
    base.kv_heads = lcp_hf_int_or(hf, "num_key_value_heads", base.heads, 1, 65536);
    if (!lcp_hf_has(hf, "head_dim") && base.hidden % base.heads != 0) {
        lcp_hf_fail(hf, "num_attention_heads", "does not divide hidden_size, and there is no head_dim");
    }
    base.head_dim = lcp_hf_int_or(hf, "head_dim", base.hidden / base.heads, 1, 65536);
    base.ffn_size = lcp_hf_int_or(hf, "intermediate_size", 0, 1, LCP_HF_DIMENSION_MAX);
    if (base.heads % base.kv_heads != 0) {
        lcp_hf_fail(hf, "num_key_value_heads", "does not divide num_attention_heads");
    }
    hf->out->hidden_size = base.hidden;
    hf->out->vocab_size = lcp_hf_int(hf, "vocab_size", 1, LCP_HF_DIMENSION_MAX);
    hf->out->max_position_tokens = lcp_hf_int_or(hf, "max_position_embeddings", 0, 1, INT64_C(1) << 40);
    hf->out->tied_embeddings = lcp_hf_bool_or(hf, "tie_word_embeddings", tied);
    hf->out->final_extra_parameters = base.hidden;
    return base;
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

void lcp_hf_start_layers(lcp_hf *hf, int64_t layers)
{
    if (hf->status != LCP_OK) {
        return;
    }
    hf->out->layer_class = calloc((size_t)layers, sizeof *hf->out->layer_class);
    hf->out->classes = calloc(LCP_MAX_LAYER_CLASSES, sizeof *hf->out->classes);
    if (hf->out->layer_class == NULL || hf->out->classes == NULL) {
        hf->status = lcp_fail(hf->err, LCP_NOMEM, hf->object->file, "cannot hold %lld layers", (long long)layers);
        return;
    }
    hf->out->layer_count = (int32_t)layers;
}

static bool same_attention(const lcp_attention *a, const lcp_attention *b)
{
    return a->kind == b->kind && a->heads == b->heads && a->kv_heads == b->kv_heads && a->head_dim == b->head_dim &&
           a->v_head_dim == b->v_head_dim && a->window_tokens == b->window_tokens && a->q_rank == b->q_rank &&
           a->kv_rank == b->kv_rank && a->nope_head_dim == b->nope_head_dim && a->rope_head_dim == b->rope_head_dim &&
           a->state_size == b->state_size && a->groups == b->groups && a->conv_width == b->conv_width &&
           a->output_gate == b->output_gate && a->extra_parameters == b->extra_parameters;
}

static bool same_ffn(const lcp_ffn *a, const lcp_ffn *b)
{
    return a->kind == b->kind && a->size == b->size && a->gated_experts == b->gated_experts &&
           a->experts == b->experts && a->top_k == b->top_k && a->shared_experts == b->shared_experts &&
           a->shared_size == b->shared_size && a->extra_parameters == b->extra_parameters &&
           a->expert_extra_parameters == b->expert_extra_parameters;
}

static bool same_number(double a, double b)
{
    return !(a < b) && !(b < a);
}

static bool same_measured(const lcp_measured_layer *a, const lcp_measured_layer *b)
{
    return same_number(a->forward_seconds, b->forward_seconds) &&
           same_number(a->input_grad_seconds, b->input_grad_seconds) &&
           same_number(a->weight_grad_seconds, b->weight_grad_seconds) &&
           same_number(a->activation_bytes, b->activation_bytes);
}

int32_t lcp_model_class_index(lcp_model *model, const lcp_layer_class *class)
{
    for (int32_t c = 0; c < model->class_count; c++) {
        const lcp_layer_class *known = &model->classes[c];
        if (same_attention(&known->attention, &class->attention) && same_ffn(&known->ffn, &class->ffn) &&
            known->norm_parameters == class->norm_parameters && same_measured(&known->measured, &class->measured)) {
            return c;
        }
    }
    if (model->class_count == LCP_MAX_LAYER_CLASSES) {
        return -1;
    }
    model->classes[model->class_count] = *class;
    return model->class_count++;
}

static lcp_layer_class with_no_measurement(const lcp_layer_class *class)
{
    lcp_layer_class out = *class;
    out.measured = (lcp_measured_layer){-1, -1, -1, -1};
    return out;
}

void lcp_hf_set_layer(lcp_hf *hf, int64_t layer, const lcp_layer_class *class)
{
    if (hf->status != LCP_OK) {
        return;
    }
    lcp_layer_class own = with_no_measurement(class);
    int32_t index = lcp_model_class_index(hf->out, &own);
    if (index < 0) {
        lcp_hf_fail(hf, NULL, "more than 64 different kinds of layer");
        return;
    }
    hf->out->layer_class[layer] = index;
}

void lcp_hf_uniform(lcp_hf *hf, int64_t layers, const lcp_layer_class *class)
{
    lcp_hf_start_layers(hf, layers);
    for (int64_t l = 0; l < layers && hf->status == LCP_OK; l++) {
        lcp_hf_set_layer(hf, l, class);
    }
}

void lcp_hf_set_mtp(lcp_hf *hf, int64_t count, const lcp_layer_class *class)
{
    hf->out->mtp_class = -1;
    if (hf->status == LCP_OK && count > 0) {
        lcp_layer_class own = with_no_measurement(class);
        hf->out->mtp_count = (int32_t)count;
        hf->out->mtp_class = lcp_model_class_index(hf->out, &own);
        if (hf->out->mtp_class < 0) {
            lcp_hf_fail(hf, NULL, "more than 64 different kinds of layer");
        }
    }
}

static bool understood(const lcp_hf *hf, const char *key)
{
    for (int32_t i = 0; i < hf->used_count; i++) {
        if (strcmp(hf->used[i], key) == 0) {
            return true;
        }
    }
    return key[0] == '_' || lcp_hf_harmless(key);
}

static void refuse_unknown_keys(lcp_hf *hf)
{
    const char *key;
    json_t *value;
    json_object_foreach(hf->object->value, key, value)
    {
        if (!json_is_null(value) && !understood(hf, key)) {
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

/* A family of its own wins; otherwise a composite config describes its text model under text_config. */
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
    lcp_hf hf = {.object = &text, .model_type = model_type, .out = out, .err = err};
    lcp_hf_mark(&hf, "model_type");
    family->read(&hf);
    refuse_unknown_keys(&hf);
    if (hf.status != LCP_OK) {
        lcp_model_dispose(out);
    }
    return hf.status;
}
