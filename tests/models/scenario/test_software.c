/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/scenario.h"
#include "tests/models/scenario/fixture.h"
#include "tests/testing.h"

#define COEFFICIENTS                                                                       \
    "coefficient,scope,value,start,unit,fitted,meaning,fixed_by,error,command,provenance," \
    "source,notes\n"                                                                       \
    "matmul_share,all,0.8,1,share,yes,m,,,,measured,a page,\n"                             \
    "matmul_share,quick@bf16,0.5,1,share,yes,m,,,,measured,a page,\n"                      \
    "attention_share,other,0.1,1,share,yes,m,,,,measured,a page,\n"                        \
    "contention_share,quick,0.3,1,share,yes,m,,,,measured,a page,\n"                       \
    "microbatch_host,all,9,1,s,yes,m,,,,measured,a page,\n"

static struct fixture fixture;

static void setup(void) {
    fixture_open(&fixture);
    fixture_write("training.csv", COEFFICIENTS);
    fixture_write("s.yaml", fixture_scenario);
}

static void teardown(void) {
    unlink("training.csv");
    fixture_close(&fixture);
}

/* Row of frameworks.csv: a share of 0.5 and 40 ms a micro-batch. */
START_TEST(a_framework_alone) {
    ck_assert_int_eq(fixture_load(&fixture, NULL), RLHFSIM_OK);
    ck_assert_double_eq(fixture.scenario->framework.training.matmul_share, 0.5);
    ck_assert_double_eq(fixture.scenario->framework.training.contention_share, 0.0);
}
END_TEST

/* 0.8 x 0.5 of the family's in bf16, times the row's own 0.5; no row has attention for it: 1 x 0.5.
 * Host times are the row's. */
START_TEST(a_framework_of_a_family) {
    char *header = fixture_replace(fixture_frameworks, "provenance,", "family,provenance,");
    char *text = fixture_replace(header, "0.06,extra", "0.06,quick,extra");
    fixture_write("frameworks.csv", text);
    free(header);
    free(text);
    ck_assert_int_eq(fixture_load(&fixture, NULL), RLHFSIM_OK);
    const struct training_software *software = &fixture.scenario->framework.training;
    assert_relative(software->matmul_share, 0.2, 1e-12);
    assert_relative(software->attention_share, 0.5, 1e-12);
    ck_assert_double_eq(software->contention_share, 0.3);
    ck_assert_double_eq(software->microbatch_host_s, 0.04);
}
END_TEST

/* The framework's row with an engine of its own. */
static void write_engine(const char *engine) {
    char row[64];
    (void)snprintf(row, sizeof row, "0.06,%s,extra", engine);
    char *header = fixture_replace(fixture_frameworks, "provenance,", "engine,provenance,");
    char *text = fixture_replace(header, "0.06,extra", row);
    fixture_write("frameworks.csv", text);
    free(header);
    free(text);
}

/* vllm where the row names none; else the row's; what the scenario writes comes first. */
START_TEST(the_engine_of_a_framework) {
    static const char *const written[] = {"rollout.engine=vllm", NULL};
    ck_assert_int_eq(fixture_load(&fixture, NULL), RLHFSIM_OK);
    ck_assert_str_eq(fixture.scenario->rollout.engine.name, "vllm");
    write_engine("plain");
    ck_assert_int_eq(fixture_load(&fixture, NULL), RLHFSIM_OK);
    ck_assert_str_eq(fixture.scenario->rollout.engine.name, "plain");
    ck_assert_int_eq(fixture_load(&fixture, written), RLHFSIM_OK);
    ck_assert_str_eq(fixture.scenario->rollout.engine.name, "vllm");
    write_engine("plains");
    ck_assert_int_eq(fixture_load(&fixture, NULL), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors, "./frameworks.csv:2:61: error: engine 'plains' is not in "
                                     "engines.csv; did you mean 'plain'?\n");
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("software");
    Suite *suite = suite_create("scenario.software");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_framework_alone);
    tcase_add_test(tests, a_framework_of_a_family);
    tcase_add_test(tests, the_engine_of_a_framework);
    suite_add_tcase(suite, tests);
    return testing_run(suite);
}
