/* Cells of measured runs: every form that the published tables hold, blanks, and what is not understood. */
#include "row_case.h"

#include <string.h>

/* A change, and what a figure of the row becomes; or why the row is not estimated. */
typedef enum figure {
    SKIPPED,
    ZERO_STAGE,
    SHARD_RANKS,
    ON_HOST,
    METHOD,
    MODULES,
    GROUP_LAYERS,
    POLICY,
    SHARE_PERCENT,
    PRECISION,
    SIXTEEN_BIT,
    SCHEDULE,
    CORE,
    DROPOUT,
    LOSS,
    SEQUENCE_PARALLEL,
    DP,
    RING,
    ULYSSES,
    RING_METHOD,
    GLOBAL,
    MICRO,
    NODES,
    PER_NODE,
    KV_HEADS,
    HEAD_DIM,
    FFN_KIND,
    FFN_SIZE,
    EXPERTS,
    TOP_K,
    VOCAB,
    TIED,
    NORM_PARAMETERS,
    MILLISECONDS,
    MEGABYTES,
    LAST_RANK,
    OOM,
    SUSPECT,
    DESCRIBED,
    COMPLETE,
    FIRST_LAYERS,
    LAST_LAYERS
} figure;

static int64_t figure_of(const lcp_row *row, figure which)
{
    const lcp_layout *l = &row->run.layout;
    const lcp_run *run = &row->run;
    const int64_t values[] = {
        [SKIPPED] = row->skipped[0] != '\0',
        [ZERO_STAGE] = l->zero_stage,
        [SHARD_RANKS] = l->shard_ranks,
        [ON_HOST] = run->optimizer_on_host,
        [METHOD] = run->recompute.method,
        [MODULES] = run->recompute.modules,
        [GROUP_LAYERS] = run->recompute.layers,
        [POLICY] = run->recompute.policy,
        [SHARE_PERCENT] = (int64_t)(100 * run->recompute.share + 0.5),
        [PRECISION] = run->training.precision,
        [SIXTEEN_BIT] = row->sixteen_bit,
        [SCHEDULE] = run->schedule,
        [CORE] = run->training.attention_core,
        [DROPOUT] = run->training.dropout,
        [LOSS] = run->training.loss,
        [SEQUENCE_PARALLEL] = l->sequence_parallel,
        [DP] = l->dp,
        [RING] = l->ring,
        [ULYSSES] = l->ulysses,
        [RING_METHOD] = l->ring_method,
        [GLOBAL] = run->global_batch_sequences,
        [MICRO] = run->microbatch_sequences,
        [NODES] = row->group.nodes,
        [PER_NODE] = row->group.devices_per_node,
        [KV_HEADS] = row->class.attention.kv_heads,
        [HEAD_DIM] = row->class.attention.head_dim,
        [FFN_KIND] = row->class.ffn.kind,
        [FFN_SIZE] = row->class.ffn.size,
        [EXPERTS] = row->class.ffn.experts,
        [TOP_K] = row->class.ffn.top_k,
        [VOCAB] = row->model.vocab_size,
        [TIED] = row->model.tied_embeddings,
        [NORM_PARAMETERS] = row->class.norm_parameters,
        [MILLISECONDS] = (int64_t)(1000 * row->measured_seconds + 0.5),
        [MEGABYTES] = (int64_t)(row->measured_bytes / 1e6 + 0.5),
        [LAST_RANK] = row->last_rank_memory,
        [OOM] = row->out_of_memory,
        [SUSPECT] = row->suspect,
        [DESCRIBED] = row->described,
        [COMPLETE] = row->complete,
        [FIRST_LAYERS] = run->first_stage_layers,
        [LAST_LAYERS] = run->last_stage_layers,
    };
    return values[which];
}

typedef struct cell_row {
    const char *changes;
    figure which;
    int64_t expected;
} cell_row;

