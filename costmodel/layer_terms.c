/* Composes mixer, feed-forward block, norms and traffic of one layer class into affine terms. */
#include "internal.h"

#include <math.h>

/* FlashAttention recomputes the scores: five products backward for two forward. */
#define CORE_BACKWARD_FLOPS 2.5
/* A scan runs its products once for each input gradient. */
#define SCAN_BACKWARD_FLOPS 2.0
/* Keys and values expanded again, and the two gradients of the expansion. */
#define EXPANSION_BACKWARD_FLOPS 3.0
#define REFERENCE_WIDTH 128.0
/* A ring adds each step's 16-bit result to a 32-bit sum: bytes an element of the output forward, of the gradients of
 * queries, keys and values backward. */
#define RING_MERGE_BYTES 10.0
/* Traffic of unfused attention per query, key and head, in elements: products write and read the scores and the
 * probabilities, softmax reads and writes; backward reads and writes both again and their gradients. */
#define SCORE_FORWARD_ELEMENTS 4.0
#define SCORE_BACKWARD_ELEMENTS 7.0
/* With dropout: read, written and a mask of one byte in each pass. */
#define SCORE_DROPOUT_ELEMENTS 2.0
/* Elements of width hidden that pass through memory: norm 2 and residual 3 forward, norm 3 and residual 3 backward. */
#define BLOCK_FORWARD_WIDTHS 5.0
#define BLOCK_BACKWARD_WIDTHS 6.0
#define NORM_WIDTHS 2.0
#define RESIDUAL_WIDTHS 3.0
/* Quantising an input to fp8 reads 2 bytes and writes 1. */
#define FP8_CAST_BYTES 3.0

typedef struct layer_parts {
    const lcp_cost *cost;
    const lcp_sharding *s;
    const lcp_layer_class *layer;
    lcp_mixer mixer;
    lcp_ffn_block ffn;
    lcp_rates rates;
    double blocks;         /* 0 to 2: mixer, ffn */
    double residual_bytes; /* of one width-hidden tensor, per token on this rank */
} layer_parts;

static layer_parts take_apart(const lcp_cost *cost, const lcp_layer_class *layer, const lcp_sharding *s)
{
    layer_parts p = {.cost = cost, .s = s, .layer = layer};
    lcp_describe_mixer(&p.mixer, &layer->attention, s);
    lcp_describe_ffn(&p.ffn, &layer->ffn, s);
    p.rates = lcp_rates_of(cost->device, cost->training.precision);
    p.blocks = (p.mixer.product_count > 0 ? 1 : 0) + (p.ffn.product_count > 0 ? 1 : 0);
    p.residual_bytes = s->element_bytes * (double)s->model->hidden_size / s->residual_ranks;
    return p;
}

static void set_products(lcp_layer_terms *out, const layer_parts *p)
{
    lcp_product products[LCP_MAX_PRODUCTS];
    out->product_count = lcp_layer_products(products, p->layer, p->s);
    for (int32_t i = 0; i < out->product_count; i++) {
        out->products[i] = lcp_product_terms_of(&products[i], p->s, p->cost->device);
        out->token_flops += 2 * (double)products[i].inner * (double)products[i].outer * products[i].rows_per_token;
    }
    out->token_flops += p->mixer.token_flops;
    out->pair_flops = p->mixer.pair_flops;
}

/* Rows times heads that a rank holds of a chunk shrink with the ring, the heads and the tensor degree. */
static double fill_rows(const layer_parts *p)
{
    double heads = (double)p->layer->attention.heads / (p->s->tp * p->s->ulysses);
    return p->mixer.pair_flops > 0 ? p->cost->device->attention_parallel_rows * p->s->ring / heads : 0;
}

/* Exponentials do not shrink with the width of a head; ratios of attention are those of heads of 128. */
static double narrow_factor(const layer_parts *p)
{
    double narrow = p->cost->device->attention_narrow_width;
    const lcp_attention *a = &p->layer->attention;
    double width = (double)(a->kind == LCP_ATTENTION_LATENT ? a->nope_head_dim + a->rope_head_dim : a->head_dim);
    return p->mixer.pair_flops > 0 ? (1 + narrow / width) / (1 + narrow / REFERENCE_WIDTH) : 1;
}

