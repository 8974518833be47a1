#include "coopt/candidate.h"

#include <math.h>
#include <stdlib.h>

/* least[s][l]: least sum of squares of s stages that hold the first l layers; cut[s][l]: layers before the last of
 * them. */
typedef struct dividing {
    const double *until; /* [layers + 1]: time of the layers before */
    double *least;
    int32_t *cut;
    size_t row;
} dividing;

static void divide(dividing *d, int32_t stages, int32_t layers)
{
    for (size_t i = 0; i < ((size_t)stages + 1) * d->row; i++) {
        d->least[i] = HUGE_VAL;
        d->cut[i] = 0;
    }
    d->least[0] = 0;
    for (int32_t s = 1; s <= stages; s++) {
        for (int32_t l = s; l <= layers; l++) {
            for (int32_t before = s - 1; before < l; before++) {
                double stage = d->until[l] - d->until[before];
                double sum = d->least[(size_t)(s - 1) * d->row + (size_t)before] + stage * stage;
                if (sum < d->least[(size_t)s * d->row + (size_t)l]) {
                    d->least[(size_t)s * d->row + (size_t)l] = sum;
                    d->cut[(size_t)s * d->row + (size_t)l] = before;
                }
            }
        }
    }
}

lcp_status lcp_division_start(lcp_division *out, const lcp_coopt_input *input, int32_t stage_count, lcp_error *err)
{
    size_t row = (size_t)input->layer_count + 1;
    size_t cells = row * ((size_t)stage_count + 1);
    double *until = malloc((row + cells) * sizeof *until);
    int32_t *cut = malloc(cells * sizeof *cut);
    if (until == NULL || cut == NULL) {
        free(until);
        free(cut);
        return lcp_fail(err, LCP_NOMEM, "", "cannot divide %d layers", input->layer_count);
    }
    until[0] = 0;
    for (int32_t l = 0; l < input->layer_count; l++) {
        until[l + 1] =
            until[l] + input->forward_seconds[l] + input->input_grad_seconds[l] + input->weight_grad_seconds[l];
    }
    dividing d = {.until = until, .least = until + row, .cut = cut, .row = row};
    divide(&d, stage_count, input->layer_count);
    out->stage_count = stage_count;
    for (int32_t s = stage_count, end = input->layer_count; s > 0; s--) {
        int32_t before = cut[(size_t)s * row + (size_t)end];
        out->layers[s - 1] = end - before;
        out->rank[s - 1] = (s - 1) % input->rank_count;
        end = before;
    }
    free(until);
    free(cut);
    return LCP_OK;
}
