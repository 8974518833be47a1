/* Entry points for models, and lcplan.model/1. */
#include "input/input.h"
#include "input/model_fields.h"
#include "input/model_hf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH_MAX LCP_HF_DIMENSION_MAX
#define EXTRA_MAX LCP_EXTRA_PARAMETERS_MAX
#define PARAMETERS_MAX 1e15

static lcp_status read_fields(void *out, const lcp_json_cursor *object, const lcp_model_field *fields, int32_t kind,
                              lcp_error *err)
{
    for (size_t i = 0; fields[i].key != NULL; i++) {
        int64_t value = 0;
        bool present = lcp_json_has(object, fields[i].key);
        bool required = (fields[i].required >> kind & 1U) != 0;
        if (present && (fields[i].allowed >> kind & 1U) == 0) {
            return lcp_json_fail(object, fields[i].key, err, "does not belong to this kind");
        }
        if (present || required) {
            lcp_status status = lcp_json_int(&value, object, fields[i].key, fields[i].lo, fields[i].hi, err);
            if (status != LCP_OK) {
                return status;
            }
        }
        memcpy((char *)out + fields[i].offset, &value, sizeof value);
    }
    return LCP_OK;
}

static lcp_status allowed_keys(const lcp_json_cursor *object, const lcp_model_field *fields, const char *extra,
                               lcp_error *err)
{
    const char *keys[32] = {"kind", extra};
    for (size_t i = 0; fields[i].key != NULL; i++) {
        keys[i + 2] = fields[i].key;
    }
    return lcp_json_only_keys(object, keys, err);
}

static lcp_status check_attention(lcp_attention *a, const lcp_json_cursor *object, lcp_error *err)
{
    if (a->kind == LCP_ATTENTION_GROUPED) {
        a->kv_heads = a->kv_heads == 0 ? a->heads : a->kv_heads;
        a->v_head_dim = a->v_head_dim == 0 ? a->head_dim : a->v_head_dim;
    } else if (a->kind == LCP_ATTENTION_LATENT) {
        a->kv_heads = a->heads;
        a->head_dim = a->nope_head_dim + a->rope_head_dim;
    } else if (a->kind == LCP_ATTENTION_STATE_SPACE) {
        a->v_head_dim = a->head_dim;
    }
    if (a->kv_heads > 0 && a->heads % a->kv_heads != 0) {
        return lcp_json_fail(object, "kv_heads", err, "%lld does not divide heads %lld", (long long)a->kv_heads,
                             (long long)a->heads);
    }
    return LCP_OK;
}

/* A switch that only one kind knows. */
static lcp_status read_switch(bool *out, const lcp_json_cursor *object, const char *key, bool known, lcp_error *err)
{
    if (!known && lcp_json_has(object, key)) {
        return lcp_json_fail(object, key, err, "does not belong to this kind");
    }
    return lcp_json_bool_or(out, *out, object, key, err);
}

static lcp_status read_attention(lcp_attention *out, const lcp_json_cursor *layer, lcp_error *err)
{
    lcp_json_cursor object;
    int32_t kind = LCP_ATTENTION_NONE;
    *out = (lcp_attention){0};
    if (!lcp_json_has(layer, "attention")) {
        return LCP_OK;
    }
    lcp_status status = lcp_json_object(&object, layer, "attention", err);
    if (status == LCP_OK) {
        status = allowed_keys(&object, lcp_attention_fields, "output_gate", err);
    }
    if (status == LCP_OK) {
        status = lcp_json_choice(&kind, &object, "kind", lcp_attention_names, err);
    }
    if (status == LCP_OK) {
        status = read_fields(out, &object, lcp_attention_fields, kind, err);
    }
    if (status == LCP_OK) {
        status = read_switch(&out->output_gate, &object, "output_gate", kind == LCP_ATTENTION_GROUPED, err);
    }
    out->kind = (lcp_attention_kind)kind;
    return status == LCP_OK ? check_attention(out, &object, err) : status;
}

