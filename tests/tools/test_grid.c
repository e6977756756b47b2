/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The grammar of --vary, the order of the points, and where mistakes are placed. */
#include "tests/testing.h"
#include "tools/grid.h"

#include <stdio.h>
#include <string.h>

static struct grid grid;
static struct rlhfsim_diagnostics *diagnostics;

static void setup(void) {
    diagnostics = rlhfsim_diagnostics_new();
    ck_assert_ptr_nonnull(diagnostics);
    ck_assert(grid_start(&grid, 4));
}

static void teardown(void) {
    grid_end(&grid);
    rlhfsim_diagnostics_free(diagnostics);
}

static void add(const char *argument) {
    enum rlhfsim_status status = grid_add(&grid, argument, diagnostics);
    ck_assert_msg(status == RLHFSIM_OK, "%s: %s", argument,
                  rlhfsim_diagnostics_count(diagnostics) > 0
                      ? rlhfsim_diagnostics_get(diagnostics, 0)->message
                      : "");
}

/* The values of the only axis, joined by spaces. */
static void expect_values(const char *argument, const char *expected) {
    char values[1024] = "";
    size_t used = 0;
    add(argument);
    const struct grid_axis *axis = &grid.axes[grid.axis_count - 1];
    for (size_t i = 0; i < axis->count; i++)
        used += (size_t)snprintf(values + used, sizeof values - used, "%s%s", i > 0 ? " " : "",
                                 axis->values[i]);
    ck_assert_str_eq(values, expected);
    grid_end(&grid);
    ck_assert(grid_start(&grid, 4));
}

START_TEST(lists_are_kept_as_written) {
    expect_values("training.tp=4,8,16", "4 8 16");
    expect_values("training.tp=8", "8");
    expect_values("training.tp=16, 4 ,4", "16 4 4");
    expect_values("rollout.memory_fraction=0.50,.6,7e-1", "0.50 .6 7e-1");
    expect_values("training.recompute=none,selective,full", "none selective full");
    expect_values("rollout.prefix_caching=true,false", "true false");
    expect_values("reward.sample_time=0.2 ms,1 s", "0.2 ms 1 s");
    expect_values("models.actor.model=Qwen2.5-7B,a/config.json", "Qwen2.5-7B a/config.json");
    expect_values("tags.team=a,b.c", "a b.c");
    expect_values("cluster.node.network_gbit_per_s=400:1600:x2", "400 800 1600");
    expect_values("models.actor.model.like=Qwen2.5-7B,Qwen2.5-3B", "Qwen2.5-7B Qwen2.5-3B");
}
END_TEST

START_TEST(factors) {
    expect_values("rollout.max_new_tokens=256:4096:x2", "256 512 1024 2048 4096");
    /* 8192 is beyond the end, and so the end is not hit. */
    expect_values("rollout.max_new_tokens=256:8191:x2", "256 512 1024 2048 4096");
    expect_values("rollout.max_new_tokens=5:5:x10", "5");
    expect_values("logging.sampling_rate=0.001:1:x10", "0.001 0.01 0.1 1");
    expect_values("logging.sampling_rate=.16:1:x2.5", "0.16 0.4 1");
}
END_TEST

START_TEST(steps) {
    expect_values("logging.sampling_rate=0:1:+0.1", "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1");
    expect_values("logging.sampling_rate=0.3:0.9:+0.2", "0.3 0.5 0.7 0.9");
    expect_values("logging.sampling_rate=0.3:0.8:+0.2", "0.3 0.5 0.7");
    expect_values("cluster.nodes=1:7:+3", "1 4 7");
    expect_values("cluster.nodes=2:2:+1", "2");
}
END_TEST

START_TEST(lists_may_hold_ranges) {
    expect_values("cluster.nodes=1,2:8:x2,100", "1 2 4 8 100");
}
END_TEST

/* Out of range is no mistake of the grammar: such points are illegal. */
START_TEST(ranges_of_keys_are_left_to_the_points) {
    expect_values("training.zero_stage=3,4", "3 4");
    expect_values("training.pp=1,2", "1 2");
    expect_values("rollout.memory_fraction=0:1:+0.5", "0 0.5 1");
    expect_values("placement.mode=colocated,split", "colocated split");
}
END_TEST

START_TEST(the_first_key_is_the_slowest) {
    static const char *const expected[12][3] = {{"1", "a", "5"}, {"1", "a", "6"}, {"1", "b", "5"},
                                                {"1", "b", "6"}, {"2", "a", "5"}, {"2", "a", "6"},
                                                {"2", "b", "5"}, {"2", "b", "6"}, {"4", "a", "5"},
                                                {"4", "a", "6"}, {"4", "b", "5"}, {"4", "b", "6"}};
    add("training.tp=1,2,4");
    add("tags.x=a,b");
    add("rollout.tp=5,6");
    ck_assert_uint_eq(grid.point_count, 12);
    for (size_t point = 0; point < 12; point++)
        for (size_t axis = 0; axis < 3; axis++)
            ck_assert_str_eq(grid_value(&grid, point, axis), expected[point][axis]);
}
END_TEST

/* ---- mistakes -------------------------------------------------------------------------------- */

/* The first error is in this column and has this text; nothing is added to the grid. */
static void expect_error(const char *argument, int column, const char *text) {
    size_t before = rlhfsim_diagnostics_count(diagnostics), axes = grid.axis_count;
    ck_assert_int_eq(grid_add(&grid, argument, diagnostics), RLHFSIM_INVALID);
    ck_assert_uint_gt(rlhfsim_diagnostics_count(diagnostics), before);
    const struct rlhfsim_error *error = rlhfsim_diagnostics_get(diagnostics, before);
    ck_assert_str_eq(error->file, "--vary");
    ck_assert_int_eq(error->line, 1);
    ck_assert_msg(error->column == column, "%s: column %d, expected %d", argument, error->column,
                  column);
    ck_assert_msg(strstr(error->message, text) != NULL, "%s: '%s' lacks '%s'", argument,
                  error->message, text);
    ck_assert_uint_eq(grid.axis_count, axes);
}

