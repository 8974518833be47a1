#include "output/plan_json.h"

#include "partition/partition.h"

#include <stdlib.h>

static lcp_status write_document(const char *path, json_t *document, lcp_error *err)
{
    char *text = NULL;
    size_t size = 0;
    lcp_status status = lcp_json_text(&text, &size, document, err);
    if (status == LCP_OK) {
        status = lcp_write_file(path, text, size, err);
    }
    free(text);
    return status;
}

static lcp_status write_with_times(const char *path, const lcp_plan *plan, const lcp_problem *problem, lcp_error *err)
{
    lcp_replay *times = calloc((size_t)plan->layout.dp, sizeof *times);
    if (times == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "no memory for the times of %d pipelines", plan->layout.dp);
    }
    lcp_status status = lcp_plan_replay(times, plan, problem, err);
    if (status == LCP_OK) {
        json_t *document = lcp_plan_to_json(plan, problem, times);
        status = write_document(path, document, err);
        json_decref(document);
    }
    for (int32_t d = 0; d < plan->layout.dp; d++) {
        lcp_replay_dispose(&times[d]);
    }
    free(times);
    return status;
}

lcp_status lcp_plan_write(const char *path, const lcp_plan *plan, const lcp_problem *problem, bool with_times,
                          lcp_error *err)
{
    if (with_times) {
        return write_with_times(path, plan, problem, err);
    }
    json_t *document = lcp_plan_to_json(plan, problem, NULL);
    lcp_status status = write_document(path, document, err);
    json_decref(document);
    return status;
}
