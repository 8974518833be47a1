/* Whole sequences into bins of equal time: longest first into the emptiest bin, then moves and swaps. */
#include "chunking/chunking_internal.h"

#include <math.h>
#include <stdlib.h>

typedef struct packing {
    int32_t *bin_of;
    lcp_bin *bins;
    int32_t bin_count;
    const lcp_item *items;
    int64_t item_count;
    int64_t max_tokens;
    int32_t *heap; /* bins, emptiest on top */
} packing;

static bool emptier(const packing *p, int32_t a, int32_t b)
{
    double x = p->bins[a].seconds;
    double y = p->bins[b].seconds;
    return x < y || (!(y < x) && a < b);
}

static void sink(packing *p, int32_t at)
{
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child >= p->bin_count) {
            return;
        }
        if (child + 1 < p->bin_count && emptier(p, p->heap[child + 1], p->heap[child])) {
            child++;
        }
        if (!emptier(p, p->heap[child], p->heap[at])) {
            return;
        }
        int32_t swap = p->heap[at];
        p->heap[at] = p->heap[child];
        p->heap[child] = swap;
        at = child;
    }
}

static bool has_room(const packing *p, int32_t bin, int64_t tokens)
{
    return p->max_tokens <= 0 || p->bins[bin].tokens + tokens <= p->max_tokens;
}

static void put(packing *p, int64_t item, int32_t bin)
{
    p->bin_of[item] = bin;
    p->bins[bin].seconds += p->items[item].seconds;
    p->bins[bin].tokens += p->items[item].tokens;
}

static void take(packing *p, int64_t item)
{
    p->bins[p->bin_of[item]].seconds -= p->items[item].seconds;
    p->bins[p->bin_of[item]].tokens -= p->items[item].tokens;
    p->bin_of[item] = -1;
}

static void longest_first(packing *p)
{
    for (int32_t b = 0; b < p->bin_count; b++) {
        p->heap[b] = b;
    }
    for (int32_t at = p->bin_count / 2; at >= 0; at--) {
        sink(p, at);
    }
    for (int64_t i = 0; i < p->item_count; i++) {
        p->bin_of[i] = -1;
        if (has_room(p, p->heap[0], p->items[i].tokens)) {
            put(p, i, p->heap[0]);
            sink(p, 0);
            continue;
        }
        int32_t best = -1; /* the emptiest is full by tokens: any other with room */
        for (int32_t b = 0; b < p->bin_count; b++) {
            if (has_room(p, b, p->items[i].tokens) && (best < 0 || emptier(p, b, best))) {
                best = b;
            }
        }
        if (best >= 0) {
            put(p, i, best);
            for (int32_t at = p->bin_count / 2; at >= 0; at--) {
                sink(p, at);
            }
        }
    }
}

/* One move from the fullest bin to another, or one swap between them, that lowers the larger of the two most. */
static bool improve_once(packing *p, int32_t full, int32_t empty)
{
    double gap = p->bins[full].seconds - p->bins[empty].seconds;
    int64_t best_out = -1;
    int64_t best_in = -1;
    double best = gap * (1 - 1e-6);
    for (int64_t i = 0; i < p->item_count; i++) {
        if (p->bin_of[i] != full) {
            continue;
        }
        double after_move = fabs(gap - 2 * p->items[i].seconds);
        if (after_move < best && has_room(p, empty, p->items[i].tokens)) {
            best = after_move;
            best_out = i;
            best_in = -1;
        }
        for (int64_t j = 0; j < p->item_count; j++) {
            if (p->bin_of[j] != empty) {
                continue;
            }
            double after_swap = fabs(gap - 2 * (p->items[i].seconds - p->items[j].seconds));
            bool room = has_room(p, empty, p->items[i].tokens - p->items[j].tokens) &&
                        has_room(p, full, p->items[j].tokens - p->items[i].tokens);
            if (after_swap < best && room) {
                best = after_swap;
                best_out = i;
                best_in = j;
            }
        }
    }
    if (best_out < 0) {
        return false;
    }
    take(p, best_out);
    if (best_in >= 0) {
        take(p, best_in);
        put(p, best_in, full);
    }
    put(p, best_out, empty);
    return true;
}

#define EXCHANGE_ITEMS 600 /* pairs are scanned: only where there are few */
#define EXCHANGE_STEPS 200
#define EXCHANGE_SPREAD 0.003

static void exchange(packing *p)
{
    for (int32_t step = 0; p->item_count <= EXCHANGE_ITEMS && step < EXCHANGE_STEPS; step++) {
        int32_t full = 0;
        int32_t empty = 0;
        for (int32_t b = 1; b < p->bin_count; b++) {
            full = p->bins[b].seconds > p->bins[full].seconds ? b : full;
            empty = p->bins[b].seconds < p->bins[empty].seconds ? b : empty;
        }
        bool even = p->bins[full].seconds - p->bins[empty].seconds <= EXCHANGE_SPREAD * p->bins[full].seconds;
        if (even || !improve_once(p, full, empty)) {
            return;
        }
    }
}

lcp_status lcp_pack_balanced(int32_t *bin_of, lcp_bin *bins, int32_t bin_count, const lcp_item *items,
                             int64_t item_count, int64_t max_tokens, lcp_error *err)
{
    packing p = {.bin_of = bin_of, .bins = bins, .bin_count = bin_count, .items = items, .item_count = item_count};
    p.max_tokens = max_tokens;
    p.heap = malloc(((size_t)bin_count + 1) * sizeof *p.heap);
    if (p.heap == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot pack into %d chunks", bin_count);
    }
    longest_first(&p);
    exchange(&p);
    free(p.heap);
    return LCP_OK;
}
