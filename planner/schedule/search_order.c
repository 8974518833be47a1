/* The better of an order that is known and the best list schedule, both improved. */
#include "schedule/backfill.h"
#include "schedule/greedy.h"

/* Takes `other` for *out if it is faster; disposes of the slower one. */
static void keep_faster(lcp_schedule *out, lcp_schedule *other, const lcp_schedule_input *input)
{
    if (lcp_schedule_cost(other, input) < lcp_schedule_cost(out, input)) {
        lcp_schedule slower = *out;
        *out = *other;
        *other = slower;
    }
    lcp_schedule_dispose(other);
}

static lcp_status polish(lcp_schedule *schedule, const lcp_schedule_input *input, const int64_t *limit_bytes,
                         lcp_error *err)
{
    return input->effort == 1 ? LCP_OK : lcp_backfill_polish(schedule, input, limit_bytes, err);
}

lcp_status lcp_search_order(lcp_schedule *out, const lcp_schedule_input *input, bool split, const int64_t *limit_bytes,
                            bool known, lcp_error *err)
{
    if (!known) {
        lcp_status status = lcp_greedy_best(out, input, split, limit_bytes, err);
        return status == LCP_OK ? polish(out, input, limit_bytes, err) : status;
    }
    lcp_status status = polish(out, input, limit_bytes, err);
    if (status != LCP_OK || input->effort == 1) {
        return status;
    }
    lcp_schedule other;
    status = lcp_schedule_copy_room(&other, out, err);
    if (status == LCP_OK && lcp_greedy_best(&other, input, split, limit_bytes, NULL) == LCP_OK) {
        status = polish(&other, input, limit_bytes, err);
        keep_faster(out, &other, input);
    } else {
        lcp_schedule_dispose(&other);
    }
    return status;
}
