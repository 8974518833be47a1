#include "support.h"

#include "schedule_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void case_build(schedule_case *c, int32_t ranks, int32_t stages_a_rank, const int32_t *slices, int32_t sequences)
{
    *c = (schedule_case){.ranks = ranks, .stages_a_rank = stages_a_rank};
    for (int32_t i = 0; i < sequences; i++) {
        c->chunks += slices != NULL ? slices[i] : 1;
    }
    int32_t stages = ranks * (stages_a_rank > 0 ? stages_a_rank : 2);
    c->cells = (stages + ranks) * c->chunks;
    size_t cells = (size_t)c->cells;
    c->links = malloc((size_t)c->chunks * sizeof *c->links);
    for (int32_t i = 0, k = 0; i < sequences; i++) {
        int32_t count = slices != NULL ? slices[i] : 1;
        for (int32_t s = 0; s < count; s++, k++) {
            c->links[k] = (lcp_chunk_link){s > 0 ? k - 1 : -1, s + 1 < count ? k + 1 : -1};
        }
    }
    double **arrays[] = {&c->forward, &c->backward, &c->input_grad, &c->weight_grad,
                         &c->hop,     &c->reduce,   &c->offload,    &c->recompute};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        *arrays[i] = calloc(cells, sizeof **arrays[i]);
    }
    int64_t **bytes[] = {&c->kept, &c->held, &c->none, &c->resident, &c->limit};
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        *bytes[i] = calloc(cells, sizeof **bytes[i]);
    }
    for (size_t i = 0; i < cells; i++) {
        c->kept[i] = 2;
        c->held[i] = 1;
    }
    c->peaks = calloc((size_t)ranks, sizeof *c->peaks);
    c->durations = (lcp_durations){.forward_seconds = c->forward,
                                   .backward_seconds = c->backward,
                                   .input_grad_seconds = c->input_grad,
                                   .weight_grad_seconds = c->weight_grad,
                                   .recompute_seconds = c->recompute,
                                   .hop_seconds = c->hop,
                                   .offload_seconds = c->offload,
                                   .head_reduce_seconds = c->reduce};
    c->memory = (lcp_memory_input){.kept_bytes = c->kept,
                                   .kv_grad_bytes = c->none,
                                   .working_bytes = c->none,
                                   .static_bytes = c->resident,
                                   .held_bytes = c->held};
    c->input = (lcp_schedule_input){.rank_count = ranks,
                                    .virtual_count = stages_a_rank,
                                    .chunk_count = c->chunks,
                                    .links = c->links,
                                    .durations = &c->durations,
                                    .memory = &c->memory};
}

static void drop_result(schedule_case *c)
{
    lcp_replay_dispose(&c->replay);
    lcp_schedule_dispose(&c->schedule);
}

void case_dispose(schedule_case *c)
{
    drop_result(c);
    free(c->links);
    free(c->forward);
    free(c->backward);
    free(c->input_grad);
    free(c->weight_grad);
    free(c->hop);
    free(c->reduce);
    free(c->offload);
    free(c->recompute);
    free(c->kept);
    free(c->held);
    free(c->none);
    free(c->resident);
    free(c->limit);
    free(c->peaks);
}

void case_set_equal(schedule_case *c, double forward, double input_grad, double weight_grad, double hop)
{
    for (int32_t i = 0; i < c->cells; i++) {
        c->forward[i] = forward;
        c->input_grad[i] = input_grad;
        c->weight_grad[i] = weight_grad;
        c->backward[i] = input_grad + weight_grad;
        c->hop[i] = hop;
    }
}

void case_run(schedule_case *c, const char *name)
{
    lcp_error err = {0};
    drop_result(c);
    if (lcp_schedule_generate(&c->schedule, name, &c->input, &err) != LCP_OK ||
        lcp_replay_run(&c->replay, &c->schedule, c->links, &c->durations, &err) != LCP_OK ||
        lcp_memory_replay_timed(c->peaks, NULL, &c->schedule, c->links, &c->memory, &c->replay, &err) != LCP_OK) {
        fail_msg("%s, %d ranks, %d chunks: %s", name, c->ranks, c->chunks, err.text);
    }
}

double case_largest_busy(const schedule_case *c)
{
    double most = 0;
    for (int32_t r = 0; r < c->ranks; r++) {
        most = c->replay.busy_seconds[r] > most ? c->replay.busy_seconds[r] : most;
    }
    return most;
}

int64_t case_largest_peak(const schedule_case *c)
{
    int64_t most = 0;
    for (int32_t r = 0; r < c->ranks; r++) {
        most = c->peaks[r].peak_bytes > most ? c->peaks[r].peak_bytes : most;
    }
    return most;
}

bool case_read_row(void *file, char *line, size_t size, char **fields, int count)
{
    while (fgets(line, (int)size, file) != NULL) {
        if (line[0] == '#') {
            continue;
        }
        int found = 0;
        for (char *at = line; at != NULL && found < count; found++) {
            fields[found] = at;
            at = strchr(at, ',');
            if (at != NULL) {
                *at++ = '\0';
            }
        }
        return found == count;
    }
    return false;
}
