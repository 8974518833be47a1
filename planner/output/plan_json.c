#include "plan_json.h"

#include "input/input.h"
#include "lcp/lcp.h"
#include "plan_fields.h"

/* Everything that is written, for the functions below. */
typedef struct writer {
    const lcp_plan *plan;
    const lcp_problem *problem;
    const lcp_replay *times; /* [dp], or NULL */
} writer;

/* `value` if all went well, else NULL and `value` is released. */
static json_t *finish(json_t *value, bool good)
{
    if (!good) {
        json_decref(value);
        return NULL;
    }
    return value;
}

typedef json_t *element_writer(const writer *w, int64_t index);

static json_t *array_of(const writer *w, int64_t count, element_writer *element)
{
    json_t *array = json_array();
    bool good = array != NULL;
    for (int64_t i = 0; good && i < count; i++) {
        good = lcp_json_append(array, element(w, i));
    }
    return finish(array, good);
}

static json_t *input_to_json(const char *name, const lcp_source *source, json_t *document)
{
    json_t *object = json_object();
    bool good = object != NULL && lcp_json_put(object, "name", json_string(name)) &&
                lcp_json_put(object, "sha256", json_string(source->sha256)) &&
                lcp_json_put(object, "document", json_incref(document));
    json_decref(document);
    return finish(object, good);
}

/* Without the number of threads, which does not change the plan. */
static json_t *options_to_json(const lcp_options *options)
{
    json_t *object = lcp_options_to_json(options);
    return finish(object, object != NULL && json_object_del(object, "threads") == 0);
}

static json_t *inputs_to_json(const lcp_problem *p)
{
    json_t *object = json_object();
    bool good =
        object != NULL &&
        lcp_json_put(object, "model", input_to_json(p->model.name, &p->model_source, lcp_model_to_json(&p->model))) &&
        lcp_json_put(object, "cluster",
                     input_to_json(p->cluster.name, &p->cluster_source, lcp_cluster_to_json(&p->cluster))) &&
        lcp_json_put(object, "workload",
                     input_to_json(p->workload.name, &p->workload_source, lcp_workload_to_json(&p->workload))) &&
        lcp_json_put(object, "options", options_to_json(&p->options));
    return finish(object, good);
}

static json_t *generator_to_json(void)
{
    json_t *object = json_object();
    bool good = object != NULL && lcp_json_put(object, "name", json_string("lcplan")) &&
                lcp_json_put(object, "version", json_string(LCP_VERSION));
    return finish(object, good);
}

static json_t *layout_to_json(const lcp_layout *layout)
{
    json_t *object = lcp_fields_object(layout, lcp_layout_fields);
    return finish(object, object != NULL && lcp_json_put(object, "rank_order", json_string(LCP_RANK_ORDER)));
}

static json_t *rank_to_json(const writer *w, int64_t index)
{
    const lcp_cluster *cluster = &w->problem->cluster;
    lcp_rank_place place = lcp_rank_place_of(&w->plan->layout, cluster, index);
    json_t *object = lcp_fields_object(&place, lcp_rank_fields);
    return finish(object,
                  object != NULL && lcp_json_put(object, "group", json_string(cluster->groups[place.group].name)));
}

static json_t *stage_to_json(const writer *w, int64_t index)
{
    json_t *object = json_object();
    bool good = object != NULL && lcp_json_put(object, "stage", json_integer(index)) &&
                lcp_fields_write(object, &w->plan->stages[index], lcp_stage_fields);
    return finish(object, good);
}

static json_t *sequence_to_json(const writer *w, int64_t index)
{
    json_t *object = json_object();
    bool good = object != NULL && lcp_json_put(object, "sequence", json_integer(index)) &&
                lcp_json_put(object, "length_tokens", json_integer(w->problem->workload.lengths_tokens[index]));
    return finish(object, good);
}

static json_t *segments_to_json(const lcp_chunk *chunk)
{
    json_t *array = json_array();
    bool good = array != NULL;
    for (int32_t i = 0; good && i < chunk->segment_count; i++) {
        good = lcp_json_append(array, lcp_fields_object(&chunk->segments[i], lcp_segment_fields));
    }
    return finish(array, good);
}

