/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RLHFSIM_SCENARIO_H
#define RLHFSIM_SCENARIO_H

/*
 * A scenario: one YAML file that says what is trained, how, on which cluster and at which prices.
 * Loading checks every key (unknown, duplicate, type, range, unit, illegal combination) and
 * resolves every name against the catalogs, so that a loaded scenario is complete and legal.
 */

#include <rlhfsim/diagnostics.h>

#include <stdint.h>

struct rlhfsim_scenario;

struct rlhfsim_scenario_options {
    const char *catalog_directory;       /* the catalog of the installation; required */
    const char *const *user_directories; /* further catalogs, later ones win; may be NULL */
    size_t user_directory_count;
    const char *const *sets; /* "a.b.c=value", applied in order; may be NULL */
    size_t set_count;
    const uint64_t *seed; /* replaces the scenario's seed; NULL keeps it */
};

/* Reads `path`. RLHFSIM_OK with *scenario owned by the caller; RLHFSIM_INVALID with every error in
 * `diagnostics` and *scenario NULL (a file that is not there is one); RLHFSIM_IO when reading it
 * fails; RLHFSIM_NO_MEMORY. */
RLHFSIM_API enum rlhfsim_status
rlhfsim_scenario_load(const char *path, const struct rlhfsim_scenario_options *options,
                      struct rlhfsim_diagnostics *diagnostics, struct rlhfsim_scenario **scenario);

RLHFSIM_API void rlhfsim_scenario_free(struct rlhfsim_scenario *scenario);

/* The scenario's `name`. Lives as long as the scenario. */
RLHFSIM_API const char *rlhfsim_scenario_name(const struct rlhfsim_scenario *scenario);

#endif
