#include "support.h"

#include "chunking/chunking.h"
#include "cost_fixture.h"
#include "program_maker.h"
#include "search/legality.h"
#include "solver/lp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 100000

/* A batch, a layout and what is asked. */
typedef struct chunking_case {
    cost_fixture f;
    lcp_workload workload;
    lcp_chunking_input input;
} chunking_case;

static chunking_case *new_case(const int64_t *lengths, int64_t count, lcp_layout layout, int32_t chunks_per_rank)
{
    chunking_case *c = calloc(1, sizeof *c);
    assert_non_null(c);
    fixture_llama(&c->f);
    fixture_a100_cluster(&c->f, 64);
    c->f.layout = layout;
    fixture_prepare(&c->f);
    c->workload.sequence_count = count;
    c->workload.lengths_tokens = malloc((size_t)count * sizeof *lengths);
    assert_non_null(c->workload.lengths_tokens);
    for (int64_t i = 0; i < count; i++) {
        c->workload.lengths_tokens[i] = lengths[i];
        c->workload.total_tokens += lengths[i];
        c->workload.max_length_tokens =
            lengths[i] > c->workload.max_length_tokens ? lengths[i] : c->workload.max_length_tokens;
    }
    c->input = (lcp_chunking_input){.cost = &c->f.cost,
                                    .workload = &c->workload,
                                    .chunks_per_rank = chunks_per_rank,
                                    .slicing = true,
                                    .min_slice_tokens = 1024,
                                    .slice_alignment_tokens = lcp_slice_alignment(&layout),
                                    .columns_generated = true};
    return c;
}

static void free_case(chunking_case *c)
{
    free(c->workload.lengths_tokens);
    free(c);
}

static lcp_chunking solve(const chunking_case *c)
{
    lcp_chunking out;
    lcp_error err = {0};
    lcp_status status = lcp_chunking_solve(&out, &c->input, &err);
    if (status != LCP_OK) {
        fail_msg("%s: %s", err.where, err.text);
    }
    return out;
}

/* Marginal seconds of a chunk over all stages. */
static double chunk_seconds(const chunking_case *c, const lcp_chunk *chunk)
{
    const lcp_cost *cost = &c->f.cost;
    return fixture_chunk_seconds(cost, chunk) + 2 * cost->layout.pp * lcp_cost_pass_overhead_seconds(cost) -
           lcp_cost_chunk_fixed_seconds(cost);
}

static bool is_sliced(const lcp_segment *segment)
{
    return segment->offset_tokens > 0 || segment->has_successor;
}

/* One segment against where its sequence stands: next[s] tokens are covered, by rank owner[s]. */
static void check_segment(const chunking_case *c, const lcp_segment *segment, int32_t dp, int64_t *next, int32_t *owner)
{
    int64_t s = segment->sequence;
    assert_true(s >= 0 && s < c->workload.sequence_count);
    int64_t length = c->workload.lengths_tokens[s];
    int64_t end = segment->offset_tokens + segment->length_tokens;
    assert_true(segment->length_tokens >= 1);
    assert_int_equal(segment->offset_tokens, next[s]);
    assert_int_equal(segment->has_successor, end < length);
    assert_true(end <= length);
    assert_int_equal(segment->offset_tokens % c->input.slice_alignment_tokens, 0);
    if (is_sliced(segment)) {
        assert_true(c->input.slicing);
        /* a tail shares its chunk with whole sequences and may be shorter, if aligned cuts allow */
        int64_t least = segment->has_successor ? c->input.min_slice_tokens : c->input.slice_alignment_tokens;
        assert_true(segment->length_tokens >= least);
    }
    assert_true(next[s] == 0 || owner[s] == dp);
    next[s] = end;
    owner[s] = dp;
}

/* Slices of a sequence stand in chunks one after another; sliced sequences before packs, the longest first. */
static void check_order(const chunking_case *c, const lcp_chunk *chunk, const lcp_chunk *before)
{
    int32_t sliced = 0;
    for (int32_t i = 0; i < chunk->segment_count; i++) {
        sliced += is_sliced(&chunk->segments[i]);
    }
    assert_true(sliced <= 1);
    assert_true(sliced == 0 || is_sliced(&chunk->segments[0]));
    const lcp_segment *slice = sliced == 1 ? &chunk->segments[0] : NULL;
    const lcp_segment *last = before != NULL && is_sliced(&before->segments[0]) ? &before->segments[0] : NULL;
    if (slice == NULL) {
        assert_true(last == NULL || !last->has_successor);
    } else if (slice->offset_tokens > 0) {
        assert_non_null(last);
        assert_int_equal(last->sequence, slice->sequence);
    } else if (before != NULL) {
        int64_t shorter = c->workload.lengths_tokens[slice->sequence];
        assert_true(last == NULL || c->workload.lengths_tokens[last->sequence] >= shorter);
    }
    assert_true(slice == NULL || !slice->has_successor || chunk->segment_count == 1);
}

