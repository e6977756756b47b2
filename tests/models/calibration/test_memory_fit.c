/* SPDX-License-Identifier: GPL-3.0-or-later */

/* The fit of memory coefficients on made-up peaks: what they were made with comes back. */

#include "models/calibration/memory_fit.h"
#include "models/scenario/catalog_load.h"
#include "tests/testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HEADER                                                                               \
    "source,model,gpu,num_gpus,seq_len,global_batch_tokens,microbatch,tp,pp,cp,dp,sharding," \
    "vpp,precision,activation_checkpointing,step_s,params,notes\n"
#define ROWS 12
#define COEFFICIENTS 4

static struct catalog *catalog;
static struct rlhfsim_diagnostics *diagnostics;
static struct base_arena arena;
static struct memory_fit_row peaks[ROWS], *rows[ROWS];
static struct training_memory_row coefficients[COEFFICIENTS];
static struct memory_fit fit;

/* Lengths from 2,048 to 65,536 of two models, so that what grows with tokens and what does not can
 * be told apart. */
static void read_peak(size_t index) {
    static const char *const models[] = {"Qwen3-4B", "Llama-3.1-8B"};
    char file[1024];
    struct csv_table table;
    struct training_columns columns;
    struct training_cells cells;
    int length = snprintf(file, sizeof file,
                          HEADER "PRIMERL,%s,H100-SXM5-80GB,8,%d,,1,1,1,1,,ZeRO-3,,bf16,full,,,\n",
                          models[index % 2], 2048 << (index / 2));
    ck_assert_int_eq(csv_table_read(&arena, "t.csv", file, (size_t)length, diagnostics, &table),
                     RLHFSIM_OK);
    ck_assert_int_eq(training_columns_find(&table, "t.csv", diagnostics, &columns), RLHFSIM_OK);
    training_cells_read(&columns, table.rows, &cells);
    peaks[index] = (struct memory_fit_row){.source = index < ROWS / 2 ? "one" : "two"};
    memory_row_read(catalog, &cells, &peaks[index].row);
    ck_assert_str_eq(peaks[index].row.reason, "");
    rows[index] = &peaks[index];
}

static void setup(void) {
    static const struct training_memory_row made[COEFFICIENTS] = {
        {TRAINING_BLOCK_FACTOR, "prime-rl", 1.6, 1.2, true},
        {TRAINING_RESERVED_BASE, "all", 2.5, 2.0, true},
        {TRAINING_RESERVED_SHARE, "all", 0.05, 0.05, false},
        {TRAINING_MEMORY_SPREAD, "all", 0.1, 0.1, true}};
    catalog = catalog_new();
    diagnostics = rlhfsim_diagnostics_new();
    arena = (struct base_arena){0};
    ck_assert_int_eq(catalog_load(catalog, "scenarios/catalog", true, diagnostics), RLHFSIM_OK);
    memcpy(coefficients, made, sizeof coefficients);
    fit = (struct memory_fit){rows, ROWS, coefficients, COEFFICIENTS, NULL};
    for (size_t i = 0; i < ROWS; i++) {
        read_peak(i);
        peaks[i].measured_bytes = 1.0;
    }
    memory_fit_residuals(&fit); /* ln of the forecasts themselves */
    for (size_t i = 0; i < ROWS; i++)
        peaks[i].measured_bytes = exp(peaks[i].residual);
}

static void teardown(void) {
    catalog_free(catalog);
    rlhfsim_diagnostics_free(diagnostics);
    base_arena_release(&arena);
}

START_TEST(known_coefficients_come_back) {
    memory_fit_run(&fit);
    assert_relative(coefficients[0].value, 1.6, 0.02);
    assert_relative(coefficients[1].value, 2.5, 0.05);
    ck_assert_double_eq(coefficients[2].value, 0.05); /* not fitted */
    ck_assert_double_lt(coefficients[3].value, 0.02); /* nothing is left */
}
END_TEST

/* One peak that is twice what it should be is not followed. */
START_TEST(one_bad_row_is_not_followed) {
    peaks[7].measured_bytes *= 2.0;
    memory_fit_run(&fit);
    assert_relative(coefficients[0].value, 1.6, 0.06);
}
END_TEST

/* Rows of a project that is left out do not count, however wrong they are. */
START_TEST(a_project_is_left_out) {
    for (size_t i = ROWS / 2; i < ROWS; i++)
        peaks[i].measured_bytes *= 3.0;
    fit.left_out = "two";
    memory_fit_run(&fit);
    assert_relative(coefficients[1].value, 2.5, 0.1);
    for (size_t i = 0; i < ROWS / 2; i++)
        ck_assert_double_lt(fabs(peaks[i].residual), 0.03);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("calibration.memory_fit");
    TCase *tests = tcase_create("fit");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, known_coefficients_come_back);
    tcase_add_test(tests, one_bad_row_is_not_followed);
    tcase_add_test(tests, a_project_is_left_out);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(suite)
