/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The optimal string alignment distance (Damerau 1964; Levenshtein 1966): the table entry
 * d[i][j] is the distance of the first i letters of a from the first j letters of b.
 */
#include "nearest.h"

#include <string.h>

#define LETTERS 63

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static int swapped(const char *a, const char *b, size_t i, size_t j) {
    return i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
}

size_t nearest_distance(const char *a, const char *b) {
    size_t n = strnlen(a, LETTERS), m = strnlen(b, LETTERS);
    size_t d[LETTERS + 1][LETTERS + 1];
    for (size_t i = 0; i <= n; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= m; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            size_t replaced = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            d[i][j] = least(replaced, least(d[i - 1][j], d[i][j - 1]) + 1);
            if (swapped(a, b, i, j))
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[n][m];
}

int nearest_is_near(const char *word, size_t distance) {
    size_t limit = strlen(word) / 3;
    return distance <= (limit > 1 ? limit : 1);
}
