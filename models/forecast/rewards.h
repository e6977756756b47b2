/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_REWARDS_H
#define MODELS_FORECAST_REWARDS_H

/*
 * When the rewards of samples are there that workers or a remote judge make one by one.
 *
 *     workers   first come, first served: the next sample goes to the worker that is free first
 *     judge     calls begin at least 1 / calls_per_s apart and take as long as they take
 *
 * A sample's time is fixed, or log-normal with a mean m and a 99 % quantile q,
 *
 *     t = m exp(s g - s^2 / 2),   s = z - sqrt(z^2 - 2 ln(q / m)),   z = 2.326...,
 *
 * and is cut at the time-out.
 */

#include <stddef.h>

struct forecast_checker {
    double sample_s, sample_p99_s; /* 0: all take sample_s */
    double timeout_s;              /* 0: none */
    double calls_per_s;            /* 0: workers */
    size_t workers;
};

/* The time of a sample, of a probability u in (0, 1). */
double forecast_check_s(const struct forecast_checker *checker, double u);

/* When the last of `count` samples is done, which are there at arrivals[i] (ascending) and take
 * lengths[i]. `free_at`: scratch for `workers` values. Arrivals and result count from one instant.
 */
double forecast_checked_at(const struct forecast_checker *checker, const double *arrivals,
                           const double *lengths, size_t count, double *free_at);

#endif
