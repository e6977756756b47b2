/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/log_measure.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

static bool is_timed(const struct log_step *step, enum log_timer timer) {
    return step->seconds[timer] > 0.0;
}

/* Some timers hold others: those inside are not counted again. */
static bool is_counted(const struct log_step *step, enum log_timer timer) {
    switch (timer) {
    case LOG_RESHARD:
        return !is_timed(step, LOG_GENERATION);
    case LOG_ROLLOUT:
    case LOG_TRANSITION:
        return !is_timed(step, LOG_GENERATION);
    case LOG_ACTOR_LOGPROB:
    case LOG_REFERENCE_LOGPROB:
    case LOG_VALUES:
    case LOG_REWARD:
        return !is_timed(step, LOG_EXPERIENCE);
    case LOG_ACTOR_UPDATE:
    case LOG_CRITIC_UPDATE:
        return !is_timed(step, LOG_TRAINING);
    case LOG_HOST:
    case LOG_STEP:
    case LOG_WAIT:
    case LOG_CHECKPOINT:
    case LOG_VALIDATION:
    case LOG_TIMERS:
        return false;
    case LOG_GENERATION:
    case LOG_EXPERIENCE:
    case LOG_TRAINING:
    case LOG_WEIGHT_SYNC:
        break;
    }
    return true;
}

static double or_zero(double seconds) {
    return seconds > 0.0 ? seconds : 0.0;
}

/* Without checkpoints and validations, with the rest; the generation of an asynchronous run is a
 * wait. */
static struct log_step net_step(const struct log_step *step, bool waits) {
    struct log_step net = *step;
    net.seconds[LOG_STEP] -=
        or_zero(step->seconds[LOG_CHECKPOINT]) + or_zero(step->seconds[LOG_VALIDATION]);
    if (waits) {
        if (!is_timed(&net, LOG_WAIT))
            net.seconds[LOG_WAIT] = net.seconds[LOG_GENERATION];
        net.seconds[LOG_GENERATION] = net.seconds[LOG_ROLLOUT] = (double)NAN;
        return net;
    }
    bool generated = is_timed(&net, LOG_GENERATION) || is_timed(&net, LOG_ROLLOUT);
    bool trained = is_timed(&net, LOG_ACTOR_UPDATE) || is_timed(&net, LOG_TRAINING);
    if (!is_timed(&net, LOG_STEP) || !generated || !trained || is_timed(&net, LOG_HOST))
        return net;
    net.seconds[LOG_HOST] = net.seconds[LOG_STEP];
    for (int timer = 0; timer < LOG_TIMERS; timer++)
        if (is_counted(&net, (enum log_timer)timer))
            net.seconds[LOG_HOST] -= or_zero(net.seconds[timer]);
    return net;
}

/* Of those that are positive; NAN where there are none. */
static double median(double *values, size_t count) {
    if (count == 0)
        return (double)NAN;
    gsl_sort(values, 1, count);
    return gsl_stats_median_from_sorted_data(values, 1, count);
}

static double median_of(const struct log_step *steps, size_t count, size_t offset, double *values,
                        size_t *found) {
    *found = 0;
    for (size_t i = 0; i < count; i++) {
        double value = *(const double *)((const char *)&steps[i] + offset);
        if (value > 0.0 && isfinite(value))
            values[(*found)++] = value;
    }
    return median(values, *found);
}

static void take_medians(const struct log_step *steps, size_t count, double *values,
                         struct log_measure *measure) {
    size_t found;
    for (size_t timer = 0; timer < LOG_TIMERS; timer++)
        measure->seconds[timer] =
            median_of(steps, count, offsetof(struct log_step, seconds) + timer * sizeof(double),
                      values, &measure->steps[timer]);
    measure->prompt_tokens =
        median_of(steps, count, offsetof(struct log_step, prompt_tokens), values, &found);
    measure->response_tokens =
        median_of(steps, count, offsetof(struct log_step, response_tokens), values, &found);
}

bool log_measure_make(const struct log_steps *steps, bool waits, struct log_measure *measure) {
    struct log_step *net = calloc(steps->count + 1, sizeof *net), medians;
    double *values = calloc(steps->count + 1, sizeof *values);
    bool good = net != NULL && values != NULL;
    *measure = (struct log_measure){0};
    for (size_t i = 0; i < steps->count && good; i++)
        if (!log_step_is_empty(&steps->at[i]))
            net[measure->usable++] = net_step(&steps->at[i], waits);
    if (good) {
        take_medians(net, measure->usable, values, measure);
        for (int timer = 0; timer < LOG_TIMERS; timer++)
            medians.seconds[timer] = measure->seconds[timer];
        for (int timer = 0; timer < LOG_TIMERS; timer++)
            measure->inside[timer] =
                measure->seconds[timer] > 0.0 && is_counted(&medians, (enum log_timer)timer);
    }
    free(values);
    free(net);
    return good;
}

void log_measure_rest(const struct log_measure *measure, struct log_forecast *forecast) {
    for (int share = 0; share < LOG_SHARES; share++) {
        double seconds = forecast->seconds[LOG_STEP][share];
        for (int timer = 0; timer < LOG_TIMERS; timer++)
            if (measure->inside[timer])
                seconds -= forecast->seconds[timer][share];
        forecast->seconds[LOG_HOST][share] = fmax(0.0, seconds);
    }
}
