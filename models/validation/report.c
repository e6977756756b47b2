/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/results/csv.h"
#include "models/results/format.h"
#include "models/validation/cases.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_text(FILE *stream, const char *text) {
    fputc('"', stream);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(stream, "\\%c", c);
        else if (c < 0x20)
            fprintf(stream, "\\u%04x", (unsigned)c);
        else
            fputc(c, stream);
    }
    fputc('"', stream);
}

static void put_number(FILE *stream, const char *name, double value) {
    char text[RESULTS_NUMBER_SIZE] = "null";
    if (isfinite(value))
        (void)results_format_number(value, text);
    fprintf(stream, ", \"%s\": %s", name, text);
}

static void put_errors(FILE *stream, const struct rlhfsim_validation_errors *errors) {
    fprintf(stream, "{\"rows\": %zu, \"compared\": %zu, \"skipped\": %zu", errors->rows,
            errors->compared, errors->skipped);
    put_number(stream, "median_abs_error", errors->median_abs_error);
    put_number(stream, "p90_abs_error", errors->p90_abs_error);
    put_number(stream, "bias", errors->bias);
    put_number(stream, "kendall_tau", errors->kendall_tau);
    fputc('}', stream);
}

typedef bool errors_at(const struct rlhfsim_validation *validation, size_t index,
                       struct rlhfsim_validation_errors *errors);

/* False without memory. */
static bool put_set(FILE *stream, const struct rlhfsim_validation *validation, const char *key,
                    errors_at *at) {
    struct rlhfsim_validation_errors errors;
    size_t index = 0;
    fprintf(stream, ",\n  \"%s\": {", key);
    for (; at(validation, index, &errors); index++) {
        fprintf(stream, "%s\n    ", index == 0 ? "" : ",");
        put_text(stream, errors.name);
        fputs(": ", stream);
        put_errors(stream, &errors);
    }
    fputs(index == 0 ? "}" : "\n  }", stream);
    return errors.name == NULL; /* else it stopped before the last one */
}

static void put_curves(FILE *stream, const char *name,
                       const struct rlhfsim_validation_curves *curves) {
    fprintf(stream, "\"%s\": {\"curves\": %zu, \"pairs\": %zu", name, curves->curves,
            curves->pairs);
    put_number(stream, "kendall_tau", curves->kendall_tau);
    put_number(stream, "time_kendall_tau", curves->time_kendall_tau);
    fputc('}', stream);
}

/* False without memory. */
static bool put_scaling(FILE *stream, const struct rlhfsim_validation *validation) {
    struct rlhfsim_validation_curves strong, weak;
    if (!rlhfsim_validation_scaling(validation, &strong, &weak))
        return false;
    if (strong.curves + weak.curves == 0)
        return true;
    fputs(",\n  \"scaling\": {", stream);
    put_curves(stream, "strong", &strong);
    fputs(", ", stream);
    put_curves(stream, "weak", &weak);
    fputc('}', stream);
    return true;
}

static void put_ranges(FILE *stream, const struct rlhfsim_validation *validation) {
    struct rlhfsim_validation_range range;
    for (size_t i = 0; rlhfsim_validation_range(validation, i, &range); i++) {
        fputs(i == 0 ? ",\n  \"ranges\": {\n    " : ",\n    ", stream);
        put_text(stream, range.name);
        fprintf(stream, ": {\"figures\": %zu, \"tried\": %zu, \"inside\": %zu", range.figures,
                range.tried, range.inside);
        put_number(stream, "median_width", range.median_width);
        put_number(stream, "needed_width", range.needed_width);
        fputs(", \"input\": ", stream);
        if (range.input == NULL)
            fputs("null", stream);
        else
            put_text(stream, range.input);
        fprintf(stream, ", \"input_count\": %zu}", range.input_count);
    }
    if (rlhfsim_validation_range(validation, 0, &range))
        fputs("\n  }", stream);
}

static bool put_all(FILE *stream, const struct rlhfsim_validation *validation) {
    struct rlhfsim_validation_errors overall;
    if (!rlhfsim_validation_overall(validation, &overall))
        return false;
    fputs("{\n  \"overall\": ", stream);
    put_errors(stream, &overall);
    bool good = put_set(stream, validation, "sources", rlhfsim_validation_source) &&
                put_set(stream, validation, "metrics", rlhfsim_validation_metric) &&
                put_scaling(stream, validation);
    put_ranges(stream, validation);
    fputs("\n}\n", stream);
    return good;
}

char *rlhfsim_validation_json(const struct rlhfsim_validation *validation) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return NULL;
    bool good = put_all(stream, validation);
    if (fclose(stream) == 0 && good)
        return text;
    free(text);
    return NULL;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void put_range(struct results_csv *csv, const struct validation_case *c) {
    bool known = c->skipped == NULL && c->range.low > 0.0;
    if (known) {
        results_csv_number(csv, c->range.low);
        results_csv_number(csv, c->range.high);
    } else {
        results_csv_text(csv, "");
        results_csv_text(csv, "");
    }
    results_csv_text(csv, known && c->range.input != NULL ? c->range.input : "");
}

static bool has_ranges(const struct rlhfsim_validation *validation) {
    bool found = false;
    for (size_t i = 0; i < validation->count && !found; i++)
        found = validation->cases[i].range.group != NULL;
    return found;
}

static void put_row(struct results_csv *csv, const struct validation_case *c, bool ranges) {
    results_csv_text(csv, c->source);
    results_csv_text(csv, c->name);
    results_csv_text(csv, c->metric == NULL ? "" : c->metric->name);
    if (c->metric == NULL)
        results_csv_text(csv, "");
    else
        results_csv_number(csv, c->measured);
    if (c->skipped == NULL) {
        results_csv_number(csv, c->forecast);
        results_csv_number(csv, validation_error(c));
        results_csv_text(csv, c->provenance);
        results_csv_text(csv, "");
    } else {
        for (int i = 0; i < 3; i++)
            results_csv_text(csv, "");
        results_csv_text(csv, c->skipped);
    }
    if (ranges)
        put_range(csv, c);
    results_csv_end(csv);
}

static void put_table(struct results_output *output, const struct rlhfsim_validation *validation) {
    struct results_csv csv = {.output = output};
    bool ranges = has_ranges(validation);
    results_output_text(output, "source,case,metric,measured,forecast,error,provenance,skipped");
    results_output_text(output, ranges ? ",low,high,widest_input\n" : "\n");
    for (size_t i = 0; i < validation->count; i++)
        put_row(&csv, &validation->cases[i], ranges);
}

/* Whose fault an errno is: memory, a name of the user's, or the machine's. */
static enum rlhfsim_status io_status(int error) {
    if (error == ENOMEM)
        return RLHFSIM_NO_MEMORY;
    return error == ENOTDIR ? RLHFSIM_INVALID : RLHFSIM_IO;
}

enum rlhfsim_status rlhfsim_validation_write(const struct rlhfsim_validation *validation,
                                             const char *directory,
                                             struct rlhfsim_diagnostics *diagnostics) {
    struct results_output output = {0};
    size_t made = 0;
    int error = results_directory_make(directory, &made);
    if (error == 0)
        error = results_output_open(&output, directory, "validation.csv");
    if (error == 0) {
        put_table(&output, validation);
        error = results_output_close(&output);
    }
    if (error == 0)
        error = results_output_publish(&output);
    results_output_free(&output);
    if (error == 0)
        return RLHFSIM_OK;
    results_directory_unmake(directory, made);
    return rlhfsim_diagnostics_add(diagnostics, io_status(error), directory, 0, 0,
                                   "validation.csv was not written: %s", strerror(error));
}
