/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/results/csv.h"

#include "models/results/format.h"

#include <string.h>

static void separate(struct results_csv *csv) {
    if (csv->in_row)
        results_output_write(csv->output, ",", 1);
    csv->in_row = true;
}

static bool looks_like_formula(const char *text) {
    return text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL;
}

static void write_quoted(struct results_output *output, const char *text) {
    for (;;) {
        const char *quote = strchr(text, '"');
        if (quote == NULL)
            break;
        results_output_write(output, text, (size_t)(quote - text) + 1);
        results_output_write(output, "\"", 1);
        text = quote + 1;
    }
    results_output_text(output, text);
}

void results_csv_text(struct results_csv *csv, const char *text) {
    bool quoted = text[strcspn(text, ",\"\r\n")] != '\0';
    separate(csv);
    if (quoted)
        results_output_write(csv->output, "\"", 1);
    if (looks_like_formula(text))
        results_output_write(csv->output, "'", 1);
    if (quoted) {
        write_quoted(csv->output, text);
        results_output_write(csv->output, "\"", 1);
    } else {
        results_output_text(csv->output, text);
    }
}

static void write_field(struct results_csv *csv, const char *text, size_t length) {
    separate(csv);
    results_output_write(csv->output, text, length);
}

void results_csv_integer(struct results_csv *csv, int64_t value) {
    char text[RESULTS_NUMBER_SIZE];
    write_field(csv, text, results_format_integer(value, text));
}

void results_csv_number(struct results_csv *csv, double value) {
    char text[RESULTS_NUMBER_SIZE];
    write_field(csv, text, results_format_number(value, text));
}

void results_csv_seconds(struct results_csv *csv, sim_time time) {
    char text[RESULTS_NUMBER_SIZE];
    write_field(csv, text, results_format_decimal(time, 9, text));
}

void results_csv_end(struct results_csv *csv) {
    results_output_write(csv->output, "\n", 1);
    csv->in_row = false;
}
