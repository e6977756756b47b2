/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * REINFORCE++ with a baseline (Hu, 2025): the mean reward of the prompt's answers is subtracted
 * before advantages are normalised over the whole batch; K is at least 2, and the KL term is in the
 * loss.
 */

#include "models/algorithms/list.h"

const struct algorithm_type algorithm_reinforce_plus_plus_baseline = {
    .name = "reinforce_plus_plus_baseline",
    .meaning = "reinforce_plus_plus with the mean of a prompt as baseline",
    .steps = algorithm_group_steps,
    .step_count = ALGORITHM_GROUP_STEPS,
    .has_rollout = true,
    .sequences_per_sample = 1,
    .min_samples_per_prompt = 2,
    .kl = ALGORITHM_KL_LOSS,
    .needs = {[ALGORITHM_ROLE_ACTOR] = ALGORITHM_REQUIRED,
              [ALGORITHM_ROLE_CRITIC] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REWARD] = ALGORITHM_OPTIONAL,
              [ALGORITHM_ROLE_REFERENCE] = ALGORITHM_OPTIONAL},
};
