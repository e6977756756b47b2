/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * REINFORCE leave-one-out (Ahmadian et al., "Back to basics", 2024): the baseline of an answer is
 * the mean reward of the prompt's other ones, so that there is no critic and K is at least 2; the
 * KL term is part of the reward.
 */

#include "models/algorithms/list.h"

const struct algorithm_type algorithm_rloo = {
    .name = "rloo",
    .meaning = "the baseline of an answer is the mean of the other ones to its prompt",
    .steps = algorithm_group_steps,
    .step_count = ALGORITHM_GROUP_STEPS,
    .has_rollout = true,
    .sequences_per_sample = 1,
    .min_samples_per_prompt = 2,
    .kl = ALGORITHM_KL_REWARD,
    .needs = {[ALGORITHM_ROLE_ACTOR] = ALGORITHM_REQUIRED,
              [ALGORITHM_ROLE_CRITIC] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REWARD] = ALGORITHM_OPTIONAL,
              [ALGORITHM_ROLE_REFERENCE] = ALGORITHM_OPTIONAL},
};
