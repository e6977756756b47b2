/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `--set`: what it changes, and where in the argument it is wrong. */
#include "tests/models/scenario/fixture.h"

#include "models/scenario/scenario.h"

static struct fixture fixture;

static void setup(void) {
    fixture_open(&fixture);
    fixture_write("s.yaml", fixture_scenario);
}

static void teardown(void) {
    fixture_close(&fixture);
}

static const struct rlhfsim_scenario *load(const char *const *sets) {
    enum rlhfsim_status status = fixture_load(&fixture, sets);
    ck_assert_msg(status == RLHFSIM_OK, "%s", fixture.errors);
    return fixture.scenario;
}

/* ---- good ------------------------------------------------------------------------------------ */

START_TEST(test_replaces_and_adds) {
    const char *const sets[] = {"training.zero_stage=1", "cluster.gpus_per_node=4",
                                "training.recompute=none", NULL};
    const struct rlhfsim_scenario *s = load(sets);
    ck_assert_int_eq(s->training.zero_stage, 1);
    ck_assert_int_eq(s->cluster.gpus_per_node, 4);
    ck_assert_int_eq(s->training.recompute, TRAINING_RECOMPUTE_NONE);
    /* What was not named stays. */
    ck_assert_int_eq(s->training.microbatch_samples, 4);
}
END_TEST

START_TEST(test_last_one_wins) {
    const char *const sets[] = {"training.zero_stage=1", "training.zero_stage=2", NULL};
    ck_assert_int_eq(load(sets)->training.zero_stage, 2);
}
END_TEST

START_TEST(test_makes_a_section) {
    const char *const sets[] = {"checkpoint.every_steps=3", "checkpoint.keep=2", NULL};
    const struct rlhfsim_scenario *s = load(sets);
    ck_assert_int_eq(s->checkpoint.every_steps, 3);
    ck_assert_int_eq(s->checkpoint.keep, 2);
}
END_TEST

/* A mapping replaces the mapping, with the keys that it does not name. */
START_TEST(test_mapping) {
    const char *const sets[] = {"rollout.response_tokens={law: fixed, mean: 100}", NULL};
    const struct rlhfsim_scenario *s = load(sets);
    ck_assert_int_eq(s->rollout.response.moments.law, GENERATION_LENGTH_FIXED);
    ck_assert_double_eq(s->rollout.response.moments.mean, 100.0);
    ck_assert_double_eq(s->rollout.response.moments.p99, 0.0);
}
END_TEST

START_TEST(test_equals_in_the_value) {
    const char *const sets[] = {"name=a=b", NULL};
    ck_assert_str_eq(rlhfsim_scenario_name(load(sets)), "a=b");
}
END_TEST

START_TEST(test_tag_with_dots) {
    const char *const sets[] = {"tags.team=nlp", "tags.run.v2=7", NULL};
    ck_assert_str_eq(load(sets)->tags, "team=nlp;run.v2=7");
}
END_TEST

/* Two lengths that share one anchored mapping: setting one leaves the other. */
START_TEST(test_alias_is_not_changed_twice) {
    char *prompt = fixture_replace(fixture_scenario, "prompt_tokens: {law: fixed, mean: 256}",
                                   "prompt_tokens: &l {law: fixed, mean: 256}");
    char *both = fixture_replace(prompt, "response_tokens: {law: lognormal, mean: 200, p99: 450}",
                                 "response_tokens: *l");
    const char *const sets[] = {"rollout.response_tokens.mean=99", NULL};
    fixture_write("s.yaml", both);
    free(prompt);
    free(both);
    const struct rlhfsim_scenario *s = load(sets);
    ck_assert_double_eq(s->rollout.prompt.moments.mean, 256.0);
    ck_assert_double_eq(s->rollout.response.moments.mean, 99.0);
}
END_TEST

/* Everything may come from `--set`: the file has a comment only. */
START_TEST(test_empty_file) {
    const char *const sets[] = {"name=x", NULL};
    fixture_write("s.yaml", "# nothing\n");
    ck_assert_int_eq(fixture_load(&fixture, sets), RLHFSIM_INVALID);
    ck_assert_ptr_null(strstr(fixture.errors, "the file is empty"));
    ck_assert_ptr_nonnull(strstr(fixture.errors, "required keys are missing: framework, "));
    ck_assert_ptr_null(strstr(fixture.errors, "error: name is required"));
}
END_TEST

/* ---- bad ------------------------------------------------------------------------------------- */

struct bad_case {
    const char *set, *errors;
};

