/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_TRAINING_CALIBRATE_H
#define MODELS_CALIBRATION_TRAINING_CALIBRATE_H

/*
 * Coefficients of training.csv fitted to tables of measured steps, and how good they are: on the
 * rows they were fitted to, and on rows that they have not seen. For the latter each project, and
 * apart from that each table of a project ("NVIDIA/dgxc-benchmarking llama3.1"), is left out in
 * turn, the rest fitted from the start, and the errors of all rows, each from the fit that did not
 * see it, are pooled. A family of software that only the project left out uses falls back to its
 * starts there.
 *
 * Rows of models with experts and of adapters (LoRA) are forecast but not fitted: their errors are
 * those of physics that was calibrated elsewhere.
 */

#include "models/calibration/kind.h"
#include "models/calibration/training_fit.h"

enum training_class { TRAINING_DENSE, TRAINING_EXPERTS, TRAINING_ADAPTERS, TRAINING_CLASSES };

/* Errors forecast / measured - 1 of a set of rows; NAN of none. */
struct training_errors {
    size_t rows;
    double median, p90, bias; /* of |error|, type 7; of the signed error */
};

struct training_group {
    const char *name; /* of a project or of a table */
    struct training_errors in_sample, left_out;
};

struct training_calibration {
    struct base_arena arena;
    struct training_row **rows;
    double *residuals; /* ln(forecast / measured) of each, in sample */
    double *room;      /* for as many numbers and choices */
    bool *chosen;
    enum training_class *classes;
    size_t row_count;
    struct training_coefficient_row *coefficients; /* fitted */
    size_t coefficient_count;
    struct training_group *projects, *tables;
    size_t project_count, table_count;
    struct training_errors classes_in_sample[TRAINING_CLASSES];
    struct training_errors by_project, by_table; /* dense rows, pooled */
};

/* Reads the tables of the run and fits; rows that cannot be forecast are counted there with their
 * reasons. *calibration with RLHFSIM_OK, owned by the caller and in need of the run's catalog; NULL
 * otherwise, with the errors in the run's diagnostics. */
enum rlhfsim_status training_calibration_run(struct calibration_run *run,
                                             struct training_calibration **calibration);
/* Errors in sample of the dense rows that a scope fits. */
struct training_errors training_calibration_errors(const struct training_calibration *calibration,
                                                   const char *scope);
void training_calibration_free(struct training_calibration *calibration);

#endif
