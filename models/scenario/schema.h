/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_SCHEMA_H
#define MODELS_SCENARIO_SCHEMA_H

/*
 * The keys of a scenario file: one table with the path, type, range, default, use and meaning of
 * each. The reader checks against it, the error messages quote it and the catalog lists it, so that
 * none of them can say something else. What spans several keys is in legality.c.
 */

#include "models/algorithms/phase.h"
#include "models/base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of the file format. The keys of models.* and of the two lengths repeat in equal
 * blocks, see scenario_model_key and scenario_length_key. */
enum scenario_key {
    KEY_NAME,
    KEY_SEED,
    KEY_FRAMEWORK,
    KEY_STEPS,
    KEY_ALGORITHM_NAME,
    KEY_ALGORITHM_PROMPTS_PER_STEP,
    KEY_ALGORITHM_SAMPLES_PER_PROMPT,
    KEY_ALGORITHM_MINIBATCH_SAMPLES,
    KEY_ALGORITHM_EPOCHS,
    KEY_ALGORITHM_KL,
    KEY_ALGORITHM_REFERENCE_LOGPROBS,
    KEY_ALGORITHM_OLD_LOGPROBS,
    KEY_ALGORITHM_CRITIC_WARMUP_STEPS,
    KEY_ALGORITHM_KEPT_SAMPLES_PER_PROMPT,
    KEY_ALGORITHM_GENERATED_PROMPTS,
    KEY_ALGORITHM_MAX_ROUNDS,
    KEY_ALGORITHM_PASS_RATE_MEAN,
    KEY_ALGORITHM_PASS_RATE_CONCENTRATION,
    KEY_MODELS_ACTOR_MODEL,
    KEY_MODELS_ACTOR_LORA_RANK,
    KEY_MODELS_ACTOR_LORA_TARGETS,
    KEY_MODELS_ACTOR_OFFLOAD,
    KEY_MODELS_CRITIC_MODEL,
    KEY_MODELS_CRITIC_LORA_RANK,
    KEY_MODELS_CRITIC_LORA_TARGETS,
    KEY_MODELS_CRITIC_OFFLOAD,
    KEY_MODELS_REWARD_MODEL,
    KEY_MODELS_REWARD_LORA_RANK,
    KEY_MODELS_REWARD_LORA_TARGETS,
    KEY_MODELS_REWARD_OFFLOAD,
    KEY_MODELS_REFERENCE_MODEL,
    KEY_MODELS_REFERENCE_LORA_RANK,
    KEY_MODELS_REFERENCE_LORA_TARGETS,
    KEY_MODELS_REFERENCE_OFFLOAD,
    KEY_CLUSTER_NODE,
    KEY_CLUSTER_NODES,
    KEY_CLUSTER_GPU,
    KEY_CLUSTER_GPUS_PER_NODE,
    KEY_CLUSTER_ZONES_COUNT,
    KEY_CLUSTER_ZONES_BANDWIDTH,
    KEY_CLUSTER_ZONES_LATENCY,
    KEY_CLUSTER_ZONES_USD_PER_GB,
    KEY_CLUSTER_TOPOLOGY_KIND,
    KEY_CLUSTER_TOPOLOGY_BLOCK_NODES,
    KEY_CLUSTER_TOPOLOGY_OVERSUBSCRIPTION,
    KEY_CLUSTER_TOPOLOGY_SHAPE,
    KEY_CLUSTER_TOPOLOGY_BACKGROUND,
    KEY_CLUSTER_TOPOLOGY_BACKGROUND_FROM,
    KEY_CLUSTER_TOPOLOGY_BACKGROUND_UNTIL,
    KEY_CLUSTER_TOPOLOGY_PLACEMENT,
    KEY_CLUSTER_TOPOLOGY_ROUTING,
    KEY_CLUSTER_TOPOLOGY_SWITCHES,
    KEY_CLUSTER_TOPOLOGY_LINKS,
    KEY_PLACEMENT_MODE,
    KEY_PLACEMENT_TRAIN_GPUS,
    KEY_PLACEMENT_ROLLOUT_GPUS,
    KEY_PLACEMENT_CRITIC_GPUS,
    KEY_PLACEMENT_REWARD_GPUS,
    KEY_PLACEMENT_WEIGHT_SYNC,
    KEY_PLACEMENT_STALENESS_VERSIONS,
    KEY_PLACEMENT_SYNC_EVERY_STEPS,
    KEY_PLACEMENT_PARTIAL_ROLLOUT,
    KEY_PLACEMENT_BEYOND_BOUND,
    KEY_TRAINING_TP,
    KEY_TRAINING_PP,
    KEY_TRAINING_VPP,
    KEY_TRAINING_CP,
    KEY_TRAINING_EP,
    KEY_TRAINING_EXPERT_TP,
    KEY_TRAINING_SEQUENCE_PARALLEL,
    KEY_TRAINING_CONTEXT,
    KEY_TRAINING_ZERO_STAGE,
    KEY_TRAINING_SHARD_RANKS,
    KEY_TRAINING_RESHARD_AFTER_FORWARD,
    KEY_TRAINING_PREFETCH,
    KEY_TRAINING_GRADIENT_REDUCTION,
    KEY_TRAINING_OVERLAP_GRADIENTS,
    KEY_TRAINING_OVERLAP_WEIGHTS,
    KEY_TRAINING_FULL_MEMORY_SLOWDOWN,
    KEY_TRAINING_PRECISION,
    KEY_TRAINING_MICROBATCH_SAMPLES,
    KEY_TRAINING_MICROBATCH_TOKENS,
    KEY_TRAINING_LOGPROB_MICROBATCH_SAMPLES,
    KEY_TRAINING_LOGPROB_MICROBATCH_TOKENS,
    KEY_TRAINING_PACKING,
    KEY_TRAINING_BALANCE_RANKS,
    KEY_TRAINING_RECOMPUTE,
    KEY_TRAINING_ATTENTION,
    KEY_TRAINING_FUSION,
    KEY_TRAINING_OFFLOAD,
    KEY_TRAINING_OFFLOAD_OPTIMIZER_TO,
    KEY_TRAINING_OFFLOAD_ACTIVATIONS,
    KEY_TRAINING_LOGITS,
    KEY_TRAINING_ENTROPY_LOSS,
    KEY_TRAINING_OPTIMIZER,
    KEY_TRAINING_BASE_WEIGHTS,
    KEY_TRAINING_LORA_MERGED,
    KEY_TRAINING_LOAD,
    KEY_ROLLOUT_ENGINE,
    KEY_ROLLOUT_TP,
    KEY_ROLLOUT_PP,
    KEY_ROLLOUT_EP,
    KEY_ROLLOUT_ATTENTION_DP,
    KEY_ROLLOUT_PRECISION,
    KEY_ROLLOUT_KV_PRECISION,
    KEY_ROLLOUT_MAX_NEW_TOKENS,
    KEY_ROLLOUT_MAX_NUM_SEQS,
    KEY_ROLLOUT_MAX_NUM_BATCHED_TOKENS,
    KEY_ROLLOUT_MEMORY_FRACTION,
    KEY_ROLLOUT_MEMORY_FRACTION_OF,
    KEY_ROLLOUT_SLEEPING_WEIGHTS,
    KEY_ROLLOUT_WAKE,
    KEY_ROLLOUT_PREFIX_CACHING,
    KEY_ROLLOUT_WEIGHT_SYNC,
    KEY_ROLLOUT_CHUNKED_PREFILL,
    KEY_ROLLOUT_CUDA_GRAPHS,
    KEY_ROLLOUT_PREEMPTION,
    KEY_ROLLOUT_ROUTING,
    KEY_ROLLOUT_TURNS,
    KEY_ROLLOUT_OBSERVATION_TOKENS,
    KEY_ROLLOUT_TOOL_TIME,
    KEY_ROLLOUT_TOOL_TIME_P99,
    KEY_ROLLOUT_KEEP_KV,
    KEY_ROLLOUT_SPECULATIVE_TOKENS,
    KEY_ROLLOUT_SPECULATIVE_ACCEPTANCE,
    KEY_ROLLOUT_SPECULATIVE_DRAFT_COST,
    KEY_PROMPT_TOKENS_LAW,
    KEY_PROMPT_TOKENS_MEAN,
    KEY_PROMPT_TOKENS_P99,
    KEY_PROMPT_TOKENS_P90,
    KEY_PROMPT_TOKENS_CV,
    KEY_PROMPT_TOKENS_UNCUT_CV,
    KEY_PROMPT_TOKENS_LIMIT,
    KEY_PROMPT_TOKENS_UNCUT,
    KEY_PROMPT_TOKENS_FILE,
    KEY_RESPONSE_TOKENS_LAW,
    KEY_RESPONSE_TOKENS_MEAN,
    KEY_RESPONSE_TOKENS_P99,
    KEY_RESPONSE_TOKENS_P90,
    KEY_RESPONSE_TOKENS_CV,
    KEY_RESPONSE_TOKENS_UNCUT_CV,
    KEY_RESPONSE_TOKENS_LIMIT,
    KEY_RESPONSE_TOKENS_UNCUT,
    KEY_RESPONSE_TOKENS_FILE,
    KEY_RESPONSE_TOKENS_CAP_SHARE,
    KEY_RESPONSE_TOKENS_GROUP_CORRELATION,
    KEY_RESPONSE_TOKENS_USELESS_SHARE,
    KEY_RESPONSE_TOKENS_DRIFT,
    KEY_RESPONSE_TOKENS_DRIFT_MEAN,
    KEY_RESPONSE_TOKENS_DRIFT_STEPS,
    KEY_RESPONSE_TOKENS_DRIFT_MIDPOINT,
    KEY_RESPONSE_TOKENS_DRIFT_FILE,
    KEY_REWARD_SAMPLE_TIME,
    KEY_REWARD_WORKERS,
    KEY_REWARD_SAMPLE_TIME_P99,
    KEY_REWARD_TIMEOUT,
    KEY_REWARD_CALLS_PER_SECOND,
    KEY_REWARD_DURING_ROLLOUT,
    KEY_DATASET_PROMPTS,
    KEY_DATASET_PAIRS,
    KEY_DATASET_EPOCHS,
    KEY_DATASET_DROP_LAST,
    KEY_DATASET_BYTES,
    KEY_VALIDATION_EVERY_STEPS,
    KEY_VALIDATION_PROMPTS,
    KEY_VALIDATION_SAMPLES_PER_PROMPT,
    KEY_CHECKPOINT_EVERY_STEPS,
    KEY_CHECKPOINT_KEEP,
    KEY_CHECKPOINT_EXPORTED,
    KEY_CHECKPOINT_STORE_BANDWIDTH,
    KEY_CHECKPOINT_STORE,
    KEY_CHECKPOINT_MODE,
    KEY_CHECKPOINT_LAYOUT,
    KEY_CHECKPOINT_STAGING,
    KEY_CHECKPOINT_LOAD,
    KEY_LOGGING_BYTES_PER_SAMPLE,
    KEY_LOGGING_SAMPLING_RATE,
    KEY_PRICES_PROVIDER,
    KEY_PRICES_REGION,
    KEY_PRICES_PLAN,
    KEY_PRICES_NODE_USD_PER_HOUR,
    KEY_PRICES_STORAGE_USD_PER_GB_MONTH,
    KEY_PRICES_NETWORK_USD_PER_GB,
    KEY_PRICES_LOG_USD_PER_GB,
    KEY_TAGS,
    KEY_RELIABILITY,
    KEY_BUDGET,
    KEY_COUNT
};