static int64_t tokens_of(const lcp_chunk *chunk)
{
    int64_t tokens = 0;
    for (int32_t i = 0; i < chunk->segment_count; i++) {
        tokens += chunk->segments[i].length_tokens;
    }
    return tokens;
}

/* Every token once, every rule of the contract. */
static void check(const chunking_case *c, const lcp_chunking *out)
{
    size_t count = (size_t)c->workload.sequence_count;
    int64_t *next = calloc(count, sizeof *next);
    int32_t *owner = calloc(count, sizeof *owner);
    assert_true(next != NULL && owner != NULL);
    assert_int_equal(out->rank_first[0], 0);
    assert_int_equal(out->rank_first[c->f.layout.dp], out->chunk_count);
    for (int32_t d = 0; d < c->f.layout.dp; d++) {
        for (int32_t k = out->rank_first[d]; k < out->rank_first[d + 1]; k++) {
            const lcp_chunk *chunk = &out->chunks[k];
            assert_int_equal(chunk->dp, d);
            assert_true(chunk->segment_count >= 1);
            for (int32_t i = 0; i < chunk->segment_count; i++) {
                check_segment(c, &chunk->segments[i], d, next, owner);
            }
            check_order(c, chunk, k > out->rank_first[d] ? chunk - 1 : NULL);
            assert_true(c->input.max_chunk_tokens == 0 || tokens_of(chunk) <= c->input.max_chunk_tokens);
        }
    }
    for (size_t s = 0; s < count; s++) {
        assert_int_equal(next[s], c->workload.lengths_tokens[s]);
    }
    free(next);
    free(owner);
}

/* Most are short, a few are very long: length 512 / u^1.1. */
static int64_t long_tailed(random_source *random, int64_t longest)
{
    double u = ((double)pick(random, 0, 999999) + 0.5) / 1e6;
    double length = 512 * pow(u, -1.1);
    return length > (double)longest ? longest : (int64_t)length;
}

static void every_token_once_and_in_order(void **state)
{
    (void)state;
    static const struct {
        int32_t dp, pp, tp, ulysses, ring;
    } layouts[] = {{1, 4, 1, 1, 1}, {2, 4, 2, 1, 1}, {4, 8, 1, 2, 1}, {2, 2, 1, 1, 4}, {8, 2, 2, 2, 2}};
    static const int32_t budgets[] = {1, 3, 8, 17, 64};
    random_source random = {.state = 3};
    for (int i = 0; i < 150; i++) {
        size_t l = (size_t)i % (sizeof layouts / sizeof layouts[0]);
        int64_t lengths[200];
        int64_t count = pick(&random, layouts[l].dp, 200);
        bool alike = pick(&random, 0, 2) == 0;
        for (int64_t s = 0; s < count; s++) {
            lengths[s] = alike ? 4096 * pick(&random, 1, 3) : long_tailed(&random, 65536);
        }
        lcp_layout layout =
            fixture_layout(layouts[l].dp, layouts[l].pp, layouts[l].tp, layouts[l].ulysses, layouts[l].ring);
        chunking_case *c = new_case(lengths, count, layout, budgets[pick(&random, 0, 4)]);
        c->input.slicing = pick(&random, 0, 3) > 0;
        c->input.max_chunk_tokens = c->input.slicing ? 0 : c->workload.max_length_tokens + 3000;
        lcp_chunking out = solve(c);
        check(c, &out);
        lcp_chunking_dispose(&out);
        free_case(c);
    }
}

/* What chunks of one rank differ by. */
static double spread(const chunking_case *c, const lcp_chunking *out, int32_t dp)
{
    double least = HUGE_VAL;
    double most = 0;
    for (int32_t k = out->rank_first[dp]; k < out->rank_first[dp + 1]; k++) {
        double seconds = chunk_seconds(c, &out->chunks[k]);
        least = fmin(least, seconds);
        most = fmax(most, seconds);
    }
    return most / least - 1;
}

