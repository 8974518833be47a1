#include "coopt/candidate.h"

#include "schedule/backfill.h"
#include "schedule/greedy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

lcp_status lcp_division_allocate(lcp_division *out, const lcp_coopt_input *input, lcp_error *err)
{
    size_t layers = (size_t)input->layer_count;
    *out = (lcp_division){.cost = HUGE_VAL};
    out->layers = malloc(2 * layers * sizeof *out->layers);
    if (out->layers == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold a division of %d layers", input->layer_count);
    }
    out->rank = out->layers + layers;
    return LCP_OK;
}

void lcp_division_dispose(lcp_division *division)
{
    free(division->layers);
    *division = (lcp_division){0};
}

void lcp_division_copy(lcp_division *to, const lcp_division *from, const lcp_coopt_input *input)
{
    memcpy(to->layers, from->layers, 2 * (size_t)input->layer_count * sizeof *to->layers);
    to->stage_count = from->stage_count;
    to->cost = from->cost;
}

void lcp_coopt_tables_dispose(lcp_coopt_tables *t)
{
    free(t->seconds);
    free(t->bytes);
    free(t->links);
    free(t->ranks);
    *t = (lcp_coopt_tables){0};
}

lcp_status lcp_coopt_tables_allocate(lcp_coopt_tables *t, const lcp_coopt_input *input, lcp_error *err)
{
    size_t chunks = (size_t)input->chunk_count;
    size_t ranks = (size_t)input->rank_count;
    size_t cells = ((size_t)input->layer_count + ranks) * chunks;
    *t = (lcp_coopt_tables){.input = input};
    t->seconds = malloc((4 * cells + chunks) * sizeof *t->seconds);
    t->bytes = malloc((2 * cells + ranks) * sizeof *t->bytes);
    t->links = malloc(chunks * sizeof *t->links);
    t->ranks = malloc(((size_t)input->layer_count + ranks) * sizeof *t->ranks);
    if (t->seconds == NULL || t->bytes == NULL || t->links == NULL || t->ranks == NULL) {
        lcp_coopt_tables_dispose(t);
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold the times of %d layers", input->layer_count);
    }
    t->hop = t->seconds + 4 * cells;
    t->limits = t->bytes + 2 * cells;
    for (size_t k = 0; k < chunks; k++) {
        t->links[k] = (lcp_chunk_link){-1, -1};
        t->hop[k] = input->hop_seconds;
    }
    t->durations = (lcp_durations){.forward_seconds = t->seconds,
                                   .backward_seconds = t->seconds + cells,
                                   .input_grad_seconds = t->seconds + 2 * cells,
                                   .weight_grad_seconds = t->seconds + 3 * cells,
                                   .hop_seconds = t->hop};
    t->memory = (lcp_memory_input){.kept_bytes = t->bytes, .held_bytes = t->bytes + cells};
    t->schedule_input = (lcp_schedule_input){.rank_count = input->rank_count,
                                             .chunk_count = input->chunk_count,
                                             .links = t->links,
                                             .durations = &t->durations,
                                             .stage_rank = t->ranks};
    if (input->kept_bytes != NULL) {
        t->schedule_input.memory = &t->memory;
        t->schedule_input.limit_bytes = t->limits;
    }
    return LCP_OK;
}

double lcp_division_load(const lcp_division *division, const lcp_coopt_input *input)
{
    double scale = input->chunk_count;
    for (int32_t k = 0; input->chunk_scale != NULL && k < input->chunk_count; k++) {
        scale += input->chunk_scale[k] - 1;
    }
    double most = 0;
    for (int32_t r = 0; r < input->rank_count; r++) {
        double load = 0;
        for (int32_t s = 0, layer = 0; s < division->stage_count; layer += division->layers[s], s++) {
            for (int32_t l = layer; division->rank[s] == r && l < layer + division->layers[s]; l++) {
                load +=
                    (input->forward_seconds[l] + input->input_grad_seconds[l] + input->weight_grad_seconds[l]) * scale;
            }
            load += division->rank[s] == r ? 3 * input->pass_seconds * input->chunk_count : 0;
        }
        most = fmax(most, load);
    }
    return most;
}

