/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One mistake at a time in a good scenario: the exact message, at the exact place, and no other. */
#include "tests/models/scenario/fixture.h"

static struct fixture fixture;

static void setup(void) {
    fixture_open(&fixture);
    fixture_write("stores.csv", fixture_stores);
}

static void teardown(void) {
    fixture_close(&fixture);
}

struct bad_case {
    const char *find, *with; /* in the good scenario; line numbers below count with it */
    const char *errors;
};

static const struct bad_case cases[] = {
    /* unknown and misplaced keys */
    {"max_new_tokens", "max_new_token",
     "s.yaml:23:3: error: unknown key 'max_new_token' in rollout; did you mean 'max_new_tokens'?"},
    {"training:", "trainig:",
     "s.yaml:17:1: error: unknown key 'trainig'; did you mean 'training'?"},
    {"  zero_stage: 3\n", "  zero_stage: 3\n  max_num_seqs: 4\n",
     "s.yaml:20:3: error: unknown key 'max_num_seqs' in training; it belongs in rollout"},
    {"  zero_stage: 3\n", "  zero_stage: 3\n  colour: blue\n",
     "s.yaml:20:3: error: unknown key 'colour' in training"},
    {"{law: fixed, mean: 256}", "{law:fixed, mean: 256}",
     "s.yaml:24:19: error: unknown key 'law:fixed' in rollout.prompt_tokens; a space is missing "
     "after the ':'"},
    {"steps: 10\n", "steps: 10\ntraining.tp: 2\n",
     "s.yaml:4:1: error: unknown key 'training.tp'; in a file keys are nested, not joined by dots"},
    {"models:\n", "modles:\n", "s.yaml:10:1: error: unknown key 'modles'; did you mean 'models'?"},
    /* types */
    {"zero_stage: 3", "zero_stage: three",
     "s.yaml:19:15: error: training.zero_stage is 'three', expected a whole number from 0 to 3"},
    {"zero_stage: 3", "zero_stage: 3.0",
     "s.yaml:19:15: error: training.zero_stage is 3.0, expected a whole number from 0 to 3"},
    {"zero_stage: 3", "zero_stage: \"3\"",
     "s.yaml:19:15: error: training.zero_stage is 3 in quotes, expected a whole number from 0 to 3 "
     "without quotes"},
    {"zero_stage: 3", "zero_stage: 0x3",
     "s.yaml:19:15: error: training.zero_stage is '0x3', expected a whole number from 0 to 3"},
    {"zero_stage: 3", "zero_stage: [3]",
     "s.yaml:19:15: error: training.zero_stage is a list, expected a whole number from 0 to 3"},
    {"zero_stage: 3", "zero_stage: {a: 3}",
     "s.yaml:19:15: error: training.zero_stage is a mapping, expected a whole number from 0 to 3"},
    {"zero_stage: 3", "zero_stage:",
     "s.yaml:19:14: error: training.zero_stage has no value, expected a whole number from 0 to 3"},
    {"zero_stage: 3", "zero_stage: null",
     "s.yaml:19:15: error: training.zero_stage has no value, expected a whole number from 0 to 3"},
    {"zero_stage: 3", "packing: yes",
     "s.yaml:19:12: error: training.packing is 'yes', expected true or false"},
    {"mean: 256", "mean: .nan",
     "s.yaml:24:37: error: rollout.prompt_tokens.mean is '.nan', expected a number from 1 to "
     "1000000000"},
    {"name: base", "name: [base]",
     "s.yaml:1:7: error: name is a list, expected one line of text of at most 127 bytes"},
    {"name: base", "name: \"a\\nb\"",
     "s.yaml:1:7: error: name is 'a b', expected one line of text of at most 127 bytes"},
    {"training:\n", "tags: 4\ntraining:\n",
     "s.yaml:17:7: error: tags is 4, expected a mapping of names to texts"},
    {"algorithm:\n", "dataset: 100\nalgorithm:\n",
     "s.yaml:4:10: error: dataset is 100, expected a mapping with the keys prompts, pairs, epochs, "
     "drop_last, bytes"},
    /* ranges: both limits */
    {"steps: 10", "steps: 10\nseed: 18446744073709551615",
     "s.yaml:4:7: error: seed is 18446744073709551615, expected a whole number from 0 to "
     "9223372036854775807"},
    {"algorithm:\n", "prices: {node_usd_per_hour: 1e308}\nalgorithm:\n",
     "s.yaml:4:29: error: prices.node_usd_per_hour is 1e308, expected a number from 0 to 1e+15"},
    {"algorithm:\n", "reward: {sample_time: 11 d}\nalgorithm:\n",
     "s.yaml:4:23: error: reward.sample_time is '11 d', expected a quantity from 0 to 864000 s "
     "(units ns, us, ms, s, min, h, d)"},
    {"zero_stage: 3", "zero_stage: 4",
     "s.yaml:19:15: error: training.zero_stage is 4, expected a whole number from 0 to 3"},
    {"steps: 10", "steps: 0",
     "s.yaml:3:8: error: steps is 0, expected a whole number from 1 to 1000000000"},
    {"steps: 10", "steps: 99999999999999999999",
     "s.yaml:3:8: error: steps is 99999999999999999999, expected a whole number from 1 to "
     "1000000000"},
    {"steps: 10", "steps: 10\nseed: -1",
     "s.yaml:4:7: error: seed is -1, expected a whole number from 0 to 9223372036854775807"},
    {"  tp: 2\n", "  tp: 2\n  memory_fraction: 1.0\n",
     "s.yaml:23:20: error: rollout.memory_fraction is 1.0, expected a number between 0 and 1, "
     "neither included"},
    {"algorithm:\n", "logging: {sampling_rate: 1.5, bytes_per_sample: 4 kB}\nalgorithm:\n",
     "s.yaml:4:26: error: logging.sampling_rate is 1.5, expected a number from 0 to 1"},
    {"algorithm:\n", "prices: {node_usd_per_hour: -1}\nalgorithm:\n",
     "s.yaml:4:29: error: prices.node_usd_per_hour is -1, expected a number from 0 to 1e+15"},
    /* units */
    {"algorithm:\n", "reward: {sample_time: 10}\nalgorithm:\n",
     "s.yaml:4:23: error: reward.sample_time is 10: a unit of time is missing (ns, us, ms, s, min, "
     "h, d)"},
    {"algorithm:\n", "reward: {sample_time: 10 MB}\nalgorithm:\n",
     "s.yaml:4:23: error: reward.sample_time is '10 MB': 'MB' is a unit of bytes, expected a unit "
     "of "
     "time (ns, us, ms, s, min, h, d)"},
    {"algorithm:\n", "reward: {sample_time: -1 s}\nalgorithm:\n",
     "s.yaml:4:23: error: reward.sample_time is '-1 s', expected a quantity from 0 to 864000 s "
     "(units ns, us, ms, s, min, h, d)"},
    {"algorithm:\n", "logging: {sampling_rate: 1, bytes_per_sample: 4 kb}\nalgorithm:\n",
     "s.yaml:4:47: error: logging.bytes_per_sample is '4 kb': unknown unit 'kb'; did you mean "
     "'kB'?"},
    /* choices, now and later */
    {"kl: reward", "kl: rewrad",
     "s.yaml:9:7: error: algorithm.kl is 'rewrad', expected one of none, reward, loss; did you "
     "mean "
     "'reward'?"},
    {"law: fixed", "law: gama",
     "s.yaml:24:24: error: rollout.prompt_tokens.law is 'gama', expected one of fixed, lognormal, "
     "gamma, weibull, histogram, trace; did you mean 'gamma'?"},
    {"training:\n", "placement: {mode: asink}\ntraining:\n",
     "s.yaml:17:19: error: placement.mode is 'asink', expected one of colocated, split, "
     "one_step_off, async"},
    {"training:\n", "placement: {train_gpus: 4}\ntraining:\n",
     "s.yaml:17:13: error: placement.train_gpus is not used by placement.mode colocated, which has "
     "one pool; leave it out, or split them"},
    {"training:\n", "placement: {staleness_versions: 1}\ntraining:\n",
     "s.yaml:17:13: error: placement.staleness_versions is used by placement.mode async only; "
     "leave "
     "it out"},
    {"training:\n", "placement: {mode: split, train_gpus: 4}\ntraining:\n",
     "s.yaml:17:13: error: placement.weight_sync is required: how fast moves weights between pools "
     "is in no row of frameworks.csv; expected a row of weight_sync.csv, such as "
     "checkpoint-engine-broadcast"},
    {"training:\n", "reliability: {mtbf: 3 d}\ntraining:\n",
     "s.yaml:17:1: error: reliability is not supported by this version"},
    {"training:\n", "budget:\ntraining:\n",
     "s.yaml:17:1: error: budget is not supported by this version"},
    {"  tp: 2\n", "  tp: 2\n  engine: sglang\n",
     "s.yaml:23:11: error: rollout.engine is 'sglang', which the catalog does not have; known are "
     "vllm, plain"},
    /* engines */
    {"  tp: 2\n", "  tp: 2\n  engine: vlm\n",
     "s.yaml:23:11: error: rollout.engine is 'vlm', which the catalog does not have; did you mean "
     "'vllm'?"},
    {"  tp: 2\n", "  tp: 2\n  engine: plain\n  prefix_caching: true\n",
     "s.yaml:24:3: error: rollout.prefix_caching has no use with rollout.engine: plain, which "
     "generates in fixed batches; leave it out"},
    {"  tp: 2\n", "  tp: 2\n  engine: plain\n  cuda_graphs: true\n",
     "s.yaml:24:16: error: rollout.cuda_graphs is true, but rollout.engine: plain has none"},
    /* turns */
    {"  tp: 2\n", "  tp: 2\n  turns: 3\n  engine: plain\n",
     "s.yaml:23:10: error: rollout.turns is 3, expected 1 with rollout.engine: plain, which "
     "generates in fixed batches"},
    {"  tp: 2\n", "  tp: 2\n  tool_time: 2 s\n",
     "s.yaml:23:3: error: rollout.tool_time is used by rollout.turns above 1 only; leave it out"},
    {"  tp: 2\n", "  tp: 2\n  turns: 2\n  tool_time: 2 s\n  tool_time_p99: 1 s\n",
     "s.yaml:25:18: error: rollout.tool_time_p99 is 1 s, expected more than rollout.tool_time (2 "
     "s) "
     "and at most 14.9 times as much"},
    {"  tp: 2\n", "  tp: 2\n  pp: 2\n  engine: plain\n",
     "s.yaml:23:7: error: rollout.pp is 2, expected 1 with rollout.engine: plain, which has no "
     "stages"},
    {"  tp: 2\n", "  tp: 1\n  pp: 4\n",
     "s.yaml:23:7: error: rollout.pp is 4, expected at most the 2 layers of models.actor"},
    {"  tp: 2\n", "  tp: 8\n  pp: 2\n",
     "s.yaml:23:7: error: an engine replica has 16 GPUs (rollout.tp 8 x pp 2 x attention_dp 1), "
     "expected a divisor of the 8 GPUs of a node, or as many whole nodes as divide the 8 GPUs"},
    {"  tp: 2\n", "  tp: 2\n  ep: 2\n",
     "s.yaml:23:7: error: rollout.ep is 2, expected 1: models.actor has no experts"},
    {"  tp: 2\n", "  tp: 2\n  attention_dp: 2\n",
     "s.yaml:23:17: error: rollout.attention_dp is 2, expected 1: models.actor has no experts"},
    {"  tp: 2\n", "  tp: 2\n  speculative_tokens: 3\n  speculative_draft_cost: 0.1\n",
     "s.yaml:23:3: error: rollout.speculative_acceptance is required by rollout.speculative_tokens "
     "above 0"},
    {"  tp: 2\n", "  tp: 2\n  speculative_acceptance: 0.7\n",
     "s.yaml:23:3: error: rollout.speculative_acceptance is written, but "
     "rollout.speculative_tokens "
     "is not: nothing is speculated"},
    {"  tp: 2\n", "  tp: 2\n  kv_precision: int8\n",
     "s.yaml:23:17: error: rollout.kv_precision is 'int8', expected one of bf16, fp8"},
    {"zero_stage: 3", "cp: 0",
     "s.yaml:19:7: error: training.cp is 0, expected a whole number from 1 to "
     "1024"},
    /* required; several are in one line behind the others, a misspelt one is not missing */
    {"name: base\n", "nmae: base\n", "s.yaml:1:1: error: unknown key 'nmae'; did you mean 'name'?"},
    {"name: base\nframework: fast\n", "colour: red\nsize: 3\n",
     "s.yaml:1:1: error: unknown key 'colour'\n"
     "s.yaml:2:1: error: unknown key 'size'\n"
     "s.yaml:1:1: error: required keys are missing: name, framework"},
    {"  prompt_tokens: {law: fixed, mean: 256}\n", "",
     "s.yaml:21:1: error: rollout.prompt_tokens.law is required: law of the lengths of prompts; "
     "expected one of fixed, lognormal, gamma, weibull, histogram, trace"},
    {"name: base\n", "",
     "s.yaml:1:1: error: name is required: what the run is called in results; expected one line of "
     "text of at most 127 bytes"},
    {"  max_new_tokens: 512\n", "",
     "s.yaml:21:1: error: rollout.max_new_tokens is required: limit of a response, where it is cut "
     "(offline: longest response of the data set); expected a whole number from 1 to 1000000000"},
    {"  prompts_per_step: 64\n", "",
     "s.yaml:4:1: error: algorithm.prompts_per_step is required by ppo"},
    {"steps: 10\n", "",
     "s.yaml:1:1: error: the length of the run is missing: write steps, or dataset.prompts with "
     "dataset.epochs"},
    {"  microbatch_samples: 4\n", "",
     "s.yaml:17:1: error: the size of a micro-batch is missing: write training.microbatch_samples, "
     "or training.microbatch_tokens with packing: true"},
    {"  critic: {model: small}\n", "",
     "s.yaml:10:1: error: models.critic.model is required by ppo"},
    {"  reference: {model: small}\n", "",
     "s.yaml:10:1: error: models.reference.model is required: algorithm.kl is reward, which "
     "compares "
     "with a reference model; name it, set algorithm.kl: none, or give the actor LoRA adapters "
     "that can be switched off"},
    {"mean: 200, p99: 450", "mean: 200",
     "s.yaml:25:3: error: rollout.response_tokens.p99 is required by law lognormal: the length "
     "that 99 in 100 do not exceed (or p90, cv or uncut_cv)"},
    /* names */
    {"framework: fast", "framework: fats",
     "s.yaml:2:12: error: framework is 'fats', which the catalog does not have; did you mean "
     "'fast'?"},
    {"node: box", "node: azimuth",
     "s.yaml:15:9: error: cluster.node is 'azimuth', which the catalog does not have; known are "
     "box, "
     "six, new"},
    {"name: ppo", "name: ppi",
     "s.yaml:5:9: error: algorithm.name is 'ppi', expected one of ppo, grpo, dr_grpo, gspo, "
     "dapo, rloo, reinforce_plus_plus, reinforce_plus_plus_baseline, remax, rejection_sampling, "
     "online_dpo, dpo, ipo, kto, cpo, simpo, orpo, sft, reward_model; did you mean 'ppo'?"},
    {"actor: {model: small}", "actor: {model: Smal}",
     "s.yaml:11:18: error: models.actor.model is 'Smal', which the catalog does not have; did you "
     "mean 'small'?"},
    {"actor: {model: small}", "actor: {model: ./small}",
     "s.yaml:11:18: error: models.actor.model is './small', but there is no such file; the catalog "
     "has 'small'"},
    {"nodes: 1", "gpu: G90", "s.yaml:16:8: error: cluster.gpu is 'G90', but node 'box' has G80"},
    {"nodes: 1", "gpus_per_node: 9",
     "s.yaml:16:18: error: cluster.gpus_per_node is 9, but node 'box' has 8 GPUs"},
    {"training:\n", "prices: {region: west}\ntraining:\n",
     "s.yaml:17:18: error: the catalog has no price of 'box.large on-demand' from cloud (of the "
     "node) in west (prices.region); it has one from cloud in north, cloud in south, cloud in "
     "east; write "
     "prices.node_usd_per_hour, or another prices.provider, prices.region or prices.plan "
     "(on_demand)"},
    {"training:\n", "prices: {provider: other, plan: spot}\ntraining:\n",
     "s.yaml:17:20: error: the catalog has no price of 'box.large spot' from other "
     "(prices.provider) in north (of the node); it has one from cloud in "
     "north; write prices.node_usd_per_hour, or another "
     "prices.provider, prices.region or prices.plan (spot)"},
    {"training:\n", "prices: {region: east}\ntraining:\n",
     "s.yaml:17:1: error: the catalog's price of 'box.large on-demand' is by the gpu-hour, "
     "expected "
     "by the node-hour; write prices.node_usd_per_hour"},
    /* keys that would do nothing */
    {"kl: reward", "kl: none",
     "s.yaml:13:15: error: models.reference.model is not used: algorithm.kl is none; leave it out"},
    {"name: ppo", "name: grpo",
     "s.yaml:7:23: error: algorithm.samples_per_prompt is 1, expected a whole number of 2 or more "
     "with grpo\n"
     "s.yaml:12:12: error: models.critic.model is not used by grpo; leave it out"},
    {"kl: reward", "reference_logprobs: precomputed",
     "s.yaml:9:3: error: algorithm.reference_logprobs is not used by ppo, which generates its "
     "samples; leave it out"},
    {"training:\n", "dataset: {pairs: 100}\ntraining:\n",
     "s.yaml:17:11: error: dataset.pairs is not used by ppo, which generates its samples; leave it "
     "out"},
    {"training:\n", "dataset: {epochs: 2}\ntraining:\n",
     "s.yaml:17:11: error: dataset.epochs is written, but dataset.prompts is not"},
    {"training:\n", "  zones: {latency: 1 ms}\ntraining:\n",
     "s.yaml:17:11: error: cluster.zones.latency is written, but cluster.zones.count is not: there "
     "is one zone"},
    {"training:\n", "checkpoint: {mode: asynchronous}\ntraining:\n",
     "s.yaml:17:14: error: checkpoint.mode is written, but checkpoint.every_steps is not: no "
     "checkpoint is written"},
    {"training:\n", "checkpoint: {every_steps: 2, store: shelff}\ntraining:\n",
     "s.yaml:17:37: error: checkpoint.store is 'shelff', which the catalog does not have; did you "
     "mean 'shelf'?"},
    {"training:\n", "checkpoint: {load: weights, store: disks}\ntraining:\n",
     "s.yaml:17:36: error: store 'disks' has no read_gb_per_s and no client_read_gb_per_s, which "
     "loading needs; write stores.csv of your own for it, or describe it in the scenario"},
    {"training:\n", "checkpoint: {every_steps: 2, staging: shelf}\ntraining:\n",
     "s.yaml:17:30: error: checkpoint.staging is written, but checkpoint.mode is synchronous, "
     "which stages nothing"},
    {"training:\n",
     "  topology: {kind: leaf_spine, block_nodes: 1, background_from: 1 h}\ntraining:\n",
     "s.yaml:17:48: error: cluster.topology.background_from is written, but "
     "cluster.topology.background is not: nobody uses these links"},
    {"training:\n",
     "  topology: {kind: leaf_spine, block_nodes: 1, background: 0.5, background_from: 1 h, "
     "background_until: 60 s}\ntraining:\n",
     "s.yaml:17:105: error: cluster.topology.background_until is 60 s, expected a time after "
     "cluster.topology.background_from (3600 s)"},
    {"training:\n", "  topology: {kind: full, background_until: 1 h}\ntraining:\n",
     "s.yaml:17:26: error: cluster.topology.background_until is not used by the topology full; "
     "leave it out"},
    {"training:\n",
     "  topology: {kind: leaf_spine, block_nodes: 1, background: 0.5, background_from: 1 h}\n"
     "checkpoint: {every_steps: 2, layout: gathered}\ntraining:\n",
     "s.yaml:17:65: error: cluster.topology.background_from does not go with checkpoint.layout "
     "gathered; cluster.topology.background alone, all the time, does"},
    {"training:\n",
     "checkpoint: {every_steps: 2, store: {write_gb_per_s: 1, usd_per_1000_writes: 1}}\n"
     "training:\n",
     "s.yaml:17:37: error: store 'inline store' has usd_per_1000_writes, but no part_mb, which "
     "requests that write need beside it"},
    {"training:\n",
     "checkpoint: {every_steps: 2, mode: asynchronous, staging: {write_gb_per_s: 1, "
     "read_gb_per_s: 1, usd_per_gb_month: 1}}\ntraining:\n",
     "s.yaml:17:59: error: store 'inline store' has prices or part_mb, which are not counted where "
     "checkpoints are staged; leave them out"},
    {"training:\n",
     "checkpoint: {every_steps: 2, store: {write_gb_per_s: 1, capacity_gb: 0}}\ntraining:\n",
     "s.yaml:17:70: error: checkpoint.store.capacity_gb is 0, expected a number above 0 and "
     "at most 1e+15, or nothing where it is not known"},
    {"training:\n", "dataset: {bytes: 1 GB, prompts: 100}\ntraining:\n",
     "s.yaml:17:11: error: dataset.bytes is written, but checkpoint.load is not: nothing is "
     "loaded"},
    {"training:\n", "dataset: {drop_last: true}\ntraining:\n",
     "s.yaml:17:11: error: dataset.drop_last is written, but dataset.prompts is not"},
    {"training:\n", "dataset: {prompts: 100, drop_last: 1}\ntraining:\n",
     "s.yaml:17:36: error: dataset.drop_last is 1, expected true or false"},
    {"steps: 10\n", "dataset: {prompts: 63, drop_last: true}\n",
     "s.yaml:3:35: error: dataset.drop_last is true and leaves no step of an epoch: "
     "dataset.prompts is 63, a step takes 64; with dataset.drop_last: false it is a short step"},
    {"  reference: {model: small}\n",
     "  reference: {model: small}\n  reward: {model: small}\nreward: {workers: 4}\n",
     "s.yaml:15:10: error: reward.workers is not used by ppo, whose rewards models.reward gives; "
     "leave it out"},
    {"  reference: {model: small}\n", "  reference: {model: small}\n  reward: {offload: none}\n",
     "s.yaml:14:12: error: models.reward.offload is written, but models.reward.model is not"},
    {"training:\n", "checkpoint: {keep: 2}\ntraining:\n",
     "s.yaml:17:14: error: checkpoint.keep is written, but checkpoint.every_steps is not: no "
     "checkpoint is written"},
    {"training:\n", "logging: {bytes_per_sample: 1 kB}\ntraining:\n",
     "s.yaml:17:11: error: logging.bytes_per_sample is written, but logging.sampling_rate is not: "
     "no "
     "sample is logged"},
    {"training:\n", "logging: {sampling_rate: 0.5}\ntraining:\n",
     "s.yaml:17:11: error: logging.bytes_per_sample is required by a sampling_rate above 0, such "
     "as "
     "4 kB"},
    {"law: fixed, mean: 256", "law: fixed, mean: 256, p99: 300",
     "s.yaml:24:42: error: rollout.prompt_tokens.p99 is not used by law fixed, where every length "
     "is "
     "the mean; leave it out"},
    {"law: fixed, mean: 256", "law: fixed, mean: 256, uncut: true",
     "s.yaml:24:42: error: rollout.prompt_tokens.uncut is not used by law fixed, where every "
     "length "
     "is the mean; leave it out"},
    /* adapters and offload */
    {"reference: {model: small}", "reference: {model: small, lora_rank: 8}",
     "s.yaml:13:40: error: models.reference.lora_rank is 8, but the reference model is frozen in "
     "ppo"},
    {"actor: {model: small}", "actor: {model: small, lora_rank: 65}",
     "s.yaml:11:36: error: models.actor.lora_rank is 65, above the 64 of the hidden state"},
    {"reference: {model: small}", "reference: {model: small, offload: optimizer}",
     "s.yaml:13:38: error: models.reference.offload is optimizer, but the reference model is "
     "frozen "
     "and has no optimizer; expected none or parameters"},
    /* layout */
    {"training:\n  tp: 1", "training:\n  tp: 3",
     "s.yaml:18:7: error: training.tp is 3, expected a divisor of the 8 GPUs of a node, or as many "
     "whole nodes as divide the 8 GPUs\n"
     "s.yaml:18:7: error: training.tp is 3, expected a divisor of the 8 heads of models.actor"},
    {"rollout:\n  tp: 2", "rollout:\n  tp: 5",
     "s.yaml:22:7: error: rollout.tp is 5, expected a divisor of the 8 GPUs of a node, or as many "
     "whole nodes as divide the 8 GPUs\n"
     "s.yaml:22:7: error: rollout.tp is 5, expected a divisor of the 8 heads of models.actor"},
    {"zero_stage: 3", "pp: 3",
     "s.yaml:19:7: error: training.tp x cp x pp is 1 x 1 x 3, expected a divisor of the 8 GPUs\n"
     "s.yaml:19:7: error: training.pp x vpp is 3 x 1, expected at most the 2 layers of "
     "models.actor (or a divisor of 4, embedding and head in the place of a layer each)"},
    {"zero_stage: 3", "pp: 8",
     "s.yaml:19:7: error: training.pp x vpp is 8 x 1, expected at most the 2 layers of "
     "models.actor (or a divisor of 4, embedding and head in the place of a layer each)"},
    {"zero_stage: 3", "vpp: 2",
     "s.yaml:19:8: error: training.vpp is 2, expected 1 without a pipeline (training.pp is 1)"},
    {"zero_stage: 3\n  microbatch_samples: 4", "pp: 2\n  vpp: 2\n  microbatch_samples: 8",
     "s.yaml:20:8: error: training.vpp is 2, expected 1, or micro-batches in multiples of the 2 "
     "stages: a rank has 1 of them in a mini-batch"},
    {"zero_stage: 3", "cp: 3",
     "s.yaml:19:7: error: training.tp x cp x pp is 1 x 3 x 1, expected a divisor of the 8 GPUs"},
    {"zero_stage: 3", "ep: 2",
     "s.yaml:19:7: error: training.ep is 2, but no model has experts; expected 1"},
    {"zero_stage: 3", "expert_tp: 3",
     "s.yaml:19:14: error: training.expert_tp is 3, expected 1 or the 1 of training.tp"},
    {"zero_stage: 3", "shard_ranks: 3",
     "s.yaml:19:16: error: training.shard_ranks is 3, expected a divisor of the 8 data and context "
     "parallel ranks"},
    {"zero_stage: 3", "zero_stage: 0\n  shard_ranks: 4",
     "s.yaml:20:16: error: training.shard_ranks is 4, but with training.zero_stage 0 every rank "
     "has "
     "a copy of its own; leave it out"},
    {"zero_stage: 3", "lora_merged: true",
     "s.yaml:19:3: error: training.lora_merged is true, but there is nothing to merge: no "
     "model has a lora_rank; leave it out"},
    {"minibatch_samples: 32", "minibatch_samples: 24",
     "s.yaml:8:22: error: algorithm.minibatch_samples is 24, expected a divisor of the 64 samples "
     "of "
     "a step (64 prompts x 1); possible near it are 16 and 32"},
    {"minibatch_samples: 32", "minibatch_samples: 4",
     "s.yaml:8:22: error: algorithm.minibatch_samples is 4, expected a multiple of the 8 data "
     "parallel ranks (8 GPUs / training.tp 1); possible near it is 8"},
    {"prompts_per_step: 64\n  samples_per_prompt: 1\n  minibatch_samples: 32",
     "prompts_per_step: 4",
     "s.yaml:4:1: error: algorithm.minibatch_samples is 4 by default, expected a multiple of the 8 "
     "data parallel ranks (8 GPUs / training.tp 1)"},
    {"prompts_per_step: 64", "prompts_per_step: 1000000000",
     "s.yaml:6:21: error: 1000000000 samples a step (1000000000 prompts x 1), expected at most "
     "100000000"},
    {"microbatch_samples: 4", "microbatch_samples: 3",
     "s.yaml:20:23: error: training.microbatch_samples is 3, expected a divisor of the 4 samples "
     "of "
     "a rank (mini-batch of 32 / 8 ranks); possible near it are 2 and 4"},
    {"microbatch_samples: 4", "microbatch_samples: 4\n  microbatch_tokens: 8192",
     "s.yaml:21:3: error: training.microbatch_tokens and training.microbatch_samples exclude each "
     "other; write one of them"},
    {"microbatch_samples: 4", "microbatch_tokens: 8192",
     "s.yaml:20:22: error: training.microbatch_tokens is a budget for packed sequences, expected "
     "training.packing: true with it"},
    {"microbatch_samples: 4", "packing: true\n  microbatch_tokens: 767",
     "s.yaml:21:22: error: training.microbatch_tokens is 767, expected at least the longest "
     "sequence "
     "of 768 tokens (prompt 256 + response 512)"},
    /* sequences */
    {"max_new_tokens: 512", "max_new_tokens: 769",
     "s.yaml:23:19: error: rollout.max_new_tokens is 769, with the longest prompt (256) 1025 "
     "tokens, "
     "expected at most the 1024 positions of models.actor"},
    {"p99: 450", "p99: 512",
     "s.yaml:25:53: error: rollout.response_tokens.p99 is 512, expected less than max_new_tokens "
     "(512): after that cut no length is longer; write uncut: true if mean and p99 are those "
     "before "
     "the cut"},
    {"p99: 450", "p99: 450, limit: 500",
     "s.yaml:25:65: error: rollout.response_tokens.limit is 500, but rollout.max_new_tokens cuts "
     "responses at 512; leave the limit out"},
    /* formats and engine */
    {"  tp: 2\n", "  tp: 2\n  precision: fp8\n",
     "s.yaml:23:14: error: rollout.precision is fp8, which G80 does not compute with"},
    {"zero_stage: 3", "precision: fp8",
     "s.yaml:19:14: error: training.precision is fp8, which G80 does not compute with"},
    {"  tp: 2\n", "  tp: 2\n  max_num_seqs: 9000\n",
     "s.yaml:23:17: error: rollout.max_num_batched_tokens is 8192 by default, expected at least "
     "rollout.max_num_seqs (9000)"},
    {"  tp: 2\n", "  tp: 2\n  max_num_batched_tokens: 100\n",
     "s.yaml:23:27: error: rollout.max_num_batched_tokens is 100, expected at least "
     "rollout.max_num_seqs (256 by default)"},
    /* lengths */
    {"law: lognormal, mean: 200, p99: 450", "law: gamma, mean: 200, p99: 450, cv: 0.5",
     "s.yaml:25:54: error: rollout.response_tokens.cv is written beside "
     "rollout.response_tokens.p99, expected one of them"},
    {"p99: 450", "uncut_cv: 0.5, uncut: true",
     "s.yaml:25:48: error: rollout.response_tokens.uncut_cv is written beside uncut: true, which "
     "makes cv that of the law: write cv"},
    {"p99: 450", "p90: 512",
     "s.yaml:25:53: error: rollout.response_tokens.p90 is 512, expected less than max_new_tokens "
     "(512): after that cut no length is longer; write uncut: true if mean and p90 are those "
     "before the cut"},
    {"mean: 200, p99: 450", "p99: 450",
     "s.yaml:25:3: error: rollout.response_tokens.mean is required by law lognormal: the mean "
     "length, in tokens"},
    {"p99: 450", "cv: 2",
     "s.yaml:25:52: error: rollout.response_tokens: cv 2: of a log-normal law cut at its limit of "
     "that mean it must be between 0 and 1.184"},
    {"p99: 450", "p99: 450, cap_share: 0.5",
     "s.yaml:25:43: error: rollout.response_tokens: mean 200: the cap_share 0.5 of the limit 512 "
     "alone brings a mean of 256"},
    {"p99: 450", "p99: 450, file: a.csv",
     "s.yaml:25:58: error: rollout.response_tokens.file is not used by law lognormal; leave it "
     "out"},
    {"law: fixed, mean: 256", "law: fixed, mean: 256, cv: 1",
     "s.yaml:24:42: error: rollout.prompt_tokens.cv is not used by law fixed, where every length "
     "is the mean; leave it out"},
    {"law: lognormal, mean: 200, p99: 450", "law: trace",
     "s.yaml:25:3: error: rollout.response_tokens.file is required by law trace: the path of a CSV "
     "file"},
    {"law: lognormal, mean: 200, p99: 450", "law: histogram, file: no.csv",
     "s.yaml:25:43: error: rollout.response_tokens.file is 'no.csv', but there is no such file"},
    {"law: lognormal, mean: 200, p99: 450", "law: trace, file: no.csv, group_correlation: 0.5",
     "s.yaml:25:47: error: rollout.response_tokens.group_correlation is not used by law trace; "
     "leave it out"},
    {"p99: 450", "p99: 450, drift_mean: 300",
     "s.yaml:25:58: error: rollout.response_tokens.drift_mean is not used by drift none; leave it "
     "out"},
    {"p99: 450", "p99: 450, drift: linear",
     "s.yaml:25:3: error: rollout.response_tokens.drift_mean is required by drift linear: mean "
     "that a linear drift reaches and a logistic one nears"},
    {"p99: 450", "p99: 450, drift: linear, drift_mean: 600",
     "s.yaml:25:85: error: rollout.response_tokens.drift_mean brings a mean of 600, expected one "
     "that the law can have: above 0 (cap_share x max_new_tokens) and below max_new_tokens (512)"},
    /* tags */
    {"training:\n", "tags: {\"a b\": c}\ntraining:\n",
     "s.yaml:17:8: error: tag name 'a b', expected letters, digits, '_', '-', '.' and '/'"},
    {"training:\n", "tags: {a: b;c}\ntraining:\n",
     "s.yaml:17:11: error: tags.a is 'b;c', expected one line of text without ';'"},
    {"training:\n", "tags: {a: }\ntraining:\n",
     "s.yaml:17:11: error: tags.a has no value, expected text"},
};

