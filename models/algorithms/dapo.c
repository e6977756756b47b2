/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Decoupled clip and dynamic sampling policy optimisation (Yu et al., "DAPO", 2025): GRPO without a
 * KL term, which trains only on prompts whose answers are neither all right nor all wrong. Rollout
 * and reward are repeated with new prompts until there are enough of them; what is too much is
 * dropped (verl's recipe, dapo_ray_trainer.py @1dda039b9). So it is with NeMo-RL's cache, which
 * keeps mixed prompts from round to round of a step and discards those beyond the batch (its metric
 * dynamic_sampling_num_discarded_valid_samples). Left out: rounds that end, the rest aborted, as
 * soon as enough prompts are answered (slime). With a chance q that a prompt is mixed, G prompts a
 * round and B wanted, the mean number of rounds is
 *
 *     E[rounds] = sum over r >= 0 of P(Bin(r G, q) < B).
 */

#include "models/algorithms/list.h"

static const struct algorithm_step steps[] = {
    {ALGORITHM_PHASE_TRANSITION, ALGORITHM_WORK_WAKE, ALGORITHM_ROLE_ACTOR,
     ALGORITHM_IF_LATER_ROUND, 0},
    {ALGORITHM_PHASE_ROLLOUT, ALGORITHM_WORK_GENERATE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_TRANSITION, ALGORITHM_WORK_SLEEP, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_REWARD, ALGORITHM_WORK_SCORE, ALGORITHM_ROLE_REWARD, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_ACTOR_LOGPROB, ALGORITHM_WORK_FORWARD, ALGORITHM_ROLE_ACTOR,
     ALGORITHM_IF_OLD_LOGPROBS, 0},
    {ALGORITHM_PHASE_ACTOR_UPDATE, ALGORITHM_WORK_UPDATE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS,
     0},
    {ALGORITHM_PHASE_WEIGHT_SYNC, ALGORITHM_WORK_SYNC, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
    {ALGORITHM_PHASE_TRANSITION, ALGORITHM_WORK_WAKE, ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0},
};

const struct algorithm_type algorithm_dapo = {
    .name = "dapo",
    .meaning =
        "GRPO on prompts with mixed answers alone, in rounds of rollouts until there are enough",
    .steps = steps,
    .step_count = sizeof(steps) / sizeof(*steps),
    .has_rollout = true,
    .sequences_per_sample = 1,
    .min_samples_per_prompt = 2,
    .selection = ALGORITHM_SELECT_MIXED,
    .needs = {[ALGORITHM_ROLE_ACTOR] = ALGORITHM_REQUIRED,
              [ALGORITHM_ROLE_CRITIC] = ALGORITHM_FORBIDDEN,
              [ALGORITHM_ROLE_REWARD] = ALGORITHM_OPTIONAL,
              [ALGORITHM_ROLE_REFERENCE] = ALGORITHM_FORBIDDEN},
};
