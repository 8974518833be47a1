#include "lcp/coopt.h"

#include <math.h>

double lcp_coopt_lower_bound(const lcp_coopt_input *input)
{
    double scale = 0;
    double smallest = HUGE_VAL;
    double largest = 0;
    for (int32_t k = 0; k < input->chunk_count; k++) {
        double s = input->chunk_scale != NULL ? input->chunk_scale[k] : 1;
        scale += s;
        smallest = fmin(smallest, s);
        largest = fmax(largest, s);
    }
    double work = 0;
    double way = 0;
    double slowest = 0;
    for (int32_t l = 0; l < input->layer_count; l++) {
        double there = input->forward_seconds[l] + input->input_grad_seconds[l];
        work += there + input->weight_grad_seconds[l];
        way += there;
        slowest = fmax(slowest, there + input->weight_grad_seconds[l]);
    }
    double passes = 3.0 * input->chunk_count * input->pass_seconds; /* of each rank, for one stage at least */
    double waits = 0;
    double start = 0;
    for (int32_t r = 1; r < input->rank_count && r <= input->layer_count; r++) {
        start += input->forward_seconds[r - 1] * smallest + input->pass_seconds + input->hop_seconds;
        waits += start;
    }
    double shared = (work * scale + waits) / input->rank_count + passes;
    double alone = slowest * scale + passes;
    return fmax(fmax(shared, alone), (way + input->weight_grad_seconds[0]) * largest);
}
