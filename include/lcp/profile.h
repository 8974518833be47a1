/* Profiles: what a device reaches under one software stack. A profile replaces rates, ratios and overheads of the
 * catalogue's device, and says how its stack trains. `calibrate` makes profiles from measured runs. */
#ifndef LCP_PROFILE_H
#define LCP_PROFILE_H

#include "lcp/cost.h"

/* What a profile may set. Units and meaning: lcp_parameter_rows. */
typedef enum lcp_parameter {
    LCP_PARAMETER_MATMUL_RATIO,
    LCP_PARAMETER_MATMUL_HALF_ROWS,
    LCP_PARAMETER_ATTENTION_FORWARD_RATIO,
    LCP_PARAMETER_ATTENTION_BACKWARD_RATIO,
    LCP_PARAMETER_MEMORY_RATIO,
    LCP_PARAMETER_COLLECTIVE_RATIO,
    LCP_PARAMETER_COLLECTIVE_HALF_BYTES,
    LCP_PARAMETER_NETWORK_RATIO,
    LCP_PARAMETER_TP_OVERLAP,
    LCP_PARAMETER_TP_GRAD_OVERLAP,
    LCP_PARAMETER_EP_OVERLAP,
    LCP_PARAMETER_DP_OVERLAP,
    LCP_PARAMETER_ZERO_OVERLAP,
    LCP_PARAMETER_LAYER_HOST,
    LCP_PARAMETER_PASS_OVERHEAD,
    LCP_PARAMETER_HOP_OVERHEAD,
    LCP_PARAMETER_STEP_OVERHEAD,
    LCP_PARAMETER_FIXED_MEMORY,
    LCP_PARAMETER_ACTIVATION_RATIO,
    LCP_PARAMETER_COUNT
} lcp_parameter;

typedef enum lcp_parameter_target { LCP_TARGET_DEVICE, LCP_TARGET_TRAINING } lcp_parameter_target;

typedef struct lcp_parameter_row {
    const char *name; /* as in lcplan.profile/1 */
    const char *unit;
    const char *help;
    lcp_parameter_target target;
    size_t offset;    /* of the double in lcp_device or lcp_training; fixed memory: of the int64_t */
    double low, high; /* physical range, inclusive */
    double spread;    /* how far from its start a fit may expect it: standard deviation of the logarithm (low > 0) or of
                         the value over high (low = 0) */
    bool of_memory;   /* decides memory, not time */
} lcp_parameter_row;
extern const lcp_parameter_row lcp_parameter_rows[LCP_PARAMETER_COUNT];

typedef struct lcp_parameter_value {
    bool given;   /* false: the catalogue's value or the default stays */
    double value; /* within [low, high] of its row */
    double error; /* standard error, same unit; 0 = not determined from rows */
} lcp_parameter_value;

#define LCP_PROFILE_MAX_WORDS 16
typedef struct lcp_words {
    int32_t count;
    char words[LCP_PROFILE_MAX_WORDS][64];
} lcp_words;

typedef struct lcp_profile {
    char name[LCP_NAME_SIZE];
    char device[LCP_NAME_SIZE]; /* catalogue name */
    char stack[LCP_NAME_SIZE];  /* software, for people */
    char provenance[1024];
    lcp_words frameworks; /* rows whose framework holds one of them, whatever the case; none: any */
    lcp_words devices;    /* further devices it may be used for, catalogue names */
    bool sixteen_bit;     /* for fp16, bf16 and fp32; false: for fp8 and fp4 */
    lcp_attention_core attention_core;
    bool dropout;
    lcp_loss loss;
    int32_t gradient_bytes; /* 2 or 4 */
    int32_t zero_stage;     /* where a run does not say */
    char offload[64];       /* the same for what lives on the host */
    char recompute[64];     /* the same, in the words of a table of runs; "" = not known, none is taken */
    lcp_parameter_value values[LCP_PARAMETER_COUNT];
} lcp_profile;

/* Shipped profiles, in the order of their names. */
size_t lcp_profile_count(void);
const char *lcp_profile_name_at(size_t index); /* index < count */

/* Replaces what the profile gives. */
void lcp_profile_apply(const lcp_profile *profile, lcp_device *device, lcp_training *training);
double lcp_parameter_get(lcp_parameter parameter, const lcp_device *device, const lcp_training *training);
void lcp_parameter_set(lcp_parameter parameter, double value, lcp_device *device, lcp_training *training);

/* How well the profile suits a run: 0 = not at all, more is better. framework may be "". */
int32_t lcp_profile_suits(const lcp_profile *profile, const char *device, const char *framework, bool sixteen_bit);
/* The one that suits best, NULL if none does; the first of equals. */
const lcp_profile *lcp_profile_choose(const lcp_profile *profiles, size_t count, const char *device,
                                      const char *framework, bool sixteen_bit);

#endif
