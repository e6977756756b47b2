/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_DECIMAL_H
#define TOOLS_DECIMAL_H

/*
 * Decimal numbers as people write them, without the rounding of binary ones: 0.1 added ten times to
 * 0 is 1, and prints as "1". A number is digits / 10^places, not negative, with at most 18 digits.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct decimal {
    int64_t digits;
    int places; /* from 0 to 18 */
};

#define DECIMAL_TEXT 24

/* Reads all of `length` bytes: digits, at most one point between or before them ("0.25", ".25").
 * False for anything else and for more than 18 digits behind leading zeros. */
bool decimal_read(const char *text, size_t length, struct decimal *number);

/* False, with *result untouched, where the exact result has too many digits. */
bool decimal_add(struct decimal a, struct decimal b, struct decimal *result);
bool decimal_multiply(struct decimal a, struct decimal b, struct decimal *result);

/* Below, at or above 0 as a is less than, equal to or more than b. */
int decimal_compare(struct decimal a, struct decimal b);

/* Without zeros at the end of a fraction and with one before the point: "0.1", "1", "250". */
void decimal_print(struct decimal number, char text[DECIMAL_TEXT]);

#endif
