/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_BASE_UTF8_H
#define MODELS_BASE_UTF8_H

/*
 * Input files are strict UTF-8 text. Checked before any parser sees them, so that the place of a
 * fault is known and no parser has to be trusted with it.
 */

#include <stddef.h>

struct base_utf8_fault {
    const char *message; /* NULL: the text is good */
    int line, column;    /* from 1; columns count characters */
};

/* Refuses malformed sequences (overlong, surrogates, beyond U+10FFFF), control characters but for
 * tab and line ends, byte order marks inside the text, and the separators U+0085, U+2028 and
 * U+2029, which editors and parsers do not agree on as line ends. */
struct base_utf8_fault base_utf8_check(const char *bytes, size_t length);

/* Bytes of a leading UTF-8 byte order mark: 3 or 0. */
size_t base_utf8_mark(const char *bytes, size_t length);

/* Decodes one character of well-formed or malformed text: its length in bytes, 0 where it is
 * malformed. `length` is at least 1. */
size_t base_utf8_decode(const char *bytes, size_t length, unsigned *code);

#endif
