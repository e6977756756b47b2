/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The edit distance is the restricted Damerau-Levenshtein distance ("optimal string alignment"):
 *
 *     d(i,j) = min( d(i-1,j) + 1, d(i,j-1) + 1, d(i-1,j-1) + [a_i != b_j],
 *                   d(i-2,j-2) + 1 where a_i a_(i-1) = b_(j-1) b_j )
 *
 * with three rows kept. Bytes stand for characters: known names are ASCII.
 *
 * Numbers go through our own grammar first, because strtod also takes "0x10", "nan" and "inf" and
 * skips spaces.
 */
#include "models/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_LIMIT 64

static unsigned lower(char c) {
    unsigned byte = (unsigned char)c;
    return byte >= 'A' && byte <= 'Z' ? byte | 0x20U : byte;
}

/* ---- nearest name ---------------------------------------------------------------------------- */

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t alignment_cell(const char *a, const char *b, size_t i, size_t j,
                             size_t rows[3][NAME_LIMIT + 1]) {
    const size_t *two_above = rows[(i + 1) % 3], *above = rows[(i + 2) % 3], *row = rows[i % 3];
    bool equal = lower(a[i - 1]) == lower(b[j - 1]);
    size_t distance = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (equal ? 0 : 1));
    bool swapped =
        i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
    return swapped ? least(distance, two_above[j - 2] + 1) : distance;
}

size_t base_edit_distance(const char *a, const char *b) {
    size_t rows[3][NAME_LIMIT + 1];
    size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length > NAME_LIMIT || b_length > NAME_LIMIT)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        rows[i % 3][0] = i;
        for (size_t j = 1; j <= b_length; j++)
            rows[i % 3][j] = alignment_cell(a, b, i, j, rows);
    }
    return rows[a_length % 3][b_length];
}

static bool contains(const char *text, const char *part) {
    size_t length = strlen(part);
    for (; *text != '\0'; text++) {
        size_t same = 0;
        while (same < length && lower(text[same]) == lower(part[same]))
            same++;
        if (same == length)
            return true;
    }
    return false;
}

void base_nearest_start(struct base_nearest *nearest, const char *wanted) {
    *nearest = (struct base_nearest){.wanted = wanted};
    size_t length = strlen(wanted);
    /* `distance` starts one past what is accepted. */
    nearest->distance = length > NAME_LIMIT ? 0 : (length < 3 ? 2 : length / 3 + 1);
}

void base_nearest_offer(struct base_nearest *nearest, const char *candidate) {
    size_t length = strlen(nearest->wanted), other = strlen(candidate);
    size_t apart = length > other ? length - other : other - length;
    /* Names too different in length need no table; nor may every character differ. */
    if (apart < nearest->distance) {
        size_t distance = base_edit_distance(nearest->wanted, candidate);
        if (distance < nearest->distance && distance < (length > other ? length : other)) {
            nearest->distance = distance;
            nearest->near = candidate;
        }
    }
    bool shorter = nearest->container == NULL || other < strlen(nearest->container);
    if (length >= 3 && shorter && contains(candidate, nearest->wanted))
        nearest->container = candidate;
}

const char *base_nearest_name(const struct base_nearest *nearest) {
    return nearest->near != NULL ? nearest->near : nearest->container;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static size_t digits_length(const char *text) {
    size_t length = 0;
    while (text[length] >= '0' && text[length] <= '9')
        length++;
    return length;
}

static size_t sign_length(const char *text) {
    return text[0] == '+' || text[0] == '-' ? 1 : 0;
}

/* Decimal digits without leading zeros; 0 where there are none. */
static size_t whole_length(const char *text) {
    size_t length = digits_length(text);
    return length > 1 && text[0] == '0' ? 0 : length;
}

size_t base_number_length(const char *text) {
    size_t length = sign_length(text);
    size_t digits = digits_length(text + length);
    size_t whole = whole_length(text + length);
    if (whole != digits)
        return 0;
    length += whole;
    size_t fraction = text[length] == '.' ? digits_length(text + length + 1) : 0;
    if (whole == 0 && fraction == 0)
        return 0;
    length += fraction > 0 ? fraction + 1 : 0;
    if (text[length] == 'e' || text[length] == 'E') {
        size_t sign = sign_length(text + length + 1);
        size_t exponent = digits_length(text + length + 1 + sign);
        length += exponent > 0 ? 1 + sign + exponent : 0;
    }
    return length;
}

enum base_number_result base_integer_read(const char *text, int64_t *value) {
    size_t sign = sign_length(text);
    size_t digits = whole_length(text + sign);
    if (digits == 0 || text[sign + digits] != '\0')
        return BASE_NUMBER_SYNTAX;
    int64_t result = 0;
    for (const char *at = text + sign; *at != '\0'; at++) {
        int digit = *at - '0';
        if (result > (INT64_MAX - digit) / 10)
            return BASE_NUMBER_RANGE;
        result = 10 * result + digit;
    }
    *value = text[0] == '-' ? -result : result;
    return BASE_NUMBER_OK;
}

enum base_number_result base_number_read(const char *text, double *value) {
    size_t length = base_number_length(text);
    if (length == 0 || text[length] != '\0')
        return BASE_NUMBER_SYNTAX;
    double result = strtod(text, NULL);
    if (!isfinite(result))
        return BASE_NUMBER_RANGE;
    *value = result;
    return BASE_NUMBER_OK;
}

/* ---- quoting --------------------------------------------------------------------------------- */

/* The longest prefix of at most `limit` bytes that ends between two UTF-8 characters. */
static size_t whole_characters(const char *text, size_t limit) {
    while (limit > 0 && ((unsigned char)text[limit] & 0xC0U) == 0x80U)
        limit--;
    return limit;
}

const char *base_quote(const char *text, char buffer[static BASE_QUOTE_SIZE]) {
    size_t room = BASE_QUOTE_SIZE - sizeof "'...'";
    size_t length = strlen(text);
    size_t number = base_number_length(text);
    if (number > 0 && number == length && length <= room)
        (void)snprintf(buffer, BASE_QUOTE_SIZE, "%s", text);
    else if (length <= room)
        (void)snprintf(buffer, BASE_QUOTE_SIZE, "'%s'", text);
    else
        (void)snprintf(buffer, BASE_QUOTE_SIZE, "'%.*s...'", (int)whole_characters(text, room),
                       text);
    /* A message is one line. */
    for (char *at = buffer; *at != '\0'; at++)
        if (*at == '\n' || *at == '\r' || *at == '\t')
            *at = ' ';
    return buffer;
}

void base_text_copy(char *buffer, size_t size, const char *text) {
    size_t length = strlen(text);
    if (length >= size)
        length = whole_characters(text, size - 1);
    memcpy(buffer, text, length);
    buffer[length] = '\0';
}
