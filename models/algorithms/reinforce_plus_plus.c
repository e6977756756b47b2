/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * REINFORCE++ (Hu, 2025): PPO's clipped loss without a critic; advantages are normalised over the
 * whole batch, so that one answer a prompt is enough. The KL term is part of the reward.
 */

#include "models/algorithms/list.h"

const struct algorithm_type algorithm_reinforce_plus_plus = {
    .name = "reinforce_plus_plus",
    .meaning = "no critic; advantages are normalised over the batch",
    .steps = algorithm_group_steps,
    .step_count = ALGORITHM_GROUP_STEPS,
    .has_rollout = true,
    .sequences_per_sample = 1,
    .min_samples_per_prompt = 1,
    .kl = ALGORITHM_KL_REWARD,
    .needs = {[ALGORITHM_ROLE_ACTOR] = ALGORITHM_REQUIRED,
              [ALGORITHM_ROLE_CRITIC] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REWARD] = ALGORITHM_OPTIONAL,
              [ALGORITHM_ROLE_REFERENCE] = ALGORITHM_OPTIONAL},
};
