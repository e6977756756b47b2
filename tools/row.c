/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const paths[] = {
    "time.step_s",
    "time.phases_s.rollout",
    "time.phases_s.transition",
    "time.phases_s.reward",
    "time.phases_s.actor_logprob",
    "time.phases_s.reference_logprob",
    "time.phases_s.values",
    "time.phases_s.critic_update",
    "time.phases_s.actor_update",
    "time.phases_s.weight_sync",
    "time.phases_s.checkpoint",
    "time.phases_s.validation",
    "time.total_s",
    "cost.total_usd",
    "memory.peak_bytes",
    "memory.fits",
    "rollout.share_cut",
};
#define PATHS (sizeof paths / sizeof paths[0])

/* Of these the ends: where a measured step is expected. */
static const char band_path[] = "band.expected_step_s";
#define FIGURES (PATHS + 2)

static const char *const status_names[ROW_STATUSES] = {"ok", "infeasible", "illegal"};

const char *row_status_name(enum row_status status) {
    return status_names[status];
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void write_text(FILE *stream, const char *text) {
    bool quoted = text[strcspn(text, ",\"\r\n")] != '\0';
    fputs(quoted ? ",\"" : ",", stream);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            putc('"', stream);
        putc(*text == '\n' || *text == '\r' ? ' ' : *text, stream);
    }
    if (quoted)
        putc('"', stream);
}

/* The shortest of 15, 16 and 17 digits that reads back to the number. */
static void write_number(FILE *stream, double number) {
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    fprintf(stream, ",%s", text);
}

static void write_value(FILE *stream, const struct rlhfsim_value *value) {
    switch (value->kind) {
    case RLHFSIM_VALUE_FIGURE:
        write_number(stream, value->p50);
        break;
    case RLHFSIM_VALUE_NUMBER:
        write_number(stream, value->number);
        break;
    case RLHFSIM_VALUE_COUNT:
        write_number(stream, (double)value->count);
        break;
    case RLHFSIM_VALUE_FLAG:
        write_text(stream, value->flag ? "true" : "false");
        break;
    case RLHFSIM_VALUE_TEXT:
        write_text(stream, value->text);
        break;
    case RLHFSIM_VALUE_UNKNOWN:
        putc(',', stream);
        break;
    }
}

static void write_band(FILE *stream, const struct rlhfsim_summary *summary) {
    struct rlhfsim_value band = {.kind = RLHFSIM_VALUE_UNKNOWN};
    if (summary != NULL)
        rlhfsim_summary_get(summary, band_path, &band);
    if (band.kind != RLHFSIM_VALUE_FIGURE) {
        fputs(",,", stream);
        return;
    }
    write_number(stream, band.p10);
    write_number(stream, band.p90);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static char *finish(FILE *stream, char *const *text) {
    putc('\n', stream);
    bool failed = ferror(stream) != 0;
    if (fclose(stream) == 0 && !failed)
        return *text;
    free(*text);
    return NULL;
}

char *row_header(const struct grid *grid) {
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return NULL;
    fputs("point", stream);
    for (size_t i = 0; i < grid->axis_count; i++)
        write_text(stream, grid->axes[i].key);
    fputs(",status,reason", stream);
    for (size_t i = 0; i < PATHS; i++)
        fprintf(stream, ",%s", paths[i]);
    fprintf(stream, ",%s.p10,%s.p90", band_path, band_path);
    return finish(stream, &text);
}

char *row_print(const struct grid *grid, size_t point, enum row_status status, const char *reason,
                const struct rlhfsim_summary *summary) {
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return NULL;
    fprintf(stream, "%zu", point);
    for (size_t i = 0; i < grid->axis_count; i++)
        write_text(stream, grid_value(grid, point, i));
    write_text(stream, status_names[status]);
    write_text(stream, reason == NULL ? "" : reason);
    for (size_t i = 0; i < PATHS; i++) {
        struct rlhfsim_value value = {.kind = RLHFSIM_VALUE_UNKNOWN};
        if (summary != NULL)
            rlhfsim_summary_get(summary, paths[i], &value);
        write_value(stream, &value);
    }
    write_band(stream, summary);
    return finish(stream, &text);
}

/* ---- reading back ---------------------------------------------------------------------------- */

/* The cell after this one; NULL past the last. A comma within quotes does not end a cell. */
static const char *next_cell(const char *cell) {
    bool quoted = false;
    for (; *cell != '\0' && *cell != '\n'; cell++) {
        if (*cell == '"')
            quoted = !quoted;
        else if (*cell == ',' && !quoted)
            return cell + 1;
    }
    return NULL;
}

static size_t count_cells(const char *line) {
    size_t count = 0;
    for (; line != NULL; line = next_cell(line))
        count++;
    return count;
}

static bool read_status(const char *cell, enum row_status *status) {
    size_t length = strcspn(cell, ",\n");
    for (size_t i = 0; i < ROW_STATUSES; i++)
        if (strlen(status_names[i]) == length && memcmp(cell, status_names[i], length) == 0) {
            *status = (enum row_status)i;
            return true;
        }
    return false;
}

/* Counted from the end: status, reason and the figures are the last cells. */
bool row_read(const char *header, const char *line, size_t *point, enum row_status *status) {
    char *end;
    size_t cells = count_cells(line);
    if (*line < '0' || *line > '9' || cells != count_cells(header) || cells < FIGURES + 3)
        return false;
    *point = (size_t)strtoull(line, &end, 10);
    if (*end != ',')
        return false;
    const char *cell = line;
    for (size_t i = 0; i < cells - FIGURES - 2; i++)
        cell = next_cell(cell);
    return read_status(cell, status);
}
