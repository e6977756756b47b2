/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_LOG_STEPS_H
#define MODELS_CALIBRATION_LOG_STEPS_H

/*
 * Measured steps of a user's own run: what a log says of every step, under our names of the timers.
 *
 * A log is one of
 *
 *   - the console output of verl: lines with `step:N - KEY:VALUE - KEY:VALUE ...` anywhere in them,
 *     of which keys `timing_s/NAME` (`timing/NAME` until 2024), `response_length/mean` and
 *     `prompt_length/mean` count. Prefixes of other processes, colours, carriage returns and bytes
 *     that are no text may be in it. Seconds that are no number, not finite or negative are left
 *     out with a note, and so is the last entry of a file that ends within its line. A step number
 *     that goes back is a run that was resumed: the earlier steps from there on are dropped;
 *   - a CSV table with columns step, phase, seconds, one timer a row, step being optional where
 *     there is one step;
 *   - a CSV table with one step a row: step (optional), and a column for each timer; prompt_tokens
 *     and response_tokens are the mean lengths. An empty cell is a timer that was not read.
 *
 * Tables are strict: an unknown column or phase, or seconds that are none, are errors at their
 * place.
 */

#include "models/base/arena.h"

#include <rlhfsim/diagnostics.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What frameworks time, in the order in which it is reported. */
#define LOG_TIMER_MAP(XX)                      \
    XX(GENERATION, "gen")                      \
    XX(ROLLOUT, "rollout")                     \
    XX(WAIT, "wait")                           \
    XX(TRANSITION, "transition")               \
    XX(REWARD, "reward")                       \
    XX(EXPERIENCE, "experience")               \
    XX(ACTOR_LOGPROB, "actor_logprob")         \
    XX(REFERENCE_LOGPROB, "reference_logprob") \
    XX(VALUES, "values")                       \
    XX(CRITIC_UPDATE, "critic_update")         \
    XX(ACTOR_UPDATE, "actor_update")           \
    XX(TRAINING, "training")                   \
    XX(WEIGHT_SYNC, "weight_sync")             \
    XX(RESHARD, "reshard")                     \
    XX(CHECKPOINT, "checkpoint")               \
    XX(VALIDATION, "validation")               \
    XX(HOST, "host")                           \
    XX(STEP, "step")

enum log_timer {
#define LOG_TIMER_ENUM(name, text) LOG_##name,
    LOG_TIMER_MAP(LOG_TIMER_ENUM)
#undef LOG_TIMER_ENUM
        LOG_TIMERS
};

const char *log_timer_name(enum log_timer timer);

/* The timer of a name in a log ("timing_s/gen", "gen", "generation_s", "actor_update"). LOG_TIMERS
 * for a timer that is known and part of another, or of the host's work; above that for a name that
 * nobody knows, with the nearest one, or NULL, in *near. */
#define LOG_TIMER_UNKNOWN (LOG_TIMERS + 1)
unsigned log_timer_find(const char *name, const char **near);

struct log_step {
    int64_t number;
    double seconds[LOG_TIMERS];            /* NAN: not measured */
    double prompt_tokens, response_tokens; /* means; NAN: not known */
};

struct log_note {
    struct log_note *next;
    const char *text;
    size_t count;
};

/* Starts zeroed; release with log_steps_release. */
struct log_steps {
    struct log_step *at;
    size_t count, room;
    struct base_arena arena;
    struct log_note *notes; /* what was left out and why */
};

void log_steps_release(struct log_steps *steps);

/* ---- for the readers ------------------------------------------------------------------------- */

/* A step with nothing measured; NULL without memory. Valid until the next one is added. */
struct log_step *log_steps_add(struct log_steps *steps, int64_t number);
bool log_step_is_empty(const struct log_step *step);

/* Counts a note; the text is copied. False without memory. */
bool log_steps_note(struct log_steps *steps, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
