#include "cli/commands.h"
#include "cli/print_json.h"
#include "cli/problem_options.h"
#include "cli/trainer_option.h"

#include "input/input.h"
#include "output/plan_json.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What is held against the rules, and what owns it. */
typedef struct subject {
    lcp_problem problem;
    lcp_plan plan;
    lcp_setup run;
    lcp_loss_list losses;
} subject;

static bool anything_given(const lcp_arguments *a)
{
    const lcp_layout *l = &a->layout;
    bool degrees = l->dp + l->pp + l->vpp + l->tp + l->ulysses + l->ring + l->ep + l->zero_stage > 0;
    return degrees || l->ring_method != LCP_RING_P2P || a->model != NULL || a->cluster != NULL || a->workload != NULL ||
           a->sequence_length_tokens > 0 || a->global_batch_sequences > 0 || a->micro_sequences > 0 ||
           a->stage_layers.count > 0;
}

static lcp_status check_given(const lcp_arguments *a, lcp_error *err)
{
    const char *text = NULL;
    bool plan = a->operand_count > 0;
    if (a->target.trainer == NULL) {
        text = "--for NAME[@VERSION] is needed";
    } else if (plan && anything_given(a)) {
        text = "a plan says all the rest: give a plan, or a model and degrees";
    } else if (!plan && a->model == NULL) {
        text = "a PLAN, or --model FILE with degrees, is needed";
    } else if (a->workload != NULL && (a->sequence_length_tokens > 0 || a->global_batch_sequences > 0)) {
        text = "--workload and --sequence-length or --global-batch exclude each other";
    }
    return text == NULL ? LCP_OK : lcp_fail(err, LCP_USAGE, "", "%s", text);
}

static int32_t or_one(int32_t degree)
{
    return degree > 0 ? degree : 1;
}

/* Degrees not given are 1; dp takes what is left of the devices. */
static lcp_layout layout_of(const lcp_arguments *a, int64_t devices)
{
    lcp_layout l = a->layout;
    l.pp = or_one(l.pp);
    l.vpp = or_one(l.vpp);
    l.tp = or_one(l.tp);
    l.ulysses = or_one(l.ulysses);
    l.ring = or_one(l.ring);
    l.ep = or_one(l.ep);
    l.sequence_parallel = l.tp > 1;
    int64_t replica = (int64_t)l.pp * l.tp * l.ulysses * l.ring;
    if (l.dp == 0) {
        l.dp = devices >= replica ? (int32_t)(devices / replica) : 1;
    }
    return l;
}

static void fill_run(subject *s, const lcp_arguments *a)
{
    int64_t devices = s->problem.cluster.group_count > 0 ? lcp_cluster_devices(&s->problem.cluster) : 0;
    const lcp_layout layout = layout_of(a, devices);
    lcp_setup *run = &s->run;
    lcp_setup_of_layout(run, &s->problem, &layout);
    if (a->workload == NULL) {
        run->sequence_tokens = a->sequence_length_tokens;
        run->sequences = a->global_batch_sequences;
        run->equal_lengths = true;
    }
    run->micro_sequences = a->micro_sequences;
    int64_t share = run->micro_sequences * layout.dp;
    run->microbatches = share > 0 && run->equal_lengths ? run->sequences / share : 0;
    run->stage_count = a->stage_layers.count;
    memcpy(run->stage_layers, a->stage_layers.layers, sizeof run->stage_layers);
}

static lcp_status read_options(subject *s, const lcp_arguments *a, lcp_error *err)
{
    lcp_status status = lcp_read_model(&s->problem.model, &s->problem.model_source, a->model, err);
    if (status == LCP_OK && a->cluster != NULL) {
        status = lcp_read_cluster(&s->problem.cluster, &s->problem.cluster_source, a->cluster, err);
    }
    if (status == LCP_OK && a->workload != NULL) {
        status = lcp_read_workload(&s->problem.workload, &s->problem.workload_source, a->workload, err);
    }
    if (status == LCP_OK) {
        fill_run(s, a);
    }
    return status;
}

