/* Trainers as a table: versions, what their configuration can say, which rules they hold it to, how it is written.
 *
 * A trainer is one file and a row of table.c. What a plan uses beyond the plain is a feature (features.c); a trainer
 * that lacks one loses it on export, and `plan --for` keeps the search from using it. */
#ifndef LCP_EXPORT_TRAINER_H
#define LCP_EXPORT_TRAINER_H

#include "export/setup.h"
#include "export/text.h"

typedef enum lcp_feature {
    LCP_FEATURE_SLICES,          /* sequences are cut */
    LCP_FEATURE_PACKS,           /* which sequences of unequal length share a chunk */
    LCP_FEATURE_CHUNK_SIZES,     /* chunks of unequally many sequences of equal length */
    LCP_FEATURE_PIPELINES,       /* replicas with unequally many chunks */
    LCP_FEATURE_SPLIT,           /* stages of unequally many layers */
    LCP_FEATURE_INTERLEAVING,    /* several virtual stages on a rank */
    LCP_FEATURE_PLACEMENT,       /* stage s not on rank s modulo pp */
    LCP_FEATURE_ORDERS,          /* orders of passes other than 1F1B */
    LCP_FEATURE_RECOMPUTE_AHEAD, /* recompute as an operation of its own */
    LCP_FEATURE_VERSIONS,        /* weight versions of asynchronous schedules */
    LCP_FEATURE_MIXED_RECOMPUTE, /* recompute that differs by stage, chunk or layer */
    LCP_FEATURE_BLOCK_RECOMPUTE, /* whole layers, the first n of every stage */
    LCP_FEATURE_FULL_RECOMPUTE,  /* whole layers, all of them */
    LCP_FEATURE_MLP_RECOMPUTE,   /* the inside of the ffn, in all layers */
    LCP_FEATURE_PART_RECOMPUTE,  /* other parts of a layer, in all layers */
    LCP_FEATURE_COUNT
} lcp_feature;
#define LCP_HAS(feature) (UINT32_C(1) << (feature))

/* How a plan recomputes, in the words trainers have. */
typedef struct lcp_recompute_form {
    lcp_feature feature;  /* one of the recompute features; meaningless while policy is NONE */
    lcp_recompute policy; /* the only one beside NONE; FULL when several are mixed */
    int32_t layers;       /* the first so many of every stage; the most of any stage when mixed */
    int32_t chunk;        /* where the plan departs from one setting, when mixed */
} lcp_recompute_form;

/* One thing a plan decides and a configuration cannot say. */
typedef struct lcp_loss_item {
    lcp_feature feature;
    char path[64]; /* of the first place in the plan */
    int64_t places;
} lcp_loss_item;
typedef struct lcp_loss_list {
    int32_t count;
    lcp_loss_item items[LCP_FEATURE_COUNT];
} lcp_loss_list;

typedef struct lcp_feature_row {
    const char *name;
    const char *help; /* as it reads after a place of the plan */
} lcp_feature_row;
extern const lcp_feature_row lcp_feature_rows[LCP_FEATURE_COUNT];

typedef struct lcp_trainer_rule {
    const char *id;            /* NULL ends a table */
    const char *since, *until; /* first and last version, NULL = all before or after */
    lcp_setup_field field;     /* what to change */
    bool (*holds)(const lcp_setup *run);
    const char *demand; /* what must hold, in words */
    bool unsaid;        /* the file does not say it: lost on a lossy export, not illegal */
} lcp_trainer_rule;

/* Rows: id, since, until, field, predicate, demand. */
#define LCP_RULE(word, first, last, what, predicate, text)                                                             \
    {                                                                                                                  \
        .id = word, .since = first, .until = last, .field = what, .holds = predicate, .demand = text                   \
    }
/* The same for what the file leaves to others. */
#define LCP_UNSAID(word, first, last, what, predicate, text)                                                           \
    {                                                                                                                  \
        .id = word, .since = first, .until = last, .field = what, .holds = predicate, .demand = text, .unsaid = true   \
    }
#define LCP_RULES_END                                                                                                  \
    {                                                                                                                  \
        .id = NULL                                                                                                     \
    }

typedef struct lcp_export lcp_export;

