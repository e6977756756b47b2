/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/training_cells.h"

#include "models/base/text.h"

#include <math.h>
#include <stdio.h>

struct cell_column {
    const char *name;
    bool needed; /* a table without it is not of this kind */
    bool whole;
};

static const struct cell_column texts[TRAINING_TEXTS] = {
    [TRAINING_SOURCE_TEXT] = {"source", true, false},
    [TRAINING_MODEL] = {"model", true, false},
    [TRAINING_GPU] = {"gpu", true, false},
    [TRAINING_SHARDING] = {"sharding", false, false},
    [TRAINING_PRECISION] = {"precision", false, false},
    [TRAINING_RECOMPUTATION] = {"activation_checkpointing", false, false},
    [TRAINING_NOTE_TEXT] = {"notes", false, false},
};

static const struct cell_column numbers[TRAINING_NUMBERS] = {
    [TRAINING_NUM_GPUS] = {"num_gpus", true, true},
    [TRAINING_SEQ_LEN] = {"seq_len", true, true},
    [TRAINING_GLOBAL_BATCH_TOKENS] = {"global_batch_tokens", true, true},
    [TRAINING_MICROBATCH] = {"microbatch", true, true},
    [TRAINING_TP] = {"tp", true, true},
    [TRAINING_PP] = {"pp", true, true},
    [TRAINING_CP] = {"cp", false, true},
    [TRAINING_EP] = {"ep", false, true},
    [TRAINING_DP] = {"dp", false, true},
    [TRAINING_VPP] = {"vpp", false, true},
    [TRAINING_PARAMS] = {"params", false, false},
    [TRAINING_TOKENS_PER_S] = {"tokens_per_s_per_gpu", false, false},
    [TRAINING_STEP_S] = {"step_s", true, false},
    [TRAINING_MFU] = {"mfu", false, false},
};

/* Sizes are kept below this, so that products of them stay exact in a double. */
#define LARGEST_COUNT 1e12

static bool find_columns(const struct csv_table *table, const struct cell_column *wanted,
                         size_t count, const char *path, struct rlhfsim_diagnostics *diagnostics,
                         size_t *found) {
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        found[i] = validation_column(table, wanted[i].name);
        if (found[i] != VALIDATION_NO_COLUMN || !wanted[i].needed)
            continue;
        (void)rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, path, 1, 1,
                                      "column '%s' is missing", wanted[i].name);
        good = false;
    }
    return good;
}

enum rlhfsim_status training_columns_find(const struct csv_table *table, const char *path,
                                          struct rlhfsim_diagnostics *diagnostics,
                                          struct training_columns *columns) {
    bool text = find_columns(table, texts, TRAINING_TEXTS, path, diagnostics, columns->text);
    bool number =
        find_columns(table, numbers, TRAINING_NUMBERS, path, diagnostics, columns->number);
    return text && number ? RLHFSIM_OK : RLHFSIM_INVALID;
}

/* Times, rates and sizes beyond these are slips, and their quotients would not be numbers. */
#define LEAST_FIGURE 1e-9
#define LARGEST_FIGURE 1e15

/* Whether a cell's text is a number that can be what its column is called. */
static bool read_number(const struct cell_column *column, const char *text, double *number) {
    if (base_number_read(text, number) != BASE_NUMBER_OK || !(*number > 0.0))
        return false;
    if (column->whole)
        return *number <= LARGEST_COUNT && floor(*number) == *number;
    return *number >= LEAST_FIGURE && *number <= LARGEST_FIGURE;
}

void training_cells_read(const struct training_columns *columns, const struct csv_row *row,
                         struct training_cells *cells) {
    *cells = (struct training_cells){0};
    for (size_t i = 0; i < TRAINING_TEXTS; i++)
        cells->text[i] = validation_cell(row, columns->text[i]);
    for (size_t i = 0; i < TRAINING_NUMBERS; i++) {
        const char *text = validation_cell(row, columns->number[i]);
        if (*text != '\0' && read_number(&numbers[i], text, &cells->number[i]))
            continue;
        cells->number[i] = (double)NAN;
        if (*text == '\0' || cells->broken != NULL)
            continue;
        cells->broken = numbers[i].name;
        cells->broken_text = text;
    }
}

bool training_cells_lack(const struct training_cells *cells, const enum training_number *wanted,
                         size_t count, char *buffer, size_t size) {
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (!isnan(cells->number[wanted[i]]) || used >= size)
            continue;
        int length = snprintf(buffer + used, size - used, "%s%s", used == 0 ? "" : ", ",
                              numbers[wanted[i]].name);
        used += length > 0 ? (size_t)length : 0;
    }
    return buffer[0] != '\0';
}

double training_cells_measured(const struct training_cells *cells, bool *derived) {
    const double *number = cells->number;
    *derived = isnan(number[TRAINING_STEP_S]);
    if (!*derived)
        return number[TRAINING_STEP_S];
    return number[TRAINING_GLOBAL_BATCH_TOKENS] /
           (number[TRAINING_TOKENS_PER_S] * number[TRAINING_NUM_GPUS]);
}
