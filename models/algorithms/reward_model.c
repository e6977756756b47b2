/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Training of a reward model (Ouyang et al., 2022): the model in training, models.actor, scores a
 * chosen and a rejected answer with a head of one number, in place of a vocabulary, and learns
 * their order (Bradley and Terry, 1952).
 */

#include "models/algorithms/list.h"

const struct algorithm_type algorithm_reward_model = {
    .name = "reward_model",
    .meaning =
        "models.actor learns to score chosen above rejected answers, with a head of one number",
    .steps = algorithm_update_steps,
    .step_count = ALGORITHM_UPDATE_STEPS,
    .has_rollout = false,
    .sequences_per_sample = 2,
    .min_samples_per_prompt = 1,
    .scalar_head = true,
    .needs = {[ALGORITHM_ROLE_ACTOR] = ALGORITHM_REQUIRED,
              [ALGORITHM_ROLE_CRITIC] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REWARD] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REFERENCE] = ALGORITHM_FORBIDDEN},
};