static lcp_status read_ffn(lcp_ffn *out, const lcp_json_cursor *layer, lcp_error *err)
{
    lcp_json_cursor object;
    int32_t kind = LCP_FFN_NONE;
    *out = (lcp_ffn){0};
    if (!lcp_json_has(layer, "ffn")) {
        return LCP_OK;
    }
    lcp_status status = lcp_json_object(&object, layer, "ffn", err);
    if (status == LCP_OK) {
        status = allowed_keys(&object, lcp_ffn_fields, "gated_experts", err);
    }
    if (status == LCP_OK) {
        status = lcp_json_choice(&kind, &object, "kind", lcp_ffn_names, err);
    }
    if (status == LCP_OK) {
        status = read_fields(out, &object, lcp_ffn_fields, kind, err);
    }
    if (status == LCP_OK) {
        out->gated_experts = kind == LCP_FFN_MOE;
        status = read_switch(&out->gated_experts, &object, "gated_experts", kind == LCP_FFN_MOE, err);
    }
    out->kind = (lcp_ffn_kind)kind;
    if (status == LCP_OK && out->shared_size > 0 && out->shared_experts == 0) {
        return lcp_json_fail(&object, "shared_size", err, "counts only with shared_experts, which is 0");
    }
    if (status == LCP_OK && kind == LCP_FFN_MOE && out->top_k > out->experts) {
        return lcp_json_fail(&object, "top_k", err, "%lld is larger than experts %lld", (long long)out->top_k,
                             (long long)out->experts);
    }
    if (status == LCP_OK && kind == LCP_FFN_MOE && out->shared_experts > 0 && out->shared_size == 0) {
        out->shared_size = out->size;
    }
    return status;
}

static lcp_status read_measured(lcp_measured_layer *out, const lcp_json_cursor *layer, lcp_error *err)
{
    double *const fields[] = {&out->forward_seconds, &out->input_grad_seconds, &out->weight_grad_seconds,
                              &out->activation_bytes};
    static const char *const keys[] = {"forward_seconds", "input_grad_seconds", "weight_grad_seconds",
                                       "activation_bytes"};
    static const double most[] = {1, 1, 1, 1e12};
    lcp_status status = LCP_OK;
    for (size_t i = 0; status == LCP_OK && i < 4; i++) {
        *fields[i] = -1;
        if (lcp_json_has(layer, keys[i])) {
            status = lcp_json_real(fields[i], layer, keys[i], 0, most[i], err);
        }
    }
    return status;
}

static lcp_status read_class(lcp_layer_class *out, const lcp_json_cursor *layer, int64_t hidden, lcp_error *err)
{
    lcp_status status = read_attention(&out->attention, layer, err);
    if (status == LCP_OK) {
        status = read_ffn(&out->ffn, layer, err);
    }
    if (status == LCP_OK && out->attention.kind == LCP_ATTENTION_NONE && out->ffn.kind == LCP_FFN_NONE) {
        return lcp_json_fail(layer, NULL, err, "a layer needs \"attention\" or \"ffn\" of a kind other than none");
    }
    int64_t norms = hidden * ((out->attention.kind != LCP_ATTENTION_NONE) + (out->ffn.kind != LCP_FFN_NONE));
    if (status == LCP_OK) {
        status = lcp_json_int_or(&out->norm_parameters, norms, layer, "norm_parameters", 0, EXTRA_MAX, err);
    }
    return status == LCP_OK ? read_measured(&out->measured, layer, err) : status;
}

static lcp_status read_run(lcp_model *out, const lcp_json_cursor *run, lcp_error *err)
{
    static const char *const keys[] = {"count",
                                       "attention",
                                       "ffn",
                                       "norm_parameters",
                                       "forward_seconds",
                                       "input_grad_seconds",
                                       "weight_grad_seconds",
                                       "activation_bytes",
                                       NULL};
    lcp_layer_class class = {0};
    int64_t count = 1;
    lcp_status status = lcp_json_only_keys(run, keys, err);
    if (status == LCP_OK) {
        status = lcp_json_int_or(&count, 1, run, "count", 1, LCP_MAX_LAYERS, err);
    }
    if (status == LCP_OK) {
        status = read_class(&class, run, out->hidden_size, err);
    }
    if (status != LCP_OK) {
        return status;
    }
    if (out->layer_count + count > LCP_MAX_LAYERS) {
        return lcp_json_fail(run, "count", err, "makes more than %d layers in all", LCP_MAX_LAYERS);
    }
    int32_t index = lcp_model_class_index(out, &class);
    if (index < 0) {
        return lcp_json_fail(run, NULL, err, "more than %d different kinds of layer", LCP_MAX_LAYER_CLASSES);
    }
    for (int64_t i = 0; i < count; i++) {
        out->layer_class[out->layer_count++] = index;
    }
    return LCP_OK;
}

