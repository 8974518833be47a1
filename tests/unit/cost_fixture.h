/* Small models and clusters for the tests of the cost model, with round numbers where a hand computation needs them. */
#ifndef LCP_COST_FIXTURE_H
#define LCP_COST_FIXTURE_H

#include "lcp/cost.h"

typedef struct cost_fixture {
    lcp_layer_class classes[4];
    int32_t layer_class[128];
    lcp_model model;
    lcp_group groups[2];
    lcp_group_link links[1];
    lcp_cluster cluster;
    lcp_training training;
    lcp_layout layout;
    lcp_cost cost;
} cost_fixture;

/* One class of grouped attention and a dense feed-forward block. */
void fixture_dense(cost_fixture *f, int64_t hidden, int64_t heads, int64_t kv_heads, int64_t size, int32_t layers);
/* Llama-3.1-8B: 32 layers of 4096, 32 heads, 8 key/value heads of 128, gated 14336, vocabulary 128256. */
void fixture_llama(cost_fixture *f);
/* GPT of 12 hidden^2 parameters a layer: plain feed-forward of 4 hidden, vocabulary 50304. */
void fixture_gpt(cost_fixture *f, int64_t hidden, int64_t heads, int32_t layers);
/* Makes every layer DeepSeek-V2-Lite's: latent attention without query rank, 64 experts of 1408, 6 active, 2 shared. */
void fixture_deepseek(cost_fixture *f);
/* nodes x 8 devices: 1e15 flops/s, 1e13 bytes/s, curves without overhead or half sizes, links 100e9 and 10e9 bytes/s.
 */
void fixture_ideal_cluster(cost_fixture *f, int64_t nodes);
/* nodes x 8 A100 with the fitted curves; 300e9 and 25e9 bytes/s. */
void fixture_a100_cluster(cost_fixture *f, int64_t nodes);
/* Prepares f->cost for the layout in f->layout; devices must exist. */
void fixture_prepare(cost_fixture *f);
lcp_layout fixture_layout(int32_t dp, int32_t pp, int32_t tp, int32_t ulysses, int32_t ring);

/* A chunk of one segment. */
lcp_chunk fixture_chunk(lcp_segment *segment, int64_t offset, int64_t length, bool has_successor);

/* Forward + input gradient + weight gradient, all causes. */
double fixture_layer_seconds(const lcp_layer_cost *layer);
/* All layers and both ends of one chunk, forward and backward, without pass overheads. */
double fixture_chunk_seconds(const lcp_cost *cost, const lcp_chunk *chunk);

#endif
