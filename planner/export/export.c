/* Holding a plan against a trainer, and writing it. */
#include "export/trainer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Appends to a message of fixed size. */
static void add(char *text, size_t size, const char *format, ...) LCP_PRINTF(3, 4);
static void add(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

static lcp_status check_rules(const lcp_target *target, const lcp_setup *run, bool lossy, lcp_error *err)
{
    char text[900] = "";
    const char *where = NULL;
    const lcp_trainer_rule *rule = NULL;
    while ((rule = lcp_rule_broken(target, run, rule)) != NULL) {
        if (lossy && rule->unsaid) {
            continue;
        }
        where = where == NULL ? lcp_setup_field_path(rule->field) : where;
        add(text, sizeof text, "%s%s (rule %s)", text[0] != '\0' ? "; " : "", rule->demand, rule->id);
    }
    return where == NULL ? LCP_OK
                         : lcp_fail(err, LCP_FALSE, where, "%s@%s demands: %s", target->trainer->name,
                                    lcp_target_version(target), text);
}

static lcp_status refuse_losses(const lcp_target *target, const lcp_loss_list *losses, lcp_error *err)
{
    char text[900] = "";
    for (int32_t i = 0; i < losses->count; i++) {
        const lcp_loss_item *item = &losses->items[i];
        add(text, sizeof text, "%s%s: %s", i > 0 ? "; " : "", item->path, lcp_feature_rows[item->feature].help);
        if (item->places > 1) {
            add(text, sizeof text, " (%lld places)", (long long)item->places);
        }
    }
    return lcp_fail(err, LCP_FALSE, "", "%s@%s cannot say %d thing%s of the plan: %s", target->trainer->name,
                    lcp_target_version(target), losses->count, losses->count > 1 ? "s" : "", text);
}

lcp_status lcp_export_check(const lcp_target *target, const lcp_plan *plan, const lcp_problem *problem, bool lossy,
                            bool with_packs, lcp_error *err)
{
    lcp_setup run;
    lcp_loss_list losses;
    lcp_setup_of_plan(&run, plan, problem);
    lcp_status status = check_rules(target, &run, lossy, err);
    lcp_losses_find(&losses, target, plan, problem, with_packs);
    return status != LCP_OK || lossy || losses.count == 0 ? status : refuse_losses(target, &losses, err);
}

/* Each segment padded to what context and tensor parallelism divide. */
static int64_t longest_chunk(const lcp_plan *plan)
{
    const lcp_layout *l = &plan->layout;
    int64_t context = (int64_t)l->ulysses * l->ring;
    int64_t multiple = l->tp * (context > 1 ? 2 * context : 1);
    int64_t most = 0;
    for (int32_t k = 0; k < plan->chunk_count; k++) {
        int64_t tokens = 0;
        for (int32_t i = 0; i < plan->chunks[k].chunk.segment_count; i++) {
            tokens += (plan->chunks[k].chunk.segments[i].length_tokens + multiple - 1) / multiple * multiple;
        }
        most = tokens > most ? tokens : most;
    }
    return most;
}

static lcp_status take_text(char **out, size_t *size, lcp_text *text, lcp_error *err)
{
    if (text->failed || text->bytes == NULL) {
        free(text->bytes);
        return lcp_fail(err, LCP_NOMEM, "", "no memory for the output");
    }
    *out = text->bytes;
    *size = text->size;
    return LCP_OK;
}

lcp_status lcp_export_write(char **out, size_t *size, const lcp_target *target, const lcp_plan *plan,
                            const lcp_problem *problem, const char *plan_path, lcp_error *err)
{
    lcp_export from = {.target = *target, .plan = plan, .problem = problem, .plan_path = plan_path};
    lcp_text text = {0};
    lcp_setup_of_plan(&from.run, plan, problem);
    lcp_recompute_form_find(&from.recompute, plan, problem);
    from.longest_chunk_tokens = longest_chunk(plan);
    target->trainer->write(&text, &from);
    return take_text(out, size, &text, err);
}

lcp_status lcp_packing_write(char **out, size_t *size, const lcp_plan *plan, lcp_error *err)
{
    lcp_text text = {0};
    int32_t microbatch = 0;
    for (int32_t k = 0; k < plan->chunk_count; k++) {
        const lcp_chunk *chunk = &plan->chunks[k].chunk;
        microbatch = k > 0 && plan->chunks[k - 1].chunk.dp == chunk->dp ? microbatch + 1 : 0;
        lcp_text_put(&text, "{\"dp\": %d, \"microbatch\": %d, \"segments\": [", chunk->dp, microbatch);
        for (int32_t i = 0; i < chunk->segment_count; i++) {
            const lcp_segment *s = &chunk->segments[i];
            lcp_text_put(&text, "%s{\"sequence\": %lld, \"offset_tokens\": %lld, \"length_tokens\": %lld}",
                         i > 0 ? ", " : "", (long long)s->sequence, (long long)s->offset_tokens,
                         (long long)s->length_tokens);
        }
        lcp_text_put(&text, "]}\n");
    }
    return take_text(out, size, &text, err);
}