static lcp_core_terms core_terms(const layer_parts *p, const lcp_rate *rate, double flops_per_second)
{
    const lcp_mixer *mixer = &p->mixer;
    if (mixer->product_count == 0) {
        return (lcp_core_terms){0};
    }
    double launches = p->cost->layout.ring_method != LCP_RING_ALL_GATHER && mixer->pair_flops > 0 ? p->s->ring : 1;
    return (lcp_core_terms){
        .fixed_seconds = launches * rate->overhead_seconds,
        .seconds_per_pair = mixer->pair_flops / p->s->ranks / flops_per_second * narrow_factor(p),
        .half_rows = rate->half_rows * p->s->ring,
        .fill_rows = fill_rows(p),
        .seconds_per_token = mixer->token_flops / p->s->ranks / flops_per_second,
        .seconds_per_prefix = mixer->prefix_flops / p->rates.matmul_flops_per_second,
        .seconds_per_key = mixer->ring_key_flops / p->rates.matmul_flops_per_second,
        .memory_per_token = mixer->core_bytes / p->rates.memory_bytes_per_second,
        .memory_per_key = p->s->ring * mixer->core_key_bytes / p->rates.memory_bytes_per_second,
    };
}

/* Products over all queries and keys at the rate of matrix products, scores through memory. */
static lcp_core_terms unfused_terms(const layer_parts *p, double elements, double flops)
{
    double heads = (double)p->layer->attention.heads / p->s->ranks;
    double dropout = p->s->training->dropout ? SCORE_DROPOUT_ELEMENTS * p->s->element_bytes + 1 : 0;
    double bytes = heads * (elements * p->s->element_bytes + dropout);
    lcp_core_terms terms = core_terms(p, &p->cost->device->attention_forward, p->rates.matmul_flops_per_second);
    terms.fixed_seconds = 4 * p->rates.launch_seconds;
    terms.seconds_per_score =
        flops * terms.seconds_per_pair / narrow_factor(p) + bytes / p->rates.memory_bytes_per_second;
    terms.seconds_per_pair = 0;
    terms.half_rows = 0;
    terms.fill_rows = 0;
    return terms;
}

static bool unfused(const layer_parts *p)
{
    return p->s->training->attention_core == LCP_ATTENTION_CORE_UNFUSED && p->mixer.pair_flops > 0;
}

static void set_unfused_core(lcp_layer_terms *out, const layer_parts *p)
{
    double dropped = p->s->training->dropout ? p->s->element_bytes + 1 : 0;
    out->core_forward = unfused_terms(p, SCORE_FORWARD_ELEMENTS, 1);
    out->core_backward = unfused_terms(p, SCORE_BACKWARD_ELEMENTS, 2);
    out->score_bytes = (double)p->layer->attention.heads / p->s->ranks * (p->s->element_bytes + dropped);
    out->score_bytes *= p->cost->device->activation_ratio;
}

/* Every step touches all of a rank's rows: a ring of r steps over n / r rows is n rows. */
static void add_ring_merges(lcp_layer_terms *out, const layer_parts *p)
{
    const lcp_attention *a = &p->layer->attention;
    double head_ranks = p->s->tp * p->s->ulysses;
    double width = (double)a->heads * (double)a->v_head_dim / head_ranks;
    double kv_width = p->mixer.kv_elements * p->s->ring;
    double seconds = RING_MERGE_BYTES / p->rates.memory_bytes_per_second;
    out->core_forward.seconds_per_token += seconds * width;
    out->core_backward.seconds_per_token += seconds * (width + kv_width);
}

