/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Networks written out in a scenario: what becomes of them, and what is said of mistakes. */
#include "tests/models/scenario/fixture.h"

#include "models/network/collective.h"
#include "models/network/topology.h"
#include "models/scenario/scenario.h"

static struct fixture fixture;

static void setup(void) {
    fixture_open(&fixture);
}

static void teardown(void) {
    fixture_close(&fixture);
}

static const char *const sets[] = {"training.tp=8", "rollout.tp=8", NULL};

/* The fixture's scenario on 4 nodes with the lines from 18 on below cluster.topology. */
static enum rlhfsim_status load(const char *lines) {
    char with[4096];
    (void)snprintf(with, sizeof with, "  nodes: 4\n  topology:\n%s", lines);
    char *text = fixture_replace(fixture_scenario, "  nodes: 1\n", with);
    fixture_write("s.yaml", text);
    free(text);
    return fixture_load(&fixture, sets);
}

#define SWITCHES                   \
    "    kind: graph\n"            \
    "    switches: [a0..1, top]\n" \
    "    links:\n"
#define LEAVES                                                            \
    "      - {from: node0..1, to: a0, bandwidth: 50 Gbit/s, cables: 8}\n" \
    "      - {from: node2..3, to: a1, bandwidth: 50 Gbit/s, cables: 8}\n"
#define UPLINKS "      - {from: a0..1, to: top, bandwidth: 200 Gbit/s, latency: 1 us}\n"

/* Uplinks of 200 Gbit/s below two nodes of 400: 4:1. */
START_TEST(test_a_leaf_and_a_spine) {
    ck_assert_msg(load(SWITCHES LEAVES UPLINKS) == RLHFSIM_OK, "%s", fixture.errors);
    const struct hardware_cluster *cluster = &fixture.scenario->cluster;
    ck_assert_ptr_eq(cluster->topology.type, &network_topology_graph);
    ck_assert_str_eq(fixture.scenario->topology,
                     "graph: 4 nodes, 3 switches; 32 links to nodes and 2 between switches; routes "
                     "by hops, up to 4 links and 2 us");
    struct network_group across = network_group_strided(cluster, 2, 16);
    assert_relative(across.ring_share, 0.25, 1e-12);
    assert_relative(across.ring_latency_s, 2e-6, 1e-12);
    ck_assert_double_eq(network_group_strided(cluster, 2, 8).ring_share, 1.0);
}
END_TEST

#define RAILS_OF(nic) "      - {from: node0..3.nic" nic ", to: a" nic ", bandwidth: 50 Gbit/s}\n"

/* Eight rails without anything above them, taken by rail; routing by latency. */
START_TEST(test_rails) {
    ck_assert_msg(load("    kind: graph\n"
                       "    placement: by_rail\n"
                       "    routing: latency\n"
                       "    switches:\n"
                       "      - a0..7\n"
                       "    links:\n" RAILS_OF("0") RAILS_OF("1") RAILS_OF("2") RAILS_OF("3")
                           RAILS_OF("4") RAILS_OF("5") RAILS_OF("6") RAILS_OF("7")) == RLHFSIM_OK,
                  "%s", fixture.errors);
    ck_assert_str_eq(fixture.scenario->topology,
                     "graph: 4 nodes by 8 NICs, 8 switches; 32 links to nodes and 0 between "
                     "switches; routes by latency, up to 2 links and 0 us");
    struct network_group all = network_group_strided(&fixture.scenario->cluster, 32, 1);
    ck_assert_double_eq(all.ring_share, 1.0);
    ck_assert_double_eq(all.exchange_share, 1.0);
}
END_TEST

/* The same rails from the kind: as many nodes as a leaf has ports. */
START_TEST(test_leaves_by_rail) {
    ck_assert_msg(load("    kind: leaf_spine\n"
                       "    block_nodes: 1\n"
                       "    oversubscription: 7\n"
                       "    placement: by_rail\n") == RLHFSIM_OK,
                  "%s", fixture.errors);
    ck_assert(fixture.scenario->cluster.topology.by_rail);
    ck_assert_str_eq(fixture.scenario->topology,
                     "leaf and spine by rail: 8 leaves, 8 for each 8 nodes, 7:1 above them; 32 "
                     "links below and 5 above");
    ck_assert_double_eq(network_group_strided(&fixture.scenario->cluster, 2, 16).ring_share, 1.0);
}
END_TEST

struct bad_graph {
    const char *lines, *errors;
};

