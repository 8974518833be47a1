/* The options that describe a problem, and the problem they describe. */
#ifndef LCP_PROBLEM_OPTIONS_H
#define LCP_PROBLEM_OPTIONS_H

#include "cli/options.h"

extern const lcp_option_group lcp_common_options;   /* --help */
extern const lcp_option_group lcp_input_options;    /* --model, --cluster, --workload */
extern const lcp_option_group lcp_batch_options;    /* --sequence-length, --global-batch */
extern const lcp_option_group lcp_layout_options;   /* degrees, ZeRO, schedule, recompute */
extern const lcp_option_group lcp_training_options; /* precision, optimizer, loss, overlaps */
extern const lcp_option_group lcp_search_options;   /* gap, limits, threads */

/* Reads what the command line names; a missing input is a usage error. */
lcp_status lcp_problem_read(lcp_problem *out, const lcp_arguments *arguments, lcp_error *err);

#endif
