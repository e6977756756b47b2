/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/testing.h"

#include "models/base/utf8.h"

#include <string.h>

struct text_case {
    const char *bytes;
    size_t length; /* 0: to the terminator */
    const char *message;
    int line, column;
};

#define INVALID "the text is not valid UTF-8"
#define CONTROL "the text contains a control character"

/* Sequences by RFC 3629, table 3-7 of the Unicode standard. */
static const struct text_case texts[] = {
    {"", 0, NULL, 1, 1},
    {"a\tb\r\nc\n", 0, NULL, 3, 1},
    {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 0, NULL, 1, 4}, /* 3 characters of 2, 3, 4 bytes */
    {"ab\n\xC3\xA9\xC3", 0, INVALID, 2, 2},                  /* cut off; columns are characters */
    {"\xC0\x80", 0, INVALID, 1, 1},                          /* NUL in two bytes */
    {"\xE0\x80\x80", 0, INVALID, 1, 1},                      /* overlong */
    {"\xED\xA0\x80", 0, INVALID, 1, 1},                      /* a surrogate */
    {"\xF4\x90\x80\x80", 0, INVALID, 1, 1},                  /* U+110000 */
    {"\xF8\x88\x80\x80\x80", 0, INVALID, 1, 1},              /* five bytes */
    {"a\x80", 0, INVALID, 1, 2},                             /* a continuation alone */
    {"a\0b", 3, "the text contains a NUL byte, expected UTF-8 text", 1, 2},
    {"a\x1B[31m", 0, CONTROL, 1, 2},
    {"\x7F", 0, CONTROL, 1, 1},
    {"\xC2\x85", 0, CONTROL, 1, 1}, /* U+0085, a line end to some */
    {"a\rb\x01", 0, CONTROL, 2, 2}, /* CR alone ends a line */
    {"\xE2\x80\xA8", 0,
     "the text contains a Unicode line or paragraph separator, expected a plain line end", 1, 1},
    {"a\xEF\xBB\xBF", 0, "the text contains a byte order mark, which is only allowed at its start",
     1, 2},
    {"\xEF\xBF\xBF", 0, "the text contains a code point that is not a character", 1, 1},
    {"\xFF\xFE"
     "n\0",
     4, "the text is UTF-16 or UTF-32, expected UTF-8", 1, 1},
    {"\xFE\xFF\0n", 4, "the text is UTF-16 or UTF-32, expected UTF-8", 1, 1},
};

START_TEST(test_texts) {
    const struct text_case *row = &texts[_i];
    size_t length = row->length > 0 ? row->length : strlen(row->bytes);
    struct base_utf8_fault fault = base_utf8_check(row->bytes, length);
    if (row->message == NULL)
        ck_assert_ptr_null(fault.message);
    else
        ck_assert_str_eq(fault.message, row->message);
    ck_assert_int_eq(fault.line, row->line);
    ck_assert_int_eq(fault.column, row->column);
}
END_TEST

/* Encodes by the definition: the code's bits, six to a continuation byte. */
static size_t encode(unsigned code, char bytes[4]) {
    static const unsigned leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = 1; i < length; i++)
        bytes[i] = (char)(0x80U | (code >> 6U * (unsigned)(length - 1 - i) & 0x3FU));
    bytes[0] = (char)(leads[length] | code >> 6U * (unsigned)(length - 1));
    return length;
}

static bool decodes_rightly(unsigned code) {
    char bytes[4];
    size_t length = encode(code, bytes);
    unsigned decoded = 0, part = 0;
    size_t step = base_utf8_decode(bytes, length, &decoded);
    bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    bool one_short = length > 1 && base_utf8_decode(bytes, length - 1, &part) != 0;
    return step == (surrogate ? 0 : length) && decoded == (surrogate ? 0 : code) && !one_short;
}

START_TEST(test_every_code) {
    unsigned wrong = 0, first = 0;
    for (unsigned code = 0; code <= 0x10FFFF; code++)
        if (!decodes_rightly(code) && wrong++ == 0)
            first = code;
    ck_assert_msg(wrong == 0, "%u codes wrong, the first U+%04X", wrong, first);
}
END_TEST

START_TEST(test_mark) {
    ck_assert_uint_eq(base_utf8_mark("\xEF\xBB\xBFname", 7), 3);
    ck_assert_uint_eq(base_utf8_mark("name", 4), 0);
    ck_assert_uint_eq(base_utf8_mark("\xEF\xBB", 2), 0);
}
END_TEST

static Suite *utf8_suite(void) {
    Suite *suite = suite_create("base.utf8");
    TCase *cases = tcase_create("utf8");
    tcase_add_loop_test(cases, test_texts, 0, sizeof texts / sizeof texts[0]);
    tcase_add_test(cases, test_every_code);
    tcase_add_test(cases, test_mark);
    suite_add_tcase(suite, cases);
    return suite;
}

TESTING_MAIN(utf8_suite)
