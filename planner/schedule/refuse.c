/* Reasons that several schedules share. */
#include "schedule/schedule_internal.h"

const char *lcp_schedule_refuse_empty(const lcp_schedule_input *input)
{
    return input->chunk_count < 1 ? "a pipeline needs at least one chunk" : NULL;
}

const char *lcp_schedule_refuse_virtual(const lcp_schedule_input *input)
{
    return input->virtual_count > 1 ? "this schedule has one stage a rank: use interleaved, breadth-first, a V or list"
                                    : lcp_schedule_refuse_empty(input);
}

const char *lcp_schedule_refuse_slices(const lcp_schedule_input *input)
{
    return lcp_schedule_is_sliced(input) ? "this schedule runs whole sequences only: use elastic-1f1b for slices"
                                         : NULL;
}
