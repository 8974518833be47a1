/* Interleaved 1F1B (Megatron-LM): rank r holds stages r, r + p, ...; groups of g chunks go through one virtual stage
 * after the other, backward with the virtual stages reversed. Rank r of p with v virtual stages runs
 * 2(p - 1 - r) + (v - 1) g forward passes ahead. g is p if that divides the chunks, else the smallest g >= p that
 * leaves no group smaller than p; slices of a sequence stay in one group. */
#include "schedule/schedule_internal.h"

#include <stdlib.h>

static int32_t group_size(const lcp_schedule_input *input)
{
    int32_t size = input->rank_count;
    while (input->chunk_count % size != 0 && input->chunk_count % size < input->rank_count) {
        size++;
    }
    return size;
}

static const char *unsupported(const lcp_schedule_input *input)
{
    if (input->virtual_count == 1) {
        return "interleaved needs two or more virtual stages a rank: use 1f1b or elastic-1f1b";
    }
    if (input->chunk_count < input->rank_count) {
        return "interleaved needs at least as many chunks as pipeline ranks";
    }
    return lcp_schedule_refuse_empty(input);
}

/* One past the last chunk of the group that starts at `first`. */
static int32_t group_end(const lcp_schedule_input *input, int32_t first, int32_t size)
{
    int32_t end = first + size < input->chunk_count ? first + size : input->chunk_count;
    while (end < input->chunk_count && input->links[end].previous_slice >= 0) {
        end++;
    }
    return input->chunk_count - end < input->rank_count ? input->chunk_count : end;
}

typedef struct unit {
    int32_t chunk, virtual_stage;
} unit;

typedef struct tables {
    unit *forward, *backward; /* [chunk_count * virtual stages] */
    int32_t count, largest_group, slices;
} tables;

static void fill_tables(tables *t, const lcp_schedule_input *input, int32_t stages_a_rank, int32_t *backward)
{
    bool sliced = lcp_schedule_is_sliced(input);
    int32_t size = sliced ? input->rank_count : group_size(input);
    t->slices = lcp_schedule_backward_order(backward, input);
    for (int32_t first = 0; first < input->chunk_count;) {
        int32_t end = sliced || first + size > input->chunk_count ? group_end(input, first, size) : first + size;
        t->largest_group = end - first > t->largest_group ? end - first : t->largest_group;
        for (int32_t v = 0; v < stages_a_rank; v++) {
            for (int32_t k = first; k < end; k++) {
                t->forward[t->count] = (unit){k, v};
                t->backward[t->count++] = (unit){backward[k], stages_a_rank - 1 - v};
            }
        }
        first = end;
    }
}

static void fill_rank(lcp_schedule *out, int32_t rank, const tables *t, int32_t ahead)
{
    int32_t ranks = out->rank_count;
    int32_t forward = 0;
    while (forward < t->count && forward < ahead) {
        unit f = t->forward[forward++];
        lcp_schedule_append(out, rank, LCP_OP_FORWARD, f.chunk, f.virtual_stage * ranks + rank);
    }
    for (int32_t i = 0; i < t->count; i++) {
        if (forward < t->count) {
            unit f = t->forward[forward++];
            lcp_schedule_append(out, rank, LCP_OP_FORWARD, f.chunk, f.virtual_stage * ranks + rank);
        }
        unit b = t->backward[i];
        lcp_schedule_append(out, rank, LCP_OP_BACKWARD, b.chunk, b.virtual_stage * ranks + rank);
    }
}

/* Slices need more passes ahead; groups of unequal size may, too. Every pass ahead always runs. */
static void fill(lcp_schedule *out, const lcp_schedule_input *input, const tables *t, int32_t stages_a_rank)
{
    int32_t extra = t->slices - 1;
    bool plain =
        t->slices == 1 && t->count == stages_a_rank * input->chunk_count && input->chunk_count % input->rank_count == 0;
    for (;; extra++) {
        int32_t least = t->count;
        for (int32_t r = 0; r < input->rank_count; r++) {
            int32_t ahead = 2 * (input->rank_count - 1 - r) + (stages_a_rank - 1) * t->largest_group + extra;
            out->op_count[r] = 0;
            fill_rank(out, r, t, ahead);
            least = ahead < least ? ahead : least;
        }
        if (plain || least >= t->count || lcp_schedule_runs(out, input->links)) {
            return;
        }
    }
}

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    int32_t stages_a_rank = lcp_schedule_virtual(input, 2);
    size_t units = (size_t)stages_a_rank * (size_t)input->chunk_count;
    tables t = {.forward = malloc(2 * units * sizeof(unit))};
    int32_t *backward = malloc((size_t)input->chunk_count * sizeof *backward);
    lcp_status status = lcp_schedule_allocate(out, input, stages_a_rank, 0, 2 * (int64_t)units, err);
    if (status == LCP_OK && (t.forward == NULL || backward == NULL)) {
        lcp_schedule_dispose(out);
        status = lcp_fail(err, LCP_NOMEM, "", "cannot order %d chunks", input->chunk_count);
    }
    if (status == LCP_OK) {
        t.backward = t.forward + units;
        fill_tables(&t, input, stages_a_rank, backward);
        fill(out, input, &t, stages_a_rank);
    }
    free(t.forward);
    free(backward);
    return status;
}

const lcp_schedule_kind lcp_schedule_interleaved = {
    .name = "interleaved",
    .help = "1F1B over two or more looped stages a rank",
    .needs =
        "at least as many chunks as ranks; groups of p chunks, larger where p does not divide them; layers for every "
        "virtual stage",
    .synchronous = true,
    .unsupported = unsupported,
    .build = build,
};
