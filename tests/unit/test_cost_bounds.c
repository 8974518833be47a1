#include "support.h"

#include "cost_fixture.h"

#include <string.h>

/* Deterministic, and independent of the library's rand(). */
static uint64_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static int64_t draw(uint64_t *state, int64_t low, int64_t high)
{
    return low + (int64_t)(next(state) % (uint64_t)(high - low + 1));
}

typedef struct layout_row {
    const char *name;
    int32_t tp, ulysses, ring, ep;
    int32_t zero;
    int64_t window;
    bool gather, latent, tied_kv;
} layout_row;

static const layout_row layout_rows[] = {
    {.name = "one device", .tp = 1, .ulysses = 1, .ring = 1, .ep = 1},
    {.name = "tp", .tp = 4, .ulysses = 1, .ring = 1, .ep = 1},
    {.name = "ulysses", .tp = 1, .ulysses = 8, .ring = 1, .ep = 1},
    {.name = "ring", .tp = 1, .ulysses = 1, .ring = 4, .ep = 1},
    {.name = "gathered ring", .tp = 2, .ulysses = 1, .ring = 4, .ep = 1, .gather = true},
    {.name = "all three", .tp = 2, .ulysses = 2, .ring = 2, .ep = 1},
    {.name = "window", .tp = 2, .ulysses = 1, .ring = 2, .ep = 1, .window = 1000},
    {.name = "zero 3", .tp = 1, .ulysses = 4, .ring = 1, .ep = 1, .zero = 3},
    {.name = "latent experts", .tp = 1, .ulysses = 2, .ring = 2, .ep = 4, .latent = true},
    {.name = "latent kept", .tp = 2, .ulysses = 1, .ring = 1, .ep = 2, .latent = true, .tied_kv = true},
};

static void build(cost_fixture *f, const layout_row *row)
{
    if (row->latent) {
        fixture_deepseek(f);
    } else {
        fixture_llama(f);
    }
    fixture_a100_cluster(f, 2);
    f->layout = fixture_layout(2, 1, row->tp, row->ulysses, row->ring);
    f->layout.ep = row->ep;
    f->layout.zero_stage = row->zero;
    f->layout.ring_method = row->gather ? LCP_RING_ALL_GATHER : LCP_RING_P2P;
    f->classes[0].attention.window_tokens = row->window;
    f->training.mla_keeps_expanded_kv = !row->tied_kv;
    fixture_prepare(f);
}

/* Two long sequences cut at random, their chunks shared with random short ones: the chunks' time is never less than
 * the bounds of the sequences and the fixed parts of the chunks. */
static void bound_holds_for_random_chunks(void **state)
{
    const layout_row *row = *state;
    cost_fixture f;
    build(&f, row);
    uint64_t seed = 7;
    for (int32_t trial = 0; trial < 200; trial++) {
        int64_t length = draw(&seed, 1, 200000);
        double bound = lcp_cost_sequence_lower_bound_seconds(&f.cost, length);
        double seconds = 0;
        for (int64_t offset = 0; offset < length;) {
            lcp_segment segments[4];
            int64_t slice = draw(&seed, 1, length - offset);
            bool last = offset + slice == length;
            segments[0] = (lcp_segment){.offset_tokens = offset, .length_tokens = slice, .has_successor = !last};
            int32_t count = (int32_t)draw(&seed, 1, 4);
            for (int32_t i = 1; i < count; i++) {
                int64_t shorter = draw(&seed, 1, 5000);
                segments[i] = (lcp_segment){.sequence = i, .length_tokens = shorter};
                bound += lcp_cost_sequence_lower_bound_seconds(&f.cost, shorter);
            }
            lcp_chunk chunk = {.segment_count = count, .segments = segments};
            seconds += fixture_chunk_seconds(&f.cost, &chunk) + 2 * lcp_cost_pass_overhead_seconds(&f.cost);
            bound += lcp_cost_chunk_fixed_seconds(&f.cost);
            offset += slice;
        }
        assert_true(bound <= seconds * (1 + 1e-12));
    }
}

/* One uncut sequence: only ring traffic that its attention does not hide separates bound and cost. */
static void bound_is_tight_for_one_uncut_sequence(void **state)
{
    const layout_row *row = *state;
    cost_fixture f;
    build(&f, row);
    lcp_segment segment;
    int64_t length = 131072;
    lcp_chunk chunk = fixture_chunk(&segment, 0, length, false);
    double seconds = fixture_chunk_seconds(&f.cost, &chunk) + 2 * lcp_cost_pass_overhead_seconds(&f.cost);
    double bound = lcp_cost_sequence_lower_bound_seconds(&f.cost, length) + lcp_cost_chunk_fixed_seconds(&f.cost);
    assert_true(bound <= seconds * (1 + 1e-12));
    assert_true(bound >= (row->window > 0 || row->gather || row->ring > 1 ? 0.6 : 0.995) * seconds);
}

static void additive_form_follows_the_layers(void **state)
{
    const layout_row *row = *state;
    cost_fixture f;
    build(&f, row);
    const int64_t offsets[] = {0, 32768, 98304};
    const int64_t lengths[] = {8192, 16384, 65536};
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 3; j++) {
            lcp_segment segment;
            lcp_chunk chunk = fixture_chunk(&segment, offsets[i], lengths[j], false);
            double seconds = fixture_chunk_seconds(&f.cost, &chunk) + 2 * lcp_cost_pass_overhead_seconds(&f.cost);
            double additive =
                lcp_cost_segment_seconds(&f.cost, offsets[i], lengths[j]) + lcp_cost_chunk_fixed_seconds(&f.cost);
            assert_close(additive, seconds, row->zero >= 3 || row->latent || row->ring > 1 ? 0.06 : 0.01);
        }
    }
}

#define ROWS (sizeof layout_rows / sizeof layout_rows[0])

int main(void)
{
    struct CMUnitTest tests[3 * ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        void *row = (void *)(uintptr_t)&layout_rows[i];
        tests[i] = (struct CMUnitTest){
            .name = layout_rows[i].name, .test_func = bound_holds_for_random_chunks, .initial_state = row};
        tests[ROWS + i] = (struct CMUnitTest){
            .name = layout_rows[i].name, .test_func = bound_is_tight_for_one_uncut_sequence, .initial_state = row};
        tests[2 * ROWS + i] = (struct CMUnitTest){
            .name = layout_rows[i].name, .test_func = additive_form_follows_the_layers, .initial_state = row};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
