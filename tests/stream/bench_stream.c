/* bench_stream BASE_PLAN WORKLOAD [BATCHES [COMPARED]]: plans that many batches drawn from the workload and prints
 * seconds a batch, growth of the process, and for the first COMPARED batches the predicted time against the best single
 * chunk length and recompute setting for all of them. */
#include "input/input.h"
#include "lcp/lcp.h"
#include "lcp/stream.h"
#include "output/plan_json.h"
#include "static_chunks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct bench {
    lcp_plan base;
    lcp_problem problem;
    lcp_stream *stream;
    json_t *workload; /* its seed is set for each batch */
    int32_t batches, compared;
    double *seconds; /* [batches], of processor time */
    double stream_seconds;
    lcp_error err;
} bench;

static lcp_status draw(lcp_workload *out, bench *b, int32_t batch)
{
    json_object_set_new(b->workload, "seed", json_integer(batch + 1));
    return lcp_workload_from_json(out, b->workload, "workload", NULL, &b->err);
}

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static long resident_kib(void)
{
    long size = 0;
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &size, &pages) != 2) {
        pages = 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Time as text, as the command does it; the prediction of the first ones again as a plan. */
static lcp_status run_batch(bench *b, int32_t batch)
{
    lcp_workload workload = {0};
    char *line = NULL;
    lcp_status status = draw(&workload, b, batch);
    double started = processor_seconds();
    if (status == LCP_OK) {
        status = lcp_stream_plan(&line, b->stream, workload.lengths_tokens, workload.sequence_count, &b->err);
    }
    b->seconds[batch] = processor_seconds() - started;
    lcp_stream_free(line);
    if (status == LCP_OK && batch < b->compared) {
        lcp_plan plan;
        status = lcp_stream_batch(&plan, b->stream, workload.lengths_tokens, workload.sequence_count, &b->err);
        b->stream_seconds += status == LCP_OK ? plan.predicted.iteration_seconds : 0;
        lcp_plan_dispose(&plan);
    }
    lcp_workload_dispose(&workload);
    return status;
}

static lcp_status run_all(bench *b)
{
    lcp_status status = LCP_OK;
    long early = 0;
    for (int32_t i = 0; status == LCP_OK && i < b->batches; i++) {
        status = run_batch(b, i);
        early = i == b->batches / 10 ? resident_kib() : early;
    }
    if (status == LCP_OK) {
        qsort(b->seconds, (size_t)b->batches, sizeof *b->seconds, ascending);
        printf("%d batches: median %.1f ms, p99 %.1f ms, largest %.1f ms a batch on one core\n", b->batches,
               1e3 * b->seconds[b->batches / 2], 1e3 * b->seconds[(int64_t)b->batches * 99 / 100],
               1e3 * b->seconds[b->batches - 1]);
        printf("resident after a tenth %ld KiB, at the end %ld KiB\n", early, resident_kib());
    }
    return status;
}

/* All compared batches under one setting; infinity if any does not fit. */
static lcp_status price_setting(double *seconds, bench *b, const lcp_cost *cost, const int32_t *stage_layers,
                                const static_setting *setting)
{
    lcp_status status = LCP_OK;
    *seconds = 0;
    for (int32_t i = 0; status == LCP_OK && i < b->compared && isfinite(*seconds); i++) {
        lcp_workload workload = {0};
        double one = 0;
        status = draw(&workload, b, i);
        if (status == LCP_OK) {
            status = static_iteration(&one, cost, lcp_schedule_find(b->base.schedule_name), stage_layers,
                                      workload.lengths_tokens, workload.sequence_count, setting, &b->err);
        }
        *seconds += one;
        lcp_workload_dispose(&workload);
    }
    return status;
}

/* The fewest layers of each policy that let every batch fit; the best setting over chunk lengths and policies. */
static lcp_status best_static(bench *b, const lcp_cost *cost, const int32_t *stage_layers, int32_t most_layers)
{
    static_setting best = {0};
    double least = HUGE_VAL;
    lcp_status status = LCP_OK;
    for (int64_t tokens = 2048; status == LCP_OK && tokens <= 65536; tokens *= 2) {
        for (int32_t policy = LCP_RECOMPUTE_NONE + 1; policy < LCP_RECOMPUTE_COUNT; policy++) {
            double seconds = HUGE_VAL;
            static_setting setting = {.chunk_tokens = tokens, .policy = policy};
            while (status == LCP_OK && setting.layers <= most_layers && !isfinite(seconds)) {
                status = price_setting(&seconds, b, cost, stage_layers, &setting);
                setting.layers += !isfinite(seconds);
            }
            if (seconds < least) {
                least = seconds;
                best = setting;
            }
        }
    }
    if (status == LCP_OK) {
        printf(
            "%d batches: %.1f s in all; best of one setting for all, %lld tokens a chunk with %d layers a stage under "
            "\"%s\": %.1f s, %.3f times as long\n",
            b->compared, b->stream_seconds, (long long)best.chunk_tokens, best.layers,
            lcp_recompute_rows[best.policy].name, least, least / b->stream_seconds);
    }
    return status;
}

static lcp_status compare(bench *b)
{
    lcp_cost *cost = malloc(sizeof *cost);
    int32_t *stage_layers = malloc((size_t)b->base.stage_count * sizeof *stage_layers);
    int32_t most = 0;
    lcp_status status = LCP_NOMEM;
    if (cost != NULL && stage_layers != NULL && b->problem.model.class_count == 1) {
        for (int32_t s = 0; s < b->base.stage_count; s++) {
            stage_layers[s] = b->base.stages[s].layer_count;
            most = stage_layers[s] > most ? stage_layers[s] : most;
        }
        status = lcp_cost_prepare(cost, &b->problem.model, &b->problem.cluster, &b->base.layout,
                                  &b->problem.options.training, &b->err);
        status = status == LCP_OK ? best_static(b, cost, stage_layers, most) : status;
    }
    free(cost);
    free(stage_layers);
    return status;
}

static lcp_status open_all(bench *b, const char *plan_path, const char *workload_path)
{
    char *text = NULL;
    size_t size = 0;
    b->seconds = calloc((size_t)b->batches, sizeof *b->seconds);
    lcp_status status = b->seconds != NULL ? lcp_read_bytes(&text, &size, plan_path, &b->err) : LCP_NOMEM;
    status = status == LCP_OK ? lcp_stream_open(&b->stream, text, size, &b->err) : status;
    status = status == LCP_OK ? lcp_read_plan(&b->base, &b->problem, plan_path, &b->err) : status;
    status = status == LCP_OK ? lcp_json_load_file(&b->workload, workload_path, NULL, &b->err) : status;
    free(text);
    return status;
}

int main(int argc, char **argv)
{
    bench b = {.batches = argc > 3 ? atoi(argv[3]) : 500, .compared = argc > 4 ? atoi(argv[4]) : 20};
    if (argc < 3 || argc > 5 || b.batches < 1) {
        fprintf(stderr, "usage: bench_stream BASE_PLAN WORKLOAD [BATCHES [COMPARED]]\n");
        return 2;
    }
    lcp_status status = open_all(&b, argv[1], argv[2]);
    status = status == LCP_OK ? run_all(&b) : status;
    status = status == LCP_OK && b.compared > 0 ? compare(&b) : status;
    if (status != LCP_OK) {
        fprintf(stderr, "bench_stream: %s: %s\n", b.err.where,
                b.err.text[0] != '\0' ? b.err.text : lcp_status_text(status));
    }
    lcp_stream_close(b.stream);
    lcp_plan_dispose(&b.base);
    lcp_problem_dispose(&b.problem);
    json_decref(b.workload);
    free(b.seconds);
    return (int)status;
}
