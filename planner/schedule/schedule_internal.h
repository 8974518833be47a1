/* What the generators share. */
#ifndef LCP_SCHEDULE_INTERNAL_H
#define LCP_SCHEDULE_INTERNAL_H

#include "lcp/schedule.h"

/* virtual_count stages a rank, stage s on rank s mod p, then head_shards more on ranks 0, 1, ...; room for ops_per_rank
 * operations each, none appended yet. */
lcp_status lcp_schedule_allocate(lcp_schedule *out, const lcp_schedule_input *input, int32_t virtual_count,
                                 int32_t head_shards, int64_t ops_per_rank, lcp_error *err);
/* The same for any number of stages. */
lcp_status lcp_schedule_allocate_stages(lcp_schedule *out, const lcp_schedule_input *input, int32_t stage_count,
                                        int64_t ops_per_rank, lcp_error *err);
void lcp_schedule_append(lcp_schedule *schedule, int32_t rank, lcp_op_kind kind, int32_t chunk, int32_t stage);

/* Stages run down the ranks, up, down, ...: two of them a rank are the V. */
void lcp_schedule_place_wave(lcp_schedule *schedule);

/* Sequences go down and up in turn. Disposes of the schedule when it fails. */
lcp_status lcp_schedule_alternate_directions(lcp_schedule *out, const lcp_schedule_input *input, lcp_error *err);

/* order[i] = chunk of the i-th backward pass: slices of one sequence last first, everything else in forward order.
 * Slices of a sequence must be consecutive chunks (lcp_chunk_links guarantees it). Returns the largest number of slices
 * of one sequence, 1 if nothing is sliced. */
int32_t lcp_schedule_backward_order(int32_t *order, const lcp_schedule_input *input);
bool lcp_schedule_is_sliced(const lcp_schedule_input *input);

/* The virtual stages of a rank: what is asked for, or `own`. */
int32_t lcp_schedule_virtual(const lcp_schedule_input *input, int32_t own);

/* The usual refusals: no chunk; a number of virtual stages that a schedule does not have. */
const char *lcp_schedule_refuse_empty(const lcp_schedule_input *input);
const char *lcp_schedule_refuse_virtual(const lcp_schedule_input *input);
const char *lcp_schedule_refuse_slices(const lcp_schedule_input *input);

/* Times of passes as the generators see them, and what a pass keeps, under the conventions of lcp_schedule_input. */
double lcp_pass_forward_seconds(const lcp_schedule_input *input, int32_t stage, int32_t chunk);
double lcp_pass_backward_seconds(const lcp_schedule_input *input, int32_t stage, int32_t chunk);
double lcp_pass_input_grad_seconds(const lcp_schedule_input *input, int32_t stage, int32_t chunk);
double lcp_pass_weight_grad_seconds(const lcp_schedule_input *input, int32_t stage, int32_t chunk);
double lcp_pass_hop_seconds(const lcp_schedule_input *input, int32_t chunk);
int64_t lcp_pass_kept_bytes(const lcp_schedule_input *input, int32_t stage, int32_t chunk);
int64_t lcp_pass_held_bytes(const lcp_schedule_input *input, int32_t stage, int32_t chunk);

/* Whether an order runs to its end. */
bool lcp_schedule_runs(const lcp_schedule *schedule, const lcp_chunk_link *links);

/* 1F1B with I and W, `depth` times the forward passes ahead. */
lcp_status lcp_schedule_split_1f1b(lcp_schedule *out, const lcp_schedule_input *input, int32_t depth, lcp_error *err);

extern const lcp_schedule_kind lcp_schedule_gpipe;
extern const lcp_schedule_kind lcp_schedule_one_f_one_b;
extern const lcp_schedule_kind lcp_schedule_interleaved;
extern const lcp_schedule_kind lcp_schedule_breadth_first;
extern const lcp_schedule_kind lcp_schedule_zb_h1;
extern const lcp_schedule_kind lcp_schedule_zb_h2;
extern const lcp_schedule_kind lcp_schedule_zb_v;
extern const lcp_schedule_kind lcp_schedule_v_half;
extern const lcp_schedule_kind lcp_schedule_v_min;
extern const lcp_schedule_kind lcp_schedule_dualpipe;
extern const lcp_schedule_kind lcp_schedule_dualpipe_v;
extern const lcp_schedule_kind lcp_schedule_chimera;
extern const lcp_schedule_kind lcp_schedule_hanayo;
extern const lcp_schedule_kind lcp_schedule_sliced_1f1b;
extern const lcp_schedule_kind lcp_schedule_elastic_1f1b;
extern const lcp_schedule_kind lcp_schedule_vocab_1f1b;
extern const lcp_schedule_kind lcp_schedule_offload_half;
extern const lcp_schedule_kind lcp_schedule_offload_full;
extern const lcp_schedule_kind lcp_schedule_list;

#endif
