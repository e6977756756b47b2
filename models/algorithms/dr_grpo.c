/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Dr.GRPO (Liu et al., "Understanding R1-Zero-like training", 2025): GRPO without the division by
 * the answers' lengths and by the spread of the rewards. The loss changes and not the cost; the
 * authors train without a KL term.
 */

#include "models/algorithms/list.h"

const struct algorithm_type algorithm_dr_grpo = {
    .name = "dr_grpo",
    .meaning = "GRPO with an unbiased loss: the cost of grpo",
    .steps = algorithm_group_steps,
    .step_count = ALGORITHM_GROUP_STEPS,
    .has_rollout = true,
    .sequences_per_sample = 1,
    .min_samples_per_prompt = 2,
    .kl = ALGORITHM_KL_NONE,
    .needs = {[ALGORITHM_ROLE_ACTOR] = ALGORITHM_REQUIRED,
              [ALGORITHM_ROLE_CRITIC] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REWARD] = ALGORITHM_OPTIONAL,
              [ALGORITHM_ROLE_REFERENCE] = ALGORITHM_OPTIONAL},
};
