/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_TRAINING_FORECAST_H
#define MODELS_VALIDATION_TRAINING_FORECAST_H

/* Seconds of the optimizer step that a row of a table of training steps is about. */

#include "models/validation/training_rows.h"

/* Software's share of the row's plan, from the catalog's coefficients. */
void training_forecast_software(const struct catalog *catalog, struct training_row *row);

/* Of a row without a reason to skip; NAN without memory. */
double training_forecast_s(const struct training_row *row);

/* The same in closed form, for derivatives: every micro-batch takes as long as the busiest stage,
 * and filling and draining the pipeline (pp - 1) / vpp times the mean of all stages. A few percent
 * off where stages differ. */
double training_forecast_quick_s(const struct training_row *row);

/* "interpolated" where coefficients of the row's family and of its generation of GPUs were fitted,
 * else "extrapolated". */
const char *training_forecast_provenance(const struct catalog *catalog,
                                         const struct training_row *row);

#endif
