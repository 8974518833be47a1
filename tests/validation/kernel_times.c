/* Published kernel timings beside the cost model: kernel_times TABLE KIND, a line for each device and size.
 *
 * Kinds: gemm (columns m, n, k, dtype, latency_ms), prefill (batch, seq_len, heads, kv_heads, head_dim, latency_ms:
 * causal attention, forward) and flash (pass, causal, head_dim, seq_len, batch, heads, tflops). */
#include "input/profile.h"
#include "internal.h"
#include "rows/csv.h"
#include "rows/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Products below are smaller than any of a training layer worth planning. */
#define TRAINING_FLOPS 1e11
#define MAX_DEVICES 16

typedef struct kernel_case {
    const lcp_csv *csv;
    size_t row;
    lcp_device device;
    double flops; /* forward */
} kernel_case;

static double number(const kernel_case *k, const char *column)
{
    return strtod(lcp_csv_cell(k->csv, k->row, lcp_csv_column(k->csv, column)), NULL);
}

static const char *text(const kernel_case *k, const char *column)
{
    return lcp_csv_cell(k->csv, k->row, lcp_csv_column(k->csv, column));
}

/* Predicted over measured; 0 = not a row of this check. */
static double gemm(kernel_case *k)
{
    const char *type = text(k, "dtype");
    double m = number(k, "m");
    lcp_layout layout = {.dp = 1, .pp = 1, .vpp = 1, .tp = 1, .ulysses = 1, .ring = 1, .ep = 1};
    lcp_training training = lcp_training_default();
    lcp_model model = {.hidden_size = 1};
    if (strcmp(type, "bf16") != 0 && strcmp(type, "fp16") != 0) {
        return 0;
    }
    lcp_sharding s = lcp_sharding_of(&model, &layout, &training);
    lcp_product product = {(int64_t)number(k, "k"), (int64_t)number(k, "n"), 1, 1, 1,
                           LCP_SHARD_TENSOR,        LCP_PART_FFN_IN};
    lcp_product_terms terms = lcp_product_terms_of(&product, &s, &k->device);
    k->flops = 2 * m * (double)product.inner * (double)product.outer;
    double seconds = fmax(lcp_line_at(terms.compute, m), lcp_line_at(terms.memory, m));
    return seconds / (number(k, "latency_ms") * 1e-3);
}

static lcp_layer_cost attention_layer(kernel_case *k, int64_t kv_heads)
{
    lcp_layer_class layer = {.measured = {-1, -1, -1, -1}};
    layer.attention = (lcp_attention){.kind = LCP_ATTENTION_GROUPED,
                                      .heads = (int64_t)number(k, "heads"),
                                      .kv_heads = kv_heads,
                                      .head_dim = (int64_t)number(k, "head_dim"),
                                      .v_head_dim = (int64_t)number(k, "head_dim")};
    layer.ffn = (lcp_ffn){.kind = LCP_FFN_PLAIN, .size = 128};
    int32_t class = 0;
    lcp_model model = {.hidden_size = 128,
                       .vocab_size = 128,
                       .class_count = 1,
                       .classes = &layer,
                       .layer_count = 1,
                       .layer_class = &class,
                       .mtp_class = -1};
    lcp_group group = {.device = k->device, .nodes = 1, .devices_per_node = 1, .usable_memory_ratio = 1};
    group.intra_node = k->device.intra_node;
    group.inter_node = k->device.inter_node;
    lcp_cluster cluster = {.group_count = 1, .groups = &group};
    lcp_layout layout = {.dp = 1, .pp = 1, .vpp = 1, .tp = 1, .ulysses = 1, .ring = 1, .ep = 1};
    lcp_training training = lcp_training_default();
    lcp_cost cost;
    lcp_layer_cost out = {0};
    double length = number(k, "seq_len");
    k->flops = 2 * number(k, "batch") * number(k, "heads") * number(k, "head_dim") * length * length;
    if (lcp_cost_prepare(&cost, &model, &cluster, &layout, &training, NULL) == LCP_OK) {
        lcp_cost_layer_equal(&cost, 0, (int64_t)number(k, "batch"), (int64_t)length, &out);
    }
    return out;
}

