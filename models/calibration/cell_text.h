/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_CELL_TEXT_H
#define MODELS_CALIBRATION_CELL_TEXT_H

/* Cells of a catalog's file as text. Errors of writing show in the stream. */

#include <stddef.h>
#include <stdio.h>

/* Quoted where it has to be (RFC 4180). */
void cell_text(FILE *stream, const char *text);

/* Four digits, no exponent where people would write none. */
void cell_number(FILE *stream, double number);

/* A comma, or the line's end behind the last of `count` columns. */
void cell_end(FILE *stream, size_t column, size_t count);

#endif
