/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_TESTING_H
#define TESTS_TESTING_H

/*
 * What every test program shares: a main over one Check suite, comparison of doubles by relative
 * error, and the place of the shared measurements, which may be absent.
 */

#include <check.h>
#include <math.h>
#include <stdbool.h>

/* Runs the suite; the exit status is 0 when every check held. */
int testing_run(Suite *suite);

/* The folder of shared measurements: $RLHFSIM_SHARED, else ../shared, or NULL where it is absent.
 * A test that needs it says that it skips and returns. */
const char *testing_shared_directory(void);

#define TESTING_MAIN(suite_function)          \
    int main(void) {                          \
        return testing_run(suite_function()); \
    }

/* |actual - expected| <= tolerance * |expected|, both printed when it fails. */
#define assert_relative(actual, expected, tolerance)                                              \
    do {                                                                                          \
        double assert_actual = (actual);                                                          \
        double assert_expected = (expected);                                                      \
        ck_assert_msg(fabs(assert_actual - assert_expected) <= (tolerance)*fabs(assert_expected), \
                      "%s is %.17g, expected %.17g (relative %g)", #actual, assert_actual,        \
                      assert_expected, assert_actual / assert_expected - 1.0);                    \
    } while (0)

#endif
