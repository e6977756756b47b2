/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RLHFSIM_COMPARISON_H
#define RLHFSIM_COMPARISON_H

/*
 * A forecast held against measured steps of the same run: phase by phase, with what a large gap
 * most likely comes from; and the user's own calibration, four factors of the parts of a step
 * (rollout, training, sync, host) that bring the forecast to the measured steps. A scenario that is
 * loaded with that file (rlhfsim_scenario_options) has its times multiplied by them.
 *
 * Logs are verl's console output (`step:7 - timing_s/gen:42.9 - ...`), or CSV: step, phase,
 * seconds; or one step a row and a column for each timer. Phases go by our names and by those of
 * frameworks. Of several steps the median counts. Mean lengths in the log take the place of the
 * scenario's where its laws allow it; `note` says so.
 */

#include <rlhfsim/diagnostics.h>
#include <rlhfsim/scenario.h>

#include <stdbool.h>
#include <stddef.h>

struct rlhfsim_comparison;

struct rlhfsim_comparison_options {
    const char *scenario;                        /* the file */
    const struct rlhfsim_scenario_options *load; /* how it is loaded */
    const char *const *logs;                     /* files, at least one */
    size_t log_count;
    bool fit; /* find factors; a calibration of `load` is then an error of the caller's */
};

/* Reads and forecasts. RLHFSIM_OK with *comparison owned by the caller; else it is NULL and the
 * errors are in `diagnostics`: RLHFSIM_INVALID (also where no step of a log can be used, or nothing
 * in it is forecast), RLHFSIM_IO, RLHFSIM_NO_MEMORY. */
RLHFSIM_API enum rlhfsim_status
rlhfsim_comparison_make(const struct rlhfsim_comparison_options *options,
                        struct rlhfsim_diagnostics *diagnostics,
                        struct rlhfsim_comparison **comparison);
RLHFSIM_API void rlhfsim_comparison_free(struct rlhfsim_comparison *comparison);

/* One timer of the log, or a phase that only the forecast has. Strings live with the comparison. */
struct rlhfsim_comparison_phase {
    const char *name;
    size_t steps;      /* of the log that have it */
    double measured_s; /* NAN: not in the log */
    double forecast_s; /* NAN: not forecast */
    double fitted_s;   /* with the factors; the same without a fit */
    bool counts;       /* the fit goes by it */
    const char *cause; /* of a large gap; NULL: there is none, or nothing is known of it */
};

/* By index, the step last; false past it. */
RLHFSIM_API bool rlhfsim_comparison_phase(const struct rlhfsim_comparison *comparison, size_t index,
                                          struct rlhfsim_comparison_phase *phase);

/* The factors by index; false past the last one. */
struct rlhfsim_comparison_factor {
    const char *part;
    double factor;
    bool fitted; /* else 1 (or that of the scenario's calibration): no timer is mostly this part */
};
RLHFSIM_API bool rlhfsim_comparison_factor(const struct rlhfsim_comparison *comparison,
                                           size_t index, struct rlhfsim_comparison_factor *factor);

/* What the reader should know: lengths that were taken over, entries that were left out. By index;
 * NULL past the last one. `times`: how often. */
RLHFSIM_API const char *rlhfsim_comparison_note(const struct rlhfsim_comparison *comparison,
                                                size_t index, size_t *times);

/* Steps of the logs that were used. */
RLHFSIM_API size_t rlhfsim_comparison_steps(const struct rlhfsim_comparison *comparison);

/* The factors as a calibration file: CSV, each with what it was fitted to. Writing makes a file,
 * whole or not at all; its directory is made if it is missing. */
RLHFSIM_API const char *rlhfsim_comparison_text(const struct rlhfsim_comparison *comparison);
RLHFSIM_API enum rlhfsim_status
rlhfsim_comparison_write(const struct rlhfsim_comparison *comparison, const char *path,
                         struct rlhfsim_diagnostics *diagnostics);

#endif
