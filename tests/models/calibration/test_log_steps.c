/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Logs of steps: both forms, everything that a console can hold, and tables with mistakes. */

#include "models/calibration/log_read.h"
#include "tests/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];
static char errors[4096];
static struct log_steps steps;

static void setup(void) {
    (void)snprintf(path, sizeof path, "/tmp/rlhfsim-log-XXXXXX");
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(close(file), 0);
    steps = (struct log_steps){0};
}

static void teardown(void) {
    log_steps_release(&steps);
    (void)unlink(path);
}

static enum rlhfsim_status read_bytes(const char *bytes, size_t length) {
    char line[1024];
    FILE *stream = fopen(path, "wb");
    ck_assert_ptr_nonnull(stream);
    ck_assert_uint_eq(fwrite(bytes, 1, length, stream), length);
    ck_assert_int_eq(fclose(stream), 0);
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    ck_assert_ptr_nonnull(diagnostics);
    enum rlhfsim_status status = log_read(&steps, path, diagnostics);
    errors[0] = '\0';
    for (size_t i = 0; i < rlhfsim_diagnostics_count(diagnostics); i++) {
        rlhfsim_error_format(rlhfsim_diagnostics_get(diagnostics, i), line, sizeof line);
        strncat(errors, line + strlen(path), sizeof errors - strlen(errors) - 1);
        strncat(errors, "\n", sizeof errors - strlen(errors) - 1);
    }
    rlhfsim_diagnostics_free(diagnostics);
    return status;
}

static enum rlhfsim_status read_text(const char *text) {
    return read_bytes(text, strlen(text));
}

static bool has_note(const char *words) {
    for (const struct log_note *note = steps.notes; note != NULL; note = note->next)
        if (strstr(note->text, words) != NULL)
            return true;
    return false;
}

#define assert_seconds(index, timer, expected) \
    ck_assert_double_eq_tol(steps.at[index].seconds[timer], expected, 1e-12)

/* ---- the console ----------------------------------------------------------------------------- */

/* Values as printed by verl for a GRPO step (its own example log, shortened). */
START_TEST(a_line_of_verl) {
    ck_assert_int_eq(
        read_text("step:6 - global_seqlen/min:182185.000 - perf/mfu/actor:0.776 - "
                  "response_length/mean:196.996 - prompt_length/mean:92.972 - timing_s/gen:42.981 "
                  "- timing_s/reward:0.907 - timing_s/old_log_prob:25.190 - timing_s/ref:24.771 - "
                  "timing_s/adv:0.152 - timing_s/update_actor:76.075 - timing_s/step:170.170 - "
                  "timing_per_token_ms/ref:0.017 - perf/time_per_step:170.170\n"),
        RLHFSIM_OK);
    ck_assert_uint_eq(steps.count, 1);
    ck_assert_int_eq(steps.at[0].number, 6);
    assert_seconds(0, LOG_GENERATION, 42.981);
    assert_seconds(0, LOG_REWARD, 0.907);
    assert_seconds(0, LOG_ACTOR_LOGPROB, 25.190);
    assert_seconds(0, LOG_REFERENCE_LOGPROB, 24.771);
    assert_seconds(0, LOG_ACTOR_UPDATE, 76.075);
    assert_seconds(0, LOG_STEP, 170.170);
    ck_assert(isnan(steps.at[0].seconds[LOG_VALUES]));
    ck_assert_double_eq_tol(steps.at[0].response_tokens, 196.996, 1e-9);
    ck_assert_double_eq_tol(steps.at[0].prompt_tokens, 92.972, 1e-9);
    ck_assert_ptr_null(steps.notes);
}
END_TEST

/* A byte order mark, colours, prefixes of Ray, carriage returns, bytes that are no text, progress
 * bars, numbers wrapped by NumPy, and words that only look like a step. */
START_TEST(what_a_console_holds) {
    static const char log[] =
        "\xef\xbb\xbfUsing blocking ray.get\r\n"
        "\x1b[36m(TaskRunner pid=123)\x1b[0m step:1 - timing_s/gen:10.5 - timing_s/step:20\r\n"
        "\xff\xfe garbage \x01\x00 more\n"
        "Training Progress:   3%|#  | 2/80 [00:40<26:00]\rstep:2 - timing/gen:11\n"
        "(main_task pid=9) (x) step:3 - timing_s/gen:np.float64(12.25) - actor/lr:np.float64(1e-06)"
        "\nglobal_step:9 - timing_s/gen:99\n"
        "step:x - timing_s/gen:99\nstep:4\nstep: 5 - timing_s/gen:99\n"
        "step:99999999999999999999 - timing_s/gen:99\n";
    ck_assert_int_eq(read_bytes(log, sizeof log - 1), RLHFSIM_OK);
    ck_assert_uint_eq(steps.count, 3);
    assert_seconds(0, LOG_GENERATION, 10.5);
    assert_seconds(0, LOG_STEP, 20.0);
    assert_seconds(1, LOG_GENERATION, 11.0);
    assert_seconds(2, LOG_GENERATION, 12.25);
}
END_TEST

