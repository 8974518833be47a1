/* Small pipelines with drawn costs, priced here without the planner's view, replay or memory replay. */
#ifndef LCP_PARTITION_CASE_H
#define LCP_PARTITION_CASE_H

#include "cost_fixture.h"
#include "partition/partition.h"

#define CASE_STAGES 3
#define CASE_CHUNKS 4
#define CASE_CLASSES 2
#define CASE_PIPELINES 2

typedef struct partition_case {
    cost_fixture fixture;
    lcp_pipeline_tables tables[CASE_PIPELINES];
    lcp_partition_input input;
} partition_case;

typedef struct case_shape {
    int32_t pipelines, stages, layers, classes, chunks;
    bool sliced; /* the last two chunks are slices of one sequence */
    uint32_t policy_mask;
} case_shape;

/* Same seed, same case. The capacity is drawn between what the leanest and the richest choices need, sometimes less. */
void partition_case_make(partition_case *out, const case_shape *shape, uint64_t seed);
void partition_case_dispose(partition_case *c);

/* Extra seconds and kept bytes of one cell (stage, chunk) under some choice of policies. */
typedef struct case_cell {
    double recompute_seconds;
    int64_t kept_bytes;
} case_cell;
/* The cell under the counts of a partition. */
case_cell partition_case_cell(const partition_case *c, int32_t pipeline, int32_t chunk, const int32_t *class_layers,
                              const int32_t *counts);
void partition_case_class_layers(const partition_case *c, const int32_t *stage_layers, int32_t stage, int32_t *layers);
/* Largest bytes over the operations of a stage; cells[chunk]. */
int64_t partition_case_peak(const partition_case *c, int32_t pipeline, int32_t stage, const int32_t *class_layers,
                            const case_cell *cells);
/* Longest path with tails; cells[stage * CASE_CHUNKS + chunk]. */
double partition_case_seconds(const partition_case *c, int32_t pipeline, const int32_t *stage_layers,
                              const case_cell *cells);

/* The fastest choice of one pipeline under a split, infinity if none fits; only those under `below` are looked for. */
double partition_case_best(const partition_case *c, int32_t pipeline, const int32_t *stage_layers, double below);

#endif
