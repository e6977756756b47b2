/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/tools/check_output.h"

#include "tests/tools/check_internal.h"

#include <dirent.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FAULTS_PRINTED 50

const char *const check_phases[] = {"rollout",
                                    "transition",
                                    "reward",
                                    "actor_logprob",
                                    "reference_logprob",
                                    "values",
                                    "critic_update",
                                    "actor_update",
                                    "weight_sync",
                                    "checkpoint",
                                    "validation",
                                    "load",
                                    NULL};

/* ---- helpers ---------------------------------------------------------------------------------*/

void check_fault(struct check *check, const char *format, ...) {
    va_list arguments;
    if (check->faults++ >= FAULTS_PRINTED)
        return;
    va_start(arguments, format);
    vfprintf(check->report, format, arguments);
    va_end(arguments);
    fputc('\n', check->report);
}

FILE *check_open(struct check *check, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", check->directory, name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        check_fault(check, "%s: missing", name);
    return file;
}

bool check_near(double a, double b, double relative, double absolute) {
    return fabs(a - b) <= relative * fmax(fabs(a), fabs(b)) + absolute;
}

bool check_is_phase(const char *name) {
    for (size_t i = 0; check_phases[i] != NULL; i++)
        if (strcmp(check_phases[i], name) == 0)
            return true;
    return false;
}

int check_gpu_number(const char *resource) {
    char *end;
    if (strncmp(resource, "gpu", 3) != 0 || resource[3] < '0' || resource[3] > '9')
        return -1;
    long number = strtol(resource + 3, &end, 10);
    return *end == '\0' ? (int)number : -1;
}

json_t *check_summary_get(const struct check *check, const char *path) {
    json_t *value = check->summary;
    char key[64];
    for (const char *rest = path; value != NULL && !json_is_null(value) && *rest != '\0';) {
        size_t length = strcspn(rest, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, rest);
        value = json_object_get(value, key);
        rest += length;
        rest += *rest == '.';
    }
    return value;
}

bool check_exact_figure(const struct check *check, const char *path, double *value) {
    const json_t *figure = check_summary_get(check, path);
    double low = json_number_value(json_object_get(figure, "p10"));
    double high = json_number_value(json_object_get(figure, "p90"));
    *value = json_number_value(json_object_get(figure, "p50"));
    return json_is_object(figure) && low == *value && high == *value;
}

void check_agrees(struct check *check, const char *path, double from_files) {
    double value;
    if (!check_exact_figure(check, path, &value))
        return;
    if (!check_near(value, from_files, 1e-9, 1e-9))
        check_fault(check, "summary.json: %s is %.17g, the files say %.17g", path, value,
                    from_files);
}

/* ---- the folder ------------------------------------------------------------------------------*/

static bool is_there(const struct check *check, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", check->directory, name);
    FILE *file = fopen(path, "r");
    if (file != NULL)
        fclose(file);
    return file != NULL;
}

static void check_no_leftovers(struct check *check) {
    DIR *directory = opendir(check->directory);
    if (directory == NULL)
        return;
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory))
        if (entry->d_name[0] == '.' && strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0)
            check_fault(check, "%s: left behind", entry->d_name);
    closedir(directory);
}

static void check_infeasible_files(struct check *check) {
    static const char *const absent[] = {"timeline.csv", "phases.csv", "cost.csv", "trace.json"};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        if (is_there(check, absent[i]))
            check_fault(check, "%s: must not be there, the run is infeasible", absent[i]);
}

size_t check_output(const char *directory, FILE *report) {
    struct check check = {.directory = directory, .report = report};
    bool feasible;
    check_no_leftovers(&check);
    if (check_summary(&check, &feasible)) {
        check_memory(&check);
        if (feasible) {
            check_timelines(&check);
            check_cost(&check);
            check_trace(&check);
        } else {
            check_infeasible_files(&check);
        }
    }
    json_decref(check.summary);
    return check.faults;
}
