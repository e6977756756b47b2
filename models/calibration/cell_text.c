/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/cell_text.h"

#include <math.h>
#include <string.h>

void cell_text(FILE *stream, const char *text) {
    if (strpbrk(text, ",\"\r\n") == NULL) {
        (void)fputs(text, stream);
        return;
    }
    (void)fputc('"', stream);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"')
            (void)fputc('"', stream);
        (void)fputc(*c, stream);
    }
    (void)fputc('"', stream);
}

void cell_number(FILE *stream, double number) {
    (void)fprintf(stream, fabs(number) >= 1000.0 ? "%.0f" : "%.4g", number);
}

void cell_end(FILE *stream, size_t column, size_t count) {
    (void)fputc(column + 1 < count ? ',' : '\n', stream);
}
