/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_TRIED 1000

enum rlhfsim_status whole_file_failed(const char *path, const char *what, int error,
                                      struct rlhfsim_diagnostics *diagnostics) {
    if (error == ENOMEM)
        return RLHFSIM_NO_MEMORY;
    return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_IO, path, 0, 0, "%s: %s", what,
                                   strerror(error));
}

char *whole_file_path(const char *directory, const char *name) {
    char *path;
    size_t length = strlen(directory);
    const char *slash = length > 0 && directory[length - 1] == '/' ? "" : "/";
    return asprintf(&path, "%s%s%s", directory, slash, name) < 0 ? NULL : path;
}

/* ---- folders --------------------------------------------------------------------------------- */

static int make_folder(const char *path) {
    struct stat status;
    if (mkdir(path, 0777) == 0)
        return 0;
    int error = errno;
    if (error != EEXIST || stat(path, &status) != 0)
        return error;
    return S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
}

/* From the top down; what is there already is passed. */
enum rlhfsim_status whole_file_folder(const char *directory,
                                      struct rlhfsim_diagnostics *diagnostics) {
    char *path = strdup(directory);
    int error = path == NULL ? ENOMEM : 0;
    for (char *slash = path; error == 0 && (slash = strchr(slash + 1, '/')) != NULL;) {
        *slash = '\0';
        error = make_folder(path);
        *slash = '/';
    }
    if (error == 0)
        error = make_folder(directory);
    free(path);
    return error == 0
               ? RLHFSIM_OK
               : whole_file_failed(directory, "cannot create the directory", error, diagnostics);
}

/* ---- files ----------------------------------------------------------------------------------- */

static char *hidden_path(const char *directory, const char *name, int number) {
    char *unique, *path;
    if (asprintf(&unique, ".%s.%d.tmp", name, number) < 0)
        return NULL;
    path = whole_file_path(directory, unique);
    free(unique);
    return path;
}

/* Removes a file that a killed process left: a living one holds its own with a lock. False where
 * there is none of the name. */
static bool remove_leftover(const char *path) {
    int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return errno != ENOENT;
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        unlink(path);
    close(descriptor);
    return true;
}

static void remove_leftovers(const char *directory, const char *name) {
    bool more = true;
    for (int i = 0; i < NAMES_TRIED && more; i++) {
        char *path = hidden_path(directory, name, i);
        more = path != NULL && remove_leftover(path);
        free(path);
    }
}

/* NULL with EEXIST where somebody takes the fresh file for a leftover before it is locked. */
static FILE *create_locked(const char *path) {
    struct stat status;
    FILE *stream = fopen(path, "wxe");
    if (stream == NULL)
        return NULL;
    bool taken = flock(fileno(stream), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!taken && (fstat(fileno(stream), &status) != 0 || status.st_nlink > 0))
        return stream;
    fclose(stream);
    errno = EEXIST;
    return NULL;
}

/* The first free hidden name; "x" makes sure that nobody else writes to it. */
static FILE *create_hidden(const char *directory, const char *name, char **hidden) {
    remove_leftovers(directory, name);
    for (int i = 0; i < NAMES_TRIED; i++) {
        *hidden = hidden_path(directory, name, i);
        FILE *stream = *hidden == NULL ? NULL : create_locked(*hidden);
        int error = *hidden == NULL ? ENOMEM : errno;
        if (stream != NULL)
            return stream;
        free(*hidden);
        *hidden = NULL;
        errno = error;
        if (error != EEXIST)
            break;
    }
    return NULL;
}

/* False with errno set; a pipe and the like cannot be synced and need not be. */
static bool reach_disk(FILE *stream) {
    return fflush(stream) == 0 &&
           (fsync(fileno(stream)) == 0 || errno == EINVAL || errno == ENOSYS);
}

/* The bytes are on the disk before the file has its name: the machine may stop at any time. 0 or an
 * errno. */
static int finish(FILE *stream, const char *hidden, const char *path) {
    errno = 0;
    bool good = ferror(stream) == 0 && reach_disk(stream);
    int error = good ? 0 : errno != 0 ? errno : EIO;
    int holder = dup(fileno(stream)); /* of the lock, until the file has its name */
    if (fclose(stream) != 0 && error == 0)
        error = errno;
    if (error == 0 && rename(hidden, path) != 0)
        error = errno;
    if (holder >= 0)
        close(holder);
    return error;
}

enum rlhfsim_status whole_file_write(const char *directory, const char *name,
                                     whole_file_writer *write, const void *subject,
                                     struct rlhfsim_diagnostics *diagnostics) {
    enum rlhfsim_status status = RLHFSIM_OK;
    char *hidden = NULL, *path = whole_file_path(directory, name);
    if (path == NULL)
        return RLHFSIM_NO_MEMORY;
    FILE *stream = create_hidden(directory, name, &hidden);
    int error = stream == NULL ? errno : 0;
    if (stream != NULL) {
        write(stream, subject);
        error = finish(stream, hidden, path);
        if (error != 0)
            unlink(hidden);
    }
    if (error != 0)
        status = whole_file_failed(path, "cannot write it", error, diagnostics);
    free(hidden);
    free(path);
    return status;
}

enum rlhfsim_status whole_file_remove(const char *directory, const char *name,
                                      struct rlhfsim_diagnostics *diagnostics) {
    enum rlhfsim_status status = RLHFSIM_OK;
    char *path = whole_file_path(directory, name);
    if (path == NULL)
        return RLHFSIM_NO_MEMORY;
    if (unlink(path) != 0 && errno != ENOENT)
        status = whole_file_failed(path, "cannot remove it", errno, diagnostics);
    free(path);
    return status;
}
