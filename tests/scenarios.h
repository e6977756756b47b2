/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_SCENARIOS_H
#define TESTS_SCENARIOS_H

/* Scenarios for tests, loaded as a user's are: from the project's folder, with its catalog. */

#include "models/scenario/scenario.h"

/* Loads `path` with `sets` (NULL-terminated, or NULL); fails the test, printing every error, when
 * it cannot. The caller frees it. */
struct rlhfsim_scenario *testing_scenario(const char *path, const char *const *sets);

#endif