/* Not a number, infinite, negative, empty, words: left out and said, the others stay. */
START_TEST(values_that_are_none) {
    ck_assert_int_eq(
        read_text("step:1 - timing_s/gen:nan - timing_s/ref:inf - timing_s/adv:-1 - "
                  "timing_s/values:-2 - timing_s/reward: - timing_s/update_actor:1e999 "
                  "- timing_s/step:7 - timing_s/old_log_prob:ten - :: - : - x\n"),
        RLHFSIM_OK);
    ck_assert_uint_eq(steps.count, 1);
    assert_seconds(0, LOG_STEP, 7.0);
    for (int timer = 0; timer < LOG_STEP; timer++)
        ck_assert(isnan(steps.at[0].seconds[timer]));
    ck_assert(has_note("timing_s/gen is not a finite number"));
    ck_assert(has_note("timing_s/ref is"));
    ck_assert(has_note("timing_s/values is"));
    ck_assert(has_note("timing_s/update_actor is"));
}
END_TEST

/* The last number of a file that ends within its line may have lost digits. */
START_TEST(a_log_that_ends_in_a_line) {
    ck_assert_int_eq(read_text("step:1 - timing_s/gen:42.9 - timing_s/step:17"), RLHFSIM_OK);
    assert_seconds(0, LOG_GENERATION, 42.9);
    ck_assert(isnan(steps.at[0].seconds[LOG_STEP]));
    ck_assert(has_note("ends within a line"));
}
END_TEST

/* Resumed at step 2: the first 2 and 3 are dropped. */
START_TEST(a_resumed_run) {
    ck_assert_int_eq(read_text("step:1 - timing_s/gen:1\nstep:2 - timing_s/gen:2\n"
                               "step:3 - timing_s/gen:3\nstep:2 - timing_s/gen:4\n"),
                     RLHFSIM_OK);
    ck_assert_uint_eq(steps.count, 2);
    assert_seconds(0, LOG_GENERATION, 1.0);
    assert_seconds(1, LOG_GENERATION, 4.0);
    ck_assert(has_note("twice"));
}
END_TEST

START_TEST(unknown_timers_are_said) {
    ck_assert_int_eq(read_text("step:1 - timing_s/updat_actor:3 - timing_s/zzzzzz:3 - "
                               "timing_s/adv:1 - timing_s/step:9\n"),
                     RLHFSIM_OK);
    ck_assert(has_note("timing_s/updat_actor is no timer that is known; the nearest is "
                       "update_actor"));
    ck_assert(has_note("timing_s/zzzzzz is no timer that is known"));
    ck_assert(!has_note("adv"));
}
END_TEST

/* Three megabytes before the entries, and a line beyond the limit, whose entries are lost. */
START_TEST(long_lines) {
    size_t length = (size_t)9 * 1024 * 1024;
    char *text = malloc(length);
    static const char good[] = " step:1 - timing_s/gen:5\n", bad[] = " step:2 - timing_s/gen:6\n";
    ck_assert_ptr_nonnull(text);
    memset(text, 'x', length);
    memcpy(text + (size_t)3 * 1024 * 1024, good, sizeof good - 1);
    memcpy(text + length - (sizeof bad - 1), bad, sizeof bad - 1);
    ck_assert_int_eq(read_bytes(text, length), RLHFSIM_OK);
    ck_assert_uint_eq(steps.count, 1);
    assert_seconds(0, LOG_GENERATION, 5.0);
    free(text);
}
END_TEST

START_TEST(nothing_to_use) {
    static const char *const logs[] = {"",
                                       "\n\n",
                                       "a trace\nand no step\n",
                                       "step:1 - actor/lr:1\n",
                                       "step:1 - timing_s/gen:nan\n",
                                       "step:1 - timing_s/gen:0\n",
                                       "\x1b[",
                                       "\x1b[31",
                                       "step:1 - timing_s/gen:4",
                                       "step,phase,seconds\n",
                                       "step,phase,seconds\n1,gen,\n"};
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        ck_assert_msg(read_text(logs[i]) == RLHFSIM_INVALID, "log %zu", i);
        ck_assert_ptr_nonnull(strstr(errors, "has no step with a timer"));
        log_steps_release(&steps);
    }
}
END_TEST

START_TEST(files_that_are_none) {
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    ck_assert_int_eq(log_read(&steps, "/no/such/log", diagnostics), RLHFSIM_INVALID);
    ck_assert_int_eq(log_read(&steps, "/tmp", diagnostics), RLHFSIM_INVALID);
    ck_assert_uint_eq(rlhfsim_diagnostics_count(diagnostics), 2);
    rlhfsim_diagnostics_free(diagnostics);
}
END_TEST

/* ---- tables ---------------------------------------------------------------------------------- */

