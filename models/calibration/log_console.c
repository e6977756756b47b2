/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * verl's console output. Nothing in it is ours to check: many processes write into it at once, with
 * colours, progress bars and traces, and a run that was killed ends anywhere. A line that does not
 * have a step is passed over, an entry that cannot be used is left out and counted.
 */
#include "models/calibration/log_forms.h"

#include "models/base/file.h"
#include "models/base/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Longer lines are passed over to their end. */
#define LINE_LIMIT ((size_t)4 * 1024 * 1024)

struct console {
    FILE *stream;
    char *line;
    size_t length, room;
    bool ended;   /* the line has its end */
    bool cut;     /* it was longer than the limit */
    size_t first; /* step of this file */
    struct log_steps *steps;
    bool failed; /* no memory */
};

/* ---- lines ----------------------------------------------------------------------------------- */

static void put(struct console *console, char c) {
    if (console->length + 1 >= console->room) {
        size_t room = console->room == 0 ? 4096 : 2 * console->room;
        char *line = realloc(console->line, room);
        console->failed = console->failed || line == NULL;
        if (line == NULL)
            return;
        console->line = line;
        console->room = room;
    }
    console->line[console->length++] = c;
}

/* A terminal's sequence ESC [ parameters letter, or ESC and one character, is left out. */
static int skip_escape(FILE *stream) {
    int c = getc(stream);
    if (c != '[')
        return c == '\n' ? c : getc(stream);
    do
        c = getc(stream);
    while (c != EOF && c != '\n' && (c < '@' || c > '~'));
    return c == '\n' || c == EOF ? c : getc(stream);
}

/* The next line, without colours and bytes that are no text. False at the end of the file. */
static bool next_line(struct console *console) {
    int c = getc(console->stream);
    console->length = 0;
    console->cut = false;
    if (c == EOF)
        return false;
    while (c != EOF && c != '\n') {
        if (c == '\033') {
            c = skip_escape(console->stream);
            continue;
        }
        if (console->length < LINE_LIMIT && (c >= ' ' || c == '\t'))
            put(console, (char)c);
        console->cut = console->cut || console->length >= LINE_LIMIT;
        c = console->failed ? EOF : getc(console->stream);
    }
    console->ended = c == '\n';
    put(console, '\0');
    return !console->failed;
}

/* ---- entries --------------------------------------------------------------------------------- */

static bool is_name_char(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '/' || c == '.';
}

/* Behind the "step:" that begins the entries of a step, before its number; NULL where there is
 * none. */
static char *find_step(char *line, int64_t *number) {
    for (char *at = strstr(line, "step:"); at != NULL; at = strstr(at + 1, "step:")) {
        char digits[20];
        char *value = at + strlen("step:");
        size_t length = strspn(value, "0123456789");
        if ((at > line && is_name_char(at[-1])) || length == 0 || length >= sizeof digits ||
            strncmp(value + length, " - ", 3) != 0)
            continue;
        memcpy(digits, value, length);
        digits[length] = '\0';
        if (base_integer_read(digits, number) == BASE_NUMBER_OK)
            return value + length + 3;
    }
    return NULL;
}

/* "12.5", also as "np.float64(12.5)". False where it is no finite number from 0 on. */
static bool read_value(char *text, double *value) {
    char *open = strchr(text, '('), *close = strchr(text, ')');
    if (open != NULL && close != NULL && close > open) {
        *close = '\0';
        text = open + 1;
    }
    text[strcspn(text, " \t")] = '\0';
    return base_number_read(text, value) == BASE_NUMBER_OK && *value >= 0.0;
}

static bool is_timer(const char *key) {
    return strncmp(key, "timing_s/", 9) == 0 || strncmp(key, "timing/", 7) == 0;
}

static double *place_of(struct console *console, struct log_step *step, const char *key) {
    const char *near;
    if (strcmp(key, "response_length/mean") == 0)
        return &step->response_tokens;
    if (strcmp(key, "prompt_length/mean") == 0)
        return &step->prompt_tokens;
    if (!is_timer(key))
        return NULL;
    unsigned timer = log_timer_find(key, &near);
    if (timer < LOG_TIMERS)
        return &step->seconds[timer];
    if (timer == LOG_TIMER_UNKNOWN && near != NULL)
        console->failed |= !log_steps_note(
            console->steps, "%.80s is no timer that is known; the nearest is %s", key, near);
    else if (timer == LOG_TIMER_UNKNOWN)
        console->failed |= !log_steps_note(console->steps, "%.80s is no timer that is known", key);
    return NULL;
}

static void take_entry(struct console *console, struct log_step *step, char *entry) {
    char *colon = strchr(entry, ':');
    double value;
    if (colon == NULL)
        return;
    *colon = '\0';
    double *place = place_of(console, step, entry);
    if (place == NULL)
        return;
    if (read_value(colon + 1, &value))
        *place = value;
    else
        console->failed |= !log_steps_note(
            console->steps, "%.80s is not a finite number from 0 on and is left out", entry);
}

/* A number that goes back begins a resumed run: what it does again is taken from there. */
static void drop_repeated(struct console *console, int64_t number) {
    struct log_steps *steps = console->steps;
    while (steps->count > console->first && steps->at[steps->count - 1].number >= number) {
        steps->count--;
        console->failed |=
            !log_steps_note(steps, "a step is there twice (a resumed run?); the last is taken");
    }
}

/* The entries, " - " between them. The last one of a line without end may be cut. */
static void take_line(struct console *console) {
    int64_t number;
    char *entry = find_step(console->line, &number);
    if (entry == NULL)
        return;
    drop_repeated(console, number);
    struct log_step *step = log_steps_add(console->steps, number);
    if (step == NULL) {
        console->failed = true;
        return;
    }
    for (char *next; entry != NULL && !console->failed; entry = next) {
        next = strstr(entry, " - ");
        if (next != NULL) {
            *next = '\0';
            next += 3;
        } else if (!console->ended || console->cut) {
            console->failed |= !log_steps_note(
                console->steps, "the log ends within a line; its last entry is left out");
            break;
        }
        take_entry(console, step, entry);
    }
    if (log_step_is_empty(step))
        console->steps->count--;
}

enum rlhfsim_status log_console_read(struct log_steps *steps, FILE *stream, const char *path,
                                     struct rlhfsim_diagnostics *diagnostics) {
    struct console console = {.stream = stream, .first = steps->count, .steps = steps};
    enum rlhfsim_status status = RLHFSIM_OK;
    errno = 0;
    while (!console.failed && next_line(&console))
        take_line(&console);
    if (ferror(console.stream))
        status = base_file_failed(path, errno, diagnostics);
    free(console.line);
    return console.failed ? RLHFSIM_NO_MEMORY : status;
}
