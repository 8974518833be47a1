/* Status codes, the error object, and the rules every public function follows.
 *
 * A function that can fail returns lcp_status and takes `lcp_error *err` last; err may be NULL. The first error
 * wins: once set, an error is not overwritten, so the innermost cause reaches the user. The library never prints,
 * never exits and keeps no global state. Inputs are borrowed for the call. A struct filled through an out parameter
 * is the caller's; if it owns memory there is `lcp_<type>_dispose`, which frees the inside and accepts a zeroed
 * struct. After a failure the out parameter is zeroed or safe to dispose. */
#ifndef LCP_STATUS_H
#define LCP_STATUS_H

#include <stddef.h>

/* X(name, exit status of the command line, text) */
#define LCP_STATUS_MAP(X)                                                                                              \
    X(OK, 0, "success")                                                                                                \
    X(FALSE, 1, "the thing checked does not hold")                                                                     \
    X(USAGE, 2, "bad command line")                                                                                    \
    X(INPUT, 3, "invalid input")                                                                                       \
    X(INFEASIBLE, 4, "no feasible plan")                                                                               \
    X(LIMIT, 5, "a limit stopped the search before any plan")                                                          \
    X(IO, 6, "cannot read or write")                                                                                   \
    X(NOMEM, 7, "out of memory")                                                                                       \
    X(INTERNAL, 8, "internal error, please report")

typedef enum lcp_status {
#define LCP_STATUS_ENUM(name, exit_status, text) LCP_##name = exit_status,
    LCP_STATUS_MAP(LCP_STATUS_ENUM)
#undef LCP_STATUS_ENUM
} lcp_status;

/* `where` is "file" or "file: json.path[3].key"; `text` says what was found and what is allowed. */
typedef struct lcp_error {
    lcp_status status; /* LCP_OK while nothing went wrong */
    char where[512];
    char text[1024];
} lcp_error;

#if defined(__GNUC__)
#define LCP_PRINTF(format_index, first_argument) __attribute__((format(printf, format_index, first_argument)))
#define LCP_MUST_USE __attribute__((warn_unused_result))
#else
#define LCP_PRINTF(format_index, first_argument)
#define LCP_MUST_USE
#endif

/* Sets *err unless it is NULL or already set; always returns `status`, so `return lcp_fail(...)` reads well.
 * `where` may be "" or NULL when no place is known. */
lcp_status lcp_fail(lcp_error *err, lcp_status status, const char *where, const char *format, ...) LCP_PRINTF(4, 5);

/* The short text of LCP_STATUS_MAP; "unknown status" for anything else. */
const char *lcp_status_text(lcp_status status);

#endif
