/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file of a user's own factors: what it holds, every mistake in it, and that it is part of what
 * a sweep is named by. */

#include "models/base/hash.h"
#include "models/scenario/calibration.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];
static char errors[4096];
static struct scenario_calibration calibration;

static void setup(void) {
    (void)snprintf(path, sizeof path, "/tmp/rlhfsim-factors-XXXXXX");
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(close(file), 0);
}

static void teardown(void) {
    (void)unlink(path);
}

static void write_text(const char *text) {
    FILE *stream = fopen(path, "wb");
    ck_assert_ptr_nonnull(stream);
    ck_assert_int_ge(fputs(text, stream), 0);
    ck_assert_int_eq(fclose(stream), 0);
}

static enum rlhfsim_status read_text(const char *text) {
    char line[1024];
    write_text(text);
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    enum rlhfsim_status status = scenario_calibration_read(path, diagnostics, &calibration);
    errors[0] = '\0';
    for (size_t i = 0; i < rlhfsim_diagnostics_count(diagnostics); i++) {
        rlhfsim_error_format(rlhfsim_diagnostics_get(diagnostics, i), line, sizeof line);
        strncat(errors, line + strlen(path), sizeof errors - strlen(errors) - 1);
    }
    rlhfsim_diagnostics_free(diagnostics);
    return status;
}

static const char good[] = "part,factor,fitted,phases,steps,log,scenario\n"
                           "rollout,1.25,yes,gen,12,\"a, b.log\",mine\n"
                           "training,0.5,yes,actor_update,12,\"a, b.log\",mine\n"
                           "sync,1,no,,0,\"a, b.log\",mine\n";

START_TEST(what_it_holds) {
    ck_assert_int_eq(read_text(good), RLHFSIM_OK);
    ck_assert_double_eq(calibration.factor[SCENARIO_PART_ROLLOUT], 1.25);
    ck_assert_double_eq(calibration.factor[SCENARIO_PART_TRAINING], 0.5);
    ck_assert(calibration.fitted[SCENARIO_PART_TRAINING]);
    ck_assert(!calibration.fitted[SCENARIO_PART_SYNC]);
    ck_assert_double_eq(calibration.factor[SCENARIO_PART_HOST], 0.0);
    ck_assert_str_eq(calibration.text, "rollout x 1.25, training x 0.5 from a, b.log");
}
END_TEST

/* Columns in any order, without those that are only words. */
START_TEST(three_columns) {
    ck_assert_int_eq(read_text("fitted,factor,part\nno,2,host\n"), RLHFSIM_OK);
    ck_assert_double_eq(calibration.factor[SCENARIO_PART_HOST], 2.0);
    ck_assert_str_eq(calibration.text, "nothing fitted");
}
END_TEST

static const struct {
    const char *text, *error;
} mistakes[] = {
    {"", "the file is empty"},
    {"part,factor,fitted\n", "has no factor"},
    {"part,factor\nrollout,1\n", ":1:1: error: column fitted is missing"},
    {"part,factor,fitted,factor\nrollout,1,yes,1\n", ":1:20: error: column factor is there twice"},
    {"part,factor,fitted,note\nrollout,1,yes,x\n", ":1:20: error: a calibration has no column "
                                                   "'note'"},
    {"part,factr,fitted\nrollout,1,yes\n", "did you mean 'factor'?"},
    {"part,factor,fitted\nrolout,1,yes\n", ":2:1: error: a calibration has no part 'rolout'; did "
                                           "you mean 'rollout'?"},
    {"part,factor,fitted\nrollout,1,maybe\n", ":2:11: error: a calibration has no answer in column "
                                              "fitted 'maybe'"},
    {"part,factor,fitted\nrollout,0,yes\n", ":2:9: error: factor is 0, expected a number from"},
    {"part,factor,fitted\nrollout,-1,yes\n", ":2:9: error: factor is -1, expected"},
    {"part,factor,fitted\nrollout,nan,yes\n", ":2:9: error: factor is 'nan', expected"},
    {"part,factor,fitted\nrollout,1e9,yes\n", ":2:9: error: factor is 1e9, expected"},
    {"part,factor,fitted\nrollout,1,yes\nrollout,1,yes\n", ":3:1: error: part rollout is there "
                                                           "twice"},
};

START_TEST(a_mistake) {
    ck_assert_int_eq(read_text(mistakes[_i].text), RLHFSIM_INVALID);
    ck_assert_msg(strstr(errors, mistakes[_i].error) != NULL, "mistake %d: %s", _i, errors);
}
END_TEST

/* A log's name may be as long as a file's. */
START_TEST(a_long_name) {
    char text[1024] = "part,factor,fitted,log\nrollout,2,yes,";
    size_t length = strlen(text);
    memset(text + length, 'n', 255);
    strcat(text + length, "\n");
    ck_assert_int_eq(read_text(text), RLHFSIM_OK);
    ck_assert_uint_lt(strlen(calibration.text), sizeof calibration.text);
    ck_assert_ptr_nonnull(strstr(calibration.text, "rollout x 2 from nnn"));
}
END_TEST

/* ---- scenarios ------------------------------------------------------------------------------- */

static uint64_t fingerprint(const char *file, double *factor) {
    struct rlhfsim_scenario_options options = {.catalog_directory = "scenarios/catalog",
                                               .calibration = file};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_scenario *scenario;
    struct rlhfsim_source *source;
    ck_assert_int_eq(rlhfsim_source_read("scenarios/grpo-qwen2.5-7b-8xh100.yaml", &options,
                                         diagnostics, &source),
                     RLHFSIM_OK);
    ck_assert_int_eq(rlhfsim_source_scenario(source, NULL, 0, diagnostics, &scenario), RLHFSIM_OK);
    *factor = scenario_factor(scenario, SCENARIO_PART_ROLLOUT);
    uint64_t result = rlhfsim_source_fingerprint(source, NULL, 0);
    rlhfsim_scenario_free(scenario);
    rlhfsim_source_free(source);
    rlhfsim_diagnostics_free(diagnostics);
    return result;
}

START_TEST(a_scenario_has_it) {
    double none, some, other;
    write_text(good);
    uint64_t without = fingerprint(NULL, &none), with = fingerprint(path, &some);
    write_text("part,factor,fitted\nrollout,3,yes\n");
    uint64_t changed = fingerprint(path, &other);
    ck_assert_double_eq(none, 1.0);
    ck_assert_double_eq(some, 1.25);
    ck_assert_double_eq(other, 3.0);
    ck_assert(without != with && with != changed && changed != without);
}
END_TEST

static Suite *calibration_suite(void) {
    Suite *suite = suite_create("calibration files");
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, setup, teardown);
    tcase_add_test(files, what_it_holds);
    tcase_add_test(files, three_columns);
    tcase_add_test(files, a_long_name);
    tcase_add_loop_test(files, a_mistake, 0, (int)(sizeof mistakes / sizeof *mistakes));
    tcase_add_test(files, a_scenario_has_it);
    suite_add_tcase(suite, files);
    return suite;
}

TESTING_MAIN(calibration_suite)
