/* Configurations estimated in a second on one core: every layout of a dense model on 64 devices, pp up to 8.
 *
 * bench_estimate [LEAST]: fails below LEAST configurations a second. */
#include "lcp/estimate.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEVICES 64
#define REPEATS 40
#define MOST_RUNS 4096

static int32_t same_class[80];

/* Llama-3-70B. */
static lcp_model dense_model(lcp_layer_class *class)
{
    *class = (lcp_layer_class){
        .attention = {.kind = LCP_ATTENTION_GROUPED, .heads = 64, .kv_heads = 8, .head_dim = 128, .v_head_dim = 128},
        .ffn = {.kind = LCP_FFN_GATED, .size = 28672},
        .norm_parameters = 2 * 8192,
        .measured = {-1, -1, -1, -1},
    };
    return (lcp_model){
        .name = "dense",
        .hidden_size = 8192,
        .vocab_size = 128256,
        .class_count = 1,
        .classes = class,
        .layer_count = 80,
        .layer_class = same_class,
        .final_extra_parameters = 8192,
        .mtp_class = -1,
    };
}

static lcp_group group_of(const char *device)
{
    lcp_group group = {.nodes = DEVICES / 8, .devices_per_node = 8, .usable_memory_ratio = 0.92};
    if (!lcp_device_find(&group.device, device)) {
        fprintf(stderr, "no device %s\n", device);
    }
    group.intra_node = group.device.intra_node;
    group.inter_node = group.device.inter_node;
    group.host = group.device.host;
    return group;
}

static size_t add_runs(lcp_run *runs, size_t count, lcp_run run)
{
    const lcp_recompute_method methods[] = {LCP_METHOD_NONE, LCP_METHOD_SELECTIVE, LCP_METHOD_FULL};
    for (int32_t zero = 0; zero <= 1; zero++) {
        for (int64_t micro = 1; micro <= 4; micro *= 2) {
            for (size_t m = 0; m < 3 && count < MOST_RUNS; m++) {
                run.layout.zero_stage = zero;
                run.microbatch_sequences = micro;
                run.recompute.method = methods[m];
                run.recompute.modules = 1U << LCP_MODULE_CORE_ATTENTION | 1U << LCP_MODULE_LAYERNORM;
                runs[count++] = run;
            }
        }
    }
    return count;
}

static size_t make_runs(lcp_run *runs)
{
    size_t count = 0;
    for (int32_t tp = 1; tp <= 8; tp *= 2) {
        for (int32_t pp = 1; pp <= 8; pp *= 2) {
            for (int32_t ring = 1; ring <= 4; ring *= 2) {
                for (int32_t vpp = 1; vpp <= (pp > 1 ? 2 : 1) && tp * pp * ring <= DEVICES; vpp++) {
                    lcp_run run = lcp_run_default();
                    run.layout = (lcp_layout){.dp = DEVICES / (tp * pp * ring), .pp = pp, .vpp = vpp, .tp = tp};
                    run.layout.ulysses = 1;
                    run.layout.ring = ring;
                    run.layout.ep = 1;
                    run.layout.sequence_parallel = tp > 1;
                    run.schedule = vpp > 1 ? LCP_RUN_INTERLEAVED : LCP_RUN_1F1B;
                    run.sequence_length_tokens = 8192;
                    run.global_batch_sequences = 1024;
                    count = add_runs(runs, count, run);
                }
            }
        }
    }
    return count;
}

int main(int argc, char **argv)
{
    static lcp_run runs[MOST_RUNS];
    lcp_layer_class class;
    lcp_model model = dense_model(&class);
    lcp_group group = group_of("H100-SXM5-80GB");
    lcp_cluster cluster = {.group_count = 1, .groups = &group};
    double least = argc > 1 ? strtod(argv[1], NULL) : 0;
    size_t count = make_runs(runs);
    size_t fits = 0;
    double seconds = 0; /* used, so that no work is left out */
    clock_t begin = clock();
    for (int32_t repeat = 0; repeat < REPEATS; repeat++) {
        for (size_t i = 0; i < count; i++) {
            lcp_estimate estimate;
            lcp_error err = {LCP_OK, "", ""};
            if (lcp_estimate_run(&estimate, &model, &cluster, &runs[i], &err) != LCP_OK) {
                fprintf(stderr, "configuration %zu: %s\n", i, err.text);
                return 1;
            }
            fits += estimate.fits ? 1 : 0;
            seconds += estimate.iteration_seconds;
        }
    }
    double used = (double)(clock() - begin) / CLOCKS_PER_SEC;
    double rate = (double)(REPEATS * count) / used;
    printf("%zu configurations, %zu of them fit, mean iteration %.3f s\n", count, fits / REPEATS,
           seconds / (double)(REPEATS * count));
    printf("%.0f configurations a second on one core, %.2f us each\n", rate, 1e6 / rate);
    return rate >= least ? 0 : 1;
}
