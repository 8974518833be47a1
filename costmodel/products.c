/* Matrix products of a layer: the one place where shapes are turned into parameters, rows and time. */
#include "internal.h"

#include <string.h>

/* Parts of a matrix and of the chunk's rows that one rank holds. */
static double shard_divisor(const lcp_product *product, const lcp_sharding *s)
{
    const double divisors[LCP_SHARD_COUNT] = {
        [LCP_SHARD_REPLICATED] = 1,
        [LCP_SHARD_TENSOR] = s->tp / product->replication,
        [LCP_SHARD_EXPERT] = s->ep,
    };
    return divisors[product->shard];
}

double lcp_product_parameters(const lcp_product *product)
{
    return (double)product->inner * (double)product->outer * (double)product->copies;
}

double lcp_product_local_parameters(const lcp_product *product, const lcp_sharding *s)
{
    return lcp_product_parameters(product) / shard_divisor(product, s);
}

double lcp_product_local_rows(const lcp_product *product, const lcp_sharding *s)
{
    const double rows[LCP_SHARD_COUNT] = {
        [LCP_SHARD_REPLICATED] = 1 / s->residual_ranks,
        [LCP_SHARD_TENSOR] = 1 / s->token_ranks,
        [LCP_SHARD_EXPERT] = s->training->expert_imbalance / s->expert_ranks,
    };
    return product->rows_per_token * rows[product->shard];
}

int32_t lcp_layer_products(lcp_product *out, const lcp_layer_class *layer, const lcp_sharding *s)
{
    lcp_mixer mixer;
    lcp_ffn_block ffn;
    lcp_describe_mixer(&mixer, &layer->attention, s);
    lcp_describe_ffn(&ffn, &layer->ffn, s);
    memcpy(out, mixer.products, (size_t)mixer.product_count * sizeof *out);
    memcpy(out + mixer.product_count, ffn.products, (size_t)ffn.product_count * sizeof *out);
    return mixer.product_count + ffn.product_count;
}

static uint32_t rebuilt_by(lcp_part part)
{
    uint32_t mask = 0;
    for (uint32_t p = 0; p < LCP_RECOMPUTE_COUNT; p++) {
        mask |= lcp_recompute_rules[p].rebuilds[part] ? 1U << p : 0U;
    }
    return mask;
}

lcp_product_terms lcp_product_terms_of(const lcp_product *product, const lcp_sharding *s, const lcp_device *device)
{
    lcp_rates rates = lcp_rates_of(device, s->training->precision);
    /* For experts: of one matrix on average; the batch is the rows of all local ones. */
    double divisor = shard_divisor(product, s);
    double matrices = product->shard == LCP_SHARD_EXPERT ? (double)product->copies / divisor : 1;
    double parameters = lcp_product_parameters(product) / divisor;
    double inner = (double)product->inner;
    double outer = parameters / matrices / inner;
    double rows = lcp_product_local_rows(product, s);
    double overhead = device->matmul.overhead_seconds;
    double row_seconds = 2 * inner * outer / rates.matmul_flops_per_second;
    double byte_seconds = 1 / rates.memory_bytes_per_second;
    double operand = s->element_bytes * (inner + outer) * rows * byte_seconds;
    double update = 2 * (double)s->training->gradient_bytes * parameters * byte_seconds;
    return (lcp_product_terms){
        .compute = {overhead + row_seconds * device->matmul.half_rows * matrices, row_seconds * rows},
        .memory = {overhead + s->element_bytes * parameters * byte_seconds, operand},
        .weight_grad_memory = {overhead + update, operand},
        .rebuilt = rebuilt_by(product->part),
    };
}
