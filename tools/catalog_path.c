/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "catalog_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int catalog_path_is_directory(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static enum rlhfsim_status take(char path[PATH_MAX], const char *directory) {
    return snprintf(path, PATH_MAX, "%s", directory) < PATH_MAX ? RLHFSIM_OK : RLHFSIM_INVALID;
}

/* Cuts the last component off; false when there is none. */
static int to_parent(char *path) {
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return 0;
    *slash = '\0';
    return 1;
}

/* PREFIX of PREFIX/bin/rlhfsim, then the place below it. Empty when it cannot be said. */
static void installed_path(char path[PATH_MAX]) {
    const char *below = RLHFSIM_CATALOG_INSTALLED;
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    path[0] = '\0';
    if (length < 0)
        return;
    program[length] = '\0';
    if (below[0] == '/')
        snprintf(path, PATH_MAX, "%s", below);
    else if (to_parent(program) && to_parent(program)) {
        if (snprintf(path, PATH_MAX, "%s/%s", program, below) >= PATH_MAX)
            path[0] = '\0';
    }
}

enum rlhfsim_status catalog_path_find(char path[PATH_MAX],
                                      struct rlhfsim_diagnostics *diagnostics) {
    const char *wanted = getenv("RLHFSIM_CATALOG");
    if (wanted != NULL && wanted[0] != '\0') {
        if (catalog_path_is_directory(wanted) && take(path, wanted) == RLHFSIM_OK)
            return RLHFSIM_OK;
        return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, "RLHFSIM_CATALOG", 1, 1,
                                       "expected a directory of catalogs, got '%s'", wanted);
    }
    installed_path(path);
    if (catalog_path_is_directory(path))
        return RLHFSIM_OK;
    if (catalog_path_is_directory(RLHFSIM_CATALOG_SOURCE))
        return take(path, RLHFSIM_CATALOG_SOURCE);
    return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_IO, NULL, 0, 0,
                                   "no catalog found: tried '%s' and '%s'; the environment "
                                   "variable RLHFSIM_CATALOG can name one",
                                   path, RLHFSIM_CATALOG_SOURCE);
}
