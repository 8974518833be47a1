/* Cutting stock by column generation. Lengths of equal time form a class with a demand; a pattern says how many of each
 * class share a bin; GLPK solves the master over the patterns known, a knapsack over time finds the pattern that its
 * prices miss. The program then takes whole patterns. Times are counted in ticks, rounded down (to one at least), so
 * that the relaxation hardly ever rules out a packing; one that is found is priced with true times. */
#include "chunking/chunking_internal.h"
#include "solver/lp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CLASSES 48
#define MAX_PATTERNS 160
#define TICKS 2048
#define CAPACITY_STEPS 2

typedef struct length_class {
    int64_t first, count; /* items [first, first + count), equal or nearly equal times */
    int32_t ticks;
} length_class;

typedef struct pattern {
    int32_t kind; /* bin kind it fits */
    int32_t uses[MAX_CLASSES];
} pattern;

/* Bins that start out equally full. */
typedef struct bin_kind {
    double seconds;
    int32_t count, ticks; /* ticks of room */
} bin_kind;

typedef struct program {
    const lcp_item *items;
    int64_t item_count;
    int32_t class_count, kind_count, pattern_count;
    length_class classes[MAX_CLASSES];
    bin_kind *kinds;   /* [kind_count] */
    int32_t *kind_of;  /* [bin_count] */
    pattern *patterns; /* [MAX_PATTERNS] */
    double *dual;      /* [class_count] */
    double *value;     /* knapsack: [TICKS + 1] */
    uint8_t *choice;   /* knapsack: how many of a class at this room, [class][TICKS + 1] */
    int64_t lp_solves, mip_nodes;
} program;

static void program_dispose(program *p)
{
    free(p->kinds);
    free(p->kind_of);
    free(p->patterns);
    free(p->dual);
    free(p->value);
    free(p->choice);
}

/* Items are in descending order: a class is a run whose times differ by less than `spread`. */
static bool group_items(program *p, double spread)
{
    p->class_count = 0;
    for (int64_t i = 0; i < p->item_count;) {
        int64_t last = i;
        while (last < p->item_count && p->items[last].seconds >= p->items[i].seconds * (1 - spread)) {
            last++;
        }
        if (p->class_count == MAX_CLASSES) {
            return false;
        }
        p->classes[p->class_count++] = (length_class){.first = i, .count = last - i};
        i = last;
    }
    return true;
}

static lcp_status program_build(program *p, const lcp_bin *bins, int32_t bin_count, lcp_error *err)
{
    double spread = 1e-9;
    while (!group_items(p, spread)) {
        spread = spread < 1e-3 ? 1e-3 : spread * 1.5;
    }
    p->kinds = malloc((size_t)bin_count * sizeof *p->kinds);
    p->kind_of = malloc((size_t)bin_count * sizeof *p->kind_of);
    p->patterns = malloc(MAX_PATTERNS * sizeof *p->patterns);
    p->dual = calloc(MAX_CLASSES, sizeof *p->dual);
    p->value = malloc((TICKS + 1) * sizeof *p->value);
    p->choice = malloc((size_t)MAX_CLASSES * (TICKS + 1));
    if (p->kinds == NULL || p->kind_of == NULL || p->patterns == NULL || p->dual == NULL || p->value == NULL ||
        p->choice == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "cannot hold %d patterns", MAX_PATTERNS);
    }
    for (int32_t b = 0; b < bin_count; b++) {
        int32_t kind = 0;
        while (kind < p->kind_count && fabs(p->kinds[kind].seconds - bins[b].seconds) > 0) {
            kind++;
        }
        if (kind == p->kind_count) {
            p->kinds[p->kind_count++] = (bin_kind){.seconds = bins[b].seconds};
        }
        p->kinds[kind].count++;
        p->kind_of[b] = kind;
    }
    return LCP_OK;
}

