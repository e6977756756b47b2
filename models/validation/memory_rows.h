/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_MEMORY_ROWS_H
#define MODELS_VALIDATION_MEMORY_ROWS_H

/*
 * Rows of tables that print the peak memory of a trainer, as plans (training_rows.h); what the
 * remarks say of memory is read here: steps of torchtune's ladder of techniques, activations on the
 * host, adapters of several runs at once.
 */

#include "models/validation/training_rows.h"

#include <rlhfsim/status.h>

/* What was measured: peak bytes of a GPU, or that the run did not fit. */
struct memory_measured {
    bool peak;    /* `bytes` is there */
    bool outcome; /* `fits` is there */
    double bytes;
    bool fits;
};

/* A figure in GB or GiB ("GiB" in `unit`), or "OOM". */
void memory_measured_read(const char *figure, const char *unit, struct memory_measured *measured);

/* Reads a row whose memory alone is forecast, with the coefficients of the catalog. */
void memory_row_read(const struct catalog *catalog, const struct training_cells *cells,
                     struct training_row *row);

/* What remarks say: `notes` of any of the tables. */
void memory_remarks_read(const char *notes, struct training_row *row);

/* The plan's coefficients from these rows; what the remarks say stays. */
void memory_row_apply(const struct training_memory_row *rows, size_t count,
                      struct training_row *row);

/* Bytes on the fullest GPU as its source counts them, and that a device must have. */
struct memory_forecast {
    double counted_bytes, needed_bytes;
    double fit_probability; /* 1 or 0; within 5 % of the GPU's memory in between */
};
void memory_row_forecast(const struct catalog *catalog, const struct training_row *row,
                         struct memory_forecast *forecast);
void memory_row_forecast_with(const struct training_memory_row *rows, size_t count,
                              const struct training_row *row, struct memory_forecast *forecast);

#endif