static const cell_row cells[] = {
    {"zero_fsdp=", ZERO_STAGE, 0},
    {"zero_fsdp=none", ZERO_STAGE, 0},
    {"zero_fsdp=ddp", ZERO_STAGE, 0},
    {"zero_fsdp=zero1", ZERO_STAGE, 1},
    {"zero_fsdp=zero1-distopt", ZERO_STAGE, 1},
    {"zero_fsdp=zero1:all-dp", ZERO_STAGE, 1},
    {"zero_fsdp=zero1:all-dp", SHARD_RANKS, 0},
    {"zero_fsdp=zero1:2", SHARD_RANKS, 2},
    {"zero_fsdp=zero1:8", SHARD_RANKS, 0}, /* more than the two replicas: all of them */
    {"zero_fsdp=zero1:99999999999999999999", SHARD_RANKS, 0},
    {"zero_fsdp=fsdp-zero2", ZERO_STAGE, 2},
    {"zero_fsdp=fsdp", ZERO_STAGE, 3},
    {"zero_fsdp=fsdp-zero3", ZERO_STAGE, 3},
    {"zero_fsdp=zero3", ZERO_STAGE, 3},
    {"zero_fsdp=zero3 + cpu offload", ZERO_STAGE, 3},
    {"zero_fsdp=zero3 + cpu offload", ON_HOST, 1},
    {"zero_fsdp=hsdp", ZERO_STAGE, 3},
    {"zero_fsdp=hsdp;gpus=64;dp=16;gbs=64", SHARD_RANKS, 8},
    {"zero_fsdp=fsdp2:2", ZERO_STAGE, 3},
    {"zero_fsdp=fsdp2:1", SHARD_RANKS, 1},
    {"zero_fsdp=megatron-fsdp:2", SHARD_RANKS, 2},
    {"zero_fsdp=megatron-fsdp:optim_grads_params", ZERO_STAGE, 3},
    {"zero_fsdp=megatron-fsdp:optim_grads_params", SHARD_RANKS, 0},
    {"zero_fsdp=zero1", ON_HOST, 0},
    {"offload=none", ON_HOST, 0},
    {"offload=optimizer to host", ON_HOST, 1},
    {"offload=optimizer/params cpu (DeepSpeed)", ON_HOST, 1},
    {"recompute=none", METHOD, LCP_METHOD_NONE},
    {"recompute=", METHOD, LCP_METHOD_NONE},
    {"recompute=full", METHOD, LCP_METHOD_FULL},
    {"recompute=full (attention recomputed)", METHOD, LCP_METHOD_FULL},
    {"recompute=full:uniform", METHOD, LCP_METHOD_FULL},
    {"recompute=full:uniform:1", METHOD, LCP_METHOD_UNIFORM},
    {"recompute=full:uniform:3", GROUP_LAYERS, 3},
    {"recompute=full:block:7", METHOD, LCP_METHOD_BLOCK},
    {"recompute=full:block:7", GROUP_LAYERS, 7},
    {"recompute=selective:core_attn", METHOD, LCP_METHOD_SELECTIVE},
    {"recompute=selective:core_attn", MODULES, 1 << LCP_MODULE_CORE_ATTENTION},
    {"recompute=selective:mla_up_proj", MODULES, 1 << LCP_MODULE_MLA_UP},
    {"recompute=selective:mla_up_proj,mlp", MODULES, 1 << LCP_MODULE_MLA_UP | 1 << LCP_MODULE_MLP},
    {"recompute=selective:moe_act", MODULES, 1 << LCP_MODULE_ACTIVATION},
    {"recompute=selective:layernorm,moe_act", MODULES, 1 << LCP_MODULE_LAYERNORM | 1 << LCP_MODULE_ACTIVATION},
    {"recompute=selective:moe", MODULES, 1 << LCP_MODULE_MLP},
    {"recompute=selective:moe,layernorm", MODULES, 1 << LCP_MODULE_MLP | 1 << LCP_MODULE_LAYERNORM},
    {"recompute=selective:mlp,core_attn", MODULES, 1 << LCP_MODULE_MLP | 1 << LCP_MODULE_CORE_ATTENTION},
    {"recompute=selective:[moe_act]", MODULES, 1 << LCP_MODULE_ACTIVATION},
    {"recompute=selective:[layernorm mla_up_proj mlp moe_act]", MODULES,
     1 << LCP_MODULE_LAYERNORM | 1 << LCP_MODULE_MLA_UP | 1 << LCP_MODULE_MLP | 1 << LCP_MODULE_ACTIVATION},
    {"recompute=selective: all but attention recomputed", POLICY, LCP_RECOMPUTE_ATTENTION_OUTPUT},
    {"recompute=selective: all but attention recomputed", SHARE_PERCENT, 100},
    {"recompute=selective: attention output kept for half of the sequence", POLICY, LCP_RECOMPUTE_ATTENTION_OUTPUT},
    {"recompute=selective: attention output kept for half of the sequence", SHARE_PERCENT, 50},
    {"recompute=attention-output", POLICY, LCP_RECOMPUTE_ATTENTION_OUTPUT},
    {"recompute=mlp", METHOD, LCP_METHOD_POLICY},
    {"recompute=activation", POLICY, LCP_RECOMPUTE_ACTIVATION},
    /* 3 (hfu / mfu - 1) of the layers run again: a quarter. */
    {"recompute=selective:block;mfu_pct=48;hfu_pct=52", SHARE_PERCENT, 75},
    {"recompute=selective:block;mfu_pct=48;hfu_pct=64", SHARE_PERCENT, 0},
    {"recompute=selective:block;mfu_pct=48;hfu_pct=52", METHOD, LCP_METHOD_POLICY},
    {"precision=", PRECISION, LCP_PRECISION_BF16},
    {"precision=fp16", PRECISION, LCP_PRECISION_FP16},
    {"precision=fp16/fp32 not stated", PRECISION, LCP_PRECISION_FP16},
    {"precision=fp32", PRECISION, LCP_PRECISION_FP32},
    {"precision=TF32", PRECISION, LCP_PRECISION_FP32},
    {"precision=fp8", PRECISION, LCP_PRECISION_FP8},
    {"precision=mxfp8+bf16", PRECISION, LCP_PRECISION_FP8},
    {"precision=fp8cs+bf16", PRECISION, LCP_PRECISION_FP8},
    {"precision=fp8+fp32", PRECISION, LCP_PRECISION_FP8},
    {"precision=nvfp4+bf16", PRECISION, LCP_PRECISION_FP4},
    {"precision=fp8", SIXTEEN_BIT, 0},
    {"precision=nvfp4+bf16", SIXTEEN_BIT, 0},
    {"precision=fp32", SIXTEEN_BIT, 1},
    {"schedule=", SCHEDULE, LCP_RUN_1F1B},
    {"schedule=none", SCHEDULE, LCP_RUN_1F1B},
    {"schedule=1f1b", SCHEDULE, LCP_RUN_1F1B},
    {"schedule=interleaved-1f1b;vpp=2", SCHEDULE, LCP_RUN_INTERLEAVED},
    {"schedule=1f1b;vpp=2", SCHEDULE, LCP_RUN_INTERLEAVED},
    {"schedule=GPipe", SCHEDULE, LCP_RUN_GPIPE},
    {"attn_impl=", CORE, LCP_ATTENTION_CORE_FLASH},
    {"attn_impl=flash", CORE, LCP_ATTENTION_CORE_FLASH},
    {"attn_impl=fused", CORE, LCP_ATTENTION_CORE_FLASH},
    {"attn_impl=unfused", CORE, LCP_ATTENTION_CORE_UNFUSED},
    {"attn_impl=unfused (pre-flash)", CORE, LCP_ATTENTION_CORE_UNFUSED},
    {"attn_impl=plain", CORE, LCP_ATTENTION_CORE_UNFUSED},
    {"attn_impl=plain;framework=BMTrain burst", CORE, LCP_ATTENTION_CORE_FLASH},
    {"notes=transformer-impl local", CORE, LCP_ATTENTION_CORE_UNFUSED},
    {"attn_impl=flash;notes=transformer-impl local", CORE, LCP_ATTENTION_CORE_FLASH},
    {"notes=hidden dropout 0.1", DROPOUT, 1},
    {"notes=hidden dropout 0.0", DROPOUT, 0},
    {"extra_args=cross-entropy-loss-fusion=True", LOSS, LCP_LOSS_EAGER},
    {"extra_args=cross-entropy-loss-fusion=True cross-entropy-fusion-impl=te", LOSS, LCP_LOSS_FUSED},
    {"extra_args=x=1 decoder-first-pipeline-num-layers=1", FIRST_LAYERS, 1},
    {"extra_args=decoder-last-pipeline-num-layers=3", LAST_LAYERS, 3},
    {"sp=1", SEQUENCE_PARALLEL, 1},
    {"sp=2", SEQUENCE_PARALLEL, 1},
    {"sp=0", SEQUENCE_PARALLEL, 0},
    {"sp=", SEQUENCE_PARALLEL, 0},
    {"sp=1;tp=1;dp=4", SEQUENCE_PARALLEL, 0},
    {"dp=", DP, 2},
    {"tp=;pp=;cp=;dp=", DP, 8},
    {"cp=2;dp=1", RING, 2},
    {"ulysses=2;dp=1", ULYSSES, 2},
    {"cp=2;dp=1", RING_METHOD, LCP_RING_P2P},
    {"cp=2;dp=1;framework=Burst+Double", RING_METHOD, LCP_RING_DOUBLE},
    /* Heads over the node first: 16 heads, tp 2. */
    {"cp=4;dp=1;gpus=16;framework=LoongTrain-USP", ULYSSES, 4},
    {"cp=4;dp=1;gpus=16;framework=ds-ulysses", RING, 1},
    {"cp=32;pp=1;dp=1;gpus=64;framework=Burst+Ulysses", ULYSSES, 8},
    {"cp=32;pp=1;dp=1;gpus=64;framework=Burst+Ulysses", RING, 4},
    {"gbs=;grad_accum=3", GLOBAL, 12},
    {"mbs=;grad_accum=4", MICRO, 2},
    {"mbs=", MICRO, 1},
    {"mbs=;grad_accum=3", MICRO, 1},
    {"gpus=64;dp=16;gbs=64", NODES, 8},
    {"gpus_per_node=4", NODES, 2},
    {"gpus_per_node=", PER_NODE, 8},
    {"gpus=9;dp=;tp=1;pp=9;layers=9", NODES, 2},
    {"kv_heads=", KV_HEADS, 16},
    {"kv_heads=4", KV_HEADS, 4},
    {"head_dim=", HEAD_DIM, 64},
    {"head_dim=128", HEAD_DIM, 128},
    {"ffn=", FFN_SIZE, 4096},
    {"ffn=3072", FFN_SIZE, 3072},
    {"gated_mlp=", FFN_KIND, LCP_FFN_PLAIN},
    {"gated_mlp=1", FFN_KIND, LCP_FFN_GATED},
    {"experts=8;topk=2;ep=1", FFN_KIND, LCP_FFN_MOE},
    {"experts=8;topk=2;ep=1", EXPERTS, 8},
    {"experts=8;topk=2;ep=1", TOP_K, 2},
    {"experts=1", FFN_KIND, LCP_FFN_PLAIN},
    {"vocab=", VOCAB, 50304},
    {"gated_mlp=0", NORM_PARAMETERS, 4096},
    {"gated_mlp=1", NORM_PARAMETERS, 2048},
    {"gated_mlp=0", TIED, 1},
    {"gated_mlp=1", TIED, 0},
    {"gated_mlp=1;notes=tied embeddings", TIED, 1},
    {"notes=untied embeddings", TIED, 0},
    /* 51.5 M in the table, 50.4 M in the layers: the published total decides. */
    {"params_b=0.102", TIED, 1},
    {"params_b=0.153", TIED, 0},
    {"gated_mlp=1;ffn=2730;params_b=0.102", TIED, 1},
    {"iter_time_s=1.5", MILLISECONDS, 1500},
    {"iter_time_s=", MILLISECONDS, 0},
    {"iter_time_s=;tokens_per_s_gpu=2048", MILLISECONDS, 2000},
    {"iter_time_s=1;tokens_per_s_gpu=2048", MILLISECONDS, 1000},
    {"peak_mem_gb=20", MEGABYTES, 20000},
    {"peak_mem_gb=20;mem_unit=GiB", MEGABYTES, 21475},
    {"peak_mem_gb=20;mem_unit=GB", MEGABYTES, 20000},
    {"framework=Megatron-Core", LAST_RANK, 1},
    {"framework=Megatron-LM", LAST_RANK, 0},
    {"status=oom", OOM, 1},
    {"status=oom", SKIPPED, 0},
    {"status=", SKIPPED, 0},
    {"notes=figure is SUSPECT", SUSPECT, 1},
    {"", DESCRIBED, 1},
    {"", COMPLETE, 1},
    {"recompute=", DESCRIBED, 0},
    {"mbs=", DESCRIBED, 0},
    {"cp=", DESCRIBED, 0},
    {"vocab=", DESCRIBED, 1},
};

