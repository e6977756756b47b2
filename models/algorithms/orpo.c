/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Odds ratio preference optimisation (Hong et al., 2024): the likelihood of the chosen answer and
 * the odds ratio of both, from the same logits; no reference.
 */

#include "models/algorithms/list.h"

const struct algorithm_type algorithm_orpo = {
    .name = "orpo",
    .meaning = "fine-tuning on the chosen answer with an odds ratio, without a reference",
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
