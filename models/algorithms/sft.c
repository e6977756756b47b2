/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Supervised fine-tuning: one forward and backward pass over prompts with one answer each. Each of
 * dataset.pairs is a prompt and its answer.
 */

#include "models/algorithms/list.h"

const struct algorithm_step algorithm_update_steps[ALGORITHM_UPDATE_STEPS] = {
    {ALGORITHM_PHASE_ACTOR_UPDATE, ALGORITHM_WORK_UPDATE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS,
     0},
};

const struct algorithm_type algorithm_sft = {
    .name = "sft",
    .meaning = "the actor is fine-tuned on prompts with an answer each",
    .steps = algorithm_update_steps,
    .step_count = ALGORITHM_UPDATE_STEPS,
    .has_rollout = false,
    .sequences_per_sample = 1,
    .min_samples_per_prompt = 1,
    .needs = {[ALGORITHM_ROLE_ACTOR] = ALGORITHM_REQUIRED,
              [ALGORITHM_ROLE_CRITIC] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REWARD] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REFERENCE] = ALGORITHM_FORBIDDEN},
};