static double prefill(kernel_case *k)
{
    lcp_layer_cost layer = attention_layer(k, (int64_t)number(k, "kv_heads"));
    if (strcmp(text(k, "dtype"), "bf16") != 0 && strcmp(text(k, "dtype"), "fp16") != 0) {
        return 0;
    }
    return layer.forward_kernels.attention / (number(k, "latency_ms") * 1e-3);
}

static double flash(kernel_case *k)
{
    bool both = strcmp(text(k, "pass"), "fwd+bwd") == 0;
    bool newest = strstr(text(k, "implementation"), k->device.peak_flops_per_second > 500e12 ? "3" : "2") != NULL;
    if (number(k, "causal") < 1 || strncmp(text(k, "implementation"), "FlashAttention-", 15) != 0 || !newest ||
        strstr(text(k, "dtype"), "fp8") != NULL) {
        return 0;
    }
    lcp_layer_cost layer = attention_layer(k, (int64_t)number(k, "heads"));
    double seconds = layer.forward_kernels.attention + (both ? layer.backward_kernels.attention : 0);
    double measured = k->flops * (both ? 3.5 : 1) / (number(k, "tflops") * 1e12);
    return seconds / measured;
}

typedef struct kernel_kind {
    const char *name;
    double (*ratio)(kernel_case *);
} kernel_kind;

static const kernel_kind kinds[] = {{"gemm", gemm}, {"prefill", prefill}, {"flash", flash}};

typedef struct device_errors {
    char name[64];
    size_t count, large;
    double *all, *of_large;
} device_errors;

static device_errors *find(device_errors *list, size_t *count, const char *name, size_t rows)
{
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(list[i].name, name) == 0) {
            return &list[i];
        }
    }
    if (*count == MAX_DEVICES) {
        return NULL;
    }
    device_errors *one = &list[(*count)++];
    snprintf(one->name, sizeof one->name, "%.60s", name);
    one->all = malloc(rows * sizeof(double));
    one->of_large = malloc(rows * sizeof(double));
    return one->all != NULL && one->of_large != NULL ? one : NULL;
}

/* device,kind,rows,median,ninetieth,bias,large rows,median of large */
static void print(const device_errors *list, size_t count, const char *kind)
{
    for (size_t i = 0; i < count; i++) {
        lcp_error_summary all = lcp_error_summary_of(list[i].all, list[i].count);
        lcp_error_summary large = lcp_error_summary_of(list[i].of_large, list[i].large);
        printf("%s,%s,%zu,%.4f,%.4f,%.4f,%zu,%.4f\n", list[i].name, kind, all.count, all.median, all.ninetieth,
               all.bias, large.count, large.median);
    }
}

static int run(const char *path, const kernel_kind *kind)
{
    lcp_csv csv;
    lcp_error err = {0};
    device_errors list[MAX_DEVICES] = {0};
    size_t count = 0;
    if (lcp_csv_read(&csv, path, &err) != LCP_OK) {
        fprintf(stderr, "%s: %s\n", err.where, err.text);
        return 1;
    }
    for (size_t i = 0; i < csv.row_count; i++) {
        kernel_case k = {.csv = &csv, .row = i};
        const char *type = text(&k, "gpu_type");
        double ratio = lcp_device_find(&k.device, type) ? kind->ratio(&k) : 0;
        device_errors *one = ratio > 0 ? find(list, &count, type, csv.row_count) : NULL;
        if (one != NULL) {
            one->all[one->count++] = ratio - 1;
        }
        if (one != NULL && k.flops >= TRAINING_FLOPS) {
            one->of_large[one->large++] = ratio - 1;
        }
    }
    print(list, count, kind->name);
    for (size_t i = 0; i < count; i++) {
        free(list[i].all);
        free(list[i].of_large);
    }
    lcp_csv_dispose(&csv);
    return 0;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].name, argv[2]) == 0) {
            return run(argv[1], &kinds[i]);
        }
    }
    fprintf(stderr, "usage: kernel_times TABLE gemm|prefill|flash\n");
    return 2;
}
