/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Simple preference optimisation (Meng et al., 2024): the reward of an answer is its mean log-prob
 * under the actor alone; no reference.
 */

#include "models/algorithms/list.h"

const struct algorithm_type algorithm_simpo = {
    .name = "simpo",
    .meaning = "pairs are compared by the mean log-prob of the actor, without a reference",
    .steps = algorithm_update_steps,
    .step_count = ALGORITHM_UPDATE_STEPS,
    .has_rollout = false,
    .sequences_per_sample = 2,
    .min_samples_per_prompt = 1,
    .needs = {[ALGORITHM_ROLE_ACTOR] = ALGORITHM_REQUIRED,
              [ALGORITHM_ROLE_CRITIC] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REWARD] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REFERENCE] = ALGORITHM_FORBIDDEN},
};
