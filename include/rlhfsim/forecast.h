/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RLHFSIM_FORECAST_H
#define RLHFSIM_FORECAST_H

/*
 * A forecast: one scenario simulated. `rlhfsim_forecast_check` says what can be said without the
 * run (memory and legality); `rlhfsim_forecast_run` simulates all of it. A scenario that does not
 * fit its memory yields RLHFSIM_INFEASIBLE and a forecast whose summary has `memory` filled and
 * `time`, `cost` and `throughput` unknown, unless `ignore_memory` is set.
 */

#include <rlhfsim/diagnostics.h>
#include <rlhfsim/facts.h>
#include <rlhfsim/scenario.h>
#include <rlhfsim/summary.h>

#include <stdbool.h>
#include <stddef.h>

struct rlhfsim_forecast;

/* Called now and then (many times a second, within a step too) while a forecast runs, with the
 * share done (0 to 1). True goes on. False stops the run: it ends with RLHFSIM_CANCELLED, no
 * forecast and none of its files left behind. */
typedef bool(rlhfsim_progress_func)(void *subject, double share_done);

struct rlhfsim_forecast_options {
    int replicates;                  /* independent repetitions behind P10/P50/P90; at least 1 */
    bool ignore_memory;              /* forecast time and price even where it does not fit */
    bool skip_limit;                 /* leave limit.* unknown: finding it takes eight short runs */
    const char *output_directory;    /* timelines are streamed there; NULL writes none */
    rlhfsim_progress_func *progress; /* NULL: nobody is told, the run cannot be stopped */
    void *progress_subject;
};

/* Both give *forecast, owned by the caller, with RLHFSIM_OK and with RLHFSIM_INFEASIBLE; otherwise
 * it is NULL and `diagnostics` says why (RLHFSIM_INVALID: the run would last longer than its clock
 * counts, 292 years). With an output directory the run writes summary.json,
 * timeline.csv, phases.csv, memory.csv, cost.csv and trace.json (an infeasible one summary.json and
 * memory.csv); each appears whole or not at all. Of several replicates the files show the one of
 * median length, of an even number the shorter of the two in the middle: it can lie beside the P50,
 * which is their mean. `check` writes nothing. */
RLHFSIM_API enum rlhfsim_status rlhfsim_forecast_check(const struct rlhfsim_scenario *scenario,
                                                       struct rlhfsim_diagnostics *diagnostics,
                                                       struct rlhfsim_forecast **forecast);
RLHFSIM_API enum rlhfsim_status rlhfsim_forecast_run(const struct rlhfsim_scenario *scenario,
                                                     const struct rlhfsim_forecast_options *options,
                                                     struct rlhfsim_diagnostics *diagnostics,
                                                     struct rlhfsim_forecast **forecast);

RLHFSIM_API void rlhfsim_forecast_free(struct rlhfsim_forecast *forecast);

/* Lives as long as the forecast. */
RLHFSIM_API const struct rlhfsim_summary *
rlhfsim_forecast_summary(const struct rlhfsim_forecast *forecast);

/* Why the scenario does not fit, as a sentence without a full stop ("every GPU lacks 3.21 GB in
 * phase actor_update"); NULL when it fits. Lives as long as the forecast. */
RLHFSIM_API const char *rlhfsim_forecast_shortage(const struct rlhfsim_forecast *forecast);

/* Who holds what on the fullest device at the instant of its peak, largest first. False past the
 * last row. `owner` is a model or engine, `category` what it holds; both live with the forecast. */
struct rlhfsim_memory_row {
    const char *owner;
    const char *category;
    double bytes;
};
RLHFSIM_API bool rlhfsim_forecast_memory_row(const struct rlhfsim_forecast *forecast, size_t index,
                                             struct rlhfsim_memory_row *row);

/* How the work is laid out; lives as long as the forecast, its strings as long as the scenario. */
RLHFSIM_API const struct rlhfsim_layout *
rlhfsim_forecast_layout(const struct rlhfsim_forecast *forecast);

/* The phases in the order in which they first run, each at its fullest; false past the last one.
 * And what a GPU holds there of a category ("weights", "kv_cache", ...), by the index of the phase
 * and of the category; false where there is no such one. */
RLHFSIM_API bool rlhfsim_forecast_phase(const struct rlhfsim_forecast *forecast, size_t index,
                                        struct rlhfsim_phase_memory *memory);
RLHFSIM_API bool rlhfsim_forecast_phase_category(const struct rlhfsim_forecast *forecast,
                                                 size_t phase, size_t category, const char **name,
                                                 double *bytes);

#endif