static void set_core(lcp_layer_terms *out, const layer_parts *p)
{
    const lcp_device *device = p->cost->device;
    out->window_tokens = p->layer->attention.window_tokens;
    if (unfused(p)) {
        set_unfused_core(out, p);
        return;
    }
    out->core_forward = core_terms(p, &device->attention_forward, p->rates.attention_forward_flops_per_second);
    lcp_core_terms backward = core_terms(p, &device->attention_backward, p->rates.attention_backward_flops_per_second);
    backward.seconds_per_pair *= CORE_BACKWARD_FLOPS;
    backward.seconds_per_token *= SCAN_BACKWARD_FLOPS;
    backward.seconds_per_prefix *= EXPANSION_BACKWARD_FLOPS;
    backward.seconds_per_key *= EXPANSION_BACKWARD_FLOPS;
    backward.memory_per_token *= CORE_BACKWARD_FLOPS;
    backward.memory_per_key *= CORE_BACKWARD_FLOPS;
    out->core_backward = backward;
    if (p->s->ring > 1 && p->cost->layout.ring_method != LCP_RING_ALL_GATHER && p->mixer.pair_flops > 0) {
        add_ring_merges(out, p);
    }
}

static double fp8_cast_bytes(const layer_parts *p)
{
    if (p->cost->training.precision < LCP_PRECISION_FP8) {
        return 0;
    }
    lcp_product products[LCP_MAX_PRODUCTS];
    int32_t count = lcp_layer_products(products, p->layer, p->s);
    double bytes = 0;
    for (int32_t i = 0; i < count; i++) {
        bytes += FP8_CAST_BYTES * (double)products[i].inner * lcp_product_local_rows(&products[i], p->s);
    }
    return bytes;
}

static void set_elementwise(lcp_layer_terms *out, const layer_parts *p)
{
    const lcp_mixer *mixer = &p->mixer;
    const lcp_ffn_block *ffn = &p->ffn;
    double width = p->residual_bytes * p->blocks;
    double casts = fp8_cast_bytes(p);
    double kernels = 2 * p->blocks + (mixer->product_count > 0 ? 1 : 0) + ffn->kernels;
    double forward = BLOCK_FORWARD_WIDTHS * width + mixer->pointwise_bytes + ffn->pointwise_bytes + casts;
    double backward = BLOCK_BACKWARD_WIDTHS * width + mixer->pointwise_bytes + ffn->pointwise_grad_bytes + casts;
    out->elementwise_forward = lcp_elementwise_line(&p->rates, forward, kernels);
    out->elementwise_input_grad = lcp_elementwise_line(&p->rates, backward, kernels);
    double norms = NORM_WIDTHS * width;
    double middle = norms + RESIDUAL_WIDTHS * p->residual_bytes + mixer->pointwise_bytes + ffn->pointwise_bytes;
    lcp_line *rebuilt = out->elementwise_rebuilt;
    rebuilt[LCP_RECOMPUTE_ACTIVATION] = lcp_elementwise_line(&p->rates, norms + ffn->rebuilt_bytes, p->blocks + 1);
    rebuilt[LCP_RECOMPUTE_MLP] = lcp_elementwise_line(&p->rates, norms + ffn->pointwise_bytes, p->blocks + 1);
    rebuilt[LCP_RECOMPUTE_ATTENTION_OUTPUT] = lcp_elementwise_line(&p->rates, middle, kernels);
    rebuilt[LCP_RECOMPUTE_FULL] = out->elementwise_forward;
}

/* Traffic of one forward pass, piece by piece. */
typedef struct layer_traffic {
    lcp_line mixer_gather, mixer_scatter, ffn_gather, ffn_scatter;
    lcp_line exchange; /* one Ulysses message with all the bytes of the pass */
    double messages;   /* that it is sent in */
    double state_seconds;
    lcp_line dispatch;
} layer_traffic;

