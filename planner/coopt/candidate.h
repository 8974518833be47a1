/* A division of layers and a placement of stages, and what the best order for it costs. */
#ifndef LCP_COOPT_CANDIDATE_H
#define LCP_COOPT_CANDIDATE_H

#include "lcp/coopt.h"

typedef struct lcp_division {
    int32_t stage_count;
    int32_t *layers; /* [layer_count]: of a stage; stage_count of them are used */
    int32_t *rank;   /* [layer_count]: of a stage */
    double cost;     /* HUGE_VAL: does not fit */
} lcp_division;

lcp_status lcp_division_allocate(lcp_division *out, const lcp_coopt_input *input, lcp_error *err);
void lcp_division_dispose(lcp_division *division);
void lcp_division_copy(lcp_division *to, const lcp_division *from, const lcp_coopt_input *input);

/* Arrays for the tables of one division, reused. */
typedef struct lcp_coopt_tables {
    const lcp_coopt_input *input;
    double *seconds; /* 4 tables [stage][chunk]: F, B, I, W */
    int64_t *bytes;  /* 2 tables [stage][chunk]: kept, held */
    double *hop;     /* [chunk] */
    int64_t *limits; /* [rank] */
    int32_t *ranks;  /* [stage], padded to a multiple of ranks */
    lcp_chunk_link *links;
    lcp_durations durations;
    lcp_memory_input memory;
    lcp_schedule_input schedule_input;
} lcp_coopt_tables;
lcp_status lcp_coopt_tables_allocate(lcp_coopt_tables *t, const lcp_coopt_input *input, lcp_error *err);
void lcp_coopt_tables_dispose(lcp_coopt_tables *t);

/* Load of the busiest rank: no order is faster. */
double lcp_division_load(const lcp_division *division, const lcp_coopt_input *input);

/* The best of `effort` rules of list scheduling for a division, or with effort 0 the schedule `list`; division->cost is
 * its makespan. schedule: NULL, or what gets it.
 * Only failures of memory and internal ones are reported; what does not fit costs HUGE_VAL. */
lcp_status lcp_division_price(lcp_division *division, lcp_schedule *schedule, lcp_coopt_tables *t, int32_t effort,
                              lcp_error *err);

/* Layers cut so that the sum of squared stage times is least, stages dealt to ranks in turn. */
lcp_status lcp_division_start(lcp_division *out, const lcp_coopt_input *input, int32_t stage_count, lcp_error *err);

#endif
