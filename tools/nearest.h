/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_NEAREST_H
#define TOOLS_NEAREST_H

/* Which known word a mistyped one was meant to be. */

#include <stddef.h>

/* The least number of letters to insert, drop, replace or swap with their neighbour that turns one
 * word into the other. Words of up to 63 letters; of longer ones the first 63 count. */
size_t nearest_distance(const char *a, const char *b);

/* Whether a word at that distance is near enough to be offered: a third of its length, at least
 * one letter. */
int nearest_is_near(const char *word, size_t distance);

#endif
