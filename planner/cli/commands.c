#include "cli/commands.h"

#include "lcp/lcp.h"

#include <string.h>

static const lcp_command *const commands[] = {
    &lcp_command_plan,     &lcp_command_estimate, &lcp_command_calibrate, &lcp_command_show,   &lcp_command_verify,
    &lcp_command_simulate, &lcp_command_check,    &lcp_command_export,    &lcp_command_stream, &lcp_command_list,
};

size_t lcp_command_count(void)
{
    return sizeof commands / sizeof commands[0];
}

const lcp_command *lcp_command_at(size_t index)
{
    return commands[index];
}

static const char *command_name_at(size_t index, const void *context)
{
    (void)context;
    return index < lcp_command_count() ? commands[index]->name : NULL;
}

static void print_overview(void)
{
    printf("usage: lcplan COMMAND [OPTION...] [OPERAND...]\n"
           "       lcplan COMMAND --help | --help | --version\n\n"
           "Plans how to train a long-context model on a cluster.\n\nCommands:\n");
    for (size_t i = 0; i < lcp_command_count(); i++) {
        printf("  %-10s%s\n", commands[i]->name, commands[i]->help);
    }
    printf("\nExit status:\n");
#define PRINT_STATUS(name, exit_status, text) printf("  %d  %s\n", exit_status, text);
    LCP_STATUS_MAP(PRINT_STATUS)
#undef PRINT_STATUS
}

static void print_command_help(const lcp_command *command)
{
    printf("usage: lcplan %s [OPTION...]%s%s\n\n%s\n", command->name, command->operands[0] != '\0' ? " " : "",
           command->operands, command->help);
    lcp_options_help(stdout, command->groups);
}

static const lcp_command *find_command(const char *name)
{
    for (size_t i = 0; i < lcp_command_count(); i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static lcp_status unknown_command(const char *word, lcp_error *err)
{
    const char *near = lcp_nearest(word, command_name_at, NULL);
    return lcp_fail(err, LCP_USAGE, "", "unknown %s '%s'%s%s; see 'lcplan --help'",
                    word[0] == '-' ? "option" : "command", word, near != NULL ? ", the nearest is " : "",
                    near != NULL ? near : "");
}

static lcp_status check_operands(const lcp_command *command, const lcp_arguments *arguments, lcp_error *err)
{
    if (arguments->operand_count < command->least_operands) {
        return lcp_fail(err, LCP_USAGE, "", "%s is needed", command->operands);
    }
    if (arguments->operand_count > command->most_operands) {
        return lcp_fail(err, LCP_USAGE, "", "nothing more is expected at '%s'",
                        arguments->operands[command->most_operands]);
    }
    return LCP_OK;
}

/* Usage errors say where help is. */
static void point_to_help(const lcp_command *command, lcp_error *err)
{
    size_t used = strlen(err->text);
    if (err->status == LCP_USAGE) {
        snprintf(err->text + used, sizeof err->text - used, "; see 'lcplan %s --help'", command->name);
    }
}

static lcp_status run_command(const lcp_command *command, int word_count, char **words, lcp_error *err)
{
    lcp_arguments arguments = {.options = lcp_options_default(), .run = lcp_run_default()};
    arguments.run.layout.dp = 0;
    lcp_status status = lcp_options_parse(&arguments, command->groups, word_count, words, err);
    if (status == LCP_OK && arguments.help) {
        print_command_help(command);
        return LCP_OK;
    }
    if (status == LCP_OK) {
        status = check_operands(command, &arguments, err);
    }
    if (status == LCP_OK) {
        status = command->run(&arguments, err);
    }
    point_to_help(command, err);
    return status;
}

lcp_status lcp_run_command_line(int word_count, char **words, lcp_error *err)
{
    if (word_count == 0) {
        return lcp_fail(err, LCP_USAGE, "", "a command is needed; see 'lcplan --help'");
    }
    if (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0) {
        print_overview();
        return LCP_OK;
    }
    if (strcmp(words[0], "--version") == 0) {
        printf("lcplan %s\n", LCP_VERSION);
        return LCP_OK;
    }
    const lcp_command *command = find_command(words[0]);
    return command != NULL ? run_command(command, word_count - 1, words + 1, err) : unknown_command(words[0], err);
}
