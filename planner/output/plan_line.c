#include "output/plan_line.h"

#include "input/json_reader.h"
#include "output/plan_json.h"

#include <stdio.h>
#include <string.h>

#define REAL_DIGITS 17

lcp_status lcp_plan_from_text(lcp_plan *plan, lcp_problem *problem, const char *text, size_t size, lcp_error *err)
{
    json_t *root = NULL;
    *plan = (lcp_plan){0};
    *problem = (lcp_problem){0};
    lcp_status status = lcp_json_load_bytes(&root, text, size, "plan", err);
    if (status == LCP_OK) {
        status = lcp_plan_from_json(plan, problem, root, "plan", err);
    }
    json_decref(root);
    return status;
}

/* Takes the reference. */
static char *one_line(json_t *document)
{
    char *line = document != NULL ? json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS)) : NULL;
    json_decref(document);
    return line;
}

lcp_status lcp_plan_line(char **line, const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    *line = one_line(lcp_plan_batch_to_json(plan, problem));
    return *line != NULL ? LCP_OK : lcp_fail(err, LCP_NOMEM, "", "no memory for the plan of a batch");
}

lcp_status lcp_error_line(char **line, const lcp_error *err)
{
    char message[sizeof err->where + sizeof err->text + 4];
    snprintf(message, sizeof message, "%s%s%s", err->where, err->where[0] != '\0' ? ": " : "",
             err->text[0] != '\0' ? err->text : lcp_status_text(err->status));
    *line = one_line(json_pack("{s:o}", "error", json_stringn_nocheck(message, strlen(message))));
    return *line != NULL ? LCP_OK : LCP_NOMEM;
}
