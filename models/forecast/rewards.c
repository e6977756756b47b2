/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/rewards.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

double forecast_check_s(const struct forecast_checker *checker, double u) {
    double length = checker->sample_s;
    if (checker->sample_p99_s > 0.0) {
        double z = gsl_cdf_ugaussian_Pinv(0.99);
        double s = z - sqrt(z * z - 2.0 * log(checker->sample_p99_s / checker->sample_s));
        length *= exp(s * gsl_cdf_ugaussian_Pinv(u) - 0.5 * s * s);
    }
    return checker->timeout_s > 0.0 ? fmin(length, checker->timeout_s) : length;
}

static double judged_at(const struct forecast_checker *checker, const double *arrivals,
                        const double *lengths, size_t count) {
    double next = -(double)INFINITY, last = 0.0;
    for (size_t i = 0; i < count; i++) {
        double begin = fmax(arrivals[i], next);
        next = begin + 1.0 / checker->calls_per_s;
        last = fmax(last, begin + lengths[i]);
    }
    return last;
}

/* Restores the heap of times below `place`, the smallest on top. */
static void sink(double *heap, size_t size, size_t place) {
    double value = heap[place];
    for (size_t child; (child = 2 * place + 1) < size; place = child) {
        if (child + 1 < size && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= value)
            break;
        heap[place] = heap[child];
    }
    heap[place] = value;
}

double forecast_checked_at(const struct forecast_checker *checker, const double *arrivals,
                           const double *lengths, size_t count, double *free_at) {
    double last = 0.0;
    if (checker->calls_per_s > 0.0)
        return judged_at(checker, arrivals, lengths, count);
    for (size_t w = 0; w < checker->workers; w++)
        free_at[w] = -(double)INFINITY;
    for (size_t i = 0; i < count; i++) {
        free_at[0] = fmax(free_at[0], arrivals[i]) + lengths[i];
        last = fmax(last, free_at[0]);
        sink(free_at, checker->workers, 0);
    }
    return last;
}
