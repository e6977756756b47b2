/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Group sequence policy optimisation (Zheng et al., 2025): GRPO whose importance ratio and clipping
 * are those of a whole sequence. The loss changes and not the cost.
 */

#include "models/algorithms/list.h"

const struct algorithm_type algorithm_gspo = {
    .name = "gspo",
    .meaning = "GRPO with ratios of whole sequences: the cost of grpo",
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
