#include "cli/trainer_option.h"

#include <string.h>

static const char *trainer_name_at(size_t index, const void *context)
{
    (void)context;
    return index < lcp_trainer_count() ? lcp_trainer_at(index)->name : NULL;
}

static lcp_status unknown_trainer(const lcp_option *option, const char *value, lcp_error *err)
{
    char name[64];
    size_t length = strcspn(value, "@");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), value);
    const char *near = lcp_nearest(name, trainer_name_at, NULL);
    return lcp_fail(err, LCP_USAGE, "", "--%s: unknown trainer '%s'%s%s; 'lcplan list trainers' names them",
                    option->name, name, near != NULL ? ", the nearest is " : "", near != NULL ? near : "");
}

static lcp_status unknown_version(const lcp_option *option, const lcp_trainer *trainer, const char *value,
                                  lcp_error *err)
{
    char known[128] = "";
    for (int32_t v = 0; trainer->versions[v] != NULL; v++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", v > 0 ? ", " : "", trainer->versions[v]);
    }
    return lcp_fail(err, LCP_USAGE, "", "--%s: unknown version '%s' of %s, expected %s", option->name,
                    strchr(value, '@') + 1, trainer->name, known);
}

lcp_status lcp_store_target(void *field, const lcp_option *option, const char *value, lcp_error *err)
{
    lcp_target target;
    if (!lcp_target_parse(&target, value)) {
        return target.trainer == NULL ? unknown_trainer(option, value, err)
                                      : unknown_version(option, target.trainer, value, err);
    }
    *(lcp_target *)field = target;
    return LCP_OK;
}

static void add(char *line, size_t size, const char *before, const char *word)
{
    size_t used = strlen(line);
    snprintf(line + used, size - used, "%s%s", before, word);
}

const char *lcp_trainer_summary(size_t index)
{
    static _Thread_local char line[512];
    const lcp_trainer *trainer = lcp_trainer_at(index);
    line[0] = '\0';
    add(line, sizeof line, "", trainer->help);
    for (int32_t v = 0; trainer->versions[v] != NULL; v++) {
        add(line, sizeof line, v == 0 ? "; versions " : ", ", trainer->versions[v]);
    }
    add(line, sizeof line, "; writes ", trainer->writes);
    bool first = true;
    for (int32_t f = 0; f < LCP_FEATURE_COUNT; f++) {
        if ((trainer->expresses & LCP_HAS(f)) != 0) {
            add(line, sizeof line, first ? "; can say " : ", ", lcp_feature_rows[f].name);
            first = false;
        }
    }
    return line;
}