static lcp_status read_subject(subject *s, const lcp_arguments *a, lcp_error *err)
{
    if (a->operand_count == 0) {
        return read_options(s, a, err);
    }
    lcp_status status = lcp_read_plan(&s->plan, &s->problem, a->operands[0], err);
    if (status == LCP_OK) {
        lcp_setup_of_plan(&s->run, &s->plan, &s->problem);
        lcp_losses_find(&s->losses, &a->target, &s->plan, &s->problem, true);
    }
    return status;
}

static void print_broken(const lcp_trainer_rule *rule, const lcp_setup *run)
{
    printf("%s: ", rule->id);
    if (lcp_setup_field_is_number(rule->field)) {
        printf("%s %lld: ", lcp_setup_field_option(rule->field), (long long)lcp_setup_get(run, rule->field));
    }
    lcp_nearest_values near = lcp_rule_nearest(rule, run);
    printf("%s", rule->demand);
    if (near.has_below || near.has_above) {
        printf("; nearest legal: ");
    }
    if (near.has_below) {
        printf("%lld%s", (long long)near.below, near.has_above ? " and " : "");
    }
    if (near.has_above) {
        printf("%lld", (long long)near.above);
    }
    printf("\n");
}

static void print_text(const subject *s, const lcp_arguments *a)
{
    const lcp_trainer_rule *rule = NULL;
    while ((rule = lcp_rule_broken(&a->target, &s->run, rule)) != NULL) {
        print_broken(rule, &s->run);
    }
    for (int32_t i = 0; i < s->losses.count; i++) {
        const lcp_loss_item *item = &s->losses.items[i];
        printf("lost: %s: %s\n", item->path, lcp_feature_rows[item->feature].help);
    }
}

static json_t *broken_json(const lcp_trainer_rule *rule, const lcp_setup *run)
{
    json_t *object = json_pack("{s:s, s:s, s:s, s:s}", "rule", rule->id, "what", lcp_setup_field_option(rule->field),
                               "path", lcp_setup_field_path(rule->field), "demand", rule->demand);
    json_t *nearest = json_array();
    lcp_nearest_values near = lcp_rule_nearest(rule, run);
    if (near.has_below) {
        json_array_append_new(nearest, json_integer(near.below));
    }
    if (near.has_above) {
        json_array_append_new(nearest, json_integer(near.above));
    }
    if (lcp_setup_field_is_number(rule->field)) {
        json_object_set_new(object, "found", json_integer(lcp_setup_get(run, rule->field)));
    }
    json_object_set_new(object, "nearest", nearest);
    return object;
}

static lcp_status print_document(const subject *s, const lcp_arguments *a, bool holds, lcp_error *err)
{
    json_t *broken = json_array();
    json_t *lost = json_array();
    const lcp_trainer_rule *rule = NULL;
    while ((rule = lcp_rule_broken(&a->target, &s->run, rule)) != NULL) {
        json_array_append_new(broken, broken_json(rule, &s->run));
    }
    for (int32_t i = 0; i < s->losses.count; i++) {
        const lcp_loss_item *item = &s->losses.items[i];
        const lcp_feature_row *row = &lcp_feature_rows[item->feature];
        json_array_append_new(lost, json_pack("{s:s, s:s, s:s, s:I}", "feature", row->name, "path", item->path, "text",
                                              row->help, "places", (json_int_t)item->places));
    }
    json_t *document = json_pack("{s:s, s:s, s:b, s:o, s:o}", "trainer", a->target.trainer->name, "version",
                                 lcp_target_version(&a->target), "holds", holds, "broken", broken, "lost", lost);
    lcp_status status = lcp_print_json(document, err);
    json_decref(document);
    return status;
}

static int32_t broken_count(const subject *s, const lcp_arguments *a)
{
    int32_t count = 0;
    const lcp_trainer_rule *rule = NULL;
    while ((rule = lcp_rule_broken(&a->target, &s->run, rule)) != NULL) {
        count++;
    }
    return count;
}

