/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/log_forms.h"

#include "models/base/file.h"
#include "models/base/text.h"
#include "models/scenario/csv_table.h"

#include <math.h>
#include <string.h>

enum role { STEP_NUMBER, PHASE, SECONDS, PROMPT, RESPONSE, TIMER, IDLE };

struct column {
    enum role role;
    unsigned timer; /* of TIMER */
};

struct table {
    const char *path;
    struct rlhfsim_diagnostics *diagnostics;
    struct log_steps *steps;
    size_t first; /* step of this file */
    size_t last;  /* that was found */
    struct csv_table csv;
    struct column columns[CSV_COLUMN_LIMIT];
    bool is_long;
    enum rlhfsim_status status;
};

static void blame(struct table *table, const struct csv_cell *cell, const char *expected) {
    char quoted[BASE_QUOTE_SIZE];
    table->status = tree_error(table->diagnostics, cell->place, "%s: expected %s",
                               base_quote(cell->text, quoted), expected);
}

static void blame_name(struct table *table, const struct csv_cell *cell, const char *what,
                       const char *near) {
    char quoted[BASE_QUOTE_SIZE];
    table->status =
        tree_error(table->diagnostics, cell->place, "%s is no %s that is known%s%s%s; known are %s",
                   base_quote(cell->text, quoted), what, near == NULL ? "" : "; did you mean '",
                   near == NULL ? "" : near, near == NULL ? "" : "'?",
                   "rollout, reward, actor_logprob, reference_logprob, values, "
                   "critic_update, actor_update, weight_sync, step and the names of "
                   "frameworks");
}

/* ---- the header ------------------------------------------------------------------------------ */

/* In a table of one step a row, "step" is its number where another column has its seconds. */
static struct column column_of(struct table *table, const struct csv_cell *cell) {
    static const struct {
        const char *name;
        enum role role;
    } roles[] = {{"step", STEP_NUMBER},
                 {"phase", PHASE},
                 {"seconds", SECONDS},
                 {"prompt_tokens", PROMPT},
                 {"response_tokens", RESPONSE}};
    const char *near;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(cell->text, roles[i].name) == 0)
            return (struct column){roles[i].role, 0};
    unsigned timer = log_timer_find(cell->text, &near);
    if (timer == LOG_TIMER_UNKNOWN)
        blame_name(table, cell, "column", near);
    return (struct column){timer < LOG_TIMERS ? TIMER : IDLE, timer};
}

static bool same_column(const struct column *a, const struct column *b) {
    return a->role == b->role && (a->role != TIMER || a->timer == b->timer) && a->role != IDLE;
}

