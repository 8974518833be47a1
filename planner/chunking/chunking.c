/* ILP 1: every sequence to a data-parallel rank, long ones cut at equal time, short ones packed beside tails and into
 * chunks of their own, so that all chunks of a rank take the same time. */
#include "chunking/chunking_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void lcp_chunking_dispose(lcp_chunking *chunking)
{
    free(chunking->chunks);
    free(chunking->segments);
    free(chunking->rank_first);
    *chunking = (lcp_chunking){0};
}

static double slice_seconds(const lcp_rank_work *w, const lcp_cut *cut, int32_t slice)
{
    const lcp_segment segment = {.offset_tokens = cut->offsets[slice],
                                 .length_tokens = cut->offsets[slice + 1] - cut->offsets[slice]};
    return lcp_exact_seconds(w->input->cost, &segment, 1);
}

#define TAIL_LEAST 0.05 /* of the target: a shorter tail is spread over the slices */
#define CUT_ABOVE 1.03  /* of the target: sequences that take longer are cut */

/* How many equal slices come nearest to the target. */
static int32_t nearest_slices(double seconds, double target)
{
    double slices = floor(seconds / target + 0.5);
    return slices < 1 ? 1 : slices > 100000 ? 100000 : (int32_t)slices;
}

/* Whether whole sequences can fill what the tails leave free; else tails would only make chunks unequal. */
static bool tails_can_be_filled(const lcp_rank_work *w, double whole_seconds)
{
    double room = 0;
    for (int64_t i = 0; i < w->sliced_count; i++) {
        double rest = fmod(w->items[i].seconds, w->target_seconds) / w->target_seconds;
        room += rest >= TAIL_LEAST ? (1 - rest) * w->target_seconds : 0;
    }
    return whole_seconds >= 0.98 * room;
}

/* mesh: the longest sequence that was cut with a tail; its offsets are NULL while there is none. */
static lcp_status cut_item(lcp_rank_work *w, int64_t i, bool with_tail, lcp_cut *mesh, lcp_error *err)
{
    const lcp_item *item = &w->items[i];
    double rest = fmod(item->seconds, w->target_seconds) / w->target_seconds;
    bool spread = !with_tail || rest < TAIL_LEAST;
    if (!spread && mesh->offsets != NULL) {
        return lcp_cut_on_mesh(&w->cuts[i], mesh, w->input, item->tokens, err);
    }
    if (spread && i > 0 && item->tokens == w->items[i - 1].tokens) {
        return lcp_cut_on_mesh(&w->cuts[i], &w->cuts[i - 1], w->input, item->tokens, err);
    }
    int32_t equal = spread ? nearest_slices(item->seconds, w->target_seconds) : 0;
    lcp_status status =
        lcp_cut_sequence(&w->cuts[i], w->input, item->tokens, spread ? 0 : w->target_seconds, equal, err);
    if (status == LCP_OK && !spread) {
        *mesh = w->cuts[i];
    }
    return status;
}

static bool must_be_cut(const lcp_rank_work *w, const lcp_item *item)
{
    bool long_time = item->seconds > w->target_seconds * CUT_ABOVE;
    bool long_tokens = w->input->max_chunk_tokens > 0 && item->tokens > w->input->max_chunk_tokens;
    return w->input->slicing && (long_time || long_tokens) && item->tokens >= 2 * w->input->min_slice_tokens &&
           item->tokens > w->input->slice_alignment_tokens;
}

static void free_cuts(lcp_rank_work *w)
{
    for (int64_t i = 0; w->cuts != NULL && i < w->sliced_count; i++) {
        free(w->cuts[i].offsets);
    }
    free(w->cuts);
    w->cuts = NULL;
    w->sliced_count = 0;
}

static void rank_dispose(lcp_rank_work *w)
{
    free_cuts(w);
    free(w->items);
    free(w->bins);
    free(w->empty_bins);
    free(w->bin_of);
}

