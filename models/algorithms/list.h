/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_ALGORITHMS_LIST_H
#define MODELS_ALGORITHMS_LIST_H

/* The algorithms, in the order in which the catalog lists them: XX(ppo) is the table algorithm_ppo
 * of ppo.c. */

#include "models/algorithms/algorithm.h"

#define ALGORITHM_LIST(XX)           \
    XX(ppo)                          \
    XX(grpo)                         \
    XX(dr_grpo)                      \
    XX(gspo)                         \
    XX(dapo)                         \
    XX(rloo)                         \
    XX(reinforce_plus_plus)          \
    XX(reinforce_plus_plus_baseline) \
    XX(remax)                        \
    XX(rejection_sampling)           \
    XX(online_dpo)                   \
    XX(dpo)                          \
    XX(ipo)                          \
    XX(kto)                          \
    XX(cpo)                          \
    XX(simpo)                        \
    XX(orpo)                         \
    XX(sft)                          \
    XX(reward_model)

#define ALGORITHM_DECLARE(name) extern const struct algorithm_type algorithm_##name;
ALGORITHM_LIST(ALGORITHM_DECLARE)
#undef ALGORITHM_DECLARE

/* A step of GRPO, which others share that differ in the loss or the baseline alone. */
#define ALGORITHM_GROUP_STEPS 8
extern const struct algorithm_step algorithm_group_steps[ALGORITHM_GROUP_STEPS];

/* A step of DPO, and one of those that learn from pairs without a reference. */
#define ALGORITHM_PAIR_STEPS 2
extern const struct algorithm_step algorithm_pair_steps[ALGORITHM_PAIR_STEPS];
#define ALGORITHM_UPDATE_STEPS 1
extern const struct algorithm_step algorithm_update_steps[ALGORITHM_UPDATE_STEPS];

#endif
