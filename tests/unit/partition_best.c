/* Trying every choice of recompute of one pipeline under a split. */
#include "partition_case.h"
#include "support.h"

#include <math.h>

#define MAX_OPTIONS 256
#define MAX_VECTORS 4096

/* Every way to give the layers of a cell policies that no other way beats in both time and memory. */
typedef struct options {
    int32_t count;
    case_cell cells[MAX_OPTIONS];
} options;

static void add_option(options *out, case_cell cell)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < out->count; i++) {
        const case_cell *old = &out->cells[i];
        if (old->recompute_seconds <= cell.recompute_seconds && old->kept_bytes <= cell.kept_bytes) {
            return;
        }
    }
    for (int32_t i = 0; i < out->count; i++) {
        const case_cell *old = &out->cells[i];
        if (old->recompute_seconds < cell.recompute_seconds || old->kept_bytes < cell.kept_bytes) {
            out->cells[kept++] = *old;
        }
    }
    assert_true(kept < MAX_OPTIONS);
    out->cells[kept] = cell;
    out->count = kept + 1;
}

typedef struct chooser {
    const partition_case *c;
    int32_t pipeline, chunk;
    const int32_t *layers;
    int32_t counts[CASE_CLASSES * LCP_RECOMPUTE_COUNT];
    options *out;
} chooser;

/* slot = class * policies + policy; the layers left over keep everything, which must be allowed. */
static void choose(chooser *x, int32_t slot, int32_t left)
{
    if (slot == x->c->input.cost->model->class_count * LCP_RECOMPUTE_COUNT) {
        add_option(x->out, partition_case_cell(x->c, x->pipeline, x->chunk, x->layers, x->counts));
        return;
    }
    int32_t policy = slot % LCP_RECOMPUTE_COUNT;
    int32_t most = policy == 0 ? x->layers[slot / LCP_RECOMPUTE_COUNT] : left;
    bool usable = policy > 0 && (x->c->input.policy_mask >> policy & 1U) != 0;
    for (int32_t n = 0; n <= (usable ? most : 0); n++) {
        x->counts[slot] = n;
        choose(x, slot + 1, most - n);
    }
}

/* Vectors of cells, one a chunk, that fit on a stage and that no other fitting vector beats in every chunk. */
typedef struct vectors {
    int32_t count;
    case_cell cells[MAX_VECTORS][CASE_CHUNKS];
} vectors;

static bool no_slower(const case_cell *a, const case_cell *b, int32_t chunks)
{
    for (int32_t k = 0; k < chunks; k++) {
        if (a[k].recompute_seconds > b[k].recompute_seconds) {
            return false;
        }
    }
    return true;
}

static void add_vector(vectors *out, const case_cell *cells, int32_t chunks)
{
    for (int32_t i = 0; i < out->count; i++) {
        if (no_slower(out->cells[i], cells, chunks)) {
            return;
        }
    }
    assert_true(out->count < MAX_VECTORS);
    for (int32_t k = 0; k < chunks; k++) {
        out->cells[out->count][k] = cells[k];
    }
    out->count++;
}

typedef struct fitting {
    const partition_case *c;
    int32_t pipeline, stage;
    const int32_t *layers;
    const options *choices; /* [chunks] */
    vectors *out;
} fitting;

static void combine(fitting *x, int32_t chunk, case_cell *cells)
{
    int32_t chunks = x->c->tables[x->pipeline].chunk_count;
    if (chunk == chunks) {
        int64_t peak = partition_case_peak(x->c, x->pipeline, x->stage, x->layers, cells);
        if (peak <= x->c->input.cost->capacity_bytes) {
            add_vector(x->out, cells, chunks);
        }
        return;
    }
    for (int32_t i = 0; i < x->choices[chunk].count; i++) {
        cells[chunk] = x->choices[chunk].cells[i];
        combine(x, chunk + 1, cells);
    }
}

static void find_vectors(vectors *out, const partition_case *c, int32_t pipeline, const int32_t *stage_layers,
                         int32_t stage)
{
    static options choices[CASE_CHUNKS];
    int32_t layers[CASE_CLASSES];
    case_cell cells[CASE_CHUNKS];
    partition_case_class_layers(c, stage_layers, stage, layers);
    for (int32_t k = 0; k < c->tables[pipeline].chunk_count; k++) {
        chooser x = {.c = c, .pipeline = pipeline, .chunk = k, .layers = layers, .out = &choices[k]};
        choices[k].count = 0;
        choose(&x, 0, 0);
    }
    out->count = 0;
    fitting x = {c, pipeline, stage, layers, choices, out};
    combine(&x, 0, cells);
}

static double search(const partition_case *c, int32_t pipeline, const int32_t *stage_layers, const vectors *fit,
                     int32_t stage, case_cell *cells, double below)
{
    double seconds = partition_case_seconds(c, pipeline, stage_layers, cells);
    if (seconds >= below) {
        return HUGE_VAL; /* later stages without recompute: it cannot get faster */
    }
    if (stage == c->input.cost->layout.pp) {
        return seconds;
    }
    double best = HUGE_VAL;
    for (int32_t i = 0; i < fit[stage].count; i++) {
        for (int32_t k = 0; k < CASE_CHUNKS; k++) {
            cells[stage * CASE_CHUNKS + k] = fit[stage].cells[i][k];
        }
        best = fmin(best, search(c, pipeline, stage_layers, fit, stage + 1, cells, fmin(best, below)));
    }
    for (int32_t k = 0; k < CASE_CHUNKS; k++) {
        cells[stage * CASE_CHUNKS + k] = (case_cell){0};
    }
    return best;
}

double partition_case_best(const partition_case *c, int32_t pipeline, const int32_t *stage_layers, double below)
{
    static vectors fit[CASE_STAGES];
    case_cell cells[CASE_STAGES * CASE_CHUNKS] = {0};
    for (int32_t s = 0; s < c->input.cost->layout.pp; s++) {
        find_vectors(&fit[s], c, pipeline, stage_layers, s);
        if (fit[s].count == 0) {
            return HUGE_VAL;
        }
    }
    return search(c, pipeline, stage_layers, fit, 0, cells, below);
}