static lcp_status cut_long(lcp_rank_work *w, lcp_error *err)
{
    double whole_seconds = 0;
    free_cuts(w);
    while (w->sliced_count < w->item_count && must_be_cut(w, &w->items[w->sliced_count])) {
        w->sliced_count++;
    }
    for (int64_t i = w->sliced_count; i < w->item_count; i++) {
        whole_seconds += w->items[i].seconds;
    }
    w->cuts = calloc((size_t)w->sliced_count + 1, sizeof *w->cuts);
    if (w->cuts == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot cut %lld sequences", (long long)w->sliced_count);
    }
    bool with_tail = tails_can_be_filled(w, whole_seconds);
    lcp_cut mesh = {0};
    lcp_status status = LCP_OK;
    for (int64_t i = 0; status == LCP_OK && i < w->sliced_count; i++) {
        status = cut_item(w, i, with_tail, &mesh, err);
    }
    return status;
}

#define OVERFULL 0.1 /* of the target, a tail: more than that is worth a chunk more */

/* Chunks left for whole sequences once every slice has its own. */
static int32_t fresh_bins(const lcp_rank_work *w)
{
    int64_t whole = w->item_count - w->sliced_count;
    int64_t slices = 0;
    double room = 0;
    double seconds = 0;
    for (int64_t i = 0; i < w->sliced_count; i++) {
        slices += w->cuts[i].count;
        room += fmax(0, w->target_seconds - slice_seconds(w, &w->cuts[i], w->cuts[i].count - 1));
    }
    for (int64_t i = w->sliced_count; i < w->item_count; i++) {
        seconds += w->items[i].seconds;
    }
    int64_t wanted = w->input->chunks_per_rank - slices;
    if (wanted < 1 && seconds > room + OVERFULL * w->target_seconds * (double)w->sliced_count) {
        wanted = 1;
    }
    if (w->sliced_count == 0 && wanted < 1) {
        wanted = 1;
    }
    wanted = wanted < 0 ? 0 : wanted;
    return (int32_t)(wanted < whole ? wanted : whole);
}

static lcp_status make_bins(lcp_rank_work *w, int32_t fresh, lcp_error *err)
{
    w->bin_count = (int32_t)w->sliced_count + fresh;
    w->bins = calloc((size_t)w->bin_count + 1, sizeof *w->bins);
    w->empty_bins = calloc((size_t)w->bin_count + 1, sizeof *w->empty_bins);
    if (w->bins == NULL || w->empty_bins == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold %d chunks", w->bin_count);
    }
    for (int64_t i = 0; i < w->sliced_count; i++) {
        const lcp_cut *cut = &w->cuts[i];
        w->empty_bins[i].seconds = slice_seconds(w, cut, cut->count - 1);
        w->empty_bins[i].tokens = cut->offsets[cut->count] - cut->offsets[cut->count - 1];
    }
    memcpy(w->bins, w->empty_bins, (size_t)w->bin_count * sizeof *w->bins);
    return LCP_OK;
}

static bool all_packed(const lcp_rank_work *w)
{
    for (int64_t i = 0; i < w->item_count - w->sliced_count; i++) {
        if (w->bin_of[i] < 0) {
            return false;
        }
    }
    return true;
}

static double fullest_bin(const lcp_rank_work *w)
{
    double fullest = 0;
    for (int32_t b = 0; b < w->bin_count; b++) {
        fullest = fmax(fullest, w->bins[b].seconds);
    }
    return fullest;
}

#define PATTERNS_SPREAD 1.02 /* fullest bin over what cannot be avoided, at which a program is worth its time */
#define PATTERNS_ITEMS 120

