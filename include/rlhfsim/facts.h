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
    bool offline;             /* trained on a data set of pairs; no rollout */
    int64_t prompts_per_step; /* offline: pairs of one optimizer step */
    int64_t samples_per_prompt;
    int64_t minibatch_samples; /* of one optimizer step, all GPUs; offline: pairs */
    int64_t epochs;            /* passes over the samples of a step; offline: over the data set */
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

#endif
