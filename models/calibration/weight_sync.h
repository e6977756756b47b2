/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_WEIGHT_SYNC_H
#define MODELS_CALIBRATION_WEIGHT_SYNC_H

/*
 * The rows of weight_sync.csv that have three and more measured syncs behind them
 * (validation/sync_rows.h), each fitted to its own; and what each of its syncs comes to when it is
 * left out of the fit.
 */

#include "models/validation/sync_rows.h"

#include <stdio.h>

struct sync_case {
    struct sync_row row;
    double fitted_s;   /* the forecast of the fit to all */
    double left_out_s; /* of a fit without it */
};

struct sync_fit {
    struct sync_case *cases;
    size_t count, room;
};

void sync_fit_release(struct sync_fit *fit);

/* A sync_row_func: keeps what can be compared, once where two tables have the same sync. */
bool sync_fit_add(void *subject, const struct sync_row *row);

/* Fills fitted_s and left_out_s of all. */
void sync_fit_leave_out(struct sync_fit *fit);

/* The median error of the syncs of a row of weight_sync.csv, each left out in turn; NAN without
 * any. */
double sync_fit_error(const struct sync_fit *fit, const char *row);

/* Writes weight_sync.csv with fitted figures where there are measured syncs; sync_fit_leave_out
 * comes before. Errors of writing show in the stream. */
void sync_fit_write(const struct sync_fit *fit, const struct catalog *catalog, FILE *stream);

#endif
