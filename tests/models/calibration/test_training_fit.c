/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/training_fit.h"
#include "models/scenario/catalog_load.h"
#include "models/validation/training_forecast.h"
#include "tests/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEADER \
    "source,model,gpu,num_gpus,seq_len,global_batch_tokens,microbatch,tp,pp,precision,step_s\n"

/* Sequences short and long, models narrow and wide: products, attention and element-wise work weigh
 * differently in each. */
static const char table_text[] = HEADER "a,Llama 3.1 8b,A100,8,2048,131072,1,1,1,bf16,1\n"
                                        "a,Llama 3.1 8b,A100,8,8192,524288,1,1,1,bf16,1\n"
                                        "a,Llama 3.1 8b,A100,8,32768,524288,1,1,1,bf16,1\n"
                                        "a,Llama-3.2-1B-Instruct,A100,8,4096,262144,2,1,1,bf16,1\n"
                                        "a,Llama 3.1 70b,A100,64,4096,524288,1,8,1,bf16,1\n"
                                        "b,Llama 3.1 8b,H100,8,2048,131072,1,1,1,bf16,1\n"
                                        "b,Llama 3.1 8b,H100,8,8192,524288,1,1,1,bf16,1\n"
                                        "b,Llama 3.1 8b,H100,8,65536,524288,1,1,1,bf16,1\n"
                                        "b,Llama 3.1 70b,H100,64,8192,524288,1,8,1,bf16,1\n"
                                        "b,Llama-3.2-1B-Instruct,H100,8,4096,262144,2,1,1,bf16,1\n";

#define ROWS 10

static const struct training_coefficient_row truth[] = {
    {TRAINING_MATMUL_SHARE, "Ampere", 0.71, 0.9, true},
    {TRAINING_MATMUL_SHARE, "Hopper", 0.63, 0.9, true},
    {TRAINING_ATTENTION_SHARE, "all", 0.55, 1.0, true},
    {TRAINING_ELEMENTWISE_FACTOR, "all", 2.4, 1.0, false},
    {TRAINING_MATMUL_SHARE, "Blackwell", 0.5, 0.8, true},  /* no row speaks of it */
    {TRAINING_MATMUL_SHARE, "megatron", 0.97, 1.0, false}, /* known, not to be touched */
};
#define COEFFICIENTS (sizeof truth / sizeof *truth)

static struct catalog *catalog;
static struct rlhfsim_diagnostics *diagnostics;
static struct base_arena arena;
static struct training_row rows[ROWS];
static struct training_fit_row fit_rows[ROWS];
static struct training_coefficient_row coefficients[COEFFICIENTS];
static struct training_fit fit;

/* Rows whose measured times are forecasts with the true coefficients. */
static void setup(void) {
    struct csv_table table;
    struct training_columns columns;
    struct training_cells cells;
    size_t i = 0;
    catalog = catalog_new();
    diagnostics = rlhfsim_diagnostics_new();
    arena = (struct base_arena){0};
    ck_assert_int_eq(catalog_load(catalog, "scenarios/catalog", true, diagnostics), RLHFSIM_OK);
    ck_assert_int_eq(
        csv_table_read(&arena, "t.csv", table_text, strlen(table_text), diagnostics, &table),
        RLHFSIM_OK);
    ck_assert_int_eq(training_columns_find(&table, "t.csv", diagnostics, &columns), RLHFSIM_OK);
    for (const struct csv_row *row = table.rows; row != NULL; row = row->next, i++) {
        training_cells_read(&columns, row, &cells);
        training_row_read(catalog, &cells, &rows[i]);
        ck_assert_str_eq(rows[i].reason, "");
        training_coefficients_apply(truth, COEFFICIENTS, &rows[i].scope, &rows[i].plan.software);
        rows[i].measured_s = training_forecast_s(&rows[i]);
        fit_rows[i] = (struct training_fit_row){.row = &rows[i], .group = i < 5 ? 0 : 1};
    }
    ck_assert_uint_eq(i, ROWS);
    memcpy(coefficients, truth, sizeof truth);
    for (size_t j = 0; j < COEFFICIENTS; j++)
        if (truth[j].fitted)
            coefficients[j].value = truth[j].start;
    fit = (struct training_fit){fit_rows, ROWS, coefficients, COEFFICIENTS, -1, 60};
}

