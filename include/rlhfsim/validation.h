/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RLHFSIM_VALIDATION_H
#define RLHFSIM_VALIDATION_H

/*
 * Forecasts held against measured cases. Every pair of an input row and a metric with a measured
 * value is either compared, error = (forecast - measured) / measured, or skipped for a reason; an
 * input row without any measured value is one that is skipped. Nothing is left out silently:
 * compared + skipped = rows.
 *
 * Kinds: "parameters" reads tables of models with the columns name, config_json, computed_params
 * and source among others; config_json is relative to the table, and a row without one is looked up
 * in the catalog by its name. "kernels" reads tables of measured kernel times, told apart by their
 * columns: products (gpu, dtype, m, n, k, time_us), attention (gpu, phase, batch, seq_len, q_heads,
 * kv_heads, head_dim, kv_dtype, time_us) and operators of a layer (gpu, model, tp, num_tokens, op,
 * time_ms).
 * "training" reads tables of training steps, one a row; a row that does not state its GPUs,
 * lengths, batch, micro-batch and layout is skipped for what it lacks.
 * "runs" reads folders with runs.csv (a run and its configuration a row) and figures.csv (run_key,
 * metric, value, notes): what a run does not state takes documented defaults, which its provenance
 * names. Each run has a total weight of 1 in `overall` and its source.
 */

#include <rlhfsim/diagnostics.h>

#include <stdbool.h>
#include <stddef.h>

struct rlhfsim_validation;

struct rlhfsim_validation_options {
    const char *catalog_directory; /* the shipped catalog */
    const char *const *user_directories;
    size_t user_directory_count;
    const char *scenario_directory; /* "runs": each run is written there as a scenario; or NULL */
};

/* The kinds by index; NULL past the last one. */
RLHFSIM_API const char *rlhfsim_validation_kind(size_t index);

/* Reads the files and compares. *validation with RLHFSIM_OK, owned by the caller; otherwise NULL
 * and the errors in `diagnostics`. A case that cannot be forecast is no error. */
RLHFSIM_API enum rlhfsim_status
rlhfsim_validation_run(const char *kind, const char *const *paths, size_t path_count,
                       const struct rlhfsim_validation_options *options,
                       struct rlhfsim_diagnostics *diagnostics,
                       struct rlhfsim_validation **validation);
RLHFSIM_API void rlhfsim_validation_free(struct rlhfsim_validation *validation);

/* Errors of one set of comparisons. The figures are NAN when nothing was compared. */
struct rlhfsim_validation_errors {
    const char *name; /* of the source or metric; lives as long as the validation */
    size_t rows, compared, skipped;
    double median_abs_error, p90_abs_error; /* type-7 quantiles */
    double bias;                            /* median of the signed error */
    double kendall_tau;                     /* tau-b within sources and metrics; NAN under 3 */
};

/* False without memory. The others also past the last source or metric, which are in the order of
 * their first row. */
RLHFSIM_API bool rlhfsim_validation_overall(const struct rlhfsim_validation *validation,
                                            struct rlhfsim_validation_errors *errors);
RLHFSIM_API bool rlhfsim_validation_source(const struct rlhfsim_validation *validation,
                                           size_t index, struct rlhfsim_validation_errors *errors);
RLHFSIM_API bool rlhfsim_validation_metric(const struct rlhfsim_validation *validation,
                                           size_t index, struct rlhfsim_validation_errors *errors);

/* Scaling curves among compared cases: one source, model, layout and format on unlike numbers of
 * GPUs, with the same work (strong) or as much for each GPU (weak). */
struct rlhfsim_validation_curves {
    size_t curves, pairs;    /* pairs: two points of a curve with unlike numbers of GPUs */
    double kendall_tau;      /* of the pairs, by work a second; NAN without pairs */
    double time_kendall_tau; /* by time; of weak curves the times are nearly equal */
};

/* Of training steps; no curves in other kinds. False without memory. */
RLHFSIM_API bool rlhfsim_validation_scaling(const struct rlhfsim_validation *validation,
                                            struct rlhfsim_validation_curves *strong,
                                            struct rlhfsim_validation_curves *weak);

/* What the ranges of a kind of figures hold: "complete" and "incomplete" runs, then each by
 * placement and metric, "incomplete colocated step". Of runs; none in other kinds. */
struct rlhfsim_validation_range {
    const char *name;
    size_t figures, tried, inside; /* tried: those with a range; inside: measured within it */
    double median_width;           /* high / low; NAN where none was tried */
    double needed_width;           /* P90 / P10 of a lognormal law with the same median error */
    const char *input;             /* the missing one that most often widens it most, or NULL */
    size_t input_count;            /* how often */
};

/* By index; false past the last one. */
RLHFSIM_API bool rlhfsim_validation_range(const struct rlhfsim_validation *validation, size_t index,
                                          struct rlhfsim_validation_range *range);

/* Why rows were skipped, and how many for each reason; false past the last one. */
RLHFSIM_API bool rlhfsim_validation_skipped(const struct rlhfsim_validation *validation,
                                            size_t index, const char **reason, size_t *count);

/* {"overall": E, "sources": {name: E}, "metrics": {name: E}} with a line end, and where there are
 * scaling curves "scaling": {"strong": S, "weak": S}, where there are ranges "ranges": {name: R};
 * release with free(). NULL without memory. */
RLHFSIM_API char *rlhfsim_validation_json(const struct rlhfsim_validation *validation);

/* Writes validation.csv into the directory, which is made if it is missing; whole or not at all. */
RLHFSIM_API enum rlhfsim_status
rlhfsim_validation_write(const struct rlhfsim_validation *validation, const char *directory,
                         struct rlhfsim_diagnostics *diagnostics);

#endif
