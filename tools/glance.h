/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_GLANCE_H
#define TOOLS_GLANCE_H

/*
 * The table of a sweep at a glance, for the terminal: the number of the point, its keys, whether it
 * fits, time, money and memory in aligned columns, as people read them. The first rows only.
 */

#include "table.h"

#include <stdio.h>

#define GLANCE_ROWS 40

void glance_print(FILE *stream, const struct table *table);

#endif