START_TEST(unknown_keys) {
    expect_error("training.zero_stag=1", 10, "did you mean 'training.zero_stage'?");
    expect_error("trainning.tp=1", 1, "did you mean 'training'?");
    expect_error("max_new_tokens=1", 1, "did you mean 'rollout.max_new_tokens'?");
    expect_error("rollout.response_tokens.maen=1", 25, "'rollout.response_tokens.mean'");
    expect_error("training.tp.x=1", 10, "training.tp holds a value");
    expect_error("entirely.else=1", 1, "unknown key 'entirely'");
    expect_error("training=1", 1, "training is a section");
    expect_error("training..tp=1", 10, "a name is missing");
    expect_error("=1", 1, "a name is missing");
    expect_error("tags=1", 1, "tags.team");
    expect_error("cluster.node.network_gbit_per=1", 14, "did you mean 'network_gbit_per_s'?");
    expect_error("cluster.gpu.=1", 13, "unknown key");
    expect_error("budget=1", 1, "not supported by this version");
    expect_error("budget.stop=1", 1, "budget is not supported by this version");
}
END_TEST

START_TEST(no_spec) {
    expect_error("training.tp", 1, "expected KEY=SPEC");
    expect_error("training.tp=", 13, "a value is missing");
    expect_error("training.tp=1,,2", 15, "a value is missing");
    expect_error("training.tp=1,", 15, "a value is missing");
}
END_TEST

START_TEST(wrong_types) {
    expect_error("training.tp=1,two", 15, "training.tp is 'two', expected a whole number");
    expect_error("training.tp=1,1.5", 15, "training.tp is 1.5, expected a whole number");
    expect_error("training.tp=[1]", 13, "training.tp is a list, expected a whole number");
    expect_error("training.recompute=none,fulll", 25, "did you mean 'full'?");
    expect_error("rollout.prefix_caching=true,1", 29, "expected true or false");
    expect_error("reward.sample_time=1 ms,2 kB", 25, "reward.sample_time is '2 kB'");
    expect_error("training.tp=1:2:+0.5", 13, "training.tp is 1.5");
    /* Columns count characters, two of which have two bytes here. */
    expect_error("tags.\xc3\xa9=\xc3\xa9,", 10, "a value is missing");
}
END_TEST

START_TEST(every_mistake_is_told) {
    ck_assert_int_eq(grid_add(&grid, "training.tp=a,1,b", diagnostics), RLHFSIM_INVALID);
    ck_assert_uint_eq(rlhfsim_diagnostics_count(diagnostics), 2);
    ck_assert_int_eq(rlhfsim_diagnostics_get(diagnostics, 0)->column, 13);
    ck_assert_int_eq(rlhfsim_diagnostics_get(diagnostics, 1)->column, 17);
}
END_TEST

START_TEST(bad_ranges) {
    expect_error("training.tp=1:8", 16, "expected a range FROM:TO:xFACTOR");
    expect_error("training.tp=1:8:2", 17, "expected a range");
    expect_error("training.tp=1:8:*2", 17, "expected a range");
    expect_error("training.tp=1:8:x2:3", 20, "expected a range");
    expect_error("training.tp=a:8:x2", 13, "expected a range");
    expect_error("training.tp=1:b:x2", 15, "expected a range");
    expect_error("training.tp=1:8:x", 18, "expected a range");
    expect_error("training.tp=1:8:+-1", 18, "expected a range");
    expect_error("training.tp=8:1:x2", 15, "not below the start");
    expect_error("training.tp=1:8:x1", 18, "a factor above 1");
    expect_error("training.tp=1:8:x0.5", 18, "a factor above 1");
    expect_error("training.tp=1:8:+0", 18, "a step above 0");
    expect_error("training.tp=0:8:x2", 13, "a start above 0");
    expect_error("logging.sampling_rate=0.1:1:x1.000000001", 23, "more than 18 digits");
}
END_TEST

START_TEST(keys_once) {
    add("training.tp=1,2");
    expect_error("training.tp=4", 1, "varied twice");
}
END_TEST

START_TEST(a_million_points_at_most) {
    add("cluster.nodes=1:1000:+1");
    expect_error("rollout.max_num_seqs=7,1:1000:+1", 24, "points, expected at most");
    add("rollout.max_num_seqs=1:1000:+1");
    ck_assert_uint_eq(grid.point_count, GRID_POINTS_MOST);
    expect_error("training.tp=1,2", 15, "points, expected at most");
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("grid");
    TCase *tcase = tcase_create("grid");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, lists_are_kept_as_written);
    tcase_add_test(tcase, factors);
    tcase_add_test(tcase, steps);
    tcase_add_test(tcase, lists_may_hold_ranges);
    tcase_add_test(tcase, ranges_of_keys_are_left_to_the_points);
    tcase_add_test(tcase, the_first_key_is_the_slowest);
    tcase_add_test(tcase, unknown_keys);
    tcase_add_test(tcase, no_spec);
    tcase_add_test(tcase, wrong_types);
    tcase_add_test(tcase, every_mistake_is_told);
    tcase_add_test(tcase, bad_ranges);
    tcase_add_test(tcase, keys_once);
    tcase_add_test(tcase, a_million_points_at_most);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(suite)
