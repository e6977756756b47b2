/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Kahneman-Tversky optimisation (Ethayarajh et al., 2024): single answers, each good or bad, in
 * place of pairs. As in TRL's trainer, actor and reference score each batch once more with its
 * prompts and answers mismatched, which estimates the KL term, and the actor does so without a
 * gradient.
 */

#include "models/algorithms/list.h"

static const struct algorithm_step steps[] = {
    {ALGORITHM_PHASE_REFERENCE_LOGPROB, ALGORITHM_WORK_FORWARD, ALGORITHM_ROLE_REFERENCE,
     ALGORITHM_ALWAYS, 2},
    {ALGORITHM_PHASE_ACTOR_LOGPROB, ALGORITHM_WORK_FORWARD, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS,
     0},
    {ALGORITHM_PHASE_ACTOR_UPDATE, ALGORITHM_WORK_UPDATE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS,
     0},
};

const struct algorithm_type algorithm_kto = {
    .name = "kto",
    .meaning = "the actor learns from single good or bad answers, without a rollout",
    .steps = steps,
    .step_count = sizeof(steps) / sizeof(*steps),
    .has_rollout = false,
    .sequences_per_sample = 1,
    .min_samples_per_prompt = 1,
    .needs = {[ALGORITHM_ROLE_ACTOR] = ALGORITHM_REQUIRED,
              [ALGORITHM_ROLE_CRITIC] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REWARD] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REFERENCE] = ALGORITHM_OPTIONAL},
};
