#include "cli/commands.h"
#include "cli/problem_options.h"

#include "input/input.h"
#include "lcp/stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_LINE_BYTES (64 * 1024 * 1024)

typedef enum line_end { LINE_READ, LINE_TOO_LONG, LINE_NONE } line_end;

/* The next line of standard input without its newline, into a buffer that is kept from line to line. A line that is too
 * long is read to its end and left out. */
static line_end next_line(char **buffer, size_t *capacity, size_t *size, bool *full)
{
    bool too_long = false;
    int c = getchar();
    *size = 0;
    if (c == EOF) {
        return LINE_NONE;
    }
    for (; c != EOF && c != '\n'; c = getchar()) {
        if (*size == *capacity && !too_long) {
            size_t more = 2 * *capacity + 4096;
            char *grown = more <= LONGEST_LINE_BYTES ? realloc(*buffer, more) : NULL;
            too_long = grown == NULL;
            *full = grown == NULL && more <= LONGEST_LINE_BYTES;
            *buffer = grown != NULL ? grown : *buffer;
            *capacity = grown != NULL ? more : *capacity;
        }
        if (!too_long) {
            (*buffer)[(*size)++] = (char)c;
        }
    }
    return too_long ? LINE_TOO_LONG : LINE_READ;
}

static lcp_status print_line(const char *line, lcp_error *err)
{
    if (fputs(line, stdout) == EOF || putchar('\n') == EOF || fflush(stdout) != 0) {
        return lcp_fail(err, LCP_IO, "standard output", "cannot write: %s", strerror(errno));
    }
    return LCP_OK;
}

static lcp_status answer(lcp_stream *stream, const char *line, size_t size, lcp_error *err)
{
    char *text = NULL;
    lcp_status status = lcp_stream_answer(&text, stream, line, size);
    status = status == LCP_OK ? print_line(text, err) : lcp_fail(err, status, "", "no memory for an answer");
    lcp_stream_free(text);
    return status;
}

static lcp_status answer_all(lcp_stream *stream, lcp_error *err)
{
    char *buffer = NULL;
    size_t capacity = 0;
    size_t size = 0;
    bool full = false;
    lcp_status status = LCP_OK;
    for (;;) {
        line_end end = next_line(&buffer, &capacity, &size, &full);
        if (end == LINE_NONE || status != LCP_OK || full) {
            break;
        }
        status = end == LINE_READ ? answer(stream, buffer, size, err)
                                  : print_line("{\"error\":\"line: longer than 64 MiB\"}", err);
    }
    free(buffer);
    if (status == LCP_OK && ferror(stdin)) {
        status = lcp_fail(err, LCP_IO, "standard input", "cannot read: %s", strerror(errno));
    }
    return full ? lcp_fail(err, LCP_NOMEM, "standard input", "no memory for a line") : status;
}

static lcp_status run(const lcp_arguments *arguments, lcp_error *err)
{
    char *text = NULL;
    size_t size = 0;
    lcp_stream *stream = NULL;
    if (strcmp(arguments->operands[0], "-") == 0) {
        return lcp_fail(err, LCP_USAGE, "", "the plan cannot come from standard input, which carries the batches");
    }
    lcp_status status = lcp_read_bytes(&text, &size, arguments->operands[0], err);
    if (status == LCP_OK) {
        status = lcp_stream_open(&stream, text, size, err);
    }
    free(text);
    if (status == LCP_OK) {
        status = answer_all(stream, err);
    }
    lcp_stream_close(stream);
    return status;
}

static const lcp_option_group *const groups[] = {&lcp_common_options, NULL};

const lcp_command lcp_command_stream = {
    "stream", "PLAN", "plans one global batch of lengths per input line under the mesh and layers of a plan", 1, 1,
    groups,   run};
