/* Options as table rows: what they are called, what they take, how they are stored. Drives parsing and --help. */
#ifndef LCP_OPTIONS_H
#define LCP_OPTIONS_H

#include "cli/arguments.h"

#include <stdio.h>

typedef struct lcp_option {
    char letter;          /* short form, 0 = none */
    const char *name;     /* without the dashes */
    const char *argument; /* what follows, as help shows it; NULL = a switch */
    const char *help;
    /* Reads `value` (NULL for a switch) into the field. */
    lcp_status (*store)(void *field, const struct lcp_option *option, const char *value, lcp_error *err);
    size_t offset;              /* of the field in lcp_arguments */
    double low, high;           /* numbers: inclusive range */
    const char *const *choices; /* words: NULL-terminated, in the order of the enum */
} lcp_option;

typedef struct lcp_option_group {
    const char *title;
    const lcp_option *options;
    size_t count;
} lcp_option_group;

#define LCP_OPTION_GROUP(title, rows)                                                                                  \
    {                                                                                                                  \
        title, rows, sizeof(rows) / sizeof((rows)[0])                                                                  \
    }

/* The groups a command accepts, NULL-terminated; words are what follows the command's name. Stops at --help. Operands
 * are collected, their number is the caller's business. */
lcp_status lcp_options_parse(lcp_arguments *out, const lcp_option_group *const *groups, int word_count, char **words,
                             lcp_error *err);
void lcp_options_help(FILE *out, const lcp_option_group *const *groups);

/* ---- how values are stored ---- */
lcp_status lcp_store_on(void *field, const lcp_option *option, const char *value, lcp_error *err);    /* bool */
lcp_status lcp_store_off(void *field, const lcp_option *option, const char *value, lcp_error *err);   /* bool */
lcp_status lcp_store_text(void *field, const lcp_option *option, const char *value, lcp_error *err);  /* const char * */
lcp_status lcp_store_int32(void *field, const lcp_option *option, const char *value, lcp_error *err); /* int32_t */
lcp_status lcp_store_int64(void *field, const lcp_option *option, const char *value, lcp_error *err); /* int64_t */
lcp_status lcp_store_real(void *field, const lcp_option *option, const char *value, lcp_error *err);  /* double */
lcp_status lcp_store_choice(void *field, const lcp_option *option, const char *value, lcp_error *err); /* an enum */

/* An integer of at most 18 digits, K = 1024 and M = 1024 * 1024 may follow; the whole text must match. */
bool lcp_parse_integer(int64_t *out, const char *text);

/* The word of a list that begins with `word` or is nearest by edit distance, NULL if none is near. word_at returns NULL
 * past the end. */
const char *lcp_nearest(const char *word, const char *(*word_at)(size_t index, const void *context),
                        const void *context);

#endif