static lcp_status report(const subject *s, const lcp_arguments *a, lcp_error *err)
{
    int32_t broken = broken_count(s, a);
    bool holds = broken == 0 && s->losses.count == 0;
    lcp_status status = LCP_OK;
    if (a->json) {
        status = print_document(s, a, holds, err);
    } else if (!holds) {
        print_text(s, a);
    } else {
        printf("ok: %s@%s\n", a->target.trainer->name, lcp_target_version(&a->target));
    }
    if (status != LCP_OK || holds) {
        return status;
    }
    return lcp_fail(err, LCP_FALSE, "", "%s@%s: rules broken: %d, things lost: %d", a->target.trainer->name,
                    lcp_target_version(&a->target), broken, s->losses.count);
}

static lcp_status run(const lcp_arguments *arguments, lcp_error *err)
{
    subject *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return lcp_fail(err, LCP_NOMEM, "", "no memory for what is checked");
    }
    lcp_status status = check_given(arguments, err);
    if (status == LCP_OK) {
        status = read_subject(s, arguments, err);
    }
    if (status == LCP_OK) {
        status = report(s, arguments, err);
    }
    lcp_plan_dispose(&s->plan);
    lcp_problem_dispose(&s->problem);
    free(s);
    return status;
}

static lcp_status store_stages(void *field, const lcp_option *option, const char *value, lcp_error *err)
{
    lcp_stage_list *list = field;
    const char *rest = value;
    for (list->count = 0; list->count < LCP_MAX_LAYERS;) {
        char item[32];
        int64_t layers = 0;
        size_t length = strcspn(rest, ",");
        snprintf(item, sizeof item, "%.*s", length < sizeof item ? (int)length : 0, rest);
        if (!lcp_parse_integer(&layers, item) || layers > LCP_MAX_LAYERS) {
            break;
        }
        list->layers[list->count++] = (int32_t)layers;
        if (rest[length] == '\0') {
            return LCP_OK;
        }
        rest += length + 1;
    }
    return lcp_fail(err, LCP_USAGE, "", "--%s: found '%s', expected the layers of each stage, as 8,8,7", option->name,
                    value);
}

static const char *const ring_methods[] = {"p2p", "all-gather", NULL};
#define AT(field) offsetof(lcp_arguments, field)
#define DEGREE(name, help)                                                                                             \
    {                                                                                                                  \
        0, #name, "N", help, lcp_store_int32, AT(layout.name), 1, 1048576, NULL                                        \
    }
static const lcp_option configuration[] = {
    {0, "for", "NAME[@VERSION]", "the trainer; 'lcplan list trainers'", lcp_store_target, AT(target), 0, 0, NULL},
    DEGREE(dp, "data-parallel degree (what the devices leave)"),
    DEGREE(pp, "pipeline degree (1)"),
    DEGREE(vpp, "virtual stages per pipeline rank (1)"),
    DEGREE(tp, "tensor degree (1)"),
    DEGREE(ulysses, "context degree, all-to-all part (1)"),
    DEGREE(ring, "context degree, ring part (1)"),
    DEGREE(ep, "expert degree (1)"),
    {0, "ring-method", "NAME", "p2p or all-gather", lcp_store_choice, AT(layout.ring_method), 0, 0, ring_methods},
    {0, "zero", "0..3", "ZeRO stage (0)", lcp_store_int32, AT(layout.zero_stage), 0, 3, NULL},
    {0, "micro-batch", "N", "sequences of a micro-batch", lcp_store_int64, AT(micro_sequences), 1, 1e7, NULL},
    {0, "stage-layers", "N,N,...", "layers of each stage", store_stages, AT(stage_layers), 0, 0, NULL},
};
static const lcp_option output[] = {
    {0, "json", NULL, "print JSON", lcp_store_on, AT(json), 0, 0, NULL},
};
static const lcp_option_group own_options = LCP_OPTION_GROUP("What is checked", configuration);
static const lcp_option_group output_options = LCP_OPTION_GROUP("Output", output);
static const lcp_option_group *const groups[] = {&own_options,    &lcp_input_options,  &lcp_batch_options,
                                                 &output_options, &lcp_common_options, NULL};

const lcp_command lcp_command_check = {
    "check", "[PLAN]", "names the rules of a trainer that a plan or a configuration breaks", 0, 1, groups, run};