static layer_traffic traffic_of(const layer_parts *p)
{
    const lcp_cost *cost = p->cost;
    const lcp_mixer *mixer = &p->mixer;
    double e = p->s->element_bytes / p->s->token_ranks;
    double hidden = e * (double)p->s->model->hidden_size;
    bool scattered = cost->layout.sequence_parallel;
    lcp_collective leave = scattered ? LCP_COLLECTIVE_REDUCE_SCATTER : LCP_COLLECTIVE_ALL_REDUCE;
    double enter = scattered ? 1 : 0;
    double has_mixer = mixer->product_count > 0 ? 1 : 0;
    double has_ffn = p->ffn.tensor_parallel ? 1 : 0;
    double open = 1 - cost->training.tp_overlap_ratio;
    double steps = p->s->ring - 1;
    double state = mixer->ring_state_bytes > 0 ? mixer->ring_state_bytes : 0;
    layer_traffic t = {
        .mixer_gather = lcp_collective_line(LCP_COLLECTIVE_ALL_GATHER, enter * e * mixer->gather_width, &cost->tp),
        .mixer_scatter = lcp_collective_line(leave, has_mixer * hidden, &cost->tp),
        .ffn_gather = lcp_collective_line(LCP_COLLECTIVE_ALL_GATHER, has_ffn * enter * hidden, &cost->tp),
        .ffn_scatter = lcp_collective_line(leave, has_ffn * hidden, &cost->tp),
        .exchange = lcp_collective_line(LCP_COLLECTIVE_ALL_TO_ALL, mixer->exchange_bytes, &cost->ulysses),
        .messages = mixer->pair_flops > 0 ? 4 : 2,
        .state_seconds = state > 0 ? steps * lcp_collective_seconds(LCP_COLLECTIVE_SEND_RECV, state, &cost->ring) : 0,
        .dispatch = lcp_collective_line(LCP_COLLECTIVE_ALL_TO_ALL, p->ffn.routed_bytes, &cost->ep),
    };
    t.mixer_gather = lcp_line_times(t.mixer_gather, open);
    t.mixer_scatter = lcp_line_times(t.mixer_scatter, open);
    t.ffn_gather = lcp_line_times(t.ffn_gather, open);
    t.ffn_scatter = lcp_line_times(t.ffn_scatter, open);
    t.dispatch = lcp_line_times(t.dispatch, 1 - cost->training.ep_overlap_ratio);
    return t;
}

static void set_traffic(lcp_layer_terms *out, const layer_parts *p)
{
    layer_traffic t = traffic_of(p);
    lcp_line mixer = lcp_line_sum(t.mixer_gather, t.mixer_scatter);
    lcp_line ffn = lcp_line_sum(t.ffn_gather, t.ffn_scatter);
    lcp_line exchange = {t.exchange.fixed * t.messages + t.state_seconds, t.exchange.per_token};
    out->traffic_forward = (lcp_traffic_terms){
        .tp = lcp_line_sum(mixer, ffn),
        .cp = exchange,
        .ep = lcp_line_times(t.dispatch, 2),
    };
    out->traffic_input_grad = out->traffic_forward;
    /* Backward, what was gathered is reduced, beside the weight gradient where the trainer does that. */
    bool scattered = p->cost->layout.sequence_parallel;
    lcp_line reduced = scattered ? lcp_line_sum(t.mixer_gather, t.ffn_gather) : lcp_line_sum(mixer, ffn);
    double hidden = p->cost->training.tp_grad_overlap_ratio;
    out->traffic_input_grad.tp = lcp_line_sum(out->traffic_forward.tp, lcp_line_times(reduced, -hidden));
    out->traffic_rebuilt[LCP_RECOMPUTE_MLP] = (lcp_traffic_terms){.tp = t.ffn_gather, .ep = t.dispatch};
    out->traffic_rebuilt[LCP_RECOMPUTE_ATTENTION_OUTPUT] = (lcp_traffic_terms){
        .tp = lcp_line_sum(mixer, t.ffn_gather),
        .cp = exchange, /* the output is kept by heads: it goes out again too */
        .ep = t.dispatch,
    };
    out->traffic_rebuilt[LCP_RECOMPUTE_FULL] = out->traffic_forward;
}

/* Blocks go round inside the node while other blocks change nodes: the slower of the two. */
static lcp_line double_ring_line(const lcp_group_placement *ring, double share)
{
    double inside = (double)ring->ranks_per_node;
    double nodes = ceil((double)ring->ranks / inside);
    double steps = (double)ring->ranks - nodes;
    lcp_line intra = {steps * ring->intra.latency_seconds, steps * share / ring->intra.bandwidth_bytes_per_second};
    lcp_line inter = {0, 0};
    if (nodes > 1) {
        inter.fixed = (nodes - 1) * ring->inter.latency_seconds;
        inter.per_token = (nodes - 1) * share / ring->inter.bandwidth_bytes_per_second;
    }
    return lcp_line_steeper(intra, inter);
}