static void cell_is_understood(void **state)
{
    const cell_row *row = *state;
    lcp_row out = row_of(row->changes, NULL);
    if (out.skipped[0] != '\0') {
        fail_msg("%s: %s", row->changes, out.skipped);
    }
    assert_int_equal(figure_of(&out, row->which), row->expected);
}

typedef struct skip_row {
    const char *changes, *reason;
} skip_row;

static const skip_row skips[] = {
    {"gpu_type=", "gpu_type: blank"},
    {"gpu_type=Abacus", "gpu_type: 'Abacus' is not in the catalogue"},
    {"gpus=", "gpus: blank"},
    {"gpus=9", "gpus: 9, but the degrees multiply to 8"},
    {"gpus=9;dp=", "gpus: 9 is not a multiple of tp x cp x pp = 4"},
    {"gpus=2", "gpus: 2, but the degrees multiply to 4"},
    {"tp=1048576;cp=1048576;pp=1048576;ulysses=1048576", "gpus: 8, but the degrees multiply to 1.20893e+24"},
    {"gpus=many", "gpus: found 'many', expected a number from 1 to 1e+07"},
    {"tp=0", "tp: found '0', expected a number from 1 to 1.04858e+06"},
    {"tp=1.5", "tp: found '1.5', expected a whole number"},
    {"pp=nan", "pp: found 'nan', expected a number from 1 to 1.04858e+06"},
    {"layers=", "layers: blank"},
    {"hidden=", "hidden: blank"},
    {"heads=", "heads: blank"},
    {"layers=4 ", "layers: found '4 ', expected a number from 1 to 1024"},
    {"seq_len=", "seq_len: blank"},
    {"seq_len=-1", "seq_len: found '-1', expected a number from 1 to 1.09951e+12"},
    {"gbs=", "gbs: blank, and no grad_accum to derive it from"},
    {"gbs=;mbs=1073741824;grad_accum=1073741824", "gbs: blank, and no grad_accum to derive it from"},
    {"experts=8;ep=1", "topk: blank in a mixture of experts"},
    {"experts=8;topk=2", "ep: blank in a mixture of experts"},
    {"experts=8;topk=9;ep=1", "topk: found '9', expected a number from 1 to 8"},
    {"gated_mlp=2", "gated_mlp: found '2', expected a number from 0 to 1"},
    {"precision=posit", "precision: 'posit' is not known"},
    {"schedule=zero-bubble", "schedule: 'zero-bubble' has no closed form here"},
    {"zero_fsdp=some", "zero_fsdp: 'some' is not known"},
    {"zero_fsdp=zero1:2;gpus=12;dp=3;gbs=12", "zero_fsdp: groups of 2 do not divide 3 replicas"},
    {"cp=;framework=megatron-cp", "cp: blank in a run with context parallelism"},
    {"cp=;framework=burst", "cp: blank in a run with context parallelism"},
    {"cp=;framework=LoongTrain-USP", "cp: blank in a run with context parallelism"},
    {"recompute=some", "recompute: 'some' is not known"},
    {"recompute=selective", "recompute: 'selective' does not say what is recomputed"},
    {"recompute=selective:", "recompute: 'selective:' does not say what is recomputed"},
    {"recompute=selective:core_attn,heads", "recompute: 'selective:core_attn,heads' does not say what is recomputed"},
    {"recompute=selective:block", "recompute: 'selective:block' without mfu_pct and hfu_pct does not say how much"},
    {"recompute=selective:block;mfu_pct=50;hfu_pct=40",
     "recompute: 'selective:block' without mfu_pct and hfu_pct does not say how much"},
    {"status=slow", "status: found 'slow', expected ok or oom"},
    {"model=llama lora", "model: adapter training is not modelled"},
    {"notes=multi-latent-attention", "notes: the columns do not describe latent attention"},
    {"iter_time_s=fast", "iter_time_s: found 'fast', expected a number from 0 to 1e+09"},
    /* The first reason wins. */
    {"gpu_type=;status=slow;precision=posit", "gpu_type: blank"},
};