static lcp_status read_layers(lcp_model *out, const lcp_json_cursor *root, lcp_error *err)
{
    lcp_json_cursor runs;
    lcp_status status = lcp_json_array(&runs, root, "layers", 1, LCP_MAX_LAYERS, err);
    if (status != LCP_OK) {
        return status;
    }
    out->layer_class = calloc(LCP_MAX_LAYERS, sizeof *out->layer_class);
    out->classes = calloc(LCP_MAX_LAYER_CLASSES, sizeof *out->classes);
    if (out->layer_class == NULL || out->classes == NULL) {
        return lcp_fail(err, LCP_NOMEM, root->file, "cannot hold the layers");
    }
    for (size_t i = 0; status == LCP_OK && i < json_array_size(runs.value); i++) {
        lcp_json_cursor run = lcp_json_element(&runs, i);
        status = read_run(out, &run, err);
    }
    return status;
}

static lcp_status read_mtp(lcp_model *out, const lcp_json_cursor *root, lcp_error *err)
{
    static const char *const keys[] = {"count", "attention", "ffn", "norm_parameters", NULL};
    lcp_json_cursor object;
    lcp_layer_class class = {0};
    int64_t count = 0;
    if (!lcp_json_has(root, "mtp")) {
        return LCP_OK;
    }
    lcp_status status = lcp_json_object(&object, root, "mtp", err);
    if (status == LCP_OK) {
        status = lcp_json_only_keys(&object, keys, err);
    }
    if (status == LCP_OK) {
        status = lcp_json_int(&count, &object, "count", 1, 64, err);
    }
    if (status == LCP_OK) {
        status = read_class(&class, &object, out->hidden_size, err);
    }
    if (status == LCP_OK) {
        out->mtp_count = (int32_t)count;
        out->mtp_class = lcp_model_class_index(out, &class);
        status = out->mtp_class >= 0 ? LCP_OK : lcp_json_fail(&object, NULL, err, "too many kinds of layer");
    }
    return status;
}

static lcp_status read_own_format(lcp_model *out, const lcp_json_cursor *root, lcp_error *err)
{
    static const char *const keys[] = {"format",
                                       "name",
                                       "hidden_size",
                                       "vocab_size",
                                       "tied_embeddings",
                                       "position_parameters",
                                       "final_extra_parameters",
                                       "max_position_tokens",
                                       "learned_positions",
                                       "attention_needs_all_keys",
                                       "layers",
                                       "mtp",
                                       NULL};
    *out = (lcp_model){.mtp_class = -1};
    lcp_status status = lcp_json_only_keys(root, keys, err);
    if (status == LCP_OK && lcp_json_has(root, "name")) {
        status = lcp_json_string(out->name, sizeof out->name, root, "name", err);
    }
    if (status == LCP_OK) {
        status = lcp_json_int(&out->hidden_size, root, "hidden_size", 1, WIDTH_MAX, err);
    }
    if (status == LCP_OK) {
        status = lcp_json_int(&out->vocab_size, root, "vocab_size", 1, WIDTH_MAX, err);
    }
    bool *const flags[] = {&out->tied_embeddings, &out->learned_positions, &out->attention_needs_all_keys};
    static const char *const flag_keys[] = {"tied_embeddings", "learned_positions", "attention_needs_all_keys"};
    for (size_t i = 0; status == LCP_OK && i < 3; i++) {
        status = lcp_json_bool_or(flags[i], false, root, flag_keys[i], err);
    }
    int64_t *const counts[] = {&out->position_parameters, &out->final_extra_parameters, &out->max_position_tokens};
    static const char *const count_keys[] = {"position_parameters", "final_extra_parameters", "max_position_tokens"};
    const int64_t presets[] = {0, out->hidden_size, 0};
    for (size_t i = 0; status == LCP_OK && i < 3; i++) {
        status = lcp_json_int_or(counts[i], presets[i], root, count_keys[i], 0, EXTRA_MAX, err);
    }
    if (status == LCP_OK && out->learned_positions && out->max_position_tokens == 0) {
        return lcp_json_fail(root, "max_position_tokens", err, "missing, expected the size of the table of positions");
    }
    if (status == LCP_OK) {
        status = read_layers(out, root, err);
    }
    return status == LCP_OK ? read_mtp(out, root, err) : status;
}

