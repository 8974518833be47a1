/* Trainers on the command line: NAME[@VERSION]. */
#ifndef LCP_TRAINER_OPTION_H
#define LCP_TRAINER_OPTION_H

#include "cli/options.h"

/* Into an lcp_target; an unknown name or version is answered with the nearest. */
lcp_status lcp_store_target(void *field, const lcp_option *option, const char *value, lcp_error *err);

/* Versions, the kind of file and the features of a row of the table, in one line. Kept until the next call. */
const char *lcp_trainer_summary(size_t index);

#endif
