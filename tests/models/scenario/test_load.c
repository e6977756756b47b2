/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Good scenarios: every key arrives in its field, defaults and derived values are what they should
 * be, and the project's own scenarios load with its own catalog. */
#include "tests/models/scenario/fixture.h"

#include "models/scenario/scenario.h"

static struct fixture fixture;

static void setup(void) {
    fixture_open(&fixture);
}

static void teardown(void) {
    fixture_close(&fixture);
}

static const struct rlhfsim_scenario *load(const char *text, const char *const *sets) {
    fixture_write("s.yaml", text);
    enum rlhfsim_status status = fixture_load(&fixture, sets);
    ck_assert_msg(status == RLHFSIM_OK, "%s", fixture.errors);
    return fixture.scenario;
}

/* ---- every key ------------------------------------------------------------------------------- */

/* Every key of a rollout scenario that this version supports, none at its default where it has
 * another value. */
static const char every_key[] =
    "name: everything\n"
    "seed: 9223372036854775807\n"
    "framework: fast\n"
    "algorithm:\n"
    "  name: grpo\n"
    "  prompts_per_step: 96\n"
    "  samples_per_prompt: 4\n"
    "  minibatch_samples: 192\n"
    "  epochs: 2\n"
    "  kl: reward\n"
    "models:\n"
    "  actor: {model: small, lora_rank: 16, offload: optimizer}\n"
    "  reward: {model: long, lora_rank: 0, offload: none}\n"
    "  reference: {model: small, offload: parameters}\n"
    "cluster:\n"
    "  node: new\n"
    "  nodes: 3\n"
    "  gpu: G90\n"
    "  gpus_per_node: 4\n"
    "placement:\n"
    "  mode: colocated\n"
    "training:\n"
    "  tp: 4\n"
    "  pp: 1\n"
    "  vpp: 1\n"
    "  cp: 1\n"
    "  ep: 1\n"
    "  expert_tp: 1\n"
    "  sequence_parallel: false\n"
    "  context: ulysses\n"
    "  zero_stage: 1\n"
    "  shard_ranks: 3\n"
    "  reshard_after_forward: false\n"
    "  prefetch: false\n"
    "  gradient_reduction: once\n"
    "  overlap_gradients: false\n"
    "  overlap_weights: true\n"
    "  full_memory_slowdown: 0.25\n"
    "  precision: fp8\n"
    "  microbatch_tokens: 2048\n"
    "  packing: true\n"
    "  balance_ranks: true\n"
    "  recompute: selective\n"
    "  offload: optimizer+parameters\n"
    "rollout:\n"
    "  engine: vllm\n"
    "  tp: 2\n"
    "  pp: 1\n"
    "  ep: 1\n"
    "  precision: fp16\n"
    "  max_new_tokens: 500\n"
    "  max_num_seqs: 64\n"
    "  max_num_batched_tokens: 4096\n"
    "  memory_fraction: 0.75\n"
    "  prefix_caching: false\n"
    "  prompt_tokens:\n"
    "    law: lognormal\n"
    "    mean: 100.5\n"
    "    p99: 300\n"
    "    limit: 400\n"
    "    uncut: true\n"
    "  response_tokens:\n"
    "    law: lognormal\n"
    "    mean: 200\n"
    "    p99: 450\n"
    "    limit: 500\n"
    "    uncut: false\n"
    "dataset: {prompts: 1000, epochs: 3, drop_last: true}\n"
    "checkpoint: {every_steps: 5, keep: 7, exported: 2, store_bandwidth: 2 GB/s}\n"
    "logging: {bytes_per_sample: 4 KiB, sampling_rate: 0.25}\n"
    "prices:\n"
    "  provider: cloud\n"
    "  region: north\n"
    "  plan: on_demand\n"
    "  node_usd_per_hour: 40.5\n"
    "  storage_usd_per_gb_month: 0.1\n"
    "  network_usd_per_gb: 0.2\n"
    "  log_usd_per_gb: 0.3\n"
    "tags: {team: nlp, run/2.x: \"a = b\"}\n";

