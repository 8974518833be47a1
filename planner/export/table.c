/* The table of trainers, and rules and versions looked up in it. */
#include "export/trainer.h"

#include <string.h>

static const lcp_trainer *const trainers[] = {
    &lcp_trainer_megatron_lm, &lcp_trainer_torchtitan, &lcp_trainer_torch_pipelining, &lcp_trainer_deepspeed,
    &lcp_trainer_nemo,        &lcp_trainer_verl,       &lcp_trainer_nanotron,         &lcp_trainer_torchrun,
};

size_t lcp_trainer_count(void)
{
    return sizeof trainers / sizeof trainers[0];
}

const lcp_trainer *lcp_trainer_at(size_t index)
{
    return trainers[index];
}

const lcp_trainer *lcp_trainer_find(const char *name, size_t length)
{
    for (size_t i = 0; i < lcp_trainer_count(); i++) {
        if (strlen(trainers[i]->name) == length && strncmp(trainers[i]->name, name, length) == 0) {
            return trainers[i];
        }
    }
    return NULL;
}

/* Equal, or more precise after a dot. */
static int32_t find_version(const lcp_trainer *trainer, const char *word)
{
    for (int32_t v = 0; trainer->versions[v] != NULL; v++) {
        size_t length = strlen(trainer->versions[v]);
        if (strncmp(trainer->versions[v], word, length) == 0 && (word[length] == '\0' || word[length] == '.')) {
            return v;
        }
    }
    return -1;
}

static int32_t last_version(const lcp_trainer *trainer)
{
    int32_t v = 0;
    while (trainer->versions[v + 1] != NULL) {
        v++;
    }
    return v;
}

bool lcp_target_parse(lcp_target *out, const char *word)
{
    size_t length = strcspn(word, "@");
    *out = (lcp_target){.trainer = lcp_trainer_find(word, length), .version = -1};
    if (out->trainer == NULL) {
        return false;
    }
    out->version = word[length] == '\0' ? last_version(out->trainer) : find_version(out->trainer, word + length + 1);
    return out->version >= 0;
}

const char *lcp_target_version(const lcp_target *target)
{
    return target->trainer->versions[target->version];
}

bool lcp_target_since(const lcp_target *target, const char *version)
{
    int32_t v = find_version(target->trainer, version);
    return v >= 0 && target->version >= v;
}

bool lcp_rule_applies(const lcp_trainer_rule *rule, const lcp_target *target)
{
    bool begun = rule->since == NULL || target->version >= find_version(target->trainer, rule->since);
    bool ended = rule->until != NULL && target->version > find_version(target->trainer, rule->until);
    return begun && !ended;
}

const lcp_trainer_rule *lcp_rule_broken(const lcp_target *target, const lcp_setup *run, const lcp_trainer_rule *after)
{
    for (const lcp_trainer_rule *rule = after == NULL ? target->trainer->rules : after + 1; rule->id != NULL; rule++) {
        if (lcp_rule_applies(rule, target) && !rule->holds(run)) {
            return rule;
        }
    }
    return NULL;
}

/* Farther away nobody calls a value near. */
#define REACH 65536

static bool holds_with(const lcp_trainer_rule *rule, lcp_setup *run, int64_t value)
{
    bool zero = rule->field == LCP_SETUP_ZERO;
    if (value < (zero ? 0 : 1) || (zero && value > 3) || value > INT32_MAX) {
        return false;
    }
    lcp_setup_set(run, rule->field, value);
    return rule->holds(run);
}

lcp_nearest_values lcp_rule_nearest(const lcp_trainer_rule *rule, const lcp_setup *run)
{
    lcp_nearest_values near = {0};
    lcp_setup changed = *run;
    int64_t value = lcp_setup_get(run, rule->field);
    for (int64_t step = 1; lcp_setup_field_is_number(rule->field) && step <= REACH; step++) {
        if (!near.has_below && holds_with(rule, &changed, value - step)) {
            near.below = value - step;
            near.has_below = true;
        }
        if (!near.has_above && holds_with(rule, &changed, value + step)) {
            near.above = value + step;
            near.has_above = true;
        }
        if ((near.has_below || step >= value) && near.has_above) {
            break;
        }
    }
    return near;
}
