/* Plans made by hand for exporters: a model of the examples, degrees, stages, equal chunks in the order of 1F1B. */
#ifndef LCP_EXPORT_FIXTURE_H
#define LCP_EXPORT_FIXTURE_H

#include "export/trainer.h"

typedef struct export_case {
    const char *model;   /* of examples/models/ */
    const char *cluster; /* short form */
    lcp_layout layout;
    int64_t sequence_tokens, sequences;
    int32_t micro_sequences;
    int32_t stage_layers[8];
    lcp_recompute policy;     /* of the first layers of every stage */
    int32_t recompute_layers; /* clipped to what a stage has */
} export_case;

typedef struct export_fixture {
    lcp_problem problem;
    lcp_plan plan;
} export_fixture;

void export_fixture_make(export_fixture *f, const export_case *c);
void export_fixture_dispose(export_fixture *f);

#endif
