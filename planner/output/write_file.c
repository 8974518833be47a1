#define _POSIX_C_SOURCE 200809L

#include "plan_json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names tried before giving up on a directory full of left-over temporary files. */
#define MAX_TEMPORARY_NAMES 100

static lcp_status io_failure(const char *path, const char *what, lcp_error *err)
{
    return lcp_fail(err, LCP_IO, path, "cannot %s: %s", what, strerror(errno));
}

static bool write_all(int file, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(file, bytes, size);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
        }
    }
    return true;
}

/* Leaves standard output open for what the caller may print after it; write and fsync tell what close would. */
static lcp_status write_standard_output(const char *bytes, size_t size, lcp_error *err)
{
    if (fflush(stdout) != 0 || !write_all(STDOUT_FILENO, bytes, size)) {
        return io_failure("standard output", "write", err);
    }
    int copy = dup(STDOUT_FILENO);
    if (copy < 0 || close(copy) != 0) {
        return io_failure("standard output", "close", err);
    }
    return LCP_OK;
}

/* A new file beside `path`; *name is the caller's. */
static lcp_status open_temporary(int *file, char **name, const char *path, lcp_error *err)
{
    size_t size = strlen(path) + 32;
    *file = -1;
    *name = malloc(size);
    if (*name == NULL) {
        return lcp_fail(err, LCP_NOMEM, path, "no memory for a file name");
    }
    for (int i = 0; i < MAX_TEMPORARY_NAMES; i++) {
        snprintf(*name, size, "%s.%ld-%d.tmp", path, (long)getpid(), i);
        *file = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (*file >= 0) {
            return LCP_OK;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    return io_failure(path, "create a temporary file beside it", err);
}

/* Devices and pipes cannot be replaced by a rename: they are written in place. */
static bool is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static lcp_status write_special(const char *path, const char *bytes, size_t size, lcp_error *err)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) {
        return io_failure(path, "open", err);
    }
    bool written = write_all(file, bytes, size);
    lcp_status status = written ? LCP_OK : io_failure(path, "write", err);
    if (close(file) != 0 && status == LCP_OK) {
        status = io_failure(path, "close", err);
    }
    return status;
}

static lcp_status fill(int file, const char *path, const char *bytes, size_t size, lcp_error *err)
{
    lcp_status status = LCP_OK;
    if (!write_all(file, bytes, size) || fsync(file) != 0) {
        status = io_failure(path, "write", err);
    }
    if (close(file) != 0 && status == LCP_OK) {
        status = io_failure(path, "close", err);
    }
    return status;
}

lcp_status lcp_write_file(const char *path, const char *bytes, size_t size, lcp_error *err)
{
    if (path == NULL || strcmp(path, "-") == 0) {
        return write_standard_output(bytes, size, err);
    }
    if (is_special(path)) {
        return write_special(path, bytes, size, err);
    }
    int file = -1;
    char *name = NULL;
    lcp_status status = open_temporary(&file, &name, path, err);
    if (status == LCP_OK) {
        status = fill(file, path, bytes, size, err);
        if (status == LCP_OK && rename(name, path) != 0) {
            status = io_failure(path, "replace", err);
        }
        if (status != LCP_OK) {
            unlink(name);
        }
    }
    free(name);
    return status;
}
