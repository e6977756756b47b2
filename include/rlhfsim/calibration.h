/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RLHFSIM_CALIBRATION_H
#define RLHFSIM_CALIBRATION_H

/*
 * Coefficients fitted to measurements. The result is a file of the catalog that takes the place of
 * the shipped one in a directory given as --catalog; each of its rows says what it was fitted to,
 * by which command and how far off it is. The same input gives the same bytes.
 *
 * Kinds: "kernels" reads tables of kernel times (validation.h, kind "kernels") and makes
 * kernels.csv. "training" reads tables of training steps (kind "training") and makes training.csv:
 * the coefficients of the catalog that are free, fitted to the steps of dense models; lines are by
 * table, with the errors when that table, or its project, is left out. "collectives" and
 * "weight-sync" read what the validations of these names read and make fabrics.csv and
 * weight_sync.csv. "generation" reads tables of serving speed (kind "generation") and makes
 * engines.csv, with the times that the engines' processes and launches take; its held-out errors
 * are of models that were left out. "runs" reads a folder of published runs (kind "runs") and makes
 * frameworks.csv; "bands" reads the same and makes bands.csv, with the coefficients of the catalog:
 * quantiles of measured / forecast seconds of sources that were left out of the fit.
 */

#include <rlhfsim/diagnostics.h>

#include <stdbool.h>
#include <stddef.h>

struct rlhfsim_calibration;

struct rlhfsim_calibration_options {
    const char *catalog_directory; /* the shipped catalog */
    const char *const *user_directories;
    size_t user_directory_count;
};

/* The kinds by index; NULL past the last one. */
RLHFSIM_API const char *rlhfsim_calibration_kind(size_t index);

/* Reads the files and fits. *calibration with RLHFSIM_OK, owned by the caller; otherwise NULL and
 * the errors in `diagnostics`: RLHFSIM_INVALID (also where nothing could be fitted), RLHFSIM_IO,
 * RLHFSIM_NO_MEMORY. */
RLHFSIM_API enum rlhfsim_status
rlhfsim_calibration_run(const char *kind, const char *const *paths, size_t path_count,
                        const struct rlhfsim_calibration_options *options,
                        struct rlhfsim_diagnostics *diagnostics,
                        struct rlhfsim_calibration **calibration);
RLHFSIM_API void rlhfsim_calibration_free(struct rlhfsim_calibration *calibration);

/* What one set of points came to. Errors are |fitted / measured - 1|, median and 90th percentile
 * (type 7). */
struct rlhfsim_calibration_line {
    const char *subject; /* "H100-SXM5-80GB gemm_bf16"; "all gemm_bf16" of all GPUs together */
    const char *from;    /* whose coefficients these are; NULL: its own */
    size_t points;
    double median_error, p90_error;
    double held_out_median_error, held_out_p90_error; /* of points that were left out of the fit
                                                         (their shapes, their table); NAN where
                                                         none were */
};

/* By index; false past the last one. Lines with `from` say what a GPU would have without points of
 * its own. */
RLHFSIM_API bool rlhfsim_calibration_line(const struct rlhfsim_calibration *calibration,
                                          size_t index, struct rlhfsim_calibration_line *line);

/* Why rows were not fitted to, and how many for each reason; false past the last one. */
RLHFSIM_API bool rlhfsim_calibration_skipped(const struct rlhfsim_calibration *calibration,
                                             size_t index, const char **reason, size_t *count);

/* The name of the catalog's file, "kernels.csv", and its text; they live with the calibration. */
RLHFSIM_API const char *rlhfsim_calibration_file(const struct rlhfsim_calibration *calibration);
RLHFSIM_API const char *rlhfsim_calibration_text(const struct rlhfsim_calibration *calibration);

/* Writes the text to a file, whole or not at all; its directory is made if it is missing. */
RLHFSIM_API enum rlhfsim_status
rlhfsim_calibration_write(const struct rlhfsim_calibration *calibration, const char *path,
                          struct rlhfsim_diagnostics *diagnostics);

#endif
