/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/schema.h"

#include "models/scenario/scenario.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIELD(member)                                    \
    .offset = offsetof(struct rlhfsim_scenario, member), \
    .size = sizeof(((const struct rlhfsim_scenario *)NULL)->member)
#define TEXT(bytes) .type = SCENARIO_TYPE_TEXT, .most = (bytes)
#define INTEGER(from, to) .type = SCENARIO_TYPE_INTEGER, .least = (from), .most = (to)
#define NUMBER(from, to) .type = SCENARIO_TYPE_NUMBER, .minimum = (from), .maximum = (to)
#define QUANTITY(kind, from, to) \
    .type = SCENARIO_TYPE_QUANTITY, .dimension = (kind), .minimum = (from), .maximum = (to)
#define BOOLEAN .type = SCENARIO_TYPE_BOOLEAN
#define CHOICE(names) .type = SCENARIO_TYPE_CHOICE, .choices = (names)
#define LATER .type = SCENARIO_TYPE_LATER
#define ONLY_ONE(what) INTEGER(1, 1), .later = (what), .fallback = "1"
#define ROLLOUT .use = SCENARIO_USE_ROLLOUT

/* Far beyond any run, and small enough that products of three of them stay within 63 bits. */
#define MANY 1000000
#define VERY_MANY 1000000000
#define DATA_SET 1000000000000
#define LARGE 1e15

/* The order of the choices is that of the enum that the value becomes. */
static const char *const kl_choices[] = {"none", "reward", "loss", NULL};
static const char *const reference_choices[] = {"every_step", "precomputed", NULL};
static const char *const old_logprob_choices[] = {"recomputed", "skipped", NULL};
static const char *const offload_choices[] = {"none", "optimizer", "parameters",
                                              "optimizer+parameters", NULL};
static const char *const optimizer_tier_choices[] = {"host", "nvme", NULL};
static const char *const precision_choices[] = {"fp32", "bf16", "fp16", "fp8", NULL};
static const char *const recompute_choices[] = {"none",      "selective", "full",
                                                "attention", "operators", NULL};
static const char *const attention_choices[] = {"measured", "unfused", "flash_1", "flash_2",
                                                "flash_3",  "flash_4", "cudnn",   NULL};
static const char *const fusion_choices[] = {"compiled", "eager", NULL};
static const char *const context_choices[] = {"ring", "ulysses", NULL};
static const char *const reduction_choices[] = {"by_stage", "once", "every_microbatch", NULL};
static const char *const node_placement_choices[] = {"packed", "spread", "by_rail", NULL};
static const char *const graph_routing_choices[] = {"hops", "latency", NULL};
static const char *const logits_choices[] = {"whole", "chunked", "fused", NULL};
static const char *const optimizer_choices[] = {"adam", "adam_8bit", "sgd", NULL};
static const char *const base_choices[] = {"unpacked", "nf4", NULL};
static const char *const rank_load_choices[] = {"sharded", "first_rank", "every_rank", NULL};
static const char *const share_choices[] = {"total", "free", NULL};
static const char *const sleeping_choices[] = {"discarded", "host", NULL};
static const char *const wake_choices[] = {"staged", "whole", NULL};
static const char *const targets_choices[] = {"all_linear", "qkv", NULL};
static const char *const mode_choices[] = {"colocated", "split", "one_step_off", "async", NULL};
static const char *const bound_choices[] = {"wait", "drop", NULL};
static const char *const format_choices[] = {"fp32", "bf16", "fp16", "fp8", "int4", "fp4", NULL};
static const char *const kv_choices[] = {"bf16", "fp8", NULL};
static const char *const preemption_choices[] = {"recompute", "swap", NULL};
static const char *const routing_choices[] = {"static", "least_loaded", NULL};
static const char *const law_choices[] = {"fixed",     "lognormal", "gamma", "weibull",
                                          "histogram", "trace",     NULL};
static const char *const drift_choices[] = {"none", "linear", "logistic", "table", NULL};
static const char *const save_choices[] = {"synchronous", "asynchronous", NULL};
static const char *const save_layout_choices[] = {"sharded", "gathered", NULL};
static const char *const load_choices[] = {"none", "weights", "checkpoint", NULL};
static const char *const plan_choices[] = {"on_demand", "spot", NULL};

