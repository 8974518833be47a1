#include "output/show_model.h"

#include "input/input.h"
#include "input/json_fields.h"

#include <string.h>

typedef struct part_row {
    const char *name;
    int64_t count;
} part_row;

#define PARTS 9
static void list_parts(part_row rows[PARTS], const lcp_parameter_count *c)
{
    const part_row all[PARTS] = {
        {"embedding", c->embedding},           {"positions", c->positions}, {"attention", c->attention},
        {"dense_ffn", c->dense_ffn},           {"router", c->router},       {"shared_experts", c->shared_experts},
        {"routed_experts", c->routed_experts}, {"norms", c->norms},         {"head", c->head},
    };
    memcpy(rows, all, sizeof all);
}

static int32_t layers_in_class(const lcp_model *model, int32_t layer_class)
{
    int32_t count = 0;
    for (int32_t l = 0; l < model->layer_count; l++) {
        count += model->layer_class[l] == layer_class;
    }
    return count;
}

static void print_attention(FILE *out, const lcp_attention *a)
{
    switch (a->kind) {
    case LCP_ATTENTION_GROUPED:
        fprintf(out, "%s, %lld heads, %lld kv heads, width %lld%s",
                a->kv_heads == a->heads ? "multi-head"
                : a->kv_heads == 1      ? "multi-query"
                                        : "grouped-query",
                (long long)a->heads, (long long)a->kv_heads, (long long)a->head_dim,
                a->output_gate ? ", output gate" : "");
        break;
    case LCP_ATTENTION_LATENT:
        fprintf(out, "latent, %lld heads, ranks q %lld kv %lld, widths %lld + %lld rotary, v %lld", (long long)a->heads,
                (long long)a->q_rank, (long long)a->kv_rank, (long long)a->nope_head_dim, (long long)a->rope_head_dim,
                (long long)a->v_head_dim);
        break;
    case LCP_ATTENTION_STATE_SPACE:
        fprintf(out, "state space, %lld heads of %lld, state %lld, %lld groups", (long long)a->heads,
                (long long)a->head_dim, (long long)a->state_size, (long long)a->groups);
        break;
    case LCP_ATTENTION_LINEAR:
        fprintf(out, "linear, %lld key heads of %lld, %lld value heads of %lld", (long long)a->kv_heads,
                (long long)a->head_dim, (long long)a->heads, (long long)a->v_head_dim);
        break;
    case LCP_ATTENTION_NONE:
    case LCP_ATTENTION_KIND_COUNT:
        fprintf(out, "no mixer");
        break;
    }
    if (a->v_head_dim != a->head_dim && a->kind == LCP_ATTENTION_GROUPED) {
        fprintf(out, " (v %lld)", (long long)a->v_head_dim);
    }
    if (a->window_tokens > 0) {
        fprintf(out, ", window %lld", (long long)a->window_tokens);
    }
}

static void print_ffn(FILE *out, const lcp_ffn *ffn)
{
    switch (ffn->kind) {
    case LCP_FFN_PLAIN:
    case LCP_FFN_GATED:
        fprintf(out, "%s ffn %lld", ffn->kind == LCP_FFN_GATED ? "gated" : "plain", (long long)ffn->size);
        break;
    case LCP_FFN_MOE:
        fprintf(out, "%lld of %lld experts of %lld", (long long)ffn->top_k, (long long)ffn->experts,
                (long long)ffn->size);
        if (ffn->shared_experts > 0) {
            fprintf(out, ", %lld shared of %lld", (long long)ffn->shared_experts, (long long)ffn->shared_size);
        }
        break;
    case LCP_FFN_NONE:
    case LCP_FFN_KIND_COUNT:
        fprintf(out, "no ffn");
        break;
    }
}

/* Layers of a class as ranges: "0-2, 5". */
static void print_ranges(FILE *out, const lcp_model *model, int32_t layer_class)
{
    bool any = false;
    int32_t shown = 0;
    for (int32_t l = 0; l < model->layer_count;) {
        int32_t last = l;
        while (last < model->layer_count && model->layer_class[last] == layer_class) {
            last++;
        }
        if (last > l && shown++ < 6) {
            fprintf(out, last - l > 1 ? "%s%d-%d" : "%s%d", any ? ", " : "", l, last - 1);
            any = true;
        }
        l = last > l ? last : l + 1;
    }
    fprintf(out, "%s", shown > 6 ? ", ..." : "");
}

