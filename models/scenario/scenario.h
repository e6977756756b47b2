/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_SCENARIO_H
#define MODELS_SCENARIO_SCENARIO_H

/*
 * A loaded scenario: every key has its value, every name is resolved, what can be derived is
 * derived. The forecast reads this and nothing else. The keys are in the order of the file format;
 * schema.c has the table that maps a path such as "training.zero_stage" to a field, its type,
 * range, unit, default and meaning.
 */

#include "models/algorithms/algorithm.h"
#include "models/generation/length_drift.h"
#include "models/generation/length_table.h"
#include "models/generation/lengths.h"
#include "models/generation/plan.h"
#include "models/scenario/bands.h"
#include "models/scenario/calibration.h"
#include "models/scenario/catalog.h"

#include <rlhfsim/scenario.h>

/* Keys and values in 2 bytes, or in 1. */
enum scenario_kv_precision { SCENARIO_KV_BF16, SCENARIO_KV_FP8 };

/* Prompts are dealt out before the rollout, or each goes to the replica with the fewest tokens. */
enum scenario_routing { SCENARIO_ROUTING_STATIC, SCENARIO_ROUTING_LEAST_LOADED };

enum scenario_kl {
    SCENARIO_KL_NONE = ALGORITHM_KL_NONE,
    SCENARIO_KL_REWARD = ALGORITHM_KL_REWARD,
    SCENARIO_KL_LOSS = ALGORITHM_KL_LOSS
};

/* Who sits where, see models/scenario/placement.h. */
enum scenario_placement {
    SCENARIO_COLOCATED,
    SCENARIO_SPLIT,
    SCENARIO_ONE_STEP_OFF,
    SCENARIO_ASYNC
};

/* Pools of GPUs that a split has. */
enum scenario_pool {
    SCENARIO_POOL_TRAIN,
    SCENARIO_POOL_ROLLOUT,
    SCENARIO_POOL_CRITIC,
    SCENARIO_POOL_REWARD,
    SCENARIO_POOLS
};

/* DPO: the reference's log-probs are made with every step, or once before the first. */
enum scenario_reference { SCENARIO_REFERENCE_EVERY_STEP, SCENARIO_REFERENCE_PRECOMPUTED };

/* Weights that are not trained, beside adapters. */
enum scenario_base { SCENARIO_BASE_UNPACKED, SCENARIO_BASE_NF4 };

/* Where offloaded master weights and moments wait. */
enum scenario_optimizer_tier { SCENARIO_OPTIMIZER_HOST, SCENARIO_OPTIMIZER_NVME };

/* Who holds a whole model in host memory while it is loaded. */
enum scenario_rank_load {
    SCENARIO_RANK_LOAD_SHARDED,
    SCENARIO_RANK_LOAD_FIRST,
    SCENARIO_RANK_LOAD_EVERY
};

/* What the engine's share of a GPU is a share of. */
enum scenario_share { SCENARIO_SHARE_TOTAL, SCENARIO_SHARE_FREE };

/* Where the weights of a sleeping engine are. */
enum scenario_sleeping { SCENARIO_SLEEPING_DISCARDED, SCENARIO_SLEEPING_HOST };

/* Whether an engine's cache is mapped after its new weights, or with them. */
enum scenario_wake { SCENARIO_WAKE_STAGED, SCENARIO_WAKE_WHOLE };

enum scenario_optimizer {
    SCENARIO_OPTIMIZER_ADAM,
    SCENARIO_OPTIMIZER_ADAM_8BIT,
    SCENARIO_OPTIMIZER_SGD
};
enum scenario_save { SCENARIO_SAVE_SYNCHRONOUS, SCENARIO_SAVE_ASYNCHRONOUS };
enum scenario_save_layout { SCENARIO_SAVE_SHARDED, SCENARIO_SAVE_GATHERED };
enum scenario_load { SCENARIO_LOAD_NONE, SCENARIO_LOAD_WEIGHTS, SCENARIO_LOAD_CHECKPOINT };

struct scenario_model {
    bool present;
    struct llm_architecture architecture;
    int64_t lora_rank; /* 0: full */
    enum training_lora_targets lora_targets;
    enum training_offload offload; /* models.X.offload, else training.offload for trained models */
};

struct scenario_lengths {
    struct generation_length_moments moments;
    struct generation_lengths fitted;
    struct generation_length_bins *bins; /* of a histogram or trace, else NULL */
    /* Of responses: */
    double group_correlation; /* of two answers to one prompt, as normal scores */
    double useless_share;     /* of the tokens: after the useful answer */
    struct generation_length_drift drift;
};

struct rlhfsim_scenario {
    char name[128];
    uint64_t seed;
    struct catalog_framework framework;
    int64_t
        steps; /* rollout steps (offline: optimizer steps); derived from the data set if absent */

    struct {
        const struct algorithm_type *type;
        int64_t prompts_per_step; /* offline: pairs of one optimizer step = minibatch_samples */
        int64_t samples_per_prompt;
        int64_t minibatch_samples; /* samples (offline: pairs) of one optimizer step, all GPUs */
        int64_t epochs;            /* passes over the samples of a step */
        enum scenario_kl kl;
        enum scenario_reference reference;
        bool old_logprobs_skipped;
        int64_t critic_warmup_steps;
        int64_t kept_samples_per_prompt; /* of samples_per_prompt: those that are trained */
        int64_t generated_prompts;       /* of a round of the rollout */
        int64_t max_rounds;
        double pass_rate_mean, pass_rate_concentration;
    } algorithm;

