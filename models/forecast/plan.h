/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_PLAN_H
#define MODELS_FORECAST_PLAN_H

/*
 * From a scenario to who sits where: the plan of every model's passes, the rollout engine's
 * replicas, the fixed durations of a step, and what every GPU holds in every phase. Nothing random
 * and no time-line here; the runner (forecast/run.h) plays the plan on the engine.
 *
 * Colocated placement: every GPU holds a shard of every model and a share of one engine replica,
 * and the phases take turns. A split has pools of GPUs, each with its models, or the engine: see
 * models/scenario/placement.h.
 */

#include "models/generation/engine.h"
#include "models/reliability/checkpoint.h"
#include "models/scenario/scenario.h"
#include "models/training/footprint.h"
#include "models/training/step.h"

/* Who holds memory: the models by role, the rollout engine, and what belongs to nobody. */
enum forecast_owner {
    FORECAST_OWNER_ENGINE = ALGORITHM_ROLE_COUNT,
    FORECAST_OWNER_SYSTEM,
    FORECAST_OWNER_COUNT
};

#define FORECAST_CATEGORY_MAP(XX)        \
    XX(WEIGHTS, "weights")               \
    XX(MASTER_WEIGHTS, "master_weights") \
    XX(GRADIENTS, "gradients")           \
    XX(OPTIMIZER, "optimizer")           \
    XX(GATHERED, "gathered_parameters")  \
    XX(ACTIVATIONS, "activations")       \
    XX(LOGITS, "logits")                 \
    XX(KV_CACHE, "kv_cache")             \
    XX(RESIDUE, "engine_residue")        \
    XX(STAGING, "checkpoint_staging")    \
    XX(LOADING, "loading")               \
    XX(CONTEXT, "context")               \
    XX(RESERVE, "allocator_reserve")

enum forecast_category {
#define FORECAST_CATEGORY_ENUM(name, text) FORECAST_CATEGORY_##name,
    FORECAST_CATEGORY_MAP(FORECAST_CATEGORY_ENUM)
#undef FORECAST_CATEGORY_ENUM
        FORECAST_CATEGORY_COUNT
};

const char *forecast_owner_name(uint32_t owner);
const char *forecast_category_name(uint32_t category);

/* What one GPU holds, and its share of the node's host memory, during one phase. */
struct forecast_memory_state {
    double gpu[FORECAST_OWNER_COUNT][FORECAST_CATEGORY_COUNT];
    double host[FORECAST_OWNER_COUNT][FORECAST_CATEGORY_COUNT];
    double disk[FORECAST_OWNER_COUNT][FORECAST_CATEGORY_COUNT]; /* local NVMe */
};

/* Start-up and the steps of the algorithm, in the order they run, conditions resolved. */
#define FORECAST_STEP_LIMIT 16

/* In place of a step's index, for memory alone: while models are loaded, before anything else, and
 * while a checkpoint is saved. */
#define FORECAST_LOADING FORECAST_STEP_LIMIT
#define FORECAST_SAVING (FORECAST_STEP_LIMIT + 1)
#define FORECAST_INSTANT_LIMIT (FORECAST_STEP_LIMIT + 2)

/* What is read before the first step: one transfer a model, and the data set, fewer than
 * STORE_TRANSFERS. */
struct forecast_load {
    struct store_transfer transfers[STORE_TRANSFERS];
    size_t count;       /* 0: nothing is loaded */
    double broadcast_s; /* after the last read; 0: every node reads for itself */
    double zone_bytes;  /* of the broadcast, from zone to zone */
};

/* GPUs [first_gpu, first_gpu + gpus): one phase at a time works on them. */
struct forecast_pool {
    enum scenario_pool kind;
    int first_gpu, gpus;
    int dp; /* data-parallel ranks of passes on it */
};

/* GPUs that hold the same: of a pool, and there of a pipeline stage (0 in the engine's). */
struct forecast_place {
    size_t pool;
    int stage;
};

struct forecast_plan {
    const struct rlhfsim_scenario *scenario;
    int gpus;
    /* The first one is the trainer's; colocated it is the only one. */
    struct forecast_pool pools[SCENARIO_POOLS];
    size_t pool_count;
    size_t role_pool[ALGORITHM_ROLE_COUNT], engine_pool; /* indices of pools */
    int dp;                 /* data-parallel ranks of the actor: dp x tp x cp x pp of its pool */
    int replicas;           /* of the engine; replicas x GPUs of one of its pool; 0 when offline */
    int64_t prompt_limit;   /* longest prompt */
    int64_t response_limit; /* longest response */

    /* By role: how its passes are laid out. `resident` says that the model has weights of its own
     * (a reference made by switching LoRA adapters off has none). */
    bool present[ALGORITHM_ROLE_COUNT];
    bool resident[ALGORITHM_ROLE_COUNT];
    struct training_plan passes[ALGORITHM_ROLE_COUNT];
    double window; /* tokens of the window that some layers of the models have; 0: of none */

    struct generation_plan generation;
    double kv_missing_bytes; /* above 0: the engine's share cannot hold the longest sequence */

    double sleep_s, wake_s; /* of the engine; the driver's work of a step is in the former */
    double sync_s, sync_bytes;
    double sync_zone_bytes; /* of one sync, from zone to zone */
    struct checkpoint_plan checkpoint;
    struct forecast_load load;

    /* steps[0, loop_first) run once before the first step (a precomputed reference), the others in
     * every step. */
    struct algorithm_step steps[FORECAST_STEP_LIMIT];
    size_t loop_first, step_count;
    /* During steps[i], on the fullest GPUs of its pools then, and which ones those are. */
    struct forecast_memory_state memory[FORECAST_INSTANT_LIMIT];
    struct forecast_place fullest[FORECAST_INSTANT_LIMIT];
};

/* GPUs of the pools in a set (bit i: pools[i]). */
int forecast_pool_gpus(const struct forecast_plan *plan, unsigned pools);

/* The pools that a step of the plan keeps busy; `step` is step_count for a checkpoint. Passes are
 * on their model's pool; rollouts on the engine's; a weight sync on the actor's and the engine's; a
 * checkpoint on all that train. */
unsigned forecast_step_pools(const struct forecast_plan *plan, size_t step);

/* Who sits where, what a pass and the engine are like, and how long the engine's transitions take;
 * nothing about the store or memory. The scenario must outlive the plan. */
void forecast_plan_arrange(const struct rlhfsim_scenario *scenario, struct forecast_plan *plan);

/* Seconds of a weight sync where the plan's cluster is `cluster`; only of plans with replicas. */
double forecast_weight_sync_s(const struct forecast_plan *plan,
                              const struct hardware_cluster *cluster);

/* Nodes with trained weights on them: those that save. */
int forecast_saving_nodes(const struct forecast_plan *plan);

#endif
