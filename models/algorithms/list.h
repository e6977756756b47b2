/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_ALGORITHMS_LIST_H
#define MODELS_ALGORITHMS_LIST_H

/* The algorithms, in the order in which the catalog lists them: XX(ppo) is the table algorithm_ppo
 * of ppo.c. */

#include "models/algorithms/algorithm.h"

#define ALGORITHM_LIST(XX) \
    XX(ppo)                \
    XX(grpo)               \
    XX(dpo)

#define ALGORITHM_DECLARE(name) extern const struct algorithm_type algorithm_##name;
ALGORITHM_LIST(ALGORITHM_DECLARE)
#undef ALGORITHM_DECLARE

#endif