START_TEST(test_every_key_top) {
    const struct rlhfsim_scenario *s = load(every_key, NULL);
    ck_assert_str_eq(rlhfsim_scenario_name(s), "everything");
    ck_assert_uint_eq(s->seed, 9223372036854775807U);
    ck_assert_str_eq(s->framework.name, "fast");
    ck_assert_str_eq(s->algorithm.type->name, "grpo");
    ck_assert_int_eq(s->algorithm.prompts_per_step, 96);
    ck_assert_int_eq(s->algorithm.samples_per_prompt, 4);
    ck_assert_int_eq(s->algorithm.minibatch_samples, 192);
    ck_assert_int_eq(s->algorithm.epochs, 2);
    ck_assert_int_eq(s->algorithm.kl, SCENARIO_KL_REWARD);
    /* 1000 / 96 = 10.4, of which drop_last keeps 10, three times. */
    ck_assert_int_eq(s->steps, 30);
    ck_assert(s->dataset.drop_last);
    ck_assert_int_eq(s->dataset.prompts, 1000);
    ck_assert_int_eq(s->dataset.epochs, 3);
    ck_assert_str_eq(s->tags, "team=nlp;run/2.x=a = b");
}
END_TEST

START_TEST(test_every_key_models) {
    const struct rlhfsim_scenario *s = load(every_key, NULL);
    ck_assert(s->models[ALGORITHM_ROLE_ACTOR].present);
    ck_assert(!s->models[ALGORITHM_ROLE_CRITIC].present);
    ck_assert_str_eq(s->models[ALGORITHM_ROLE_ACTOR].architecture.name, "small");
    ck_assert_int_eq(s->models[ALGORITHM_ROLE_ACTOR].lora_rank, 16);
    ck_assert_int_eq(s->models[ALGORITHM_ROLE_ACTOR].offload, TRAINING_OFFLOAD_OPTIMIZER);
    ck_assert_str_eq(s->models[ALGORITHM_ROLE_REWARD].architecture.name, "long");
    ck_assert_int_eq(s->models[ALGORITHM_ROLE_REWARD].architecture.max_position, 100000);
    ck_assert_int_eq(s->models[ALGORITHM_ROLE_REWARD].offload, TRAINING_OFFLOAD_NONE);
    ck_assert_int_eq(s->models[ALGORITHM_ROLE_REFERENCE].offload, TRAINING_OFFLOAD_PARAMETERS);
}
END_TEST

START_TEST(test_every_key_training) {
    const struct rlhfsim_scenario *s = load(every_key, NULL);
    ck_assert_str_eq(s->cluster.node.name, "new");
    ck_assert_str_eq(s->cluster.gpu.name, "G90");
    ck_assert_int_eq(s->cluster.nodes, 3);
    ck_assert_int_eq(s->cluster.gpus_per_node, 4);
    ck_assert_int_eq(s->training.tp, 4);
    ck_assert_int_eq(s->training.zero_stage, 1);
    ck_assert_int_eq(s->training.expert_tp, 1);
    ck_assert_int_eq(s->training.context, TRAINING_CONTEXT_ULYSSES);
    ck_assert_int_eq(s->training.shard_ranks, 3);
    ck_assert_int_eq(s->training.reduction, TRAINING_REDUCE_ONCE);
    ck_assert(!s->training.sequence_parallel && !s->training.reshard_after_forward);
    ck_assert(!s->training.prefetch && !s->training.overlap_gradients);
    ck_assert(s->training.overlap_weights);
    ck_assert_double_eq(s->training.full_memory_slowdown, 0.25);
    ck_assert_int_eq(s->training.precision, HARDWARE_FP8);
    ck_assert_int_eq(s->training.microbatch_samples, 0);
    ck_assert_int_eq(s->training.microbatch_tokens, 2048);
    ck_assert(s->training.packing && s->training.balance_ranks);
    ck_assert_int_eq(s->training.recompute, TRAINING_RECOMPUTE_SELECTIVE);
    ck_assert_int_eq(s->training.offload, TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS);
}
END_TEST

START_TEST(test_every_key_rollout) {
    const struct rlhfsim_scenario *s = load(every_key, NULL);
    ck_assert_int_eq(s->rollout.tp, 2);
    ck_assert_int_eq(s->rollout.precision, HARDWARE_FP16);
    ck_assert_int_eq(s->rollout.max_new_tokens, 500);
    ck_assert_int_eq(s->rollout.max_num_seqs, 64);
    ck_assert_int_eq(s->rollout.max_num_batched_tokens, 4096);
    ck_assert_double_eq(s->rollout.memory_fraction, 0.75);
    ck_assert(!s->rollout.prefix_caching);
    ck_assert_int_eq(s->rollout.prompt.moments.law, GENERATION_LENGTH_LOGNORMAL);
    ck_assert_double_eq(s->rollout.prompt.moments.mean, 100.5);
    ck_assert_double_eq(s->rollout.prompt.moments.p99, 300.0);
    ck_assert_double_eq(s->rollout.prompt.moments.limit, 400.0);
    ck_assert(s->rollout.prompt.moments.uncut);
    ck_assert_double_eq(s->rollout.response.moments.limit, 500.0);
    ck_assert(!s->rollout.response.moments.uncut);
    /* The fit reproduces the mean it was given, after the cut. */
    assert_relative(generation_lengths_mean(&s->rollout.response.fitted), 200.0, 1e-9);
}
END_TEST