static void read_header(struct table *table) {
    bool has[IDLE + 1] = {false};
    for (size_t i = 0; i < table->csv.columns; i++) {
        const struct csv_cell *cell = &table->csv.header[i];
        table->columns[i] = column_of(table, cell);
        for (size_t j = 0; j < i; j++)
            if (same_column(&table->columns[i], &table->columns[j]))
                table->status = tree_error(table->diagnostics, cell->place,
                                           "'%s' and '%s' are two columns of one timer",
                                           table->csv.header[j].text, cell->text);
        has[table->columns[i].role] = true;
    }
    table->is_long = has[PHASE] || has[SECONDS];
    if (table->is_long &&
        (!has[PHASE] || !has[SECONDS] || has[TIMER] || has[PROMPT] || has[RESPONSE]) &&
        table->status == RLHFSIM_OK)
        table->status = rlhfsim_diagnostics_add(
            table->diagnostics, RLHFSIM_INVALID, table->path, 1, 1,
            "expected the columns step, phase and seconds, or step and one for each timer");
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool read_step_number(struct table *table, const struct csv_row *row, int64_t *number) {
    *number = 1;
    for (size_t i = 0; i < table->csv.columns; i++) {
        if (table->columns[i].role != STEP_NUMBER)
            continue;
        if (base_integer_read(row->cells[i].text, number) == BASE_NUMBER_OK && *number >= 0)
            return true;
        blame(table, &row->cells[i], "the number of a step");
        return false;
    }
    return true;
}

/* The step of that number; rows of one are mostly together, or in the order of the steps. */
static struct log_step *step_of(struct table *table, int64_t number) {
    struct log_steps *steps = table->steps;
    size_t count = steps->count - table->first;
    for (size_t i = 0; i < count; i++) {
        size_t at = table->first + (table->last - table->first + i) % count;
        if (steps->at[at].number != number)
            continue;
        table->last = at;
        return &steps->at[at];
    }
    struct log_step *step = log_steps_add(steps, number);
    table->last = steps->count - 1;
    if (step == NULL)
        table->status = RLHFSIM_NO_MEMORY;
    return step;
}

/* An empty cell leaves the value as it is. */
static void read_value(struct table *table, const struct csv_cell *cell, const char *expected,
                       double *value) {
    double number;
    if (cell->text[0] == '\0')
        return;
    if (base_number_read(cell->text, &number) != BASE_NUMBER_OK || number < 0.0)
        blame(table, cell, expected);
    else if (!isnan(*value))
        blame(table, cell, "one row of a step and timer, this is a second one");
    else
        *value = number;
}

#define SECONDS_EXPECTED "seconds, a number from 0 on"

static void read_long(struct table *table, const struct csv_row *row, struct log_step *step) {
    const struct csv_cell *phase = NULL, *seconds = NULL;
    const char *near;
    for (size_t i = 0; i < table->csv.columns; i++) {
        phase = table->columns[i].role == PHASE ? &row->cells[i] : phase;
        seconds = table->columns[i].role == SECONDS ? &row->cells[i] : seconds;
    }
    double idle = (double)NAN;
    unsigned timer = log_timer_find(phase->text, &near);
    if (timer == LOG_TIMER_UNKNOWN)
        blame_name(table, phase, "phase", near);
    else
        read_value(table, seconds, SECONDS_EXPECTED,
                   timer < LOG_TIMERS ? &step->seconds[timer] : &idle);
}

static void read_wide(struct table *table, const struct csv_row *row, struct log_step *step) {
    for (size_t i = 0; i < table->csv.columns; i++) {
        const struct csv_cell *cell = &row->cells[i];
        double idle = (double)NAN;
        switch (table->columns[i].role) {
        case TIMER:
            read_value(table, cell, SECONDS_EXPECTED, &step->seconds[table->columns[i].timer]);
            break;
        case PROMPT:
            read_value(table, cell, "tokens, a number from 0 on", &step->prompt_tokens);
            break;
        case RESPONSE:
            read_value(table, cell, "tokens, a number from 0 on", &step->response_tokens);
            break;
        case IDLE:
            read_value(table, cell, SECONDS_EXPECTED, &idle);
            break;
        case STEP_NUMBER:
        case PHASE:
        case SECONDS:
            break;
        }
    }
}

static void read_rows(struct table *table) {
    for (const struct csv_row *row = table->csv.rows;
         row != NULL && table->status != RLHFSIM_NO_MEMORY; row = row->next) {
        int64_t number;
        if (!read_step_number(table, row, &number))
            continue;
        struct log_step *step = step_of(table, number);
        if (step == NULL)
            return;
        if (table->is_long)
            read_long(table, row, step);
        else
            read_wide(table, row, step);
    }
}

enum rlhfsim_status log_table_read(struct log_steps *steps, FILE *stream, const char *path,
                                   struct rlhfsim_diagnostics *diagnostics) {
    struct base_arena arena = {0};
    struct base_file file;
    struct table table = {.path = path,
                          .diagnostics = diagnostics,
                          .steps = steps,
                          .first = steps->count,
                          .last = steps->count,
                          .status = RLHFSIM_OK};
    enum rlhfsim_status status = base_file_read_stream(stream, path, diagnostics, &file);
    if (status != RLHFSIM_OK)
        return status;
    status = csv_table_read(&arena, path, file.text, file.length, diagnostics, &table.csv);
    if (status == RLHFSIM_OK) {
        read_header(&table);
        if (table.status == RLHFSIM_OK)
            read_rows(&table);
        status = table.status;
    }
    base_arena_release(&arena);
    base_file_release(&file);
    return status;
}
