/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_PATTERN_SEARCH_H
#define MODELS_CALIBRATION_PATTERN_SEARCH_H

/*
 * Least robust squares of positive coefficients: the sum over cases of
 *
 *     (sqrt(1 + (log(forecast / measured) / 0.1)^2) - 1)
 *
 * is quadratic for errors under 10 % and linear beyond, so that a few rows which measure something
 * else do not pull the rest. Every coefficient starts from what it usually is and is held there by
 * hold x log(value / usual)^2; with a hold of 1 that is what two rows weigh that are off by half:
 * it decides where nothing was measured, and yields to a sweep.
 */

#include <stdbool.h>
#include <stddef.h>

struct search_coefficient {
    double *value; /* above 0; the search moves it by factors */
    double usual, lowest, highest;
    double hold; /* weight of log(value / usual)^2 */
};

/* Returns the loss of the present values. */
typedef double(search_loss_func)(void *subject);

/* The loss of one case. */
double search_case_loss(double forecast, double measured);

/* Sets the coefficients to what is usual and moves them to a minimum of the loss near there, by
 * pattern search (Hooke and Jeeves, 1961) in their logarithms: steps of one coefficient at a time,
 * doubled along a direction that pays, halved when none does, down to a factor of 1.001. No
 * derivatives, no random numbers. Returns the loss there. */
double search_minimise(struct search_coefficient *coefficients, size_t count,
                       search_loss_func *loss, void *subject);

#endif
