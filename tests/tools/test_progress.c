/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The progress line and what its callback answers. What is left is elapsed x (1 - share) / share.
 */
#include "tests/testing.h"
#include "tools/interrupt.h"
#include "tools/progress.h"

#include <signal.h>
#include <string.h>

static void expect(double share, double elapsed_s, const char *expected) {
    char line[128];
    int length = progress_line(line, sizeof line, share, elapsed_s);
    ck_assert_str_eq(line, expected);
    ck_assert_int_eq(length, (int)strlen(expected));
}

START_TEST(the_line_says_what_is_left) {
    expect(0, 1, "forecasting [..............................]   0 %");
    expect(0.25, 2, "forecasting [#######.......................]  25 %, about 6 s left");
    expect(0.01, 10, "forecasting [..............................]   1 %, about 16.5 min left");
    expect(0.999, 10, "forecasting [#############################.]  99 %, about 1 s left");
    expect(1, 10, "forecasting [##############################] 100 %, about 0 s left");
}
END_TEST

START_TEST(a_signal_stops_the_run) {
    struct progress progress;
    progress_start(&progress, true);
    interrupt_watch();
    ck_assert(progress_update(&progress, 0.5));
    ck_assert_int_eq(raise(SIGTERM), 0);
    ck_assert(!progress_update(&progress, 0.6));
    ck_assert_int_eq(progress.width, 0); /* quiet shows nothing */
    progress_finish(&progress);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("progress");
    TCase *tcase = tcase_create("progress");
    tcase_add_test(tcase, the_line_says_what_is_left);
    tcase_add_test(tcase, a_signal_stops_the_run);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(suite)