START_TEST(test_every_key_costs) {
    const struct rlhfsim_scenario *s = load(every_key, NULL);
    ck_assert_int_eq(s->checkpoint.every_steps, 5);
    ck_assert_int_eq(s->checkpoint.keep, 7);
    ck_assert_int_eq(s->checkpoint.exported, 2);
    ck_assert_double_eq(s->checkpoint.store_bandwidth_bytes_per_s, 2e9);
    ck_assert_double_eq(s->logging.bytes_per_sample, 4096.0);
    ck_assert_double_eq(s->logging.sampling_rate, 0.25);
    ck_assert_double_eq(s->prices.node_hour_usd, 40.5);
    ck_assert_double_eq(s->prices.storage_gb_month_usd, 0.1);
    ck_assert_double_eq(s->prices.network_gb_usd, 0.2);
    ck_assert_double_eq(s->prices.log_gb_usd, 0.3);
    ck_assert_str_eq(s->prices.node_source, "prices.node_usd_per_hour of the scenario");
    ck_assert_str_eq(s->prices.log_source, "prices.log_usd_per_gb of the scenario");
    ck_assert_str_eq(s->price_provenance, "assumed");
}
END_TEST

START_TEST(test_provenance) {
    const struct rlhfsim_scenario *s = load(fixture_scenario, NULL);
    ck_assert_str_eq(s->gpu_provenance, "measured");
    ck_assert_str_eq(s->node_provenance, "interpolated");
    ck_assert_str_eq(s->framework_provenance, "extrapolated");
    ck_assert_str_eq(s->price_provenance, "measured");
    ck_assert_str_eq(s->length_provenance, "assumed");
}
END_TEST

/* ---- defaults -------------------------------------------------------------------------------- */

START_TEST(test_defaults) {
    const struct rlhfsim_scenario *s = load(fixture_scenario, NULL);
    ck_assert_uint_eq(s->seed, 1);
    ck_assert_int_eq(s->steps, 10);
    ck_assert_int_eq(s->algorithm.epochs, 1);
    ck_assert_int_eq(s->cluster.gpus_per_node, 8);
    ck_assert_int_eq(s->training.precision, HARDWARE_BF16);
    ck_assert(!s->training.packing && !s->training.balance_ranks);
    ck_assert_int_eq(s->training.pp, 1);
    ck_assert_int_eq(s->training.expert_tp, 0);
    ck_assert_int_eq(s->training.reduction, TRAINING_REDUCE_BY_STAGE);
    ck_assert(s->training.sequence_parallel && s->training.reshard_after_forward);
    ck_assert(s->training.prefetch && s->training.overlap_gradients);
    ck_assert(!s->training.overlap_weights);
    ck_assert_int_eq(s->training.recompute, TRAINING_RECOMPUTE_FULL);
    ck_assert_int_eq(s->training.offload, TRAINING_OFFLOAD_NONE);
    ck_assert_int_eq(s->rollout.precision, GENERATION_BF16);
    ck_assert_int_eq(s->rollout.max_num_seqs, 256);
    ck_assert_int_eq(s->rollout.max_num_batched_tokens, 8192);
    ck_assert_double_eq(s->rollout.memory_fraction, 0.5);
    ck_assert(s->rollout.prefix_caching);
    ck_assert_double_eq(s->rollout.prompt.moments.limit, 0.0);
    ck_assert_double_eq(s->rollout.response.moments.limit, 512.0);
    assert_relative(s->reward.sample_s, 0.2e-3, 1e-15);
    ck_assert_int_eq(s->reward.workers, 1);
    ck_assert_int_eq(s->checkpoint.every_steps, 0);
    ck_assert_int_eq(s->checkpoint.exported, 0);
    ck_assert_double_eq(s->logging.sampling_rate, 0.0);
    ck_assert_str_eq(s->tags, "");
}
END_TEST

