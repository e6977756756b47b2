/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_RESULTS_FORMAT_H
#define MODELS_RESULTS_FORMAT_H

/*
 * Numbers as text for the files of a run: the same bytes in every locale, a `.` before the
 * decimals, and every number reads back to the value it was written from. Each function writes at
 * most RESULTS_NUMBER_SIZE bytes with the terminator and returns the length without it.
 */

#include <stddef.h>
#include <stdint.h>

#define RESULTS_NUMBER_SIZE 48

size_t results_format_integer(int64_t value, char *text);

/* value / 10^decimals, exactly, without trailing zeros; decimals from 0 to 18. Nanoseconds become
 * seconds with 9 decimals and microseconds with 3. */
size_t results_format_decimal(int64_t value, int decimals, char *text);

/* The shortest of the forms tried that strtod reads back to exactly `value`, which is finite. */
size_t results_format_number(double value, char *text);

#endif
