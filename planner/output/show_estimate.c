#include "output/show_estimate.h"

#include "input/json_fields.h"
#include "output/units.h"

#include <inttypes.h>
#include <math.h>

typedef struct seconds_row {
    const char *key, *label;
    size_t offset;
    bool hidden;
} seconds_row;

#define AT(member) offsetof(lcp_estimate_seconds, member)
static const seconds_row seconds_rows[] = {
    {"matmul", "matrix products", AT(matmul), false},
    {"attention", "attention", AT(attention), false},
    {"elementwise", "element-wise", AT(elementwise), false},
    {"host", "host: launches and passes", AT(host), false},
    {"recompute", "recompute", AT(recompute), false},
    {"exposed_tp", "tensor parallel, exposed", AT(exposed_tp), false},
    {"exposed_cp", "context parallel, exposed", AT(exposed_cp), false},
    {"exposed_ep", "expert parallel, exposed", AT(exposed_ep), false},
    {"exposed_dp", "data parallel, exposed", AT(exposed_dp), false},
    {"exposed_pp", "pipeline sends, exposed", AT(exposed_pp), false},
    {"exposed_offload", "offload, exposed", AT(exposed_offload), false},
    {"bubble", "bubble", AT(bubble), false},
    {"optimizer", "optimizer", AT(optimizer), false},
    {"step_overhead", "overhead of the step", AT(step_overhead), false},
    {"hidden_tp", "tensor parallel, hidden", AT(hidden_tp), true},
    {"hidden_cp", "context parallel, hidden", AT(hidden_cp), true},
    {"hidden_ep", "expert parallel, hidden", AT(hidden_ep), true},
    {"hidden_dp", "data parallel, hidden", AT(hidden_dp), true},
    {"hidden_offload", "offload, hidden", AT(hidden_offload), true},
};
#define SECONDS_ROWS (sizeof seconds_rows / sizeof seconds_rows[0])

static double seconds_at(const lcp_estimate *estimate, const seconds_row *row)
{
    return *(const double *)(const void *)((const char *)&estimate->seconds + row->offset);
}

static const lcp_field memory_fields[] = {
    LCP_INT_FIELD(lcp_estimate_memory, parameters, 0, INT64_MAX),
    LCP_INT_FIELD(lcp_estimate_memory, gradients, 0, INT64_MAX),
    LCP_INT_FIELD(lcp_estimate_memory, optimizer, 0, INT64_MAX),
    LCP_INT_FIELD(lcp_estimate_memory, activations, 0, INT64_MAX),
    LCP_INT_FIELD(lcp_estimate_memory, logits, 0, INT64_MAX),
    LCP_INT_FIELD(lcp_estimate_memory, working, 0, INT64_MAX),
    LCP_INT_FIELD(lcp_estimate_memory, buffers, 0, INT64_MAX),
    LCP_INT_FIELD(lcp_estimate_memory, total, 0, INT64_MAX),
    {.key = NULL},
};

static void show_head(FILE *out, const lcp_estimate_report *r)
{
    const lcp_run *run = r->run;
    const lcp_layout *l = &run->layout;
    const lcp_estimate *e = r->estimate;
    int64_t devices = (int64_t)l->dp * l->pp * l->tp * l->ulysses * l->ring;
    fprintf(out, "%-13s%s on %" PRId64 " %s, %" PRId64 " sequences of %" PRId64 " tokens, microbatches of %" PRId64,
            "estimate", r->model->name, devices, r->cluster->groups[0].device.name, run->global_batch_sequences,
            run->sequence_length_tokens, run->microbatch_sequences);
    fprintf(out, ": %" PRId64 " a replica\n", e->microbatches);
    fprintf(out, "%-13sdp %d, pp %d, vpp %d, tp %d, ulysses %d, ring %d, ep %d, ZeRO %d; %s\n", "parallelism", l->dp,
            l->pp, l->vpp, l->tp, l->ulysses, l->ring, l->ep, l->zero_stage, lcp_run_schedule_names[run->schedule]);
    fprintf(out, "%-13s%s\n", "profile", r->profile != NULL ? r->profile->name : "none: curves of the catalogue");
    fprintf(out, "%-13s%s\n", "iteration", lcp_text_seconds(e->iteration_seconds).text);
    fprintf(out, "%-13s%.1f tokens/s per device, MFU %.2f %%, HFU %.2f %%\n", "throughput",
            e->tokens_per_second_per_device, 100 * e->mfu_ratio, 100 * e->hfu_ratio);
}