/* The catalog's price of the node's own provider and region, and of the services there. */
START_TEST(test_default_prices) {
    const struct rlhfsim_scenario *s = load(fixture_scenario, NULL);
    ck_assert_double_eq(s->prices.node_hour_usd, 32.0);
    ck_assert_str_eq(s->prices.node_source, "list; 2024-05-01");
    ck_assert_double_eq(s->prices.storage_gb_month_usd, 0.02);
    ck_assert_double_eq(s->prices.log_gb_usd, 0.5);
    ck_assert_double_eq(s->prices.network_gb_usd, 0.0);
    ck_assert_str_eq(s->prices.network_source,
                     "the catalog has no price of cross-region network in "
                     "cloud/north: counted as free");
}
END_TEST

START_TEST(test_other_prices) {
    const char *const spot[] = {"prices.plan=spot", NULL};
    ck_assert_double_eq(load(fixture_scenario, spot)->prices.node_hour_usd, 12.5);
    const char *const south[] = {"prices.region=south", NULL};
    ck_assert_double_eq(load(fixture_scenario, south)->prices.node_hour_usd, 36.0);
    const char *const own[] = {"prices.node_usd_per_hour=0", "prices.region=moon", NULL};
    ck_assert_double_eq(load(fixture_scenario, own)->prices.node_hour_usd, 0.0);
}
END_TEST

START_TEST(test_mini_batch_is_all_samples) {
    const char *const sets[] = {"algorithm.samples_per_prompt=3", NULL};
    char *text = fixture_replace(fixture_scenario, "  minibatch_samples: 32\n", "");
    ck_assert_int_eq(load(text, sets)->algorithm.minibatch_samples, 192);
    free(text);
}
END_TEST

START_TEST(test_rule_reward) {
    const char *const sets[] = {"reward={sample_time: 3ms, workers: 4}", NULL};
    const struct rlhfsim_scenario *s = load(fixture_scenario, sets);
    assert_relative(s->reward.sample_s, 0.003, 1e-15);
    ck_assert_int_eq(s->reward.workers, 4);
    ck_assert(!s->models[ALGORITHM_ROLE_REWARD].present);
}
END_TEST

/* With a critic the KL term is in the rewards, without one in the loss; `none` needs no reference.
 */
START_TEST(test_kl) {
    char *ppo = fixture_replace(fixture_scenario, "  kl: reward\n", "");
    ck_assert_int_eq(load(ppo, NULL)->algorithm.kl, SCENARIO_KL_REWARD);
    char *critic = fixture_replace(ppo, "  critic: {model: small}\n", "");
    char *grpo = fixture_replace(critic, "name: ppo\n", "name: grpo\n");
    const char *const pairs[] = {"algorithm.samples_per_prompt=2", NULL};
    ck_assert_int_eq(load(grpo, pairs)->algorithm.kl, SCENARIO_KL_LOSS);
    char *alone = fixture_replace(grpo, "  reference: {model: small}\n", "");
    const char *const none[] = {"algorithm.samples_per_prompt=2", "algorithm.kl=none", NULL};
    const struct rlhfsim_scenario *s = load(alone, none);
    ck_assert_int_eq(s->algorithm.kl, SCENARIO_KL_NONE);
    ck_assert(!s->models[ALGORITHM_ROLE_REFERENCE].present);
    free(ppo);
    free(critic);
    free(grpo);
    free(alone);
}
END_TEST

/* training.offload holds for what is trained and not for what is frozen. */
START_TEST(test_offload_of_roles) {
    const char *const sets[] = {"training.offload=optimizer", NULL};
    const struct rlhfsim_scenario *s = load(fixture_scenario, sets);
    ck_assert_int_eq(s->models[ALGORITHM_ROLE_ACTOR].offload, TRAINING_OFFLOAD_OPTIMIZER);
    ck_assert_int_eq(s->models[ALGORITHM_ROLE_CRITIC].offload, TRAINING_OFFLOAD_OPTIMIZER);
    ck_assert_int_eq(s->models[ALGORITHM_ROLE_REFERENCE].offload, TRAINING_OFFLOAD_NONE);
}
END_TEST