/* "llama-3.1-8b" of ".../llama-3.1-8b.json", for models that carry no name. */
static void name_after_file(lcp_model *model, const char *file)
{
    const char *slash = strrchr(file, '/');
    const char *base = slash != NULL ? slash + 1 : file;
    size_t length = strlen(base);
    if (length > 5 && strcmp(base + length - 5, ".json") == 0) {
        length -= 5;
    }
    snprintf(model->name, sizeof model->name, "%.*s",
             (int)(length < sizeof model->name ? length : sizeof model->name - 1), base);
}

/* Rows of every matrix of a layer times hidden width, and what is no matrix: above any true count of parameters. */
static double most_parameters(const lcp_model *model, const lcp_layer_class *class)
{
    const lcp_attention *a = &class->attention;
    const lcp_ffn *f = &class->ffn;
    double hidden = (double)model->hidden_size;
    double widths = (double)(a->head_dim + a->v_head_dim + a->nope_head_dim + a->rope_head_dim);
    double heads = (double)(a->heads + a->kv_heads + 1);
    double mixer = 4 * heads * widths * (hidden + (double)(a->q_rank + a->kv_rank)) +
                   hidden * (double)(a->q_rank + a->kv_rank + 2 * a->heads) +
                   2 * hidden * (double)a->groups * (double)a->state_size;
    double experts = (double)(f->experts > 0 ? f->experts : 1);
    double ffn = experts * (3 * hidden * (double)f->size + (double)f->expert_extra_parameters + hidden) +
                 3 * hidden * (double)f->shared_size * (double)f->shared_experts;
    return mixer + ffn + (double)a->extra_parameters + (double)f->extra_parameters + (double)class->norm_parameters;
}

/* Counts must stay exact in 64 bits and in doubles, also times the bytes of a training state. */
static lcp_status check_size(const lcp_model *model, const lcp_json_cursor *root, lcp_error *err)
{
    double sum = 2 * (double)model->hidden_size * (double)model->vocab_size + (double)model->position_parameters +
                 (double)model->final_extra_parameters;
    for (int32_t l = 0; l < model->layer_count; l++) {
        sum += most_parameters(model, &model->classes[model->layer_class[l]]);
    }
    if (model->mtp_count > 0) {
        sum += model->mtp_count * most_parameters(model, &model->classes[model->mtp_class]);
    }
    if (!(sum <= PARAMETERS_MAX)) {
        return lcp_json_fail(root, NULL, err, "about %.1e parameters, expected at most %.1e", sum, PARAMETERS_MAX);
    }
    return LCP_OK;
}

lcp_status lcp_model_from_json(lcp_model *out, json_t *root, const char *file, lcp_error *err)
{
    *out = (lcp_model){0};
    lcp_json_cursor cursor = lcp_json_root(file, root);
    if (!json_is_object(root)) {
        return lcp_json_fail(&cursor, NULL, err, "a model is a JSON object");
    }
    lcp_status status;
    if (lcp_json_has(&cursor, "format")) {
        status = lcp_json_format(&cursor, "lcplan.model/1", err);
        status = status == LCP_OK ? read_own_format(out, &cursor, err) : status;
    } else {
        status = lcp_model_from_hf(out, &cursor, err);
    }
    status = status == LCP_OK ? check_size(out, &cursor, err) : status;
    if (status != LCP_OK) {
        lcp_model_dispose(out);
        return status;
    }
    if (out->name[0] == '\0') {
        name_after_file(out, file);
    }
    return LCP_OK;
}

lcp_status lcp_read_model(lcp_model *out, lcp_source *source, const char *path, lcp_error *err)
{
    json_t *root = NULL;
    *out = (lcp_model){0};
    *source = (lcp_source){0};
    snprintf(source->path, sizeof source->path, "%s", path);
    lcp_status status = lcp_json_load_file(&root, path, source->sha256, err);
    if (status == LCP_OK) {
        status = lcp_model_from_json(out, root, path, err);
    }
    json_decref(root);
    return status;
}
