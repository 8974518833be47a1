/* Feed-forward blocks: one function and one row each. */
#include "internal.h"

#include <assert.h>

static void add(lcp_ffn_block *out, const lcp_product *product)
{
    assert(out->product_count < LCP_MAX_BLOCK_PRODUCTS);
    out->products[out->product_count++] = *product;
}

/* Two or three matrices of one width; gate and up projection are one product of twice the width. */
static void add_dense(lcp_ffn_block *out, const lcp_sharding *s, int64_t size, int64_t gates)
{
    int64_t hidden = s->model->hidden_size;
    lcp_product up = {hidden, size * (1 + gates), 1, 1, 1, LCP_SHARD_TENSOR, LCP_PART_FFN_IN};
    lcp_product down = {size, hidden, 1, 1, 1, LCP_SHARD_TENSOR, LCP_PART_FFN_OUT};
    add(out, &up);
    add(out, &down);
    double width = s->element_bytes * (double)size / s->ranks;
    double inputs = 1 + (double)gates;
    out->tensor_parallel = true;
    out->pointwise_bytes += width * (inputs + 1);
    out->pointwise_grad_bytes += width * (2 * inputs + 1);
    out->rebuilt_bytes += width * (inputs + 1);
    out->kept_inside_bytes += width * (inputs + 1);
    out->kept_activation_bytes += width;
    out->kernels += 1;
}

static void describe_plain(lcp_ffn_block *out, const lcp_ffn *ffn, const lcp_sharding *s)
{
    add_dense(out, s, ffn->size, 0);
}

static void describe_gated(lcp_ffn_block *out, const lcp_ffn *ffn, const lcp_sharding *s)
{
    add_dense(out, s, ffn->size, 1);
}

static void add_experts(lcp_ffn_block *out, const lcp_ffn *ffn, const lcp_sharding *s)
{
    int64_t hidden = s->model->hidden_size;
    int64_t gates = ffn->gated_experts ? 1 : 0;
    double top_k = (double)ffn->top_k;
    lcp_product up = {hidden, ffn->size * (1 + gates), ffn->experts, top_k, 1, LCP_SHARD_EXPERT, LCP_PART_FFN_IN};
    lcp_product down = {ffn->size, hidden, ffn->experts, top_k, 1, LCP_SHARD_EXPERT, LCP_PART_FFN_OUT};
    add(out, &up);
    add(out, &down);
    double e = s->element_bytes;
    double rows = top_k * s->training->expert_imbalance / s->expert_ranks;
    double width = e * rows * (double)ffn->size;
    double inputs = 1 + (double)gates;
    double moved = e * rows * (double)hidden;
    out->routed_bytes = moved;
    /* Dispatch and combine each read and write the routed rows. */
    out->pointwise_bytes += width * (inputs + 1) + 4 * moved;
    out->pointwise_grad_bytes += width * (2 * inputs + 1) + 4 * moved;
    out->rebuilt_bytes += width * (inputs + 1);
    out->kept_inside_bytes += width * (inputs + 1) + moved;
    out->kept_activation_bytes += width;
    out->kernels += 4;
}

static void describe_moe(lcp_ffn_block *out, const lcp_ffn *ffn, const lcp_sharding *s)
{
    lcp_product router = {s->model->hidden_size, ffn->experts, 1, 1, 1, LCP_SHARD_REPLICATED, LCP_PART_FFN_IN};
    add(out, &router);
    /* fp32 scores: written by the product, read and written by the softmax, kept for its gradient. */
    double scores = 4 * (double)ffn->experts / s->residual_ranks;
    out->pointwise_bytes += 3 * scores;
    out->pointwise_grad_bytes += 3 * scores;
    out->kept_inside_bytes += scores;
    out->kernels += 1;
    if (ffn->shared_experts > 0) {
        add_dense(out, s, ffn->shared_experts * ffn->shared_size, ffn->gated_experts ? 1 : 0);
    }
    add_experts(out, ffn, s);
}

static void describe_none(lcp_ffn_block *out, const lcp_ffn *ffn, const lcp_sharding *s)
{
    (void)out;
    (void)ffn;
    (void)s;
}

const lcp_ffn_row lcp_ffn_rows[LCP_FFN_KIND_COUNT] = {
    [LCP_FFN_NONE] = {"none", describe_none},
    [LCP_FFN_PLAIN] = {"plain", describe_plain},
    [LCP_FFN_GATED] = {"gated", describe_gated},
    [LCP_FFN_MOE] = {"moe", describe_moe},
};

void lcp_describe_ffn(lcp_ffn_block *out, const lcp_ffn *ffn, const lcp_sharding *s)
{
    *out = (lcp_ffn_block){0};
    lcp_ffn_rows[ffn->kind].describe(out, ffn, s);
}
