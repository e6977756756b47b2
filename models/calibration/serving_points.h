/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_SERVING_POINTS_H
#define MODELS_CALIBRATION_SERVING_POINTS_H

/* Measured serving points that engines are fitted to, and their forecasts under other coefficients.
 */

#include "models/calibration/kind.h"
#include "models/validation/serving_profile.h"

struct serving_point {
    struct serving_case serving;
    struct serving_profile *profile; /* of a run; NULL: clients, or not made yet */
    const struct catalog_engine *engine;
    const char *source; /* of the row */
    char model[96];
    double measured; /* the time a token in ms where it was served, else output tokens a second */
    double error;    /* forecast / measured - 1 of the fit, and of one without the model */
    double held_out;
};

struct serving_points {
    struct serving_point *at;
    size_t count, room;
    struct calibration_run *run;
};

/* Reads the tables of the run. Rows that have no forecast are counted as skipped. RLHFSIM_OK, or a
 * status after its error. */
enum rlhfsim_status serving_points_read(struct calibration_run *run, struct serving_points *points);
void serving_points_free(struct serving_points *points);

/* The coefficients of an engine. */
typedef struct generation_software serving_software_func(const void *context,
                                                         const struct catalog_engine *engine);

/* Makes the profiles of all runs anew, as they go with those coefficients. False without memory. */
bool serving_points_profile(struct serving_points *points, serving_software_func *software_of,
                            const void *context);

/* log(forecast / measured) with an engine of these coefficients; `exactly`, or by the profile of a
 * run. 0 without memory. */
double serving_point_error(const struct serving_point *point,
                           const struct generation_software *software, bool exactly);

#endif