static json_t *recompute_entry_to_json(const writer *w, const lcp_chunk_recompute *entry)
{
    json_t *object = json_object();
    bool good = object != NULL && lcp_json_put(object, "stage", json_integer(entry->stage)) &&
                lcp_json_put(object, "policy", json_string(lcp_recompute_rows[entry->policy].name)) &&
                lcp_json_put(object, "layers", json_integer(entry->layers));
    if (good && w->problem->model.class_count > 1) {
        good = lcp_json_put(object, "layer_class", json_integer(entry->layer_class));
    }
    return finish(object, good);
}

static json_t *recompute_to_json(const writer *w, const lcp_plan_chunk *chunk)
{
    json_t *array = json_array();
    bool good = array != NULL;
    for (int32_t i = 0; good && i < chunk->recompute_count; i++) {
        good = lcp_json_append(array, recompute_entry_to_json(w, &chunk->recompute[i]));
    }
    return finish(array, good);
}

static json_t *chunk_to_json(const writer *w, int64_t index)
{
    const lcp_plan_chunk *chunk = &w->plan->chunks[index];
    json_t *object = json_object();
    bool good = object != NULL && lcp_json_put(object, "chunk", json_integer(index)) &&
                lcp_json_put(object, "dp", json_integer(chunk->chunk.dp)) &&
                lcp_json_put(object, "segments", segments_to_json(&chunk->chunk)) &&
                lcp_json_put(object, "recompute", recompute_to_json(w, chunk));
    return finish(object, good);
}

/* op_index counts the ops of the pipeline, ranks concatenated. */
static json_t *op_to_json(const lcp_op *op, bool synchronous, const lcp_replay *times, int64_t op_index)
{
    json_t *array = json_array();
    bool good = array != NULL && lcp_json_append(array, json_string(lcp_op_names[op->kind])) &&
                lcp_json_append(array, json_integer(op->chunk)) && lcp_json_append(array, json_integer(op->stage));
    if (good && !synchronous) {
        good = lcp_json_append(array, json_integer(op->version));
    }
    if (good && times != NULL) {
        good = lcp_json_append(array, json_real(times->start_seconds[op_index])) &&
               lcp_json_append(array, json_real(times->end_seconds[op_index]));
    }
    return finish(array, good);
}

static bool is_synchronous(const lcp_plan *plan)
{
    const lcp_schedule_kind *kind = lcp_schedule_find(plan->schedule_name);
    return kind == NULL || kind->synchronous;
}

static json_t *ops_to_json(const writer *w, int64_t dp, int32_t rank)
{
    const lcp_schedule *schedule = &w->plan->pipelines[dp];
    const lcp_replay *times = w->times != NULL ? &w->times[dp] : NULL;
    int64_t first = times != NULL ? times->rank_first[rank] : 0;
    bool synchronous = is_synchronous(w->plan);
    json_t *array = json_array();
    bool good = array != NULL;
    for (int32_t i = 0; good && i < schedule->op_count[rank]; i++) {
        good = lcp_json_append(array, op_to_json(&schedule->ops[rank][i], synchronous, times, first + i));
    }
    return finish(array, good);
}

static json_t *pipeline_rank_to_json(const writer *w, int64_t dp, int32_t rank)
{
    json_t *object = json_object();
    bool good = object != NULL && lcp_json_put(object, "pp", json_integer(rank)) &&
                lcp_json_put(object, "ops", ops_to_json(w, dp, rank));
    return finish(object, good);
}

static json_t *pipeline_to_json(const writer *w, int64_t dp)
{
    json_t *object = json_object();
    json_t *ranks = json_array();
    bool good = object != NULL && ranks != NULL && lcp_json_put(object, "dp", json_integer(dp)) &&
                lcp_json_put(object, "ranks", json_incref(ranks));
    for (int32_t r = 0; good && r < w->plan->pipelines[dp].rank_count; r++) {
        good = lcp_json_append(ranks, pipeline_rank_to_json(w, dp, r));
    }
    json_decref(ranks);
    return finish(object, good);
}

static json_t *schedule_to_json(const writer *w)
{
    json_t *object = json_object();
    bool good = object != NULL && lcp_json_put(object, "name", json_string(w->plan->schedule_name)) &&
                lcp_json_put(object, "synchronous", json_boolean(is_synchronous(w->plan))) &&
                lcp_json_put(object, "pipelines", array_of(w, w->plan->layout.dp, pipeline_to_json));
    return finish(object, good);
}

