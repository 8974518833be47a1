#include "lcp/status.h"

#include <stdarg.h>
#include <stdio.h>

lcp_status lcp_fail(lcp_error *err, lcp_status status, const char *where, const char *format, ...)
{
    if (err == NULL || err->status != LCP_OK) {
        return status;
    }
    err->status = status;
    snprintf(err->where, sizeof err->where, "%s", where != NULL ? where : "");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->text, sizeof err->text, format, arguments);
    va_end(arguments);
    return status;
}

const char *lcp_status_text(lcp_status status)
{
    switch (status) {
#define LCP_STATUS_TEXT(name, exit_status, text)                                                                       \
    case LCP_##name:                                                                                                   \
        return text;
        LCP_STATUS_MAP(LCP_STATUS_TEXT)
#undef LCP_STATUS_TEXT
    }
    return "unknown status";
}
