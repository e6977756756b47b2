/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/results/output.h"

#include "sim/contract.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_SIZE ((size_t)64 * 1024)
#define NAMES_TRIED 10000

/* ---- opening ---------------------------------------------------------------------------------*/

static const char *separator(const char *directory) {
    size_t length = strlen(directory);
    return length > 0 && directory[length - 1] == '/' ? "" : "/";
}

static char *final_path(const char *directory, const char *name) {
    size_t size = strlen(directory) + strlen(name) + 2;
    char *path = malloc(size);
    if (path != NULL)
        snprintf(path, size, "%s%s%s", directory, separator(directory), name);
    return path;
}

/* Removes the file if no living process holds it; false where there is none of the name. */
static bool remove_stale(const char *path) {
    int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return errno != ENOENT;
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        unlink(path);
    close(descriptor);
    return true;
}

/* Holds a fresh file, so that nobody takes it for a leftover. False when somebody just did. A file
 * system without locks has no file removed either. */
static bool hold(int descriptor) {
    struct stat status;
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return false;
    return fstat(descriptor, &status) != 0 || status.st_nlink > 0;
}

/* 0, or an errno: EEXIST where the name is taken. The second descriptor holds the file until it has
 * its final name, the first is closed before. */
static int create_held(struct results_output *output) {
    output->descriptor = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (output->descriptor < 0)
        return errno;
    output->holder = fcntl(output->descriptor, F_DUPFD_CLOEXEC, 0);
    int error = output->holder < 0 ? errno : hold(output->descriptor) ? 0 : EEXIST;
    output->is_open = error == 0;
    if (error == 0)
        return 0;
    if (output->holder >= 0)
        close(output->holder);
    close(output->descriptor);
    if (error != EEXIST)
        unlink(output->temporary);
    return error;
}

struct hidden {
    const char *directory, *name;
    char *path;
    size_t size;
};

static const char *number(const struct hidden *hidden, int i) {
    snprintf(hidden->path, hidden->size, "%s%s.%s.%d.tmp", hidden->directory,
             separator(hidden->directory), hidden->name, i);
    return hidden->path;
}

/* The first free hidden name; O_EXCL makes sure that nobody else writes to it. */
static int create_temporary(struct results_output *output, const char *directory,
                            const char *name) {
    size_t size = strlen(directory) + strlen(name) + 32;
    struct hidden hidden = {directory, name, malloc(size), size};
    int error = EEXIST;
    if (hidden.path == NULL)
        return ENOMEM;
    for (int i = 0; i < NAMES_TRIED && remove_stale(number(&hidden, i)); i++)
        continue;
    output->temporary = hidden.path;
    for (int i = 0; i < NAMES_TRIED && error == EEXIST; i++) {
        number(&hidden, i);
        error = create_held(output);
    }
    if (error == 0)
        return 0;
    free(hidden.path);
    output->temporary = NULL;
    return error;
}

int results_output_open(struct results_output *output, const char *directory, const char *name) {
    *output = (struct results_output){0};
    output->path = final_path(directory, name);
    output->buffer = malloc(BUFFER_SIZE);
    int error = output->path != NULL && output->buffer != NULL
                    ? create_temporary(output, directory, name)
                    : ENOMEM;
    if (error != 0)
        results_output_free(output);
    return error;
}

/* ---- writing ---------------------------------------------------------------------------------*/

static void write_through(struct results_output *output, const char *bytes, size_t length) {
    while (length > 0 && output->error == 0) {
        ssize_t written = write(output->descriptor, bytes, length);
        if (written < 0) {
            if (errno != EINTR)
                output->error = errno;
            continue;
        }
        bytes += written;
        length -= (size_t)written;
    }
}

static void flush(struct results_output *output) {
    write_through(output, output->buffer, output->used);
    output->used = 0;
}

void results_output_write(struct results_output *output, const void *bytes, size_t length) {
    CONTRACT(output->is_open, "only an open file is written to");
    if (length > BUFFER_SIZE - output->used)
        flush(output);
    if (length > BUFFER_SIZE) {
        write_through(output, bytes, length);
        return;
    }
    memcpy(output->buffer + output->used, bytes, length);
    output->used += length;
}

void results_output_text(struct results_output *output, const char *text) {
    results_output_write(output, text, strlen(text));
}

/* ---- closing ---------------------------------------------------------------------------------*/

int results_output_close(struct results_output *output) {
    CONTRACT(output->is_open, "only an open file is closed");
    flush(output);
    output->is_open = false;
    if (close(output->descriptor) != 0 && output->error == 0)
        output->error = errno;
    return output->error;
}

int results_output_publish(struct results_output *output) {
    CONTRACT(!output->is_open && output->error == 0, "only what is whole is published");
    if (rename(output->temporary, output->path) != 0)
        return errno;
    free(output->temporary);
    output->temporary = NULL;
    close(output->holder);
    return 0;
}

void results_output_free(struct results_output *output) {
    if (output->is_open)
        close(output->descriptor);
    if (output->temporary != NULL) {
        unlink(output->temporary);
        close(output->holder);
    }
    free(output->temporary);
    free(output->path);
    free(output->buffer);
    *output = (struct results_output){0};
}

/* ---- directories -----------------------------------------------------------------------------*/

/* The end of the path without slashes behind it; "/" stays. */
static size_t trimmed_length(const char *path, size_t length) {
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length;
}

/* 0 at the top: "a" and "/" have nothing above them. */
static size_t parent_length(const char *path, size_t length) {
    size_t above = length;
    while (above > 0 && path[above - 1] != '/')
        above--;
    above = trimmed_length(path, above);
    return above < length ? above : 0;
}

static int make_one(const char *path, size_t *made) {
    struct stat status;
    if (mkdir(path, 0777) == 0) {
        (*made)++;
        return 0;
    }
    if (errno != EEXIST)
        return errno;
    if (stat(path, &status) != 0)
        return errno;
    return S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
}

/* Makes the first `length` bytes of `path`, from the top down. */
static int make_prefix(char *path, size_t length, size_t *made) {
    char *end = path + length;
    char kept = *end;
    *end = '\0';
    int error = make_one(path, made);
    size_t above = parent_length(path, length);
    if (error == ENOENT && above > 0) {
        error = make_prefix(path, above, made);
        if (error == 0)
            error = make_one(path, made);
    }
    *end = kept;
    return error;
}

int results_directory_make(const char *path, size_t *made) {
    char *copy = strdup(path);
    *made = 0;
    if (copy == NULL)
        return ENOMEM;
    int error = make_prefix(copy, trimmed_length(path, strlen(path)), made);
    free(copy);
    if (error != 0) {
        results_directory_unmake(path, *made);
        *made = 0;
    }
    return error;
}

/* From the bottom up. What could not be made cannot be removed either; what has been made is the
 * lowest of what there is. */
void results_directory_unmake(const char *path, size_t made) {
    char *copy = strdup(path);
    if (copy == NULL)
        return;
    size_t length = trimmed_length(path, strlen(path));
    for (; made > 0 && length > 0; length = parent_length(path, length)) {
        copy[length] = '\0';
        if (rmdir(copy) == 0)
            made--;
    }
    free(copy);
}