enum scenario_type {
    SCENARIO_TYPE_TEXT,     /* one line of at most `most` bytes */
    SCENARIO_TYPE_INTEGER,  /* `least` to `most` */
    SCENARIO_TYPE_NUMBER,   /* `minimum` to `maximum` */
    SCENARIO_TYPE_QUANTITY, /* a number with a unit of `dimension`; range in SI */
    SCENARIO_TYPE_BOOLEAN,
    SCENARIO_TYPE_CHOICE, /* one of `choices`; the value is the index */
    SCENARIO_TYPE_TAGS,   /* a mapping of free names to texts */
    SCENARIO_TYPE_LIST,   /* a list that a stage of its own reads */
    SCENARIO_TYPE_LATER   /* a key of the format that this version does not support */
};

/* Which scenarios may write the key. */
enum scenario_use {
    SCENARIO_USE_ALWAYS,
    SCENARIO_USE_ROLLOUT,     /* algorithms that generate */
    SCENARIO_USE_OFFLINE,     /* algorithms that learn from a data set of pairs */
    SCENARIO_USE_RULE_REWARD, /* algorithms with rewards, where no reward model gives them */
    SCENARIO_USE_PRECOMPUTED, /* offline ones whose reference can score the pairs before */
    SCENARIO_USE_OLD_LOGPROBS,
    SCENARIO_USE_CRITIC,
    SCENARIO_USE_BEST, /* of each prompt's answers some are kept */
    SCENARIO_USE_MIXED /* of prompts those with mixed answers are kept */
};

