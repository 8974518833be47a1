#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_BETWEEN_LINES 0.1

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void lcp_progress_start(lcp_progress_line *line, bool wanted)
{
    *line = (lcp_progress_line){.shown = wanted && isatty(STDERR_FILENO), .started_seconds = now_seconds()};
}

void lcp_progress_print(void *context, const lcp_progress *progress)
{
    lcp_progress_line *line = context;
    double now = now_seconds();
    if (!line->shown || now - line->printed_seconds < SECONDS_BETWEEN_LINES) {
        return;
    }
    line->printed_seconds = now;
    double elapsed = now - line->started_seconds;
    fprintf(stderr, "\r\033[K%" PRId64 " candidates solved (%.1f/s), %" PRId64 " left", progress->solved,
            elapsed > 0 ? (double)progress->solved / elapsed : 0, progress->candidates_left);
    if (progress->incumbent_seconds > 0) {
        fprintf(stderr, ", best %.4g s, bound %.4g s", progress->incumbent_seconds, progress->lower_bound_seconds);
    }
    fflush(stderr);
}

void lcp_progress_end(lcp_progress_line *line)
{
    if (line->shown && line->printed_seconds > 0) {
        fprintf(stderr, "\r\033[K");
    }
}
