#include "cost_fixture.h"

#include "device_rates.h"
#include "support.h"

#include <string.h>

static void not_measured(lcp_layer_class *layer)
{
    layer->measured = (lcp_measured_layer){-1, -1, -1, -1};
}

void fixture_dense(cost_fixture *f, int64_t hidden, int64_t heads, int64_t kv_heads, int64_t size, int32_t layers)
{
    memset(f, 0, sizeof *f);
    f->classes[0] = (lcp_layer_class){
        .attention = {.kind = LCP_ATTENTION_GROUPED,
                      .heads = heads,
                      .kv_heads = kv_heads,
                      .head_dim = hidden / heads,
                      .v_head_dim = hidden / heads},
        .ffn = {.kind = LCP_FFN_GATED, .size = size},
        .norm_parameters = 2 * hidden,
    };
    not_measured(&f->classes[0]);
    f->model = (lcp_model){
        .name = "fixture",
        .hidden_size = hidden,
        .vocab_size = 1000,
        .class_count = 1,
        .classes = f->classes,
        .layer_count = layers,
        .layer_class = f->layer_class,
        .mtp_class = -1,
    };
    f->training = lcp_training_default();
    f->layout = fixture_layout(1, 1, 1, 1, 1);
}

void fixture_llama(cost_fixture *f)
{
    fixture_dense(f, 4096, 32, 8, 14336, 32);
    f->model.vocab_size = 128256;
}

void fixture_gpt(cost_fixture *f, int64_t hidden, int64_t heads, int32_t layers)
{
    fixture_dense(f, hidden, heads, heads, 4 * hidden, layers);
    f->classes[0].ffn.kind = LCP_FFN_PLAIN;
    f->model.vocab_size = 50304;
}

void fixture_deepseek(cost_fixture *f)
{
    fixture_dense(f, 2048, 16, 16, 10944, 27);
    f->classes[0].attention = (lcp_attention){.kind = LCP_ATTENTION_LATENT,
                                              .heads = 16,
                                              .kv_heads = 16,
                                              .v_head_dim = 128,
                                              .kv_rank = 512,
                                              .nope_head_dim = 128,
                                              .rope_head_dim = 64};
    f->classes[0].ffn = (lcp_ffn){.kind = LCP_FFN_MOE,
                                  .size = 1408,
                                  .gated_experts = true,
                                  .experts = 64,
                                  .top_k = 6,
                                  .shared_experts = 2,
                                  .shared_size = 1408};
    f->model.vocab_size = 102400;
}

static void one_group(cost_fixture *f, int64_t nodes, lcp_link intra, lcp_link inter)
{
    f->groups[0].nodes = nodes;
    f->groups[0].devices_per_node = 8;
    f->groups[0].usable_memory_ratio = 0.9;
    f->groups[0].intra_node = intra;
    f->groups[0].inter_node = inter;
    f->cluster = (lcp_cluster){.group_count = 1, .groups = f->groups, .links = f->links};
}

void fixture_ideal_cluster(cost_fixture *f, int64_t nodes)
{
    f->groups[0].device = (lcp_device){
        .peak_flops_per_second = 1e15,
        .memory_bytes = 100000000000,
        .memory_bandwidth_bytes_per_second = 1e13,
        .matmul = {.ratio = 1},
        .attention_forward = {.ratio = 1},
        .attention_backward = {.ratio = 1},
        .memory_ratio = 1,
        .network_ratio = 0.85,
        .activation_ratio = 1,
        .collective_ratio = 1,
    };
    one_group(f, nodes, (lcp_link){100e9, 0}, (lcp_link){10e9, 0});
}

void fixture_a100_cluster(cost_fixture *f, int64_t nodes)
{
    const lcp_device_rates *rates = lcp_device_rates_find("ampere");
    assert_non_null(rates);
    f->groups[0].device = (lcp_device){
        .peak_flops_per_second = 312e12,
        .memory_bytes = INT64_C(80) << 30,
        .memory_bandwidth_bytes_per_second = 2.04e12,
        .matmul = rates->matmul,
        .attention_forward = rates->attention_forward,
        .attention_backward = rates->attention_backward,
        .memory_ratio = rates->memory_ratio,
        .collective_ratio = rates->collective_ratio,
        .collective_half_bytes = rates->collective_half_bytes,
        .network_ratio = 0.85,
        .activation_ratio = 1,
        .pass_overhead_seconds = 1e-4,
        .hop_overhead_seconds = 1e-5,
    };
    one_group(f, nodes, (lcp_link){300e9, rates->collective_latency_seconds}, (lcp_link){25e9, 1e-5});
}

void fixture_prepare(cost_fixture *f)
{
    lcp_error err = {0};
    lcp_status status = lcp_cost_prepare(&f->cost, &f->model, &f->cluster, &f->layout, &f->training, &err);
    assert_int_equal(status, LCP_OK);
}

lcp_layout fixture_layout(int32_t dp, int32_t pp, int32_t tp, int32_t ulysses, int32_t ring)
{
    return (lcp_layout){
        .dp = dp, .pp = pp, .vpp = 1, .tp = tp, .ulysses = ulysses, .ring = ring, .ep = 1, .sequence_parallel = tp > 1};
}

lcp_chunk fixture_chunk(lcp_segment *segment, int64_t offset, int64_t length, bool has_successor)
{
    *segment = (lcp_segment){.offset_tokens = offset, .length_tokens = length, .has_successor = has_successor};
    return (lcp_chunk){.segment_count = 1, .segments = segment};
}

double fixture_layer_seconds(const lcp_layer_cost *layer)
{
    return lcp_seconds_sum(&layer->forward) + lcp_seconds_sum(&layer->input_grad) +
           lcp_seconds_sum(&layer->weight_grad);
}

static double end_seconds(const lcp_end_cost *end)
{
    return lcp_seconds_sum(&end->forward) + lcp_seconds_sum(&end->input_grad) + lcp_seconds_sum(&end->weight_grad);
}

double fixture_chunk_seconds(const lcp_cost *cost, const lcp_chunk *chunk)
{
    double seconds = 0;
    for (int32_t c = 0; c < cost->model->class_count; c++) {
        lcp_layer_cost layer;
        lcp_cost_layer(cost, c, chunk, &layer);
        seconds += cost->layer_terms[c].layers * fixture_layer_seconds(&layer);
    }
    lcp_end_cost end;
    lcp_cost_embedding(cost, chunk, &end);
    seconds += end_seconds(&end);
    lcp_cost_head(cost, chunk, &end);
    return seconds + end_seconds(&end);
}
