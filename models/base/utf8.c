/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/base/utf8.h"

#include <stdbool.h>
#include <string.h>

size_t base_utf8_mark(const char *bytes, size_t length) {
    return length >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

/* What the first byte promises: length of the sequence (0: none starts so), its own bits, and the
 * least code that needs this length. */
struct lead {
    size_t length;
    unsigned bits, least;
};

static struct lead lead_of(unsigned char byte) {
    if (byte < 0x80U)
        return (struct lead){1, byte, 0};
    if (byte >= 0xC0U && byte < 0xE0U)
        return (struct lead){2, byte & 0x1FU, 0x80};
    if (byte >= 0xE0U && byte < 0xF0U)
        return (struct lead){3, byte & 0x0FU, 0x800};
    if (byte >= 0xF0U && byte < 0xF8U)
        return (struct lead){4, byte & 0x07U, 0x10000};
    return (struct lead){0, 0, 0};
}

size_t base_utf8_decode(const char *bytes, size_t length, unsigned *code) {
    struct lead lead = lead_of((unsigned char)bytes[0]);
    unsigned value = lead.bits;
    if (lead.length == 0 || lead.length > length)
        return 0;
    for (size_t i = 1; i < lead.length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if ((byte & 0xC0U) != 0x80U)
            return 0;
        value = value << 6U | (byte & 0x3FU);
    }
    bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (value < lead.least || surrogate || value > 0x10FFFF)
        return 0;
    *code = value;
    return lead.length;
}

static const char *complaint(unsigned code) {
    if (code == 0)
        return "the text contains a NUL byte, expected UTF-8 text";
    if ((code < 0x20 && code != '\t' && code != '\n' && code != '\r') ||
        (code >= 0x7F && code < 0xA0))
        return "the text contains a control character";
    if (code == 0x2028 || code == 0x2029)
        return "the text contains a Unicode line or paragraph separator, expected a plain line end";
    if (code == 0xFEFF)
        return "the text contains a byte order mark, which is only allowed at its start";
    if ((code & 0xFFFEU) == 0xFFFEU)
        return "the text contains a code point that is not a character";
    return NULL;
}

/* UTF-16 and UTF-32 are the one mistake that is worth its own words. */
static const char *wide_text(const char *bytes, size_t length) {
    bool mark =
        length >= 2 && (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0);
    return mark ? "the text is UTF-16 or UTF-32, expected UTF-8" : NULL;
}

struct base_utf8_fault base_utf8_check(const char *bytes, size_t length) {
    struct base_utf8_fault at = {wide_text(bytes, length), 1, 1};
    size_t offset = 0;
    while (at.message == NULL && offset < length) {
        unsigned code = 0;
        size_t step = base_utf8_decode(bytes + offset, length - offset, &code);
        at.message = step == 0 ? "the text is not valid UTF-8" : complaint(code);
        if (at.message != NULL)
            break;
        offset += step;
        /* CR LF, LF and CR each end one line. */
        bool crlf = code == '\r' && offset < length && bytes[offset] == '\n';
        bool line_end = (code == '\n' || code == '\r') && !crlf;
        at.line += line_end ? 1 : 0;
        at.column = line_end ? 1 : at.column + 1;
    }
    return at;
}