#define MODEL_KEYS(role, ROLE, what)                                                              \
    [KEY_MODELS_##ROLE##_MODEL] = {"models." role ".model",                                       \
                                   "the " what ": a name of the catalog, or the path of a "       \
                                   "config.json (from the scenario's folder), or its columns",    \
                                   TEXT(4095), .row = true},                                      \
    [KEY_MODELS_##ROLE##_LORA_RANK] = {"models." role ".lora_rank",                               \
                                       "rank of LoRA adapters of the " role                       \
                                       "; 0 trains all parameters",                               \
                                       INTEGER(0, 65536), .fallback = "0",                        \
                                       FIELD(models[ALGORITHM_ROLE_##ROLE].lora_rank)},           \
    [KEY_MODELS_##ROLE##                                                                          \
        _LORA_TARGETS] = {"models." role ".lora_targets",                                         \
                          "linear layers of the " role                                            \
                          " that have adapters: all, each a pair, or query, key and "             \
                          "value together one pair",                                              \
                          CHOICE(targets_choices), .fallback = "all_linear",                      \
                          FIELD(models[ALGORITHM_ROLE_##ROLE].lora_targets)},                     \
    [KEY_MODELS_##ROLE##_OFFLOAD] = {"models." role ".offload",                                   \
                                     "what of the " role " is kept in host memory while it is "   \
                                     "not in use; without it training.offload holds for trained " \
                                     "models and none for frozen ones",                           \
                                     CHOICE(offload_choices)}

#define LENGTH_KEYS(name, NAME, field, what, limit_meaning)                                        \
    [KEY_##NAME##_LAW] = {"rollout." name ".law", "law of the lengths of " what,                   \
                          CHOICE(law_choices), .required = true,                                   \
                          FIELD(rollout.field.moments.law)},                                       \
    [KEY_##NAME##_MEAN] = {"rollout." name ".mean",                                                \
                           "mean length of " what ", in tokens (not of a histogram or trace)",     \
                           NUMBER(1, VERY_MANY), FIELD(rollout.field.moments.mean)},               \
    [KEY_##NAME##_P99] = {"rollout." name ".p99",                                                  \
                          "length, in tokens, that 99 in 100 " what                                \
                          " do not exceed; a lognormal, "                                          \
                          "gamma or weibull law takes this, p90, cv or uncut_cv",                  \
                          NUMBER(1, VERY_MANY), FIELD(rollout.field.moments.p99)},                 \
    [KEY_##NAME##_P90] = {"rollout." name ".p90",                                                  \
                          "length, in tokens, that 9 in 10 " what " do not exceed",                \
                          NUMBER(1, VERY_MANY), FIELD(rollout.field.moments.p90)},                 \
    [KEY_##NAME##_CV] = {"rollout." name ".cv",                                                    \
                         "standard deviation of the lengths of " what " over their mean",          \
                         NUMBER(0, 1000), .above = true, FIELD(rollout.field.moments.cv)},         \
    [KEY_##NAME##                                                                                  \
        _UNCUT_CV] = {"rollout." name ".uncut_cv",                                                 \
                      "the cv of the law before the limit cuts it and without cap_share, "         \
                      "beside a mean of what is seen",                                             \
                      NUMBER(0, 1000), .above = true, FIELD(rollout.field.moments.uncut_cv)},      \
    [KEY_##NAME##_LIMIT] = {"rollout." name ".limit", limit_meaning, INTEGER(1, VERY_MANY)},       \
    [KEY_##NAME##_UNCUT] = {"rollout." name ".uncut",                                              \
                            "mean, p99, p90 and cv are those of the law before the limit cuts it", \
                            BOOLEAN, .fallback = "false", FIELD(rollout.field.moments.uncut)},     \
    [KEY_##NAME##_FILE] = {"rollout." name ".file",                                                \
                           "CSV file, from the scenario's folder: of a histogram the columns "     \
                           "from, to and weight, of a trace prompt, response and, where known, "   \
                           "group",                                                                \
                           TEXT(4095)}

static const struct scenario_schema_entry entries[KEY_COUNT] = {
    [KEY_NAME] = {"name", "what the run is called in results", TEXT(127), .required = true,
                  FIELD(name)},
    [KEY_SEED] = {"seed", "seed of all random numbers; the same seed gives the same bytes",
                  INTEGER(0, INT64_MAX), .fallback = "1", FIELD(seed)},
    [KEY_FRAMEWORK] = {"framework",
                       "training framework: a name of the catalog, which has its host times, its "
                       "weight sync and its memory overheads",
                       TEXT(47), .required = true},
    [KEY_STEPS] = {"steps",
                   "rollout steps (offline: optimizer steps), every one of them full; replaces "
                   "what the data set gives",
                   INTEGER(1, VERY_MANY), FIELD(steps)},

    [KEY_ALGORITHM_NAME] = {"algorithm.name", "the algorithm, which says what phases a step has",
                            TEXT(47), .required = true},
    [KEY_ALGORITHM_PROMPTS_PER_STEP] = {"algorithm.prompts_per_step",
                                        "prompts that one rollout step answers",
                                        INTEGER(1, VERY_MANY), ROLLOUT,
                                        FIELD(algorithm.prompts_per_step)},
    [KEY_ALGORITHM_SAMPLES_PER_PROMPT] = {"algorithm.samples_per_prompt",
                                          "answers to each prompt (K); required where the "
                                          "algorithm compares them, else 1",
                                          INTEGER(1, MANY), ROLLOUT,
                                          FIELD(algorithm.samples_per_prompt)},
    [KEY_ALGORITHM_MINIBATCH_SAMPLES] = {"algorithm.minibatch_samples",
                                         "samples (offline: pairs) of one optimizer step over all "
                                         "GPUs; by default all samples of a rollout step",
                                         INTEGER(1, VERY_MANY), FIELD(algorithm.minibatch_samples)},
    [KEY_ALGORITHM_EPOCHS] = {"algorithm.epochs",
                              "passes of the optimizer over the samples of one rollout step",
                              INTEGER(1, 1000), ROLLOUT, .fallback = "1", FIELD(algorithm.epochs)},
    [KEY_ALGORITHM_KL] = {"algorithm.kl",
                          "where a KL term keeps the actor near the reference model; by default "
                          "reward with a critic and loss without one",
                          CHOICE(kl_choices), ROLLOUT, FIELD(algorithm.kl)},
    [KEY_ALGORITHM_REFERENCE_LOGPROBS] = {"algorithm.reference_logprobs",
                                          "whether the reference scores the pairs in every step or "
                                          "once before the first",
                                          CHOICE(reference_choices),
                                          .use = SCENARIO_USE_PRECOMPUTED, .fallback = "every_step",
                                          FIELD(algorithm.reference)},
    [KEY_ALGORITHM_OLD_LOGPROBS] = {"algorithm.old_logprobs",
                                    "log-probs of the samples before the first update: recomputed "
                                    "by the trainer, or skipped (those of the engine are used, or "
                                    "a single update needs none)",
                                    CHOICE(old_logprob_choices), .use = SCENARIO_USE_OLD_LOGPROBS,
                                    .fallback = "recomputed"},
    [KEY_ALGORITHM_CRITIC_WARMUP_STEPS] = {"algorithm.critic_warmup_steps",
                                           "first steps in which the critic learns and the actor "
                                           "does not; no weights are synced in them",
                                           INTEGER(0, VERY_MANY), .use = SCENARIO_USE_CRITIC,
                                           .fallback = "0", FIELD(algorithm.critic_warmup_steps)},
    [KEY_ALGORITHM_KEPT_SAMPLES_PER_PROMPT] = {"algorithm.kept_samples_per_prompt",
                                               "answers of each prompt that are kept, the best "
                                               "ones, and trained",
                                               INTEGER(1, MANY), .use = SCENARIO_USE_BEST,
                                               .fallback = "1",
                                               FIELD(algorithm.kept_samples_per_prompt)},
    [KEY_ALGORITHM_GENERATED_PROMPTS] = {"algorithm.generated_prompts",
                                         "prompts that one round of the rollout answers, of which "
                                         "those with mixed answers count towards prompts_per_step; "
                                         "by default as many as that",
                                         INTEGER(1, VERY_MANY), .use = SCENARIO_USE_MIXED,
                                         FIELD(algorithm.generated_prompts)},
    [KEY_ALGORITHM_MAX_ROUNDS] = {"algorithm.max_rounds",
                                  "rounds after which a step goes on with the prompts it has (a "
                                  "framework may stop there: see rollout.exhausted_share)",
                                  INTEGER(1, 1000), .use = SCENARIO_USE_MIXED, .fallback = "10",
                                  FIELD(algorithm.max_rounds)},
    [KEY_ALGORITHM_PASS_RATE_MEAN] = {"algorithm.pass_rate_mean",
                                      "chance that an answer is right, the mean over prompts",
                                      NUMBER(0, 1), .above = true, .below = true,
                                      .use = SCENARIO_USE_MIXED, FIELD(algorithm.pass_rate_mean)},
    [KEY_ALGORITHM_PASS_RATE_CONCENTRATION] =
        {"algorithm.pass_rate_concentration",
         "how alike prompts are: the pass rate has a Beta law with a + b = concentration; 2 with a "
         "mean of 0.5 is uniform, below it most prompts are always or never solved",
         NUMBER(0, LARGE), .above = true, .use = SCENARIO_USE_MIXED,
         FIELD(algorithm.pass_rate_concentration)},

    MODEL_KEYS("actor", ACTOR, "model that is trained"),
    MODEL_KEYS("critic", CRITIC, "model that estimates values"),
    MODEL_KEYS("reward", REWARD, "model that scores samples"),
    MODEL_KEYS("reference", REFERENCE, "frozen model that the KL term compares with"),

    [KEY_CLUSTER_NODE] = {"cluster.node", "kind of node: a name of the catalog, or its columns",
                          TEXT(63), .row = true, .required = true},
    [KEY_CLUSTER_NODES] = {"cluster.nodes", "number of nodes", INTEGER(1, MANY), .fallback = "1",
                           FIELD(cluster.nodes)},
    [KEY_CLUSTER_GPU] = {"cluster.gpu",
                         "kind of GPU, to be sure of it: must be the one of the node; or the "
                         "columns of a GPU in its place",
                         TEXT(63), .row = true},
    [KEY_CLUSTER_GPUS_PER_NODE] = {"cluster.gpus_per_node",
                                   "GPUs used in each node; by default all it has",
                                   INTEGER(1, 1024), FIELD(cluster.gpus_per_node)},
    [KEY_CLUSTER_ZONES_COUNT] = {"cluster.zones.count",
                                 "zones or regions that the nodes are in, equally many in each and "
                                 "in their order",
                                 INTEGER(1, 64), .fallback = "1", FIELD(cluster.zones.count)},
    [KEY_CLUSTER_ZONES_BANDWIDTH] = {"cluster.zones.bandwidth",
                                     "what leaves a zone to all others, one direction; required by "
                                     "several zones",
                                     QUANTITY(BASE_BYTE_RATE, 0, LARGE), .above = true,
                                     FIELD(cluster.zones.bandwidth_bytes_per_s)},
    [KEY_CLUSTER_ZONES_LATENCY] = {"cluster.zones.latency",
                                   "what a step from one zone to another takes beyond one between "
                                   "nodes",
                                   QUANTITY(BASE_TIME, 0, 10), .fallback = "0 s",
                                   FIELD(cluster.zones.latency_s)},
    [KEY_CLUSTER_ZONES_USD_PER_GB] = {"cluster.zones.usd_per_gb",
                                      "price of 1 GB from one zone to another; by default that of "
                                      "prices.network_usd_per_gb or of the catalog",
                                      NUMBER(0, LARGE), FIELD(prices.zone_gb_usd)},
    [KEY_CLUSTER_TOPOLOGY_KIND] = {"cluster.topology.kind",
                                   "what lies between the nodes: a name that `rlhfsim catalog "
                                   "topologies` has",
                                   TEXT(31), .fallback = "full"},
    [KEY_CLUSTER_TOPOLOGY_BLOCK_NODES] = {"cluster.topology.block_nodes",
                                          "nodes of a leaf, a pod or a group, with uplinks to the "
                                          "others",
                                          INTEGER(1, MANY)},
    [KEY_CLUSTER_TOPOLOGY_OVERSUBSCRIPTION] = {"cluster.topology.oversubscription",
                                               "rate of a block's NICs over that of its uplinks",
                                               NUMBER(1, 1000)},
    [KEY_CLUSTER_TOPOLOGY_SHAPE] = {"cluster.topology.shape",
                                    "nodes in each direction of a torus, as 4x4 or 4x4x8",
                                    TEXT(31)},
    [KEY_CLUSTER_TOPOLOGY_BACKGROUND] = {"cluster.topology.background",
                                         "part of the links between blocks (of a torus: of all) "
                                         "that others use",
                                         NUMBER(0, 1), .below = true},
    [KEY_CLUSTER_TOPOLOGY_BACKGROUND_FROM] =
        {"cluster.topology.background_from",
         "time of the run from which others use these links; by default its start",
         QUANTITY(BASE_TIME, 0, LARGE)},
    [KEY_CLUSTER_TOPOLOGY_BACKGROUND_UNTIL] =
        {"cluster.topology.background_until",
         "time of the run until which they do; by default its end", QUANTITY(BASE_TIME, 0, LARGE)},
    [KEY_CLUSTER_TOPOLOGY_PLACEMENT] = {"cluster.topology.placement",
                                        "where nodes that follow each other are: packed into a "
                                        "block, or spread over the blocks; by_rail has the NICs of "
                                        "one number in a leaf, and what is for another number "
                                        "changes over NVLink in the sender's node",
                                        CHOICE(node_placement_choices)},
    [KEY_CLUSTER_TOPOLOGY_ROUTING] = {"cluster.topology.routing",
                                      "shortest paths of a graph: by the number of links, or by "
                                      "latency; equally short ones share by their cables (ECMP)",
                                      CHOICE(graph_routing_choices)},
    [KEY_CLUSTER_TOPOLOGY_SWITCHES] = {"cluster.topology.switches",
                                       "names of a graph's switches, as leaf0 or leaf0..3 for four "
                                       "of them",
                                       .type = SCENARIO_TYPE_LIST, .items = "names of switches"},
    [KEY_CLUSTER_TOPOLOGY_LINKS] =
        {"cluster.topology.links",
         "links of a graph: from and to (a switch, node3, or node3.nic0 for the part of GPU 0; "
         "ranges such as leaf0..3 or node0..7.nic0 join each with each), bandwidth of a cable, one "
         "direction, and if there are, latency and cables",
         .type = SCENARIO_TYPE_LIST,
         .items = "links, as {from: node0..7, to: leaf0, bandwidth: "
                  "400 Gbit/s}"},

    [KEY_PLACEMENT_MODE] = {"placement.mode",
                            "who sits where: colocated has training and rollout on the same GPUs, "
                            "in turns; split has pools of their own, in turns; one_step_off "
                            "generates the next step's samples while this one's are trained; "
                            "async generates on and on, within staleness_versions",
                            CHOICE(mode_choices), .fallback = "colocated", FIELD(placement.mode)},
    [KEY_PLACEMENT_TRAIN_GPUS] = {"placement.train_gpus",
                                  "GPUs of the trainer's pool, the first ones; by default what the "
                                  "other pools leave",
                                  INTEGER(1, MANY), FIELD(placement.gpus[SCENARIO_POOL_TRAIN])},
    [KEY_PLACEMENT_ROLLOUT_GPUS] = {"placement.rollout_gpus",
                                    "GPUs of the rollout's pool; by default what the other pools "
                                    "leave",
                                    INTEGER(1, MANY), FIELD(placement.gpus[SCENARIO_POOL_ROLLOUT])},
    [KEY_PLACEMENT_CRITIC_GPUS] = {"placement.critic_gpus",
                                   "GPUs of a pool of the critic's own, whose passes then go on "
                                   "beside the actor's; by default it is in the trainer's pool",
                                   INTEGER(1, MANY), FIELD(placement.gpus[SCENARIO_POOL_CRITIC])},
    [KEY_PLACEMENT_REWARD_GPUS] = {"placement.reward_gpus",
                                   "GPUs of a pool of the reward model's own, whose passes then go "
                                   "on beside the others; by default it is in the trainer's pool",
                                   INTEGER(1, MANY), FIELD(placement.gpus[SCENARIO_POOL_REWARD])},
    [KEY_PLACEMENT_WEIGHT_SYNC] = {"placement.weight_sync",
                                   "what moves weights from the trainer into the engine: a row of "
                                   "weight_sync.csv; by default the framework's",
                                   TEXT(47)},
    [KEY_PLACEMENT_STALENESS_VERSIONS] =
        {"placement.staleness_versions",
         "async: weight syncs that samples may lag behind the actor; (1 + staleness_versions) x "
         "the "
         "prompts between two syncs are handed out and not yet trained; a fraction, too",
         NUMBER(0, 1000), FIELD(placement.staleness_versions)},
    [KEY_PLACEMENT_SYNC_EVERY_STEPS] = {"placement.sync_every_steps",
                                        "async: steps between two weight syncs (verl's "
                                        "trigger_parameter_sync_step, with require_batches x "
                                        "ppo_mini_batch_size prompts a step)",
                                        INTEGER(1, MANY), .fallback = "1",
                                        FIELD(placement.sync_every_steps)},
    [KEY_PLACEMENT_PARTIAL_ROLLOUT] =
        {"placement.partial_rollout",
         "async: a weight sync interrupts the engine, and unfinished "
         "answers go on with new weights, their tokens computed again; "
         "false: it waits until all that was handed out is answered",
         BOOLEAN, .fallback = "true", FIELD(placement.partial_rollout)},
    [KEY_PLACEMENT_BEYOND_BOUND] =
        {"placement.beyond_bound",
         "async: wait puts a weight sync off that would bring samples "
         "beyond staleness_versions (rounded up); drop drops them when a "
         "step would take them",
         CHOICE(bound_choices), .fallback = "wait"},

    [KEY_TRAINING_TP] = {"training.tp", "tensor parallel GPUs of one training replica",
                         INTEGER(1, 1024), .fallback = "1", FIELD(training.tp)},
    [KEY_TRAINING_PP] = {"training.pp", "pipeline stages of one training replica, in 1F1B order",
                         INTEGER(1, 1024), .fallback = "1", FIELD(training.pp)},
    [KEY_TRAINING_VPP] = {"training.vpp",
                          "chunks of the model on each pipeline stage; above 1 the schedule is "
                          "interleaved",
                          INTEGER(1, 1024), .fallback = "1", FIELD(training.vpp)},
    [KEY_TRAINING_CP] = {"training.cp", "context parallel GPUs that share each sequence",
                         INTEGER(1, 1024), .fallback = "1", FIELD(training.cp)},
    [KEY_TRAINING_EP] = {"training.ep",
                         "GPUs that the experts of a layer are divided over; of models without "
                         "experts it is nothing",
                         INTEGER(1, 1024), .fallback = "1", FIELD(training.ep)},
    [KEY_TRAINING_EXPERT_TP] = {"training.expert_tp",
                                "tensor parallel GPUs of each expert: 1 or, by default, "
                                "training.tp",
                                INTEGER(1, 1024), FIELD(training.expert_tp)},
    [KEY_TRAINING_SEQUENCE_PARALLEL] = {"training.sequence_parallel",
                                        "between their products tensor parallel GPUs have each a "
                                        "part of the tokens",
                                        BOOLEAN, .fallback = "true",
                                        FIELD(training.sequence_parallel)},
    [KEY_TRAINING_CONTEXT] = {"training.context",
                              "how context parallel GPUs see all of a sequence: keys and values "
                              "go round a ring, or all-to-all from tokens to heads (Ulysses)",
                              CHOICE(context_choices), .fallback = "ring", FIELD(training.context)},
    [KEY_TRAINING_ZERO_STAGE] = {"training.zero_stage",
                                 "what data parallel replicas share: 0 nothing, 1 optimizer, 2 and "
                                 "gradients, 3 and weights (FSDP)",
                                 INTEGER(0, 3), .fallback = "3", FIELD(training.zero_stage)},
    [KEY_TRAINING_SHARD_RANKS] = {"training.shard_ranks",
                                  "data parallel ranks that share one copy, the others having "
                                  "copies of their own (HSDP); by default all share one",
                                  INTEGER(1, MANY), FIELD(training.shard_ranks)},
    [KEY_TRAINING_RESHARD_AFTER_FORWARD] = {"training.reshard_after_forward",
                                            "zero_stage 3: weights are dropped after the forward "
                                            "and gathered again for the backward",
                                            BOOLEAN, .fallback = "true",
                                            FIELD(training.reshard_after_forward)},
    [KEY_TRAINING_PREFETCH] = {"training.prefetch",
                               "zero_stage 3: the next block is gathered while one computes",
                               BOOLEAN, .fallback = "true", FIELD(training.prefetch)},
    [KEY_TRAINING_GRADIENT_REDUCTION] = {"training.gradient_reduction",
                                         "when gradients are reduced: by_stage (zero_stage 0 and 1 "
                                         "once an optimizer step, 2 and 3 in every micro-batch), "
                                         "once or every_microbatch",
                                         CHOICE(reduction_choices), .fallback = "by_stage",
                                         FIELD(training.reduction)},
    [KEY_TRAINING_OVERLAP_GRADIENTS] = {"training.overlap_gradients",
                                        "gradients are reduced while the backward goes on, not "
                                        "after it",
                                        BOOLEAN, .fallback = "true",
                                        FIELD(training.overlap_gradients)},
    [KEY_TRAINING_FULL_MEMORY_SLOWDOWN] =
        {"training.full_memory_slowdown",
         "by what share an update takes longer whose fullest GPU is within 5 % of its memory, "
         "where "
         "the allocator frees and asks again: most published steps so full are no slower, some 12 "
         "to 20 %",
         NUMBER(0, 10), .fallback = "0", FIELD(training.full_memory_slowdown)},
    [KEY_TRAINING_OVERLAP_WEIGHTS] = {"training.overlap_weights",
                                      "zero_stage 1 and 2: new weights are gathered behind the "
                                      "next forward, not after the update",
                                      BOOLEAN, .fallback = "false",
                                      FIELD(training.overlap_weights)},
    [KEY_TRAINING_PRECISION] = {"training.precision",
                                "number format of weights and matrix products",
                                CHOICE(precision_choices), .fallback = "bf16",
                                FIELD(training.precision)},
    [KEY_TRAINING_MICROBATCH_SAMPLES] =
        {"training.microbatch_samples",
         "samples (offline: pairs) of one pass of one data parallel "
         "rank; this or microbatch_tokens is required",
         INTEGER(1, VERY_MANY), FIELD(training.microbatch_samples)},
    [KEY_TRAINING_MICROBATCH_TOKENS] = {"training.microbatch_tokens",
                                        "token budget of one pass of one data parallel rank, with "
                                        "packing; this or microbatch_samples is required",
                                        INTEGER(1, VERY_MANY), FIELD(training.microbatch_tokens)},
    [KEY_TRAINING_LOGPROB_MICROBATCH_SAMPLES] =
        {"training.logprob_microbatch_samples",
         "samples of one pass without gradients (log-probs, values, rewards); by default as many "
         "as in updates",
         INTEGER(1, VERY_MANY), FIELD(training.logprob_microbatch_samples)},
    [KEY_TRAINING_LOGPROB_MICROBATCH_TOKENS] =
        {"training.logprob_microbatch_tokens",
         "token budget of a pass without gradients, with packing; by default that of updates",
         INTEGER(1, VERY_MANY), FIELD(training.logprob_microbatch_tokens)},
    [KEY_TRAINING_PACKING] = {"training.packing",
                              "sequences are laid end to end instead of padded to the longest",
                              BOOLEAN, .fallback = "false", FIELD(training.packing)},
    [KEY_TRAINING_BALANCE_RANKS] = {"training.balance_ranks",
                                    "samples of a mini-batch are dealt to the data parallel ranks "
                                    "so that all have about as many tokens",
                                    BOOLEAN, .fallback = "false", FIELD(training.balance_ranks)},
    [KEY_TRAINING_RECOMPUTE] = {"training.recompute",
                                "activations that the backward pass computes again instead of "
                                "keeping (gradient checkpointing)",
                                CHOICE(recompute_choices), .fallback = "full",
                                FIELD(training.recompute)},
    [KEY_TRAINING_ATTENTION] = {"training.attention",
                                "attention kernel of the trainer: the one that the GPU was "
                                "measured with, another of the catalog, or score matrices in "
                                "memory",
                                CHOICE(attention_choices), .fallback = "measured",
                                FIELD(training.attention)},
    [KEY_TRAINING_FUSION] = {"training.fusion",
                             "whether element-wise kernels that follow one another are one "
                             "(compiled, or a library of fused kernels) or one an operation "
                             "(eager); by default what the framework does",
                             CHOICE(fusion_choices), FIELD(training.fusion)},
    [KEY_TRAINING_OFFLOAD] = {"training.offload",
                              "what trained models keep in host memory while it is not in use",
                              CHOICE(offload_choices), .fallback = "none", FIELD(training.offload)},
    [KEY_TRAINING_OFFLOAD_OPTIMIZER_TO] =
        {"training.offload_optimizer_to",
         "where master weights and moments that are offloaded wait: in host memory, or on the "
         "local NVMe disks of the node, from which those of up to 1e9 parameters of a rank come to "
         "the host to be updated, into buffers that stay",
         CHOICE(optimizer_tier_choices), .fallback = "host", FIELD(training.offload_optimizer_to)},
    [KEY_TRAINING_OFFLOAD_ACTIVATIONS] =
        {"training.offload_activations",
         "kept activations wait for their backward pass in host memory", BOOLEAN,
         .fallback = "false", FIELD(training.offload_activations)},
    [KEY_TRAINING_LOGITS] = {"training.logits",
                             "how the loss sees the logits: whole, in slices of the tokens, or "
                             "fused into the product so that none are kept",
                             CHOICE(logits_choices), .fallback = "whole", FIELD(training.logits)},
    [KEY_TRAINING_ENTROPY_LOSS] = {"training.entropy_loss",
                                   "the loss has a term with the entropy of the logits, which "
                                   "keeps copies of them (a fused or chunked loss does not)",
                                   BOOLEAN, .fallback = "false", FIELD(training.entropy_loss)},
    [KEY_TRAINING_OPTIMIZER] = {"training.optimizer",
                                "what the optimizer keeps of a trained parameter: adam two moments "
                                "in fp32, adam_8bit two in 8 bits, sgd none",
                                CHOICE(optimizer_choices), .fallback = "adam",
                                FIELD(training.optimizer)},
    [KEY_TRAINING_BASE_WEIGHTS] = {"training.base_weights",
                                   "how models with LoRA keep the weights that are not trained: as "
                                   "training.precision says, or packed in four bits (QLoRA)",
                                   CHOICE(base_choices), .fallback = "unpacked",
                                   FIELD(training.base_weights)},
    [KEY_TRAINING_LORA_MERGED] = {"training.lora_merged",
                                  "passes without gradients (log-probs, values) find adapters "
                                  "merged into the weights, at no work of their own",
                                  BOOLEAN, .fallback = "false", FIELD(training.lora_merged)},
    [KEY_TRAINING_LOAD] = {"training.load",
                           "who has a whole model in host memory while it is loaded, before its "
                           "parts go to the GPUs: nobody (every rank reads its part), the first "
                           "rank, or every rank; by default what the framework does",
                           CHOICE(rank_load_choices), FIELD(training.load)},

    [KEY_ROLLOUT_ENGINE] = {"rollout.engine",
                            "inference engine that generates: a name of the catalog, which has its "
                            "scheduling and its host times; by default the framework's",
                            TEXT(31), ROLLOUT},
    [KEY_ROLLOUT_TP] = {"rollout.tp", "tensor parallel GPUs of one engine replica",
                        INTEGER(1, 1024), ROLLOUT, .fallback = "1", FIELD(rollout.tp)},
    [KEY_ROLLOUT_PP] = {"rollout.pp", "pipeline stages of one engine replica", INTEGER(1, 1024),
                        ROLLOUT, .fallback = "1", FIELD(rollout.pp)},
    [KEY_ROLLOUT_EP] = {"rollout.ep",
                        "GPUs over which the experts of one engine replica are spread whole; 1 "
                        "cuts each of them rollout.tp ways",
                        INTEGER(1, 65536), ROLLOUT, .fallback = "1", FIELD(rollout.ep)},
    [KEY_ROLLOUT_ATTENTION_DP] = {"rollout.attention_dp",
                                  "groups of rollout.tp GPUs in one engine replica that have "
                                  "sequences of their own and share the experts",
                                  INTEGER(1, 1024), ROLLOUT, .fallback = "1",
                                  FIELD(rollout.attention_dp)},
    [KEY_ROLLOUT_PRECISION] = {"rollout.precision",
                               "number format of the engine's weights; products of int4 are made "
                               "in bf16, and those of fp4 too where the GPU has no such products",
                               CHOICE(format_choices), ROLLOUT, .fallback = "bf16",
                               FIELD(rollout.precision)},
    [KEY_ROLLOUT_KV_PRECISION] = {"rollout.kv_precision", "number format of the KV cache",
                                  CHOICE(kv_choices), ROLLOUT, .fallback = "bf16",
                                  FIELD(rollout.kv_precision)},
    [KEY_ROLLOUT_MAX_NEW_TOKENS] = {"rollout.max_new_tokens",
                                    "limit of a response, where it is cut (offline: longest "
                                    "response of the data set)",
                                    INTEGER(1, VERY_MANY), .required = true,
                                    FIELD(rollout.max_new_tokens)},
    [KEY_ROLLOUT_MAX_NUM_SEQS] = {"rollout.max_num_seqs",
                                  "sequences that one engine replica runs at once; by default "
                                  "what the engine has",
                                  INTEGER(1, MANY), ROLLOUT, FIELD(rollout.max_num_seqs)},
    [KEY_ROLLOUT_MAX_NUM_BATCHED_TOKENS] = {"rollout.max_num_batched_tokens",
                                            "tokens of one iteration of an engine replica; by "
                                            "default what the engine has",
                                            INTEGER(1, VERY_MANY), ROLLOUT,
                                            FIELD(rollout.max_num_batched_tokens)},
    [KEY_ROLLOUT_MEMORY_FRACTION] = {"rollout.memory_fraction",
                                     "share of a GPU's memory that the engine fills with weights "
                                     "and KV cache",
                                     NUMBER(0, 1), .above = true, .below = true, ROLLOUT,
                                     .fallback = "0.5", FIELD(rollout.memory_fraction)},
    [KEY_ROLLOUT_MEMORY_FRACTION_OF] =
        {"rollout.memory_fraction_of",
         "what rollout.memory_fraction is a share of: the memory of a GPU in total (vLLM), or what "
         "the trainer's models leave free when the engine starts (SGLang); by default what the "
         "engine does",
         CHOICE(share_choices), ROLLOUT, FIELD(rollout.memory_fraction_of)},
    [KEY_ROLLOUT_SLEEPING_WEIGHTS] = {"rollout.sleeping_weights",
                                      "where the engine's weights are while it sleeps: discarded, "
                                      "or in host memory; by default what the framework does",
                                      CHOICE(sleeping_choices), ROLLOUT,
                                      FIELD(rollout.sleeping_weights)},
    [KEY_ROLLOUT_WAKE] = {"rollout.wake",
                          "how the engine wakes: in two stages, its cache once the new weights are "
                          "there, or whole, before them; by default what the framework does",
                          CHOICE(wake_choices), ROLLOUT, FIELD(rollout.wake)},
    [KEY_ROLLOUT_PREFIX_CACHING] = {"rollout.prefix_caching",
                                    "the prompt of several samples is computed once; by default "
                                    "as the engine does",
                                    BOOLEAN, ROLLOUT, FIELD(rollout.prefix_caching)},
    [KEY_ROLLOUT_WEIGHT_SYNC] = {"rollout.weight_sync",
                                 "how new weights get to the engine: a row of weight_sync.csv; "
                                 "without it as the framework does",
                                 TEXT(47), ROLLOUT},
    [KEY_ROLLOUT_CHUNKED_PREFILL] = {"rollout.chunked_prefill",
                                     "a prompt may be computed in several iterations; by default "
                                     "as the engine does",
                                     BOOLEAN, ROLLOUT, FIELD(rollout.chunked_prefill)},
    [KEY_ROLLOUT_CUDA_GRAPHS] = {"rollout.cuda_graphs",
                                 "decode batches are launched as CUDA graphs (enforce_eager: "
                                 "false); by default as the engine does",
                                 BOOLEAN, ROLLOUT, FIELD(rollout.cuda_graphs)},
    [KEY_ROLLOUT_PREEMPTION] = {"rollout.preemption",
                                "what becomes of the keys and values of a preempted sequence; by "
                                "default what the engine does",
                                CHOICE(preemption_choices), ROLLOUT, FIELD(rollout.preemption)},
    [KEY_ROLLOUT_ROUTING] = {"rollout.routing",
                             "how prompts go to the replicas: dealt out in equal numbers, or each "
                             "to the replica with the fewest prompt tokens so far",
                             CHOICE(routing_choices), ROLLOUT, .fallback = "static",
                             FIELD(rollout.routing)},
    [KEY_ROLLOUT_TURNS] =
        {"rollout.turns",
         "turns of a conversation at most, between which a tool or an environment "
         "works; all its tokens behind the prompt are the response",
         INTEGER(1, 64), ROLLOUT, .fallback = "1", FIELD(rollout.turns)},
    [KEY_ROLLOUT_OBSERVATION_TOKENS] = {"rollout.observation_tokens",
                                        "tokens that a tool adds to the response after each turn "
                                        "but the last",
                                        INTEGER(0, 1000000), ROLLOUT, .fallback = "0",
                                        FIELD(rollout.observation_tokens)},
    [KEY_ROLLOUT_TOOL_TIME] = {"rollout.tool_time", "time that a tool takes after a turn",
                               QUANTITY(BASE_TIME, 0, 864000), ROLLOUT, .fallback = "0 s",
                               FIELD(rollout.tool_s)},
    [KEY_ROLLOUT_TOOL_TIME_P99] =
        {"rollout.tool_time_p99",
         "time that 99 in 100 calls of a tool do not exceed, with which "
         "their times have a log-normal law of mean tool_time; by default "
         "all take that",
         QUANTITY(BASE_TIME, 0, 864000), .above = true, ROLLOUT, FIELD(rollout.tool_p99_s)},
    [KEY_ROLLOUT_KEEP_KV] = {"rollout.keep_kv",
                             "whether keys and values stay while a tool works; else they are "
                             "computed again for the next turn",
                             BOOLEAN, ROLLOUT, .fallback = "true", FIELD(rollout.keep_kv)},
    [KEY_ROLLOUT_SPECULATIVE_TOKENS] = {"rollout.speculative_tokens",
                                        "draft tokens that one iteration checks; 0 without "
                                        "speculative decoding",
                                        INTEGER(0, 64), ROLLOUT, .fallback = "0",
                                        FIELD(rollout.speculation.tokens)},
    [KEY_ROLLOUT_SPECULATIVE_ACCEPTANCE] = {"rollout.speculative_acceptance",
                                            "chance that a draft token is taken when those before "
                                            "it were",
                                            NUMBER(0, 1), ROLLOUT,
                                            FIELD(rollout.speculation.acceptance)},
    [KEY_ROLLOUT_SPECULATIVE_DRAFT_COST] = {"rollout.speculative_draft_cost",
                                            "time of one draft token as a share of a decode "
                                            "iteration of the actor",
                                            NUMBER(0, 1), ROLLOUT,
                                            FIELD(rollout.speculation.draft_cost)},

    LENGTH_KEYS("prompt_tokens", PROMPT_TOKENS, prompt, "prompts",
                "longest prompt, in tokens; by default what the models' context leaves beside "
                "max_new_tokens"),
    LENGTH_KEYS("response_tokens", RESPONSE_TOKENS, response, "responses",
                "longest response, in tokens; if written, it must equal max_new_tokens"),
    [KEY_RESPONSE_TOKENS_CAP_SHARE] = {"rollout.response_tokens.cap_share",
                                       "share of the responses that do not end by themselves and "
                                       "reach max_new_tokens, whatever the law of the others",
                                       NUMBER(0, 1), .below = true, .fallback = "0",
                                       FIELD(rollout.response.moments.cap_share)},
    [KEY_RESPONSE_TOKENS_GROUP_CORRELATION] =
        {"rollout.response_tokens.group_correlation",
         "correlation of the lengths of two responses to one prompt, as normal scores (Gaussian "
         "copula); 1 makes them equal",
         NUMBER(0, 1), .fallback = "0", FIELD(rollout.response.group_correlation)},
    [KEY_RESPONSE_TOKENS_USELESS_SHARE] =
        {"rollout.response_tokens.useless_share",
         "share of the response tokens that come after the useful answer, which a better stop rule "
         "would save; reported, the lengths are those with them",
         NUMBER(0, 1), .below = true, .fallback = "0", FIELD(rollout.response.useless_share)},
    [KEY_RESPONSE_TOKENS_DRIFT] = {"rollout.response_tokens.drift",
                                   "how the mean changes over the steps; the law keeps its shape",
                                   CHOICE(drift_choices), ROLLOUT, .fallback = "none",
                                   FIELD(rollout.response.drift.kind)},
    [KEY_RESPONSE_TOKENS_DRIFT_MEAN] = {"rollout.response_tokens.drift_mean",
                                        "mean that a linear drift reaches and a logistic one nears",
                                        NUMBER(1, VERY_MANY), ROLLOUT,
                                        FIELD(rollout.response.drift.mean)},
    [KEY_RESPONSE_TOKENS_DRIFT_STEPS] =
        {"rollout.response_tokens.drift_steps",
         "linear: step at which drift_mean is reached, by default the last; logistic: steps from a "
         "tenth to nine tenths of the change",
         NUMBER(1, VERY_MANY), ROLLOUT, FIELD(rollout.response.drift.steps)},
    [KEY_RESPONSE_TOKENS_DRIFT_MIDPOINT] = {"rollout.response_tokens.drift_midpoint",
                                            "step at which half of a logistic drift is done",
                                            NUMBER(0, VERY_MANY), ROLLOUT,
                                            FIELD(rollout.response.drift.midpoint)},
    [KEY_RESPONSE_TOKENS_DRIFT_FILE] = {"rollout.response_tokens.drift_file",
                                        "CSV file, from the scenario's folder, with the columns "
                                        "step and mean; linear between them",
                                        TEXT(4095), ROLLOUT},

    /* Default: verl's GRPO example on GSM8K logs 0.907 s of timing_s/reward for the 5,120 samples
     * of a step (verl-project/verl-data, gsm8k/qwen2-7b-fsdp2.log), 0.18 ms each. */
    [KEY_REWARD_SAMPLE_TIME] = {"reward.sample_time",
                                "time of the reward rule for one sample on one worker",
                                QUANTITY(BASE_TIME, 0, 864000), .use = SCENARIO_USE_RULE_REWARD,
                                .fallback = "0.2 ms", FIELD(reward.sample_s)},
    [KEY_REWARD_WORKERS] = {"reward.workers", "CPU workers of the reward rule in each node",
                            INTEGER(1, MANY), .use = SCENARIO_USE_RULE_REWARD, .fallback = "1",
                            FIELD(reward.workers)},

    [KEY_REWARD_SAMPLE_TIME_P99] = {"reward.sample_time_p99",
                                    "time that 99 in 100 samples do not exceed, with which their "
                                    "times have a log-normal law of mean sample_time; by default "
                                    "all take that",
                                    QUANTITY(BASE_TIME, 0, 864000), .above = true,
                                    .use = SCENARIO_USE_RULE_REWARD, FIELD(reward.sample_p99_s)},
    [KEY_REWARD_TIMEOUT] = {"reward.timeout", "time after which the check of a sample is given up",
                            QUANTITY(BASE_TIME, 0, 864000), .above = true,
                            .use = SCENARIO_USE_RULE_REWARD, FIELD(reward.timeout_s)},
    [KEY_REWARD_CALLS_PER_SECOND] = {"reward.calls_per_second",
                                     "rate that a remote judge accepts; each call takes "
                                     "sample_time, as many at once as there are; in place of the "
                                     "workers",
                                     NUMBER(0, LARGE), .above = true,
                                     .use = SCENARIO_USE_RULE_REWARD, FIELD(reward.calls_per_s)},
    [KEY_REWARD_DURING_ROLLOUT] = {"reward.during_rollout",
                                   "every sample is scored from its end on, while others are still "
                                   "generated; false: all of them after the rollout",
                                   BOOLEAN, .use = SCENARIO_USE_RULE_REWARD, .fallback = "false",
                                   FIELD(reward.during_rollout)},

    [KEY_DATASET_PROMPTS] = {"dataset.prompts",
                             "prompts of the data set; with dataset.epochs it gives the steps",
                             INTEGER(1, DATA_SET), ROLLOUT, FIELD(dataset.prompts)},
    [KEY_DATASET_PAIRS] = {"dataset.pairs",
                           "pairs of chosen and rejected responses; with dataset.epochs they give "
                           "the steps",
                           INTEGER(1, DATA_SET), .use = SCENARIO_USE_OFFLINE, FIELD(dataset.pairs)},
    [KEY_DATASET_EPOCHS] = {"dataset.epochs", "passes over the data set", INTEGER(1, MANY),
                            .fallback = "1", FIELD(dataset.epochs)},
    [KEY_DATASET_DROP_LAST] = {"dataset.drop_last",
                               "an epoch's last prompts (pairs) that do not fill a step are left "
                               "out, as by a data loader's drop_last; false makes them a short "
                               "step; by default what the framework does",
                               BOOLEAN, FIELD(dataset.drop_last)},

    [KEY_DATASET_BYTES] =
        {"dataset.bytes",
         "size of the data set's files, which every node reads at the start, with "
         "the weights (see checkpoint.load)",
         QUANTITY(BASE_BYTES, 0, LARGE), FIELD(dataset.bytes)},
    [KEY_VALIDATION_EVERY_STEPS] = {"validation.every_steps",
                                    "steps between two validations, in which the engine answers a "
                                    "validation set and nothing is trained; 0: none",
                                    INTEGER(0, VERY_MANY), ROLLOUT, .fallback = "0",
                                    FIELD(validation.every_steps)},
    [KEY_VALIDATION_PROMPTS] = {"validation.prompts", "prompts of the validation set",
                                INTEGER(1, 100000000), ROLLOUT, FIELD(validation.prompts)},
    [KEY_VALIDATION_SAMPLES_PER_PROMPT] = {"validation.samples_per_prompt",
                                           "answers to each prompt of the validation set",
                                           INTEGER(1, MANY), ROLLOUT, .fallback = "1",
                                           FIELD(validation.samples_per_prompt)},

    [KEY_CHECKPOINT_EVERY_STEPS] = {"checkpoint.every_steps",
                                    "steps between two checkpoints; the last step of a run "
                                    "always saves, too, also where it comes first; 0 writes none",
                                    INTEGER(0, VERY_MANY), .fallback = "0",
                                    FIELD(checkpoint.every_steps)},
    [KEY_CHECKPOINT_KEEP] = {"checkpoint.keep", "checkpoints that are kept, the latest ones",
                             INTEGER(1, VERY_MANY), .fallback = "3", FIELD(checkpoint.keep)},
    [KEY_CHECKPOINT_EXPORTED] = {"checkpoint.exported",
                                 "checkpoints that are copied out of the region, paid as network "
                                 "traffic",
                                 INTEGER(0, VERY_MANY), .fallback = "0",
                                 FIELD(checkpoint.exported)},
    [KEY_CHECKPOINT_STORE_BANDWIDTH] = {"checkpoint.store_bandwidth",
                                        "what the store takes from all nodes together, where it is "
                                        "less than checkpoint.store says; by default only the "
                                        "nodes limit",
                                        QUANTITY(BASE_BYTE_RATE, 0, LARGE), .above = true,
                                        FIELD(checkpoint.store_bandwidth_bytes_per_s)},

    [KEY_CHECKPOINT_STORE] = {"checkpoint.store",
                              "where checkpoints are written to and what is loaded is read from: a "
                              "row of stores.csv, or its columns; by default the nodes' "
                              "storage_gb_per_s up to checkpoint.store_bandwidth, both ways",
                              TEXT(47), .row = true},
    [KEY_CHECKPOINT_MODE] =
        {"checkpoint.mode",
         "synchronous: the run waits until a checkpoint is written; "
         "asynchronous: until it is copied (checkpoint.staging), and is written "
         "in the background; the next save waits for the last",
         CHOICE(save_choices), .fallback = "synchronous", FIELD(checkpoint.mode)},
    [KEY_CHECKPOINT_LAYOUT] = {"checkpoint.layout",
                               "sharded: every node writes and reads its part; gathered: rank 0 "
                               "gets everything and writes alone, and reads alone and broadcasts",
                               CHOICE(save_layout_choices), .fallback = "sharded",
                               FIELD(checkpoint.layout)},
    [KEY_CHECKPOINT_STAGING] =
        {"checkpoint.staging",
         "faster store that an asynchronous save waits for, such as the "
         "nodes' disks: a row of stores.csv, or its columns; by default host "
         "memory",
         TEXT(47), .row = true},
    [KEY_CHECKPOINT_LOAD] =
        {"checkpoint.load",
         "what is read before the first step, as a phase of its own: none; "
         "weights of all models, by every node; or a checkpoint, each part once, "
         "and the weights of models that are not trained",
         CHOICE(load_choices), .fallback = "none", FIELD(checkpoint.load)},

    [KEY_LOGGING_BYTES_PER_SAMPLE] = {"logging.bytes_per_sample",
                                      "what one logged sample writes to the log service",
                                      QUANTITY(BASE_BYTES, 0, LARGE), .above = true,
                                      FIELD(logging.bytes_per_sample)},
    [KEY_LOGGING_SAMPLING_RATE] = {"logging.sampling_rate", "share of the samples that is logged",
                                   NUMBER(0, 1), .fallback = "0", FIELD(logging.sampling_rate)},

    [KEY_PRICES_PROVIDER] = {"prices.provider",
                             "who rents the nodes out; by default the provider of the node",
                             TEXT(31)},
    [KEY_PRICES_REGION] = {"prices.region", "where; by default the region of the node", TEXT(47)},
    [KEY_PRICES_PLAN] = {"prices.plan", "how the nodes are rented", CHOICE(plan_choices),
                         .fallback = "on_demand"},
    [KEY_PRICES_NODE_USD_PER_HOUR] = {"prices.node_usd_per_hour",
                                      "price of a node, in place of the catalog's for provider, "
                                      "region and plan",
                                      NUMBER(0, LARGE), FIELD(prices.node_hour_usd)},
    [KEY_PRICES_STORAGE_USD_PER_GB_MONTH] =
        {"prices.storage_usd_per_gb_month",
         "price of storing 1 GB of checkpoints for 730 hours, in "
         "place of the catalog's",
         NUMBER(0, LARGE), FIELD(prices.storage_gb_month_usd)},
    [KEY_PRICES_NETWORK_USD_PER_GB] =
        {"prices.network_usd_per_gb",
         "price of 1 GB that leaves the region, in place of the catalog's", NUMBER(0, LARGE),
         FIELD(prices.network_gb_usd)},
    [KEY_PRICES_LOG_USD_PER_GB] = {"prices.log_usd_per_gb",
                                   "price of 1 GB of logs, in place of the catalog's",
                                   NUMBER(0, LARGE), FIELD(prices.log_gb_usd)},

    [KEY_TAGS] = {"tags", "free names and texts that go with every item of cost, such as team: nlp",
                  .type = SCENARIO_TYPE_TAGS, .most = 255, FIELD(tags)},
    [KEY_RELIABILITY] = {"reliability", "failures, preemption and recovery", LATER},
    [KEY_BUDGET] = {"budget", "limits of cost and what happens at them", LATER},
};

const struct scenario_schema_entry *scenario_schema_at(size_t index) {
    return index < KEY_COUNT ? &entries[index] : NULL;
}

enum scenario_key scenario_schema_find(const char *path) {
    int key = 0;
    while (key < KEY_COUNT && strcmp(entries[key].path, path) != 0)
        key++;
    return (enum scenario_key)key;
}

bool scenario_schema_is_section(const char *path) {
    size_t length = strlen(path);
    for (size_t key = 0; key < KEY_COUNT; key++)
        if (strncmp(entries[key].path, path, length) == 0 && entries[key].path[length] == '.')
            return true;
    return false;
}

void scenario_schema_widen(struct scenario_schema_entry *entry) {
    entry->least = INT64_MIN;
    entry->most = INT64_MAX;
    entry->minimum = -HUGE_VAL;
    entry->maximum = HUGE_VAL;
    entry->above = entry->below = false;
    entry->later = NULL;
}

enum scenario_key scenario_model_key(enum algorithm_role role, enum scenario_model_field field) {
    return (enum scenario_key)(KEY_MODELS_ACTOR_MODEL + (int)role * SCENARIO_MODEL_FIELDS +
                               (int)field);
}

/* ---- what is expected ------------------------------------------------------------------------ */

static void describe_integer(const struct scenario_schema_entry *entry, char *buffer, size_t size) {
    if (entry->least == entry->most)
        (void)snprintf(buffer, size, "%" PRId64, entry->least);
    else
        (void)snprintf(buffer, size, "a whole number from %" PRId64 " to %" PRId64, entry->least,
                       entry->most);
}

/* "from 0 to 1", "above 0 and at most 1e+15", "between 0 and 1, neither included". */
static void describe_range(const struct scenario_schema_entry *entry, const char *what,
                           const char *unit, char *buffer, size_t size) {
    bool between = entry->above && entry->below;
    const char *from = between ? "between" : entry->above ? "above" : "from";
    const char *to = between        ? "and"
                     : entry->above ? "and at most"
                     : entry->below ? "to below"
                                    : "to";
    (void)snprintf(buffer, size, "%s %s %.10g %s %.10g%s%s", what, from, entry->minimum, to,
                   entry->maximum, unit, between ? ", neither included" : "");
}

static void describe_quantity(const struct scenario_schema_entry *entry, char *buffer,
                              size_t size) {
    static const char *const units[BASE_DIMENSION_COUNT] = {
        [BASE_BYTES] = " bytes", [BASE_TIME] = " s", [BASE_BYTE_RATE] = " bytes/s"};
    char range[96];
    describe_range(entry, "a quantity", units[entry->dimension], range, sizeof range);
    (void)snprintf(buffer, size, "%s (units %s)", range, base_dimension_units(entry->dimension));
}

static void describe_choice(const struct scenario_schema_entry *entry, char *buffer, size_t size) {
    size_t used = 0;
    const char *lead = entry->choices[1] == NULL ? "" : "one of ";
    for (const char *const *choice = entry->choices; *choice != NULL && used < size; choice++) {
        int length = snprintf(buffer + used, size - used, "%s%s", lead, *choice);
        used += length > 0 ? (size_t)length : 0;
        lead = ", ";
    }
}

void scenario_schema_expectation(const struct scenario_schema_entry *entry, char *buffer,
                                 size_t size) {
    switch (entry->type) {
    case SCENARIO_TYPE_TEXT:
        (void)snprintf(buffer, size, "one line of text of at most %" PRId64 " bytes%s", entry->most,
                       entry->row ? ", or a mapping of columns" : "");
        break;
    case SCENARIO_TYPE_INTEGER:
        describe_integer(entry, buffer, size);
        break;
    case SCENARIO_TYPE_NUMBER:
        describe_range(entry, "a number", "", buffer, size);
        break;
    case SCENARIO_TYPE_QUANTITY:
        describe_quantity(entry, buffer, size);
        break;
    case SCENARIO_TYPE_BOOLEAN:
        (void)snprintf(buffer, size, "true or false");
        break;
    case SCENARIO_TYPE_CHOICE:
        describe_choice(entry, buffer, size);
        break;
    case SCENARIO_TYPE_TAGS:
        (void)snprintf(buffer, size, "a mapping of names to texts");
        break;
    case SCENARIO_TYPE_LIST:
        (void)snprintf(buffer, size, "a list of %s", entry->items);
        break;
    case SCENARIO_TYPE_LATER:
        (void)snprintf(buffer, size, "nothing: a later version supports it");
        break;
    }
}
