/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/testing.h"

#include "models/base/text.h"

#include <string.h>

/* ---- distance and nearest name --------------------------------------------------------------- */

struct distance_case {
    const char *a, *b;
    size_t distance;
};

/* By hand: edits counted letter by letter. */
static const struct distance_case distances[] = {
    {"", "", 0},
    {"", "abc", 3},
    {"abc", "", 3},
    {"kitten", "sitting", 3}, /* k->s, e->i, +g */
    {"max_new_token", "max_new_tokens", 1},
    {"trainig", "training", 1},
    {"recompute", "recomptue", 1}, /* one swap of neighbours */
    {"ca", "abc", 3},              /* no edit inside a swapped pair: the restricted distance */
    {"VLLM", "vllm", 0},           /* blind to case */
    {"abcdef", "ghijkl", 6},
};

START_TEST(test_distances) {
    const struct distance_case *row = &distances[_i];
    ck_assert_uint_eq(base_edit_distance(row->a, row->b), row->distance);
    ck_assert_uint_eq(base_edit_distance(row->b, row->a), row->distance);
}
END_TEST

START_TEST(test_distance_of_long_names) {
    char name[80];
    memset(name, 'a', sizeof name);
    name[64] = '\0';
    ck_assert_uint_eq(base_edit_distance(name, name), 0);
    name[64] = 'a';
    name[65] = '\0';
    ck_assert_uint_eq(base_edit_distance(name, name), SIZE_MAX);
}
END_TEST

struct nearest_case {
    const char *wanted, *expected; /* among the candidates below; NULL: none is near */
};

static const char *const candidates[] = {
    "tp", "pp", "zero_stage", "precision", "H100-SXM5-80GB", "H100-SXM5-80GB-long"};

static const struct nearest_case nearests[] = {
    {"tpp", "tp"}, /* one edit; "pp" is as near but comes later */
    {"zerostage", "zero_stage"},
    {"precison", "precision"},
    {"h100-sxm5-80gb", "H100-SXM5-80GB"},
    {"H100", "H100-SXM5-80GB"}, /* the shortest that contains it */
    {"xy", NULL},               /* two characters, both wrong */
    {"microbatch", NULL},
    {"", NULL},
};

START_TEST(test_nearest) {
    struct base_nearest nearest;
    base_nearest_start(&nearest, nearests[_i].wanted);
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++)
        base_nearest_offer(&nearest, candidates[i]);
    const char *near = base_nearest_name(&nearest);
    if (nearests[_i].expected == NULL)
        ck_assert_msg(near == NULL, "'%s' is offered for '%s'", near, nearests[_i].wanted);
    else
        ck_assert_str_eq(near, nearests[_i].expected);
}
END_TEST

/* ---- numbers --------------------------------------------------------------------------------- */

struct integer_case {
    const char *text;
    enum base_number_result result;
    int64_t value;
};

static const struct integer_case integers[] = {
    {"0", BASE_NUMBER_OK, 0},
    {"-1", BASE_NUMBER_OK, -1},
    {"+7", BASE_NUMBER_OK, 7},
    {"9223372036854775807", BASE_NUMBER_OK, INT64_MAX},
    {"9223372036854775808", BASE_NUMBER_RANGE, 0},
    {"99999999999999999999", BASE_NUMBER_RANGE, 0},
    {"", BASE_NUMBER_SYNTAX, 0},
    {"-", BASE_NUMBER_SYNTAX, 0},
    {"010", BASE_NUMBER_SYNTAX, 0},
    {"00", BASE_NUMBER_SYNTAX, 0},
    {"0x10", BASE_NUMBER_SYNTAX, 0},
    {"0o7", BASE_NUMBER_SYNTAX, 0},
    {"1_000", BASE_NUMBER_SYNTAX, 0},
    {"1e3", BASE_NUMBER_SYNTAX, 0},
    {"4.0", BASE_NUMBER_SYNTAX, 0},
    {" 4", BASE_NUMBER_SYNTAX, 0},
    {"4 ", BASE_NUMBER_SYNTAX, 0},
};

START_TEST(test_integers) {
    const struct integer_case *row = &integers[_i];
    int64_t value = 42;
    ck_assert_int_eq(base_integer_read(row->text, &value), row->result);
    ck_assert_int_eq(value, row->result == BASE_NUMBER_OK ? row->value : 42);
}
END_TEST