START_TEST(test_bad_scenario) {
    const struct bad_case *row = &cases[_i];
    char *text = fixture_replace(fixture_scenario, row->find, row->with);
    fixture_write("s.yaml", text);
    free(text);
    ck_assert_int_eq(fixture_load(&fixture, NULL), RLHFSIM_INVALID);
    char expected[4096];
    snprintf(expected, sizeof expected, "%s\n", row->errors);
    ck_assert_str_eq(fixture.errors, expected);
}
END_TEST

/* Key-value heads that are neither dealt out nor copied evenly: 12 heads and 4 of them over 6. */
START_TEST(test_rounds_need_a_judge) {
    const char *const sets[] = {
        "algorithm={name: dapo, prompts_per_step: 8, samples_per_prompt: 4, "
        "minibatch_samples: 32, pass_rate_mean: 0.5, "
        "pass_rate_concentration: 2}",
        "models={actor: {model: small}, reward: {model: small}}",
        "placement={mode: one_step_off, train_gpus: 4}", NULL};
    fixture_write("s.yaml", fixture_scenario);
    ck_assert_int_eq(fixture_load(&fixture, sets), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors,
                     "--set:1:12: error: placement.weight_sync is required: how fast moves weights "
                     "between pools is in no row of frameworks.csv; expected a row of "
                     "weight_sync.csv, such as checkpoint-engine-broadcast\n"
                     "--set:1:12: error: placement.reward_gpus is required by dapo with "
                     "placement.mode one_step_off: its rounds wait for models.reward while the "
                     "trainer is at work\n");
}
END_TEST

