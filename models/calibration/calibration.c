/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/base/locale.h"
#include "models/calibration/kind.h"
#include "models/results/output.h"
#include "models/scenario/catalog_load.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct calibration_kind *const kinds[] = {
    &calibration_kernels,     &calibration_training,   &calibration_collectives,
    &calibration_weight_sync, &calibration_generation, &calibration_memory,
    &calibration_runs,        &calibration_bands};

const char *rlhfsim_calibration_kind(size_t index) {
    return index < sizeof kinds / sizeof *kinds ? kinds[index]->name : NULL;
}

static const struct calibration_kind *find_kind(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

/* ---- what is reported ------------------------------------------------------------------------ */

bool calibration_add_line(struct rlhfsim_calibration *calibration,
                          const struct rlhfsim_calibration_line *line) {
    struct calibration_line **link = &calibration->lines;
    while (*link != NULL)
        link = &(*link)->next;
    *link = base_arena_allocate(&calibration->arena, sizeof **link);
    if (*link == NULL)
        return false;
    (*link)->line = *line;
    return true;
}

bool calibration_count_skip(struct rlhfsim_calibration *calibration, const char *reason) {
    struct calibration_skip **link = &calibration->skips;
    while (*link != NULL && strcmp((*link)->reason, reason) != 0)
        link = &(*link)->next;
    if (*link == NULL)
        *link = base_arena_allocate(&calibration->arena, sizeof **link);
    if (*link == NULL)
        return false;
    (*link)->reason = reason;
    (*link)->count++;
    return true;
}

void calibration_put_command(const struct calibration_run *run, FILE *stream) {
    fprintf(stream, "rlhfsim calibrate %s", run->calibration->kind->name);
    for (size_t i = 0; i < run->path_count; i++) {
        const char *slash = strrchr(run->paths[i], '/');
        fprintf(stream, " %s", slash == NULL ? run->paths[i] : slash + 1);
    }
}

bool rlhfsim_calibration_line(const struct rlhfsim_calibration *calibration, size_t index,
                              struct rlhfsim_calibration_line *line) {
    const struct calibration_line *found = calibration->lines;
    for (; found != NULL && index > 0; index--)
        found = found->next;
    if (found != NULL)
        *line = found->line;
    return found != NULL;
}

bool rlhfsim_calibration_skipped(const struct rlhfsim_calibration *calibration, size_t index,
                                 const char **reason, size_t *count) {
    const struct calibration_skip *found = calibration->skips;
    for (; found != NULL && index > 0; index--)
        found = found->next;
    if (found == NULL)
        return false;
    *reason = found->reason;
    *count = found->count;
    return true;
}

const char *rlhfsim_calibration_file(const struct rlhfsim_calibration *calibration) {
    return calibration->kind->file;
}

const char *rlhfsim_calibration_text(const struct rlhfsim_calibration *calibration) {
    return calibration->text;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Whose fault an errno is: memory, a name of the user's, or the machine's. */
static enum rlhfsim_status io_status(int error) {
    if (error == ENOMEM)
        return RLHFSIM_NO_MEMORY;
    return error == ENOTDIR || error == EISDIR || error == ENAMETOOLONG ? RLHFSIM_INVALID
                                                                        : RLHFSIM_IO;
}

/* A device or a pipe would be replaced by the file. */
static bool is_special(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

static int write_file(const char *text, const char *directory, const char *name) {
    struct results_output output = {0};
    size_t made = 0;
    int error = results_directory_make(directory, &made);
    if (error == 0)
        error = results_output_open(&output, directory, name);
    if (error == 0) {
        results_output_text(&output, text);
        error = results_output_close(&output);
    }
    if (error == 0)
        error = results_output_publish(&output);
    results_output_free(&output);
    if (error != 0)
        results_directory_unmake(directory, made);
    return error;
}

enum rlhfsim_status calibration_write_text(const char *text, const char *path,
                                           struct rlhfsim_diagnostics *diagnostics) {
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    char directory[PATH_MAX] = ".";
    int error = 0;
    if (is_special(path))
        return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, path, 0, 0,
                                       "is a device or a pipe, expected a file");
    if (slash != NULL && (size_t)(slash - path) >= sizeof directory)
        error = ENAMETOOLONG;
    else if (*name == '\0')
        error = EISDIR;
    else if (slash != NULL)
        (void)snprintf(directory, sizeof directory, "%.*s", slash == path ? 1 : (int)(slash - path),
                       path);
    if (error == 0)
        error = write_file(text, directory, name);
    return error == 0
               ? RLHFSIM_OK
               : rlhfsim_diagnostics_add(diagnostics, io_status(error), path, 0, 0,
                                         "the calibration was not written: %s", strerror(error));
}

enum rlhfsim_status rlhfsim_calibration_write(const struct rlhfsim_calibration *calibration,
                                              const char *path,
                                              struct rlhfsim_diagnostics *diagnostics) {
    return calibration_write_text(calibration->text, path, diagnostics);
}

/* ---- the run --------------------------------------------------------------------------------- */

void rlhfsim_calibration_free(struct rlhfsim_calibration *calibration) {
    if (calibration == NULL)
        return;
    base_arena_release(&calibration->arena);
    free(calibration->text);
    free(calibration);
}

static enum rlhfsim_status load_catalog(const struct rlhfsim_calibration_options *options,
                                        struct catalog *catalog,
                                        struct rlhfsim_diagnostics *diagnostics) {
    enum rlhfsim_status status =
        catalog_load(catalog, options->catalog_directory, true, diagnostics);
    for (size_t i = 0; i < options->user_directory_count && status == RLHFSIM_OK; i++)
        status = catalog_load(catalog, options->user_directories[i], false, diagnostics);
    return status;
}

static enum rlhfsim_status calibrate(struct calibration_run *run) {
    struct rlhfsim_calibration *calibration = run->calibration;
    run->text = open_memstream(&calibration->text, &calibration->text_size);
    if (run->text == NULL)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status = calibration->kind->run(run);
    bool whole = ferror(run->text) == 0;
    return fclose(run->text) == 0 && whole ? status : RLHFSIM_NO_MEMORY;
}

static enum rlhfsim_status run_kind(const struct calibration_kind *kind, const char *const *paths,
                                    size_t path_count,
                                    const struct rlhfsim_calibration_options *options,
                                    struct rlhfsim_diagnostics *diagnostics,
                                    struct rlhfsim_calibration **result) {
    struct catalog *catalog = catalog_new();
    struct rlhfsim_calibration *calibration = calloc(1, sizeof *calibration);
    struct calibration_run run = {.calibration = calibration,
                                  .catalog = catalog,
                                  .diagnostics = diagnostics,
                                  .paths = paths,
                                  .path_count = path_count};
    enum rlhfsim_status status = RLHFSIM_NO_MEMORY;
    if (catalog != NULL && calibration != NULL) {
        calibration->kind = kind;
        status = load_catalog(options, catalog, diagnostics);
    }
    if (status == RLHFSIM_OK)
        status = calibrate(&run);
    if (status == RLHFSIM_OK)
        *result = calibration;
    else
        rlhfsim_calibration_free(calibration);
    catalog_free(catalog);
    return status;
}

enum rlhfsim_status rlhfsim_calibration_run(const char *kind, const char *const *paths,
                                            size_t path_count,
                                            const struct rlhfsim_calibration_options *options,
                                            struct rlhfsim_diagnostics *diagnostics,
                                            struct rlhfsim_calibration **calibration) {
    const struct calibration_kind *found = find_kind(kind);
    struct base_locale locale;
    *calibration = NULL;
    if (found == NULL)
        return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, NULL, 0, 0,
                                       "there is no calibration of '%s'", kind);
    if (!base_locale_enter(&locale))
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status =
        run_kind(found, paths, path_count, options, diagnostics, calibration);
    base_locale_leave(&locale);
    return status;
}
