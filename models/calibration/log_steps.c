/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/log_steps.h"

#include "models/base/file.h"
#include "models/base/text.h"
#include "models/base/utf8.h"
#include "sim/contract.h"

#include <errno.h>
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

/* ---- files ----------------------------------------------------------------------------------- */

/* A table begins with a line of names between commas, one of them a step, a phase or a timer; a
 * console has all sorts of things there. */
static bool is_header(char *line) {
    char *rest = NULL;
    if (strstr(line, " - ") != NULL)
        return false;
    for (char *cell = strtok_r(line, ",\"\r\n", &rest); cell != NULL;
         cell = strtok_r(NULL, ",\"\r\n", &rest)) {
        const char *near;
        if (strcmp(cell, "phase") == 0 || strcmp(cell, "seconds") == 0 ||
            log_timer_find(cell, &near) < LOG_TIMERS)
            return true;
    }
    return false;
}

/* A pipe cannot be read twice: it is copied. Takes the stream over. NULL with errno. */
static FILE *seekable(FILE *stream) {
    char buffer[65536];
    size_t got;
    if (fseek(stream, 0, SEEK_CUR) == 0)
        return stream;
    FILE *copy = tmpfile();
    errno = 0;
    while (copy != NULL && (got = fread(buffer, 1, sizeof buffer, stream)) > 0)
        if (fwrite(buffer, 1, got, copy) != got)
            break;
    bool whole = copy != NULL && !ferror(stream) && fseek(copy, 0, SEEK_SET) == 0 && !ferror(copy);
    int error = errno;
    (void)fclose(stream);
    if (copy != NULL && !whole)
        (void)fclose(copy);
    errno = error;
    return whole ? copy : NULL;
}

static enum rlhfsim_status is_table(FILE *stream, const char *path,
                                    struct rlhfsim_diagnostics *diagnostics, bool *table) {
    char line[4096];
    bool found = false;
    *table = false;
    errno = 0;
    while (!found && fgets(line, sizeof line, stream) != NULL)
        found = strspn(line, "\r\n \t") < strlen(line);
    if (found)
        *table = is_header(line + base_utf8_mark(line, strlen(line)));
    if (ferror(stream) || fseek(stream, 0, SEEK_SET) != 0)
        return base_file_failed(path, errno, diagnostics);
    return RLHFSIM_OK;
}

static size_t count_usable(const struct log_steps *steps, size_t first) {
    size_t usable = 0;
    for (size_t i = first; i < steps->count; i++)
        usable += !log_step_is_empty(&steps->at[i]);
    return usable;
}

static enum rlhfsim_status read_stream(struct log_steps *steps, FILE *stream, const char *path,
                                       struct rlhfsim_diagnostics *diagnostics) {
    bool table;
    size_t first = steps->count;
    enum rlhfsim_status status = is_table(stream, path, diagnostics, &table);
    if (status == RLHFSIM_OK)
        status = table ? log_table_read(steps, stream, path, diagnostics)
                       : log_console_read(steps, stream, path, diagnostics);
    if (status == RLHFSIM_OK && count_usable(steps, first) == 0)
        status = rlhfsim_diagnostics_add(
            diagnostics, RLHFSIM_INVALID, path, 0, 0,
            "has no step with a timer, expected a table with the columns step, phase and seconds, "
            "or lines such as 'step:7 - timing_s/gen:42.9 - timing_s/step:170.2'");
    return status;
}

enum rlhfsim_status log_steps_read(struct log_steps *steps, const char *path,
                                   struct rlhfsim_diagnostics *diagnostics) {
    FILE *stream;
    enum rlhfsim_status status = base_file_open(path, diagnostics, &stream);
    if (status != RLHFSIM_OK)
        return status;
    stream = seekable(stream);
    if (stream == NULL)
        return base_file_failed(path, errno, diagnostics);
    status = read_stream(steps, stream, path, diagnostics);
    (void)fclose(stream);
    return status;
}
