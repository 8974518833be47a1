/* Whether a configuration is possible, and if not why. */
#include "estimate_internal.h"

/* More tokens in a microbatch than any sum below could count bytes for. */
#define MOST_TOKENS 1e12

static lcp_status check_degrees(const lcp_model *model, const lcp_cluster *cluster, const lcp_run *run, lcp_error *err)
{
    const lcp_layout *l = &run->layout;
    const int32_t degrees[] = {l->dp, l->pp, l->vpp, l->tp, l->ulysses, l->ring, l->ep};
    for (size_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++) {
        if (degrees[i] < 1) {
            return lcp_fail(err, LCP_INPUT, "", "a degree is %d, expected at least 1", (int)degrees[i]);
        }
    }
    double devices = (double)l->dp * l->pp * l->tp * l->ulysses * l->ring;
    double present = 0;
    for (int32_t g = 0; g < cluster->group_count; g++) {
        present += (double)cluster->groups[g].nodes * (double)cluster->groups[g].devices_per_node;
    }
    if (devices > present) {
        return lcp_fail(err, LCP_INPUT, "", "the degrees multiply to %g devices, the cluster has %g", devices, present);
    }
    double stages = (double)l->pp * l->vpp;
    if (stages > model->layer_count + 2 || l->pp > LCP_ESTIMATE_MAX_STAGES) {
        return lcp_fail(err, LCP_INPUT, "",
                        "pp x vpp = %g stages, expected at most %d (layers, embedding, head) and %d ranks", stages,
                        (int)model->layer_count + 2, LCP_ESTIMATE_MAX_STAGES);
    }
    if (l->vpp > 1 && run->schedule == LCP_RUN_GPIPE) {
        return lcp_fail(err, LCP_INPUT, "", "gpipe has no virtual stages, found vpp = %d", (int)l->vpp);
    }
    return LCP_OK;
}

static lcp_status check_groups(const lcp_run *run, lcp_error *err)
{
    const lcp_layout *l = &run->layout;
    int64_t replicas = (int64_t)l->dp * l->ulysses * l->ring;
    if (replicas * l->tp % l->ep != 0) {
        return lcp_fail(err, LCP_INPUT, "", "ep = %d does not divide tp x cp x dp", (int)l->ep);
    }
    if (l->shard_ranks < 0 || (l->shard_ranks > 0 && l->shard_ranks < replicas && replicas % l->shard_ranks != 0)) {
        return lcp_fail(err, LCP_INPUT, "", "ZeRO groups of %d ranks do not divide dp x cp = %lld", (int)l->shard_ranks,
                        (long long)replicas);
    }
    return LCP_OK;
}

static bool divides_either_way(int64_t a, int64_t b)
{
    return a % b == 0 || b % a == 0;
}

static lcp_status check_heads(const lcp_attention *a, const lcp_layout *l, lcp_error *err)
{
    int64_t ranks = (int64_t)l->tp * l->ulysses;
    bool shared = a->kind == LCP_ATTENTION_GROUPED || a->kind == LCP_ATTENTION_LINEAR;
    if (a->kind != LCP_ATTENTION_NONE && a->heads % ranks != 0) {
        return lcp_fail(err, LCP_INPUT, "", "%lld attention heads are not a multiple of tp x ulysses = %lld",
                        (long long)a->heads, (long long)ranks);
    }
    if (shared && !(divides_either_way(a->kv_heads, l->tp) && divides_either_way(a->kv_heads, ranks))) {
        return lcp_fail(err, LCP_INPUT, "", "%lld kv heads neither divide nor are divided by tp = %d and tp x ulysses",
                        (long long)a->kv_heads, (int)l->tp);
    }
    return LCP_OK;
}

static lcp_status check_widths(const lcp_model *model, const lcp_layout *l, lcp_error *err)
{
    lcp_status status = LCP_OK;
    for (int32_t c = 0; status == LCP_OK && c < model->class_count; c++) {
        const lcp_ffn *ffn = &model->classes[c].ffn;
        bool experts = ffn->kind == LCP_FFN_MOE;
        int64_t dense = experts ? ffn->shared_experts * ffn->shared_size : ffn->size;
        status = check_heads(&model->classes[c].attention, l, err);
        if (status == LCP_OK && ffn->kind != LCP_FFN_NONE && dense % l->tp != 0) {
            status = lcp_fail(err, LCP_INPUT, "", "an ffn width of %lld is not a multiple of tp = %d", (long long)dense,
                              (int)l->tp);
        }
        if (status == LCP_OK && experts && ffn->experts % l->ep != 0) {
            status = lcp_fail(err, LCP_INPUT, "", "%lld experts are not a multiple of ep = %d", (long long)ffn->experts,
                              (int)l->ep);
        }
    }
    return status;
}

