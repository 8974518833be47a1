/* From cuts and bins to chunks in forward order. */
#include "chunking/chunking_internal.h"

#include <math.h>
#include <stdlib.h>

typedef struct writer {
    lcp_chunking *out;
    int64_t segment_count;
    lcp_chunk *chunk; /* open */
} writer;

static void open_chunk(writer *w, int32_t dp)
{
    w->chunk = &w->out->chunks[w->out->chunk_count++];
    *w->chunk = (lcp_chunk){.dp = dp, .segments = &w->out->segments[w->segment_count]};
}

static void write_segment(writer *w, lcp_segment segment)
{
    w->out->segments[w->segment_count++] = segment;
    w->chunk->segment_count++;
}

/* Items of a bin, in order. list: items sorted by bin. */
static void write_bin(writer *w, const lcp_rank_work *work, const int64_t *list, const int64_t *first, int32_t bin)
{
    for (int64_t i = first[bin]; i < first[bin + 1]; i++) {
        const lcp_item *item = &work->items[work->sliced_count + list[i]];
        write_segment(w, (lcp_segment){.sequence = item->sequence, .length_tokens = item->tokens});
    }
}

static void write_sliced(writer *w, const lcp_rank_work *work, int32_t dp, int64_t i, const int64_t *list,
                         const int64_t *first)
{
    const lcp_cut *cut = &work->cuts[i];
    for (int32_t s = 0; s < cut->count; s++) {
        open_chunk(w, dp);
        write_segment(w, (lcp_segment){.sequence = work->items[i].sequence,
                                       .offset_tokens = cut->offsets[s],
                                       .length_tokens = cut->offsets[s + 1] - cut->offsets[s],
                                       .has_successor = s + 1 < cut->count});
    }
    write_bin(w, work, list, first, (int32_t)i);
}

typedef struct bin_rank {
    double seconds;
    int32_t bin;
} bin_rank;

static int fullest_first(const void *a, const void *b)
{
    const bin_rank *x = a;
    const bin_rank *y = b;
    if (x->seconds < y->seconds || x->seconds > y->seconds) {
        return x->seconds > y->seconds ? -1 : 1;
    }
    return (x->bin > y->bin) - (x->bin < y->bin);
}

/* Sliced sequences first, the longest first, then packs, the fullest first. */
static lcp_status write_rank(writer *w, const lcp_rank_work *work, int32_t dp, lcp_error *err)
{
    int64_t whole = work->item_count - work->sliced_count;
    size_t bins = (size_t)work->bin_count;
    int64_t *first = calloc(bins + 2 + (size_t)whole, sizeof *first);
    bin_rank *order = malloc((bins + 1) * sizeof *order);
    if (first == NULL || order == NULL) {
        free(first);
        free(order);
        return lcp_fail(err, LCP_NOMEM, "", "cannot order %d chunks", work->bin_count);
    }
    int64_t *list = first + bins + 2;
    for (int64_t i = 0; i < whole; i++) {
        first[work->bin_of[i] + 2]++;
    }
    for (size_t b = 0; b < bins; b++) {
        first[b + 2] += first[b + 1];
    }
    for (int64_t i = 0; i < whole; i++) {
        list[first[work->bin_of[i] + 1]++] = i;
    }
    int32_t packs = 0;
    for (int32_t b = (int32_t)work->sliced_count; b < work->bin_count; b++) {
        order[packs++] = (bin_rank){.seconds = work->bins[b].seconds, .bin = b};
    }
    qsort(order, (size_t)packs, sizeof *order, fullest_first);
    for (int64_t i = 0; i < work->sliced_count; i++) {
        write_sliced(w, work, dp, i, list, first);
    }
    for (int32_t i = 0; i < packs; i++) {
        if (first[order[i].bin + 1] > first[order[i].bin]) {
            open_chunk(w, dp);
            write_bin(w, work, list, first, order[i].bin);
        }
    }
    free(first);
    free(order);
    return LCP_OK;
}

static lcp_status allocate_answer(lcp_chunking *out, const lcp_rank_work *work, int32_t ranks, lcp_error *err)
{
    int64_t chunks = 0;
    int64_t segments = 0;
    for (int32_t r = 0; r < ranks; r++) {
        chunks += work[r].bin_count;
        segments += work[r].item_count;
        for (int64_t i = 0; i < work[r].sliced_count; i++) {
            chunks += work[r].cuts[i].count;
            segments += work[r].cuts[i].count;
        }
    }
    out->chunks = calloc((size_t)chunks + 1, sizeof *out->chunks);
    out->segments = calloc((size_t)segments + 1, sizeof *out->segments);
    out->rank_first = calloc((size_t)ranks + 1, sizeof *out->rank_first);
    bool complete = out->chunks != NULL && out->segments != NULL && out->rank_first != NULL;
    return complete ? LCP_OK : lcp_fail(err, LCP_NOMEM, "", "cannot hold %lld chunks", (long long)chunks);
}

lcp_status lcp_chunking_write(lcp_chunking *out, const lcp_rank_work *work, int32_t ranks, lcp_error *err)
{
    lcp_status status = allocate_answer(out, work, ranks, err);
    writer w = {.out = out};
    for (int32_t r = 0; status == LCP_OK && r < ranks; r++) {
        status = write_rank(&w, &work[r], r, err);
        out->rank_first[r + 1] = out->chunk_count;
        out->target_seconds = fmax(out->target_seconds, work[r].target_seconds);
        out->lp_solves += work[r].lp_solves;
        out->mip_nodes += work[r].mip_nodes;
    }
    return status;
}
