/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <rlhfsim/comparison.h>

#include "models/base/locale.h"
#include "models/calibration/cell_text.h"
#include "models/calibration/kind.h"
#include "models/calibration/log_causes.h"
#include "models/calibration/log_fit.h"
#include "models/calibration/log_lengths.h"
#include "models/calibration/log_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rlhfsim_comparison {
    struct log_steps steps;
    struct log_measure measure;
    struct log_fit fit;
    struct rlhfsim_scenario *scenario;
    bool lengths_known;
    char *text; /* of the file */
    size_t text_size;
};

void rlhfsim_comparison_free(struct rlhfsim_comparison *comparison) {
    if (comparison == NULL)
        return;
    log_steps_release(&comparison->steps);
    rlhfsim_scenario_free(comparison->scenario);
    free(comparison->text);
    free(comparison);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Names without their folders, so that the same log gives the same bytes. */
static void put_logs(FILE *stream, const struct rlhfsim_comparison_options *options) {
    char *names = NULL;
    size_t size = 0;
    FILE *joined = open_memstream(&names, &size);
    if (joined == NULL)
        return;
    for (size_t i = 0; i < options->log_count; i++) {
        const char *slash = strrchr(options->logs[i], '/');
        (void)fprintf(joined, "%s%s", i == 0 ? "" : "; ",
                      slash == NULL ? options->logs[i] : slash + 1);
    }
    if (fclose(joined) == 0)
        cell_text(stream, names);
    free(names);
}

static void put_phases(FILE *stream, const bool *main) {
    size_t count = 0;
    for (int timer = 0; timer < LOG_TIMERS; timer++)
        if (main[timer])
            (void)fprintf(stream, "%s%s", count++ == 0 ? "" : "; ",
                          log_timer_name((enum log_timer)timer));
}

static void put_file(const struct rlhfsim_comparison *comparison,
                     const struct rlhfsim_comparison_options *options, FILE *stream) {
    const struct log_fit *fit = &comparison->fit;
    (void)fputs("part,factor,fitted,phases,steps,log,scenario\n", stream);
    for (int part = 0; part < SCENARIO_PARTS; part++) {
        (void)fprintf(stream, "%s,%.6g,%s,", scenario_part_name((enum scenario_part)part),
                      fit->factors[part], fit->fitted[part] ? "yes" : "no");
        if (fit->common && fit->fitted[part])
            (void)fputs("step", stream);
        else
            put_phases(stream, fit->main[part]);
        (void)fprintf(stream, ",%zu,", fit->fitted[part] ? comparison->measure.usable : 0);
        put_logs(stream, options);
        (void)fputc(',', stream);
        cell_text(stream, comparison->scenario->name);
        (void)fputc('\n', stream);
    }
}

static enum rlhfsim_status make_text(struct rlhfsim_comparison *comparison,
                                     const struct rlhfsim_comparison_options *options) {
    FILE *stream = open_memstream(&comparison->text, &comparison->text_size);
    if (stream == NULL)
        return RLHFSIM_NO_MEMORY;
    put_file(comparison, options, stream);
    bool whole = ferror(stream) == 0;
    return fclose(stream) == 0 && whole ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}

const char *rlhfsim_comparison_text(const struct rlhfsim_comparison *comparison) {
    return comparison->text;
}

enum rlhfsim_status rlhfsim_comparison_write(const struct rlhfsim_comparison *comparison,
                                             const char *path,
                                             struct rlhfsim_diagnostics *diagnostics) {
    return calibration_write_text(comparison->text, path, diagnostics);
}

/* ---- making ---------------------------------------------------------------------------------- */

#define ODD_FACTOR 4.0 /* or one over it */

/* Factors are for what software and hardware do differently, not for another run. */
static bool note_odd_factors(struct rlhfsim_comparison *comparison) {
    bool good = true;
    for (int part = 0; part < SCENARIO_PARTS && good; part++) {
        double factor = comparison->fit.factors[part];
        if (comparison->fit.fitted[part] && (factor > ODD_FACTOR || factor < 1.0 / ODD_FACTOR))
            good = log_steps_note(&comparison->steps,
                                  "a factor of %.3g for %s is no calibration: is it the same run?",
                                  factor, scenario_part_name((enum scenario_part)part));
    }
    return good;
}

static bool note_doubts(struct rlhfsim_comparison *comparison, bool fit) {
    const struct log_forecast *forecast = &comparison->fit.before;
    bool good = note_odd_factors(comparison);
    if (!forecast->fits)
        good = good &&
               log_steps_note(&comparison->steps,
                              "by the forecast this scenario does not fit in memory, but it ran: "
                              "is it the same run?");
    if (forecast->overlaps && fit)
        good = good && log_steps_note(&comparison->steps,
                                      "phases overlap: the fit goes by the step and by the "
                                      "trainer's phases, not by the wait");
    return good;
}

static enum rlhfsim_status check_use(const struct rlhfsim_comparison *comparison,
                                     const struct rlhfsim_comparison_options *options,
                                     struct rlhfsim_diagnostics *diagnostics) {
    for (int timer = 0; timer < LOG_TIMERS; timer++)
        if (log_fit_uses(&comparison->measure, &comparison->fit.before, (enum log_timer)timer))
            return RLHFSIM_OK;
    return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, options->logs[0], 0, 0,
                                   "has no timer of a phase that the scenario has");
}

