/* Seconds from the first forward pass to the last backward pass of equal microbatches; tests hold it against replay. */
#include "estimate_internal.h"

#include <string.h>

/* 1F1B is followed for so many microbatches a rank; by then it repeats, but for rates that nearly tie. */
#define FOLLOWED_ROUNDS 8

/* Over every run of ranks s..t a microbatch goes there and back while t - s + 1 of them pass, so a period is at least
 * the mean of their times plus 2 (t - s) / (t - s + 1) hops; the largest is reached. *length = t - s + 1 of it. */
static double period_1f1b(const lcp_pass_seconds *ranks, int32_t pp, double hop, int64_t *length)
{
    double period = 0;
    *length = 1;
    for (int32_t s = 0; s < pp; s++) {
        double sum = 0;
        for (int32_t t = s; t < pp; t++) {
            sum += ranks[t].forward + ranks[t].backward;
            double mean = (sum + 2 * (t - s) * hop) / (t - s + 1);
            if (mean > period * (1 + 1e-12)) {
                period = mean;
                *length = t - s + 1;
            }
        }
    }
    return period;
}

/* Exactly, round by round: in round k rank r runs forward microbatch k, then backward k - (p - 1 - r). */
static double follow_1f1b(const lcp_pass_seconds *ranks, int32_t pp, int64_t microbatches, double hop)
{
    double free_at[LCP_ESTIMATE_MAX_STAGES];
    double backward_end[LCP_ESTIMATE_MAX_STAGES + 1];
    memset(free_at, 0, (size_t)pp * sizeof *free_at);
    memset(backward_end, 0, ((size_t)pp + 1) * sizeof *backward_end);
    for (int64_t k = 0; k < microbatches + pp - 1; k++) {
        double arrives = 0;
        for (int32_t r = 0; r < pp && k < microbatches; r++) {
            free_at[r] = lcp_later(arrives, free_at[r]) + ranks[r].forward;
            arrives = free_at[r] + hop;
        }
        int32_t from = k < pp - 1 ? (int32_t)(pp - 1 - k) : 0;
        int32_t to = k < microbatches ? pp - 1 : (int32_t)(pp - 1 - (k - microbatches + 1));
        for (int32_t r = from; r <= to; r++) {
            double gradient = r + 1 < pp ? backward_end[r + 1] + hop : 0;
            free_at[r] = lcp_later(gradient, free_at[r]) + ranks[r].backward;
            backward_end[r] = free_at[r];
        }
    }
    return backward_end[0];
}

static double seconds_1f1b(const lcp_pass_seconds *ranks, int32_t pp, int64_t microbatches, double hop)
{
    int64_t followed = (int64_t)FOLLOWED_ROUNDS * pp;
    if (pp == 1) {
        return (double)microbatches * (ranks[0].forward + ranks[0].backward);
    }
    if (microbatches <= followed) {
        return follow_1f1b(ranks, pp, microbatches, hop);
    }
    int64_t length = 1;
    double period = period_1f1b(ranks, pp, hop, &length);
    int64_t repeated = (microbatches - followed) / length * length;
    return follow_1f1b(ranks, pp, microbatches - repeated, hop) + (double)repeated * period;
}

static double seconds_gpipe(const lcp_pass_seconds *ranks, int32_t pp, double microbatches, double hop)
{
    double once = 2 * (pp - 1) * hop;
    double forward = 0;
    double backward = 0;
    for (int32_t r = 0; r < pp; r++) {
        once += ranks[r].forward + ranks[r].backward;
        forward = lcp_later(forward, ranks[r].forward);
        backward = lcp_later(backward, ranks[r].backward);
    }
    return once + (microbatches - 1) * (forward + backward);
}

/* The busiest rank works without pause but for one virtual stage of every other rank, and one way through all of them,
 * at fill and drain. Exact where all virtual stages are equal, or only the last rank is slower. */
static double seconds_interleaved(const lcp_pass_seconds *ranks, int32_t pp, int32_t vpp, double microbatches,
                                  double hop)
{
    double sum = 0;
    double most = 0;
    for (int32_t r = 0; r < pp; r++) {
        sum += ranks[r].forward + ranks[r].backward;
        most = lcp_later(most, ranks[r].forward + ranks[r].backward);
    }
    return microbatches * most + (sum - most) / vpp + lcp_pipeline_hop_seconds(pp, vpp, hop);
}

double lcp_pipeline_hop_seconds(int32_t pp, int32_t vpp, double hop)
{
    return pp > 1 ? 2 * ((double)pp * vpp - 1) * hop : 0;
}

double lcp_pipeline_seconds(const lcp_pass_seconds *ranks, int32_t pp, int32_t vpp, lcp_run_schedule schedule,
                            int64_t microbatches, double hop)
{
    if (vpp > 1) {
        return seconds_interleaved(ranks, pp, vpp, (double)microbatches, hop);
    }
    return schedule == LCP_RUN_GPIPE ? seconds_gpipe(ranks, pp, (double)microbatches, hop)
                                     : seconds_1f1b(ranks, pp, microbatches, hop);
}