static lcp_status pack_whole(lcp_rank_work *w, int32_t fresh, lcp_error *err)
{
    const lcp_item *whole = &w->items[w->sliced_count];
    int64_t count = w->item_count - w->sliced_count;
    free(w->bins);
    free(w->empty_bins);
    lcp_status status = make_bins(w, fresh, err);
    if (status != LCP_OK || count == 0) {
        return status;
    }
    status = lcp_pack_balanced(w->bin_of, w->bins, w->bin_count, whole, count, w->input->max_chunk_tokens, err);
    bool few = count <= PATTERNS_ITEMS;
    if (status != LCP_OK || !w->input->columns_generated || !few || !all_packed(w)) {
        return status;
    }
    double unavoidable = fmax(w->target_seconds, whole[0].seconds);
    for (int32_t b = 0; b < w->bin_count; b++) {
        unavoidable = fmax(unavoidable, w->empty_bins[b].seconds);
    }
    if (fullest_bin(w) > unavoidable * PATTERNS_SPREAD) {
        lcp_patterns_result result;
        status = lcp_pack_patterns(&result, w->bin_of, w->bins, w->empty_bins, w->bin_count, whole, count,
                                   w->input->max_chunk_tokens, err);
        w->lp_solves += result.lp_solves;
        w->mip_nodes += result.mip_nodes;
    }
    return status;
}

/* Long sequences as their slices will cost, whole ones as corrected. */
static double exact_total(lcp_rank_work *w)
{
    double total = 0;
    for (int64_t i = 0; i < w->item_count; i++) {
        const lcp_segment whole = {.length_tokens = w->items[i].tokens};
        bool same = i > 0 && w->items[i].tokens == w->items[i - 1].tokens;
        if (must_be_cut(w, &w->items[i])) {
            w->items[i].seconds = same ? w->items[i - 1].seconds : lcp_exact_seconds(w->input->cost, &whole, 1);
        }
        total += w->items[i].seconds;
    }
    return total;
}

/* Sequences packed together share what the additive price gives each of them alone (roofline, overlap): the price of
 * whole sequences is corrected by what a chunk's worth of them, taken evenly from the list, really costs. */
#define SAMPLE_SEGMENTS 256
static void correct_whole(lcp_rank_work *w)
{
    lcp_segment sample[SAMPLE_SEGMENTS];
    double additive = 0;
    double total = 0;
    int32_t count = 0;
    int64_t first = 0;
    while (first < w->item_count && must_be_cut(w, &w->items[first])) {
        first++;
    }
    for (int64_t i = first; i < w->item_count; i++) {
        total += w->items[i].seconds;
    }
    double stride = total / fmax(w->target_seconds, 1e-30);
    double next = stride / 2;
    for (int64_t i = first; i < w->item_count && count < SAMPLE_SEGMENTS; i++) {
        if ((double)(i - first) >= next) {
            sample[count++] = (lcp_segment){.length_tokens = w->items[i].tokens};
            additive += w->items[i].seconds;
            next += fmax(stride, 1);
        }
    }
    double ratio = count > 0 && additive > 0 ? lcp_exact_seconds(w->input->cost, sample, count) / additive : 1;
    ratio = ratio > 0.5 && ratio < 2 ? ratio : 1;
    for (int64_t i = first; i < w->item_count; i++) {
        w->items[i].seconds *= ratio;
    }
}

/* Slices cost a little more in all than the sequence uncut: cuts again until the target is the mean of the chunks. */
static lcp_status cut_to_mean(lcp_rank_work *w, lcp_error *err)
{
    for (int32_t round = 0;; round++) {
        lcp_status status = cut_long(w, err);
        double total = 0;
        for (int64_t i = 0; status == LCP_OK && i < w->item_count; i++) {
            double seconds = i < w->sliced_count ? 0 : w->items[i].seconds;
            bool same = i > 0 && i < w->sliced_count && w->items[i].tokens == w->items[i - 1].tokens;
            for (int32_t s = 0; i < w->sliced_count && !same && s < w->cuts[i].count; s++) {
                seconds += slice_seconds(w, &w->cuts[i], s);
            }
            w->items[i].seconds = same ? w->items[i - 1].seconds : seconds;
            total += w->items[i].seconds;
        }
        double mean = total / w->input->chunks_per_rank;
        bool settled = fabs(mean - w->target_seconds) <= 0.002 * mean;
        if (status != LCP_OK || settled || round == 3 || w->sliced_count == 0) {
            return status;
        }
        w->target_seconds = mean;
    }
}