static enum rlhfsim_status compare(const struct rlhfsim_source *source,
                                   const struct rlhfsim_comparison_options *options,
                                   struct rlhfsim_diagnostics *diagnostics,
                                   struct rlhfsim_comparison *comparison) {
    enum rlhfsim_status status =
        rlhfsim_source_scenario(source, NULL, 0, diagnostics, &comparison->scenario);
    for (size_t i = 0; i < options->log_count && status == RLHFSIM_OK; i++)
        status = log_read(&comparison->steps, options->logs[i], diagnostics);
    if (status == RLHFSIM_OK &&
        !log_measure_make(&comparison->steps,
                          comparison->scenario->placement.mode == SCENARIO_ASYNC,
                          &comparison->measure))
        status = RLHFSIM_NO_MEMORY;
    if (status == RLHFSIM_OK && !log_lengths_take(&comparison->measure, &comparison->steps,
                                                  comparison->scenario, &comparison->lengths_known))
        status = RLHFSIM_NO_MEMORY;
    if (status == RLHFSIM_OK)
        status = log_fit_make(comparison->scenario, &comparison->measure, options->fit, diagnostics,
                              &comparison->fit);
    if (status == RLHFSIM_OK)
        status = check_use(comparison, options, diagnostics);
    if (status == RLHFSIM_OK && !note_doubts(comparison, options->fit))
        status = RLHFSIM_NO_MEMORY;
    return status == RLHFSIM_OK ? make_text(comparison, options) : status;
}