static void print_layers(FILE *out, const lcp_model *model)
{
    fprintf(out, "\n\nlayers by class\n");
    for (int32_t c = 0; c < model->class_count; c++) {
        if (layers_in_class(model, c) == 0) {
            continue; /* used by the mtp modules only */
        }
        fprintf(out, "  %4d x  ", layers_in_class(model, c));
        print_attention(out, &model->classes[c].attention);
        fprintf(out, "; ");
        print_ffn(out, &model->classes[c].ffn);
        fprintf(out, "   (layers ");
        print_ranges(out, model, c);
        fprintf(out, ")\n");
    }
    if (model->mtp_count > 0) {
        fprintf(out, "  %4d x  multi-token prediction: ", model->mtp_count);
        print_attention(out, &model->classes[model->mtp_class].attention);
        fprintf(out, "; ");
        print_ffn(out, &model->classes[model->mtp_class].ffn);
        fprintf(out, "; a projection of 2 x hidden; the head again\n");
    }
}

static void print_parameters(FILE *out, const lcp_model *model)
{
    part_row parts[PARTS];
    lcp_parameter_count count = lcp_model_parameters(model);
    list_parts(parts, &count);
    fprintf(out, "\nparameters by part\n");
    for (int32_t i = 0; i < PARTS; i++) {
        if (parts[i].count > 0) {
            fprintf(out, "  %-16s %18lld\n", parts[i].name, (long long)parts[i].count);
        }
    }
    fprintf(out, "  %-16s %18lld\n", "total", (long long)count.total);
    if (count.active != count.total) {
        fprintf(out, "  %-16s %18lld   (routed experts at top-k)\n", "active", (long long)count.active);
    }
    if (count.mtp > 0) {
        fprintf(out, "  %-16s %18lld   (not in the total)\n", "mtp", (long long)count.mtp);
    }
}

lcp_status lcp_show_model(FILE *out, const lcp_model *model, lcp_error *err)
{
    fprintf(out, "%s: %d layers, hidden %lld, vocabulary %lld%s", model->name, model->layer_count,
            (long long)model->hidden_size, (long long)model->vocab_size,
            model->tied_embeddings ? ", tied embeddings" : "");
    if (model->max_position_tokens > 0) {
        fprintf(out, ", %s%lld positions", model->learned_positions ? "at most " : "",
                (long long)model->max_position_tokens);
    }
    print_layers(out, model);
    print_parameters(out, model);
    return ferror(out) != 0 ? lcp_fail(err, LCP_IO, "", "cannot write") : LCP_OK;
}

/* {"layer_class": c, "layers": how many}; a class of the mtp modules alone has none. */
static bool append_class(json_t *classes, const lcp_model *model, int32_t layer_class)
{
    json_t *row = json_object();
    bool good = row != NULL && lcp_json_put(row, "layer_class", json_integer(layer_class)) &&
                lcp_json_put(row, "layers", json_integer(layers_in_class(model, layer_class)));
    if (!good) {
        json_decref(row);
        return false;
    }
    return lcp_json_append(classes, row);
}

static json_t *classes_to_json(const lcp_model *model)
{
    json_t *classes = json_array();
    bool good = classes != NULL;
    for (int32_t c = 0; good && c < model->class_count; c++) {
        good = append_class(classes, model, c);
    }
    if (!good) {
        json_decref(classes);
        return NULL;
    }
    return classes;
}

static json_t *parameters_to_json(const lcp_model *model)
{
    part_row parts[PARTS];
    lcp_parameter_count count = lcp_model_parameters(model);
    list_parts(parts, &count);
    json_t *out = json_object();
    bool good = out != NULL;
    for (int32_t i = 0; good && i < PARTS; i++) {
        good = lcp_json_put(out, parts[i].name, json_integer(parts[i].count));
    }
    good = good && lcp_json_put(out, "total", json_integer(count.total)) &&
           lcp_json_put(out, "active", json_integer(count.active)) && lcp_json_put(out, "mtp", json_integer(count.mtp));
    if (!good) {
        json_decref(out);
        return NULL;
    }
    return out;
}

json_t *lcp_show_model_json(const lcp_model *model)
{
    json_t *out = json_object();
    bool good = out != NULL && lcp_json_put(out, "model", lcp_model_to_json(model)) &&
                lcp_json_put(out, "classes", classes_to_json(model)) &&
                lcp_json_put(out, "parameters", parameters_to_json(model));
    if (!good) {
        json_decref(out);
        return NULL;
    }
    return out;
}