typedef struct lcp_trainer {
    const char *name;
    const char *help;            /* the program it is */
    const char *const *versions; /* oldest first, NULL-terminated; the last is the default */
    const char *writes;          /* the kind of file */
    uint32_t expresses;          /* LCP_HAS of features */
    bool reads_plan;             /* the program reads the plan itself: chunks need no file of their own */
    const char *split_since;     /* first version that takes any split of layers, NULL = all that can */
    int32_t zero_stage;          /* what --for asks for when nobody does, -1 = any that the rules allow */
    const lcp_trainer_rule *rules;
    void (*write)(lcp_text *out, const lcp_export *from);
} lcp_trainer;

/* A trainer in one of its versions. */
typedef struct lcp_target {
    const lcp_trainer *trainer;
    int32_t version; /* index into trainer->versions */
} lcp_target;

struct lcp_export {
    lcp_target target;
    const lcp_plan *plan;
    const lcp_problem *problem;
    const char *plan_path; /* as it was given */
    lcp_setup run;
    lcp_recompute_form recompute;
    int64_t longest_chunk_tokens; /* its segments padded */
};

size_t lcp_trainer_count(void);
const lcp_trainer *lcp_trainer_at(size_t index);                      /* index < count */
const lcp_trainer *lcp_trainer_find(const char *name, size_t length); /* NULL if unknown */
/* NAME or NAME@VERSION; a version may be more precise than the table's (0.16.1 for 0.16). On failure out->trainer is
 * NULL (unknown name) or version is -1. */
bool lcp_target_parse(lcp_target *out, const char *word);
const char *lcp_target_version(const lcp_target *target);
/* The target's version is `version` or a later one. */
bool lcp_target_since(const lcp_target *target, const char *version);

/* Whether a rule is one of the target's version. */
bool lcp_rule_applies(const lcp_trainer_rule *rule, const lcp_target *target);
/* The first broken rule after `after` (NULL = from the start), NULL if there is none. */
const lcp_trainer_rule *lcp_rule_broken(const lcp_target *target, const lcp_setup *run, const lcp_trainer_rule *after);
/* Nearest values of the rule's field under which the rule holds, all else equal; 0 = none within reach. */
typedef struct lcp_nearest_values {
    int64_t below, above;
    bool has_below, has_above;
} lcp_nearest_values;
lcp_nearest_values lcp_rule_nearest(const lcp_trainer_rule *rule, const lcp_setup *run);

/* How the plan recomputes; a plan that fits no form has feature LCP_FEATURE_MIXED_RECOMPUTE. */
void lcp_recompute_form_find(lcp_recompute_form *out, const lcp_plan *plan, const lcp_problem *problem);
/* What the target cannot say. with_packs: the composition of chunks is handed over in a file of its own. */
void lcp_losses_find(lcp_loss_list *out, const lcp_target *target, const lcp_plan *plan, const lcp_problem *problem,
                     bool with_packs);

/* Fails with LCP_FALSE: a rule is broken, or something is lost and lossy is false; the message lists everything. */
lcp_status lcp_export_check(const lcp_target *target, const lcp_plan *plan, const lcp_problem *problem, bool lossy,
                            bool with_packs, lcp_error *err);
/* The trainer's configuration; the caller frees *out. Call lcp_export_check before. */
lcp_status lcp_export_write(char **out, size_t *size, const lcp_target *target, const lcp_plan *plan,
                            const lcp_problem *problem, const char *plan_path, lcp_error *err);
/* One JSON object a line and chunk: which sequences a replica's micro-batch holds. The caller frees *out. */
lcp_status lcp_packing_write(char **out, size_t *size, const lcp_plan *plan, lcp_error *err);

/* Restricts the problem's options to what the target can say, and writes its name into them. Left to auto, recompute
 * becomes block where that can be said of this model, else none; *or_full tells that full is worth a search of its own
 * then. Fails with LCP_USAGE if the options ask for what it cannot say, with LCP_INFEASIBLE if the batch does. */
lcp_status lcp_target_restrict(lcp_problem *problem, bool *or_full, const lcp_target *target, lcp_error *err);

/* The trainers' rows, a file each. */
extern const lcp_trainer lcp_trainer_megatron_lm, lcp_trainer_torchtitan, lcp_trainer_torch_pipelining,
    lcp_trainer_deepspeed, lcp_trainer_nemo, lcp_trainer_verl, lcp_trainer_nanotron, lcp_trainer_torchrun;

#endif