static void show_seconds(FILE *out, const lcp_estimate *e)
{
    fprintf(out, "\nwhere the iteration goes, on the busiest rank\n");
    for (size_t i = 0; i < SECONDS_ROWS; i++) {
        double seconds = seconds_at(e, &seconds_rows[i]);
        if (fabs(seconds) > 0) {
            fprintf(out, "  %-28s%12s  %5.1f %%%s\n", seconds_rows[i].label, lcp_text_seconds(seconds).text,
                    100 * seconds / e->iteration_seconds, seconds_rows[i].hidden ? "  beside the rest" : "");
        }
    }
}

static double gib(int64_t bytes)
{
    return (double)bytes / 1073741824.0;
}

static void show_memory(FILE *out, const lcp_estimate *e)
{
    fprintf(out, "\nmemory in GiB\n  %5s %10s %9s %9s %11s %6s %7s %7s %8s\n", "stage", "parameters", "gradients",
            "optimizer", "activations", "logits", "working", "buffers", "total");
    for (int32_t s = 0; s < e->stage_count; s++) {
        const lcp_estimate_memory *m = &e->memory[s];
        fprintf(out, "  %5d %10.2f %9.2f %9.2f %11.2f %6.2f %7.2f %7.2f %8.2f%s\n", (int)s, gib(m->parameters),
                gib(m->gradients), gib(m->optimizer), gib(m->activations), gib(m->logits), gib(m->working),
                gib(m->buffers), gib(m->total), s == e->fullest_stage ? "  the fullest" : "");
    }
    int64_t need = e->memory[e->fullest_stage].total + e->reserve_bytes;
    fprintf(out, "%s: %.2f GiB and %.2f GiB in reserve for the allocator, of %.2f GiB; %.2f GiB %s\n",
            e->fits ? "fits" : "does not fit", gib(e->memory[e->fullest_stage].total), gib(e->reserve_bytes),
            gib(e->capacity_bytes), gib(e->fits ? e->capacity_bytes - need : need - e->capacity_bytes),
            e->fits ? "left" : "too much");
}

/* Where a parameter of the model comes from. */
static void show_origin(FILE *out, const lcp_estimate_report *r, int32_t p)
{
    const lcp_parameter_row *row = &lcp_parameter_rows[p];
    const lcp_parameter_value *v = r->profile != NULL ? &r->profile->values[p] : NULL;
    double value = lcp_parameter_get((lcp_parameter)p, &r->cluster->groups[0].device, &r->run->training);
    fprintf(out, "  %-26s%12.5g %-18s", row->name, value, row->unit);
    if (v != NULL && v->given && !(fabs(v->value - value) > 1e-9 * fabs(value) + 1)) {
        fprintf(out, "profile, +- %.2g\n", v->error);
    } else {
        fprintf(out, "%s\n", row->target == LCP_TARGET_DEVICE ? "catalogue" : "option or default");
    }
}

static void show_constants(FILE *out, const lcp_estimate_report *r)
{
    const lcp_device *device = &r->cluster->groups[0].device;
    const lcp_group *group = &r->cluster->groups[0];
    fprintf(out, "\nconstants, and where they come from\n");
    fprintf(out, "  %-26s%12.5g %-18scatalogue\n", "peak", device->peak_flops_per_second, "FLOP/s");
    fprintf(out, "  %-26s%12.5g %-18scatalogue\n", "memory bandwidth", device->memory_bandwidth_bytes_per_second,
            "B/s");
    fprintf(out, "  %-26s%12.5g %-18scluster\n", "link within a node", group->intra_node.bandwidth_bytes_per_second,
            "B/s");
    fprintf(out, "  %-26s%12.5g %-18scluster\n", "link between nodes", group->inter_node.bandwidth_bytes_per_second,
            "B/s");
    for (int32_t p = 0; p < LCP_PARAMETER_COUNT; p++) {
        show_origin(out, r, p);
    }
    fprintf(out, "  catalogue: %s\n", device->provenance);
    if (r->profile != NULL) {
        fprintf(out, "  profile %s: %s\n", r->profile->name, r->profile->provenance);
    }
}

