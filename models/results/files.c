/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/results/files.h"

#include "models/results/output.h"
#include "models/results/tables.h"
#include "models/results/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order in which they are published: summary.json says that the others are there. */
enum file {
    FILE_TIMELINE,
    FILE_PHASES,
    FILE_MEMORY,
    FILE_COST,
    FILE_TRACE,
    FILE_SUMMARY,
    FILE_COUNT
};

static const struct {
    const char *name;
    bool when_infeasible;
} file_types[FILE_COUNT] = {
    [FILE_TIMELINE] = {"timeline.csv", false}, [FILE_PHASES] = {"phases.csv", false},
    [FILE_MEMORY] = {"memory.csv", true},      [FILE_COST] = {"cost.csv", false},
    [FILE_TRACE] = {"trace.json", false},      [FILE_SUMMARY] = {"summary.json", true},
};

struct results_files {
    char *directory;
    size_t directories_made;
    struct results_names names;
    struct results_output outputs[FILE_COUNT];
    struct results_trace trace;
};

/* ---- errors ----------------------------------------------------------------------------------*/

static enum rlhfsim_status report(struct rlhfsim_diagnostics *diagnostics, const char *path,
                                  const char *failed, int error) {
    enum rlhfsim_status status = error == ENOMEM ? RLHFSIM_NO_MEMORY : RLHFSIM_IO;
    char reason[128];
    if (strerror_r(error, reason, sizeof reason) != 0)
        return rlhfsim_diagnostics_add(diagnostics, status, path, 0, 0, "%s: error %d", failed,
                                       error);
    return rlhfsim_diagnostics_add(diagnostics, status, path, 0, 0, "%s: %s", failed, reason);
}

/* ---- opening and discarding ------------------------------------------------------------------*/

static void free_files(struct results_files *files) {
    for (size_t i = 0; i < FILE_COUNT; i++)
        results_output_free(&files->outputs[i]);
    results_trace_free(&files->trace);
    free(files->directory);
    free(files);
}

void results_files_discard(struct results_files *files) {
    if (files == NULL)
        return;
    for (size_t i = 0; i < FILE_COUNT; i++)
        results_output_free(&files->outputs[i]);
    results_directory_unmake(files->directory, files->directories_made);
    free_files(files);
}

static void write_headers(struct results_files *files) {
    results_timeline_header(&files->outputs[FILE_TIMELINE]);
    results_phases_header(&files->outputs[FILE_PHASES]);
    results_memory_header(&files->outputs[FILE_MEMORY]);
    results_trace_begin(&files->trace, &files->outputs[FILE_TRACE], &files->names);
}

static enum rlhfsim_status open_outputs(struct results_files *files,
                                        struct rlhfsim_diagnostics *diagnostics) {
    for (size_t i = 0; i < FILE_COUNT; i++) {
        const char *name = file_types[i].name;
        int error = results_output_open(&files->outputs[i], files->directory, name);
        if (error == 0)
            continue;
        char failed[64];
        snprintf(failed, sizeof failed, "cannot create %s there", name);
        return report(diagnostics, files->directory, failed, error);
    }
    return RLHFSIM_OK;
}

enum rlhfsim_status results_files_open(const char *directory, const struct results_names *names,
                                       struct rlhfsim_diagnostics *diagnostics,
                                       struct results_files **result) {
    *result = NULL;
    struct results_files *files = calloc(1, sizeof *files);
    char *copy = strdup(directory);
    if (files == NULL || copy == NULL) {
        free(files);
        free(copy);
        return report(diagnostics, directory, "cannot open the files of the run", ENOMEM);
    }
    files->directory = copy;
    files->names = *names;
    enum rlhfsim_status status = RLHFSIM_OK;
    int error = results_directory_make(directory, &files->directories_made);
    if (error != 0)
        status = report(diagnostics, directory, "cannot create the directory", error);
    else
        status = open_outputs(files, diagnostics);
    if (status != RLHFSIM_OK) {
        results_files_discard(files);
        return status;
    }
    write_headers(files);
    *result = files;
    return RLHFSIM_OK;
}

/* ---- while the run goes on -------------------------------------------------------------------*/

