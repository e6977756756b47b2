/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CSV files of lengths: good ones arrive, hostile ones are refused at their place, and a
 * sweep's fingerprint knows what is in them. */
#include "tests/models/scenario/fixture.h"

#include "models/scenario/scenario.h"

static struct fixture fixture;

static void setup(void) {
    fixture_open(&fixture);
}

static void teardown(void) {
    unlink("l.csv");
    unlink("d.csv");
    fixture_close(&fixture);
}

#define RESPONSE "{law: lognormal, mean: 200, p99: 450}"
#define PROMPT "{law: fixed, mean: 256}"

static enum rlhfsim_status load(const char *find, const char *with, const char *csv) {
    char *text = fixture_replace(fixture_scenario, find, with);
    fixture_write("s.yaml", text);
    free(text);
    fixture_write("l.csv", csv);
    return fixture_load(&fixture, NULL);
}

#define HISTOGRAM "{law: histogram, file: l.csv}"
#define TRACE "{law: trace, file: l.csv}"

START_TEST(test_good_histogram) {
    ck_assert_int_eq(load(RESPONSE, HISTOGRAM, "weight,to,from\n1,100,0\n2.5,300,200\n"),
                     RLHFSIM_OK);
    const struct scenario_lengths *response = &fixture.scenario->rollout.response;
    ck_assert_uint_eq(response->bins->count, 2);
    assert_relative(generation_lengths_mean(&response->fitted), (50 + 2.5 * 250) / 3.5, 1e-14);
}
END_TEST

/* One trace for both lengths is read once; rows come by group, and by prompt without groups. */
START_TEST(test_good_trace) {
    ck_assert_int_eq(load(PROMPT "\n  response_tokens: " RESPONSE,
                          TRACE "\n  response_tokens: " TRACE,
                          "prompt,response,group\n9,1,b\n5,2,\"a, a\"\n9,3,b\n"),
                     RLHFSIM_OK);
    const struct generation_trace *trace = fixture.scenario->rollout.trace;
    ck_assert_uint_eq(trace->groups, 2);
    ck_assert(trace->first[0] == 0 && trace->first[1] == 1 && trace->first[2] == 3);
    ck_assert(trace->response[0] == 2 && trace->response[1] == 1 && trace->response[2] == 3);
    ck_assert(trace->prompt[0] == 5 && trace->prompt[2] == 9);
    assert_relative(generation_lengths_mean(&fixture.scenario->rollout.response.fitted), 2.0, 0.0);
    assert_relative(generation_lengths_mean(&fixture.scenario->rollout.prompt.fitted), 23.0 / 3.0,
                    1e-14);

    ck_assert_int_eq(load(RESPONSE, TRACE, "response,prompt\n7,30\n8,10\n9,20\n6,10\n"),
                     RLHFSIM_OK);
    trace = fixture.scenario->rollout.trace;
    ck_assert_uint_eq(trace->groups, 0);
    static const uint32_t expected[] = {8, 6, 9, 7};
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(trace->response[i], expected[i]);
}
END_TEST

START_TEST(test_good_drift) {
    ck_assert_int_eq(
        load("p99: 450", "p99: 450, drift: table, drift_file: l.csv", "step,mean\n1,200\n9,480\n"),
        RLHFSIM_OK);
    const struct generation_length_drift *drift = &fixture.scenario->rollout.response.drift;
    ck_assert(drift->count == 2 && drift->table_step[1] == 9 && drift->table_mean[1] == 480);
}
END_TEST

#define DRIFT RESPONSE, "{law: fixed, mean: 200, drift: table, drift_file: l.csv}"
#define H RESPONSE, HISTOGRAM
#define T RESPONSE, TRACE

