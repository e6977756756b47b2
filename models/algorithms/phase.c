/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/algorithms/phase.h"

#include "sim/contract.h"

#define ALGORITHM_NAME(name, text) text,

const char *algorithm_phase_name(enum algorithm_phase phase) {
    static const char *const names[] = {ALGORITHM_PHASE_MAP(ALGORITHM_NAME)};
    CONTRACT((unsigned)phase < ALGORITHM_PHASE_COUNT, "not a phase");
    return names[phase];
}

const char *algorithm_role_name(enum algorithm_role role) {
    static const char *const names[] = {ALGORITHM_ROLE_MAP(ALGORITHM_NAME)};
    CONTRACT((unsigned)role < ALGORITHM_ROLE_COUNT, "not a role");
    return names[role];
}

#undef ALGORITHM_NAME
