/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hardware and models that a scenario describes itself, and rows with gaps. */
#include "tests/models/scenario/fixture.h"

#include "models/scenario/scenario.h"

static struct fixture fixture;

static void setup(void) {
    fixture_open(&fixture);
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

static void assert_loads(const char *find, const char *with) {
    static const char *const price[] = {"prices.node_usd_per_hour=9", NULL};
    enum rlhfsim_status status = load_with(find, with, price);
    ck_assert_msg(status == RLHFSIM_OK, "%s", fixture.errors);
}

/* ---- nodes and GPUs -------------------------------------------------------------------------- */

START_TEST(test_inline_node) {
    assert_loads("  node: box\n", "  node:\n"
                                  "    name: ours\n"
                                  "    gpu: g90\n"
                                  "    gpus: 4\n"
                                  "    host_memory_gib: 512\n"
                                  "    scaleup_efficiency: 0.6\n"
                                  "    scaleup_latency_us: 2\n"
                                  "    collective_start_us: 9\n");
    const struct hardware_cluster *cluster = &fixture.scenario->cluster;
    ck_assert_str_eq(cluster->node.name, "ours");
    ck_assert_str_eq(cluster->gpu.name, "G90");
    ck_assert_int_eq(cluster->gpus_per_node, 4);
    assert_relative(cluster->node.host_memory_bytes, 512.0 * 1073741824.0, 1e-15);
    ck_assert_double_eq(cluster->node.scaleup_efficiency, 0.6);
    assert_relative(cluster->node.scaleup_latency_s, 2e-6, 1e-15);
    ck_assert_str_eq(fixture.scenario->node_provenance, "assumed");
    ck_assert_str_eq(fixture.scenario->gpu_provenance, "assumed"); /* that of G90 */
}
END_TEST

/* What is not written is as in the row it is like, the offer for its price included. */
START_TEST(test_like) {
    enum rlhfsim_status status =
        load_with("  node: box\n", "  node: {like: Box, network_gbit_per_s: 800}\n", NULL);
    ck_assert_msg(status == RLHFSIM_OK, "%s", fixture.errors);
    const struct hardware_node *node = &fixture.scenario->cluster.node;
    ck_assert_int_eq(node->gpus, 8);
    assert_relative(node->network_bandwidth_bytes_per_s, 100e9, 1e-15);
    ck_assert_double_eq(node->scaleup_efficiency, 0.7);
    ck_assert_double_eq(fixture.scenario->prices.node_hour_usd, 32.0);
}
END_TEST

/* 80 GB are 74.5 GiB: a unit of its own stands above that of the column. */
START_TEST(test_units) {
    assert_loads("  node: box\n",
                 "  node: {like: box, host_memory_gib: 80 GB, nvme_gb: 1 TiB, "
                 "network_gbit_per_s: 10 GB/s, network_latency_us: 0.5 ms, storage_gb_per_s: 3}\n");
    const struct hardware_node *node = &fixture.scenario->cluster.node;
    assert_relative(node->host_memory_bytes, 80e9, 1e-12);
    assert_relative(node->nvme_bytes, 1099511627776.0, 1e-12);
    assert_relative(node->network_bandwidth_bytes_per_s, 10e9, 1e-12);
    assert_relative(node->network_latency_s, 0.5e-3, 1e-12);
    assert_relative(node->storage_bandwidth_bytes_per_s, 3e9, 1e-12);
}
END_TEST

START_TEST(test_inline_gpu) {
    assert_loads("  node: box\n", "  node: box\n"
                                  "  gpu: {like: G80, name: fat, memory_gib: 160}\n");
    const struct hardware_gpu *gpu = &fixture.scenario->cluster.gpu;
    ck_assert_str_eq(gpu->name, "fat");
    assert_relative(gpu->memory_bytes, 160.0 * 1073741824.0, 1e-15);
    assert_relative(gpu->matmul_efficiency, 0.8, 1e-15);
}
END_TEST

/* `--set` reaches into the mapping. */
START_TEST(test_set_inside) {
    static const char *const sets[] = {"cluster.node.gpus=2", NULL};
    ck_assert_int_eq(load_with("  node: box\n", "  node: {like: box}\n", sets), RLHFSIM_OK);
    ck_assert_int_eq(fixture.scenario->cluster.gpus_per_node, 2);
}
END_TEST

/* ---- models ---------------------------------------------------------------------------------- */

/* The shape of the fixture's model without bias of any kind: a llama is what a model is unless it
 * says otherwise. */
START_TEST(test_inline_model) {
    ck_assert_int_eq(load_with("  actor: {model: small}\n",
                               "  actor: {model: {layers: 2, hidden: 64, heads: 8, kv_heads: 4, "
                               "head_dim: 8, ffn: 128, vocab: 1000, max_position: 1024}}\n",
                               NULL),
                     RLHFSIM_OK);
    const struct llm_architecture *model =
        &fixture.scenario->models[ALGORITHM_ROLE_ACTOR].architecture;
    ck_assert_int_eq(llm_parameters(model, LLM_HEAD_VOCABULARY), 202048); /* see fixture.h */
    ck_assert_str_eq(model->name, "inline model");
}
END_TEST

/* Tied embeddings: 1000 x 64 fewer than the 202,048 of fixture.h. */
START_TEST(test_model_like) {
    ck_assert_int_eq(load_with("  actor: {model: small}\n",
                               "  actor: {model: {like: small, tied_embeddings: true, "
                               "parameters: 138048}}\n",
                               NULL),
                     RLHFSIM_OK);
    const struct llm_architecture *model =
        &fixture.scenario->models[ALGORITHM_ROLE_ACTOR].architecture;
    ck_assert_int_eq(llm_parameters(model, LLM_HEAD_VOCABULARY), 138048);
}
END_TEST

/* ---- mistakes -------------------------------------------------------------------------------- */

static const struct {
    const char *find, *with, *errors;
} mistakes[] = {
    {"  node: box\n", "  node: {like: bex}\n",
     "s.yaml:15:16: error: cluster.node.like is 'bex', which the catalog does not have; did you "
     "mean 'box'?\n"},
    {"  node: box\n", "  node: {like: [box]}\n",
     "s.yaml:15:16: error: cluster.node.like is a list, expected a single value\n"},
    {"  node: box\n", "  node: {like: box, gpu_s: 4}\n",
     "s.yaml:15:21: error: unknown key 'gpu_s' in cluster.node, expected a column of nodes.csv; "
     "did you mean 'gpus'?\n"},
    {"  node: box\n", "  node: {gpu: G80}\n", "s.yaml:15:9: error: cluster.node.gpus is missing\n"},
    {"  node: box\n", "  node: {like: box, gpus: 0}\n",
     "s.yaml:15:27: error: cluster.node.gpus is 0, expected a whole number from 1 to 1024\n"},
    {"  node: box\n", "  node: {like: box, gpu: G85}\n",
     "s.yaml:15:26: error: cluster.node.gpu is 'G85', which the catalog does not have; did you "
     "mean 'G80'?\n"},
    {"  node: box\n", "  node: {like: box, host_memory_gib: 80 Gb}\n",
     "s.yaml:15:38: error: cluster.node.host_memory_gib is '80 Gb': unknown unit 'Gb'; did you "
     "mean 'GB'?\n"},
    {"  node: box\n", "  node: {like: box, host_memory_gib: 80 ms}\n",
     "s.yaml:15:38: error: cluster.node.host_memory_gib is '80 ms': 'ms' is a unit of time, "
     "expected a unit of bytes (B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB)\n"},
    {"  node: box\n", "  node: {like: box, scaleup_efficiency: 70 %}\n",
     "s.yaml:15:41: error: cluster.node.scaleup_efficiency is '70 %', expected a number above 0 "
     "and at most 1, or nothing where it is not known\n"},
    {"  node: box\n", "  node: [box]\n",
     "s.yaml:15:9: error: cluster.node is a list, expected one line of text of at most 63 bytes, "
     "or a mapping of columns\n"},
    {"  node: box\n", "  node: box\n  gpu: {like: G80, matmul_tflops_measured: 400}\n",
     "s.yaml:16:44: error: matmul_tflops_measured is 400, above the peak it is a share of (300)\n"},
    {"  actor: {model: small}\n", "  actor: {model: {like: small, kv_heads: 3}}\n",
     "s.yaml:11:42: error: kv_heads is 3, expected a divisor of heads (8)\n"},
    {"  actor: {model: small}\n",
     "  actor: {model: {like: small, vocab: 1001, parameters: 202048}}\n",
     "s.yaml:11:57: error: parameters is 202048, but the shape of 'small' has 202176\n"},
};

START_TEST(test_mistakes) {
    ck_assert_int_eq(load_with(mistakes[_i].find, mistakes[_i].with, NULL), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors, mistakes[_i].errors);
}
END_TEST

/* ---- gaps ------------------------------------------------------------------------------------ */

/* A GPU without the measured product rate cannot be forecast; the message has row and column. */
START_TEST(test_gap_is_refused) {
    char *gpus = fixture_replace(fixture_gpus, "20,0,240", "20,0,");
    fixture_write("gpus.csv", gpus);
    free(gpus);
    fixture_write("s.yaml", fixture_scenario);
    ck_assert_int_eq(fixture_load(&fixture, NULL), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors,
                     "s.yaml:15:9: error: GPU 'G80' has no matmul_tflops_measured, which this run "
                     "needs and no source gives; write gpus.csv of your own for it, or describe it "
                     "in the scenario\n");
}
END_TEST

/* One node needs no network; two do. Nor does a run without checkpoints need a store. */
START_TEST(test_gap_that_does_not_matter) {
    static const char *const two[] = {"cluster.nodes=2", "checkpoint.every_steps=5",
                                      "training.microbatch_samples=2", NULL};
    char *nodes = fixture_replace(fixture_nodes, "400,0.7,0.8,1,20,8,2", ",0.7,,1,,8,");
    fixture_write("nodes.csv", nodes);
    free(nodes);
    fixture_write("s.yaml", fixture_scenario);
    ck_assert_int_eq(fixture_load(&fixture, NULL), RLHFSIM_OK);
    ck_assert_int_eq(fixture_load(&fixture, two), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors,
                     "s.yaml:15:9: error: node 'box' has no network_gbit_per_s, "
                     "network_efficiency, network_latency_us, storage_gb_per_s, which this run "
                     "needs and no source gives; write nodes.csv of your own for it, or describe "
                     "it in the scenario\n");
}
END_TEST

/* A format that may or may not be there is a gap, one that is not is a mistake of the scenario. */
START_TEST(test_gap_of_a_precision) {
    static const char *const fp8[] = {"rollout.precision=fp8", NULL};
    fixture_write("s.yaml", fixture_scenario);
    ck_assert_int_eq(fixture_load(&fixture, fp8), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors, "--set:1:19: error: rollout.precision is fp8, which G80 does "
                                     "not compute with\n");
    char *gpus = fixture_replace(fixture_gpus, "300,300,20,0,", "300,300,20,,");
    fixture_write("gpus.csv", gpus);
    free(gpus);
    ck_assert_int_eq(fixture_load(&fixture, fp8), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors,
                     "s.yaml:15:9: error: GPU 'G80' has no fp8_tflops, which this run needs and no "
                     "source gives; write gpus.csv of your own for it, or describe it in the "
                     "scenario\n");
}
END_TEST

static Suite *inline_suite(void) {
    Suite *suite = suite_create("scenario.inline");
    TCase *tests = tcase_create("inline");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, test_inline_node);
    tcase_add_test(tests, test_like);
    tcase_add_test(tests, test_units);
    tcase_add_test(tests, test_inline_gpu);
    tcase_add_test(tests, test_set_inside);
    tcase_add_test(tests, test_inline_model);
    tcase_add_test(tests, test_model_like);
    tcase_add_loop_test(tests, test_mistakes, 0, sizeof mistakes / sizeof mistakes[0]);
    tcase_add_test(tests, test_gap_is_refused);
    tcase_add_test(tests, test_gap_that_does_not_matter);
    tcase_add_test(tests, test_gap_of_a_precision);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(inline_suite)
