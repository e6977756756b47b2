/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FNV-1a against the published values of its bare form, by undoing the length in front. */
#include "tests/testing.h"

#include "models/base/hash.h"

#include <string.h>

/* The algorithm as its authors state it, from a given state on. */
static uint64_t bare(uint64_t hash, const unsigned char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        hash ^= bytes[i];
        hash *= UINT64_C(0x100000001b3);
    }
    return hash;
}

/* The authors' test vectors for 64 bits: "", "a" and "foobar". */
START_TEST(the_reference_is_the_published_function) {
    const uint64_t offset = UINT64_C(0xcbf29ce484222325);
    ck_assert_uint_eq(BASE_HASH_START, offset);
    ck_assert_uint_eq(bare(offset, (const unsigned char *)"a", 1), UINT64_C(0xaf63dc4c8601ec8c));
    ck_assert_uint_eq(bare(offset, (const unsigned char *)"foobar", 6),
                      UINT64_C(0x85944171f73967e8));
}
END_TEST

/* A number is its eight bytes, the lowest first. */
START_TEST(numbers_are_bytes) {
    const unsigned char bytes[] = {0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01};
    ck_assert_uint_eq(base_hash_number(BASE_HASH_START, UINT64_C(0x0102030405060708)),
                      bare(BASE_HASH_START, bytes, sizeof bytes));
}
END_TEST

START_TEST(a_text_is_its_length_and_its_bytes) {
    const unsigned char bytes[] = {6, 0, 0, 0, 0, 0, 0, 0, 'f', 'o', 'o', 'b', 'a', 'r'};
    ck_assert_uint_eq(base_hash_text(BASE_HASH_START, "foobar"),
                      bare(BASE_HASH_START, bytes, sizeof bytes));
    ck_assert_uint_eq(base_hash_bytes(BASE_HASH_START, "foobar", 6),
                      base_hash_text(BASE_HASH_START, "foobar"));
}
END_TEST

START_TEST(where_texts_end_makes_a_difference) {
    uint64_t a = base_hash_text(base_hash_text(BASE_HASH_START, "ab"), "c");
    uint64_t b = base_hash_text(base_hash_text(BASE_HASH_START, "a"), "bc");
    uint64_t c = base_hash_text(base_hash_text(BASE_HASH_START, "abc"), "");
    ck_assert_uint_ne(a, b);
    ck_assert_uint_ne(a, c);
    ck_assert_uint_ne(b, c);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("hash");
    TCase *tcase = tcase_create("hash");
    tcase_add_test(tcase, the_reference_is_the_published_function);
    tcase_add_test(tcase, numbers_are_bytes);
    tcase_add_test(tcase, a_text_is_its_length_and_its_bytes);
    tcase_add_test(tcase, where_texts_end_makes_a_difference);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(suite)