/* A kernel's rates are those of the row whose beginnings of names fit the GPU, G80 here. */
START_TEST(test_attention_kernel) {
    fixture_write("attention.csv",
                  "kernel,gpus,forward_share,backward_share,provenance,source,notes\n"
                  "flash_2,H100,0.5,0.4,measured,a page,\n"
                  "flash_2,A1;G8,0.7,0.6,measured,a page,\n"
                  "flash_3,G81,1,0.9,measured,a page,\n");
    const char *const known[] = {"training.attention=flash_2", NULL};
    const struct rlhfsim_scenario *s = load(fixture_scenario, known);
    ck_assert_int_eq(s->training.attention, TRAINING_ATTENTION_FLASH_2);
    ck_assert_double_eq(s->training.attention_rates.forward_share, 0.7);
    ck_assert_double_eq(s->training.attention_rates.backward_share, 0.6);
    const char *const unfused[] = {"training.attention=unfused", NULL};
    s = load(fixture_scenario, unfused);
    ck_assert_int_eq(s->training.attention, TRAINING_ATTENTION_UNFUSED);
    ck_assert_double_eq(s->training.attention_rates.forward_share, 0.0);
    ck_assert_int_eq(load(fixture_scenario, NULL)->training.attention, TRAINING_ATTENTION_MEASURED);
    const char *const unknown[] = {"training.attention=flash_3", NULL};
    ck_assert_int_eq(fixture_load(&fixture, unknown), RLHFSIM_INVALID);
    ck_assert_ptr_nonnull(strstr(fixture.errors, "training.attention is 'flash_3', of which the "
                                                 "catalog has no rates on G80 (attention.csv)"));
}
END_TEST

/* ---- steps ----------------------------------------------------------------------------------- */

struct step_case {
    const char *prompts, *epochs, *drop_last;
    int64_t steps; /* of 64 prompts each */
};

/* A rest of an epoch is a step of its own, or none: it does not go on into the next epoch. */
static const struct step_case step_cases[] = {
    {"64", "1", "false", 1},  {"65", "1", "false", 2},   {"1", "1", "false", 1},
    {"1", "15", "false", 15}, {"640", "3", "false", 30}, {"100", "7", "false", 14},
    {"640", "3", "true", 30}, {"100", "7", "true", 7},   {"127", "2", "true", 2},
};

START_TEST(test_steps) {
    char prompts[64], epochs[64], drop_last[64];
    snprintf(prompts, sizeof prompts, "dataset.prompts=%s", step_cases[_i].prompts);
    snprintf(epochs, sizeof epochs, "dataset.epochs=%s", step_cases[_i].epochs);
    snprintf(drop_last, sizeof drop_last, "dataset.drop_last=%s", step_cases[_i].drop_last);
    const char *const sets[] = {prompts, epochs, drop_last, NULL};
    char *text = fixture_replace(fixture_scenario, "steps: 10\n", "");
    ck_assert_int_eq(load(text, sets)->steps, step_cases[_i].steps);
    free(text);
    /* Steps that are written replace those of the data set. */
    ck_assert_int_eq(load(fixture_scenario, sets)->steps, 10);
}
END_TEST

/* The framework's row decides where the scenario does not: here prompts are dropped, pairs not. */
static const char dropping[] =
    "name,matmul_share,microbatch_host_ms,optimizer_host_ms,step_host_s,iteration_host_ms,"
    "sequence_host_us,transition_s_per_sqrt_gb,weight_sync,sync_pause_s,sync_tensor_ms,"
    "sync_load_gb_per_s,engine_residue_gib,context_gib,fragmentation_fraction,drop_last_prompts,"
    "drop_last_pairs,provenance,source,notes\n"
    "fast,0.5,40,50,2,3,20,0.07,ipc_bucket,3.2,0.7,13,1.5,2,0.06,yes,no,assumed,a page,\n";

START_TEST(test_framework_drops) {
    static const char *const none[] = {"dataset.prompts=100", "dataset.epochs=7", NULL};
    static const char *const kept[] = {"dataset.prompts=100", "dataset.epochs=7",
                                       "dataset.drop_last=false", NULL};
    char *text = fixture_replace(fixture_scenario, "steps: 10\n", "");
    fixture_write("frameworks.csv", dropping);
    ck_assert_int_eq(load(text, none)->steps, 7);
    ck_assert(fixture.scenario->dataset.drop_last);
    ck_assert_int_eq(load(text, kept)->steps, 14);
    free(text);
}
END_TEST