static void set_ring(lcp_layer_terms *out, const layer_parts *p)
{
    double ring = p->s->ring;
    double share = p->mixer.ring_bytes;
    if (!(ring > 1) || !(share > 0)) {
        return;
    }
    lcp_line line = lcp_collective_line(LCP_COLLECTIVE_ALL_GATHER, ring * share, &p->cost->ring);
    if (p->cost->layout.ring_method != LCP_RING_ALL_GATHER) {
        line = lcp_collective_line(LCP_COLLECTIVE_SEND_RECV, (ring - 1) * share, &p->cost->ring);
        line.fixed *= ring - 1;
        out->ring_hidden_ratio = (ring - 1) / ring;
    }
    if (p->cost->layout.ring_method == LCP_RING_DOUBLE) {
        line = double_ring_line(&p->cost->ring, share);
    }
    out->ring_forward = line;
    /* Keys and values again, and their gradients. */
    out->ring_backward = lcp_line_times(line, 2);
    out->wire_bytes_per_key = 3 * (ring - 1) * share;
}

static double kept_bytes(const layer_parts *p, const lcp_recompute_rule *rule)
{
    const lcp_ffn_block *ffn = &p->ffn;
    double inputs = rule->keeps_mixer || p->blocks < 1 ? p->blocks : 1;
    double bytes = p->residual_bytes * (fmax(inputs, 1) + (rule->keeps_norms ? p->blocks : 0));
    bytes += rule->keeps_mixer ? p->mixer.kept_inside_bytes : 0;
    bytes += rule->keeps_core ? p->mixer.kept_core_bytes : 0;
    bytes += rule->keeps_mixer ? p->mixer.kept_exchanged_bytes : 0;
    bytes += rule->keeps_ffn ? ffn->kept_inside_bytes : 0;
    bytes -= rule->keeps_ffn && !rule->keeps_activation ? ffn->kept_activation_bytes : 0;
    /* A mask of a byte for each element of what a block adds to the residual stream. */
    bool masks = p->s->training->dropout && rule->keeps_mixer;
    bytes += masks ? p->blocks * p->residual_bytes / p->s->element_bytes : 0;
    return bytes * p->cost->device->activation_ratio;
}

static void set_memory(lcp_layer_terms *out, const layer_parts *p)
{
    const lcp_training *training = &p->cost->training;
    for (int32_t i = 0; i < LCP_RECOMPUTE_COUNT; i++) {
        out->kept_bytes[i] = kept_bytes(p, &lcp_recompute_rules[i]);
    }
    double measured = p->layer->measured.activation_bytes;
    if (measured >= 0) {
        out->kept_bytes[LCP_RECOMPUTE_NONE] = measured / p->s->ranks;
        for (int32_t i = 1; i < LCP_RECOMPUTE_COUNT; i++) {
            out->kept_bytes[i] = fmin(out->kept_bytes[i], out->kept_bytes[LCP_RECOMPUTE_NONE]);
        }
    }
    double seen = p->cost->device->activation_ratio;
    out->kv_bytes = seen * p->mixer.kv_bytes;
    out->kv_grad_bytes = seen * p->mixer.kv_elements * (double)training->kv_gradient_bytes;
    out->state_bytes = p->mixer.state_bytes;
    out->state_grad_bytes = p->mixer.state_elements * (double)training->kv_gradient_bytes;
    out->kv_apart = p->mixer.kv_apart;
    /* A product's input and its gradient, gathered over tp, and the gradients inside the block. */
    double gathered = 2 * p->s->element_bytes * (double)p->s->model->hidden_size / p->s->token_ranks;
    out->gradient_bytes = seen * (gathered + fmax(p->mixer.kept_inside_bytes, p->ffn.kept_inside_bytes));
}

