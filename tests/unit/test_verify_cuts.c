/* Verification of inputs, degrees, stages and segments: one broken plan for every reason. */
#include "support.h"
#include "verify_fixture.h"

static lcp_segment *segment(plan_fixture *f, int32_t index)
{
    return &f->plan.segments[index];
}

static void empty_sequence(plan_fixture *f)
{
    f->problem.workload.lengths_tokens[1] = 0;
}
static void long_sequence(plan_fixture *f)
{
    f->problem.workload.max_length_tokens = 2000;
}
static void beyond_positions(plan_fixture *f)
{
    f->problem.model.learned_positions = true;
    f->problem.model.max_position_tokens = 4095;
}
static void no_layers(plan_fixture *f)
{
    f->problem.model.layer_count = 0;
}

static void too_many_devices(plan_fixture *f)
{
    f->plan.layout.tp = 4;
}
static void too_few_devices(plan_fixture *f)
{
    f->plan.layout.tp = 1;
}
static void wide_tensor_group(plan_fixture *f)
{
    f->plan.layout.dp = 1;
    f->plan.layout.pp = 1;
    f->plan.layout.tp = 8;
}
static void odd_experts(plan_fixture *f)
{
    f->plan.layout.ep = 3;
}
static void deep_pipeline(plan_fixture *f)
{
    f->plan.layout.dp = 1;
    f->plan.layout.tp = 1;
    f->plan.layout.pp = 8;
}
static void virtual_stages(plan_fixture *f)
{
    f->plan.layout.vpp = 2;
}
static void zero_two(plan_fixture *f)
{
    f->plan.layout.zero_stage = 2;
}
static void make_ring(plan_fixture *f)
{
    f->plan.layout.tp = 1;
    f->plan.layout.ring = 2;
    f->plan.layout.sequence_parallel = false;
}
static void sequences_not_parallel(plan_fixture *f)
{
    f->plan.layout.sequence_parallel = false;
}
static void ring_with_sinks(plan_fixture *f)
{
    make_ring(f);
    f->problem.model.attention_needs_all_keys = true;
}
static void ring_over_windows(plan_fixture *f)
{
    make_ring(f);
    f->plan.layout.ring_method = LCP_RING_P2P;
}
static void odd_heads(plan_fixture *f)
{
    f->problem.model.classes[0].attention.heads = 3;
}
static void odd_heads_of_ulysses(plan_fixture *f)
{
    odd_heads(f);
    f->plan.layout.tp = 1;
    f->plan.layout.sequence_parallel = false;
    f->plan.layout.ulysses = 2;
}
static void odd_kv_heads(plan_fixture *f)
{
    f->problem.model.classes[1].attention.kv_heads = 3;
}
static void odd_width(plan_fixture *f)
{
    f->problem.model.classes[0].ffn.size = 127;
}
static void three_experts(plan_fixture *f)
{
    f->plan.layout.ep = 2;
    f->problem.model.classes[1].ffn = (lcp_ffn){.kind = LCP_FFN_MOE, .size = 128, .experts = 3};
}
static void odd_shared_experts(plan_fixture *f)
{
    f->problem.model.classes[1].ffn =
        (lcp_ffn){.kind = LCP_FFN_MOE, .size = 128, .experts = 4, .shared_experts = 1, .shared_size = 33};
}

static void layer_left_out(plan_fixture *f)
{
    f->plan.stages[0].layer_count = 2;
}
static void one_layer_too_many(plan_fixture *f)
{
    f->plan.stages[1].layer_count = 2;
}
static void empty_stage(plan_fixture *f)
{
    f->plan.stages[0].layer_count = 0;
}
static void no_embedding(plan_fixture *f)
{
    f->plan.stages[0].embedding = false;
}
static void two_heads(plan_fixture *f)
{
    f->plan.stages[0].head = true;
}
static void same_rank_twice(plan_fixture *f)
{
    f->plan.stages[1].pp = 0;
}
static void one_stage(plan_fixture *f)
{
    f->plan.stage_count = 1;
}

