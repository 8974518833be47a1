#include "output/plan_figures.h"

#include <stddef.h>
#include <string.h>

#define AT(field) offsetof(lcp_breakdown, field)
const lcp_breakdown_part lcp_breakdown_parts[LCP_BREAKDOWN_PARTS] = {
    {"compute", "products, attention, element-wise work", AT(compute)},
    {"recompute", "work done twice to save memory", AT(recompute)},
    {"exposed_tp", "tensor-parallel traffic not hidden", AT(exposed_tp)},
    {"exposed_cp", "context-parallel traffic not hidden", AT(exposed_cp)},
    {"exposed_pp", "waiting for a neighbouring stage's transfer", AT(exposed_pp)},
    {"exposed_ep", "expert traffic not hidden", AT(exposed_ep)},
    {"exposed_dp", "gradient and parameter exchange not hidden", AT(exposed_dp)},
    {"optimizer", "parameter update", AT(optimizer)},
    {"bubble", "idle in the pipeline", AT(bubble)},
};

double lcp_breakdown_value(const lcp_breakdown *breakdown, size_t part)
{
    double value;
    memcpy(&value, (const char *)breakdown + lcp_breakdown_parts[part].offset, sizeof value);
    return value;
}

int64_t lcp_chunk_tokens(const lcp_chunk *chunk)
{
    int64_t tokens = 0;
    for (int32_t i = 0; i < chunk->segment_count; i++) {
        tokens += chunk->segments[i].length_tokens;
    }
    return tokens;
}

static void take_segments(lcp_plan_figures *out, const lcp_chunk *chunk)
{
    int32_t whole = 0;
    for (int32_t i = 0; i < chunk->segment_count; i++) {
        const lcp_segment *segment = &chunk->segments[i];
        whole += segment->offset_tokens == 0 && !segment->has_successor;
        out->sliced_sequences += segment->offset_tokens == 0 && segment->has_successor;
    }
    out->packs += whole > 1 && whole == chunk->segment_count;
    out->hybrids += whole > 0 && whole < chunk->segment_count;
}

static void take_chunks(lcp_plan_figures *out, const lcp_plan *plan)
{
    int32_t of_rank = 0;
    for (int32_t i = 0; i < plan->chunk_count; i++) {
        const lcp_chunk *chunk = &plan->chunks[i].chunk;
        int64_t tokens = lcp_chunk_tokens(chunk);
        out->least_tokens = i == 0 || tokens < out->least_tokens ? tokens : out->least_tokens;
        out->most_tokens = tokens > out->most_tokens ? tokens : out->most_tokens;
        out->most_segments = chunk->segment_count > out->most_segments ? chunk->segment_count : out->most_segments;
        take_segments(out, chunk);
        of_rank++;
        if (i + 1 == plan->chunk_count || plan->chunks[i + 1].chunk.dp != chunk->dp) {
            out->least_chunks = out->least_chunks == 0 || of_rank < out->least_chunks ? of_rank : out->least_chunks;
            out->most_chunks = of_rank > out->most_chunks ? of_rank : out->most_chunks;
            of_rank = 0;
        }
    }
}

static double recomputed_ratio(const lcp_plan *plan, int32_t layer_count)
{
    int64_t layers = 0;
    for (int32_t i = 0; i < plan->chunk_count; i++) {
        for (int32_t j = 0; j < plan->chunks[i].recompute_count; j++) {
            const lcp_chunk_recompute *entry = &plan->chunks[i].recompute[j];
            layers += entry->policy != LCP_RECOMPUTE_NONE ? entry->layers : 0;
        }
    }
    double all = (double)plan->chunk_count * (double)layer_count;
    return all > 0 ? (double)layers / all : 0;
}

lcp_plan_figures lcp_plan_figures_of(const lcp_plan *plan, const lcp_problem *problem)
{
    lcp_plan_figures out = {0};
    out.device_bytes = problem->cluster.group_count > 0 ? problem->cluster.groups[0].device.memory_bytes : 0;
    for (int32_t s = 0; s < plan->stage_count; s++) {
        if (s == 0 || plan->predicted.stages[s].peak_memory_bytes > out.fullest_bytes) {
            out.fullest_stage = s;
            out.fullest_bytes = plan->predicted.stages[s].peak_memory_bytes;
        }
    }
    take_chunks(&out, plan);
    out.recomputed_ratio = recomputed_ratio(plan, problem->model.layer_count);
    return out;
}
