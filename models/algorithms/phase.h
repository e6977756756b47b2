/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_ALGORITHMS_PHASE_H
#define MODELS_ALGORITHMS_PHASE_H

/* The phases a step can have, in the order in which results list them, and the roles models play.
 */

#define ALGORITHM_PHASE_MAP(XX)                \
    XX(ROLLOUT, "rollout")                     \
    XX(TRANSITION, "transition")               \
    XX(REWARD, "reward")                       \
    XX(ACTOR_LOGPROB, "actor_logprob")         \
    XX(REFERENCE_LOGPROB, "reference_logprob") \
    XX(VALUES, "values")                       \
    XX(CRITIC_UPDATE, "critic_update")         \
    XX(ACTOR_UPDATE, "actor_update")           \
    XX(WEIGHT_SYNC, "weight_sync")             \
    XX(CHECKPOINT, "checkpoint")               \
    XX(VALIDATION, "validation")               \
    XX(LOAD, "load")

enum algorithm_phase {
#define ALGORITHM_PHASE_ENUM(name, text) ALGORITHM_PHASE_##name,
    ALGORITHM_PHASE_MAP(ALGORITHM_PHASE_ENUM)
#undef ALGORITHM_PHASE_ENUM
        ALGORITHM_PHASE_COUNT
};

#define ALGORITHM_ROLE_MAP(XX) \
    XX(ACTOR, "actor")         \
    XX(CRITIC, "critic")       \
    XX(REWARD, "reward")       \
    XX(REFERENCE, "reference")

enum algorithm_role {
#define ALGORITHM_ROLE_ENUM(name, text) ALGORITHM_ROLE_##name,
    ALGORITHM_ROLE_MAP(ALGORITHM_ROLE_ENUM)
#undef ALGORITHM_ROLE_ENUM
        ALGORITHM_ROLE_COUNT
};

/* "rollout", ...; "actor", ... */
const char *algorithm_phase_name(enum algorithm_phase phase);
const char *algorithm_role_name(enum algorithm_role role);

#endif
