#include "schedule/schedule_internal.h"

#include <string.h>

static const lcp_schedule_kind *const kinds[] = {
    &lcp_schedule_gpipe,        &lcp_schedule_one_f_one_b,  &lcp_schedule_interleaved,  &lcp_schedule_breadth_first,
    &lcp_schedule_zb_h1,        &lcp_schedule_zb_h2,        &lcp_schedule_zb_v,         &lcp_schedule_v_half,
    &lcp_schedule_v_min,        &lcp_schedule_dualpipe,     &lcp_schedule_dualpipe_v,   &lcp_schedule_chimera,
    &lcp_schedule_hanayo,       &lcp_schedule_sliced_1f1b,  &lcp_schedule_elastic_1f1b, &lcp_schedule_vocab_1f1b,
    &lcp_schedule_offload_half, &lcp_schedule_offload_full, &lcp_schedule_list,
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
