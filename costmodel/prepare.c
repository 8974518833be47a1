/* Everything of the cost model that does not depend on the chunk. */
#include "internal.h"

#include <math.h>

/* Largest count of bytes or flops a dimension may lead to: far below the end of int64. */
#define LIMIT 1e18

lcp_training lcp_training_default(void)
{
    return (lcp_training){
        .precision = LCP_PRECISION_BF16,
        .optimizer = LCP_OPTIMIZER_ADAM,
        .loss = LCP_LOSS_FUSED,
        .gradient_bytes = 4,
        .kv_gradient_bytes = 4,
        .expert_imbalance = 1.05,
        .dp_overlap_ratio = 0.5,
        .tp_overlap_ratio = 0,
        .ep_overlap_ratio = 0,
        .zero_overlap_ratio = 1,
        .mla_keeps_expanded_kv = true,
    };
}

lcp_sharding lcp_sharding_of(const lcp_model *model, const lcp_layout *layout, const lcp_training *training)
{
    double token_ranks = (double)layout->ulysses * layout->ring;
    return (lcp_sharding){
        .model = model,
        .layout = layout,
        .training = training,
        .element_bytes = lcp_element_bytes(training->precision),
        .tp = layout->tp,
        .ulysses = layout->ulysses,
        .ring = layout->ring,
        .ep = layout->ep,
        .ranks = token_ranks * layout->tp,
        .token_ranks = token_ranks,
        .residual_ranks = token_ranks * (layout->sequence_parallel ? layout->tp : 1),
        .expert_ranks = token_ranks * layout->tp,
    };
}

static lcp_status check_sizes(const lcp_model *model, const lcp_layout *layout, const lcp_training *training,
                              lcp_error *err)
{
    lcp_sharding s = lcp_sharding_of(model, layout, training);
    double total = (double)model->vocab_size * (double)model->hidden_size;
    for (int32_t c = 0; c < model->class_count; c++) {
        lcp_local_parameters local = lcp_layer_local_parameters(&model->classes[c], &s);
        total += (local.dense + local.expert) * model->layer_count;
    }
    if (!(total * 64 < LIMIT)) {
        return lcp_fail(err, LCP_INPUT, model->name,
                        "dimensions lead to %g parameters a rank, more than can be counted", total);
    }
    double devices = (double)layout->dp * layout->pp * layout->tp * layout->ulysses * layout->ring;
    if (!(devices < 1e9)) {
        return lcp_fail(err, LCP_INPUT, "", "the degrees multiply to %g devices", devices);
    }
    return LCP_OK;
}

static void set_alignment(lcp_cost *cost)
{
    const lcp_layout *layout = &cost->layout;
    int64_t context = (int64_t)layout->ulysses * layout->tp;
    /* A ring deals every sequence in 2 * ring pieces, so that each rank gets an early and a late one. */
    cost->segment_alignment_tokens = layout->ring > 1 ? 2 * layout->ring * context : 1;
    cost->chunk_alignment_tokens = layout->ring > 1 ? cost->segment_alignment_tokens : context;
}

static void prepare_class(lcp_cost *cost, int32_t c, const lcp_sharding *s)
{
    const lcp_layer_class *layer = &cost->model->classes[c];
    lcp_product products[LCP_MAX_PRODUCTS];
    int32_t count = lcp_layer_products(products, layer, s);
    lcp_local_parameters local = lcp_layer_local_parameters(layer, s);
    int32_t zero = cost->layout.zero_stage;
    cost->layer_static[c] = lcp_static_bytes_of(cost, &local);
    cost->layer_step[c] = lcp_step_seconds_of(cost, &local, lcp_muon_flops(products, count, s));
    cost->layer_gather_seconds[c] = zero >= 3 ? lcp_layer_gather_seconds_of(cost, &local) : 0;
    cost->layer_reduce_seconds[c] = zero >= 2 ? lcp_layer_reduce_seconds_of(cost, &local) : 0;
    cost->layer_gather_bytes[c] = zero >= 3 ? lcp_bytes_up(s->element_bytes * (local.dense + local.expert)) : 0;
    lcp_layer_terms_of(&cost->layer_terms[c], cost, c, s);
}

/* Copies of a tied table on the first and the last stage add their gradients to each other. */
static double tied_exchange_seconds(const lcp_cost *cost, const lcp_sharding *s)
{
    if (!s->model->tied_embeddings || cost->layout.pp <= 1) {
        return 0;
    }
    double table = (double)s->model->vocab_size * (double)s->model->hidden_size / s->tp;
    return lcp_collective_seconds(LCP_COLLECTIVE_ALL_REDUCE, table * cost->training.gradient_bytes, &cost->pp);
}

static void prepare_ends(lcp_cost *cost, const lcp_sharding *s)
{
    lcp_local_parameters embedding = lcp_embedding_local_parameters(s);
    lcp_local_parameters head = lcp_head_local_parameters(s);
    cost->embedding_static = lcp_static_bytes_of(cost, &embedding);
    cost->head_static = lcp_static_bytes_of(cost, &head);
    cost->embedding_step = lcp_step_seconds_of(cost, &embedding, 0);
    cost->head_step = lcp_step_seconds_of(cost, &head, 0);
    /* The first stage is the last to finish its backward passes; what every step costs stands there. */
    cost->embedding_step.optimizer += cost->device->step_overhead_seconds;
    double tied = tied_exchange_seconds(cost, s);
    cost->embedding_step.exposed_dp += tied;
    cost->head_step.exposed_dp += tied;
    lcp_embedding_terms_of(&cost->embedding_terms, cost, s);
    lcp_head_terms_of(&cost->head_terms, cost, s);
}

lcp_status lcp_cost_prepare(lcp_cost *cost, const lcp_model *model, const lcp_cluster *cluster,
                            const lcp_layout *layout, const lcp_training *training, lcp_error *err)
{
    /* Every member is set below, of the arrays as many as the model has classes: clearing all of them costs more. */
    lcp_status status = check_sizes(model, layout, training, err);
    if (status != LCP_OK) {
        return status;
    }
    const lcp_group *group = &cluster->groups[0];
    cost->model = model;
    cost->cluster = cluster;
    cost->device = &group->device;
    cost->layout = *layout;
    cost->training = *training;
    cost->capacity_bytes = group->device.memory_bytes;
    double usable = group->usable_memory_ratio;
    for (int32_t g = 1; g < cluster->group_count; g++) {
        usable = fmin(usable, cluster->groups[g].usable_memory_ratio);
    }
    cost->reserve_bytes = lcp_bytes_up((double)cost->capacity_bytes * (1 - usable));
    set_alignment(cost);
    lcp_place_groups(cost);
    lcp_sharding s = lcp_sharding_of(model, &cost->layout, &cost->training);
    for (int32_t c = 0; c < model->class_count; c++) {
        prepare_class(cost, c, &s);
    }
    prepare_ends(cost, &s);
    return LCP_OK;
}
