/* Degrees, batch, sharding, schedule and recompute of a row. */
#include "row_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a batch. */
#define MOST_SEQUENCES 0x1p40

static int32_t degree(const lcp_row_source *from, lcp_row *row, lcp_column column, int32_t preset)
{
    return (int32_t)lcp_row_integer(from, row, column, preset, 1, 1 << 20);
}

/* "cp" may hold the whole degree where a method mixes rings with an exchange of heads inside the node. */
static void read_context(lcp_row *row, const lcp_row_source *from)
{
    lcp_layout *l = &row->run.layout;
    bool mixed = lcp_row_says(row->framework, "ulysses") || lcp_row_says(row->framework, "usp");
    bool blank = lcp_row_blank(from, LCP_COLUMN_CP) && lcp_row_blank(from, LCP_COLUMN_ULYSSES);
    if (blank && (mixed || lcp_row_says(row->framework, "burst") || lcp_row_says(row->framework, "-cp"))) {
        lcp_row_skip(row, "cp: blank in a run with context parallelism");
    }
    l->ring_method = lcp_row_says(row->framework, "burst") || lcp_row_says(row->framework, "double") ? LCP_RING_DOUBLE
                                                                                                     : LCP_RING_P2P;
    while (mixed && l->ring % 2 == 0 && l->ulysses < row->group.devices_per_node &&
           row->class.attention.heads % (2 * l->ulysses * l->tp) == 0) {
        l->ring /= 2;
        l->ulysses *= 2;
    }
}

static void read_degrees(lcp_row *row, const lcp_row_source *from)
{
    lcp_layout *l = &row->run.layout;
    int64_t devices = lcp_row_integer(from, row, LCP_COLUMN_GPUS, 0, 1, 10000000);
    l->tp = degree(from, row, LCP_COLUMN_TP, 1);
    l->ring = degree(from, row, LCP_COLUMN_CP, 1);
    l->ulysses = degree(from, row, LCP_COLUMN_ULYSSES, 1);
    l->pp = degree(from, row, LCP_COLUMN_PP, 1);
    l->vpp = degree(from, row, LCP_COLUMN_VPP, 1);
    l->ep = degree(from, row, LCP_COLUMN_EP, 1);
    if (row->class.ffn.kind == LCP_FFN_MOE && lcp_row_blank(from, LCP_COLUMN_EP)) {
        lcp_row_skip(row, "ep: blank in a mixture of experts");
    }
    if (devices == 0) {
        lcp_row_skip(row, "gpus: blank");
        devices = 1;
    }
    double product = (double)l->tp * l->ring * l->ulysses * l->pp;
    if (product > (double)devices) {
        lcp_row_skip(row, "gpus: %lld, but the degrees multiply to %g", (long long)devices, product);
    }
    int64_t replica = product > (double)devices ? 1 : (int64_t)product;
    if (lcp_row_blank(from, LCP_COLUMN_DP)) {
        if (devices % replica != 0) {
            lcp_row_skip(row, "gpus: %lld is not a multiple of tp x cp x pp = %lld", (long long)devices,
                         (long long)replica);
        }
        l->dp = (int32_t)(devices / replica > 0 ? devices / replica : 1);
    } else {
        l->dp = degree(from, row, LCP_COLUMN_DP, 1);
        if (l->dp * replica != devices) {
            lcp_row_skip(row, "gpus: %lld, but the degrees multiply to %lld", (long long)devices,
                         (long long)(l->dp * replica));
        }
    }
    /* A megatron-style flag of 1, or the degree over which norms are shared. */
    l->sequence_parallel = l->tp > 1 && lcp_row_number(from, row, LCP_COLUMN_SP, 0, 0, 1e6) >= 1;
    read_context(row, from);
    row->group.nodes = (devices + row->group.devices_per_node - 1) /
                       (row->group.devices_per_node > 0 ? row->group.devices_per_node : 1);
}

