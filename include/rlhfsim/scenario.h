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
    const uint64_t *seed;    /* replaces the scenario's seed; NULL keeps it */
    const char *calibration; /* a file of multipliers (comparison.h); NULL: none */
};

/* Reads `path`. RLHFSIM_OK with *scenario owned by the caller; RLHFSIM_INVALID with every error in
 * `diagnostics` and *scenario NULL (a file that is not there is one); RLHFSIM_IO when reading it
 * fails; RLHFSIM_NO_MEMORY. */
RLHFSIM_API enum rlhfsim_status
rlhfsim_scenario_load(const char *path, const struct rlhfsim_scenario_options *options,
                      struct rlhfsim_diagnostics *diagnostics, struct rlhfsim_scenario **scenario);

RLHFSIM_API void rlhfsim_scenario_free(struct rlhfsim_scenario *scenario);

/* ---- many scenarios of one file -------------------------------------------------------------- */

/* A scenario file and its catalogs, read once, to make many scenarios of it that differ in a few
 * keys: what a sweep does. */
struct rlhfsim_source;

/* Reads the file and the catalogs. Sets and seed of the options hold for every scenario made of the
 * source; path, options and what they point to must outlive it. Statuses as rlhfsim_scenario_load;
 * what is wrong with single keys shows when a scenario is made. */
RLHFSIM_API enum rlhfsim_status rlhfsim_source_read(const char *path,
                                                    const struct rlhfsim_scenario_options *options,
                                                    struct rlhfsim_diagnostics *diagnostics,
                                                    struct rlhfsim_source **source);
RLHFSIM_API void rlhfsim_source_free(struct rlhfsim_source *source);

/* As rlhfsim_scenario_load, with `set_count` further sets after those of the options. The source is
 * only read: several threads may make scenarios of it at once. */
RLHFSIM_API enum rlhfsim_status rlhfsim_source_scenario(const struct rlhfsim_source *source,
                                                        const char *const *sets, size_t set_count,
                                                        struct rlhfsim_diagnostics *diagnostics,
                                                        struct rlhfsim_scenario **scenario);

/* A number that stands for everything the source was made of (the text of the file, the catalogs,
 * every config.json that it names, sets, seed and the version of the library) and for `count`
 * further texts. It is the same on every machine. */
RLHFSIM_API uint64_t rlhfsim_source_fingerprint(const struct rlhfsim_source *source,
                                                const char *const *texts, size_t count);

/* A number that stands for the text of the config.json that `value`, written as behind `--set
 * KEY=`, names where `key` is the model of an actor, critic, reward or reference; 0 where it names
 * no file that can be read. With it the fingerprint covers what later sets will name. */
RLHFSIM_API uint64_t rlhfsim_source_value_fingerprint(const struct rlhfsim_source *source,
                                                      const char *key, const char *value);

/* The one form of all spellings of a value, written as behind `--set KEY=`: two values are the same
 * ("1 GB" and "1000 MB", a name and its alias) when their forms are. Release with free(); NULL
 * without memory. */
RLHFSIM_API char *rlhfsim_source_canonical_value(const struct rlhfsim_source *source,
                                                 const char *key, const char *value);

/* ---- keys ------------------------------------------------------------------------------------ */

/* Whether a scenario can have `key` ("training.tp"). RLHFSIM_OK, or RLHFSIM_INVALID with an error
 * that names the nearest key, at the name that is wrong: line 1 of `file`, where the key stands
 * from `column` on. */
RLHFSIM_API enum rlhfsim_status rlhfsim_key_check(const char *key, const char *file, int column,
                                                  struct rlhfsim_diagnostics *diagnostics);

/* Whether `value`, written as behind `--set KEY=`, is of the key's type: a whole number, a number,
 * a quantity, one of its words. Whether it is in range and goes with the other keys shows when a
 * scenario is made, as does all about columns of a node, GPU or model that the scenario describes
 * itself. Statuses and place as above. The key must have passed the check above. */
RLHFSIM_API enum rlhfsim_status rlhfsim_key_check_value(const char *key, const char *value,
                                                        const char *file, int column,
                                                        struct rlhfsim_diagnostics *diagnostics);

/* The scenario's `name`. Lives as long as the scenario. */
RLHFSIM_API const char *rlhfsim_scenario_name(const struct rlhfsim_scenario *scenario);

#endif
