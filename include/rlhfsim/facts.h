/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RLHFSIM_FACTS_H
#define RLHFSIM_FACTS_H

/*
 * What a loaded scenario says, after defaults, catalogs and `--set`: the plain facts that a
 * forecast starts from. All strings live as long as the scenario.
 */

#include <rlhfsim/scenario.h>

#include <stdbool.h>

struct rlhfsim_facts {
    const char *algorithm;    /* "ppo" */
    const char *framework;    /* "verl" */
    const char *node, *gpu;   /* names of their catalog rows */
    int nodes, gpus;          /* all GPUs of the run */
    const char *topology;     /* what lies between the nodes, in words, with its links */
    bool offline;             /* trained on a data set of pairs; no rollout */
    int64_t prompts_per_step; /* offline: pairs of one optimizer step */
    int64_t samples_per_prompt;
    int64_t minibatch_samples; /* of one optimizer step, all GPUs; offline: pairs */
    int64_t epochs;            /* passes over the samples of a step; offline: over the data set */
    int64_t short_prompts;     /* of the last step of an epoch; 0: every step is full */
    int64_t dropped_prompts;   /* that an epoch leaves out */
};

RLHFSIM_API void rlhfsim_scenario_facts(const struct rlhfsim_scenario *scenario,
                                        struct rlhfsim_facts *facts);

struct rlhfsim_model_facts {
    const char *role;           /* "actor", "critic", "reward", "reference" */
    const char *model;          /* the name of its architecture */
    int64_t parameters;         /* of the whole model, its head included */
    int64_t trained_parameters; /* 0 where it is frozen; the adapters' with LoRA */
    int64_t lora_rank;          /* 0 without */
};

/* The models that the scenario has, by index. False past the last one. */
RLHFSIM_API bool rlhfsim_scenario_model(const struct rlhfsim_scenario *scenario, size_t index,
                                        struct rlhfsim_model_facts *facts);

/* How the work of a step is laid out, and what it moves: what follows from the scenario without
 * simulating it. Counts of samples are of pairs offline. */
struct rlhfsim_layout {
    /* The trainer: gpus = ranks x train_tp x train_cp x train_pp; the chunks of each pipeline
     * stage, and the ranks that experts are divided over. */
    int train_tp, train_pp, train_vpp, train_cp, train_ep, ranks, zero_stage;
    int64_t optimizer_steps;    /* of one rollout step; offline: 1 */
    int64_t rank_samples;       /* of a rank in one optimizer step */
    int64_t microbatch_samples; /* of one pass; 0 with a token budget */
    int64_t microbatch_tokens;  /* token budget of one pass; 0 without */
    double microbatches;        /* passes of a rank in one optimizer step; with a token budget
                                   the mean number of tokens over the budget */
    /* The largest micro-batch that can occur, and how likely one as large is within the run. Where
     * memory does not fit: the longest sequence that does (0: none, or a token budget is the
     * reason), and how likely a longer one is. */
    double largest_sequences, largest_tokens, largest_probability;
    int64_t fitting_tokens;
    double overflow_probability;
    /* The rollout engine: gpus = replicas x rollout_tp; 0 replicas offline. */
    int replicas, rollout_tp;
    int64_t kv_tokens;       /* that the KV cache of a replica has room for */
    int64_t longest_tokens;  /* longest prompt and longest response */
    int64_t longest_at_once; /* sequences of that length that run at once in a replica */
    int max_num_seqs;
    /* What is moved and kept. */
    const char *weight_sync;        /* the mechanism; NULL offline */
    double weight_sync_bytes;       /* of one sync, the whole model or its adapters */
    bool weight_sync_adapters;      /* it moves LoRA adapters alone */
    double checkpoint_bytes;        /* of one checkpoint, all trained models */
    int64_t checkpoint_every_steps; /* 0: none is written */
    int64_t checkpoint_keep;
    double checkpoint_s;               /* that one save keeps the run waiting; 0 where none is */
    double checkpoint_write_s;         /* of its write in the background; 0: synchronous */
    int checkpoint_writers;            /* nodes that write */
    double node_store_bytes_per_s;     /* at which each of them does; 0: only the store limits */
    const char *node_store_provenance; /* of that rate: "measured", ..., "assumed" */
    double shared_store_bytes_per_s;   /* what the store takes from all; 0: only nodes limit */
    double host_bytes;                 /* host memory of a node; 0 where it is not known */
    double nvme_bytes;                 /* of a node's local disks; 0 where nothing waits on them */
    double nvme_peak_bytes;            /* that the fullest node has on them */
    /* What is rented. */
    double node_usd_per_hour, usd_per_hour; /* of one node, of all */
    const char *price_source;
};

/* What every GPU, and the host of a node, holds in a phase. */
struct rlhfsim_phase_memory {
    const char *phase;
    double gpu_bytes, host_bytes;
};

#endif
