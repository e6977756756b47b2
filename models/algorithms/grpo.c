/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Group relative policy optimisation (Shao et al., "DeepSeekMath", 2024): PPO whose baseline is the
 * mean reward of the K answers to one prompt, so that there is no critic and K is at least 2. The
 * order is that of verl's synchronous, colocated trainer (ray_trainer.fit @1dda039b9).
 */

#include "models/algorithms/list.h"

const struct algorithm_step algorithm_group_steps[ALGORITHM_GROUP_STEPS] = {
    {ALGORITHM_PHASE_ROLLOUT, ALGORITHM_WORK_GENERATE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
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

const struct algorithm_type algorithm_grpo = {
    .name = "grpo",
    .meaning = "the actor learns from how the answers to one prompt compare, without a critic",
    .steps = algorithm_group_steps,
    .step_count = ALGORITHM_GROUP_STEPS,
    .has_rollout = true,
    .sequences_per_sample = 1,
    .min_samples_per_prompt = 2,
    .kl = ALGORITHM_KL_LOSS,
    .needs = {[ALGORITHM_ROLE_ACTOR] = ALGORITHM_REQUIRED,
              [ALGORITHM_ROLE_CRITIC] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REWARD] = ALGORITHM_OPTIONAL, /* without: a rule */
              [ALGORITHM_ROLE_REFERENCE] = ALGORITHM_OPTIONAL},
};
