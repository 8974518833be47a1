/* Parameter counts in whole numbers: matrices from the dimensions, everything else as given. */
#include "lcp/model.h"

static int64_t mixer_matrices(const lcp_attention *a, int64_t hidden)
{
    int64_t qk_dim = a->nope_head_dim + a->rope_head_dim;
    int64_t inner = a->heads * a->head_dim;
    int64_t query;
    switch (a->kind) {
    case LCP_ATTENTION_GROUPED:
        query = hidden * inner * (a->output_gate ? 2 : 1);
        return query + hidden * a->kv_heads * (a->head_dim + a->v_head_dim) + a->heads * a->v_head_dim * hidden;
    case LCP_ATTENTION_LATENT:
        query = a->q_rank > 0 ? hidden * a->q_rank + a->q_rank * a->heads * qk_dim : hidden * a->heads * qk_dim;
        return query + hidden * (a->kv_rank + a->rope_head_dim) +
               a->kv_rank * a->heads * (a->nope_head_dim + a->v_head_dim) + a->heads * a->v_head_dim * hidden;
    case LCP_ATTENTION_STATE_SPACE: /* gate, x, B, C and a step per head in; x out */
        return hidden * (2 * inner + 2 * a->groups * a->state_size + a->heads) + inner * hidden;
    case LCP_ATTENTION_LINEAR: /* q, k, v, gate, two scalars per value head in; v out */
        return hidden * (2 * a->kv_heads * a->head_dim + 2 * a->heads * a->v_head_dim + 2 * a->heads) +
               a->heads * a->v_head_dim * hidden;
    case LCP_ATTENTION_NONE:
    case LCP_ATTENTION_KIND_COUNT:
        break;
    }
    return 0;
}

lcp_layer_parameters lcp_layer_class_parameters(const lcp_model *model, int32_t layer_class)
{
    const lcp_layer_class *class = &model->classes[layer_class];
    const lcp_ffn *ffn = &class->ffn;
    int64_t hidden = model->hidden_size;
    lcp_layer_parameters out = {.norms = class->norm_parameters};
    out.attention = mixer_matrices(&class->attention, hidden) + class->attention.extra_parameters;
    int64_t matrices = ffn->kind == LCP_FFN_GATED || (ffn->kind == LCP_FFN_MOE && ffn->gated_experts) ? 3 : 2;
    switch (ffn->kind) {
    case LCP_FFN_PLAIN:
    case LCP_FFN_GATED:
        out.dense_ffn = matrices * hidden * ffn->size + ffn->extra_parameters;
        break;
    case LCP_FFN_MOE:
        out.router = hidden * ffn->experts + ffn->extra_parameters;
        out.shared_experts = matrices * hidden * ffn->shared_size * ffn->shared_experts;
        out.routed_experts = ffn->experts * (matrices * hidden * ffn->size + ffn->expert_extra_parameters);
        break;
    case LCP_FFN_NONE:
    case LCP_FFN_KIND_COUNT:
        break;
    }
    return out;
}

static int64_t layer_total(const lcp_layer_parameters *p)
{
    return p->attention + p->dense_ffn + p->router + p->shared_experts + p->routed_experts + p->norms;
}

lcp_parameter_count lcp_model_parameters(const lcp_model *model)
{
    lcp_parameter_count out = {.embedding = model->vocab_size * model->hidden_size,
                               .positions = model->position_parameters};
    out.norms = model->final_extra_parameters;
    out.head = model->tied_embeddings ? 0 : out.embedding;
    int64_t idle = 0; /* routed experts that a token does not touch */
    for (int32_t l = 0; l < model->layer_count; l++) {
        lcp_layer_parameters layer = lcp_layer_class_parameters(model, model->layer_class[l]);
        const lcp_ffn *ffn = &model->classes[model->layer_class[l]].ffn;
        out.attention += layer.attention;
        out.dense_ffn += layer.dense_ffn;
        out.router += layer.router;
        out.shared_experts += layer.shared_experts;
        out.routed_experts += layer.routed_experts;
        out.norms += layer.norms;
        idle += ffn->kind == LCP_FFN_MOE ? layer.routed_experts / ffn->experts * (ffn->experts - ffn->top_k) : 0;
    }
    out.total = out.embedding + out.positions + out.attention + out.dense_ffn + out.router + out.shared_experts +
                out.routed_experts + out.norms + out.head;
    out.active = out.total - idle;
    if (model->mtp_count > 0) {
        lcp_layer_parameters layer = lcp_layer_class_parameters(model, model->mtp_class);
        out.mtp = model->mtp_count *
                  (layer_total(&layer) + 2 * model->hidden_size * model->hidden_size + 3 * model->hidden_size);
    }
    return out;
}
