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

/* List schedules that are improved; the best of them may start worse than the next. */
#define STARTS 4
#define REPLAYED_OPS 1000000 /* over all trials of the local search */

lcp_status lcp_search_order(lcp_schedule *out, const lcp_schedule_input *input, bool split, const int64_t *limit_bytes,
                            bool known, lcp_error *err)
{
    lcp_status status = known ? LCP_OK : lcp_greedy_nth(out, input, split, limit_bytes, 0, err);
    if (status == LCP_OK) {
        status = polish(out, input, limit_bytes, err);
    }
    int32_t starts = input->effort > 0 && input->effort < STARTS ? input->effort : STARTS;
    for (int32_t i = 1; status == LCP_OK && i < starts; i++) {
        lcp_schedule other;
        status = lcp_schedule_copy_room(&other, out, err);
        if (status == LCP_OK &&
            lcp_greedy_nth(&other, input, split, limit_bytes, (size_t)(known ? i - 1 : i), NULL) == LCP_OK) {
            status = polish(&other, input, limit_bytes, err);
            keep_faster(out, &other, input);
        } else {
            lcp_schedule_dispose(&other);
        }
    }
    if (status == LCP_OK && input->effort == 0) {
        int64_t ops = 3 * (int64_t)out->stage_count * out->chunk_count;
        lcp_schedule_local_search(out, input, limit_bytes, REPLAYED_OPS / ops);
    }
    return status;
}
