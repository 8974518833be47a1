/* Every schedule of the table: what it must do for any input. */
#include "support.h"

#include "schedule_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 5;

static int32_t pick(int32_t lo, int32_t hi)
{
    uint64_t z = (random_state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return lo + (int32_t)((z ^ (z >> 31)) % (uint64_t)(hi - lo + 1));
}

static void fill_randomly(schedule_case *c)
{
    for (int32_t i = 0; i < c->cells; i++) {
        c->forward[i] = 0.01 * pick(1, 200);
        c->input_grad[i] = 0.01 * pick(1, 200);
        c->weight_grad[i] = 0.01 * pick(0, 200);
        c->backward[i] = c->input_grad[i] + c->weight_grad[i];
        c->recompute[i] = 0.01 * pick(0, 100);
        c->offload[i] = 0.01 * pick(0, 100);
        c->reduce[i] = 0.01 * pick(0, 50);
        c->hop[i] = 0.001 * pick(0, 100);
        c->kept[i] = pick(2, 9);
        c->held[i] = pick(1, 2);
    }
}

/* Each pass once, on the rank that holds its stage; a backward pass whole or in two parts. */
static void check_coverage(const schedule_case *c, const char *name)
{
    const lcp_schedule *s = &c->schedule;
    size_t cells = (size_t)s->stage_count * (size_t)s->chunk_count;
    int32_t(*count)[LCP_OP_KIND_COUNT] = calloc(cells, sizeof *count);
    for (int32_t r = 0; r < s->rank_count; r++) {
        for (int32_t i = 0; i < s->op_count[r]; i++) {
            const lcp_op *op = &s->ops[r][i];
            assert_int_equal(lcp_schedule_rank(s, op->stage, op->chunk), r);
            count[(size_t)op->stage * (size_t)s->chunk_count + (size_t)op->chunk][op->kind]++;
        }
    }
    for (size_t i = 0; i < cells; i++) {
        bool shard = (int32_t)i >= (s->stage_count - s->head_shards) * s->chunk_count;
        const int32_t *n = count[i];
        bool whole = n[LCP_OP_BACKWARD] == 1 && n[LCP_OP_INPUT_GRAD] == 0 && n[LCP_OP_WEIGHT_GRAD] == 0;
        bool split = n[LCP_OP_BACKWARD] == 0 && n[LCP_OP_INPUT_GRAD] == 1 && n[LCP_OP_WEIGHT_GRAD] == 1;
        bool head = shard && n[LCP_OP_BACKWARD] == 0 && n[LCP_OP_INPUT_GRAD] == 0 && n[LCP_OP_WEIGHT_GRAD] == 1;
        if (n[LCP_OP_FORWARD] != 1 || !(whole || split || head) || n[LCP_OP_OFFLOAD] != n[LCP_OP_RELOAD] ||
            n[LCP_OP_RECOMPUTE] != (c->input.recompute_ahead && !head)) {
            fail_msg("%s: cell %zu", name, i);
        }
    }
    free(count);
}

/* Obvious and slow: earliest times by repeated passes over all edges, each edge written out from its definition. */
typedef struct slow_times {
    double *end[LCP_OP_KIND_COUNT]; /* [stage][chunk] */
} slow_times;

static double seconds_of(const schedule_case *c, lcp_op_kind kind, size_t cell)
{
    const double *of[] = {c->forward, c->backward, c->input_grad, c->weight_grad, c->recompute, c->offload, c->offload};
    return of[kind][cell];
}

static double slow_start(const schedule_case *c, const slow_times *t, const lcp_op *op, int32_t rank)
{
    const lcp_schedule *s = &c->schedule;
    size_t chunks = (size_t)s->chunk_count;
    size_t cell = (size_t)op->stage * chunks + (size_t)op->chunk;
    int32_t body = s->stage_count - s->head_shards;
    bool backward = op->kind == LCP_OP_BACKWARD || op->kind == LCP_OP_INPUT_GRAD;
    double start = 0;
    if (op->kind == LCP_OP_FORWARD && op->stage > 0) {
        int32_t from = op->stage < body ? op->stage - 1 : body - 1;
        bool far = lcp_schedule_rank(s, from, op->chunk) != rank;
        start = t->end[LCP_OP_FORWARD][(size_t)from * chunks + (size_t)op->chunk] + (far ? c->hop[op->chunk] : 0);
    }
    if (op->kind != LCP_OP_FORWARD && (op->kind != LCP_OP_WEIGHT_GRAD || op->stage >= body)) {
        start = fmax(start, t->end[LCP_OP_FORWARD][cell]);
    }
    if (backward && op->stage + 1 < body) {
        bool far = lcp_schedule_rank(s, op->stage + 1, op->chunk) != rank;
        start = fmax(start, t->end[LCP_OP_BACKWARD][cell + chunks] + (far ? c->hop[op->chunk] : 0));
    }
    if (backward) {
        start = fmax(start, fmax(t->end[LCP_OP_RECOMPUTE][cell], t->end[LCP_OP_RELOAD][cell]));
        int32_t next = c->links[op->chunk].next_slice;
        start = next >= 0 ? fmax(start, t->end[LCP_OP_BACKWARD][(size_t)op->stage * chunks + (size_t)next]) : start;
    }
    start = op->kind == LCP_OP_RELOAD ? fmax(start, t->end[LCP_OP_OFFLOAD][cell]) : start;
    bool after_backward = op->kind == LCP_OP_WEIGHT_GRAD && op->stage < body;
    return after_backward ? fmax(start, t->end[LCP_OP_BACKWARD][cell]) : start;
}

static double slow_makespan(const schedule_case *c)
{
    const lcp_schedule *s = &c->schedule;
    slow_times t;
    double last = 0;
    for (int k = 0; k < LCP_OP_KIND_COUNT; k++) {
        t.end[k] = calloc((size_t)s->stage_count * (size_t)s->chunk_count, sizeof *t.end[k]);
    }
    for (bool moved = true; moved;) {
        moved = false;
        for (int32_t r = 0; r < s->rank_count; r++) {
            double clock = 0;
            double queue[2] = {0, 0};
            for (int32_t i = 0; i < s->op_count[r]; i++) {
                const lcp_op *op = &s->ops[r][i];
                size_t cell = (size_t)op->stage * (size_t)s->chunk_count + (size_t)op->chunk;
                bool transfer = op->kind == LCP_OP_OFFLOAD || op->kind == LCP_OP_RELOAD;
                double *busy = transfer ? &queue[op->kind == LCP_OP_RELOAD] : &clock;
                double end = fmax(fmax(clock, *busy), slow_start(c, &t, op, r)) + seconds_of(c, op->kind, cell);
                *busy = end;
                double *known = &t.end[op->kind == LCP_OP_INPUT_GRAD ? LCP_OP_BACKWARD : op->kind][cell];
                moved = moved || end > *known + 1e-12;
                *known = fmax(*known, end);
                last = transfer ? last : fmax(last, end);
            }
        }
    }
    for (int k = 0; k < LCP_OP_KIND_COUNT; k++) {
        free(t.end[k]);
    }
    return last;
}

static bool has_pairs(const lcp_schedule *s)
{
    for (int32_t i = 0; i < s->op_count[0]; i++) {
        if (s->ops[0][i].fused) {
            return true;
        }
    }
    return false;
}

static bool supported(schedule_case *c, const lcp_schedule_kind *kind)
{
    return kind->unsupported(&c->input) == NULL;
}

/* All that holds whatever the durations: coverage, order that runs, replay equal to the slow one, memory given back. */
static void check_any(schedule_case *c, const lcp_schedule_kind *kind)
{
    case_run(c, kind->name);
    check_coverage(c, kind->name);
    assert_true(c->replay.makespan_seconds >= case_largest_busy(c) - 1e-9);
    assert_true(c->replay.span_seconds <= c->replay.makespan_seconds + 1e-9);
    bool plain = c->schedule.head_shards == 0 && !has_pairs(&c->schedule);
    if (plain) {
        assert_close(c->replay.makespan_seconds, slow_makespan(c), 1e-9);
    }
    for (int32_t r = 0; r < c->ranks; r++) {
        assert_true(c->peaks[r].peak_bytes >= 2 || c->schedule.op_count[r] == 0);
    }
}

static void every_schedule_on_random_pipelines(void **state)
{
    (void)state;
    int32_t ran[64] = {0};
    for (int32_t trial = 0; trial < 60; trial++) {
        int32_t slices[10];
        int32_t sequences = pick(1, 10);
        bool sliced = pick(0, 1) != 0;
        int32_t ranks = pick(1, 5);
        for (int32_t i = 0; i < sequences; i++) {
            slices[i] = sliced ? pick(1, 4) : 1;
        }
        for (size_t k = 0; k < lcp_schedule_kind_count(); k++) {
            schedule_case c;
            case_build(&c, ranks, pick(0, 4), slices, sequences);
            fill_randomly(&c);
            c.input.recompute_ahead = pick(0, 3) == 0;
            c.input.effort = pick(0, 3);
            if (supported(&c, lcp_schedule_kind_at(k))) {
                check_any(&c, lcp_schedule_kind_at(k));
                ran[k]++;
            }
            case_dispose(&c);
        }
    }
    for (size_t k = 0; k < lcp_schedule_kind_count(); k++) {
        if (ran[k] == 0) {
            fail_msg("%s never ran", lcp_schedule_kind_at(k)->name);
        }
    }
}

/* A schedule that is refused says so, and why; one that is not, runs. */
static void refusals_have_reasons(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int32_t ranks, stages_a_rank, chunks, slices;
        const char *word;
    } cases[] = {
        {"1f1b", 2, 1, 2, 2, "elastic-1f1b"},
        {"1f1b", 2, 2, 2, 1, "one stage a rank"},
        {"interleaved", 4, 1, 8, 1, "two or more"},
        {"interleaved", 4, 2, 3, 1, "as many chunks"},
        {"zb-v", 4, 3, 8, 1, "two virtual"},
        {"v-half", 4, 2, 4, 2, "whole sequences"},
        {"dualpipe", 3, 1, 8, 1, "even number of pipeline ranks"},
        {"dualpipe", 4, 1, 9, 1, "even number of chunks"},
        {"dualpipe", 4, 1, 6, 1, "two chunks"},
        {"dualpipe-v", 4, 2, 6, 1, "two chunks"},
        {"chimera", 3, 1, 6, 1, "even number"},
        {"hanayo", 4, 3, 6, 1, "even number"},
        {"offload-half", 4, 2, 2, 1, "as many chunks"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        schedule_case c;
        int32_t slices[9];
        for (int32_t k = 0; k < 9; k++) {
            slices[k] = cases[i].slices;
        }
        case_build(&c, cases[i].ranks, cases[i].stages_a_rank, slices, cases[i].chunks);
        lcp_error err = {0};
        lcp_schedule schedule;
        assert_int_equal(lcp_schedule_generate(&schedule, cases[i].name, &c.input, &err), LCP_INFEASIBLE);
        if (strstr(err.text, cases[i].word) == NULL) {
            fail_msg("%s: %s", cases[i].name, err.text);
        }
        case_dispose(&c);
    }
    schedule_case c;
    const int32_t uneven[] = {2, 3};
    lcp_schedule schedule;
    case_build(&c, 2, 1, uneven, 2);
    assert_int_equal(lcp_schedule_generate(&schedule, "sliced-1f1b", &c.input, NULL), LCP_INFEASIBLE);
    assert_int_equal(lcp_schedule_generate(&schedule, "no-such", &c.input, NULL), LCP_USAGE);
    case_dispose(&c);
}

/* The list schedule keeps to any limit that holds one sequence, and is not slower for more memory than for less by
 * much; a limit below that is refused. */
static void list_keeps_to_its_limit(void **state)
{
    (void)state;
    for (int32_t trial = 0; trial < 40; trial++) {
        schedule_case c;
        int32_t slices[8];
        int32_t sequences = pick(2, 8);
        for (int32_t i = 0; i < sequences; i++) {
            slices[i] = pick(1, 3);
        }
        int32_t stages_a_rank = pick(1, 3);
        case_build(&c, pick(1, 4), stages_a_rank, slices, sequences);
        fill_randomly(&c);
        int64_t most_alone = 0;
        for (int32_t r = 0; r < c.ranks; r++) {
            for (int32_t first = 0; first < c.chunks; first++) {
                int64_t alone = 0;
                for (int32_t k = first; k >= 0 && c.links[first].previous_slice < 0; k = c.links[k].next_slice) {
                    for (int32_t v = 0; v < stages_a_rank; v++) {
                        alone += c.kept[(v * c.ranks + r) * c.chunks + k];
                    }
                }
                most_alone = alone > most_alone ? alone : most_alone;
            }
        }
        c.input.limit_bytes = c.limit;
        c.input.effort = 2;
        for (int64_t more = 0; more < 40; more += 10) {
            for (int32_t r = 0; r < c.ranks; r++) {
                c.limit[r] = most_alone + more;
            }
            case_run(&c, "list");
            check_coverage(&c, "list");
            assert_true(case_largest_peak(&c) <= most_alone + more);
        }
        lcp_schedule schedule;
        for (int32_t r = 0; r < c.ranks; r++) {
            c.limit[r] = 1;
        }
        assert_int_equal(lcp_schedule_generate(&schedule, "list", &c.input, NULL), LCP_INFEASIBLE);
        case_dispose(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_on_random_pipelines),
        cmocka_unit_test(refusals_have_reasons),
        cmocka_unit_test(list_keeps_to_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