START_TEST(test_key_value_heads) {
    const char *const sets[] = {"cluster.node=six",
                                "models.actor.model=odd",
                                "models.critic.model=odd",
                                "models.reference.model=odd",
                                "training.tp=6",
                                "rollout.tp=6",
                                NULL};
    fixture_write("s.yaml", fixture_scenario);
    ck_assert_int_eq(fixture_load(&fixture, sets), RLHFSIM_INVALID);
    ck_assert_str_eq(
        fixture.errors,
        "--set:1:12: error: rollout.tp is 6, expected a divisor or a multiple of the 4 "
        "key-value heads of models.actor\n"
        "--set:1:13: error: training.tp is 6, expected a divisor or a multiple of the "
        "4 key-value heads of models.actor\n");
}
END_TEST

/* Over eight context parallel ranks: 12 heads, and a context of 1,024 tokens in 2 x 8 pieces. */
START_TEST(test_context_parallel_heads) {
    const char *const sets[] = {"models.actor.model=odd", "training.cp=8", "training.context=ring",
                                NULL};
    const char *const ulysses[] = {"models.actor.model=odd", "training.cp=8",
                                   "training.context=ulysses", NULL};
    fixture_write("s.yaml", fixture_scenario);
    ck_assert_int_eq(fixture_load(&fixture, sets), RLHFSIM_OK);
    ck_assert_int_eq(fixture_load(&fixture, ulysses), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors,
                     "--set:1:13: error: training.cp is 8, expected training.tp x cp (8) to divide "
                     "the 12 heads of models.actor with context: ulysses\n");
}
END_TEST

