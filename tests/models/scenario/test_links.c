/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fabrics of nodes and rows of weight syncs: what comes to a scenario from fabrics.csv and
 * weight_sync.csv, and what is said of mistakes. */
#include "tests/models/scenario/fixture.h"

#include "models/network/topology.h"
#include "models/scenario/scenario.h"

static struct fixture fixture;

static void setup(void) {
    fixture_open(&fixture);
    fixture_write("fabrics.csv", fixture_fabrics);
    fixture_write("weight_sync.csv", fixture_weight_sync);
}

static void teardown(void) {
    fixture_close(&fixture);
}

/* The fixture's scenario with one line replaced. */
static enum rlhfsim_status load_with(const char *find, const char *with, const char *const *sets) {
    char *text = fixture_replace(fixture_scenario, find, with);
    fixture_write("s.yaml", text);
    free(text);
    return fixture_load(&fixture, sets);
}

static const struct hardware_node *node_of(const char *mapping) {
    char with[512];
    (void)snprintf(with, sizeof with, "  node: %s\n", mapping);
    enum rlhfsim_status status = load_with("  node: box\n", with, NULL);
    ck_assert_msg(status == RLHFSIM_OK, "%s", fixture.errors);
    return &fixture.scenario->cluster.node;
}

/* The fabric's figures come where the node has none of its own; `like` keeps those of box. */
START_TEST(test_fabrics_fill_gaps) {
    const struct hardware_node *node =
        node_of("{like: box, scaleup_fabric: wire, network_fabric: net, domain_gpus: 16}");
    ck_assert_int_eq(node->domain_gpus, 16);
    ck_assert_double_eq(node->scaleup_efficiency, 0.7); /* box */
    ck_assert_str_eq(node->scaleup.name, "wire");
    assert_relative(node->scaleup.chunk_s, 3e-6, 1e-15);
    ck_assert_double_eq(node->scaleup.own_copy, 0.2);
    ck_assert_double_eq(node->scaleup.ring_of_2, 0.8);
    ck_assert_double_eq(node->scaleup.alltoall_of_4, 0.85);
    assert_relative(node->scaleup.alltoall_start_s, 11e-6, 1e-15);
    ck_assert_int_eq(node->scaleup.switch_members, 6);
    ck_assert_double_eq(node->scaleup.direct_of_2, 0.3);
    ck_assert_double_eq(node->network.tree, 0.75);
    ck_assert_double_eq(node->network.tree_inside, 0.5);
    ck_assert_double_eq(node->network.pair_inside, 0.9);
    ck_assert_double_eq(node->network.alltoall_loss, 0.01);
    assert_relative(node->network.uncertainty_send, 0.45, 1e-15);
}
END_TEST

START_TEST(test_fabrics_of_a_whole_node) {
    static const char *const price[] = {"prices.node_usd_per_hour=9", NULL};
    enum rlhfsim_status status = load_with(
        "  node: box\n",
        "  node: {name: ours, gpu: g90, gpus: 4, host_memory_gib: 512, scaleup_fabric: wire}\n",
        price);
    ck_assert_msg(status == RLHFSIM_OK, "%s", fixture.errors);
    const struct hardware_node *node = &fixture.scenario->cluster.node;
    ck_assert_double_eq(node->scaleup_efficiency, 0.6);
    assert_relative(node->scaleup_latency_s, 2e-6, 1e-15);
    assert_relative(node->collective_start_s, 9e-6, 1e-15);
}
END_TEST

struct bad {
    const char *find, *with, *errors;
};

static const struct bad bad[] = {
    {"  node: box\n", "  node: {like: box, scaleup_fabric: wires}\n",
     "s.yaml:15:37: error: scaleup_fabric is 'wires', which is not in fabrics.csv; did you mean "
     "'wire'?\n"},
    {"  node: box\n", "  node: {like: box, network_fabric: wire}\n",
     "s.yaml:15:37: error: network_fabric is 'wire', which does not join nodes, expected one whose "
     "use is 'between'\n"},
    {"  node: box\n", "  node: {like: box, domain_gpus: 12}\n",
     "s.yaml:15:34: error: domain_gpus is 12, expected a multiple of the node's 8 GPUs\n"},
};

START_TEST(test_bad_fabric) {
    ck_assert_int_eq(load_with(bad[_i].find, bad[_i].with, NULL), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors, bad[_i].errors);
}
END_TEST

/* ---- weight sync ----------------------------------------------------------------------------- */

START_TEST(test_a_weight_sync_of_the_scenario) {
    static const char *const sets[] = {"rollout.weight_sync=engine", NULL};
    ck_assert_int_eq(load_with("  node: box\n", "  node: box\n", sets), RLHFSIM_OK);
    const struct catalog_framework *framework = &fixture.scenario->framework;
    ck_assert_str_eq(framework->weight_sync->name, "checkpoint_engine");
    ck_assert_double_eq(framework->weight_sync_cost.pause_s, 1.0);
    ck_assert_double_eq(framework->weight_sync_cost.tensor_s, 0.0);
    assert_relative(framework->weight_sync_cost.load_bandwidth_bytes_per_s, 50e9, 1e-15);
    assert_relative(framework->weight_sync_cost.bucket_bytes, 2e9, 1e-15);
    assert_relative(framework->weight_sync_cost.bucket_s, 3e-3, 1e-15);
    ck_assert_double_eq(framework->weight_sync_cost.hop_s, 0.25);
}
END_TEST

START_TEST(test_a_weight_sync_that_is_not_there) {
    static const char *const sets[] = {"rollout.weight_sync=engin", NULL};
    ck_assert_int_eq(load_with("  node: box\n", "  node: box\n", sets), RLHFSIM_INVALID);
    ck_assert_str_eq(
        fixture.errors,
        "--set:1:21: error: rollout.weight_sync is 'engin', which the catalog does not "
        "have; did you mean 'engine'?\n");
}
END_TEST

