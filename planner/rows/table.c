#include "table.h"

#include <stdlib.h>
#include <string.h>

void lcp_row_table_dispose(lcp_row_table *table)
{
    lcp_csv_dispose(&table->csv);
    free(table->results);
    *table = (lcp_row_table){0};
}

void lcp_row_predict(lcp_row_result *result)
{
    lcp_row *row = &result->row;
    lcp_estimate estimate;
    lcp_error err = {0};
    lcp_cluster cluster = lcp_row_bind(row);
    if (lcp_estimate_run(&estimate, &row->model, &cluster, &row->run, &err) != LCP_OK) {
        snprintf(row->skipped, sizeof row->skipped, "%.150s", err.text);
        return;
    }
    int32_t rank = row->last_rank_memory ? estimate.stage_count - 1 : estimate.fullest_stage;
    result->seconds = estimate.iteration_seconds;
    result->tokens_per_second_per_device = estimate.tokens_per_second_per_device;
    result->mfu_ratio = estimate.mfu_ratio;
    result->bytes = (double)estimate.memory[rank].total;
    result->fits = estimate.fits;
}

lcp_status lcp_row_table_read(lcp_row_table *out, const char *path, const lcp_profile_set *profiles, lcp_error *err)
{
    *out = (lcp_row_table){0};
    lcp_status status = lcp_csv_read(&out->csv, path, err);
    if (status != LCP_OK) {
        return status;
    }
    out->results = calloc(out->csv.row_count + 1, sizeof *out->results);
    if (out->results == NULL) {
        lcp_row_table_dispose(out);
        return lcp_fail(err, LCP_NOMEM, path, "no memory for the rows");
    }
    lcp_row_map map = lcp_row_map_of(&out->csv);
    for (size_t i = 0; i < out->csv.row_count; i++) {
        lcp_row_read(&out->results[i].row, &out->csv, &map, i, profiles);
        if (out->results[i].row.skipped[0] == '\0') {
            lcp_row_predict(&out->results[i]);
        }
    }
    return LCP_OK;
}