START_TEST(test_empty_epoch) {
    static const char *const few[] = {"dataset.prompts=63", NULL};
    static const char *const told[] = {"dataset.prompts=63", "dataset.drop_last=true", NULL};
    char *text = fixture_replace(fixture_scenario, "steps: 10\n", "");
    fixture_write("s.yaml", text);
    ck_assert_int_eq(fixture_load(&fixture, told), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors,
                     "--set:1:19: error: dataset.drop_last is true and leaves no step of an epoch: "
                     "dataset.prompts is 63, a step takes 64; with dataset.drop_last: false it is "
                     "a short step\n");
    fixture_write("frameworks.csv", dropping);
    ck_assert_int_eq(fixture_load(&fixture, few), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors,
                     "--set:1:17: error: dataset.drop_last is true by default of fast and leaves "
                     "no step of an epoch: dataset.prompts is 63, a step takes 64; with "
                     "dataset.drop_last: false it is a short step\n");
    free(text);
}
END_TEST

/* ---- offline --------------------------------------------------------------------------------- */

static const char offline[] = "name: dpo\n"
                              "framework: fast\n"
                              "algorithm: {name: dpo, minibatch_samples: 16}\n"
                              "models: {actor: {model: small, lora_rank: 8}}\n"
                              "cluster: {node: box}\n"
                              "training: {microbatch_samples: 2}\n"
                              "rollout:\n"
                              "  max_new_tokens: 512\n"
                              "  prompt_tokens: {law: fixed, mean: 256}\n"
                              "  response_tokens: {law: fixed, mean: 200}\n"
                              "dataset: {pairs: 100, epochs: 2}\n";

START_TEST(test_offline) {
    const struct rlhfsim_scenario *s = load(offline, NULL);
    /* 100 / 16 = 6.25: each of the two epochs has 6 full steps and one of 4 pairs. */
    ck_assert_int_eq(s->steps, 14);
    ck_assert_int_eq(s->algorithm.prompts_per_step, 16);
    ck_assert_int_eq(s->algorithm.samples_per_prompt, 1);
    ck_assert_int_eq(s->algorithm.epochs, 1);
    ck_assert_int_eq(s->algorithm.kl, SCENARIO_KL_NONE);
    ck_assert_int_eq(s->algorithm.reference, SCENARIO_REFERENCE_EVERY_STEP);
    ck_assert(!s->models[ALGORITHM_ROLE_REFERENCE].present);
}
END_TEST

START_TEST(test_offline_reference) {
    const char *const sets[] = {"models.reference.model=small", "models.actor.lora_rank=0",
                                "algorithm.reference_logprobs=precomputed", NULL};
    const struct rlhfsim_scenario *s = load(offline, sets);
    ck_assert(s->models[ALGORITHM_ROLE_REFERENCE].present);
    ck_assert_int_eq(s->algorithm.reference, SCENARIO_REFERENCE_PRECOMPUTED);
}
END_TEST

START_TEST(test_offline_needs_a_reference) {
    const char *const sets[] = {"models.actor.lora_rank=0", NULL};
    fixture_write("s.yaml", offline);
    ck_assert_int_eq(fixture_load(&fixture, sets), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors,
                     "s.yaml:4:1: error: models.reference.model is required by dpo, unless the "
                     "actor has LoRA adapters that can be switched off\n");
}
END_TEST

START_TEST(test_offline_has_no_rollout) {
    const char *const sets[] = {"rollout.tp=1", "algorithm.kl=none", "dataset.prompts=4",
                                "reward.workers=2", NULL};
    fixture_write("s.yaml", offline);
    ck_assert_int_eq(fixture_load(&fixture, sets), RLHFSIM_INVALID);
    ck_assert_str_eq(
        fixture.errors,
        "--set:1:8: error: reward.workers is not used by dpo, which has no rewards; leave it out\n"
        "--set:1:9: error: rollout.tp is not used by dpo, which learns from a data set and has no "
        "rollout; leave it out\n"
        "--set:1:9: error: dataset.prompts is not used by dpo, which learns from a data set and "
        "has "
        "no rollout; leave it out\n"
        "--set:1:11: error: algorithm.kl is not used by dpo, which learns from a data set and has "
        "no "
        "rollout; leave it out\n");
}
END_TEST

/* ---- config.json ----------------------------------------------------------------------------- */

static const char config[] =
    "{\"model_type\": \"llama\", \"num_hidden_layers\": 2, \"hidden_size\": 64,"
    " \"num_attention_heads\": 8, \"num_key_value_heads\": 4, \"intermediate_size\": 128,"
    " \"vocab_size\": 1000, \"max_position_embeddings\": 2048, \"tie_word_embeddings\": false}";

