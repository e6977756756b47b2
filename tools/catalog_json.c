/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "catalog_view.h"

#include <math.h>
#include <stdlib.h>

#define DIGITS_ENOUGH 17
#define WHOLE_LIMIT 1e15

static void print_string(FILE *stream, const char *text) {
    fputc('"', stream);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(stream, "\\%c", *c);
        else if ((unsigned char)*c < 0x20U)
            fprintf(stream, "\\u%04x", (unsigned)*c);
        else
            fputc(*c, stream);
    }
    fputc('"', stream);
}

/* Whole numbers as such, others with the fewest digits that read back as the same number. */
static void print_number(FILE *stream, double number) {
    char text[40];
    if (fabs(number) < WHOLE_LIMIT && floor(number) >= number) {
        fprintf(stream, "%.0f", number);
        return;
    }
    for (int digits = 1; digits <= DIGITS_ENOUGH; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (!(strtod(text, NULL) < number || strtod(text, NULL) > number))
            break;
    }
    fputs(text, stream);
}

static void print_cell(FILE *stream, const struct rlhfsim_catalog_cell *cell) {
    switch (cell->type) {
    case RLHFSIM_CATALOG_TEXT:
        print_string(stream, cell->text);
        break;
    case RLHFSIM_CATALOG_NUMBER:
        print_number(stream, cell->number);
        break;
    case RLHFSIM_CATALOG_FLAG:
        fputs(cell->flag ? "true" : "false", stream);
        break;
    case RLHFSIM_CATALOG_UNKNOWN:
        fputs("null", stream);
        break;
    }
}

static void print_aliases(FILE *stream, const struct rlhfsim_catalog *catalog,
                          enum rlhfsim_catalog_kind kind, const char *name) {
    const char *alias;
    fputs(", \"aliases\": [", stream);
    for (size_t i = 0; (alias = rlhfsim_catalog_alias(catalog, kind, name, i)) != NULL; i++) {
        fputs(i == 0 ? "" : ", ", stream);
        print_string(stream, alias);
    }
    fputc(']', stream);
}

static void print_row(FILE *stream, const struct rlhfsim_catalog *catalog,
                      enum rlhfsim_catalog_kind kind, const char *name) {
    struct rlhfsim_catalog_column column;
    struct rlhfsim_catalog_cell cell;
    fputc('{', stream);
    for (size_t i = 0; rlhfsim_catalog_column(kind, i, &column); i++) {
        if (!rlhfsim_catalog_cell(catalog, kind, name, i, &cell))
            continue;
        fputs(i == 0 ? "" : ", ", stream);
        print_string(stream, column.name);
        fputs(": ", stream);
        print_cell(stream, &cell);
    }
    print_aliases(stream, catalog, kind, name);
    fputc('}', stream);
}

static void print_list(FILE *stream, const struct rlhfsim_catalog *catalog,
                       enum rlhfsim_catalog_kind kind, const char *section) {
    const char *name, *lead = "";
    fputs("[\n", stream);
    for (size_t i = 0; (name = rlhfsim_catalog_name(catalog, kind, i)) != NULL; i++) {
        if (!catalog_view_is_below(section, name))
            continue;
        fputs(lead, stream);
        print_row(stream, catalog, kind, name);
        lead = ",\n";
    }
    fputs("\n]", stream);
}

void catalog_json_kinds(FILE *stream, const struct rlhfsim_catalog *catalog) {
    for (int index = 0; index < RLHFSIM_CATALOG_KINDS; index++) {
        enum rlhfsim_catalog_kind kind = (enum rlhfsim_catalog_kind)index;
        fputs(index == 0 ? "{" : ",\n", stream);
        print_string(stream, rlhfsim_catalog_kind_name(kind));
        fputs(": ", stream);
        print_list(stream, catalog, kind, NULL);
    }
    fputs("}\n", stream);
}

void catalog_json_list(FILE *stream, const struct rlhfsim_catalog *catalog,
                       enum rlhfsim_catalog_kind kind, const char *section) {
    print_list(stream, catalog, kind, section);
    fputc('\n', stream);
}

void catalog_json_row(FILE *stream, const struct rlhfsim_catalog *catalog,
                      enum rlhfsim_catalog_kind kind, const char *name) {
    print_row(stream, catalog, kind, name);
    fputc('\n', stream);
}
