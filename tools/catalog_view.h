/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_CATALOG_VIEW_H
#define TOOLS_CATALOG_VIEW_H

/* How the catalog is shown: lists as aligned tables of the main figures, a row with everything it
 * has, both also as JSON. */

#include <rlhfsim/rlhfsim.h>

#include <stdio.h>

/* The kinds, with the number of rows of each. */
void catalog_view_kinds(FILE *stream, const struct rlhfsim_catalog *catalog);

/* Whether a name is that of a key below the section: training.tp below training. All are below
 * NULL. */
bool catalog_view_is_below(const char *section, const char *name);

/* All rows of a kind, or those below a section; one row by its name. */
void catalog_view_list(FILE *stream, const struct rlhfsim_catalog *catalog,
                       enum rlhfsim_catalog_kind kind, const char *section);
void catalog_view_row(FILE *stream, const struct rlhfsim_catalog *catalog,
                      enum rlhfsim_catalog_kind kind, const char *name);

/* The same as JSON: an object of arrays for all kinds, an array of a kind, an object of a row.
 * Keys are the columns; figures that are not known are null. */
void catalog_json_kinds(FILE *stream, const struct rlhfsim_catalog *catalog);
void catalog_json_list(FILE *stream, const struct rlhfsim_catalog *catalog,
                       enum rlhfsim_catalog_kind kind, const char *section);
void catalog_json_row(FILE *stream, const struct rlhfsim_catalog *catalog,
                      enum rlhfsim_catalog_kind kind, const char *name);

#endif