static const struct {
    const char *find, *with, *csv, *errors;
} bad[] = {
    {H, "", "l.csv:1:1: error: the file is empty, expected a header line"},
    {H, "from,to,weight\n", "l.csv:1:1: error: no rows, expected at least one below the header"},
    {H, "from,to\n1,2\n", "l.csv:1:1: error: the column weight is missing"},
    {H, "from,to,weight,wait\n1,2,3,4\n",
     "l.csv:1:16: error: unknown column 'wait', expected the columns from, to and weight"},
    {H, "from,to,to\n1,2,3\n", "l.csv:1:9: error: a second column to"},
    {H, "from,to,weight\n1,2\n", "l.csv:2:1: error: a row of 2 cells, but the header has 3"},
    {H, "from,to,weight\n5,2,1\n", "l.csv:2:3: error: to is 2, expected at least from (5)"},
    {H, "from,to,weight\n5,7,1\n6,9,1\n",
     "l.csv:3:1: error: from is 6, expected at least where the bin before ends (7)"},
    {H, "from,to,weight\n5,7,0\n7,9,0\n",
     "l.csv:2:5: error: weight is 0, expected a weight above 0 in some row"},
    {H, "from,to,weight\n5,1e99,-1\n",
     "l.csv:2:3: error: to is 1e99, expected a number from 0 to 1e+09\n"
     "l.csv:2:8: error: weight is -1, expected a number from 0 to 1e+15"},
    {H, "from,to,weight\nnan,0x7,\n",
     "l.csv:2:1: error: from is 'nan', expected a number from 0 to 1e+09\n"
     "l.csv:2:5: error: to is '0x7', expected a number from 0 to 1e+09\n"
     "l.csv:2:9: error: weight is '', expected a number from 0 to 1e+15"},
    {H, "from,to,weight\n\"1,2,3\n",
     "l.csv:2:1: error: the quote that opens this cell is not closed"},
    {T, "prompt,response\n0,5\n1.5,-1\n",
     "l.csv:2:1: error: prompt is 0, expected a whole number from 1 to 1e+09\n"
     "l.csv:3:1: error: prompt is 1.5, expected a whole number from 1 to 1e+09\n"
     "l.csv:3:5: error: response is -1, expected a whole number from 0 to 1e+09"},
    {T, "prompt,answer\n1,5\n",
     "l.csv:1:8: error: unknown column 'answer', expected the columns prompt, response and, where "
     "known, group"},
    {T, "prompt,response,group\n1,5,\n", "l.csv:2:5: error: group is '', expected a name"},
    {T, "prompt,response,group\n1,5,a\n3,5,b\n2,5,a\n",
     "l.csv:4:1: error: prompt is 2, expected 1 as in the other rows of its group"},
    {DRIFT, "step,mean\n0,5\n",
     "l.csv:2:1: error: step is 0, expected a whole number from 1 to 1e+09"},
    {DRIFT, "step,mean\n4,5\n4,6\n",
     "l.csv:3:1: error: step is 4, expected one above that of the row before"},
    {DRIFT, "step,mean\n4,5\n7,600\n",
     "s.yaml:25:70: error: rollout.response_tokens.drift_file brings a mean of 600, expected one "
     "that the law can have: above 0 (cap_share x max_new_tokens) and below max_new_tokens (512)"},
    {PROMPT "\n  response_tokens: " RESPONSE,
     TRACE "\n  response_tokens: {law: trace, file: d.csv}", "prompt,response\n1,5\n",
     "s.yaml:25:39: error: rollout.response_tokens.file is not the file of rollout.prompt_tokens, "
     "expected one trace, whose prompts and responses belong together"},
};

START_TEST(test_bad_file) {
    char expected[1024];
    fixture_write("d.csv", "");
    ck_assert_int_eq(load(bad[_i].find, bad[_i].with, bad[_i].csv), RLHFSIM_INVALID);
    snprintf(expected, sizeof expected, "%s\n", bad[_i].errors);
    ck_assert_str_eq(fixture.errors, expected);
}
END_TEST

