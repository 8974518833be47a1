/* Layers, places and order chosen together: against a published search, a bound, and every division of small models. */
#include "support.h"

#include "lcp/coopt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LAYERS 64

typedef struct model {
    int32_t layers;
    double forward[MAX_LAYERS], input_grad[MAX_LAYERS], weight_grad[MAX_LAYERS];
    int64_t kept[MAX_LAYERS];
} model;

/* Nemotron-Nano-v2-9B in ticks of 0.01 ms, each time rounded.
 * Source: github.com/guojihu-hana/SimPipe, README and profiles/. */
static void nemotron(model *m)
{
    static const char layers[] = "EM-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-L";
    static const struct {
        char symbol;
        double forward_ms, input_grad_ms, weight_grad_ms;
    } kinds[] = {
        {'E', 0.7589, 2.8654, 0},      {'M', 2.6768, 4.2984, 1.7599},   {'-', 1.8477, 1.909, 1.6866},
        {'*', 1.9254, 2.4534, 0.6547}, {'L', 14.2155, 15.7056, 0.0595},
    };
    *m = (model){.layers = (int32_t)strlen(layers)};
    for (int32_t l = 0; l < m->layers; l++) {
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
            if (kinds[i].symbol == layers[l]) {
                m->forward[l] = round(100 * kinds[i].forward_ms);
                m->input_grad[l] = round(100 * kinds[i].input_grad_ms);
                m->weight_grad[l] = round(100 * kinds[i].weight_grad_ms);
            }
        }
    }
}

static lcp_coopt_input input_of(const model *m, int32_t ranks, int32_t chunks)
{
    return (lcp_coopt_input){.rank_count = ranks,
                             .chunk_count = chunks,
                             .layer_count = m->layers,
                             .forward_seconds = m->forward,
                             .input_grad_seconds = m->input_grad,
                             .weight_grad_seconds = m->weight_grad,
                             .max_stages_a_rank = 7,
                             .trials = 3000,
                             .seed = 1};
}

/* A published tuner divides it over 4 ranks, 8 microbatches, in 24 stages: 89870 ticks. */
static void faster_than_a_published_tuner(void **state)
{
    (void)state;
    model m;
    nemotron(&m);
    assert_int_equal(m.layers, 58);
    lcp_coopt_input input = input_of(&m, 4, 8);
    lcp_coopt out;
    assert_int_equal(lcp_schedule_coopt(&out, &input, NULL), LCP_OK);
    printf("%g bound %g stages %d\n", out.makespan_seconds, out.lower_bound_seconds, out.stage_count);
    assert_true(out.makespan_seconds < 89870);
    lcp_coopt_dispose(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faster_than_a_published_tuner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