static const struct bad_graph bad[] = {
    {SWITCHES LEAVES "      - {from: a0, to: a1, bandwidth: 50 Gbit/s}\n",
     "s.yaml:19:23: error: switch 'top' is not joined to any node\n"},
    {"    kind: graph\n"
     "    switches: [a0..1]\n"
     "    links:\n" LEAVES,
     "s.yaml:21:7: error: the graph is disconnected: no links lead from node2 to node1\n"},
    {SWITCHES "      - {from: node0..2, to: a0, bandwidth: 50 Gbit/s}\n"
              "      - {from: a0..1, to: top, bandwidth: 50 Gbit/s}\n",
     "s.yaml:21:7: error: node3 has no link, expected all nodes to be attached\n"},
    {SWITCHES LEAVES "      - {from: a0..1, to: topp, bandwidth: 200 Gbit/s}\n",
     "s.yaml:23:27: error: to of a link is 'topp', which is no switch of "
     "cluster.topology.switches and no node; did you mean 'top'?\n"},
    {SWITCHES LEAVES UPLINKS "      - {from: top, to: a1, bandwidth: 200 Gbit/s}\n",
     "s.yaml:24:9: error: the link of top and a1 is written twice, first at line 23; `cables` says "
     "how many are side by side\n"},
    {SWITCHES LEAVES "      - {from: a0..1, to: top, bandwidth: -200 Gbit/s}\n",
     "s.yaml:23:43: error: cluster.topology.links.bandwidth is '-200 Gbit/s', expected a quantity "
     "above 0 and at most 1e+15 bytes/s (units kB/s, MB/s, GB/s, TB/s, MiB/s, GiB/s, Gbit/s)\n"},
    {SWITCHES LEAVES "      - {from: a0..1, to: top}\n",
     "s.yaml:23:9: error: a link has no bandwidth, expected from, to and bandwidth\n"},
    {SWITCHES LEAVES "      - {from: a0..1, to: top, bandwith: 200 Gbit/s}\n",
     "s.yaml:23:32: error: unknown key 'bandwith' of a link, expected from, to, bandwidth, latency "
     "or cables; did you mean 'bandwidth'?\n"},
    {SWITCHES LEAVES UPLINKS "      - a0 - top\n",
     "s.yaml:24:9: error: a link is 'a0 - top', expected a mapping as {from: node0, to: leaf0, "
     "bandwidth: 400 Gbit/s}\n"},
    {SWITCHES "      - {from: node0..4, to: a0, bandwidth: 50 Gbit/s}\n",
     "s.yaml:21:16: error: node4 is not there: cluster.nodes is 4, so they are node0 to node3\n"},
    {SWITCHES "      - {from: node0.nic8, to: a0, bandwidth: 50 Gbit/s}\n",
     "s.yaml:21:16: error: nic8 is not there: a node has nic0 to nic7, one for each of its GPUs\n"},
    {SWITCHES "      - {from: node0, to: node1, bandwidth: 50 Gbit/s}\n",
     "s.yaml:21:9: error: a link joins two nodes, expected a switch at one end\n"},
    {SWITCHES LEAVES "      - {from: a0..1, to: a0, bandwidth: 50 Gbit/s}\n",
     "s.yaml:23:9: error: a link joins a0 with itself\n"},
    {SWITCHES LEAVES UPLINKS "      - {from: node3.nic0, to: a0, bandwidth: 50 Gbit/s}\n",
     "s.yaml:24:16: error: nodes are attached by their NICs here and as a whole at line 21, "
     "expected one way for all\n"},
    {SWITCHES "      - {from: a1..0, to: top, bandwidth: 50 Gbit/s}\n",
     "s.yaml:21:16: error: from of a link is 'a1..0', expected a switch, a node as node3 or "
     "node3.nic0, or a range as leaf0..3 or node0..7.nic0\n"},
    {"    kind: graph\n"
     "    switches: [a0..1, a1]\n"
     "    links:\n" LEAVES,
     "s.yaml:19:23: error: switch 'a1' is written twice, first at line 19\n"},
    {"    kind: graph\n"
     "    switches: [node7]\n"
     "    links:\n" LEAVES,
     "s.yaml:19:16: error: a switch is 'node7', but names such as node0 are the nodes'\n"},
    {"    kind: graph\n"
     "    switches: a0\n"
     "    links:\n" LEAVES,
     "s.yaml:19:15: error: cluster.topology.switches is 'a0', expected a list of names of "
     "switches\n"},
    {"    kind: graph\n"
     "    switches: [a0]\n",
     "s.yaml:18:11: error: the topology graph needs cluster.topology.links\n"},
    {"    placement: by_rail\n" SWITCHES LEAVES UPLINKS,
     "s.yaml:18:16: error: cluster.topology.placement is by_rail, which needs nodes attached by "
     "their NICs, as node0.nic0\n"},
    {"    placement: spread\n" SWITCHES LEAVES UPLINKS,
     "s.yaml:18:16: error: cluster.topology.placement is spread, but a graph says where each node "
     "is; expected packed or by_rail\n"},
    {"    placement: by_rail\n"
     "    kind: fat_tree\n",
     "s.yaml:18:16: error: cluster.topology.placement is by_rail, which is for leaf_spine, "
     "rail_optimised and graph, not for fat_tree\n"},
    {"    kind: fat_tree\n"
     "    routing: hops\n",
     "s.yaml:19:5: error: cluster.topology.routing is not used by the topology fat_tree; leave it "
     "out\n"},
};

START_TEST(test_bad_graph) {
    ck_assert_int_eq(load(bad[_i].lines), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors, bad[_i].errors);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("scenario.graph");
    TCase *tests = tcase_create("graphs");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, test_a_leaf_and_a_spine);
    tcase_add_test(tests, test_rails);
    tcase_add_test(tests, test_leaves_by_rail);
    tcase_add_loop_test(tests, test_bad_graph, 0, sizeof bad / sizeof *bad);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
