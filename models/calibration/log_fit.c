/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/log_fit.h"

#include "models/calibration/fit.h"

#include <math.h>

#define ROUNDS 3        /* of weighting */
#define SCALE 0.1       /* of a residual: a timer that is 10 % off at full weight is usual */
#define PRIOR 0.04      /* reruns of a run differ by 3 to 4 %; a factor may be e away from 1 */
#define MAIN_SHARE 0.5  /* of a timer */
#define CHAIN_SHARE 0.1 /* of a step whose phases overlap */
#define SIMULATIONS 8   /* at most, where phases overlap */
#define STILL 1e-3      /* of a factor */

/* The readings of a log as a problem of fit.h; the forecast is that at factors 1. */
struct search {
    const struct log_measure *measure;
    const struct log_forecast *forecast;
    enum log_timer points[LOG_TIMERS];
    size_t count;
    int coefficient[SCENARIO_PARTS]; /* below 0: the factor stays */
    size_t coefficients;
    double factors[SCENARIO_PARTS];
};

bool log_fit_knows_host(const struct log_forecast *forecast) {
    return !forecast->overlaps && forecast->seconds[LOG_HOST][SCENARIO_PART_HOST] >
                                      MAIN_SHARE * log_forecast_s(forecast, LOG_HOST);
}

bool log_fit_uses(const struct log_measure *measure, const struct log_forecast *forecast,
                  enum log_timer timer) {
    if (timer == LOG_WAIT || timer == LOG_CHECKPOINT || timer == LOG_VALIDATION ||
        timer == LOG_RESHARD)
        return false;
    if (timer == LOG_HOST && !log_fit_knows_host(forecast))
        return false;
    return measure->seconds[timer] > 0.0 && log_forecast_s(forecast, timer) > 0.0;
}

static double seconds_at(const struct search *search, enum log_timer timer) {
    const double *shares = search->forecast->seconds[timer];
    double sum = shares[LOG_FIXED];
    for (int part = 0; part < SCENARIO_PARTS; part++)
        sum += search->factors[part] * shares[part];
    return sum;
}

/* By the share of the step, or of the sum of what is timed of it. */
static double weight_of(const struct log_measure *measure, enum log_timer timer) {
    double step_s = measure->seconds[LOG_STEP];
    if (!(step_s > 0.0)) {
        step_s = 0.0;
        for (int i = 0; i < LOG_TIMERS; i++)
            step_s += measure->inside[i] ? measure->seconds[i] : 0.0;
    }
    return step_s > 0.0 ? sqrt(fmin(1.0, measure->seconds[timer] / step_s)) : 1.0;
}

static void set_factors(void *context, const double *values) {
    struct search *search = context;
    for (int part = 0; part < SCENARIO_PARTS; part++)
        if (search->coefficient[part] >= 0)
            search->factors[part] = values[search->coefficient[part]];
}

/* Points behind the last one are there for their number alone: fit.h wants one a coefficient. */
static double residual(void *context, size_t point) {
    const struct search *search = context;
    if (point >= search->count)
        return 0.0;
    enum log_timer timer = search->points[point];
    return weight_of(search->measure, timer) *
           log(seconds_at(search, timer) / search->measure->seconds[timer]);
}

/* ---- what is fitted -------------------------------------------------------------------------- */

/* Where phases overlap no timer has the rollout: it shows in a step that waits for it. */
static void find_hidden_rollout(const struct log_measure *measure, struct log_fit *fit) {
    double chain_s = fit->before.seconds[LOG_STEP][SCENARIO_PART_ROLLOUT];
    fit->main[SCENARIO_PART_ROLLOUT][LOG_STEP] =
        fit->before.overlaps && measure->seconds[LOG_STEP] > 0.0 &&
        chain_s > CHAIN_SHARE * log_forecast_s(&fit->before, LOG_STEP);
}

static void find_mains(const struct log_measure *measure, struct log_fit *fit) {
    for (int timer = 0; timer < LOG_STEP; timer++) {
        if (!log_fit_uses(measure, &fit->before, (enum log_timer)timer))
            continue;
        double all = log_forecast_s(&fit->before, (enum log_timer)timer);
        for (int part = 0; part < SCENARIO_PARTS; part++)
            fit->main[part][timer] = fit->before.seconds[timer][part] > MAIN_SHARE * all;
    }
    find_hidden_rollout(measure, fit);
}

