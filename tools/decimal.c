/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decimal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PLACES 18
#define LARGEST INT64_C(999999999999999999) /* 18 digits */

static struct decimal trimmed(struct decimal number) {
    while (number.places > 0 && number.digits % 10 == 0) {
        number.digits /= 10;
        number.places--;
    }
    return number;
}

bool decimal_read(const char *text, size_t length, struct decimal *number) {
    struct decimal read = {0};
    bool point = false, any = false;
    for (size_t i = 0; i < length; i++) {
        bool digit = '0' <= text[i] && text[i] <= '9';
        if (text[i] == '.' && !point)
            point = true;
        else if (!digit || read.digits > LARGEST / 10 || (point && read.places == PLACES))
            return false;
        else {
            read.digits = 10 * read.digits + (text[i] - '0');
            read.places += point;
            any = true;
        }
    }
    if (!any || text[length - 1] == '.')
        return false;
    *number = trimmed(read);
    return true;
}

/* Brings the number to that many places, which it has at most. False where it gets too long. */
static bool widen(struct decimal *number, int places) {
    for (; number->places < places; number->places++) {
        if (number->digits > LARGEST / 10)
            return false;
        number->digits *= 10;
    }
    return true;
}

bool decimal_add(struct decimal a, struct decimal b, struct decimal *result) {
    int places = a.places > b.places ? a.places : b.places;
    if (!widen(&a, places) || !widen(&b, places) || a.digits > LARGEST - b.digits)
        return false;
    *result = trimmed((struct decimal){a.digits + b.digits, places});
    return true;
}

bool decimal_multiply(struct decimal a, struct decimal b, struct decimal *result) {
    int places = a.places + b.places;
    if (a.digits != 0 && b.digits > LARGEST / a.digits)
        return false;
    struct decimal product = trimmed((struct decimal){a.digits * b.digits, places});
    if (product.places > PLACES)
        return false;
    *result = product;
    return true;
}

/* Whole parts first, then the fractions, which fit 18 places. */
int decimal_compare(struct decimal a, struct decimal b) {
    int64_t scale_a = 1, scale_b = 1;
    for (int i = 0; i < a.places; i++)
        scale_a *= 10;
    for (int i = 0; i < b.places; i++)
        scale_b *= 10;
    int64_t whole_a = a.digits / scale_a, whole_b = b.digits / scale_b;
    if (whole_a != whole_b)
        return whole_a < whole_b ? -1 : 1;
    struct decimal rest_a = {a.digits % scale_a, a.places};
    struct decimal rest_b = {b.digits % scale_b, b.places};
    int places = a.places > b.places ? a.places : b.places;
    (void)widen(&rest_a, places);
    (void)widen(&rest_b, places);
    return (rest_a.digits > rest_b.digits) - (rest_a.digits < rest_b.digits);
}

void decimal_print(struct decimal number, char text[DECIMAL_TEXT]) {
    char digits[DECIMAL_TEXT];
    number = trimmed(number);
    int length = snprintf(digits, sizeof digits, "%0*" PRId64, number.places + 1, number.digits);
    int whole = length - number.places;
    (void)snprintf(text, DECIMAL_TEXT, "%.*s%s%s", whole, digits, number.places > 0 ? "." : "",
                   digits + whole);
}
