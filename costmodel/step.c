/* Gradient exchange and optimizer at the end of a step, and the per-chunk exchanges of ZeRO 2 and 3. */
#include "internal.h"

/* Newton-Schulz iterations of Muon. */
#define MUON_ITERATIONS 5.0

double lcp_layer_gather_seconds_of(const lcp_cost *cost, const lcp_local_parameters *parameters)
{
    double e = lcp_element_bytes(cost->training.precision);
    double seconds = lcp_collective_seconds(LCP_COLLECTIVE_ALL_GATHER, e * parameters->dense, &cost->shard);
    if (parameters->expert > 0) {
        seconds += lcp_collective_seconds(LCP_COLLECTIVE_ALL_GATHER, e * parameters->expert, &cost->expert_dp);
    }
    return seconds;
}

static double exchange_gradients(const lcp_cost *cost, lcp_collective kind, const lcp_local_parameters *parameters)
{
    double bytes = (double)cost->training.gradient_bytes;
    bool scattered = kind == LCP_COLLECTIVE_REDUCE_SCATTER;
    double dense = bytes * parameters->dense;
    double seconds = lcp_collective_seconds(kind, dense, scattered ? &cost->shard : &cost->dp);
    if (scattered) {
        double shard = dense / (double)cost->shard.ranks;
        seconds += lcp_collective_seconds(LCP_COLLECTIVE_ALL_REDUCE, shard, &cost->replicas);
    }
    if (parameters->expert > 0) {
        seconds += lcp_collective_seconds(kind, bytes * parameters->expert, &cost->expert_dp);
    }
    return seconds;
}

double lcp_layer_reduce_seconds_of(const lcp_cost *cost, const lcp_local_parameters *parameters)
{
    return exchange_gradients(cost, LCP_COLLECTIVE_REDUCE_SCATTER, parameters);
}

double lcp_muon_flops(const lcp_product *products, int32_t count, const lcp_sharding *s)
{
    double flops = 0;
    for (int32_t i = 0; i < count; i++) {
        double small = (double)(products[i].inner < products[i].outer ? products[i].inner : products[i].outer);
        /* X X^T, its square, and the product with X: 2 m m n + 2 m m m + 2 m m n for m <= n. */
        double local = lcp_product_local_parameters(&products[i], s);
        double matrices = local / ((double)products[i].inner * (double)products[i].outer);
        flops += MUON_ITERATIONS * (4 * small * local + 2 * small * small * small * matrices);
    }
    return flops;
}

/* Reads gradient, state and master copy; writes state, master copy and weights. */
static double update_seconds(const lcp_cost *cost, const lcp_local_parameters *parameters, const lcp_rates *rates)
{
    const lcp_training *training = &cost->training;
    lcp_static_bytes bytes = lcp_static_bytes_of(cost, parameters);
    double shards = cost->layout.zero_stage >= 1 ? (double)cost->shard.ranks : 1;
    double expert_shards = cost->layout.zero_stage >= 1 ? (double)cost->expert_dp.ranks : 1;
    double updated = parameters->dense / shards + parameters->expert / expert_shards;
    double small = (double)training->gradient_bytes + lcp_element_bytes(training->precision);
    return (2 * (double)bytes.optimizer + updated * small) / rates->memory_bytes_per_second;
}

lcp_step_seconds lcp_step_seconds_of(const lcp_cost *cost, const lcp_local_parameters *parameters, double muon_flops)
{
    int32_t zero = cost->layout.zero_stage;
    double exchange = 0;
    if (zero == 0) {
        exchange = exchange_gradients(cost, LCP_COLLECTIVE_ALL_REDUCE, parameters);
    } else if (zero < 3) {
        exchange = lcp_layer_gather_seconds_of(cost, parameters);
        exchange += zero == 1 ? lcp_layer_reduce_seconds_of(cost, parameters) : 0;
    }
    lcp_rates rates = lcp_rates_of(cost->device, cost->training.precision);
    double muon = cost->training.optimizer == LCP_OPTIMIZER_MUON ? muon_flops : 0;
    muon /= zero >= 1 ? (double)cost->shard.ranks : 1;
    return (lcp_step_seconds){
        .exposed_dp = exchange * (1 - cost->training.dp_overlap_ratio),
        .optimizer = update_seconds(cost, parameters, &rates) + muon / rates.matmul_flops_per_second,
    };
}