static void choose(struct search *search, struct log_fit *fit) {
    search->count = 0;
    for (int timer = 0; timer < LOG_TIMERS; timer++)
        if (log_fit_uses(search->measure, &fit->before, (enum log_timer)timer))
            search->points[search->count++] = (enum log_timer)timer;
    fit->common = search->count == 1 && search->points[0] == LOG_STEP;
    for (int part = 0; part < SCENARIO_PARTS; part++) {
        bool has_main = fit->common && fit->before.seconds[LOG_STEP][part] > 0.0;
        for (int timer = 0; timer < LOG_TIMERS; timer++)
            has_main = has_main || fit->main[part][timer];
        fit->fitted[part] = has_main;
        search->coefficient[part] = -1;
        if (has_main && fit->common)
            search->coefficient[part] = 0, search->coefficients = 1;
        else if (has_main)
            search->coefficient[part] = (int)search->coefficients++;
    }
}

/* Finds the factors of a forecast whose parts are at factors 1. False without memory. */
static bool solve(struct search *search) {
    struct fit_coefficient coefficients[SCENARIO_PARTS];
    double values[SCENARIO_PARTS];
    for (size_t i = 0; i < search->coefficients; i++) {
        coefficients[i] = (struct fit_coefficient){1.0, 0.0, (double)INFINITY};
        values[i] = 1.0;
    }
    struct fit_problem problem = {.points = search->count > SCENARIO_PARTS ? search->count
                                                                           : SCENARIO_PARTS,
                                  .coefficients = search->coefficients,
                                  .coefficient = coefficients,
                                  .scale = SCALE,
                                  .prior = PRIOR,
                                  .set = set_factors,
                                  .residual = residual,
                                  .context = search};
    if (search->coefficients == 0)
        return true;
    if (!fit_solve(&problem, ROUNDS, values))
        return false;
    set_factors(search, values);
    return true;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static enum rlhfsim_status forecast(const struct rlhfsim_scenario *scenario,
                                    const struct log_measure *measure, const double *factors,
                                    struct rlhfsim_diagnostics *diagnostics,
                                    struct log_forecast *result) {
    bool synced = measure->seconds[LOG_WEIGHT_SYNC] > 0.0;
    enum rlhfsim_status status = log_forecast_make(scenario, factors, synced, diagnostics, result);
    if (status == RLHFSIM_OK && !result->overlaps)
        log_measure_rest(measure, result);
    return status;
}

/* Whether the factors moved; takes over the new ones. Ranges of a file's factors hold here too. */
static bool take_factors(const struct search *search, double *factors) {
    bool moved = false;
    for (int part = 0; part < SCENARIO_PARTS; part++) {
        double factor =
            fmin(fmax(search->factors[part], SCENARIO_FACTOR_LEAST), SCENARIO_FACTOR_MOST);
        moved = moved || fabs(factor / factors[part] - 1.0) > STILL;
        factors[part] = factor;
    }
    return moved;
}

static struct log_forecast at_factors_one(const struct log_forecast *forecast,
                                          const double *factors) {
    struct log_forecast plain = *forecast;
    for (int timer = 0; timer < LOG_TIMERS; timer++)
        for (int part = 0; part < SCENARIO_PARTS; part++)
            plain.seconds[timer][part] /= factors[part];
    return plain;
}

static enum rlhfsim_status search_factors(const struct rlhfsim_scenario *scenario,
                                          const struct log_measure *measure,
                                          struct rlhfsim_diagnostics *diagnostics,
                                          struct log_fit *fit) {
    struct search search = {.measure = measure};
    enum rlhfsim_status status = RLHFSIM_OK;
    bool moved = true;
    find_mains(measure, fit);
    choose(&search, fit);
    for (int i = 0; i < SIMULATIONS && moved && status == RLHFSIM_OK; i++) {
        struct log_forecast plain = at_factors_one(&fit->after, fit->factors);
        search.forecast = &plain;
        for (int part = 0; part < SCENARIO_PARTS; part++)
            search.factors[part] = fit->factors[part];
        if (!solve(&search))
            return RLHFSIM_NO_MEMORY;
        moved = take_factors(&search, fit->factors);
        status = forecast(scenario, measure, fit->factors, diagnostics, &fit->after);
        moved = moved && fit->after.overlaps;
    }
    return status;
}

enum rlhfsim_status log_fit_make(const struct rlhfsim_scenario *scenario,
                                 const struct log_measure *measure, bool fits,
                                 struct rlhfsim_diagnostics *diagnostics, struct log_fit *fit) {
    *fit = (struct log_fit){0};
    for (int part = 0; part < SCENARIO_PARTS; part++)
        fit->factors[part] = fits ? 1.0 : scenario_factor(scenario, (enum scenario_part)part);
    enum rlhfsim_status status =
        forecast(scenario, measure, fit->factors, diagnostics, &fit->before);
    fit->after = fit->before;
    return status == RLHFSIM_OK && fits ? search_factors(scenario, measure, diagnostics, fit)
                                        : status;
}
