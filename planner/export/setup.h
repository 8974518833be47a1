/* What the rules of trainers look at: a model under degrees and batch sizes, with or without a plan behind it. */
#ifndef LCP_EXPORT_SETUP_H
#define LCP_EXPORT_SETUP_H

#include "lcp/plan.h"
#include "lcp/problem.h"

/* A count of 0 is not known yet, and the rules that need it hold. */
typedef struct lcp_setup {
    const lcp_model *model; /* borrowed */
    lcp_layout layout;
    int64_t devices;
    int64_t sequence_tokens; /* longest of the batch */
    bool equal_lengths;      /* every sequence has that length */
    int64_t sequences;       /* of a global batch */
    int64_t micro_sequences; /* of a micro-batch, when all hold as many */
    int64_t microbatches;    /* of one replica, when all run as many */
    int32_t stage_count;
    int32_t stage_layers[LCP_MAX_LAYERS]; /* [stage_count] */
} lcp_setup;

/* Degrees alone, before chunks and stages are chosen. */
void lcp_setup_of_layout(lcp_setup *out, const lcp_problem *problem, const lcp_layout *layout);
void lcp_setup_of_plan(lcp_setup *out, const lcp_plan *plan, const lcp_problem *problem);

/* Numbers that a rule can ask to be changed. */
typedef enum lcp_setup_field {
    LCP_SETUP_DP,
    LCP_SETUP_PP,
    LCP_SETUP_VPP,
    LCP_SETUP_TP,
    LCP_SETUP_ULYSSES,
    LCP_SETUP_RING,
    LCP_SETUP_EP,
    LCP_SETUP_ZERO,
    LCP_SETUP_DEVICES,
    LCP_SETUP_SEQUENCE,
    LCP_SETUP_SEQUENCES,
    LCP_SETUP_MICROBATCHES,
    LCP_SETUP_LAYERS, /* of the model's stages: no single number */
    LCP_SETUP_FIELD_COUNT
} lcp_setup_field;
/* The option that sets it and its place in a plan. */
const char *lcp_setup_field_option(lcp_setup_field field);
const char *lcp_setup_field_path(lcp_setup_field field);
bool lcp_setup_field_is_number(lcp_setup_field field);
int64_t lcp_setup_get(const lcp_setup *run, lcp_setup_field field);
void lcp_setup_set(lcp_setup *run, lcp_setup_field field, int64_t value);

#endif