void lcp_show_estimate(FILE *out, const lcp_estimate_report *report, bool constants)
{
    show_head(out, report);
    show_seconds(out, report->estimate);
    show_memory(out, report->estimate);
    if (constants) {
        show_constants(out, report);
    }
}

static json_t *seconds_json(const lcp_estimate *e)
{
    json_t *out = json_object();
    for (size_t i = 0; out != NULL && i < SECONDS_ROWS; i++) {
        if (!lcp_json_put(out, seconds_rows[i].key, json_real(seconds_at(e, &seconds_rows[i])))) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

static json_t *memory_json(const lcp_estimate *e)
{
    json_t *out = json_array();
    for (int32_t s = 0; out != NULL && s < e->stage_count; s++) {
        if (!lcp_json_append(out, lcp_fields_object(&e->memory[s], memory_fields))) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

static json_t *constants_json(const lcp_estimate_report *r)
{
    json_t *out = json_object();
    for (int32_t p = 0; out != NULL && p < LCP_PARAMETER_COUNT; p++) {
        double value = lcp_parameter_get((lcp_parameter)p, &r->cluster->groups[0].device, &r->run->training);
        if (!lcp_json_put(out, lcp_parameter_rows[p].name, json_real(value))) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

json_t *lcp_show_estimate_json(const lcp_estimate_report *report)
{
    const lcp_estimate *e = report->estimate;
    json_t *out = json_object();
    bool good = out != NULL && lcp_json_put(out, "iteration_seconds", json_real(e->iteration_seconds)) &&
                lcp_json_put(out, "tokens_per_second_per_device", json_real(e->tokens_per_second_per_device)) &&
                lcp_json_put(out, "mfu_ratio", json_real(e->mfu_ratio)) &&
                lcp_json_put(out, "hfu_ratio", json_real(e->hfu_ratio)) &&
                lcp_json_put(out, "microbatches", json_integer(e->microbatches)) &&
                lcp_json_put(out, "breakdown_seconds", seconds_json(e)) &&
                lcp_json_put(out, "memory_bytes", memory_json(e)) &&
                lcp_json_put(out, "fullest_stage", json_integer(e->fullest_stage)) &&
                lcp_json_put(out, "reserve_bytes", json_integer(e->reserve_bytes)) &&
                lcp_json_put(out, "capacity_bytes", json_integer(e->capacity_bytes)) &&
                lcp_json_put(out, "fits", json_boolean(e->fits)) &&
                lcp_json_put(out, "profile", json_string(report->profile != NULL ? report->profile->name : "")) &&
                lcp_json_put(out, "constants", constants_json(report));
    if (!good) {
        json_decref(out);
        return NULL;
    }
    return out;
}

static void show_words(FILE *out, const char *label, const lcp_words *words, const char *none)
{
    fprintf(out, "%-16s", label);
    for (int32_t i = 0; i < words->count; i++) {
        fprintf(out, "%s%s", i > 0 ? ", " : "", words->words[i]);
    }
    fprintf(out, "%s\n", words->count == 0 ? none : "");
}

void lcp_show_profile(FILE *out, const lcp_profile *profile)
{
    fprintf(out, "%-16s%s\n%-16s%s, %s bits\n", "profile", profile->name, "device", profile->device,
            profile->sixteen_bit ? "16 and 32" : "8 and 4");
    show_words(out, "also for", &profile->devices, "no other device");
    fprintf(out, "%-16s%s\n", "stack", profile->stack);
    show_words(out, "frameworks", &profile->frameworks, "any");
    fprintf(out, "%-16s%s attention, dropout %s, loss %s, gradients of %d bytes, ZeRO %d\n", "trains with",
            lcp_attention_core_names[profile->attention_core], profile->dropout ? "on" : "off",
            lcp_loss_names[profile->loss], (int)profile->gradient_bytes, (int)profile->zero_stage);
    fprintf(out, "%-16s%s\n\n", "provenance", profile->provenance);
    fprintf(out, "  %-26s%12s %12s  %-16s %s\n", "parameter", "value", "error", "unit", "meaning");
    for (int32_t p = 0; p < LCP_PARAMETER_COUNT; p++) {
        const lcp_parameter_row *row = &lcp_parameter_rows[p];
        const lcp_parameter_value *v = &profile->values[p];
        if (v->given) {
            fprintf(out, "  %-26s%12.5g %12.2g  %-16s %s\n", row->name, v->value, v->error, row->unit, row->help);
        }
    }
}