static const char six_experts[] =
    "{\"model_type\": \"mixtral\", \"hidden_size\": 64, \"num_hidden_layers\": 2, "
    "\"num_attention_heads\": 8, \"num_key_value_heads\": 4, \"intermediate_size\": 128, "
    "\"vocab_size\": 1000, \"max_position_embeddings\": 1024, \"num_local_experts\": 6, "
    "\"num_experts_per_tok\": 2}";

START_TEST(test_experts_over_ranks) {
    const char *const two[] = {"models.actor.model=./six.json", "training.ep=2", NULL};
    const char *const four[] = {"models.actor.model=./six.json", "training.ep=4", NULL};
    fixture_write("s.yaml", fixture_scenario);
    fixture_write("six.json", six_experts);
    ck_assert_int_eq(fixture_load(&fixture, two), RLHFSIM_OK);
    ck_assert_int_eq(fixture_load(&fixture, four), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors,
                     "--set:1:13: error: training.ep is 4, expected a divisor of the 6 experts of "
                     "models.actor\n");
}
END_TEST

/* All mistakes of a file at once, from the top down, those of `--set` behind. */
START_TEST(test_all_at_once) {
    char *text = fixture_replace(fixture_scenario, "zero_stage: 3", "zero_stage: 4\n  nope: 1");
    char *worse = fixture_replace(text, "framework: fast", "framework: slow");
    const char *const sets[] = {"rollout.tp=x", "nodes=3", NULL};
    fixture_write("s.yaml", worse);
    free(text);
    free(worse);
    ck_assert_int_eq(fixture_load(&fixture, sets), RLHFSIM_INVALID);
    ck_assert_str_eq(
        fixture.errors,
        "s.yaml:2:12: error: framework is 'slow', which the catalog does not have; known are fast\n"
        "s.yaml:19:15: error: training.zero_stage is 4, expected a whole number from 0 to 3\n"
        "s.yaml:20:3: error: unknown key 'nope' in training\n"
        "--set:1:1: error: unknown key 'nodes'; it belongs in cluster\n"
        "--set:1:12: error: rollout.tp is 'x', expected a whole number from 1 to 1024\n");
}
END_TEST

