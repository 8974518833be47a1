/* What the parts of an estimate share. */
#ifndef LCP_ESTIMATE_INTERNAL_H
#define LCP_ESTIMATE_INTERNAL_H

#include "internal.h"
#include "lcp/estimate.h"

/* One layer of a class and one microbatch, as the run trains it. */
typedef struct lcp_run_layer {
    lcp_layer_cost cost;
    double forward_seconds, backward_seconds; /* exposed offload included; backward without what runs again */
    double recompute_seconds;                 /* where a layer recomputes */
    double offload_seconds;                   /* hidden and exposed, both directions */
    double exposed_offload_seconds;
    double kept_bytes;            /* where it does not recompute by block: after modules and offload; UNIFORM: share */
    double kept_recomputed_bytes; /* BLOCK: of a recomputed layer */
} lcp_run_layer;

typedef struct lcp_run_view {
    const lcp_model *model;
    const lcp_run *run;
    const lcp_cost *cost;
    int64_t microbatches;
    int32_t virtual_stages;      /* pp * vpp */
    int32_t bare_ends;           /* 1: first and last virtual stage hold no layer */
    int32_t base_layers, longer; /* of a middle virtual stage; how many of them hold one more */
    lcp_run_layer *layers;       /* [class_count] */
    lcp_end_cost embedding, head;
} lcp_run_view;

/* LCP_INPUT with the reason if the run is not possible. */
lcp_status lcp_run_check(const lcp_model *model, const lcp_cluster *cluster, const lcp_run *run, lcp_error *err);

/* Layers [*first, *first + result) of virtual stage v. */
int32_t lcp_run_stage_layers(const lcp_run_view *view, int32_t v, int32_t *first);
/* Layer i of virtual stage v runs its forward pass again. */
static inline bool lcp_run_recomputes(const lcp_run_view *view, int32_t index_in_stage)
{
    const lcp_run_recompute *r = &view->run->recompute;
    return r->method != LCP_METHOD_BLOCK || index_in_stage < r->layers;
}

/* fmax of numbers, without a call. */
static inline double lcp_later(double a, double b)
{
    return a > b ? a : b;
}

/* One microbatch on one pipeline rank, all its virtual stages. */
typedef struct lcp_pass_seconds {
    double forward, backward;
} lcp_pass_seconds;

/* From the first pass to the end of the last; hop is the time between stages on neighbouring ranks. 1F1B is exact up to
 * 8 pp microbatches, beyond that within 1 % however uneven the ranks are; GPipe is exact. */
double lcp_pipeline_seconds(const lcp_pass_seconds *ranks, int32_t pp, int32_t vpp, lcp_run_schedule schedule,
                            int64_t microbatches, double hop);
/* Hops on the way of one microbatch through all virtual stages and back. */
double lcp_pipeline_hop_seconds(int32_t pp, int32_t vpp, double hop);

void lcp_estimate_time(lcp_estimate *out, const lcp_run_view *view);
void lcp_estimate_memory_of(lcp_estimate *out, const lcp_run_view *view);

#endif