static void hole(plan_fixture *f)
{
    segment(f, 1)->offset_tokens += 2;
    segment(f, 1)->length_tokens -= 2;
}
static void overlap(plan_fixture *f)
{
    segment(f, 0)->length_tokens += 2;
}
static void beyond_end(plan_fixture *f)
{
    segment(f, 2)->length_tokens = 1001;
}
static void tokens_missing(plan_fixture *f)
{
    segment(f, 1)->length_tokens--;
    segment(f, 1)->has_successor = true;
}
static void successor_denied(plan_fixture *f)
{
    segment(f, 0)->has_successor = false;
}
static void sequence_twice(plan_fixture *f)
{
    segment(f, 3)->sequence = 1;
}
static void unknown_sequence(plan_fixture *f)
{
    segment(f, 3)->sequence = 3;
}
static void negative_sequence(plan_fixture *f)
{
    segment(f, 3)->sequence = -1;
}
static void cut_at_odd_token(plan_fixture *f)
{
    segment(f, 0)->length_tokens--;
    segment(f, 1)->offset_tokens--;
    segment(f, 1)->length_tokens++;
}
static void slices_backwards(plan_fixture *f)
{
    lcp_segment first = *segment(f, 0);
    *segment(f, 0) = *segment(f, 1);
    *segment(f, 1) = first;
}
static void slices_apart(plan_fixture *f)
{
    f->plan.chunks[1].chunk.dp = 1;
}
static void third_replica(plan_fixture *f)
{
    f->plan.chunks[2].chunk.dp = 2;
}
static void replicas_descend(plan_fixture *f)
{
    f->plan.chunks[0].chunk.dp = 1;
}
static void empty_chunk(plan_fixture *f)
{
    f->plan.chunks[2].chunk.segment_count = 0;
}
static void two_slices_in_one(plan_fixture *f)
{
    f->plan.chunks[0].chunk.segment_count = 2;
}

static const damage damages[] = {
    {"inputs", "$.sequences[1]", empty_sequence},
    {"inputs", "$.sequences[0]", long_sequence},
    {"inputs", "$.sequences[0]", beyond_positions},
    {"inputs", "$.inputs", no_layers},
    {"degrees", "$.parallelism", too_many_devices},
    {"degrees", "$.parallelism", too_few_devices},
    {"degrees", "$.parallelism.tp", wide_tensor_group},
    {"degrees", "$.parallelism.ep", odd_experts},
    {"degrees", "$.parallelism.pp", deep_pipeline},
    {"stages", "$.stages", virtual_stages},
    {"degrees", "$.parallelism.zero_stage", zero_two},
    {"degrees", "$.parallelism.sequence_parallel", sequences_not_parallel},
    {"degrees", "$.parallelism.ring", ring_with_sinks},
    {"degrees", "$.parallelism.ring", ring_over_windows},
    {"degrees", "$.parallelism.tp", odd_heads},
    {"degrees", "$.parallelism.ulysses", odd_heads_of_ulysses},
    {"degrees", "$.parallelism.tp", odd_kv_heads},
    {"degrees", "$.parallelism.tp", odd_width},
    {"degrees", "$.parallelism.ep", three_experts},
    {"degrees", "$.parallelism.tp", odd_shared_experts},
    {"stages", "$.stages[1]", layer_left_out},
    {"stages", "$.stages", one_layer_too_many},
    {"stages", "$.stages[0]", empty_stage},
    {"stages", "$.stages[0]", no_embedding},
    {"stages", "$.stages[0]", two_heads},
    {"stages", "$.stages[1]", same_rank_twice},
    {"stages", "$.stages", one_stage},
    {"segments", "$.chunks[1].segments[0]", hole},
    {"segments", "$.chunks[1].segments[0]", overlap},
    {"segments", "$.chunks[2].segments[0]", beyond_end},
    {"segments", "$.sequences[0]", tokens_missing},
    {"segments", "$.chunks[0].segments[0]", successor_denied},
    {"segments", "$.chunks[2].segments[1]", sequence_twice},
    {"segments", "$.chunks[2].segments[1]", unknown_sequence},
    {"segments", "$.chunks[2].segments[1]", negative_sequence},
    {"segments", "$.chunks[1].segments[0]", cut_at_odd_token},
    {"segments", "$.chunks[0].segments[0]", slices_backwards},
    {"segments", "$.chunks[1].segments[0]", slices_apart},
    {"segments", "$.chunks[2].dp", third_replica},
    {"segments", "$.chunks[1].dp", replicas_descend},
    {"segments", "$.chunks[2].segments", empty_chunk},
    {"segments", "$.chunks[0].segments", two_slices_in_one},
};

static void every_rule_finds_what_breaks_it(void **state)
{
    (void)state;
    assert_found(damages, sizeof damages / sizeof damages[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_finds_what_breaks_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
