#include "cli/options.h"

#include <string.h>

#define MAX_OPTIONS 128 /* of one command */

typedef struct parser {
    lcp_arguments *out;
    const lcp_option_group *const *groups;
    int word_count, at; /* next word */
    char **words;
    bool seen[MAX_OPTIONS];
    lcp_error *err;
} parser;

/* The i-th option over all groups, NULL past the end. */
static const lcp_option *option_at(const lcp_option_group *const *groups, size_t index)
{
    for (size_t g = 0; groups[g] != NULL; g++) {
        if (index < groups[g]->count) {
            return &groups[g]->options[index];
        }
        index -= groups[g]->count;
    }
    return NULL;
}

static const char *name_at(size_t index, const void *context)
{
    const lcp_option *option = option_at(context, index);
    return option != NULL ? option->name : NULL;
}

static lcp_status unknown_option(const parser *p, const char *word, size_t name_length)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(name_length < sizeof name ? name_length : sizeof name - 1), word + 2);
    const char *near = word[1] == '-' ? lcp_nearest(name, name_at, p->groups) : NULL;
    if (near != NULL) {
        return lcp_fail(p->err, LCP_USAGE, "", "unknown option '%s'; the nearest is --%s", word, near);
    }
    return lcp_fail(p->err, LCP_USAGE, "", "unknown option '%s'", word);
}

/* The value that was attached, or else the next word. */
static lcp_status take_value(parser *p, const lcp_option *option, const char *attached, const char **value)
{
    *value = attached;
    if (option->argument == NULL && attached != NULL) {
        return lcp_fail(p->err, LCP_USAGE, "", "--%s takes no value, found '%s'", option->name, attached);
    }
    if (option->argument != NULL && attached == NULL) {
        if (p->at >= p->word_count) {
            return lcp_fail(p->err, LCP_USAGE, "", "--%s needs a value: %s", option->name, option->argument);
        }
        *value = p->words[p->at++];
    }
    return LCP_OK;
}

static lcp_status store(parser *p, size_t index, const char *attached)
{
    const lcp_option *option = option_at(p->groups, index);
    const char *value = NULL;
    if (index < MAX_OPTIONS && p->seen[index]) {
        return lcp_fail(p->err, LCP_USAGE, "", "--%s is given twice", option->name);
    }
    lcp_status status = take_value(p, option, attached, &value);
    if (status != LCP_OK) {
        return status;
    }
    p->seen[index % MAX_OPTIONS] = true;
    return option->store((char *)p->out + option->offset, option, value, p->err);
}

static lcp_status parse_long(parser *p, const char *word)
{
    const char *equals = strchr(word, '=');
    size_t length = equals != NULL ? (size_t)(equals - word) - 2 : strlen(word) - 2;
    const lcp_option *option;
    for (size_t i = 0; (option = option_at(p->groups, i)) != NULL; i++) {
        if (strlen(option->name) == length && strncmp(option->name, word + 2, length) == 0) {
            return store(p, i, equals != NULL ? equals + 1 : NULL);
        }
    }
    return unknown_option(p, word, length);
}

static lcp_status parse_letter(parser *p, const char *word)
{
    const lcp_option *option;
    for (size_t i = 0; (option = option_at(p->groups, i)) != NULL; i++) {
        if (option->letter != 0 && option->letter == word[1]) {
            return store(p, i, word[2] != '\0' ? word + 2 : NULL);
        }
    }
    return unknown_option(p, word, 0);
}

static lcp_status take_operand(parser *p, const char *word)
{
    if (p->out->operand_count == LCP_MAX_OPERANDS) {
        return lcp_fail(p->err, LCP_USAGE, "", "too many operands at '%s'", word);
    }
    p->out->operands[p->out->operand_count++] = word;
    return LCP_OK;
}

lcp_status lcp_options_parse(lcp_arguments *out, const lcp_option_group *const *groups, int word_count, char **words,
                             lcp_error *err)
{
    parser p = {.out = out, .groups = groups, .word_count = word_count, .words = words, .err = err};
    bool options_ended = false;
    lcp_status status = LCP_OK;
    while (status == LCP_OK && p.at < word_count && !out->help) {
        const char *word = words[p.at++];
        if (options_ended || word[0] != '-' || word[1] == '\0') {
            status = take_operand(&p, word);
        } else if (strcmp(word, "--") == 0) {
            options_ended = true;
        } else {
            status = word[1] == '-' ? parse_long(&p, word) : parse_letter(&p, word);
        }
    }
    return status;
}

#define HELP_COLUMN 34

static void help_row(FILE *out, const lcp_option *option)
{
    char left[96];
    snprintf(left, sizeof left, "  %c%c%s--%s%s%s", option->letter != 0 ? '-' : ' ',
             option->letter != 0 ? option->letter : ' ', option->letter != 0 ? ", " : "  ", option->name,
             option->argument != NULL ? " " : "", option->argument != NULL ? option->argument : "");
    if (strlen(left) >= HELP_COLUMN) {
        fprintf(out, "%s\n%*s%s\n", left, HELP_COLUMN, "", option->help);
    } else {
        fprintf(out, "%-*s%s\n", HELP_COLUMN, left, option->help);
    }
}

void lcp_options_help(FILE *out, const lcp_option_group *const *groups)
{
    for (size_t g = 0; groups[g] != NULL; g++) {
        fprintf(out, "\n%s:\n", groups[g]->title);
        for (size_t i = 0; i < groups[g]->count; i++) {
            help_row(out, &groups[g]->options[i]);
        }
    }
}
