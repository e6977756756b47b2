/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/log_read.h"

#include "models/base/file.h"
#include "models/base/utf8.h"
#include "models/calibration/log_forms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

enum rlhfsim_status log_read(struct log_steps *steps, const char *path,
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