/* Sizes in ticks for bins of `capacity` seconds. */
static void set_capacity(program *p, double capacity)
{
    double tick = capacity / TICKS;
    for (int32_t c = 0; c < p->class_count; c++) {
        double least = p->items[p->classes[c].first + p->classes[c].count - 1].seconds;
        p->classes[c].ticks = (int32_t)floor(least / tick * (1 - 1e-12));
    }
    for (int32_t k = 0; k < p->kind_count; k++) {
        double room = floor((capacity - p->kinds[k].seconds) / tick * (1 + 1e-12));
        p->kinds[k].ticks = room < 0 ? -1 : room > TICKS ? TICKS : (int32_t)room;
    }
    p->pattern_count = 0;
}

/* Bounded knapsack over ticks with the duals as values; fills value and choice for every room at once. */
static void price(program *p)
{
    memset(p->value, 0, (TICKS + 1) * sizeof *p->value);
    for (int32_t c = 0; c < p->class_count; c++) {
        uint8_t *choice = &p->choice[(size_t)c * (TICKS + 1)];
        memset(choice, 0, TICKS + 1);
        int32_t size = p->classes[c].ticks > 0 ? p->classes[c].ticks : 1;
        int64_t most = p->classes[c].count < 250 ? p->classes[c].count : 250;
        if (!(p->dual[c] > 1e-12)) {
            continue;
        }
        for (int32_t room = TICKS; room >= size; room--) {
            double best = p->value[room];
            for (int64_t n = 1; n <= most && n * size <= room; n++) {
                double value = p->value[room - n * size] + (double)n * p->dual[c];
                if (value > best + 1e-12) {
                    best = value;
                    choice[room] = (uint8_t)n;
                }
            }
            p->value[room] = best;
        }
    }
}

static void read_pattern(const program *p, int32_t kind, pattern *out)
{
    *out = (pattern){.kind = kind};
    int32_t room = p->kinds[kind].ticks;
    for (int32_t c = p->class_count - 1; c >= 0; c--) {
        int32_t n = p->choice[(size_t)c * (TICKS + 1) + (size_t)room];
        out->uses[c] = n;
        room -= n * (p->classes[c].ticks > 0 ? p->classes[c].ticks : 1);
    }
}

/* Rows: demand of each class (0 .. class_count - 1), supply of each kind. Columns: missing[c], then patterns. The
 * objective counts what stays unpacked: 0 means that everything fits. */
static lcp_lp *build_master(const program *p)
{
    lcp_lp *lp = lcp_lp_new();
    if (lp == NULL) {
        return NULL;
    }
    for (int32_t c = 0; c < p->class_count; c++) {
        int32_t row = lcp_lp_add_row(lp, "demand", (double)p->classes[c].count, LCP_LP_INFINITY);
        double weight = p->items[p->classes[c].first].seconds;
        int32_t column = lcp_lp_add_column(lp, "missing", 0, (double)p->classes[c].count, weight, false);
        lcp_lp_set(lp, row, column, 1);
    }
    for (int32_t k = 0; k < p->kind_count; k++) {
        lcp_lp_add_row(lp, "supply", -LCP_LP_INFINITY, p->kinds[k].count);
    }
    return lp;
}

static void add_pattern(program *p, lcp_lp *lp, const pattern *found)
{
    int32_t column = lcp_lp_add_column(lp, "pattern", 0, LCP_LP_INFINITY, 0, true);
    for (int32_t c = 0; c < p->class_count; c++) {
        if (found->uses[c] > 0) {
            lcp_lp_set(lp, c, column, found->uses[c]);
        }
    }
    lcp_lp_set(lp, p->class_count + found->kind, column, 1);
    p->patterns[p->pattern_count++] = *found;
}

/* Adds the best missing pattern of every kind; false if no pattern prices out. */
static bool add_priced(program *p, lcp_lp *lp, const double *duals)
{
    bool added = false;
    for (int32_t c = 0; c < p->class_count; c++) {
        p->dual[c] = duals[c];
    }
    price(p);
    for (int32_t k = 0; k < p->kind_count && p->pattern_count < MAX_PATTERNS; k++) {
        int32_t room = p->kinds[k].ticks;
        if (room < 0) {
            continue;
        }
        double reduced = p->value[room] + duals[p->class_count + k];
        if (reduced > 1e-7 * (1 + p->value[room])) {
            pattern found;
            read_pattern(p, k, &found);
            add_pattern(p, lp, &found);
            added = true;
        }
    }
    return added;
}