static void one_long_sequence_is_cut_at_equal_time(void **state)
{
    (void)state;
    static const int64_t lengths[] = {262144};
    for (int32_t budget = 2; budget <= 64; budget *= 2) {
        chunking_case *c = new_case(lengths, 1, fixture_layout(1, 8, 2, 1, 1), budget);
        lcp_chunking out = solve(c);
        check(c, &out);
        assert_int_equal(out.chunk_count, budget);
        /* cuts are rounded; the prefix grows, so the slices shrink */
        int64_t unit = c->input.slice_alignment_tokens;
        const lcp_segment *last = &out.segments[budget - 1];
        assert_true(spread(c, &out, 0) < 0.01 + 1.5 * (double)unit / (double)last->length_tokens);
        for (int32_t k = 1; k < budget; k++) {
            assert_true(out.segments[k].length_tokens <= out.segments[k - 1].length_tokens + unit);
        }
        assert_true(last->length_tokens < out.segments[0].length_tokens);
        lcp_chunking_dispose(&out);
        free_case(c);
    }
}

static void a_long_tailed_batch_gives_equal_chunks(void **state)
{
    (void)state;
    int64_t lengths[512];
    random_source random = {.state = 9};
    for (int64_t s = 0; s < 512; s++) {
        lengths[s] = long_tailed(&random, 131072);
    }
    for (int32_t dp = 1; dp <= 4; dp *= 2) {
        for (int32_t total = 16; total <= 64; total *= 2) {
            chunking_case *c = new_case(lengths, 512, fixture_layout(dp, 8, 2, 1, 1), total / dp);
            lcp_chunking out = solve(c);
            check(c, &out);
            assert_int_equal(out.chunk_count, total);
            for (int32_t d = 0; d < dp; d++) {
                assert_int_equal(out.rank_first[d + 1], (d + 1) * total / dp);
                assert_true(spread(c, &out, d) < 0.05);
            }
            lcp_chunking_dispose(&out);
            free_case(c);
        }
    }
}

/* Lowest fullest chunk over all ways to put whole sequences into `bins`. */
static double best_packing(const double *seconds, int32_t count, double *bins, int32_t bin_count, int32_t at,
                           double best)
{
    double fullest = 0;
    for (int32_t b = 0; b < bin_count; b++) {
        fullest = fmax(fullest, bins[b]);
    }
    if (fullest >= best || at == count) {
        return fmin(fullest, best);
    }
    for (int32_t b = 0; b < bin_count; b++) {
        bins[b] += seconds[at];
        best = best_packing(seconds, count, bins, bin_count, at + 1, best);
        bins[b] -= seconds[at];
    }
    return best;
}

static void whole_sequences_pack_as_well_as_any(void **state)
{
    (void)state;
    random_source random = {.state = 17};
    for (int i = 0; i < 60; i++) {
        int64_t lengths[8];
        int64_t count = pick(&random, 4, 8);
        for (int64_t s = 0; s < count; s++) {
            lengths[s] = pick(&random, 2, 12) * 1000;
        }
        int32_t budget = (int32_t)pick(&random, 2, 3);
        chunking_case *c = new_case(lengths, count, fixture_layout(1, 4, 1, 1, 1), budget);
        c->input.slicing = false;
        lcp_chunking out = solve(c);
        check(c, &out);
        assert_true(out.chunk_count <= budget);
        double seconds[8];
        for (int64_t s = 0; s < count; s++) {
            seconds[s] = lcp_cost_segment_seconds(&c->f.cost, 0, lengths[s]);
        }
        double bins[3] = {0};
        double best = best_packing(seconds, (int32_t)count, bins, budget, 0, HUGE_VAL);
        double fullest = 0;
        for (int32_t k = 0; k < out.chunk_count; k++) {
            double sum = 0;
            for (int32_t j = 0; j < out.chunks[k].segment_count; j++) {
                sum += seconds[out.chunks[k].segments[j].sequence];
            }
            fullest = fmax(fullest, sum);
        }
        if (fullest > best * 1.02) {
            fail_msg("case %d: fullest %.6g s, best %.6g s", i, fullest, best);
        }
        lcp_chunking_dispose(&out);
        free_case(c);
    }
}

/* Largest marginal time of a chunk. */
static double fullest_chunk(const chunking_case *c)
{
    lcp_chunking out = solve(c);
    double fullest = 0;
    for (int32_t k = 0; k < out.chunk_count; k++) {
        fullest = fmax(fullest, chunk_seconds(c, &out.chunks[k]));
    }
    lcp_chunking_dispose(&out);
    return fullest;
}