static void read_batch(lcp_row *row, const lcp_row_source *from)
{
    lcp_run *run = &row->run;
    int64_t dp = run->layout.dp;
    run->sequence_length_tokens = lcp_row_integer(from, row, LCP_COLUMN_SEQ_LEN, 0, 1, INT64_C(1) << 40);
    int64_t global = lcp_row_integer(from, row, LCP_COLUMN_GBS, 0, 1, (int64_t)MOST_SEQUENCES);
    int64_t micro = lcp_row_integer(from, row, LCP_COLUMN_MBS, 0, 1, INT64_C(1) << 30);
    int64_t steps = lcp_row_integer(from, row, LCP_COLUMN_GRAD_ACCUM, 0, 1, INT64_C(1) << 30);
    if (run->sequence_length_tokens == 0) {
        lcp_row_skip(row, "seq_len: blank");
        run->sequence_length_tokens = 1;
    }
    if (micro == 0) {
        micro = global > 0 && steps > 0 && global % (steps * dp) == 0 ? global / (steps * dp) : 1;
    }
    double derived = (double)steps * (double)micro * (double)dp;
    if (global == 0 && derived <= MOST_SEQUENCES) {
        global = steps * micro * dp;
    }
    if (global == 0) {
        lcp_row_skip(row, "gbs: blank, and no grad_accum to derive it from");
        global = micro * dp;
    }
    run->global_batch_sequences = global;
    run->microbatch_sequences = micro;
}

/* Number after the last of the separators in "zero1:8", "megatron-fsdp:64", "zero3 degree 32"; 0 if none, or more than
 * there are ranks. */
static int64_t trailing_number(const char *text)
{
    size_t length = strlen(text);
    size_t digits = 0;
    while (digits < length && text[length - 1 - digits] >= '0' && text[length - 1 - digits] <= '9') {
        digits++;
    }
    bool apart =
        digits > 0 && digits < length && (text[length - 1 - digits] == ':' || text[length - 1 - digits] == ' ');
    int64_t value = apart ? strtoll(text + length - digits, NULL, 10) : 0;
    return value <= INT32_MAX ? value : 0;
}

static void read_sharding(lcp_row *row, const lcp_row_source *from)
{
    const char *text = lcp_row_text(from, LCP_COLUMN_ZERO_FSDP);
    lcp_layout *l = &row->run.layout;
    int64_t group = trailing_number(text);
    l->shard_ranks = (int32_t)group;
    if (text[0] == '\0') {
        return;
    }
    if (lcp_row_says(text, "zero3") || lcp_row_says(text, "hsdp")) {
        l->zero_stage = 3;
    } else if (lcp_row_says(text, "zero2")) {
        l->zero_stage = 2;
    } else if (lcp_row_says(text, "zero1")) {
        l->zero_stage = 1;
    } else if (lcp_row_says(text, "fsdp")) {
        l->zero_stage = 3;
    } else if (strcmp(text, "ddp") == 0 || strcmp(text, "none") == 0) {
        l->zero_stage = 0;
    } else {
        lcp_row_skip(row, "zero_fsdp: '%.40s' is not known", text);
    }
    if (lcp_row_says(text, "hsdp") && group == 0) {
        l->shard_ranks = (int32_t)row->group.devices_per_node;
    }
    int64_t replicas = (int64_t)l->dp * l->ulysses * l->ring;
    if (l->shard_ranks > replicas) {
        l->shard_ranks = 0;
    }
    if (l->shard_ranks > 0 && replicas % l->shard_ranks != 0) {
        lcp_row_skip(row, "zero_fsdp: groups of %d do not divide %lld replicas", (int)l->shard_ranks,
                     (long long)replicas);
    }
}

static void read_schedule(lcp_row *row, const lcp_row_source *from)
{
    const char *text = lcp_row_text(from, LCP_COLUMN_SCHEDULE);
    const char *given = lcp_row_text(from, LCP_COLUMN_OFFLOAD);
    const char *offload = given[0] != '\0' ? given : row->offload;
    row->run.schedule = row->run.layout.vpp > 1 ? LCP_RUN_INTERLEAVED : LCP_RUN_1F1B;
    if (lcp_row_says(text, "gpipe")) {
        row->run.schedule = LCP_RUN_GPIPE;
    } else if (text[0] != '\0' && strcmp(text, "none") != 0 && !lcp_row_says(text, "1f1b")) {
        lcp_row_skip(row, "schedule: '%.40s' has no closed form here", text);
    }
    row->run.optimizer_on_host = lcp_row_says(offload, "optimizer") || lcp_row_says(offload, "cpu");
    row->run.optimizer_on_host |= lcp_row_says(lcp_row_text(from, LCP_COLUMN_ZERO_FSDP), "cpu offload");
}