    struct scenario_model models[ALGORITHM_ROLE_COUNT];

    struct hardware_cluster cluster;
    char topology[192]; /* in words */

    struct {
        enum scenario_placement mode;
        double staleness_versions; /* async: that samples may lag; a fraction of a version, too */
        int64_t sync_every_steps;
        bool partial_rollout, drops;
        int gpus[SCENARIO_POOLS]; /* 0: no such pool; colocated: none has any */
    } placement;

    struct {
        int tp, pp, vpp, cp, ep;
        int expert_tp; /* 0: tp */
        bool sequence_parallel;
        enum training_context context;
        int zero_stage;
        int shard_ranks; /* 0: all */
        bool reshard_after_forward, prefetch;
        enum training_reduction reduction;
        bool overlap_gradients, overlap_weights;
        double full_memory_slowdown; /* share */
        enum hardware_precision precision;
        int64_t microbatch_samples; /* samples (offline: pairs) a data-parallel rank and pass; 0
                                       with a token budget */
        int64_t microbatch_tokens;  /* token budget with packing; 0 without */
        int64_t logprob_microbatch_samples, logprob_microbatch_tokens; /* without gradients: one of
                                                                          them, as above */
        bool packing;       /* sequences are concatenated, not padded to the longest */
        bool balance_ranks; /* by tokens */
        enum training_recompute recompute;
        enum training_attention attention;
        struct training_attention_rates attention_rates; /* of that kernel on the GPU */
        enum training_fusion fusion;
        enum training_offload offload;
        enum scenario_optimizer_tier offload_optimizer_to;
        bool offload_activations;
        enum training_logits logits;
        bool entropy_loss;
        enum scenario_optimizer optimizer;
        enum scenario_base base_weights;
        bool lora_merged;
        enum scenario_rank_load load;
        double load_bytes;             /* of a trained parameter, with the above */
        struct training_memory memory; /* of the framework and the optimizer */
        double memory_spread;          /* relative standard deviation of a peak's forecast */
    } training;

    struct {
        struct generation_software engine; /* with the options that are written */
        int tp, pp, attention_dp, ep;
        enum generation_format precision;
        enum scenario_kv_precision kv_precision;
        int64_t max_new_tokens;
        int max_num_seqs;
        int64_t max_num_batched_tokens;
        double memory_fraction; /* of the GPU that the engine may fill: weights and KV cache */
        enum scenario_share memory_fraction_of;
        enum scenario_sleeping sleeping_weights;
        enum scenario_wake wake;
        bool prefix_caching, chunked_prefill, cuda_graphs;
        enum generation_preemption preemption;
        enum scenario_routing routing;
        int turns;
        int64_t observation_tokens;
        double tool_s, tool_p99_s; /* the latter of a log-normal law; 0: all take tool_s */
        bool keep_kv;
        struct generation_speculation speculation;
        struct scenario_lengths prompt, response;
        struct generation_trace *trace; /* where one of them is a trace */
    } rollout;

    struct {
        double sample_s;     /* a rule's time for one sample on one CPU worker */
        int workers;         /* CPU workers a node */
        double sample_p99_s; /* of a log-normal law of that time; 0: it is fixed */
        double timeout_s;    /* after which it is given up; 0: never */
        double calls_per_s;  /* of a remote judge; 0: the workers do it */
        bool during_rollout; /* a sample is scored once it has ended */
    } reward;

    struct {
        int64_t prompts, pairs;
        int64_t epochs;
        double bytes;        /* of its files; 0: too few to count */
        bool drop_last;      /* what does not fill a step is left out, each epoch */
        int64_t epoch_steps; /* steps of an epoch; 0 where `steps` is written: see steps.h */
    } dataset;

    struct {
        int64_t every_steps; /* 0: never */
        int64_t prompts, samples_per_prompt;
    } validation;

    struct {
        int64_t every_steps; /* 0: never */
        int64_t keep;
        int64_t exported; /* checkpoints copied out of the region, billed as network traffic */
        double store_bandwidth_bytes_per_s; /* 0: only the nodes limit */
        enum scenario_save mode;
        enum scenario_save_layout layout;
        enum scenario_load load;
        struct store store;           /* resolved, what the two fields above say in it */
        struct store staging;         /* with staged_on_store */
        bool staged_on_store;         /* else in host memory */
        const char *store_provenance; /* NULL: the node's */
    } checkpoint;

    struct {
        double bytes_per_sample; /* written to the log service for one sample */
        double sampling_rate;    /* share of the samples that is logged */
    } logging;

    struct cost_prices prices;

    char tags[256]; /* "team=rlhf;run=7", in the order written */

    struct scenario_calibration calibration; /* see scenario_factor */

    struct scenario_band bands[SCENARIO_BANDS]; /* of the model's own error */

    /* Where figures come from: "measured", "interpolated", "extrapolated" or "assumed". */
    const char *kernels_provenance;
    const char *gpu_provenance, *node_provenance, *framework_provenance, *engine_provenance,
        *length_provenance, *price_provenance;
};

/* Critic, reward model and a reward model in training give one number a token where the others give
 * a vocabulary. */
enum llm_head scenario_head(const struct algorithm_type *type, enum algorithm_role role);

/* What a calibration of the user's multiplies the times of a part by; 1 without. */
double scenario_factor(const struct rlhfsim_scenario *scenario, enum scenario_part part);

#endif