static void row_is_skipped(void **state)
{
    const skip_row *row = *state;
    lcp_row out = row_of(row->changes, NULL);
    assert_string_equal(out.skipped, row->reason);
}

/* What a profile says holds where a cell is blank. */
static void profile_fills_blanks(void **state)
{
    (void)state;
    lcp_profile profile = {.name = "p",
                           .device = "A100-SXM4-80GB",
                           .sixteen_bit = true,
                           .loss = LCP_LOSS_PARALLEL,
                           .attention_core = LCP_ATTENTION_CORE_UNFUSED,
                           .dropout = true,
                           .gradient_bytes = 2,
                           .zero_stage = 2,
                           .offload = "optimizer to host",
                           .recompute = "full:block:2"};
    profile.values[LCP_PARAMETER_MATMUL_RATIO] = (lcp_parameter_value){true, 0.4321, 0};
    lcp_row row = row_of("recompute=", &profile);
    assert_string_equal(row.profile, "p");
    assert_string_equal(row.skipped, "");
    assert_int_equal(row.run.recompute.method, LCP_METHOD_BLOCK);
    assert_int_equal(row.run.recompute.layers, 2);
    assert_int_equal(row.run.layout.zero_stage, 2);
    assert_true(row.run.optimizer_on_host && row.run.training.dropout && row.described && !row.complete);
    assert_int_equal(row.run.training.loss, LCP_LOSS_PARALLEL);
    assert_int_equal(row.run.training.attention_core, LCP_ATTENTION_CORE_UNFUSED);
    assert_int_equal(row.run.training.gradient_bytes, 2);
    assert_close(row.group.device.matmul.ratio, 0.4321, 0);
    row = row_of("recompute=none;zero_fsdp=ddp;offload=none;attn_impl=flash;notes=dropout 0.0", &profile);
    assert_int_equal(row.run.recompute.method, LCP_METHOD_NONE);
    assert_int_equal(row.run.layout.zero_stage, 0);
    assert_int_equal(row.run.training.attention_core, LCP_ATTENTION_CORE_FLASH);
    assert_false(row.run.optimizer_on_host || row.run.training.dropout || !row.complete);
}

#define CELLS (sizeof cells / sizeof cells[0])
#define SKIPS (sizeof skips / sizeof skips[0])

int main(void)
{
    static struct CMUnitTest tests[CELLS + SKIPS + 1];
    for (size_t i = 0; i < CELLS; i++) {
        tests[i] = (struct CMUnitTest){cells[i].changes, cell_is_understood, NULL, NULL, (void *)(uintptr_t)&cells[i]};
    }
    for (size_t i = 0; i < SKIPS; i++) {
        tests[CELLS + i] =
            (struct CMUnitTest){skips[i].changes, row_is_skipped, NULL, NULL, (void *)(uintptr_t)&skips[i]};
    }
    tests[CELLS + SKIPS] = (struct CMUnitTest)cmocka_unit_test(profile_fills_blanks);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