static const struct bad_case cases[] = {
    {"training.zero_stage=4",
     "--set:1:21: error: training.zero_stage is 4, expected a whole number from 0 to 3"},
    {"training.zero_stage= 4",
     "--set:1:22: error: training.zero_stage is 4, expected a whole number from 0 to 3"},
    {"training.zero_stag=2",
     "--set:1:10: error: unknown key 'zero_stag' in training; did you mean 'zero_stage'?"},
    {"trainin.zero_stage=2", "--set:1:1: error: unknown key 'trainin'; did you mean 'training'?"},
    {"rollout.response_tokens.nodes=2",
     "--set:1:25: error: unknown key 'nodes' in rollout.response_tokens; it belongs in cluster"},
    {"rollout.prompt_tokens={law: fixed, mean: -4}",
     "--set:1:42: error: rollout.prompt_tokens.mean is -4, expected a number from 1 to 1000000000"},
    {"rollout.prompt_tokens={law: fixed, mean 4}",
     "--set:1:36: error: unknown key 'mean 4' in rollout.prompt_tokens; did you mean 'mean'?"},
    {"training.zero_stage", "--set:1:1: error: expected KEY=VALUE such as training.tp=4, got "
                            "'training.zero_stage'"},
    {"", "--set:1:1: error: expected KEY=VALUE such as training.tp=4, got ''"},
    {"=4", "--set:1:1: error: a name is missing in the key, expected KEY=VALUE such as "
           "training.tp=4"},
    {"training..tp=4",
     "--set:1:10: error: a name is missing in the key, expected KEY=VALUE such as "
     "training.tp=4"},
    {"training.=4", "--set:1:10: error: a name is missing in the key, expected KEY=VALUE such as "
                    "training.tp=4"},
    {"training.tp=", "--set:1:13: error: training.tp has no value, expected KEY=VALUE"},
    {"training.tp=~", "--set:1:13: error: training.tp has no value, expected KEY=VALUE"},
    {"training.tp.x=4", "--set:1:10: error: 'training.tp.x' cannot be set: 'tp' holds a value at "
                        "s.yaml:18:7, not a mapping"},
    {"training=4",
     "--set:1:10: error: training is 4, expected a mapping with the keys tp, pp, vpp, cp, ep, "
     "expert_tp, sequence_parallel, context, ..."},
    {"seed=18446744073709551615",
     "--set:1:6: error: seed is 18446744073709551615, expected a whole "
     "number from 0 to 9223372036854775807"},
    /* nothing follows from what is no section */
    {"models=3",
     "--set:1:8: error: models is 3, expected a mapping with the keys actor, critic, reward, "
     "reference"},
    {"training.tp=[1", "--set:1:15: error: expected ',' or ']' (in the list that starts at 1:13)"},
    {"training.tp=1\n", "--set:1:14: error: a line end, expected KEY=VALUE on one line"},
    {"training.tp=*a", "--set:1:13: error: no anchor 'a' comes before its alias"},
    {"training.tp=!!int 1",
     "--set:1:13: error: tags such as '!!int' are not supported; leave it out"},
    {"name=\xC3\xA9\xFF", "--set:1:7: error: the text is not valid UTF-8"},
    {"n\xC3\xA9=4", "--set:1:1: error: unknown key 'n\xC3\xA9'"},
    {"tags.t\xC3\xA9=x",
     "--set:1:6: error: tag name 't\xC3\xA9', expected letters, digits, '_', '-', '.' and '/'"},
    {"name=\xC3\xA9 \"\\x07\"", NULL}, /* plain text: no escape, so it is good */
    {"name=\"\\x07\"", "--set:1:6: error: the text contains a control character"},
    {"budget.usd=4", "--set:1:1: error: budget is not supported by this version"},
};

START_TEST(test_bad_set) {
    const struct bad_case *row = &cases[_i];
    const char *const sets[] = {row->set, NULL};
    char expected[1024] = "";
    if (row->errors != NULL)
        snprintf(expected, sizeof expected, "%s\n", row->errors);
    enum rlhfsim_status status = fixture_load(&fixture, sets);
    ck_assert_str_eq(fixture.errors, expected);
    ck_assert_int_eq(status, row->errors == NULL ? RLHFSIM_OK : RLHFSIM_INVALID);
}
END_TEST

static Suite *sets_suite(void) {
    Suite *suite = suite_create("scenario.sets");
    TCase *tests = tcase_create("sets");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, test_replaces_and_adds);
    tcase_add_test(tests, test_last_one_wins);
    tcase_add_test(tests, test_makes_a_section);
    tcase_add_test(tests, test_mapping);
    tcase_add_test(tests, test_equals_in_the_value);
    tcase_add_test(tests, test_tag_with_dots);
    tcase_add_test(tests, test_alias_is_not_changed_twice);
    tcase_add_test(tests, test_empty_file);
    tcase_add_loop_test(tests, test_bad_set, 0, sizeof cases / sizeof cases[0]);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(sets_suite)
