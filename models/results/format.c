/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Most numbers of a timeline are whole (bytes, FLOPs) or have few decimals, and a run writes
 * hundreds of thousands of them, so those two kinds never reach printf:
 *
 * - a whole number below 2^63 is printed as the integer it is;
 * - t = round(|x| 10^k) below 2^53 is exact, and so is 10^k: t / 10^k is then the double nearest to
 *   the decimal number t x 10^-k, because division rounds correctly. Where it equals x, that
 *   decimal number reads back to x, and it is printed from the integer t.
 *
 * Whatever is left takes 16 significant digits of printf, or 17 where 16 do not read back, laid out
 * anew so that the locale's decimal point does not matter. (Trying 15 first costs a third more and
 * hardly ever saves a digit: short numbers went the other ways.) On one core of a small machine the
 * first two take 20-40 ns, the last 1 us.
 */
#include "models/results/format.h"

#include "sim/contract.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_LIMIT 20 /* of 2^64 - 1 */

/* Writes the digits of `value`, at least `width` of them. */
static size_t write_digits(uint64_t value, int width, char *text) {
    char reversed[DIGITS_LIMIT];
    size_t n = 0;
    do {
        reversed[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    while (n < (size_t)width)
        reversed[n++] = '0';
    for (size_t i = 0; i < n; i++)
        text[i] = reversed[n - 1 - i];
    return n;
}

static uint64_t magnitude(int64_t value) {
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

size_t results_format_decimal(int64_t value, int decimals, char *text) {
    CONTRACT(0 <= decimals && decimals < DIGITS_LIMIT - 1, "at most 18 decimals");
    size_t length = 0;
    if (value < 0)
        text[length++] = '-';
    size_t digits = write_digits(magnitude(value), decimals + 1, text + length);
    length += digits;
    if (decimals > 0) {
        char *point = text + length - decimals;
        memmove(point + 1, point, (size_t)decimals);
        *point = '.';
        length++;
        while (text[length - 1] == '0')
            length--;
        if (text[length - 1] == '.')
            length--;
    }
    text[length] = '\0';
    return length;
}

size_t results_format_integer(int64_t value, char *text) {
    return results_format_decimal(value, 0, text);
}

/* ---- doubles ---------------------------------------------------------------------------------*/

static bool format_whole(double value, char *text, size_t *length) {
    if (fabs(value) >= 0x1p63 || value != trunc(value))
        return false;
    *length = results_format_integer((int64_t)value, text);
    return true;
}

static bool format_few_decimals(double value, char *text, size_t *length) {
    static const struct {
        int decimals;
        double scale;
    } tries[] = {{3, 1e3}, {6, 1e6}, {9, 1e9}, {12, 1e12}, {15, 1e15}};
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        double scaled = nearbyint(value * tries[i].scale);
        if (fabs(scaled) >= 0x1p53)
            return false;
        if (scaled / tries[i].scale != value)
            continue;
        *length = results_format_decimal((int64_t)scaled, tries[i].decimals, text);
        return true;
    }
    return false;
}

/* A positive number as 0.DIGITS x 10^place, without trailing zeros. */
struct scientific {
    char digits[DIGITS_LIMIT];
    int count, place;
};

static void split_scientific(double value, struct scientific *parts) {
    char printed[RESULTS_NUMBER_SIZE];
    snprintf(printed, sizeof printed, "%.15e", value);
    if (strtod(printed, NULL) != value)
        snprintf(printed, sizeof printed, "%.16e", value);
    const char *c = printed;
    parts->count = 0;
    for (; *c != 'e'; c++)
        if ('0' <= *c && *c <= '9') /* not the locale's point, of however many bytes */
            parts->digits[parts->count++] = *c;
    while (parts->count > 1 && parts->digits[parts->count - 1] == '0')
        parts->count--;
    parts->place = (int)strtol(c + 1, NULL, 10) + 1;
}

static size_t write_positional(const struct scientific *parts, char *text) {
    size_t length = 0;
    if (parts->place <= 0)
        text[length++] = '0';
    for (int i = parts->place < 0 ? parts->place : 0; i < parts->count; i++) {
        if (i == parts->place)
            text[length++] = '.';
        text[length++] = i < 0 ? '0' : parts->digits[i];
    }
    return length;
}

static size_t write_exponent(const struct scientific *parts, char *text) {
    size_t length = 0;
    text[length++] = parts->digits[0];
    if (parts->count > 1)
        text[length++] = '.';
    memcpy(text + length, parts->digits + 1, (size_t)parts->count - 1);
    length += (size_t)parts->count - 1;
    text[length++] = 'e';
    return length + results_format_integer(parts->place - 1, text + length);
}

static size_t format_any(double value, char *text) {
    struct scientific parts;
    size_t length = 0;
    if (value < 0)
        text[length++] = '-';
    split_scientific(fabs(value), &parts);
    bool positional = -5 < parts.place && parts.place < parts.count;
    length += positional ? write_positional(&parts, text + length)
                         : write_exponent(&parts, text + length);
    text[length] = '\0';
    return length;
}

size_t results_format_number(double value, char *text) {
    size_t length;
    CONTRACT(isfinite(value), "numbers in files are finite");
    if (format_whole(value, text, &length) || format_few_decimals(value, text, &length))
        return length;
    return format_any(value, text);
}
