/* Passes as the generators see them: measured where the input says so, all alike where it does not. */
#include "schedule/schedule_internal.h"

static size_t cell_of(const lcp_schedule_input *input, int32_t stage, int32_t chunk)
{
    return (size_t)stage * (size_t)input->chunk_count + (size_t)chunk;
}

double lcp_pass_forward_seconds(const lcp_schedule_input *input, int32_t stage, int32_t chunk)
{
    return input->durations == NULL ? 1 : input->durations->forward_seconds[cell_of(input, stage, chunk)];
}

double lcp_pass_backward_seconds(const lcp_schedule_input *input, int32_t stage, int32_t chunk)
{
    return input->durations == NULL ? 2 : input->durations->backward_seconds[cell_of(input, stage, chunk)];
}

double lcp_pass_input_grad_seconds(const lcp_schedule_input *input, int32_t stage, int32_t chunk)
{
    if (input->durations == NULL) {
        return 1;
    }
    const double *seconds = input->durations->input_grad_seconds != NULL ? input->durations->input_grad_seconds
                                                                         : input->durations->backward_seconds;
    return seconds[cell_of(input, stage, chunk)];
}

double lcp_pass_weight_grad_seconds(const lcp_schedule_input *input, int32_t stage, int32_t chunk)
{
    if (input->durations == NULL) {
        return 1;
    }
    const double *seconds = input->durations->weight_grad_seconds;
    return seconds != NULL ? seconds[cell_of(input, stage, chunk)] : 0;
}

double lcp_pass_hop_seconds(const lcp_schedule_input *input, int32_t chunk)
{
    bool given = input->durations != NULL && input->durations->hop_seconds != NULL;
    return given ? input->durations->hop_seconds[chunk] : 0;
}

int64_t lcp_pass_kept_bytes(const lcp_schedule_input *input, int32_t stage, int32_t chunk)
{
    return input->memory == NULL ? 2 : input->memory->kept_bytes[cell_of(input, stage, chunk)];
}

int64_t lcp_pass_held_bytes(const lcp_schedule_input *input, int32_t stage, int32_t chunk)
{
    if (input->memory == NULL) {
        return 1;
    }
    const int64_t *held = input->memory->held_bytes != NULL ? input->memory->held_bytes : input->memory->kept_bytes;
    return held[cell_of(input, stage, chunk)];
}