static void record_span(void *state, const struct sim *sim, const struct sim_span *span) {
    struct results_files *files = state;
    results_timeline_row(&files->outputs[FILE_TIMELINE], &files->names, sim, span);
    results_trace_span(&files->trace, sim, span);
}

static void record_memory(void *state, const struct sim *sim,
                          const struct sim_memory_change_record *change) {
    struct results_files *files = state;
    results_memory_row(&files->outputs[FILE_MEMORY], &files->names, sim, change);
    results_trace_memory(&files->trace, sim, change);
}

enum sim_status results_files_attach(struct results_files *files, struct sim *sim) {
    static const struct sim_sink_type sink = {.span = record_span, .memory = record_memory};
    return sim_recorder_add(sim, &sink, files);
}

void results_files_phase(struct results_files *files, int64_t step, enum algorithm_phase phase,
                         sim_time start, sim_time end, double busy_s, double idle_s) {
    results_phases_row(&files->outputs[FILE_PHASES], step, phase, start, end, busy_s, idle_s);
}

/* ---- committing ------------------------------------------------------------------------------*/

static bool is_wanted(size_t file, bool feasible) {
    return feasible || file_types[file].when_infeasible;
}

static enum rlhfsim_status write_ends(struct results_files *files, const struct cost_ledger *ledger,
                                      const struct rlhfsim_summary *summary,
                                      struct rlhfsim_diagnostics *diagnostics) {
    struct results_output *output = &files->outputs[FILE_SUMMARY];
    if (ledger != NULL)
        results_cost_table(&files->outputs[FILE_COST], &files->names, ledger);
    results_trace_end(&files->trace);
    char *json = rlhfsim_summary_json(summary);
    if (json == NULL)
        return report(diagnostics, output->path, "cannot write it", ENOMEM);
    results_output_text(output, json);
    free(json);
    if (ledger != NULL && files->trace.no_memory)
        return report(diagnostics, files->outputs[FILE_TRACE].path, "cannot write it", ENOMEM);
    return RLHFSIM_OK;
}

/* All files are whole before the first takes its name. */
static enum rlhfsim_status close_all(struct results_files *files, bool feasible,
                                     struct rlhfsim_diagnostics *diagnostics) {
    for (size_t i = 0; i < FILE_COUNT; i++) {
        int error = results_output_close(&files->outputs[i]);
        if (error != 0 && is_wanted(i, feasible))
            return report(diagnostics, files->outputs[i].path, "cannot write it", error);
    }
    return RLHFSIM_OK;
}

/* Gives the file its name, or removes what an earlier run left under that name. */
static enum rlhfsim_status publish(struct results_output *output, bool wanted,
                                   struct rlhfsim_diagnostics *diagnostics) {
    if (wanted) {
        int error = results_output_publish(output);
        return error == 0 ? RLHFSIM_OK
                          : report(diagnostics, output->path, "cannot put it in place", error);
    }
    if (unlink(output->path) != 0 && errno != ENOENT)
        return report(diagnostics, output->path, "cannot remove it, which is of an earlier run",
                      errno);
    return RLHFSIM_OK;
}

static enum rlhfsim_status publish_all(struct results_files *files, bool feasible,
                                       struct rlhfsim_diagnostics *diagnostics) {
    enum rlhfsim_status status = RLHFSIM_OK;
    size_t i = 0;
    for (; i < FILE_COUNT && status == RLHFSIM_OK; i++)
        status = publish(&files->outputs[i], is_wanted(i, feasible), diagnostics);
    for (size_t k = 0; status != RLHFSIM_OK && k + 1 < i; k++)
        if (is_wanted(k, feasible))
            unlink(files->outputs[k].path);
    return status;
}

enum rlhfsim_status results_files_commit(struct results_files *files,
                                         const struct cost_ledger *ledger,
                                         const struct rlhfsim_summary *summary,
                                         struct rlhfsim_diagnostics *diagnostics) {
    bool feasible = ledger != NULL;
    enum rlhfsim_status status = write_ends(files, ledger, summary, diagnostics);
    if (status == RLHFSIM_OK)
        status = close_all(files, feasible, diagnostics);
    if (status == RLHFSIM_OK)
        status = publish_all(files, feasible, diagnostics);
    if (status == RLHFSIM_OK)
        free_files(files);
    else
        results_files_discard(files);
    return status;
}
