/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/run_case.h"

#include "models/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells and figures ----------------------------------------------------------------------- */

const char *run_case_cell(const struct run_case *run, const char *column) {
    return validation_cell(&run->complete.row, validation_column(&run->complete.table, column));
}

double run_case_number(const struct run_case *run, const char *column) {
    double value;
    bool good = base_number_read(run_case_cell(run, column), &value) == BASE_NUMBER_OK;
    return good ? value : (double)NAN;
}

const struct run_figure *run_figure_find(const struct run_figure *figures, const char *metric) {
    while (figures != NULL && strcmp(figures->metric, metric) != 0)
        figures = figures->next;
    return figures;
}

bool run_case_has(const struct run_case *run, const char *metric) {
    return run_figure_find(run->figures, metric) != NULL;
}

double run_case_figure(const struct run_case *run, const char *metric) {
    const struct run_figure *found = run_figure_find(run->figures, metric);
    return found == NULL ? (double)NAN : found->value;
}

bool run_case_assumes(const struct run_case *run, const char *column) {
    for (size_t i = 0; i < run->complete.assumed_count; i++)
        if (run->complete.assumed[i].guess && strcmp(run->complete.assumed[i].column, column) == 0)
            return true;
    return false;
}

/* ---- as a file ------------------------------------------------------------------------------- */

char *run_case_yaml(const struct run_case *run) {
    char *text = NULL, *settings = run_settings_yaml(&run->settings);
    size_t size = 0;
    FILE *stream = settings == NULL ? NULL : open_memstream(&text, &size);
    bool good = stream != NULL;
    if (good) {
        fprintf(stream, "# %s of %s\n", run->name, run->source);
        for (size_t i = 0; i < run->complete.assumed_count; i++) {
            const struct run_assumption *assumed = &run->complete.assumed[i];
            fprintf(stream, "# assumed: %s %s (%s)\n", assumed->column, assumed->value,
                    assumed->why);
        }
        fputs(settings, stream);
        good = fclose(stream) == 0;
    }
    free(settings);
    if (good)
        return text;
    free(text);
    return NULL;
}
