#include "cli/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* A file opened later must not land on a closed standard stream: occupy it with something that cannot be used. */
static void hold_standard_streams(void)
{
    for (int file = 0; file <= 2; file++) {
        if (fcntl(file, F_GETFD) < 0 && errno == EBADF && open("/dev/null", file == 0 ? O_WRONLY : O_RDONLY) != file) {
            return;
        }
    }
}

/* Text of hostile files must not drive the terminal. */
static void print_error(const lcp_error *err)
{
    char line[sizeof err->where + sizeof err->text + 16];
    snprintf(line, sizeof line, "lcplan: %s%s%s", err->where, err->where[0] != '\0' ? ": " : "",
             err->text[0] != '\0' ? err->text : lcp_status_text(err->status));
    for (char *c = line; *c != '\0'; c++) {
        *c = (unsigned char)*c < ' ' || *c == 127 ? '?' : *c;
    }
    fprintf(stderr, "%s\n", line);
}

int main(int argc, char **argv)
{
    lcp_error err = {0};
    hold_standard_streams();
    lcp_status status = lcp_run_command_line(argc > 0 ? argc - 1 : 0, argv + 1, &err);
    errno = 0;
    bool written = !ferror(stdout) && fclose(stdout) == 0;
    if (!written && (status == LCP_OK || status == LCP_FALSE)) {
        status = lcp_fail(&err, LCP_IO, "standard output", "cannot write: %s",
                          errno != 0 ? strerror(errno) : "an earlier write failed");
    }
    if (status != LCP_OK) {
        err.status = status;
        print_error(&err);
    }
    return (int)status;
}