/* Column generation: *missing = least unpacked seconds of the relaxation, exact if *converged. */
static lcp_status generate(program *p, lcp_lp *lp, double *missing, bool *converged, lcp_error *err)
{
    lcp_lp_session *session = lcp_lp_session_new(lp);
    lcp_status status = session != NULL ? LCP_OK : lcp_fail(err, LCP_NOMEM, "", "cannot hold a program");
    const lcp_lp_limits limits = {.want_duals = true};
    *converged = false;
    while (status == LCP_OK && !*converged && p->pattern_count < MAX_PATTERNS) {
        lcp_lp_solution solution;
        status = lcp_lp_session_solve(&solution, session, &limits, err);
        if (status != LCP_OK) {
            break;
        }
        p->lp_solves++;
        if (solution.outcome != LCP_LP_OPTIMAL) {
            lcp_lp_solution_dispose(&solution);
            break;
        }
        *missing = solution.objective;
        *converged = !add_priced(p, lp, solution.duals);
        lcp_lp_solution_dispose(&solution);
    }
    lcp_lp_session_free(session);
    return status;
}

/* Hands the items of every class to the bins as the patterns say; what is left over stays at -1. */
static void assign(const program *p, const double *uses, int32_t *bin_of, int32_t bin_count)
{
    int64_t next[MAX_CLASSES];
    for (int32_t c = 0; c < p->class_count; c++) {
        next[c] = p->classes[c].first;
    }
    for (int64_t i = 0; i < p->item_count; i++) {
        bin_of[i] = -1;
    }
    int32_t bin[2] = {0, 0};
    for (int32_t k = 0; k < p->kind_count; k++) {
        bin[0] = 0;
        for (int32_t t = 0; t < p->pattern_count; t++) {
            int32_t times = p->patterns[t].kind == k ? (int32_t)uses[t] : 0;
            for (; times > 0; times--) {
                while (bin[0] < bin_count && p->kind_of[bin[0]] != k) {
                    bin[0]++;
                }
                if (bin[0] == bin_count) {
                    return;
                }
                for (int32_t c = 0; c < p->class_count; c++) {
                    int64_t end = p->classes[c].first + p->classes[c].count;
                    for (int32_t n = 0; n < p->patterns[t].uses[c] && next[c] < end; n++) {
                        bin_of[next[c]++] = bin[0];
                    }
                }
                bin[0]++;
            }
        }
    }
}

/* Fills the bins from bin_of, puts leftovers into the emptiest; returns the fullest bin, infinity if tokens forbid. */
static double settle(const program *p, int32_t *bin_of, lcp_bin *bins, const lcp_bin *empty, int32_t bin_count,
                     int64_t max_tokens)
{
    memcpy(bins, empty, (size_t)bin_count * sizeof *bins);
    for (int64_t i = 0; i < p->item_count; i++) {
        if (bin_of[i] >= 0) {
            bins[bin_of[i]].seconds += p->items[i].seconds;
            bins[bin_of[i]].tokens += p->items[i].tokens;
        }
    }
    double fullest = 0;
    for (int64_t i = 0; i < p->item_count; i++) {
        int32_t best = 0;
        for (int32_t b = 1; bin_of[i] < 0 && b < bin_count; b++) {
            best = bins[b].seconds < bins[best].seconds ? b : best;
        }
        if (bin_of[i] < 0) {
            bin_of[i] = best;
            bins[best].seconds += p->items[i].seconds;
            bins[best].tokens += p->items[i].tokens;
        }
    }
    for (int32_t b = 0; b < bin_count; b++) {
        bool over = max_tokens > 0 && bins[b].tokens > max_tokens;
        fullest = over ? HUGE_VAL : fmax(fullest, bins[b].seconds);
    }
    return fullest;
}

/* One capacity: *possible tells whether the relaxation packs everything; a better packing replaces the answer. */
typedef struct answer {
    int32_t *bin_of, *trial_bin_of;
    lcp_bin *bins, *trial_bins;
    const lcp_bin *empty;
    int32_t bin_count;
    int64_t max_tokens;
    double fullest;
} answer;