enum rlhfsim_status rlhfsim_comparison_make(const struct rlhfsim_comparison_options *options,
                                            struct rlhfsim_diagnostics *diagnostics,
                                            struct rlhfsim_comparison **comparison) {
    struct base_locale locale;
    struct rlhfsim_source *source = NULL;
    struct rlhfsim_comparison *made = calloc(1, sizeof *made);
    *comparison = NULL;
    if (made == NULL || !base_locale_enter(&locale)) {
        free(made);
        return RLHFSIM_NO_MEMORY;
    }
    enum rlhfsim_status status =
        rlhfsim_source_read(options->scenario, options->load, diagnostics, &source);
    if (status == RLHFSIM_OK)
        status = compare(source, options, diagnostics, made);
    rlhfsim_source_free(source);
    base_locale_leave(&locale);
    if (status == RLHFSIM_OK)
        *comparison = made;
    else
        rlhfsim_comparison_free(made);
    return status;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static double or_nan(double seconds) {
    return seconds > 0.0 ? seconds : (double)NAN;
}

/* A timer that only the forecast has is shown where it is a phase of its own that no other holds.
 */
static bool is_shown(const struct rlhfsim_comparison *comparison, enum log_timer timer) {
    const double *measured = comparison->measure.seconds;
    if (timer == LOG_HOST && !log_fit_knows_host(&comparison->fit.before))
        return false;
    if (measured[timer] > 0.0)
        return true;
    if (log_forecast_s(&comparison->fit.before, timer) <= 0.0)
        return false;
    switch (timer) {
    case LOG_GENERATION:
    case LOG_WAIT:
    case LOG_EXPERIENCE:
    case LOG_TRAINING:
    case LOG_RESHARD:
    case LOG_HOST:
    case LOG_STEP:
        return false;
    case LOG_ROLLOUT:
    case LOG_TRANSITION:
        return !(measured[LOG_GENERATION] > 0.0) && !comparison->fit.before.overlaps;
    case LOG_WEIGHT_SYNC:
        return !(measured[LOG_GENERATION] > 0.0);
    case LOG_ACTOR_LOGPROB:
    case LOG_REFERENCE_LOGPROB:
    case LOG_VALUES:
    case LOG_REWARD:
        return !(measured[LOG_EXPERIENCE] > 0.0);
    default:
        return !(measured[LOG_TRAINING] > 0.0);
    }
}

static double step_of(const struct rlhfsim_comparison *comparison) {
    double measured_s = comparison->measure.seconds[LOG_STEP];
    return measured_s > 0.0 ? measured_s : log_forecast_s(&comparison->fit.before, LOG_STEP);
}

static void describe(const struct rlhfsim_comparison *comparison, enum log_timer timer,
                     struct rlhfsim_comparison_phase *phase) {
    const struct log_measure *measure = &comparison->measure;
    const struct log_fit *fit = &comparison->fit;
    *phase =
        (struct rlhfsim_comparison_phase){.name = log_timer_name(timer),
                                          .steps = measure->steps[timer],
                                          .measured_s = measure->seconds[timer],
                                          .forecast_s = or_nan(log_forecast_s(&fit->before, timer)),
                                          .fitted_s = or_nan(log_forecast_s(&fit->after, timer)),
                                          .counts = log_fit_uses(measure, &fit->before, timer)};
    struct log_gap gap = {timer, phase->measured_s, phase->forecast_s, step_of(comparison),
                          comparison->lengths_known};
    phase->cause = log_cause(comparison->scenario, &gap);
}

bool rlhfsim_comparison_phase(const struct rlhfsim_comparison *comparison, size_t index,
                              struct rlhfsim_comparison_phase *phase) {
    for (int timer = 0; timer < LOG_TIMERS; timer++)
        if (is_shown(comparison, (enum log_timer)timer) && index-- == 0) {
            describe(comparison, (enum log_timer)timer, phase);
            return true;
        }
    return false;
}

bool rlhfsim_comparison_factor(const struct rlhfsim_comparison *comparison, size_t index,
                               struct rlhfsim_comparison_factor *factor) {
    if (index >= SCENARIO_PARTS)
        return false;
    *factor =
        (struct rlhfsim_comparison_factor){.part = scenario_part_name((enum scenario_part)index),
                                           .factor = comparison->fit.factors[index],
                                           .fitted = comparison->fit.fitted[index]};
    return true;
}

const char *rlhfsim_comparison_note(const struct rlhfsim_comparison *comparison, size_t index,
                                    size_t *times) {
    const struct log_note *note = comparison->steps.notes;
    for (; note != NULL && index > 0; index--)
        note = note->next;
    if (note == NULL)
        return NULL;
    *times = note->count;
    return note->text;
}

size_t rlhfsim_comparison_steps(const struct rlhfsim_comparison *comparison) {
    return comparison->measure.usable;
}