static json_t *stage_prediction_to_json(const writer *w, int64_t index)
{
    const lcp_stage_prediction *stage = &w->plan->predicted.stages[index];
    json_t *object = json_object();
    bool good = object != NULL && lcp_json_put(object, "stage", json_integer(index)) &&
                lcp_fields_write(object, stage, lcp_stage_prediction_fields) &&
                lcp_json_put(object, "memory_bytes", lcp_fields_object(&stage->memory, lcp_memory_fields));
    return finish(object, good);
}

static json_t *prediction_to_json(const writer *w)
{
    const lcp_prediction *predicted = &w->plan->predicted;
    json_t *object = lcp_fields_object(predicted, lcp_prediction_fields);
    bool good =
        object != NULL &&
        lcp_json_put(object, "breakdown_seconds", lcp_fields_object(&predicted->breakdown, lcp_breakdown_fields)) &&
        lcp_json_put(object, "stages", array_of(w, w->plan->stage_count, stage_prediction_to_json));
    return finish(object, good);
}

static json_t *rejected_to_json(const lcp_certificate *certificate)
{
    json_t *object = json_object();
    bool good = object != NULL;
    for (int32_t i = 0; good && i < certificate->rejected_count; i++) {
        const lcp_reason_count *row = &certificate->rejected[i];
        good = lcp_json_put(object, row->reason, json_integer(row->count));
    }
    return finish(object, good);
}

static json_t *certificate_to_json(const lcp_certificate *certificate)
{
    json_t *object = lcp_fields_object(certificate, lcp_certificate_fields);
    json_t *candidates = lcp_fields_object(certificate, lcp_candidate_fields);
    json_t *solver = lcp_fields_object(certificate, lcp_solver_fields);
    bool good = object != NULL && candidates != NULL && solver != NULL &&
                lcp_json_put(candidates, "rejected", rejected_to_json(certificate)) &&
                lcp_json_put(object, "candidates", json_incref(candidates)) &&
                lcp_json_put(solver, "name", json_string("GLPK")) &&
                lcp_json_put(object, "solver", json_incref(solver));
    json_decref(candidates);
    json_decref(solver);
    return finish(object, good);
}

static json_t *alternative_to_json(const writer *w, int64_t index)
{
    const lcp_alternative *alternative = &w->plan->alternatives[index];
    json_t *object = json_object();
    bool good = object != NULL && lcp_json_put(object, "parallelism", layout_to_json(&alternative->layout)) &&
                lcp_fields_write(object, alternative, lcp_alternative_fields);
    return finish(object, good);
}

json_t *lcp_plan_to_json(const lcp_plan *plan, const lcp_problem *problem, const lcp_replay *times)
{
    writer w = {plan, problem, times};
    json_t *root = json_object();
    bool good = root != NULL && lcp_json_put(root, "format", json_string(LCP_PLAN_FORMAT)) &&
                lcp_json_put(root, "generator", generator_to_json()) &&
                lcp_json_put(root, "inputs", inputs_to_json(problem)) &&
                lcp_json_put(root, "parallelism", layout_to_json(&plan->layout)) &&
                lcp_json_put(root, "ranks", array_of(&w, lcp_layout_ranks(&plan->layout), rank_to_json)) &&
                lcp_json_put(root, "stages", array_of(&w, plan->stage_count, stage_to_json)) &&
                lcp_json_put(root, "sequences", array_of(&w, problem->workload.sequence_count, sequence_to_json)) &&
                lcp_json_put(root, "chunks", array_of(&w, plan->chunk_count, chunk_to_json)) &&
                lcp_json_put(root, "schedule", schedule_to_json(&w)) &&
                lcp_json_put(root, "predicted", prediction_to_json(&w)) &&
                lcp_json_put(root, "certificate", certificate_to_json(&plan->certificate)) &&
                lcp_json_put(root, "alternatives", array_of(&w, plan->alternative_count, alternative_to_json));
    return finish(root, good);
}

json_t *lcp_plan_batch_to_json(const lcp_plan *plan, const lcp_problem *problem)
{
    writer w = {plan, problem, NULL};
    json_t *root = json_object();
    bool good = root != NULL &&
                lcp_json_put(root, "sequences", array_of(&w, problem->workload.sequence_count, sequence_to_json)) &&
                lcp_json_put(root, "chunks", array_of(&w, plan->chunk_count, chunk_to_json)) &&
                lcp_json_put(root, "schedule", schedule_to_json(&w)) &&
                lcp_json_put(root, "predicted", prediction_to_json(&w));
    return finish(root, good);
}