static lcp_status try_capacity(program *p, answer *a, double capacity, bool *possible, lcp_error *err)
{
    *possible = true;
    set_capacity(p, capacity);
    lcp_lp *lp = build_master(p);
    lcp_lp_solution solution = {0};
    double missing = 0;
    bool converged = false;
    lcp_status status =
        lp != NULL ? generate(p, lp, &missing, &converged, err) : lcp_fail(err, LCP_NOMEM, "", "cannot hold a program");
    if (status == LCP_OK) {
        *possible = !(converged && missing > 1e-6 * capacity);
    }
    if (status == LCP_OK && *possible) {
        const lcp_lp_limits limits = {.integer = true, .gap_ratio = 1e-3, .max_nodes = 40};
        status = lcp_lp_solve(&solution, lp, &limits, err);
        p->mip_nodes += solution.nodes;
    }
    if (status == LCP_OK && solution.values != NULL) {
        assign(p, solution.values + p->class_count, a->trial_bin_of, a->bin_count);
        double fullest = settle(p, a->trial_bin_of, a->trial_bins, a->empty, a->bin_count, a->max_tokens);
        if (fullest < a->fullest) {
            a->fullest = fullest;
            memcpy(a->bin_of, a->trial_bin_of, (size_t)p->item_count * sizeof *a->bin_of);
            memcpy(a->bins, a->trial_bins, (size_t)a->bin_count * sizeof *a->bins);
        }
    }
    lcp_lp_solution_dispose(&solution);
    lcp_lp_free(lp);
    return status;
}

static double area_bound(const lcp_bin *empty, int32_t bin_count, const lcp_item *items, int64_t item_count)
{
    double total = 0;
    double least = 0;
    for (int32_t b = 0; b < bin_count; b++) {
        total += empty[b].seconds;
        least = fmax(least, empty[b].seconds);
    }
    for (int64_t i = 0; i < item_count; i++) {
        total += items[i].seconds;
    }
    return fmax(least, fmax(total / bin_count, item_count > 0 ? items[0].seconds : 0));
}

lcp_status lcp_pack_patterns(lcp_patterns_result *out, int32_t *bin_of, lcp_bin *bins, const lcp_bin *empty_bins,
                             int32_t bin_count, const lcp_item *items, int64_t item_count, int64_t max_tokens,
                             lcp_error *err)
{
    *out = (lcp_patterns_result){0};
    answer a = {.bin_of = bin_of, .bins = bins, .empty = empty_bins, .bin_count = bin_count, .max_tokens = max_tokens};
    for (int32_t b = 0; b < bin_count; b++) {
        a.fullest = fmax(a.fullest, bins[b].seconds);
    }
    program p = {.items = items, .item_count = item_count};
    a.trial_bin_of = malloc(((size_t)item_count + 1) * sizeof *a.trial_bin_of);
    a.trial_bins = malloc((size_t)bin_count * sizeof *a.trial_bins);
    lcp_status status = a.trial_bin_of != NULL && a.trial_bins != NULL
                            ? program_build(&p, empty_bins, bin_count, err)
                            : lcp_fail(err, LCP_NOMEM, "", "cannot pack into %d chunks", bin_count);
    double low = area_bound(empty_bins, bin_count, items, item_count);
    for (int32_t step = 0; status == LCP_OK && step < CAPACITY_STEPS && a.fullest > low * 1.002; step++) {
        double capacity = step == 0 ? low * 1.001 : (low + a.fullest) / 2;
        bool possible = true;
        status = try_capacity(&p, &a, capacity, &possible, err);
        if (status == LCP_OK && !possible) {
            low = capacity;
        } else if (a.fullest > capacity * 1.001) {
            break; /* the relaxation packs it, whole patterns do not: this close is what the program gives */
        }
    }
    out->lp_solves = p.lp_solves;
    out->mip_nodes = p.mip_nodes;
    free(a.trial_bin_of);
    free(a.trial_bins);
    program_dispose(&p);
    return status;
}