/* 60 unknown keys: 50 are shown, the others counted. */
START_TEST(test_many_errors) {
    char text[8192];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", fixture_scenario);
    for (int i = 0; i < 60; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "zzzzzzzz%02d: 1\n", i);
    fixture_write("s.yaml", text);
    ck_assert_int_eq(fixture_load(&fixture, NULL), RLHFSIM_INVALID);
    size_t lines = 0;
    for (const char *at = fixture.errors; *at != '\0'; at++)
        lines += *at == '\n' ? 1 : 0;
    ck_assert_uint_eq(lines, 51);
    ck_assert_ptr_nonnull(strstr(fixture.errors, "s.yaml:75:1: error: unknown key 'zzzzzzzz49'\n"
                                                 "error: and 10 more errors\n"));
}
END_TEST

static Suite *bad_suite(void) {
    Suite *suite = suite_create("scenario.bad_scenarios");
    TCase *bad = tcase_create("bad");
    tcase_add_checked_fixture(bad, setup, teardown);
    tcase_add_loop_test(bad, test_bad_scenario, 0, sizeof cases / sizeof cases[0]);
    tcase_add_test(bad, test_rounds_need_a_judge);
    tcase_add_test(bad, test_key_value_heads);
    tcase_add_test(bad, test_context_parallel_heads);
    tcase_add_test(bad, test_experts_over_ranks);
    tcase_add_test(bad, test_all_at_once);
    tcase_add_test(bad, test_many_errors);
    suite_add_tcase(suite, bad);
    return suite;
}

TESTING_MAIN(bad_suite)
