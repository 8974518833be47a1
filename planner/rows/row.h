/* One measured run of a table as the estimator sees it. */
#ifndef LCP_ROW_H
#define LCP_ROW_H

#include "csv.h"
#include "lcp/estimate.h"
#include "lcp/profile.h"

/* Columns that are read, in the order of lcp_row_columns. */
typedef enum lcp_column {
    LCP_COLUMN_MODEL,
    LCP_COLUMN_PARAMS_B,
    LCP_COLUMN_LAYERS,
    LCP_COLUMN_HIDDEN,
    LCP_COLUMN_HEADS,
    LCP_COLUMN_KV_HEADS,
    LCP_COLUMN_HEAD_DIM,
    LCP_COLUMN_FFN,
    LCP_COLUMN_GATED_MLP,
    LCP_COLUMN_VOCAB,
    LCP_COLUMN_EXPERTS,
    LCP_COLUMN_TOPK,
    LCP_COLUMN_SEQ_LEN,
    LCP_COLUMN_GBS,
    LCP_COLUMN_MBS,
    LCP_COLUMN_GRAD_ACCUM,
    LCP_COLUMN_GPUS,
    LCP_COLUMN_GPU_TYPE,
    LCP_COLUMN_GPUS_PER_NODE,
    LCP_COLUMN_TP,
    LCP_COLUMN_SP,
    LCP_COLUMN_CP,
    LCP_COLUMN_ULYSSES,
    LCP_COLUMN_PP,
    LCP_COLUMN_VPP,
    LCP_COLUMN_EP,
    LCP_COLUMN_DP,
    LCP_COLUMN_ZERO_FSDP,
    LCP_COLUMN_RECOMPUTE,
    LCP_COLUMN_OFFLOAD,
    LCP_COLUMN_PRECISION,
    LCP_COLUMN_SCHEDULE,
    LCP_COLUMN_ATTN_IMPL,
    LCP_COLUMN_FRAMEWORK,
    LCP_COLUMN_ITER_TIME_S,
    LCP_COLUMN_TOKENS_PER_S_GPU,
    LCP_COLUMN_MFU_PCT,
    LCP_COLUMN_HFU_PCT,
    LCP_COLUMN_PEAK_MEM_GB,
    LCP_COLUMN_MEM_UNIT,
    LCP_COLUMN_STATUS,
    LCP_COLUMN_NOTES,
    LCP_COLUMN_EXTRA_ARGS,
    LCP_COLUMN_COUNT
} lcp_column;
extern const char *const lcp_row_columns[LCP_COLUMN_COUNT];

/* Where the columns are in one table; -1 = absent. */
typedef struct lcp_row_map {
    int at[LCP_COLUMN_COUNT];
} lcp_row_map;
lcp_row_map lcp_row_map_of(const lcp_csv *csv);

/* A run without pointers to itself: copy it freely, then lcp_row_bind. */
typedef struct lcp_row {
    size_t number; /* in its table, from 0 */
    lcp_layer_class class;
    lcp_model model;
    lcp_group group;
    lcp_run run;
    bool sixteen_bit;
    bool described;          /* the same, recompute from the profile where the row does not say */
    bool complete;           /* every setting that decides the time was in the row */
    double measured_seconds; /* 0 = not measured */
    double measured_bytes;   /* 0 = not measured */
    bool last_rank_memory;   /* measured on the last pipeline rank */
    bool out_of_memory;      /* the run failed for want of memory */
    bool suspect;            /* the table itself says not to trust it */
    char framework[64];
    char recompute[64];          /* of the profile, for a blank cell */
    char offload[64];            /* the same */
    char profile[LCP_NAME_SIZE]; /* that was applied; "" = catalogue */
    char skipped[160];           /* why it cannot be estimated; "" = it can */
} lcp_row;

/* Profiles to choose from by device, framework and precision; `forced`: the first one, whatever the row. */
typedef struct lcp_profile_set {
    const lcp_profile *profiles;
    size_t count;
    bool forced;
} lcp_profile_set;

/* Understands a row with the profile that suits it. Never fails: what cannot be estimated says why in `skipped`. */
void lcp_row_read(lcp_row *out, const lcp_csv *csv, const lcp_row_map *map, size_t number,
                  const lcp_profile_set *profiles);
/* Reads none, full, full:block:N, full:uniform:N, selective:MODULE,... or the name of a policy; false if it is none. */
bool lcp_recompute_parse(lcp_run_recompute *out, const char *text);
/* Points model and cluster at the parts of the row. */
lcp_cluster lcp_row_bind(lcp_row *row);

#endif
