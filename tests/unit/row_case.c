#include "row_case.h"

#include "table_case.h"

#include <stdlib.h>
#include <string.h>

static const char possible[] =
    "model=small;layers=4;hidden=1024;heads=16;vocab=50304;seq_len=2048;gbs=16;mbs=2;gpus=8;gpu_type=A100-SXM-80;"
    "gpus_per_node=8;tp=2;cp=1;pp=2;dp=2;recompute=none;precision=bf16;iter_time_s=1.5;peak_mem_gb=20;status=ok";

/* Value of a column in "a=1;b=2", NULL if it is not there. */
static const char *value_in(const char *list, const char *column, size_t *length)
{
    size_t name = strlen(column);
    while (*list != '\0') {
        size_t entry = strcspn(list, ";");
        if (strncmp(list, column, name) == 0 && list[name] == '=') {
            *length = entry - name - 1;
            return list + name + 1;
        }
        list += entry + (list[entry] == ';' ? 1 : 0);
    }
    return NULL;
}

char *row_text(const char *changes)
{
    size_t size = 8192;
    char *text = malloc(size);
    assert_non_null(text);
    size_t used = 0;
    for (int32_t c = 0; c < LCP_COLUMN_COUNT; c++) {
        used += (size_t)snprintf(text + used, size - used, "%s%s", c > 0 ? "," : "", lcp_row_columns[c]);
    }
    for (int32_t c = 0; c < LCP_COLUMN_COUNT; c++) {
        size_t length = 0;
        const char *value = value_in(changes, lcp_row_columns[c], &length);
        value = value == NULL ? value_in(possible, lcp_row_columns[c], &length) : value;
        used += (size_t)snprintf(text + used, size - used, "%c\"%.*s\"", c > 0 ? ',' : '\n', (int)length,
                                 value == NULL ? "" : value);
    }
    assert_true(used + 2 < size);
    memcpy(text + used, "\n", 2);
    return text;
}

lcp_row row_of(const char *changes, const lcp_profile *profile)
{
    lcp_profile_set set = {profile, profile != NULL ? 1 : 0, profile != NULL};
    lcp_csv csv;
    lcp_row row;
    lcp_error err = {0};
    char *text = row_text(changes);
    if (lcp_csv_read(&csv, table_of("row", text), &err) != LCP_OK) {
        fail_msg("%s: %s", err.where, err.text);
    }
    table_remove();
    free(text);
    assert_int_equal(csv.row_count, 1);
    lcp_row_map map = lcp_row_map_of(&csv);
    lcp_row_read(&row, &csv, &map, 0, &set);
    lcp_csv_dispose(&csv);
    return row;
}
