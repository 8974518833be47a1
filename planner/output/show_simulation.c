#include "simulation.h"

static int32_t stages_of(const lcp_schedule *schedule, int32_t rank)
{
    int32_t count = 0;
    for (int32_t s = 0; s < schedule->stage_count; s++) {
        count += schedule->stage_rank[s] == rank;
    }
    return schedule->chunk_direction != NULL ? 2 * count : count;
}

static void show_ranks(FILE *out, const lcp_simulated *s)
{
    fprintf(out, "%6s %7s %12s %7s %10s %10s %10s %10s %12s\n", "rank", "stages", "busy s", "busy %", "warm-up s",
            "inside s", "drain s", "exposed s", "peak GB");
    for (int32_t r = 0; r < s->schedule.rank_count; r++) {
        lcp_idle idle = lcp_simulated_idle(s, r);
        double busy = s->replay.busy_seconds[r];
        fprintf(out, "%6d %7d %12.6g %7.1f %10.4g %10.4g %10.4g %10.4g %12.2f%s\n", r, stages_of(&s->schedule, r), busy,
                100 * busy / s->replay.makespan_seconds, idle.warm_up_seconds, idle.inside_seconds, idle.drain_seconds,
                s->replay.exposed_seconds[r], (double)s->peaks[r].peak_bytes / 1e9,
                s->peaks[r].peak_bytes > s->capacity_bytes ? "  more than a device has" : "");
    }
}

void lcp_show_simulation(FILE *out, const lcp_simulated *s, const lcp_simulation_figures *f)
{
    fprintf(out, "%s: %d ranks, %d stages, %d chunks", f->schedule, s->schedule.rank_count, s->schedule.stage_count,
            s->schedule.chunk_count);
    if (f->pipelines > 1) {
        fprintf(out, " in pipeline %d of %d%s", s->dp, f->pipelines, f->slowest ? ", the slowest" : "");
    }
    fprintf(out, "\n");
    fprintf(out, "iteration   %.6g s if ranks wait for the last one at the end\n", s->replay.makespan_seconds);
    fprintf(out, "span        %.6g s, the longest of a rank from its first pass to the end of its step\n",
            s->replay.span_seconds);
    show_ranks(out, s);
    fprintf(out, "sends       one at a time: %s\n", f->blocking == NULL ? "get to the end" : f->blocking);
    fprintf(out, "            in groups between passes: %s\n", f->batched == NULL ? "get to the end" : f->batched);
    if (f->spread.runs > 0) {
        fprintf(out, "%d runs     mean %.6g s, 5 %% %.6g s, median %.6g s, 95 %% %.6g s, 99 %% %.6g s, worst %.6g s\n",
                f->spread.runs, f->spread.mean_seconds, f->spread.p5_seconds, f->spread.p50_seconds,
                f->spread.p95_seconds, f->spread.p99_seconds, f->spread.largest_seconds);
    }
}

static json_t *ranks_json(const lcp_simulated *s)
{
    json_t *ranks = json_array();
    for (int32_t r = 0; ranks != NULL && r < s->schedule.rank_count; r++) {
        lcp_idle idle = lcp_simulated_idle(s, r);
        json_t *rank =
            json_pack("{s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:I}", "rank", r, "stages", stages_of(&s->schedule, r),
                      "busy_seconds", s->replay.busy_seconds[r], "warm_up_seconds", idle.warm_up_seconds,
                      "inside_seconds", idle.inside_seconds, "drain_seconds", idle.drain_seconds, "exposed_seconds",
                      s->replay.exposed_seconds[r], "peak_memory_bytes", (json_int_t)s->peaks[r].peak_bytes);
        if (json_array_append_new(ranks, rank) != 0) {
            json_decref(ranks);
            return NULL;
        }
    }
    return ranks;
}

json_t *lcp_show_simulation_json(const lcp_simulated *s, const lcp_simulation_figures *f)
{
    json_t *document =
        json_pack("{s:s, s:i, s:i, s:i, s:i, s:f, s:f, s:I, s:o, s:{s:s?, s:s?}}", "schedule", f->schedule, "pipeline",
                  s->dp, "ranks", s->schedule.rank_count, "stages", s->schedule.stage_count, "chunks",
                  s->schedule.chunk_count, "iteration_seconds", s->replay.makespan_seconds, "span_seconds",
                  s->replay.span_seconds, "capacity_bytes", (json_int_t)s->capacity_bytes, "rank_figures",
                  ranks_json(s), "sends_that_wait", "one_at_a_time", f->blocking, "in_groups", f->batched);
    if (document != NULL && f->spread.runs > 0) {
        json_object_set_new(document, "runs",
                            json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:f}", "count", f->spread.runs, "mean_seconds",
                                      f->spread.mean_seconds, "p5_seconds", f->spread.p5_seconds, "p50_seconds",
                                      f->spread.p50_seconds, "p95_seconds", f->spread.p95_seconds, "p99_seconds",
                                      f->spread.p99_seconds, "largest_seconds", f->spread.largest_seconds));
    }
    return document;
}
