/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Identity preference optimisation (Azar et al., 2023): DPO with a squared loss of the same
 * log-probs, the reference's among them. The loss changes and not the cost.
 */

#include "models/algorithms/list.h"

const struct algorithm_type algorithm_ipo = {
    .name = "ipo",
    .meaning = "DPO with a squared loss: the cost of dpo",
    .steps = algorithm_pair_steps,
    .step_count = ALGORITHM_PAIR_STEPS,
    .has_rollout = false,
    .sequences_per_sample = 2,
    .min_samples_per_prompt = 1,
    .needs = {[ALGORITHM_ROLE_ACTOR] = ALGORITHM_REQUIRED,
              [ALGORITHM_ROLE_CRITIC] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REWARD] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REFERENCE] = ALGORITHM_OPTIONAL},
};
