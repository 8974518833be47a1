/* V-Half: half the memory of 1F1B, every rank p / 2 + 1 chunks. */
#include "schedule/v_block.h"

static lcp_v_block block(int32_t rank, int32_t ranks)
{
    int32_t shift = ranks % 2 == 0 ? 3 : 0;
    return (lcp_v_block){.forward_down = 2 * rank,
                         .forward_up = 3 * ranks - rank - 2,
                         .backward_down = 3 * ranks + shift + 2 * rank - 1,
                         .backward_up = 6 * ranks + shift - rank - 2};
}

static lcp_status build(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err)
{
    return lcp_v_block_build(out, input, block, err);
}

const lcp_schedule_kind lcp_schedule_v_half = {
    .name = "v-half",
    .help = "stages down and up the ranks, I and W apart, in half the memory of 1F1B",
    .needs = "two virtual stages a rank; kernels that split the backward pass; whole sequences; every rank keeps "
             "p / 2 + 1 chunks",
    .synchronous = true,
    .unsupported = lcp_v_block_unsupported,
    .build = build,
};