static void fill_stage(lcp_coopt_tables *t, int32_t stage, int32_t first, int32_t layers)
{
    const lcp_coopt_input *in = t->input;
    size_t cells = (size_t)(t->durations.backward_seconds - t->durations.forward_seconds);
    double f = 0;
    double i = 0;
    double w = 0;
    double kept = 0;
    double held = 0;
    for (int32_t l = first; l < first + layers; l++) {
        f += in->forward_seconds[l];
        i += in->input_grad_seconds[l];
        w += in->weight_grad_seconds[l];
        kept += in->kept_bytes != NULL ? (double)in->kept_bytes[l] : 0;
        held += in->held_bytes != NULL   ? (double)in->held_bytes[l]
                : in->kept_bytes != NULL ? (double)in->kept_bytes[l]
                                         : 0;
    }
    for (int32_t k = 0; k < in->chunk_count; k++) {
        size_t at = (size_t)stage * (size_t)in->chunk_count + (size_t)k;
        double scale = in->chunk_scale != NULL ? in->chunk_scale[k] : 1;
        t->seconds[at] = f * scale + in->pass_seconds;
        t->seconds[cells + at] = (i + w) * scale + in->pass_seconds;
        t->seconds[2 * cells + at] = i * scale + in->pass_seconds;
        t->seconds[3 * cells + at] = w * scale + in->pass_seconds;
        t->bytes[at] = (int64_t)(kept * scale);
        t->bytes[cells + at] = (int64_t)(held * scale);
    }
}

static void fill_tables(lcp_coopt_tables *t, const lcp_division *division)
{
    const lcp_coopt_input *in = t->input;
    for (int32_t r = 0; r < in->rank_count; r++) {
        t->limits[r] = in->capacity_bytes;
    }
    for (int32_t s = 0, layer = 0; s < division->stage_count; layer += division->layers[s], s++) {
        fill_stage(t, s, layer, division->layers[s]);
        t->ranks[s] = division->rank[s];
        for (int32_t l = layer; in->static_bytes != NULL && l < layer + division->layers[s]; l++) {
            t->limits[division->rank[s]] -= in->static_bytes[l];
        }
    }
    t->schedule_input.stage_count = division->stage_count;
}

/* The best of a few rules, without improvement. */
static lcp_status quick_list(lcp_schedule *out, lcp_coopt_tables *t, lcp_error *err)
{
    const lcp_schedule_input *input = &t->schedule_input;
    int64_t most = 3 * (int64_t)input->chunk_count * input->stage_count;
    lcp_status status = lcp_schedule_allocate_stages(out, input, input->stage_count, most, err);
    if (status == LCP_OK) {
        memcpy(out->stage_rank, t->ranks, (size_t)input->stage_count * sizeof *t->ranks);
        status = lcp_greedy_nth(out, input, true, input->limit_bytes, 0, err);
        if (status != LCP_OK) {
            lcp_schedule_dispose(out);
        }
    }
    return status;
}

lcp_status lcp_division_price(lcp_division *division, lcp_schedule *schedule, lcp_coopt_tables *t, int32_t effort,
                              lcp_error *err)
{
    lcp_schedule made = {0};
    fill_tables(t, division);
    t->schedule_input.effort = effort;
    lcp_status status =
        effort > 0 ? quick_list(&made, t, err) : lcp_schedule_generate(&made, "list", &t->schedule_input, err);
    division->cost = status == LCP_OK ? lcp_schedule_cost(&made, &t->schedule_input) : HUGE_VAL;
    if (status == LCP_OK && schedule != NULL) {
        *schedule = made;
    } else {
        lcp_schedule_dispose(&made);
    }
    return status == LCP_INFEASIBLE ? LCP_OK : status;
}