static void set_wire(lcp_layer_terms *out, const layer_parts *p, int32_t layer_class)
{
    const lcp_cost *cost = p->cost;
    double e = p->s->element_bytes / p->s->token_ranks;
    double hidden = e * (double)p->s->model->hidden_size;
    double widths = (p->mixer.product_count > 0 ? hidden + e * p->mixer.gather_width : 0) +
                    (p->ffn.tensor_parallel ? 2 * hidden : 0);
    double tp = lcp_collective_wire_bytes(LCP_COLLECTIVE_ALL_GATHER, widths, &cost->tp);
    double cp = lcp_collective_wire_bytes(LCP_COLLECTIVE_ALL_TO_ALL, p->mixer.exchange_bytes, &cost->ulysses);
    double ep = lcp_collective_wire_bytes(LCP_COLLECTIVE_ALL_TO_ALL, 2 * p->ffn.routed_bytes, &cost->ep);
    out->wire_bytes.per_token = 2 * (tp + cp + ep);
    out->wire_bytes.fixed = 2 * (p->s->ring - 1) * p->mixer.ring_state_bytes;
    lcp_local_parameters local = lcp_layer_local_parameters(&cost->model->classes[layer_class], p->s);
    double gathers = cost->layout.zero_stage >= 3 ? 2 * p->s->element_bytes : 0;
    double reduced = cost->layout.zero_stage >= 2 ? (double)cost->training.gradient_bytes : 0;
    double bytes = gathers + reduced;
    out->wire_bytes.fixed += lcp_collective_wire_bytes(LCP_COLLECTIVE_ALL_GATHER, bytes * local.dense, &cost->dp);
    out->wire_bytes.fixed +=
        lcp_collective_wire_bytes(LCP_COLLECTIVE_ALL_GATHER, bytes * local.expert, &cost->expert_dp);
}

static void set_measured(lcp_layer_terms *out, const layer_parts *p)
{
    const lcp_measured_layer *measured = &p->layer->measured;
    out->measured_forward = measured->forward_seconds < 0 ? -1 : measured->forward_seconds / p->s->ranks;
    out->measured_input_grad = measured->input_grad_seconds < 0 ? -1 : measured->input_grad_seconds / p->s->ranks;
    out->measured_weight_grad = measured->weight_grad_seconds < 0 ? -1 : measured->weight_grad_seconds / p->s->ranks;
}

/* Forward or input gradient without the core's pairs; memory-bound kernels by their steeper line. */
static lcp_line pass_line(const lcp_layer_terms *t, const lcp_core_terms *core, lcp_line elementwise, double measured)
{
    if (measured >= 0) {
        return (lcp_line){0, measured};
    }
    lcp_line line = elementwise;
    for (int32_t i = 0; i < t->product_count; i++) {
        line = lcp_line_sum(line, lcp_line_steeper(t->products[i].compute, t->products[i].memory));
    }
    line.fixed += core->fixed_seconds;
    line.per_token += core->seconds_per_token + core->seconds_per_key;
    return line;
}

static void set_linear(lcp_layer_terms *out)
{
    lcp_line forward = pass_line(out, &out->core_forward, out->elementwise_forward, out->measured_forward);
    lcp_line backward = pass_line(out, &out->core_backward, out->elementwise_input_grad, out->measured_input_grad);
    lcp_line weight = {0, fmax(out->measured_weight_grad, 0)};
    for (int32_t i = 0; i < out->product_count && out->measured_weight_grad < 0; i++) {
        weight = lcp_line_sum(weight, lcp_line_steeper(out->products[i].compute, out->products[i].weight_grad_memory));
    }
    const lcp_traffic_terms *traffic[] = {&out->traffic_forward, &out->traffic_input_grad};
    out->linear = lcp_line_sum(lcp_line_sum(forward, backward), weight);
    for (int32_t i = 0; i < 2; i++) {
        out->linear = lcp_line_sum(out->linear, lcp_line_sum(traffic[i]->tp, traffic[i]->cp));
        out->linear = lcp_line_sum(out->linear, traffic[i]->ep);
    }
}

void lcp_layer_terms_of(lcp_layer_terms *out, const lcp_cost *cost, int32_t layer_class, const lcp_sharding *s)
{
    *out = (lcp_layer_terms){0};
    layer_parts p = take_apart(cost, &cost->model->classes[layer_class], s);
    for (int32_t l = 0; l < cost->model->layer_count; l++) {
        out->layers += cost->model->layer_class[l] == layer_class ? 1 : 0;
    }
    set_products(out, &p);
    set_core(out, &p);
    set_elementwise(out, &p);
    set_traffic(out, &p);
    set_ring(out, &p);
    set_memory(out, &p);
    set_wire(out, &p, layer_class);
    set_measured(out, &p);
    set_linear(out);
}