static lcp_status check_batch(const lcp_run *run, lcp_error *err)
{
    if (run->sequence_length_tokens < 1 || run->microbatch_sequences < 1 || run->global_batch_sequences < 1) {
        return lcp_fail(err, LCP_INPUT, "", "sequence length, microbatch and global batch must be at least 1");
    }
    double tokens = (double)run->sequence_length_tokens * (double)run->microbatch_sequences;
    if (tokens > MOST_TOKENS) {
        return lcp_fail(err, LCP_INPUT, "", "a microbatch of %g tokens, expected at most %g", tokens, MOST_TOKENS);
    }
    int64_t share = run->microbatch_sequences * run->layout.dp;
    if (run->global_batch_sequences % share != 0) {
        return lcp_fail(err, LCP_INPUT, "",
                        "a global batch of %lld sequences is not a multiple of microbatch x dp = %lld",
                        (long long)run->global_batch_sequences, (long long)share);
    }
    return LCP_OK;
}

static lcp_status check_stages(const lcp_model *model, const lcp_run *run, lcp_error *err)
{
    int32_t first = run->first_stage_layers;
    int32_t last = run->last_stage_layers;
    if (first < 0 || last < 0 || first > model->layer_count || last > model->layer_count) {
        return lcp_fail(err, LCP_INPUT, "", "first and last stage of %d and %d layers, expected 0 to %d", (int)first,
                        (int)last, (int)model->layer_count);
    }
    int32_t middle = run->layout.pp * run->layout.vpp - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0);
    int32_t left = model->layer_count - first - last;
    if (first + last > 0 && (middle < 0 || left < middle || (middle == 0 && left != 0))) {
        return lcp_fail(err, LCP_INPUT, "", "first and last stage of %d and %d layers leave %d layers for %d others",
                        (int)first, (int)last, (int)left, (int)middle);
    }
    return LCP_OK;
}

static lcp_status check_recompute(const lcp_run *run, lcp_error *err)
{
    const lcp_run_recompute *r = &run->recompute;
    bool grouped = r->method == LCP_METHOD_BLOCK || r->method == LCP_METHOD_UNIFORM;
    if (grouped && r->layers < 1) {
        return lcp_fail(err, LCP_INPUT, "", "recompute by block or group needs at least 1 layer");
    }
    if (r->method == LCP_METHOD_POLICY && !(r->share >= 0 && r->share <= 1)) {
        return lcp_fail(err, LCP_INPUT, "", "recompute: a share of %g, expected 0 to 1", r->share);
    }
    if (!(run->activation_offload_ratio >= 0 && run->activation_offload_ratio <= 1)) {
        return lcp_fail(err, LCP_INPUT, "", "offload: a share of %g of the activations, expected 0 to 1",
                        run->activation_offload_ratio);
    }
    return LCP_OK;
}

static lcp_status check_host(const lcp_cluster *cluster, const lcp_run *run, lcp_error *err)
{
    bool moves = run->optimizer_on_host || run->activation_offload_ratio > 0;
    if (moves && !(cluster->groups[0].host.bandwidth_bytes_per_second > 0)) {
        return lcp_fail(err, LCP_INPUT, "", "offload: the cluster has no link to its hosts");
    }
    return LCP_OK;
}

lcp_status lcp_run_check(const lcp_model *model, const lcp_cluster *cluster, const lcp_run *run, lcp_error *err)
{
    lcp_status status = check_degrees(model, cluster, run, err);
    status = status == LCP_OK ? check_groups(run, err) : status;
    status = status == LCP_OK ? check_widths(model, &run->layout, err) : status;
    status = status == LCP_OK ? check_batch(run, err) : status;
    status = status == LCP_OK ? check_stages(model, run, err) : status;
    status = status == LCP_OK ? check_recompute(run, err) : status;
    return status == LCP_OK ? check_host(cluster, run, err) : status;
}
