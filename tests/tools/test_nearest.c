/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distances by hand: one letter inserted, dropped, replaced or swapped with its neighbour is 1. */
#include "tests/testing.h"
#include "tools/nearest.h"

START_TEST(distances) {
    static const struct {
        const char *a, *b;
        size_t distance;
    } cases[] = {{"run", "run", 0},        {"", "run", 3},
                 {"rnu", "run", 1},        {"chek", "check", 1},
                 {"seeed", "seed", 1},     {"sead", "seed", 1},
                 {"kitten", "sitting", 3}, {"calibration", "catalog", 7},
                 {"ca", "abc", 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_uint_eq(nearest_distance(cases[i].a, cases[i].b), cases[i].distance);
        ck_assert_uint_eq(nearest_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
}
END_TEST

START_TEST(long_words_are_compared_by_their_beginning) {
    char a[200], b[200];
    for (int i = 0; i < 199; i++)
        a[i] = b[i] = 'x';
    a[199] = b[199] = '\0';
    b[150] = 'y';
    ck_assert_uint_eq(nearest_distance(a, b), 0);
    b[10] = 'y';
    ck_assert_uint_eq(nearest_distance(a, b), 1);
}
END_TEST

START_TEST(near_is_a_third_of_the_word) {
    ck_assert(nearest_is_near("ru", 1));
    ck_assert(!nearest_is_near("ru", 2));
    ck_assert(nearest_is_near("catalg", 2));
    ck_assert(!nearest_is_near("catalg", 3));
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("nearest");
    TCase *tcase = tcase_create("nearest");
    tcase_add_test(tcase, distances);
    tcase_add_test(tcase, long_words_are_compared_by_their_beginning);
    tcase_add_test(tcase, near_is_a_third_of_the_word);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(suite)
