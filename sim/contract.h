/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SIM_CONTRACT_H
#define SIM_CONTRACT_H

/*
 * Two grades of assertion, for mistakes of the programmer only (mistakes of the user are statuses).
 * CONTRACT guards what a caller owes and is always on; INVARIANT guards what a module owes itself
 * and is compiled in debug builds.
 */

_Noreturn void sim_contract_failed(const char *file, int line, const char *condition,
                                   const char *message);

#define CONTRACT(condition, message) \
    ((condition) ? (void)0 : sim_contract_failed(__FILE__, __LINE__, #condition, message))

#ifdef NDEBUG
#define INVARIANT(condition, message) ((void)0)
#else
#define INVARIANT(condition, message) CONTRACT(condition, message)
#endif

#endif
