/* V-Min: a third of the memory of 1F1B; loses time as soon as F, I and W differ. */
#include "schedule/v_block.h"

static lcp_v_block block(int32_t rank, int32_t ranks)
{
    int32_t shift = ranks % 3 == 0 ? 2 : 0;
    return (lcp_v_block){.forward_down = rank,
                         .forward_up = 2 * ranks - rank - 1,
                         .backward_down = 2 * ranks + shift + rank,
                         .backward_up = 4 * ranks + shift - rank - 1};
}

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    return lcp_v_block_build(out, input, block, err);
}

const lcp_schedule_kind lcp_schedule_v_min = {
    .name = "v-min",
    .help = "stages down and up the ranks, I and W apart, in a third of the memory of 1F1B",
    .needs = "two virtual stages a rank; kernels that split the backward pass; whole sequences; every rank keeps about "
             "p / 3 chunks",
    .synchronous = true,
    .unsupported = lcp_v_block_unsupported,
    .build = build,
};
