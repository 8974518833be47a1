/* The commands as a table. A new one is a file cmd_<name>.c and a row. */
#ifndef LCP_COMMANDS_H
#define LCP_COMMANDS_H

#include "cli/options.h"

typedef struct lcp_command {
    const char *name;
    const char *operands; /* as usage shows them */
    const char *help;     /* one line */
    int32_t least_operands, most_operands;
    const lcp_option_group *const *groups; /* NULL-terminated */
    lcp_status (*run)(const lcp_arguments *arguments, lcp_error *err);
} lcp_command;

extern const lcp_command lcp_command_calibrate;
extern const lcp_command lcp_command_check;
extern const lcp_command lcp_command_estimate;
extern const lcp_command lcp_command_export;
extern const lcp_command lcp_command_list;
extern const lcp_command lcp_command_plan;
extern const lcp_command lcp_command_show;
extern const lcp_command lcp_command_simulate;
extern const lcp_command lcp_command_stream;
extern const lcp_command lcp_command_verify;

size_t lcp_command_count(void);
const lcp_command *lcp_command_at(size_t index); /* index < count */

/* What `words` (without the program's name) ask for, start to end. Prints to standard output. */
lcp_status lcp_run_command_line(int word_count, char **words, lcp_error *err);

#endif