START_TEST(test_config_json) {
    fixture_write("config.json", config);
    const char *const sets[] = {"models.actor.model=config.json", NULL};
    const struct rlhfsim_scenario *s = load(fixture_scenario, sets);
    const struct llm_architecture *actor = &s->models[ALGORITHM_ROLE_ACTOR].architecture;
    ck_assert_int_eq(actor->max_position, 2048);
    /* The shape of `small`, counted in fixture.h. */
    ck_assert_int_eq(llm_parameters(actor, LLM_HEAD_VOCABULARY), 202048);
    ck_assert_str_ne(actor->name, "");
}
END_TEST

#define WINDOWED                                                                           \
    "{\"model_type\": \"mistral\", \"num_hidden_layers\": 2, \"hidden_size\": 64,"         \
    " \"num_attention_heads\": 8, \"num_key_value_heads\": 4, \"intermediate_size\": 128," \
    " \"vocab_size\": 1000, \"max_position_embeddings\": 2048, \"sliding_window\": %d}"

static void write_windowed(const char *file, int window) {
    char text[512];
    snprintf(text, sizeof text, WINDOWED, window);
    fixture_write(file, text);
}

/* Prompts of 256 and responses of up to 512 are 768 tokens. Models with unlike windows go as long
 * as no sequence is longer than either. */
START_TEST(test_windows) {
    const char *const one[] = {"models.actor.model=config.json", NULL};
    const char *const two[] = {"models.actor.model=config.json", "models.critic.model=other.json",
                               NULL};
    fixture_write("s.yaml", fixture_scenario);
    write_windowed("config.json", 100);
    ck_assert_int_eq(fixture_load(&fixture, one), RLHFSIM_OK);
    write_windowed("other.json", 100);
    ck_assert_int_eq(fixture_load(&fixture, two), RLHFSIM_OK);
    write_windowed("config.json", 768);
    write_windowed("other.json", 900);
    ck_assert_int_eq(fixture_load(&fixture, two), RLHFSIM_OK);
    write_windowed("config.json", 767);
    ck_assert_int_eq(fixture_load(&fixture, two), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors,
                     "--set:1:21: error: models.critic (other) has an attention window of 900 "
                     "tokens, models.actor one of 767: unlike windows are simulated only for "
                     "sequences that are not longer than both, here up to 768 tokens\n");
}
END_TEST

START_TEST(test_config_json_with_mistakes) {
    fixture_write("config.json", "{\"model_type\": \"whale\"}");
    const char *const sets[] = {"models.actor.model=./config.json", NULL};
    fixture_write("s.yaml", fixture_scenario);
    ck_assert_int_eq(fixture_load(&fixture, sets), RLHFSIM_INVALID);
    ck_assert_ptr_nonnull(strstr(fixture.errors, "config.json"));
    ck_assert_ptr_nonnull(strstr(fixture.errors, "whale"));
}
END_TEST

/* From the folder of the scenario, wherever the program runs; with `--set` from where it runs. */
START_TEST(test_config_json_beside_the_scenario) {
    char path[128];
    char *text =
        fixture_replace(fixture_scenario, "actor: {model: small}", "actor: {model: config.json}");
    fixture_write("config.json", config);
    fixture_write("s.yaml", text);
    free(text);
    ck_assert_int_eq(chdir("/"), 0);
    snprintf(path, sizeof path, "%s/s.yaml", fixture.directory);
    struct rlhfsim_scenario_options options = {.catalog_directory = fixture.directory};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_scenario *scenario;
    ck_assert_int_eq(rlhfsim_scenario_load(path, &options, diagnostics, &scenario), RLHFSIM_OK);
    rlhfsim_scenario_free(scenario);
    const char *const sets[] = {"models.critic.model=config.json"};
    options.sets = sets;
    options.set_count = 1;
    ck_assert_int_eq(rlhfsim_scenario_load(path, &options, diagnostics, &scenario),
                     RLHFSIM_INVALID);
    ck_assert_str_eq(rlhfsim_diagnostics_get(diagnostics, 0)->message,
                     "models.critic.model is 'config.json', but there is no such file");
    rlhfsim_diagnostics_free(diagnostics);
    ck_assert_int_eq(chdir(fixture.directory), 0);
}
END_TEST

/* ---- options --------------------------------------------------------------------------------- */

