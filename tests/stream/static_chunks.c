#include "static_chunks.h"

#include "partition/fill.h"

#include <math.h>
#include <stdlib.h>

typedef struct packing {
    int64_t chunk_tokens;
    lcp_chunk *chunks;
    lcp_segment *segments; /* room for every segment in every place: chunk k owns [k * most, (k + 1) * most) */
    int64_t *tokens;
    int32_t chunk_count;
    int64_t most;
} packing;

static void put(packing *p, int32_t chunk, lcp_segment segment)
{
    lcp_segment *own = &p->segments[(int64_t)chunk * p->most];
    own[p->chunks[chunk].segment_count++] = segment;
    p->chunks[chunk].segments = own;
    p->tokens[chunk] += segment.length_tokens;
}

static int descending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

/* Slices of a long sequence, each a chunk; its tail may be shared. */
static void cut(packing *p, int64_t sequence, int64_t tokens)
{
    for (int64_t offset = 0; offset < tokens; offset += p->chunk_tokens) {
        int64_t left = tokens - offset;
        bool last = left <= p->chunk_tokens;
        put(p, p->chunk_count++,
            (lcp_segment){.sequence = sequence,
                          .offset_tokens = offset,
                          .length_tokens = last ? left : p->chunk_tokens,
                          .has_successor = !last});
    }
}

static bool pack_all(packing *p, const int64_t *sorted, int64_t count)
{
    int64_t slices = 0;
    for (int64_t i = 0; i < count; i++) {
        slices += (sorted[i] + p->chunk_tokens - 1) / p->chunk_tokens;
    }
    p->most = p->chunk_tokens < count ? p->chunk_tokens : count;
    p->chunks = calloc((size_t)slices, sizeof *p->chunks);
    p->tokens = calloc((size_t)slices, sizeof *p->tokens);
    p->segments = malloc((size_t)(slices * p->most) * sizeof *p->segments);
    if (p->chunks == NULL || p->tokens == NULL || p->segments == NULL) {
        return false;
    }
    for (int64_t i = 0; i < count; i++) {
        if (sorted[i] > p->chunk_tokens) {
            cut(p, i, sorted[i]);
            continue;
        }
        int32_t chunk = 0;
        while (chunk < p->chunk_count && p->tokens[chunk] + sorted[i] > p->chunk_tokens) {
            chunk++;
        }
        p->chunk_count += chunk == p->chunk_count;
        put(p, chunk, (lcp_segment){.sequence = i, .length_tokens = sorted[i]});
    }
    return true;
}

static void packing_dispose(packing *p)
{
    free(p->chunks);
    free(p->tokens);
    free(p->segments);
}

/* The same layers of the same policy everywhere; infinity if an operation does not fit. */
static lcp_status price(double *seconds, const lcp_view *view, const int32_t *stage_layers,
                        const static_setting *setting, lcp_error *err)
{
    lcp_fill fill;
    lcp_status status = lcp_fill_build(&fill, view, stage_layers, err);
    for (int32_t k = 0; status == LCP_OK && k < view->chunks; k++) {
        for (int32_t s = 0; s < view->stages; s++) {
            int32_t there = lcp_fill_count(&fill, k, s, 0, view->base);
            const lcp_fill_change change = {
                k, s, 0, view->base, setting->policy, setting->layers < there ? setting->layers : there};
            lcp_fill_move(&fill, &change);
        }
    }
    size_t places = 2 * (size_t)view->stages * (size_t)view->chunks;
    bool fits = status == LCP_OK;
    for (size_t i = 0; fits && i < places; i++) {
        fits = fill.memory[i] <= fill.capacity_bytes;
    }
    if (fits) {
        status = lcp_fill_replay(&fill, err);
    }
    *seconds = fits ? fmax(*seconds, fill.makespan_seconds) : HUGE_VAL;
    lcp_fill_dispose(&fill);
    return status;
}

static lcp_status price_pipeline(double *seconds, const lcp_cost *cost, const lcp_schedule_kind *kind,
                                 const int32_t *stage_layers, const int64_t *lengths, int64_t count,
                                 const static_setting *setting, lcp_error *err)
{
    packing p = {.chunk_tokens = setting->chunk_tokens};
    lcp_pipeline_tables tables = {0};
    lcp_view view = {0};
    lcp_status status = pack_all(&p, lengths, count) ? LCP_OK : lcp_fail(err, LCP_NOMEM, "", "no memory for chunks");
    if (status == LCP_OK) {
        status = lcp_pipeline_tables_build(&tables, cost, p.chunks, p.chunk_count, kind, err);
    }
    lcp_partition_input input = {
        .cost = cost, .pipeline_count = 1, .pipelines = &tables, .policy_mask = (1U << LCP_RECOMPUTE_COUNT) - 1U};
    if (status == LCP_OK) {
        status = lcp_view_build(&view, &input, 0, err);
    }
    if (status == LCP_OK) {
        status = price(seconds, &view, stage_layers, setting, err);
    }
    lcp_view_dispose(&view);
    lcp_pipeline_tables_dispose(&tables);
    packing_dispose(&p);
    return status;
}

lcp_status static_iteration(double *seconds, const lcp_cost *cost, const lcp_schedule_kind *kind,
                            const int32_t *stage_layers, const int64_t *lengths, int64_t count,
                            const static_setting *setting, lcp_error *err)
{
    int32_t dp = cost->layout.dp;
    int64_t *sorted = malloc((size_t)count * sizeof *sorted);
    int64_t *own = malloc((size_t)count * sizeof *own);
    double *work = calloc((size_t)dp, sizeof *work);
    int32_t *rank_of = malloc((size_t)count * sizeof *rank_of);
    lcp_status status = LCP_OK;
    *seconds = 0;
    if (sorted == NULL || own == NULL || work == NULL || rank_of == NULL) {
        status = lcp_fail(err, LCP_NOMEM, "", "no memory for a batch");
        goto out;
    }
    for (int64_t i = 0; i < count; i++) {
        sorted[i] = lengths[i];
    }
    qsort(sorted, (size_t)count, sizeof *sorted, descending);
    for (int64_t i = 0; i < count; i++) {
        int32_t least = 0;
        for (int32_t d = 1; d < dp; d++) {
            least = work[d] < work[least] ? d : least;
        }
        rank_of[i] = least;
        work[least] += lcp_cost_segment_seconds(cost, 0, sorted[i]);
    }
    for (int32_t d = 0; status == LCP_OK && d < dp; d++) {
        int64_t own_count = 0;
        for (int64_t i = 0; i < count; i++) {
            if (rank_of[i] == d) {
                own[own_count++] = sorted[i];
            }
        }
        status = price_pipeline(seconds, cost, kind, stage_layers, own, own_count, setting, err);
    }
out:
    free(sorted);
    free(own);
    free(work);
    free(rank_of);
    return status;
}
