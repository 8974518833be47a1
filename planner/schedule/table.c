#include "schedule/schedule_internal.h"

#include <string.h>

static const lcp_schedule_kind *const kinds[] = {
    &lcp_schedule_one_f_one_b,
    &lcp_schedule_elastic_1f1b,
};

size_t lcp_schedule_kind_count(void)
{
    return sizeof kinds / sizeof kinds[0];
}

const lcp_schedule_kind *lcp_schedule_kind_at(size_t index)
{
    return kinds[index];
}

const lcp_schedule_kind *lcp_schedule_find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i]->name, name) == 0) {
            return kinds[i];
        }
    }
    return NULL;
}
