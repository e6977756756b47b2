/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * ReMax (Li et al., 2023): the baseline of an answer is the reward of a greedy one to the same
 * prompt. verl's trainer (ray_trainer.fit @1dda039b9) generates the greedy answers after the
 * sampled ones and scores both; the greedy ones are not trained.
 */

#include "models/algorithms/list.h"

static const struct algorithm_step steps[] = {
    {ALGORITHM_PHASE_ROLLOUT, ALGORITHM_WORK_GENERATE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_ROLLOUT, ALGORITHM_WORK_GREEDY, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_TRANSITION, ALGORITHM_WORK_SLEEP, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_REWARD, ALGORITHM_WORK_SCORE, ALGORITHM_ROLE_REWARD, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_ACTOR_LOGPROB, ALGORITHM_WORK_FORWARD, ALGORITHM_ROLE_ACTOR,
     ALGORITHM_IF_OLD_LOGPROBS, 0},
    {ALGORITHM_PHASE_REFERENCE_LOGPROB, ALGORITHM_WORK_FORWARD, ALGORITHM_ROLE_REFERENCE,
     ALGORITHM_IF_KL, 0},
    {ALGORITHM_PHASE_ACTOR_UPDATE, ALGORITHM_WORK_UPDATE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS,
     0},
    {ALGORITHM_PHASE_WEIGHT_SYNC, ALGORITHM_WORK_SYNC, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_TRANSITION, ALGORITHM_WORK_WAKE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
};

const struct algorithm_type algorithm_remax = {
    .name = "remax",
    .meaning = "the baseline of an answer is a greedy one, generated after the sampled ones",
    .steps = steps,
    .step_count = sizeof(steps) / sizeof(*steps),
    .has_rollout = true,
    .sequences_per_sample = 1,
    .min_samples_per_prompt = 1,
    .kl = ALGORITHM_KL_REWARD,
    .needs = {[ALGORITHM_ROLE_ACTOR] = ALGORITHM_REQUIRED,
              [ALGORITHM_ROLE_CRITIC] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REWARD] = ALGORITHM_OPTIONAL,
              [ALGORITHM_ROLE_REFERENCE] = ALGORITHM_OPTIONAL},
};