/* Three to four of ten lengths a chunk, where the longest-first rule and swaps get stuck. */
static void patterns_never_harm_and_sometimes_help(void **state)
{
    (void)state;
    random_source random = {.state = 41};
    int better = 0;
    for (int i = 0; i < 40; i++) {
        int64_t lengths[60];
        for (int64_t s = 0; s < 60; s++) {
            lengths[s] = 1000 * pick(&random, 3, 12);
        }
        chunking_case *c = new_case(lengths, 60, fixture_layout(1, 8, 1, 1, 1), (int32_t)pick(&random, 15, 22));
        c->input.slicing = false;
        double with = fullest_chunk(c);
        c->input.columns_generated = false;
        double without = fullest_chunk(c);
        assert_true(with <= without * (1 + 1e-9));
        better += with < without * 0.999;
        free_case(c);
    }
    assert_true(better >= 4);
}

static bool same(const lcp_chunking *a, const lcp_chunking *b, const int64_t *renamed)
{
    bool equal = a->chunk_count == b->chunk_count;
    for (int32_t k = 0; equal && k < a->chunk_count; k++) {
        equal = a->chunks[k].segment_count == b->chunks[k].segment_count && a->chunks[k].dp == b->chunks[k].dp;
        for (int32_t i = 0; equal && i < a->chunks[k].segment_count; i++) {
            const lcp_segment *x = &a->chunks[k].segments[i];
            const lcp_segment *y = &b->chunks[k].segments[i];
            equal = x->offset_tokens == y->offset_tokens && x->length_tokens == y->length_tokens &&
                    (renamed != NULL || x->sequence == y->sequence);
        }
    }
    return equal;
}

static void the_answer_repeats_and_numbers_do_not_matter(void **state)
{
    (void)state;
    random_source random = {.state = 29};
    int64_t lengths[300];
    for (int64_t s = 0; s < 300; s++) {
        lengths[s] = long_tailed(&random, 65536);
    }
    chunking_case *c = new_case(lengths, 300, fixture_layout(4, 4, 1, 1, 1), 12);
    lcp_chunking first = solve(c);
    lcp_chunking again = solve(c);
    assert_true(same(&first, &again, NULL));
    for (int64_t s = 299; s > 0; s--) {
        int64_t other = pick(&random, 0, s);
        int64_t swap = c->workload.lengths_tokens[s];
        c->workload.lengths_tokens[s] = c->workload.lengths_tokens[other];
        c->workload.lengths_tokens[other] = swap;
    }
    lcp_chunking shuffled = solve(c);
    assert_true(same(&first, &shuffled, lengths));
    lcp_chunking_dispose(&first);
    lcp_chunking_dispose(&again);
    lcp_chunking_dispose(&shuffled);
    free_case(c);
}

static void too_long_to_fit_is_infeasible(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1000, 9000};
    chunking_case *c = new_case(lengths, 2, fixture_layout(1, 2, 1, 1, 1), 4);
    c->input.slicing = false;
    c->input.max_chunk_tokens = 8000;
    lcp_chunking out;
    lcp_error err = {0};
    assert_int_equal(lcp_chunking_solve(&out, &c->input, &err), LCP_INFEASIBLE);
    assert_null(out.chunks);
    assert_non_null(strstr(err.text, "9000"));
    free_case(c);
}

/* 100,000 sequences with 20 lengths, and with 100,000: linear but for sorting. */
static void large_batches(void **state)
{
    (void)state;
    int64_t *lengths = malloc(MOST * sizeof *lengths);
    assert_non_null(lengths);
    for (int distinct = 0; distinct < 2; distinct++) {
        for (int64_t s = 0; s < MOST; s++) {
            lengths[s] = distinct == 1 ? 500 + s : 1000 * (1 + s * 7 % 20);
        }
        chunking_case *c = new_case(lengths, MOST, fixture_layout(16, 4, 1, 1, 1), 64);
        lcp_chunking out = solve(c);
        check(c, &out);
        assert_int_equal(out.chunk_count, 16 * 64);
        lcp_chunking_dispose(&out);
        free_case(c);
    }
    free(lengths);
}

static int free_environment(void **state)
{
    (void)state;
    lcp_solver_thread_end();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_token_once_and_in_order),
        cmocka_unit_test(one_long_sequence_is_cut_at_equal_time),
        cmocka_unit_test(a_long_tailed_batch_gives_equal_chunks),
        cmocka_unit_test(whole_sequences_pack_as_well_as_any),
        cmocka_unit_test(patterns_never_harm_and_sometimes_help),
        cmocka_unit_test(the_answer_repeats_and_numbers_do_not_matter),
        cmocka_unit_test(too_long_to_fit_is_infeasible),
        cmocka_unit_test(large_batches),
    };
    return cmocka_run_group_tests(tests, NULL, free_environment);
}
