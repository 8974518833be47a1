/* Everything a planning run is given: model, cluster, workload, options. */
#ifndef LCP_PROBLEM_H
#define LCP_PROBLEM_H

#include "lcp/cost.h"
#include "lcp/workload.h"

#define LCP_MAX_DEGREE_VALUES 32
/* Values a degree may take; count 0 = auto. */
typedef struct lcp_degree {
    int32_t count;
    int32_t values[LCP_MAX_DEGREE_VALUES]; /* ascending, each >= 1 */
} lcp_degree;

typedef enum lcp_recompute_mode {
    LCP_RECOMPUTE_MODE_AUTO,      /* any policy per stage, chunk and layer */
    LCP_RECOMPUTE_MODE_NONE,      /* keep everything */
    LCP_RECOMPUTE_MODE_SELECTIVE, /* any mix of activation, mlp, attention-output */
    LCP_RECOMPUTE_MODE_FULL,      /* every layer of every chunk */
    LCP_RECOMPUTE_MODE_BLOCK      /* a layer keeps everything or its input alone */
} lcp_recompute_mode;

typedef struct lcp_options {
    lcp_degree dp, pp, vpp, tp, ulysses, ring, ep;
    int32_t zero_stage; /* 0..3, or -1 = auto */
    char schedule[32];  /* a name, or "auto" */
    lcp_recompute_mode recompute;
    bool slicing;              /* false: no sequence is cut (default true) */
    bool uniform_recompute;    /* one recompute setting for all stages and chunks (default false) */
    bool equal_layers;         /* the same number of layers on every stage, within one (default false) */
    bool equal_chunks;         /* as many sequences in every chunk; for batches of equal sequences (default false) */
    char trainer[32];          /* NAME@VERSION of planner/export: the plan keeps to what it can say; "" = anyone */
    int64_t min_slice_tokens;  /* no slice shorter than this except a tail; default 1024 */
    double gap_ratio;          /* stop when proven within this; default 0.02 */
    int32_t threads;           /* >= 1; 0 = as many as cores; does not change the result */
    int64_t max_candidates;    /* candidates solved at most, 0 = no limit; default 0 */
    double time_limit_seconds; /* last resort, 0 = none; recorded in the plan */
    lcp_training training;
} lcp_options;
lcp_options lcp_options_default(void);

typedef struct lcp_source {
    char path[512];  /* "" when it came from the command line */
    char sha256[65]; /* of the bytes read; of the resolved document when there was no file */
} lcp_source;

typedef struct lcp_problem {
    lcp_model model;
    lcp_cluster cluster;
    lcp_workload workload;
    lcp_options options;
    lcp_source model_source, cluster_source, workload_source;
} lcp_problem;
void lcp_problem_dispose(lcp_problem *problem);

#endif