struct scenario_schema_entry {
    const char *path;
    const char *meaning; /* one line */
    enum scenario_type type;
    enum scenario_use use;
    enum base_dimension dimension;
    bool required;     /* in every scenario; what only some need is in legality.c */
    bool row;          /* the name of a catalog row, or a mapping with its columns (inline_row.h) */
    bool above, below; /* `minimum` / `maximum` themselves are outside */
    const char
        *fallback; /* the default as a user would write it; NULL: required, absent or derived */
    int64_t least, most;
    double minimum, maximum;
    const char *const *choices; /* ends in NULL */
    const char *const *planned; /* choices of the format that come with a later version, or NULL */
    const char *items;          /* of a list, for the message */
    const char *later;   /* why an integer accepts 1 only / a choice is missing, for the message */
    size_t offset, size; /* of the field in struct rlhfsim_scenario; size 0: none, see resolve.c */
};

/* The entry of a key; NULL past the last one. */
const struct scenario_schema_entry *scenario_schema_at(size_t index);

/* The key of a full path, KEY_COUNT where there is none. */
enum scenario_key scenario_schema_find(const char *path);

/* Whether the path is a section: some keys begin with "PATH.". */
bool scenario_schema_is_section(const char *path);

/* What is expected of a value, with both limits: "a whole number from 0 to 3", "one of none,
 * reward, loss". */
void scenario_schema_expectation(const struct scenario_schema_entry *entry, char *buffer,
                                 size_t size);

/* Takes the range of an entry away: what is left is its type. */
void scenario_schema_widen(struct scenario_schema_entry *entry);

enum scenario_model_field {
    SCENARIO_MODEL_MODEL,
    SCENARIO_MODEL_LORA_RANK,
    SCENARIO_MODEL_LORA_TARGETS,
    SCENARIO_MODEL_OFFLOAD,
    SCENARIO_MODEL_FIELDS
};

/* The key models.ROLE.FIELD. */
enum scenario_key scenario_model_key(enum algorithm_role role, enum scenario_model_field field);

#endif