static lcp_status solve_rank(lcp_rank_work *w, lcp_error *err)
{
    double total = 0;
    for (int64_t i = 0; i < w->item_count; i++) {
        total += w->items[i].seconds;
    }
    w->target_seconds = total / w->input->chunks_per_rank;
    correct_whole(w);
    w->target_seconds = exact_total(w) / w->input->chunks_per_rank;
    w->bin_of = malloc(((size_t)w->item_count + 1) * sizeof *w->bin_of);
    if (w->bin_of == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot pack %lld sequences", (long long)w->item_count);
    }
    lcp_status status = cut_to_mean(w, err);
    if (status != LCP_OK) {
        return status;
    }
    int64_t whole = w->item_count - w->sliced_count;
    int32_t fresh = fresh_bins(w);
    status = pack_whole(w, fresh, err);
    while (status == LCP_OK && !all_packed(w) && fresh < whole) {
        fresh = fresh + 1 + fresh / 4 < whole ? fresh + 1 + fresh / 4 : (int32_t)whole;
        status = pack_whole(w, fresh, err);
    }
    if (status == LCP_OK && !all_packed(w)) {
        return lcp_fail(err, LCP_INFEASIBLE, "chunk",
                        "a sequence of %lld tokens is longer than a chunk may be (%lld tokens) and must not be cut",
                        (long long)w->items[w->sliced_count].tokens, (long long)w->input->max_chunk_tokens);
    }
    return status;
}

/* Splits the sorted items into one sorted list a rank. */
static lcp_status divide(lcp_rank_work *work, const lcp_chunking_input *input, int32_t ranks, lcp_error *err)
{
    int64_t count = input->workload->sequence_count;
    lcp_item *items = NULL;
    int32_t *rank_of = malloc((size_t)count * sizeof *rank_of);
    lcp_status status = rank_of != NULL
                            ? lcp_items_build(&items, input, err)
                            : lcp_fail(err, LCP_NOMEM, "", "cannot divide %lld sequences", (long long)count);
    if (status == LCP_OK) {
        status = lcp_items_to_ranks(rank_of, items, count, ranks, err);
    }
    for (int64_t i = 0; status == LCP_OK && i < count; i++) {
        work[rank_of[i]].item_count++;
    }
    for (int32_t r = 0; status == LCP_OK && r < ranks; r++) {
        work[r].input = input;
        work[r].items = malloc(((size_t)work[r].item_count + 1) * sizeof *work[r].items);
        work[r].item_count = 0;
        if (work[r].items == NULL) {
            status = lcp_fail(err, LCP_NOMEM, "", "cannot divide %lld sequences", (long long)count);
        }
    }
    for (int64_t i = 0; status == LCP_OK && i < count; i++) {
        lcp_rank_work *w = &work[rank_of[i]];
        w->items[w->item_count++] = items[i];
    }
    free(rank_of);
    free(items);
    return status;
}

lcp_status lcp_chunking_solve(lcp_chunking *out, const lcp_chunking_input *input, lcp_error *err)
{
    *out = (lcp_chunking){0};
    int32_t ranks = input->cost->layout.dp;
    lcp_rank_work *work = calloc((size_t)ranks, sizeof *work);
    lcp_status status = work != NULL ? divide(work, input, ranks, err)
                                     : lcp_fail(err, LCP_NOMEM, "", "cannot divide the batch over %d ranks", ranks);
    for (int32_t r = 0; status == LCP_OK && r < ranks; r++) {
        status = solve_rank(&work[r], err);
    }
    if (status == LCP_OK) {
        status = lcp_chunking_write(out, work, ranks, err);
    }
    for (int32_t r = 0; work != NULL && r < ranks; r++) {
        rank_dispose(&work[r]);
    }
    free(work);
    if (status != LCP_OK) {
        lcp_chunking_dispose(out);
    }
    return status;
}
