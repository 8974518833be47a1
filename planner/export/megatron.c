#include "export/megatron.h"

static bool has_ffn(const lcp_model *model, lcp_ffn_kind kind)
{
    for (int32_t c = 0; c < model->class_count; c++) {
        if (model->classes[c].ffn.kind == kind) {
            return true;
        }
    }
    return false;
}

/* The inside of an ffn has one name in dense layers and another in layers of experts. */
static void set_modules(lcp_megatron *out, const lcp_model *model)
{
    int count = 0;
    if (has_ffn(model, LCP_FFN_PLAIN) || has_ffn(model, LCP_FFN_GATED)) {
        out->modules[count++] = "mlp";
    }
    if (has_ffn(model, LCP_FFN_MOE)) {
        out->modules[count++] = "moe";
    }
}

static const char *comm_type(const lcp_layout *layout)
{
    if (layout->ulysses > 1) {
        return layout->ring > 1 ? "a2a+p2p" : "a2a";
    }
    return layout->ring == 1 ? NULL : layout->ring_method == LCP_RING_ALL_GATHER ? "all_gather" : "p2p";
}

/* Mixed settings become the leanest that covers them: whole layers, as many as any stage recomputes at most. */
static void set_recompute(lcp_megatron *out, const lcp_export *from)
{
    const lcp_recompute_form *form = &from->recompute;
    bool modules = (from->target.trainer->expresses & LCP_HAS(LCP_FEATURE_MLP_RECOMPUTE)) != 0;
    if (form->policy == LCP_RECOMPUTE_NONE) {
        return;
    }
    if (form->feature == LCP_FEATURE_MLP_RECOMPUTE && modules) {
        out->granularity = "selective";
        set_modules(out, &from->problem->model);
        return;
    }
    bool all = form->feature == LCP_FEATURE_FULL_RECOMPUTE;
    out->granularity = "full";
    out->method = all ? "uniform" : "block";
    out->recompute_layers = all ? 1 : form->layers;
}

static void set_batch(lcp_megatron *out, const lcp_export *from)
{
    const lcp_setup *run = &from->run;
    bool plain = run->equal_lengths && run->micro_sequences > 0;
    out->micro_batch = plain ? run->micro_sequences : 1;
    out->global_batch = run->equal_lengths ? run->sequences : from->plan->chunk_count;
    out->sequence_tokens = run->equal_lengths ? run->sequence_tokens : from->longest_chunk_tokens;
}

void lcp_megatron_of(lcp_megatron *out, const lcp_export *from)
{
    const lcp_setup *run = &from->run;
    *out = (lcp_megatron){
        .context = run->layout.ulysses * run->layout.ring,
        .comm = comm_type(&run->layout),
        .two_levels = run->layout.ulysses > 1 && run->layout.ring > 1,
        .needs_layout = !lcp_rule_split_equal(run),
        .first = run->stage_layers[0],
        .last = run->stage_layers[run->stage_count - 1],
        .experts = has_ffn(&from->problem->model, LCP_FFN_MOE),
    };
    set_recompute(out, from);
    set_batch(out, from);
}

void lcp_megatron_layout(lcp_text *out, const lcp_export *from)
{
    for (int32_t s = 0; s < from->run.stage_count; s++) {
        const lcp_stage *stage = &from->plan->stages[s];
        lcp_text_put(out, "%s%s", s > 0 ? "|" : "", stage->embedding ? "E" : "");
        if (stage->layer_count > 0) {
            lcp_text_put(out, "t*%d", stage->layer_count);
        }
        if (stage->head) {
            for (int32_t m = 0; m < from->problem->model.mtp_count; m++) {
                lcp_text_put(out, "m");
            }
            lcp_text_put(out, "L");
        }
    }
}
