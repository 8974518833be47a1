/* Random small programs, the same for every run, and their optimum by trying every integer point. */
#ifndef LCP_TEST_PROGRAM_MAKER_H
#define LCP_TEST_PROGRAM_MAKER_H

#include "solver/lp.h"

typedef struct random_source {
    uint64_t state;
} random_source;
/* An integer of [lo, hi]. */
int64_t pick(random_source *random, int64_t lo, int64_t hi);

typedef enum program_kind {
    PROGRAM_KNAPSACK,
    PROGRAM_COVERING,
    PROGRAM_ASSIGNMENT,
    PROGRAM_RANGES, /* general integers, free rows, negative bounds; now and then infeasible */
    PROGRAM_KINDS
} program_kind;

/* All columns integer and bounded, at most a few thousand points. Costs are multiplied by `scale`. */
lcp_lp *make_program(program_kind kind, random_source *random, double scale);

/* Least cost over all integer points, HUGE_VAL if none is feasible. */
double best_by_trying(const lcp_lp *lp);

#endif