static void teardown(void) {
    catalog_free(catalog);
    rlhfsim_diagnostics_free(diagnostics);
    base_arena_release(&arena);
}

/* The prior pulls a coefficient by the order of (0.04 / 1.5)^2 = 7e-4 of its distance, over the
 * rows that speak of it. */
START_TEST(known_coefficients_come_back) {
    ck_assert_int_eq(training_fit_run(&fit, true), RLHFSIM_OK);
    for (size_t j = 0; j < 4; j++)
        assert_relative(coefficients[j].value, truth[j].value, 5e-3);
    assert_relative(coefficients[4].value, 0.8, 1e-9);
    ck_assert_double_eq(coefficients[5].value, 0.97);
    for (size_t i = 0; i < ROWS; i++)
        ck_assert_double_le(fabs(fit_rows[i].residual), 2e-3);
    ck_assert_uint_eq(training_fit_speaks(&fit, 0), 5);
    ck_assert_uint_eq(training_fit_speaks(&fit, 2), 10);
    ck_assert_uint_eq(training_fit_speaks(&fit, 4), 0);
}
END_TEST

/* A row that is twice too slow is 0.69 / 0.04 = 17 spreads off and counts 1 / (1 + 17^2). */
START_TEST(one_bad_row_is_not_followed) {
    rows[2].measured_s *= 2.0;
    ck_assert_int_eq(training_fit_run(&fit, true), RLHFSIM_OK);
    for (size_t j = 0; j < 4; j++)
        assert_relative(coefficients[j].value, truth[j].value, 2e-2);
    assert_relative(fit_rows[2].residual, -log(2.0), 2e-2);
}
END_TEST

/* Rows that are left out do not count, and are forecast all the same. */
START_TEST(rows_can_be_left_out) {
    fit.left_out = 1;
    rows[7].measured_s *= 1.3;
    ck_assert_int_eq(training_fit_run(&fit, true), RLHFSIM_OK);
    assert_relative(coefficients[0].value, truth[0].value, 5e-3);
    assert_relative(coefficients[1].value, 0.9, 1e-9); /* Hopper: only there */
    ck_assert_uint_eq(training_fit_speaks(&fit, 1), 0);
    ck_assert_double_lt(fit_rows[7].residual, -0.2);
}
END_TEST

START_TEST(twice_is_the_same) {
    struct training_coefficient_row first[COEFFICIENTS];
    ck_assert_int_eq(training_fit_run(&fit, true), RLHFSIM_OK);
    memcpy(first, coefficients, sizeof first);
    ck_assert_int_eq(training_fit_run(&fit, true), RLHFSIM_OK);
    for (size_t j = 0; j < COEFFICIENTS; j++)
        ck_assert_double_eq(coefficients[j].value, first[j].value);
}
END_TEST

/* Nothing that is free: residuals, no fit. */
START_TEST(nothing_to_fit) {
    for (size_t j = 0; j < COEFFICIENTS; j++)
        coefficients[j].fitted = false;
    memcpy(coefficients, truth, sizeof truth);
    fit.coefficient_count = 0;
    ck_assert_int_eq(training_fit_run(&fit, true), RLHFSIM_OK);
    fit.row_count = 0;
    fit.coefficient_count = COEFFICIENTS;
    ck_assert_int_eq(training_fit_run(&fit, true), RLHFSIM_OK);
    assert_relative(coefficients[0].value, 0.9, 1e-12);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("fit");
    Suite *suite = suite_create("calibration.training_fit");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, known_coefficients_come_back);
    tcase_add_test(tests, one_bad_row_is_not_followed);
    tcase_add_test(tests, rows_can_be_left_out);
    tcase_add_test(tests, twice_is_the_same);
    tcase_add_test(tests, nothing_to_fit);
    suite_add_tcase(suite, tests);
    return testing_run(suite);
}
