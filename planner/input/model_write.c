#include "input/input.h"
#include "input/json_fields.h"
#include "input/model_fields.h"

#include <string.h>

/* `value` if all went well, else NULL and `value` is released. */
static json_t *finish(json_t *value, bool good)
{
    if (!good) {
        json_decref(value);
        return NULL;
    }
    return value;
}

/* The keys that the kind needs, and the others it may have that are not 0. */
static json_t *part_to_json(const char *kind_name, const void *part, const lcp_model_field *fields, int32_t kind)
{
    json_t *object = json_object();
    bool good = object != NULL && lcp_json_put(object, "kind", json_string(kind_name));
    for (; good && fields->key != NULL; fields++) {
        int64_t value;
        memcpy(&value, (const char *)part + fields->offset, sizeof value);
        bool allowed = (fields->allowed >> kind & 1U) != 0;
        bool required = (fields->required >> kind & 1U) != 0;
        if (allowed && (value != 0 || required)) {
            good = lcp_json_put(object, fields->key, json_integer(value));
        }
    }
    return finish(object, good);
}

static json_t *attention_to_json(const lcp_attention *attention)
{
    json_t *object =
        part_to_json(lcp_attention_names[attention->kind], attention, lcp_attention_fields, (int32_t)attention->kind);
    bool good = object != NULL;
    if (good && attention->output_gate) {
        good = lcp_json_put(object, "output_gate", json_true());
    }
    return finish(object, good);
}

static json_t *ffn_to_json(const lcp_ffn *ffn)
{
    json_t *object = part_to_json(lcp_ffn_names[ffn->kind], ffn, lcp_ffn_fields, (int32_t)ffn->kind);
    bool good = object != NULL;
    if (good && ffn->kind == LCP_FFN_MOE && !ffn->gated_experts) {
        good = lcp_json_put(object, "gated_experts", json_false());
    }
    return finish(object, good);
}

static bool put_measured(json_t *object, const lcp_measured_layer *measured)
{
    const struct {
        const char *key;
        double value;
    } rows[] = {
        {"forward_seconds", measured->forward_seconds},
        {"input_grad_seconds", measured->input_grad_seconds},
        {"weight_grad_seconds", measured->weight_grad_seconds},
        {"activation_bytes", measured->activation_bytes},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].value >= 0 && !lcp_json_put(object, rows[i].key, json_real(rows[i].value))) {
            return false;
        }
    }
    return true;
}

/* `count` equal layers. */
static json_t *run_to_json(const lcp_layer_class *class, int32_t count)
{
    json_t *object = json_object();
    bool good = object != NULL && lcp_json_put(object, "count", json_integer(count)) &&
                lcp_json_put(object, "attention", attention_to_json(&class->attention)) &&
                lcp_json_put(object, "ffn", ffn_to_json(&class->ffn)) &&
                lcp_json_put(object, "norm_parameters", json_integer(class->norm_parameters)) &&
                put_measured(object, &class->measured);
    return finish(object, good);
}

static json_t *layers_to_json(const lcp_model *model)
{
    json_t *runs = json_array();
    bool good = runs != NULL;
    for (int32_t first = 0; good && first < model->layer_count;) {
        int32_t last = first;
        while (last < model->layer_count && model->layer_class[last] == model->layer_class[first]) {
            last++;
        }
        good = lcp_json_append(runs, run_to_json(&model->classes[model->layer_class[first]], last - first));
        first = last;
    }
    return finish(runs, good);
}

json_t *lcp_model_to_json(const lcp_model *model)
{
    json_t *root = json_object();
    bool good = root != NULL && lcp_json_put(root, "format", json_string("lcplan.model/1")) &&
                lcp_json_put(root, "name", json_string(model->name)) &&
                lcp_json_put(root, "hidden_size", json_integer(model->hidden_size)) &&
                lcp_json_put(root, "vocab_size", json_integer(model->vocab_size)) &&
                lcp_json_put(root, "tied_embeddings", json_boolean(model->tied_embeddings)) &&
                lcp_json_put(root, "position_parameters", json_integer(model->position_parameters)) &&
                lcp_json_put(root, "final_extra_parameters", json_integer(model->final_extra_parameters)) &&
                lcp_json_put(root, "max_position_tokens", json_integer(model->max_position_tokens)) &&
                lcp_json_put(root, "learned_positions", json_boolean(model->learned_positions)) &&
                lcp_json_put(root, "attention_needs_all_keys", json_boolean(model->attention_needs_all_keys)) &&
                lcp_json_put(root, "layers", layers_to_json(model));
    if (good && model->mtp_count > 0) {
        good = lcp_json_put(root, "mtp", run_to_json(&model->classes[model->mtp_class], model->mtp_count));
    }
    return finish(root, good);
}
