/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/stated.h"

#include "models/base/text.h"

#include <math.h>
#include <string.h>

static bool begins_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

/* The next statement about the row from `*index` on; NULL where there is no more. */
static const struct catalog_stated *next_stated(const struct catalog *catalog,
                                                const struct training_cells *cells, size_t *index) {
    const struct catalog_stated *stated;
    while ((stated = catalog_stated_at(catalog, (*index)++)) != NULL)
        if (begins_with(cells->text[TRAINING_SOURCE_TEXT], stated->table) &&
            begins_with(cells->text[TRAINING_MODEL], stated->model) &&
            strstr(cells->text[TRAINING_NOTE_TEXT], stated->remark) != NULL)
            return stated;
    return NULL;
}

static void fill_number(struct training_cells *cells, enum training_number cell, double number) {
    if (isnan(cells->number[cell]))
        cells->number[cell] = number;
}

static void fill_text(struct training_cells *cells, enum training_text cell, const char *text) {
    if (cells->text[cell][0] == '\0')
        cells->text[cell] = text;
}

static void fill_cell(const struct catalog_stated *stated, struct training_cells *cells) {
    switch (stated->field) {
    case STATED_LONGEST_SEQ_LEN:
        fill_number(cells, TRAINING_SEQ_LEN, stated->number);
        break;
    case STATED_MICROBATCH:
        fill_number(cells, TRAINING_MICROBATCH, stated->number);
        break;
    case STATED_TP:
        fill_number(cells, TRAINING_TP, stated->number);
        break;
    case STATED_PP:
        fill_number(cells, TRAINING_PP, stated->number);
        break;
    case STATED_SHARDING:
        fill_text(cells, TRAINING_SHARDING, stated->value);
        break;
    case STATED_PRECISION:
        fill_text(cells, TRAINING_PRECISION, stated->value);
        break;
    case STATED_RECOMPUTATION:
        fill_text(cells, TRAINING_RECOMPUTATION, stated->value);
        break;
    case STATED_FUSION:
    case STATED_LOGITS:
    case STATED_OPTIMIZER:
    case STATED_LOADS:
    case STATED_UNSUPPORTED:
    case STATED_FIELDS: /* no cell has them */
        break;
    }
}

void stated_cells_fill(const struct catalog *catalog, struct training_cells *cells) {
    const struct catalog_stated *stated;
    size_t index = 0;
    while ((stated = next_stated(catalog, cells, &index)) != NULL)
        fill_cell(stated, cells);
}

bool stated_row_fill(const struct catalog *catalog, const struct training_cells *cells,
                     struct training_row *row) {
    const struct catalog_stated *stated;
    size_t index = 0;
    while ((stated = next_stated(catalog, cells, &index)) != NULL) {
        if (stated->field == STATED_UNSUPPORTED)
            base_text_copy(row->reason, sizeof row->reason, stated->value);
        else if (stated->field == STATED_LOADS)
            row->loads_whole = strcmp(stated->value, "whole") == 0;
        else if (stated->field == STATED_FUSION)
            (void)training_fusion_find(stated->value, &row->plan.fusion);
        else if (stated->field == STATED_LOGITS)
            (void)training_logits_find(stated->value, &row->plan.logits);
    }
    return row->reason[0] == '\0';
}

bool stated_optimizer(const struct catalog *catalog, const struct training_cells *cells) {
    const struct catalog_stated *stated;
    size_t index = 0;
    while ((stated = next_stated(catalog, cells, &index)) != NULL)
        if (stated->field == STATED_OPTIMIZER)
            return true;
    return false;
}