/* Rows of a step anywhere; names of ours and of frameworks; a step without all timers. */
START_TEST(a_timer_a_row) {
    ck_assert_int_eq(read_text("\xef\xbb\xbfstep,phase,seconds\r\n3,rollout,5\r\n4,rollout,6\r\n"
                               "3,timing_s/update_actor,7.5\r\n3,adv,1\r\n3,step,14\r\n"),
                     RLHFSIM_OK);
    ck_assert_uint_eq(steps.count, 2);
    assert_seconds(0, LOG_ROLLOUT, 5.0);
    assert_seconds(0, LOG_ACTOR_UPDATE, 7.5);
    assert_seconds(0, LOG_STEP, 14.0);
    ck_assert_int_eq(steps.at[1].number, 4);
    assert_seconds(1, LOG_ROLLOUT, 6.0);
}
END_TEST

START_TEST(a_table_without_steps) {
    ck_assert_int_eq(read_text("phase,seconds\ngen,5\nstep,9\n"), RLHFSIM_OK);
    ck_assert_uint_eq(steps.count, 1);
    assert_seconds(0, LOG_GENERATION, 5.0);
    assert_seconds(0, LOG_STEP, 9.0);
}
END_TEST

START_TEST(a_step_a_row) {
    ck_assert_int_eq(read_text("step,rollout_s,actor_update_s,step_s,response_tokens,adv\n"
                               "1,5,7,13,812.5,0.1\n2,6,,15,,\n"),
                     RLHFSIM_OK);
    ck_assert_uint_eq(steps.count, 2);
    assert_seconds(0, LOG_ROLLOUT, 5.0);
    assert_seconds(0, LOG_STEP, 13.0);
    ck_assert_double_eq_tol(steps.at[0].response_tokens, 812.5, 1e-9);
    assert_seconds(1, LOG_STEP, 15.0);
    ck_assert(isnan(steps.at[1].seconds[LOG_ACTOR_UPDATE]));
}
END_TEST

static const struct {
    const char *text, *error;
} mistakes[] = {
    {"step,phase,seconds\n1,rolout,5\n", ":2:3: error: 'rolout' is no phase that is known; did you "
                                         "mean 'rollout'?"},
    {"step,phase,seconds\n1,rollout,nan\n", ":2:11: error: 'nan': expected seconds"},
    {"step,phase,seconds\n1,rollout,inf\n", ":2:11: error: 'inf': expected seconds"},
    {"step,phase,seconds\n1,rollout,-5\n", ":2:11: error: -5: expected seconds"},
    {"step,phase,seconds\n1.5,rollout,5\n", ":2:1: error: 1.5: expected the number of a step"},
    {"step,phase,seconds\n-1,rollout,5\n", ":2:1: error: -1: expected the number of a step"},
    {"step,phase,seconds\n1,rollout,5\n1,rollout,6\n", ":3:11: error: 6: expected one row of a "
                                                       "step and timer"},
    {"step,phase,seconds\n1,rollout\n", ":2:1: error: "},
    {"step,phase\n1,rollout\n", ":1:1: error: expected the columns step, phase and seconds"},
    {"step,phase,seconds,rollout\n1,gen,5,6\n", ":1:1: error: expected the columns"},
    {"step,rollout,sec\n1,5,6\n", ":1:14: error: 'sec' is no column that is known"},
    {"step,old_log_prob,actor_logprob\n1,5,6\n", ":1:19: error: 'old_log_prob' and "
                                                 "'actor_logprob' are two columns of one timer"},
    {"step,phase,seconds\n1,rollout,\"5\n", "error: "},
};

START_TEST(a_mistake_in_a_table) {
    ck_assert_int_eq(read_text(mistakes[_i].text), RLHFSIM_INVALID);
    ck_assert_msg(strstr(errors, mistakes[_i].error) != NULL, "mistake %d: %s", _i, errors);
}
END_TEST

static Suite *log_steps_suite(void) {
    Suite *suite = suite_create("logs of steps");
    TCase *console = tcase_create("console"), *table = tcase_create("table");
    tcase_add_checked_fixture(console, setup, teardown);
    tcase_add_test(console, a_line_of_verl);
    tcase_add_test(console, what_a_console_holds);
    tcase_add_test(console, values_that_are_none);
    tcase_add_test(console, a_log_that_ends_in_a_line);
    tcase_add_test(console, a_resumed_run);
    tcase_add_test(console, unknown_timers_are_said);
    tcase_add_test(console, long_lines);
    tcase_add_test(console, nothing_to_use);
    tcase_add_test(console, files_that_are_none);
    tcase_add_checked_fixture(table, setup, teardown);
    tcase_add_test(table, a_timer_a_row);
    tcase_add_test(table, a_table_without_steps);
    tcase_add_test(table, a_step_a_row);
    tcase_add_loop_test(table, a_mistake_in_a_table, 0, (int)(sizeof mistakes / sizeof *mistakes));
    suite_add_tcase(suite, console);
    suite_add_tcase(suite, table);
    return suite;
}

TESTING_MAIN(log_steps_suite)
