/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Direct preference optimisation (Rafailov et al., 2023): no rollout, no reward; the actor sees a
 * chosen and a rejected answer to each prompt, concatenated, and compares its log-probs with those
 * of the model it started from. The reference's are made with every step, or once before the first
 * (TRL's precompute_ref_log_probs).
 */

#include "models/algorithms/list.h"

const struct algorithm_step algorithm_pair_steps[ALGORITHM_PAIR_STEPS] = {
    {ALGORITHM_PHASE_REFERENCE_LOGPROB, ALGORITHM_WORK_FORWARD, ALGORITHM_ROLE_REFERENCE,
     ALGORITHM_IF_REFERENCE_EVERY_STEP, 0},
    {ALGORITHM_PHASE_ACTOR_UPDATE, ALGORITHM_WORK_UPDATE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS,
     0},
};

const struct algorithm_type algorithm_dpo = {
    .name = "dpo",
    .meaning = "the actor learns from pairs of a chosen and a rejected answer, without a rollout",
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
