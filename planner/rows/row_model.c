/* The model of a row: a decoder of equal layers. */
#include "row_internal.h"

#include <math.h>
#include <stdio.h>

static void read_attention(lcp_row *row, const lcp_row_source *from)
{
    lcp_attention *a = &row->class.attention;
    a->kind = LCP_ATTENTION_GROUPED;
    a->heads = lcp_row_integer(from, row, LCP_COLUMN_HEADS, 0, 1, 65536);
    if (a->heads == 0) {
        lcp_row_skip(row, "heads: blank");
        a->heads = 1;
    }
    a->kv_heads = lcp_row_integer(from, row, LCP_COLUMN_KV_HEADS, a->heads, 1, 65536);
    a->head_dim = lcp_row_integer(from, row, LCP_COLUMN_HEAD_DIM, row->model.hidden_size / a->heads, 1, 65536);
    a->v_head_dim = a->head_dim;
}

static void read_ffn(lcp_row *row, const lcp_row_source *from)
{
    lcp_ffn *ffn = &row->class.ffn;
    bool gated = lcp_row_integer(from, row, LCP_COLUMN_GATED_MLP, 0, 0, 1) == 1;
    int64_t experts = lcp_row_integer(from, row, LCP_COLUMN_EXPERTS, 0, 0, 65536);
    ffn->kind = experts > 1 ? LCP_FFN_MOE : gated ? LCP_FFN_GATED : LCP_FFN_PLAIN;
    ffn->size = lcp_row_integer(from, row, LCP_COLUMN_FFN, 4 * row->model.hidden_size, 1, INT64_C(1) << 31);
    if (ffn->kind == LCP_FFN_MOE) {
        ffn->gated_experts = gated;
        ffn->experts = experts;
        ffn->top_k = lcp_row_integer(from, row, LCP_COLUMN_TOPK, 0, 1, experts);
        if (ffn->top_k == 0) {
            lcp_row_skip(row, "topk: blank in a mixture of experts");
            ffn->top_k = 1;
        }
    }
}

/* Biases and norms of a GPT; norms alone of a gated model. */
static void set_extras(lcp_row *row)
{
    lcp_layer_class *layer = &row->class;
    int64_t hidden = row->model.hidden_size;
    bool plain = layer->ffn.kind == LCP_FFN_PLAIN;
    layer->norm_parameters = (plain ? 4 : 2) * hidden;
    row->model.final_extra_parameters = (plain ? 2 : 1) * hidden;
    if (plain) {
        int64_t heads = layer->attention.heads + 2 * layer->attention.kv_heads;
        layer->attention.extra_parameters = heads * layer->attention.head_dim + hidden;
        layer->ffn.extra_parameters = layer->ffn.size + hidden;
    }
}

/* Whether the head shares the table is not a column: the notes may say it, else the published total decides. */
static void set_tying(lcp_row *row, const lcp_row_source *from)
{
    const char *notes = lcp_row_text(from, LCP_COLUMN_NOTES);
    double published = lcp_row_number(from, row, LCP_COLUMN_PARAMS_B, 0, 0, 1e6) * 1e9;
    row->model.tied_embeddings = row->class.ffn.kind == LCP_FFN_PLAIN;
    if (lcp_row_says(notes, "untied embeddings")) {
        row->model.tied_embeddings = false;
    } else if (lcp_row_says(notes, "tied embeddings")) {
        row->model.tied_embeddings = true;
    } else if (published > 0 && row->skipped[0] == '\0') {
        lcp_cluster cluster = lcp_row_bind(row);
        (void)cluster;
        row->model.tied_embeddings = true;
        double tied = (double)lcp_model_parameters(&row->model).total;
        double table = (double)row->model.vocab_size * (double)row->model.hidden_size;
        row->model.tied_embeddings = fabs(published - tied) <= fabs(published - tied - table);
    }
}

void lcp_row_read_model(lcp_row *row, const lcp_row_source *from)
{
    lcp_model *model = &row->model;
    snprintf(model->name, sizeof model->name, "%.100s", lcp_row_text(from, LCP_COLUMN_MODEL));
    model->class_count = 1;
    model->mtp_class = -1;
    row->class.measured = (lcp_measured_layer){-1, -1, -1, -1};
    model->hidden_size = lcp_row_integer(from, row, LCP_COLUMN_HIDDEN, 0, 1, INT64_C(1) << 20);
    model->layer_count = (int32_t)lcp_row_integer(from, row, LCP_COLUMN_LAYERS, 0, 1, LCP_MAX_LAYERS);
    model->vocab_size = lcp_row_integer(from, row, LCP_COLUMN_VOCAB, 50304, 1, INT64_C(1) << 30);
    if (model->hidden_size == 0 || model->layer_count == 0) {
        lcp_row_skip(row, "%s: blank", model->hidden_size == 0 ? "hidden" : "layers");
        model->hidden_size = model->hidden_size == 0 ? 1 : model->hidden_size;
        model->layer_count = model->layer_count == 0 ? 1 : model->layer_count;
    }
    read_attention(row, from);
    read_ffn(row, from);
    set_extras(row);
    set_tying(row, from);
    if (lcp_row_says(model->name, "lora")) {
        lcp_row_skip(row, "model: adapter training is not modelled");
    }
    if (lcp_row_says(lcp_row_text(from, LCP_COLUMN_NOTES), "multi-latent-attention")) {
        lcp_row_skip(row, "notes: the columns do not describe latent attention");
    }
}
