/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/base/file.h"

#include "models/base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FIRST_BYTES ((size_t)16 * 1024)

/* A name that leads to no readable file is the user's mistake, a disk that fails is the machine's.
 */
static bool is_users_mistake(int error) {
    return error == ENOENT || error == ENOTDIR || error == EISDIR || error == EACCES ||
           error == ELOOP || error == ENAMETOOLONG;
}

enum rlhfsim_status base_file_failed(const char *path, int error,
                                     struct rlhfsim_diagnostics *diagnostics) {
    char reason[128];
    if (strerror_r(error, reason, sizeof reason) != 0)
        (void)snprintf(reason, sizeof reason, "error %d", error);
    return rlhfsim_diagnostics_add(diagnostics,
                                   is_users_mistake(error) ? RLHFSIM_INVALID : RLHFSIM_IO, path, 0,
                                   0, "cannot be read: %s", reason);
}

/* Doubles the buffer, up to one byte more than a file may have (and its terminator). */
static bool grow(struct base_file *file, size_t *capacity) {
    size_t wanted = *capacity == 0 ? FIRST_BYTES : 2 * *capacity;
    if (wanted > BASE_FILE_LIMIT + 2)
        wanted = BASE_FILE_LIMIT + 2;
    char *text = realloc(file->text, wanted);
    if (text == NULL)
        return false;
    file->text = text;
    *capacity = wanted;
    return true;
}

static enum rlhfsim_status read_stream(FILE *stream, const char *path,
                                       struct rlhfsim_diagnostics *diagnostics,
                                       struct base_file *file) {
    size_t capacity = 0, got = 1;
    while (got > 0 && file->length <= BASE_FILE_LIMIT) {
        if (file->length + 1 >= capacity && !grow(file, &capacity))
            return RLHFSIM_NO_MEMORY;
        errno = 0;
        got = fread(file->text + file->length, 1, capacity - file->length - 1, stream);
        file->length += got;
        if (ferror(stream))
            return base_file_failed(path, errno, diagnostics);
    }
    file->text[file->length] = '\0';
    if (file->length > BASE_FILE_LIMIT)
        return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, path, 0, 0,
                                       "the file is larger than 16 MiB");
    return RLHFSIM_OK;
}

static enum rlhfsim_status check_text(const char *path, struct rlhfsim_diagnostics *diagnostics,
                                      struct base_file *file) {
    size_t mark = base_utf8_mark(file->text, file->length);
    memmove(file->text, file->text + mark, file->length - mark + 1);
    file->length -= mark;
    struct base_utf8_fault fault = base_utf8_check(file->text, file->length);
    if (fault.message == NULL)
        return RLHFSIM_OK;
    return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, path, fault.line, fault.column,
                                   "%s", fault.message);
}

/* A named pipe can wait for its writer for ever. The pipes under /dev are those that a shell has
 * opened for us (standard input, `<(...)`). */
static bool may_hang(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISFIFO(status.st_mode) && strncmp(path, "/dev/", 5) != 0;
}

enum rlhfsim_status base_file_open(const char *path, struct rlhfsim_diagnostics *diagnostics,
                                   FILE **stream) {
    *stream = NULL;
    if (may_hang(path))
        return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, path, 0, 0,
                                       "is a named pipe, expected a file");
    *stream = fopen(path, "rb");
    return *stream == NULL ? base_file_failed(path, errno, diagnostics) : RLHFSIM_OK;
}

enum rlhfsim_status base_file_read_stream(FILE *stream, const char *path,
                                          struct rlhfsim_diagnostics *diagnostics,
                                          struct base_file *file) {
    *file = (struct base_file){0};
    enum rlhfsim_status status = read_stream(stream, path, diagnostics, file);
    if (status == RLHFSIM_OK)
        status = check_text(path, diagnostics, file);
    if (status != RLHFSIM_OK)
        base_file_release(file);
    return status;
}

enum rlhfsim_status base_file_read(const char *path, struct rlhfsim_diagnostics *diagnostics,
                                   struct base_file *file) {
    FILE *stream;
    *file = (struct base_file){0};
    enum rlhfsim_status status = base_file_open(path, diagnostics, &stream);
    if (status != RLHFSIM_OK)
        return status;
    status = base_file_read_stream(stream, path, diagnostics, file);
    (void)fclose(stream);
    return status;
}

void base_file_release(struct base_file *file) {
    free(file->text);
    *file = (struct base_file){0};
}

bool base_file_exists(const char *path) {
    struct stat status;
    return stat(path, &status) == 0;
}
