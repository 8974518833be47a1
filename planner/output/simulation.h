/* What a simulated pipeline looks like: Chrome trace events, an SVG timeline, figures. */
#ifndef LCP_SIMULATION_OUTPUT_H
#define LCP_SIMULATION_OUTPUT_H

#include "simulate/simulate.h"

#include <jansson.h>
#include <stdio.h>

/* Trace-event JSON as Perfetto opens it: a process a rank; threads for passes, sends, receives and
 * transfers to and from host memory; a counter of memory. New reference; NULL = out of memory. */
json_t *lcp_trace_json(const lcp_simulated *simulated);

/* A self-contained SVG document in memory that the caller frees. */
lcp_status lcp_timeline_svg(char **out, size_t *size, const lcp_simulated *simulated, const char *schedule,
                            lcp_error *err);

/* Percentiles of perturbed makespans; runs = 0: there are none. */
typedef struct lcp_spread {
    int32_t runs;
    double mean_seconds, p5_seconds, p50_seconds, p95_seconds, p99_seconds, largest_seconds;
} lcp_spread;

/* For people, and the same as JSON. blocking, batched: NULL if such sends get to the end, else why not. */
typedef struct lcp_simulation_figures {
    const char *schedule;
    int32_t pipelines; /* of the plan */
    bool slowest;      /* this is the slowest of them */
    const char *blocking, *batched;
    lcp_spread spread;
} lcp_simulation_figures;
void lcp_show_simulation(FILE *out, const lcp_simulated *simulated, const lcp_simulation_figures *figures);
json_t *lcp_show_simulation_json(const lcp_simulated *simulated, const lcp_simulation_figures *figures);

/* Name of a pass for people, as "backward". */
const char *lcp_pass_word(lcp_op_kind kind);

#endif
