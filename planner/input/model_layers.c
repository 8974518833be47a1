/* Layers of a model that is being read: classes shared by equal layers, lists with a word per layer. */
#include "input/model_hf.h"

#include <stdlib.h>
#include <string.h>

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

const char *const lcp_hf_window_words[] = {"full_attention", "sliding_attention", NULL};

void lcp_hf_read_words(lcp_hf_words *out, lcp_hf *hf, const char *key, int64_t layers, const char *const *words)
{
    *out = (lcp_hf_words){.words = words};
    lcp_hf_mark(hf, key);
    if (hf->status == LCP_OK && lcp_hf_has(hf, key)) {
        hf->status = lcp_json_array(&out->list, hf->object, key, (size_t)layers, (size_t)layers, hf->err);
    }
}

int32_t lcp_hf_word(lcp_hf *hf, const lcp_hf_words *list, int64_t layer, int32_t preset)
{
    const char *word = "";
    if (hf->status != LCP_OK || list->list.value == NULL) {
        return preset;
    }
    lcp_json_cursor at = lcp_json_element(&list->list, (size_t)layer);
    hf->status = lcp_json_element_string(&word, &list->list, (size_t)layer, hf->err);
    for (int32_t i = 0; list->words[i] != NULL; i++) {
        if (strcmp(word, list->words[i]) == 0) {
            return i;
        }
    }
    if (hf->status == LCP_OK) {
        hf->status = lcp_json_fail(&at, NULL, hf->err, "found \"%s\", which is not known for model_type \"%s\"", word,
                                   hf->model_type);
    }
    return preset;
}

void lcp_hf_read_layer_numbers(bool out[LCP_MAX_LAYERS], lcp_hf *hf, const char *key, int64_t layers)
{
    lcp_json_cursor list;
    lcp_hf_mark(hf, key);
    memset(out, 0, LCP_MAX_LAYERS * sizeof *out);
    if (hf->status == LCP_OK && lcp_hf_has(hf, key)) {
        hf->status = lcp_json_array(&list, hf->object, key, 0, (size_t)layers, hf->err);
        for (size_t i = 0; hf->status == LCP_OK && i < json_array_size(list.value); i++) {
            int64_t layer = 0;
            hf->status = lcp_json_element_int(&layer, &list, i, 0, layers - 1, hf->err);
            out[layer] = true;
        }
    }
}
