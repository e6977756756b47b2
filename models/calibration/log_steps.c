/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/log_steps.h"

#include "models/base/text.h"
#include "sim/contract.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- names of timers ------------------------------------------------------------------------- */

static const char *const names[] = {
#define TIMER_NAME(name, text) text,
    LOG_TIMER_MAP(TIMER_NAME)
#undef TIMER_NAME
};

const char *log_timer_name(enum log_timer timer) {
    CONTRACT((unsigned)timer < LOG_TIMERS, "not a timer");
    return names[timer];
}

/* Names of frameworks. Beside them verl's `gen`, which has the engine's waking and falling asleep
 * inside, and the weight sync (`reshard`) where it is not timed apart as update_weights; the others
 * time the rollout alone. LOG_TIMERS: inside another timer, or work of the host. */
static const struct {
    const char *name;
    unsigned timer;
} aliases[] = {
    {"generation", LOG_ROLLOUT},
    {"generate", LOG_ROLLOUT},
    {"rollout_time", LOG_ROLLOUT},
    {"wait_prev_gen", LOG_WAIT},
    {"exposed_generation", LOG_WAIT},
    {"train_wait_time", LOG_WAIT},
    {"prepare_for_generation", LOG_TRANSITION},
    {"reward_calculation", LOG_REWARD},
    {"old_log_prob", LOG_ACTOR_LOGPROB},
    {"log_probs_time", LOG_ACTOR_LOGPROB},
    {"ref", LOG_REFERENCE_LOGPROB},
    {"ref_log_prob", LOG_REFERENCE_LOGPROB},
    {"ref_log_probs_time", LOG_REFERENCE_LOGPROB},
    {"value_inference", LOG_VALUES},
    {"make_experience", LOG_EXPERIENCE},
    {"policy_and_reference_logprobs", LOG_EXPERIENCE},
    {"fwd_logprobs_values_reward", LOG_EXPERIENCE},
    {"update_critic", LOG_CRITIC_UPDATE},
    {"value_training", LOG_CRITIC_UPDATE},
    {"update_actor", LOG_ACTOR_UPDATE},
    {"actor_train_time", LOG_ACTOR_UPDATE},
    {"policy_training", LOG_ACTOR_UPDATE},
    {"policy_train", LOG_ACTOR_UPDATE},
    {"ppo_train", LOG_TRAINING},
    {"update_weights", LOG_WEIGHT_SYNC},
    {"update_weights_time", LOG_WEIGHT_SYNC},
    {"sync_rollout_weights", LOG_WEIGHT_SYNC},
    {"sync_weights", LOG_WEIGHT_SYNC},
    {"broadcast", LOG_WEIGHT_SYNC},
    {"save_checkpoint", LOG_CHECKPOINT},
    {"save_checkpoints", LOG_CHECKPOINT},
    {"checkpointing", LOG_CHECKPOINT},
    {"testing", LOG_VALIDATION},
    {"rest", LOG_HOST},
    {"step_total", LOG_STEP},
    {"total_step_time", LOG_STEP},
    {"step_time", LOG_STEP},
    {"adv", LOG_TIMERS},
    {"gen_max", LOG_TIMERS},
    {"generate_sequences", LOG_TIMERS},
    {"generation_timing/max", LOG_TIMERS},
    {"generation_timing/min", LOG_TIMERS},
    {"generation_timing/topk_ratio", LOG_TIMERS},
    {"tool_calls", LOG_TIMERS},
    {"agent_loop", LOG_TIMERS},
    {"start_profile", LOG_TIMERS},
    {"stop_profile", LOG_TIMERS},
    {"dump_rollout_generations", LOG_TIMERS},
    {"advantage_calculation", LOG_TIMERS},
    {"data_processing", LOG_TIMERS},
};

/* The name without what frameworks put before and behind it. */
static void bare_name(const char *name, char *buffer, size_t size) {
    static const char *const prefixes[] = {"timing_s/", "timing/train/", "timing/"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
            name += strlen(prefixes[i]);
            break;
        }
    base_text_copy(buffer, size, name);
    size_t length = strlen(buffer);
    if (length > 2 && strcmp(buffer + length - 2, "_s") == 0)
        buffer[length - 2] = '\0';
}

unsigned log_timer_find(const char *name, const char **near) {
    char bare[128];
    struct base_nearest nearest;
    bare_name(name, bare, sizeof bare);
    base_nearest_start(&nearest, bare);
    *near = NULL;
    for (unsigned i = 0; i < LOG_TIMERS; i++) {
        if (strcmp(names[i], bare) == 0)
            return i;
        base_nearest_offer(&nearest, names[i]);
    }
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (strcmp(aliases[i].name, bare) == 0)
            return aliases[i].timer;
        base_nearest_offer(&nearest, aliases[i].name);
    }
    *near = base_nearest_name(&nearest);
    return LOG_TIMER_UNKNOWN;
}

/* ---- steps ----------------------------------------------------------------------------------- */

struct log_step *log_steps_add(struct log_steps *steps, int64_t number) {
    if (steps->count == steps->room) {
        size_t room = steps->room == 0 ? 16 : 2 * steps->room;
        struct log_step *at = realloc(steps->at, room * sizeof *at);
        if (at == NULL)
            return NULL;
        steps->at = at;
        steps->room = room;
    }
    struct log_step *step = &steps->at[steps->count++];
    *step = (struct log_step){
        .number = number, .prompt_tokens = (double)NAN, .response_tokens = (double)NAN};
    for (size_t i = 0; i < LOG_TIMERS; i++)
        step->seconds[i] = (double)NAN;
    return step;
}

bool log_step_is_empty(const struct log_step *step) {
    for (size_t i = 0; i < LOG_TIMERS; i++)
        if (step->seconds[i] > 0.0)
            return false;
    return true;
}

bool log_steps_note(struct log_steps *steps, const char *format, ...) {
    char text[256], whole[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    base_text_copy(whole, sizeof whole, text);
    struct log_note **link = &steps->notes;
    while (*link != NULL && strcmp((*link)->text, whole) != 0)
        link = &(*link)->next;
    if (*link == NULL) {
        struct log_note *note = base_arena_allocate(&steps->arena, sizeof *note);
        const char *copy = base_arena_text(&steps->arena, whole, strlen(whole));
        if (note == NULL || copy == NULL)
            return false;
        note->text = copy;
        *link = note;
    }
    (*link)->count++;
    return true;
}

void log_steps_release(struct log_steps *steps) {
    free(steps->at);
    base_arena_release(&steps->arena);
    *steps = (struct log_steps){0};
}
