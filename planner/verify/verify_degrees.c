/* Inputs and degrees. */
#include "verify/verify_internal.h"

#include <stdio.h>

lcp_status lcp_verify_inputs(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    const lcp_workload *workload = &problem->workload;
    (void)plan;
    if (problem->model.layer_count < 1 || problem->cluster.group_count < 1 || workload->sequence_count < 1) {
        return lcp_broken(err, "model, cluster or workload is empty", "$.inputs");
    }
    for (int64_t i = 0; i < workload->sequence_count; i++) {
        if (workload->lengths_tokens[i] < 1 || workload->lengths_tokens[i] > workload->max_length_tokens) {
            return lcp_broken(err, "a length outside [1, max_length_tokens]", "$.sequences[%lld]", (long long)i);
        }
        if (problem->model.learned_positions && workload->lengths_tokens[i] > problem->model.max_position_tokens) {
            return lcp_broken(err, "longer than the model's learned positions", "$.sequences[%lld]", (long long)i);
        }
    }
    return LCP_OK;
}

static lcp_status broken_degree(lcp_error *err, const char *key, int64_t found, int64_t of, const char *what)
{
    char path[64];
    snprintf(path, sizeof path, "$.parallelism.%s", key);
    return lcp_fail(err, LCP_FALSE, path, "%lld against %s %lld: neither side divides as it must", (long long)found,
                    what, (long long)of);
}

static bool divides_either(int64_t a, int64_t b)
{
    return a % b == 0 || b % a == 0;
}

static lcp_status check_class(const lcp_layer_class *class, const lcp_layout *l, lcp_error *err)
{
    int64_t head_ranks = (int64_t)l->tp * l->ulysses;
    const lcp_attention *a = &class->attention;
    bool shared_kv = a->kind == LCP_ATTENTION_GROUPED || a->kind == LCP_ATTENTION_LINEAR;
    if (a->kind != LCP_ATTENTION_NONE && a->heads % head_ranks != 0) {
        return broken_degree(err, l->ulysses > 1 ? "ulysses" : "tp", head_ranks, a->heads, "heads");
    }
    if (shared_kv && (!divides_either(a->kv_heads, l->tp) || !divides_either(a->kv_heads, head_ranks))) {
        return broken_degree(err, l->ulysses > 1 ? "ulysses" : "tp", head_ranks, a->kv_heads, "kv heads");
    }
    bool dense = class->ffn.kind == LCP_FFN_PLAIN || class->ffn.kind == LCP_FFN_GATED;
    if (dense && class->ffn.size % l->tp != 0) {
        return broken_degree(err, "tp", l->tp, class->ffn.size, "ffn width");
    }
    if (class->ffn.kind == LCP_FFN_MOE && class->ffn.experts % l->ep != 0) {
        return broken_degree(err, "ep", l->ep, class->ffn.experts, "experts");
    }
    int64_t shared = class->ffn.shared_experts * class->ffn.shared_size;
    if (class->ffn.kind == LCP_FFN_MOE && shared % l->tp != 0) {
        return broken_degree(err, "tp", l->tp, shared, "shared experts' width");
    }
    if (a->window_tokens > 0 && l->ring > 1 && l->ring_method == LCP_RING_P2P) {
        return lcp_broken(err, "a sliding window allows no point-to-point ring", "$.parallelism.ring");
    }
    return LCP_OK;
}

lcp_status lcp_verify_degrees(const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    const lcp_layout *l = &plan->layout;
    const lcp_model *model = &problem->model;
    const lcp_group *group = &problem->cluster.groups[0];
    int64_t replicas = (int64_t)l->tp * l->ulysses * l->ring * l->dp;
    int64_t available = lcp_cluster_devices(&problem->cluster);
    if (replicas * l->pp != available) {
        return lcp_fail(err, LCP_FALSE, "$.parallelism", "degrees multiply to %lld devices, the cluster has %lld",
                        (long long)(replicas * l->pp), (long long)available);
    }
    if (l->tp > group->devices_per_node || group->devices_per_node % l->tp != 0) {
        return broken_degree(err, "tp", l->tp, group->devices_per_node, "devices per node");
    }
    if (replicas % l->ep != 0) {
        return broken_degree(err, "ep", l->ep, replicas, "tp x cp x dp");
    }
    if ((int64_t)l->pp * l->vpp > model->layer_count) {
        return lcp_broken(err, "more stages than layers", "$.parallelism.pp");
    }
    if (l->sequence_parallel != (l->tp > 1)) {
        return lcp_broken(err, "sequence parallelism goes with tensor parallelism", "$.parallelism.sequence_parallel");
    }
    if (l->zero_stage == 2 && l->pp > 1) {
        return lcp_broken(err, "ZeRO 2 needs pp = 1", "$.parallelism.zero_stage");
    }
    if (l->ring > 1 && model->attention_needs_all_keys) {
        return lcp_broken(err, "attention sinks allow no ring", "$.parallelism.ring");
    }
    lcp_status status = LCP_OK;
    for (int32_t c = 0; status == LCP_OK && c < model->class_count; c++) {
        status = check_class(&model->classes[c], l, err);
    }
    return status;
}
