/* Everything a command line can say, whatever the command; each command accepts the groups of options it names. */
#ifndef LCP_ARGUMENTS_H
#define LCP_ARGUMENTS_H

#include "export/trainer.h"
#include "lcp/estimate.h"
#include "lcp/problem.h"

#define LCP_MAX_OPERANDS 32

/* Layers of each stage, in order; count 0 = not given. */
typedef struct lcp_stage_list {
    int32_t count;
    int32_t layers[LCP_MAX_LAYERS];
} lcp_stage_list;

typedef struct lcp_arguments {
    bool help;
    const char *model, *cluster, *workload;                 /* NULL = not given */
    int64_t sequence_length_tokens, global_batch_sequences; /* 0 = not given */
    lcp_options options;
    lcp_run run;               /* of an estimate; layout.dp 0 = not given */
    bool no_sequence_parallel; /* the same */
    const char *rows;          /* a table of runs, NULL = not given */
    const char *fit;           /* parameters to calibrate, NULL = all */
    const char *profile;       /* name or file, NULL = not given */
    const char *output;        /* NULL = standard output */
    lcp_target target;         /* of --for and --to; trainer NULL = not given */
    bool lossy;
    const char *packing;     /* NULL = not written */
    lcp_layout layout;       /* of check; degrees 0 = not given */
    int64_t micro_sequences; /* of check; 0 = not given */
    lcp_stage_list stage_layers;
    bool json, quiet, explain, times;
    const char *trace, *svg; /* files; NULL = not asked for */
    const char *order;       /* schedule to simulate instead of the plan's; NULL = the plan's */
    int32_t stages_a_rank;   /* under that schedule; 0 = its own */
    bool recompute_ahead, link_queues;
    int32_t pipeline; /* 1 + the number of the pipeline to show; 0 = the slowest */
    double jitter_ratio;
    const char *straggler; /* "RANK:FACTOR" or NULL */
    int64_t seed;
    int32_t runs; /* 0 = not given */
    int32_t operand_count;
    const char *operands[LCP_MAX_OPERANDS];
} lcp_arguments;

#endif