START_TEST(test_seed_option) {
    uint64_t seed = UINT64_MAX;
    struct rlhfsim_scenario_options options = {.catalog_directory = ".", .seed = &seed};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    fixture_write("s.yaml", fixture_scenario);
    ck_assert_int_eq(rlhfsim_scenario_load("s.yaml", &options, diagnostics, &fixture.scenario),
                     RLHFSIM_OK);
    ck_assert_uint_eq(fixture.scenario->seed, UINT64_MAX);
    rlhfsim_diagnostics_free(diagnostics);
}
END_TEST

START_TEST(test_missing_file) {
    ck_assert_int_eq(fixture_load(&fixture, NULL), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors, "s.yaml: error: cannot be read: No such file or directory\n");
}
END_TEST

START_TEST(test_missing_catalog) {
    fixture_write("s.yaml", fixture_scenario);
    unlink("nodes.csv");
    ck_assert_int_eq(fixture_load(&fixture, NULL), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors,
                     "./nodes.csv: error: cannot be read: No such file or directory\n");
}
END_TEST

/* ---- the project's own ----------------------------------------------------------------------- */

struct own_case {
    const char *name;
    int64_t steps;
};

/* Steps by hand: 264,292 / 512 = 516.2 and 7,473 / 1024 = 7.3, 15 times, with verl, which drops the
 * rest; 61,135 / 128 = 477.6, once and three times, with TRL, which trains it. */
static const struct own_case own_cases[] = {
    {"ppo-llama2-7b-8xa100", 516},        {"dpo-llama2-7b-8xa100", 478},
    {"grpo-qwen2.5-7b-8xh100", 105},      {"ppo-llama2-70b-32xh100", 516},
    {"dpo-lora-llama2-70b-8xa100", 1434},
};

START_TEST(test_own_scenarios) {
    char path[128];
    struct rlhfsim_scenario_options options = {.catalog_directory = "scenarios/catalog"};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    ck_assert_int_eq(chdir(fixture.start), 0);
    snprintf(path, sizeof path, "scenarios/%s.yaml", own_cases[_i].name);
    enum rlhfsim_status status =
        rlhfsim_scenario_load(path, &options, diagnostics, &fixture.scenario);
    fixture_collect(&fixture, diagnostics);
    ck_assert_msg(status == RLHFSIM_OK, "%s", fixture.errors);
    ck_assert_str_eq(rlhfsim_scenario_name(fixture.scenario), own_cases[_i].name);
    ck_assert_int_eq(fixture.scenario->steps, own_cases[_i].steps);
    rlhfsim_diagnostics_free(diagnostics);
    ck_assert_int_eq(chdir(fixture.directory), 0);
}
END_TEST

static Suite *load_suite(void) {
    Suite *suite = suite_create("scenario.load");
    TCase *cases = tcase_create("load");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, test_every_key_top);
    tcase_add_test(cases, test_every_key_models);
    tcase_add_test(cases, test_every_key_training);
    tcase_add_test(cases, test_every_key_rollout);
    tcase_add_test(cases, test_every_key_costs);
    tcase_add_test(cases, test_provenance);
    tcase_add_test(cases, test_defaults);
    tcase_add_test(cases, test_default_prices);
    tcase_add_test(cases, test_other_prices);
    tcase_add_test(cases, test_mini_batch_is_all_samples);
    tcase_add_test(cases, test_rule_reward);
    tcase_add_test(cases, test_kl);
    tcase_add_test(cases, test_offload_of_roles);
    tcase_add_test(cases, test_attention_kernel);
    tcase_add_loop_test(cases, test_steps, 0, sizeof step_cases / sizeof step_cases[0]);
    tcase_add_test(cases, test_framework_drops);
    tcase_add_test(cases, test_empty_epoch);
    tcase_add_test(cases, test_offline);
    tcase_add_test(cases, test_offline_reference);
    tcase_add_test(cases, test_offline_needs_a_reference);
    tcase_add_test(cases, test_offline_has_no_rollout);
    tcase_add_test(cases, test_config_json);
    tcase_add_test(cases, test_windows);
    tcase_add_test(cases, test_config_json_with_mistakes);
    tcase_add_test(cases, test_config_json_beside_the_scenario);
    tcase_add_test(cases, test_seed_option);
    tcase_add_test(cases, test_missing_file);
    tcase_add_test(cases, test_missing_catalog);
    tcase_add_loop_test(cases, test_own_scenarios, 0, sizeof own_cases / sizeof own_cases[0]);
    suite_add_tcase(suite, cases);
    return suite;
}

TESTING_MAIN(load_suite)
