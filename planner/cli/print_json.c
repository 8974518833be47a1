#include "cli/print_json.h"

#include "output/plan_json.h"

#include <stdio.h>
#include <stdlib.h>

lcp_status lcp_print_json(const json_t *document, lcp_error *err)
{
    char *text = NULL;
    size_t size = 0;
    if (document == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "no memory for the output");
    }
    lcp_status status = lcp_json_text(&text, &size, document, err);
    if (status == LCP_OK) {
        fwrite(text, 1, size, stdout); /* a failure sticks to the stream, which is checked at the end */
    }
    free(text);
    return status;
}
