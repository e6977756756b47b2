/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Online DPO (Guo et al., "Direct language model alignment from online AI feedback", 2024): the
 * best and the worst of K answers to a prompt, two in TRL's trainer, are the pair that DPO learns
 * from; a judge or a reward model ranks them.
 */

#include "models/algorithms/list.h"

static const struct algorithm_step steps[] = {
    {ALGORITHM_PHASE_ROLLOUT, ALGORITHM_WORK_GENERATE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_TRANSITION, ALGORITHM_WORK_SLEEP, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_REWARD, ALGORITHM_WORK_SCORE, ALGORITHM_ROLE_REWARD, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_REFERENCE_LOGPROB, ALGORITHM_WORK_FORWARD, ALGORITHM_ROLE_REFERENCE,
     ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_ACTOR_UPDATE, ALGORITHM_WORK_UPDATE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS,
     0},
    {ALGORITHM_PHASE_WEIGHT_SYNC, ALGORITHM_WORK_SYNC, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_TRANSITION, ALGORITHM_WORK_WAKE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
};

const struct algorithm_type algorithm_online_dpo = {
    .name = "online_dpo",
    .meaning = "DPO on pairs of the actor's own answers, ranked by a judge",
    .steps = steps,
    .step_count = sizeof(steps) / sizeof(*steps),
    .has_rollout = true,
    .sequences_per_sample = 1,
    .min_samples_per_prompt = 2,
    .selection = ALGORITHM_SELECT_BEST,
    .selected_per_prompt = 2,
    .needs = {[ALGORITHM_ROLE_ACTOR] = ALGORITHM_REQUIRED,
              [ALGORITHM_ROLE_CRITIC] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REWARD] = ALGORITHM_OPTIONAL,
              [ALGORITHM_ROLE_REFERENCE] = ALGORITHM_OPTIONAL},
};
