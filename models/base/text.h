/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_BASE_TEXT_H
#define MODELS_BASE_TEXT_H

/*
 * Text that users type: names that are nearly right, numbers by a strict grammar, and quoting for
 * messages.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- nearest name ---------------------------------------------------------------------------- */

/* Finds the known name that a mistyped one most likely stands for: offer every candidate, then ask.
 * The distance is Damerau's and Levenshtein's (insertions, deletions, substitutions, swaps of
 * neighbours), blind to case; a third of the wanted name may differ. Where no candidate is that
 * near, the shortest one that contains the wanted name (3 characters or more) is taken: "H100" for
 * "H100-SXM5-80GB". Of equally near ones the first offered wins. */
struct base_nearest {
    const char *wanted;
    const char *near;
    size_t distance;
    const char *container;
};

void base_nearest_start(struct base_nearest *nearest, const char *wanted);
void base_nearest_offer(struct base_nearest *nearest, const char *candidate);
/* NULL when nothing is near. */
const char *base_nearest_name(const struct base_nearest *nearest);

/* The distance as defined above; SIZE_MAX where one of the names is longer than 64 bytes. */
size_t base_edit_distance(const char *a, const char *b);

/* ---- numbers --------------------------------------------------------------------------------- */

enum base_number_result {
    BASE_NUMBER_OK,
    BASE_NUMBER_SYNTAX, /* not a number of the grammar */
    BASE_NUMBER_RANGE   /* too large for the type */
};

/* Whole numbers: an optional sign and decimal digits without leading zeros. No hex, octal,
 * underscores, exponent or surrounding space. *value is set with BASE_NUMBER_OK only. */
enum base_number_result base_integer_read(const char *text, int64_t *value);

/* Real numbers: as above with an optional fraction (".5" and "0.5", not "5.") and an optional
 * exponent. No nan, no inf; a number that overflows is BASE_NUMBER_RANGE. */
enum base_number_result base_number_read(const char *text, double *value);

/* The same on a prefix: returns how many bytes form a number (0: none) and reads it. */
size_t base_number_length(const char *text);

/* ---- quoting --------------------------------------------------------------------------------- */

#define BASE_QUOTE_SIZE 80

/* Writes `text` for a message: a number as it is, anything else in single quotes; long text is cut
 * between characters and ends in "...". Returns `buffer`. */
const char *base_quote(const char *text, char buffer[static BASE_QUOTE_SIZE]);

/* Copies UTF-8 text into `buffer` of `size` bytes, at least 1; what is too long is cut between two
 * characters. */
void base_text_copy(char *buffer, size_t size, const char *text);

#endif