START_TEST(test_a_framework_with_a_row) {
    char *text = fixture_replace(fixture_frameworks, "ipc_bucket", "buckets");
    fixture_write("frameworks.csv", text);
    free(text);
    ck_assert_int_eq(load_with("  node: box\n", "  node: box\n", NULL), RLHFSIM_OK);
    ck_assert_str_eq(fixture.scenario->framework.weight_sync->name, "ipc_bucket");
    ck_assert_double_eq(fixture.scenario->framework.weight_sync_cost.pause_s, 2.0);
}
END_TEST

/* ---- topology -------------------------------------------------------------------------------- */

#define KIND "cluster.topology.kind="
#define NODES "cluster.nodes=8", "training.tp=8", "rollout.tp=8"

START_TEST(test_topology_keys) {
    static const char *const sets[] = {NODES,
                                       KIND "leaf_spine",
                                       "cluster.topology.block_nodes=4",
                                       "cluster.topology.oversubscription=7",
                                       "cluster.topology.background=0.25",
                                       "cluster.topology.placement=spread",
                                       NULL};
    enum rlhfsim_status status = load_with("  node: box\n", "  node: box\n", sets);
    ck_assert_msg(status == RLHFSIM_OK, "%s", fixture.errors);
    const struct hardware_topology *topology = &fixture.scenario->cluster.topology;
    ck_assert_ptr_eq(topology->type, network_topology_find("leaf_spine"));
    ck_assert_int_eq(topology->block_nodes, 4);
    ck_assert_double_eq(topology->oversubscription, 7.0);
    ck_assert_double_eq(topology->background, 0.25);
    ck_assert(topology->spread);
    ck_assert_str_eq(fixture.scenario->topology,
                     "leaf and spine: 2 blocks of 4 nodes, 7:1 above them; 64 links below and 9 "
                     "above");
}
END_TEST

START_TEST(test_topology_of_a_torus) {
    static const char *const sets[] = {NODES, KIND "torus", "cluster.topology.shape=2x2x2", NULL};
    ck_assert_int_eq(load_with("  node: box\n", "  node: box\n", sets), RLHFSIM_OK);
    ck_assert_int_eq(fixture.scenario->cluster.topology.shape[2], 2);
}
END_TEST

START_TEST(test_no_topology) {
    ck_assert_int_eq(load_with("  node: box\n", "  node: box\n", NULL), RLHFSIM_OK);
    ck_assert_ptr_eq(fixture.scenario->cluster.topology.type, &network_topology_full);
}
END_TEST

struct bad_topology {
    const char *sets[6], *errors;
};

static const struct bad_topology bad_topologies[] = {
    {{NODES, KIND "leafspine"},
     "--set:1:23: error: cluster.topology.kind is 'leafspine', expected one that `rlhfsim catalog "
     "topologies` has; did you mean 'leaf_spine'?\n"},
    {{NODES, KIND "leaf_spine"},
     "--set:1:23: error: the topology leaf_spine needs cluster.topology.block_nodes\n"},
    {{NODES, KIND "torus"},
     "--set:1:23: error: a torus needs cluster.topology.shape, as 4x4 or 4x4x8\n"},
    {{NODES, KIND "torus", "cluster.topology.shape=2x2"},
     "--set:1:24: error: cluster.topology.shape has 4 nodes, but cluster.nodes is 8\n"},
    {{NODES, KIND "torus", "cluster.topology.shape=8"},
     "--set:1:24: error: cluster.topology.shape is 8, expected two or three numbers, as 4x4x8\n"},
    {{NODES, KIND "fat_tree", "cluster.topology.oversubscription=2"},
     "--set:1:18: error: cluster.topology.oversubscription is not used by the topology fat_tree; "
     "leave it out\n"},
    {{NODES, "cluster.topology.background=0.5"},
     "--set:1:18: error: cluster.topology.background is not used by the topology full; leave it "
     "out\n"},
};

START_TEST(test_bad_topology) {
    const struct bad_topology *row = &bad_topologies[_i];
    ck_assert_int_eq(load_with("  node: box\n", "  node: box\n", row->sets), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors, row->errors);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("scenario.links");
    TCase *fabrics = tcase_create("fabrics");
    tcase_add_checked_fixture(fabrics, setup, teardown);
    tcase_add_test(fabrics, test_fabrics_fill_gaps);
    tcase_add_test(fabrics, test_fabrics_of_a_whole_node);
    tcase_add_loop_test(fabrics, test_bad_fabric, 0, sizeof bad / sizeof *bad);
    suite_add_tcase(result, fabrics);
    TCase *syncs = tcase_create("weight sync");
    tcase_add_checked_fixture(syncs, setup, teardown);
    tcase_add_test(syncs, test_a_weight_sync_of_the_scenario);
    tcase_add_test(syncs, test_a_weight_sync_that_is_not_there);
    tcase_add_test(syncs, test_a_framework_with_a_row);
    suite_add_tcase(result, syncs);
    TCase *topologies = tcase_create("topology");
    tcase_add_checked_fixture(topologies, setup, teardown);
    tcase_add_test(topologies, test_topology_keys);
    tcase_add_test(topologies, test_topology_of_a_torus);
    tcase_add_test(topologies, test_no_topology);
    tcase_add_loop_test(topologies, test_bad_topology, 0,
                        sizeof bad_topologies / sizeof *bad_topologies);
    suite_add_tcase(result, topologies);
    return result;
}

TESTING_MAIN(suite)
