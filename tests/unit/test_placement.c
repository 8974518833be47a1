#include "support.h"

#include "cost_fixture.h"

typedef struct placement_row {
    const char *name;
    int64_t nodes;
    int32_t dp, pp, tp, ulysses, ring, ep;
    int64_t ranks_per_node[7]; /* tp, ulysses, ring, ep, dp, expert_dp, pp */
} placement_row;

/* Nodes of 8. dp stands for dp * cp ranks at a stride of tp; expert_dp has a stride of ep. */
static const placement_row rows[] = {
    {"all in one node", 1, 1, 1, 2, 2, 2, 2, {2, 2, 2, 2, 4, 4, 1}},
    {"tp fills the node", 4, 4, 1, 8, 1, 1, 8, {8, 1, 1, 8, 1, 1, 1}},
    {"tp over two nodes", 4, 2, 1, 16, 1, 1, 1, {8, 1, 1, 1, 1, 8, 1}},
    {"ulysses outside tp", 2, 1, 1, 4, 4, 1, 1, {4, 2, 1, 1, 2, 8, 1}},
    {"ring over nodes", 4, 1, 1, 2, 4, 4, 1, {2, 4, 1, 1, 4, 8, 1}},
    {"stages inside a node", 1, 1, 2, 4, 1, 1, 1, {4, 1, 1, 1, 1, 4, 2}},
    {"stages of one node", 4, 2, 4, 4, 1, 1, 4, {4, 1, 1, 4, 2, 2, 1}},
    {"experts over nodes", 4, 32, 1, 1, 1, 1, 16, {1, 1, 1, 8, 8, 1, 1}},
    /* 3 ranks each on nodes of 8: ranks 6, 7 | 8 straddle */
    {"odd tp straddles nodes", 3, 8, 1, 3, 1, 1, 1, {1, 1, 1, 1, 2, 8, 1}},
};
#define ROWS (sizeof rows / sizeof rows[0])

static void ranks_per_node_as_drawn(void **state)
{
    const placement_row *row = *state;
    cost_fixture f;
    fixture_llama(&f);
    fixture_ideal_cluster(&f, row->nodes);
    f.layout = fixture_layout(row->dp, row->pp, row->tp, row->ulysses, row->ring);
    f.layout.ep = row->ep;
    fixture_prepare(&f);
    const lcp_group_placement *groups[] = {&f.cost.tp, &f.cost.ulysses,   &f.cost.ring, &f.cost.ep,
                                           &f.cost.dp, &f.cost.expert_dp, &f.cost.pp};
    for (int i = 0; i < 7; i++) {
        assert_int_equal(groups[i]->ranks_per_node, row->ranks_per_node[i]);
        if (groups[i]->ranks > groups[i]->ranks_per_node) {
            assert_close(groups[i]->inter.bandwidth_bytes_per_second, 0.85 * 10e9, 1e-12);
        }
    }
}

static void ranks_of_each_group(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_llama(&f);
    fixture_ideal_cluster(&f, 16);
    f.layout = fixture_layout(4, 2, 4, 2, 2);
    f.layout.ep = 8;
    fixture_prepare(&f);
    assert_int_equal(f.cost.tp.ranks, 4);
    assert_int_equal(f.cost.ulysses.ranks, 2);
    assert_int_equal(f.cost.ring.ranks, 2);
    assert_int_equal(f.cost.ep.ranks, 8);
    assert_int_equal(f.cost.dp.ranks, 4 * 2 * 2);
    assert_int_equal(f.cost.expert_dp.ranks, 4 * 4 * 2 * 2 / 8);
    assert_int_equal(f.cost.pp.ranks, 2);
}

static void two_groups(cost_fixture *f)
{
    fixture_llama(f);
    fixture_ideal_cluster(f, 2);
    f->groups[1] = f->groups[0];
    f->cluster.group_count = 2;
    f->links[0] = (lcp_group_link){.from = 1, .to = 0, .link = {1e9, 1e-3}};
    f->cluster.link_count = 1;
}

static void groups_meet_on_the_slow_link(void **state)
{
    (void)state;
    cost_fixture f;
    two_groups(&f);
    /* Data parallel ranks over all four nodes cross it, tensor-parallel ones do not. */
    f.layout = fixture_layout(4, 1, 8, 1, 1);
    fixture_prepare(&f);
    assert_close(f.cost.dp.inter.bandwidth_bytes_per_second, 0.85e9, 1e-12);
    assert_close(f.cost.dp.inter.latency_seconds, 1e-3, 1e-12);
    assert_int_equal(f.cost.tp.ranks_per_node, 8);
    /* Two stages of two nodes: data-parallel ranks stay inside a group, the boundary is the link. */
    f.layout = fixture_layout(2, 2, 8, 1, 1);
    fixture_prepare(&f);
    assert_close(f.cost.dp.inter.bandwidth_bytes_per_second, 0.85 * 10e9, 1e-12);
    assert_close(f.cost.pp.inter.bandwidth_bytes_per_second, 0.85e9, 1e-12);
}

static void intra_bandwidth_is_what_collectives_reach(void **state)
{
    (void)state;
    cost_fixture f;
    fixture_llama(&f);
    fixture_ideal_cluster(&f, 1);
    f.groups[0].device.collective_ratio = 0.5;
    f.layout = fixture_layout(1, 1, 8, 1, 1);
    fixture_prepare(&f);
    assert_close(f.cost.tp.intra.bandwidth_bytes_per_second, 50e9, 1e-12);
}

int main(void)
{
    struct CMUnitTest tests[ROWS + 3];
    size_t count = 0;
    for (; count < ROWS; count++) {
        tests[count] = (struct CMUnitTest){.name = rows[count].name,
                                           .test_func = ranks_per_node_as_drawn,
                                           .initial_state = (void *)(uintptr_t)&rows[count]};
    }
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(ranks_of_each_group);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(groups_meet_on_the_slow_link);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(intra_bandwidth_is_what_collectives_reach);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
