/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Proximal policy optimisation (Schulman et al., 2017) as used on language models (Ouyang et al.,
 * "Training language models to follow instructions with human feedback", 2022), in the order of
 * verl's synchronous, colocated trainer (ray_trainer.fit @1dda039b9): the same GPUs do everything,
 * so the phases are serial. The engine sleeps while models train and wakes after the new weights
 * have come. Before the actor learns, the critic may for some steps
 * (algorithm.critic_warmup_steps).
 */

#include "models/algorithms/list.h"

static const struct algorithm_step steps[] = {
    {ALGORITHM_PHASE_ROLLOUT, ALGORITHM_WORK_GENERATE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_TRANSITION, ALGORITHM_WORK_SLEEP, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_REWARD, ALGORITHM_WORK_SCORE, ALGORITHM_ROLE_REWARD, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_ACTOR_LOGPROB, ALGORITHM_WORK_FORWARD, ALGORITHM_ROLE_ACTOR,
     ALGORITHM_IF_OLD_LOGPROBS, 0},
    {ALGORITHM_PHASE_REFERENCE_LOGPROB, ALGORITHM_WORK_FORWARD, ALGORITHM_ROLE_REFERENCE,
     ALGORITHM_IF_KL, 0},
    {ALGORITHM_PHASE_VALUES, ALGORITHM_WORK_FORWARD, ALGORITHM_ROLE_CRITIC, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_CRITIC_UPDATE, ALGORITHM_WORK_UPDATE, ALGORITHM_ROLE_CRITIC, ALGORITHM_ALWAYS,
     0},
    {ALGORITHM_PHASE_ACTOR_UPDATE, ALGORITHM_WORK_UPDATE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS,
     0},
    {ALGORITHM_PHASE_WEIGHT_SYNC, ALGORITHM_WORK_SYNC, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_TRANSITION, ALGORITHM_WORK_WAKE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
};

const struct algorithm_type algorithm_ppo = {
    .name = "ppo",
    .meaning =
        "actor and critic learn from rewards of sampled answers, a KL term keeps a reference",
    .steps = steps,
    .step_count = sizeof(steps) / sizeof(*steps),
    .has_rollout = true,
    .sequences_per_sample = 1,
    .min_samples_per_prompt = 1,
    .kl = ALGORITHM_KL_REWARD,
    .needs = {[ALGORITHM_ROLE_ACTOR] = ALGORITHM_REQUIRED,
              [ALGORITHM_ROLE_CRITIC] = ALGORITHM_REQUIRED,
              [ALGORITHM_ROLE_REWARD] = ALGORITHM_OPTIONAL, /* without: a rule */
              [ALGORITHM_ROLE_REFERENCE] = ALGORITHM_OPTIONAL},
};
