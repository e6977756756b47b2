/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Rejection sampling, best-of-N, RAFT (Dong et al., 2023; Touvron et al., "Llama 2", 2023): every
 * prompt is answered K times, the best answers are kept, and the actor is fine-tuned on them. No
 * log-probs, no reference.
 */

#include "models/algorithms/list.h"

static const struct algorithm_step steps[] = {
    {ALGORITHM_PHASE_ROLLOUT, ALGORITHM_WORK_GENERATE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_TRANSITION, ALGORITHM_WORK_SLEEP, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_REWARD, ALGORITHM_WORK_SCORE, ALGORITHM_ROLE_REWARD, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_ACTOR_UPDATE, ALGORITHM_WORK_UPDATE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS,
     0},
    {ALGORITHM_PHASE_WEIGHT_SYNC, ALGORITHM_WORK_SYNC, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_TRANSITION, ALGORITHM_WORK_WAKE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
};

const struct algorithm_type algorithm_rejection_sampling = {
    .name = "rejection_sampling",
    .meaning = "the actor is fine-tuned on the best of K answers to each prompt (best-of-N)",
    .steps = steps,
    .step_count = sizeof(steps) / sizeof(*steps),
    .has_rollout = true,
    .sequences_per_sample = 1,
    .min_samples_per_prompt = 2,
    .selection = ALGORITHM_SELECT_BEST,
    .needs = {[ALGORITHM_ROLE_ACTOR] = ALGORITHM_REQUIRED,
              [ALGORITHM_ROLE_CRITIC] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REWARD] = ALGORITHM_OPTIONAL,
              [ALGORITHM_ROLE_REFERENCE] = ALGORITHM_FORBIDDEN},
};