/* Bytes that are no text, and a folder. */
START_TEST(test_no_text) {
    char *text = fixture_replace(fixture_scenario, RESPONSE, TRACE);
    fixture_write("s.yaml", text);
    free(text);
    fixture_write_bytes("l.csv", "prompt,response\n1,\xff\n", 20);
    ck_assert_int_eq(fixture_load(&fixture, NULL), RLHFSIM_INVALID);
    ck_assert_ptr_nonnull(strstr(fixture.errors, "l.csv:2:3: error: "));
    fixture_write_bytes("l.csv", "prompt,response\n1,\0\n", 20);
    ck_assert_int_eq(fixture_load(&fixture, NULL), RLHFSIM_INVALID);
}
END_TEST

/* Many wrong cells end in a bounded number of errors. */
START_TEST(test_many_errors) {
    enum { ROWS = 20000 };
    char *csv = malloc(32 + 8 * ROWS);
    strcpy(csv, "prompt,response\n");
    for (int i = 0; i < ROWS; i++)
        strcat(csv + 16 + 4 * (i > 0 ? i - 1 : 0), "x,y\n");
    ck_assert_int_eq(load(RESPONSE, TRACE, csv), RLHFSIM_INVALID);
    ck_assert_uint_lt(strlen(fixture.errors), 8000);
    free(csv);
}
END_TEST

/* ---- fingerprints ---------------------------------------------------------------------------- */

static uint64_t fingerprint(const char *const *sets, const char *key, const char *value) {
    struct rlhfsim_scenario_options options = {.catalog_directory = ".", .sets = sets};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_source *source;
    while (sets != NULL && sets[options.set_count] != NULL)
        options.set_count++;
    ck_assert_int_eq(rlhfsim_source_read("s.yaml", &options, diagnostics, &source), RLHFSIM_OK);
    uint64_t hash = key == NULL ? rlhfsim_source_fingerprint(source, NULL, 0)
                                : rlhfsim_source_value_fingerprint(source, key, value);
    rlhfsim_source_free(source);
    rlhfsim_diagnostics_free(diagnostics);
    return hash;
}

START_TEST(test_fingerprints) {
    static const char *const by_set[] = {"rollout.response_tokens=" HISTOGRAM, NULL};
    static const char *const drifting[] = {"rollout.response_tokens.drift=table",
                                           "rollout.response_tokens.drift_file=l.csv", NULL};
    const char *const *sets[] = {NULL, by_set, drifting};
    const char *key = "rollout.response_tokens.file", *section = "rollout.response_tokens";
    uint64_t before[5], after[5];
    ck_assert_int_eq(load(RESPONSE, HISTOGRAM, "from,to,weight\n1,2,1\n"), RLHFSIM_OK);
    for (int pass = 0; pass < 2; pass++) {
        uint64_t *hash = pass == 0 ? before : after;
        for (int i = 0; i < 3; i++)
            hash[i] = fingerprint(sets[i], NULL, NULL);
        hash[3] = fingerprint(NULL, key, "l.csv");
        hash[4] = fingerprint(NULL, section, HISTOGRAM);
        fixture_write("l.csv", "from,to,weight\n1,2,2\n");
    }
    for (int i = 0; i < 5; i++)
        ck_assert(before[i] != after[i] && before[i] != 0);
    ck_assert_uint_eq(fingerprint(NULL, key, "none.csv"), 0);
    ck_assert_uint_eq(fingerprint(NULL, "rollout.response_tokens.mean", "l.csv"), 0);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("scenario.length_file");
    TCase *t = tcase_create("files");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_good_histogram);
    tcase_add_test(t, test_good_trace);
    tcase_add_test(t, test_good_drift);
    tcase_add_loop_test(t, test_bad_file, 0, (int)(sizeof bad / sizeof bad[0]));
    tcase_add_test(t, test_no_text);
    tcase_add_test(t, test_many_errors);
    tcase_add_test(t, test_fingerprints);
    suite_add_tcase(s, t);
    return s;
}

TESTING_MAIN(suite)
