/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Contrastive preference optimisation (Xu et al., 2024): DPO with a uniform reference, which is
 * none, and the likelihood of the chosen answer, from the same logits.
 */

#include "models/algorithms/list.h"

const struct algorithm_type algorithm_cpo = {
    .name = "cpo",
    .meaning = "DPO without a reference, and the likelihood of the chosen answer",
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