static void read_attention_core(lcp_row *row, const lcp_row_source *from)
{
    const char *text = lcp_row_text(from, LCP_COLUMN_ATTN_IMPL);
    const char *notes = lcp_row_text(from, LCP_COLUMN_NOTES);
    if (lcp_row_says(text, "plain") && lcp_row_says(row->framework, "burst")) {
        row->run.training.attention_core =
            LCP_ATTENTION_CORE_FLASH; /* block by block round the ring: keeps no scores */
    } else if (lcp_row_says(text, "unfused") || lcp_row_says(text, "plain")) {
        row->run.training.attention_core = LCP_ATTENTION_CORE_UNFUSED;
    } else if (text[0] != '\0') {
        row->run.training.attention_core = LCP_ATTENTION_CORE_FLASH;
    } else if (lcp_row_says(notes, "transformer-impl local")) {
        row->run.training.attention_core = LCP_ATTENTION_CORE_UNFUSED;
    }
    if (lcp_row_says(notes, "dropout 0.0")) {
        row->run.training.dropout = false;
    } else if (lcp_row_says(notes, "dropout 0.")) {
        row->run.training.dropout = true;
    }
}

/* Value of "name=12" among the further arguments, 0 if it is not there; the estimate refuses what is no count. */
static int32_t argument(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    size_t length = strlen(name);
    long value = at != NULL && at[length] == '=' ? strtol(at + length + 1, NULL, 10) : 0;
    return value < -1 ? -1 : value > INT32_MAX ? INT32_MAX : (int32_t)value;
}

/* Further arguments, in the words of Megatron-LM. Its own fusion of the loss keeps a 32-bit copy and its exponentials.
 */
static void read_arguments(lcp_row *row, const lcp_row_source *from)
{
    const char *text = lcp_row_text(from, LCP_COLUMN_EXTRA_ARGS);
    if (lcp_row_says(text, "cross-entropy-loss-fusion=True")) {
        row->run.training.loss = lcp_row_says(text, "cross-entropy-fusion-impl=te") ? LCP_LOSS_FUSED : LCP_LOSS_EAGER;
    }
    row->run.first_stage_layers = argument(text, "decoder-first-pipeline-num-layers");
    row->run.last_stage_layers = argument(text, "decoder-last-pipeline-num-layers");
}

void lcp_row_read_run(lcp_row *row, const lcp_row_source *from)
{
    read_degrees(row, from);
    read_batch(row, from);
    read_sharding(row, from);
    read_schedule(row, from);
    read_attention_core(row, from);
    read_arguments(row, from);
}

/* "selective:block" recomputes some layers whole; hardware over model FLOPs says how many. */
static void read_blocks(lcp_row *row, const lcp_row_source *from)
{
    double mfu = lcp_row_number(from, row, LCP_COLUMN_MFU_PCT, 0, 0, 100);
    double hfu = lcp_row_number(from, row, LCP_COLUMN_HFU_PCT, 0, 0, 100);
    double again = mfu > 0 && hfu >= mfu ? 3 * (hfu / mfu - 1) : -1;
    if (again < 0) {
        lcp_row_skip(row, "recompute: 'selective:block' without mfu_pct and hfu_pct does not say how much");
        return;
    }
    double share = again < 1 ? 1 - again : 0;
    row->run.recompute = (lcp_run_recompute){LCP_METHOD_POLICY, 0, 0, LCP_RECOMPUTE_NONE, share};
}

static void read_selective(lcp_row *row, const lcp_row_source *from, const char *text)
{
    lcp_run_recompute *r = &row->run.recompute;
    if (strcmp(text, "selective:block") == 0) {
        read_blocks(row, from);
    } else if (lcp_row_says(text, "all but attention")) {
        *r = (lcp_run_recompute){LCP_METHOD_POLICY, 0, 0, LCP_RECOMPUTE_ATTENTION_OUTPUT, 1};
    } else if (lcp_row_says(text, "half of the sequence")) {
        *r = (lcp_run_recompute){LCP_METHOD_POLICY, 0, 0, LCP_RECOMPUTE_ATTENTION_OUTPUT, 0.5};
    } else if (!lcp_recompute_parse(r, text)) {
        lcp_row_skip(row, "recompute: '%.60s' does not say what is recomputed", text);
    }
}

void lcp_row_read_recompute(lcp_row *row, const lcp_row_source *from)
{
    const char *given = lcp_row_text(from, LCP_COLUMN_RECOMPUTE);
    const char *text = given[0] != '\0' ? given : row->recompute;
    lcp_run_recompute *r = &row->run.recompute;
    *r = (lcp_run_recompute){.method = LCP_METHOD_NONE};
    if (text[0] == '\0' || strcmp(text, "none") == 0) {
        return;
    }
    if (lcp_row_says(text, "selective")) {
        read_selective(row, from, text);
    } else if (!lcp_recompute_parse(r, text) && lcp_row_says(text, "full")) {
        r->method = LCP_METHOD_FULL;
    } else if (!lcp_recompute_parse(r, text)) {
        lcp_row_skip(row, "recompute: '%.60s' is not known", text);
    }
}