struct number_case {
    const char *text;
    enum base_number_result result;
    double value;
};

static const struct number_case numbers[] = {
    {"0", BASE_NUMBER_OK, 0.0},
    {"0.5", BASE_NUMBER_OK, 0.5},
    {".5", BASE_NUMBER_OK, 0.5},
    {"-1.25e2", BASE_NUMBER_OK, -125.0},
    {"1E+3", BASE_NUMBER_OK, 1000.0},
    {"1e-400", BASE_NUMBER_OK, 0.0}, /* below the least double */
    {"1e400", BASE_NUMBER_RANGE, 0.0},
    {"5.", BASE_NUMBER_SYNTAX, 0.0},
    {".", BASE_NUMBER_SYNTAX, 0.0},
    {"1e", BASE_NUMBER_SYNTAX, 0.0},
    {"01.5", BASE_NUMBER_SYNTAX, 0.0},
    {"0x1p3", BASE_NUMBER_SYNTAX, 0.0},
    {"nan", BASE_NUMBER_SYNTAX, 0.0},
    {".nan", BASE_NUMBER_SYNTAX, 0.0},
    {"inf", BASE_NUMBER_SYNTAX, 0.0},
    {"-.inf", BASE_NUMBER_SYNTAX, 0.0},
    {"infinity", BASE_NUMBER_SYNTAX, 0.0},
    {"1_0", BASE_NUMBER_SYNTAX, 0.0},
    {"1,5", BASE_NUMBER_SYNTAX, 0.0},
    {" 1", BASE_NUMBER_SYNTAX, 0.0},
};

START_TEST(test_numbers) {
    const struct number_case *row = &numbers[_i];
    double value = 42.0;
    ck_assert_int_eq(base_number_read(row->text, &value), row->result);
    ck_assert_double_eq(value, row->result == BASE_NUMBER_OK ? row->value : 42.0);
}
END_TEST

/* ---- quoting --------------------------------------------------------------------------------- */

START_TEST(test_quoting) {
    char buffer[BASE_QUOTE_SIZE];
    ck_assert_str_eq(base_quote("-4.5e3", buffer), "-4.5e3");
    ck_assert_str_eq(base_quote("four", buffer), "'four'");
    ck_assert_str_eq(base_quote("4 four", buffer), "'4 four'");
    ck_assert_str_eq(base_quote("a\nb", buffer), "'a b'");
}
END_TEST

/* Long text is cut between characters: here every character has two bytes. */
START_TEST(test_long_quotes) {
    char text[200] = "", buffer[BASE_QUOTE_SIZE];
    for (size_t i = 0; i < 90; i++)
        memcpy(text + 2 * i, "\xC3\xA9", 3);
    base_quote(text, buffer);
    size_t length = strlen(buffer);
    ck_assert_uint_lt(length, BASE_QUOTE_SIZE);
    ck_assert_str_eq(buffer + length - 4, "...'");
    ck_assert_uint_eq((length - strlen("'...'")) % 2, 0);
}
END_TEST

START_TEST(test_copy) {
    char buffer[5];
    base_text_copy(buffer, sizeof buffer, "abc");
    ck_assert_str_eq(buffer, "abc");
    base_text_copy(buffer, sizeof buffer, "abcdef");
    ck_assert_str_eq(buffer, "abcd");
    base_text_copy(buffer, sizeof buffer, "abc\xC3\xA9");
    ck_assert_str_eq(buffer, "abc");
}
END_TEST

static Suite *text_suite(void) {
    Suite *suite = suite_create("base.text");
    TCase *cases = tcase_create("text");
    tcase_add_loop_test(cases, test_distances, 0, sizeof distances / sizeof distances[0]);
    tcase_add_test(cases, test_distance_of_long_names);
    tcase_add_loop_test(cases, test_nearest, 0, sizeof nearests / sizeof nearests[0]);
    tcase_add_loop_test(cases, test_integers, 0, sizeof integers / sizeof integers[0]);
    tcase_add_loop_test(cases, test_numbers, 0, sizeof numbers / sizeof numbers[0]);
    tcase_add_test(cases, test_quoting);
    tcase_add_test(cases, test_long_quotes);
    tcase_add_test(cases, test_copy);
    suite_add_tcase(suite, cases);
    return suite;
}

TESTING_MAIN(text_suite)
