/* A pipeline of any schedule with durations and memory to fill in. */
#ifndef SCHEDULE_CASE_H
#define SCHEDULE_CASE_H

#include "lcp/schedule.h"

/* All stages alike, by stage or by cell: arrays are [stage][chunk], twice the stages for head shards. */
typedef struct schedule_case {
    int32_t ranks, stages_a_rank, chunks, cells;
    lcp_chunk_link *links;
    double *forward, *backward, *input_grad, *weight_grad, *hop, *reduce, *offload, *recompute;
    int64_t *kept, *held, *none, *resident, *limit;
    lcp_durations durations;
    lcp_memory_input memory;
    lcp_schedule_input input;
    lcp_schedule schedule;
    lcp_replay replay;
    lcp_memory_peak *peaks;
} schedule_case;

/* slices[i] chunks for the i-th sequence; NULL = 1 each. A pass keeps 2, I leaves 1; nothing is limited. */
void case_build(schedule_case *c, int32_t ranks, int32_t stages_a_rank, const int32_t *slices, int32_t sequences);
void case_dispose(schedule_case *c);

/* Every stage takes the same, with backward = input_grad + weight_grad. */
void case_set_equal(schedule_case *c, double forward, double input_grad, double weight_grad, double hop);

/* Generates, replays and measures memory; fails the test if that is refused. */
void case_run(schedule_case *c, const char *name);

double case_largest_busy(const schedule_case *c);
int64_t case_largest_peak(const schedule_case *c);

/* A line of a table without comments, split at commas in place; false at the end. */
bool case_read_row(void *file, char *line, size_t size, char **fields, int count);

#endif
