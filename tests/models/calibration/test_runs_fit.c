/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The fit to whole runs on a made table: figures are what the simulation itself says with other
 * coefficients, which the fit must find again from the shipped ones.
 */

#include "models/calibration/runs_fit.h"
#include "models/scenario/catalog_load.h"
#include "models/validation/run_table.h"
#include "tests/testing.h"

#include <string.h>

#define ANCHORS "tests/validation/runs"

static struct catalog *catalog;
static struct rlhfsim_diagnostics *diagnostics;
static struct run_table table;

/* Large runs say nothing more here and take longer. */
static void leave_out_large_runs(void) {
    for (struct run_case *run = table.cases; run != NULL; run = run->next)
        if (strncmp(run->source, "NEMO-PERF", 9) == 0 || strcmp(run->source, "EASYR1") == 0)
            run->reason = "large";
}

static void setup(void) {
    catalog = catalog_new();
    diagnostics = rlhfsim_diagnostics_new();
    ck_assert_int_eq(catalog_load(catalog, "scenarios/catalog", true, diagnostics), RLHFSIM_OK);
    ck_assert_int_eq(run_table_read(catalog, ANCHORS, diagnostics, &table), RLHFSIM_OK);
    leave_out_large_runs();
}

static void teardown(void) {
    run_table_release(&table);
    catalog_free(catalog);
    rlhfsim_diagnostics_free(diagnostics);
}

static size_t coefficient(enum framework_column column, const char *preset) {
    for (size_t i = 0; i < runs_coefficient_count(); i++)
        if (runs_coefficient_at(i)->column == column &&
            strncmp(runs_coefficient_at(i)->presets, preset, strlen(preset)) == 0)
            return i;
    ck_abort_msg("no such coefficient");
    return 0;
}

/* Makes the figures those of the present values. */
static void make_figures(struct runs_fit *fit) {
    ck_assert_int_eq(runs_fit_residuals(fit), RLHFSIM_OK);
    for (size_t i = 0; i < fit->point_count; i++) {
        struct run_figure *figure = (struct run_figure *)fit->points[i].figure;
        figure->value *= exp(fit->points[i].residual);
    }
    ck_assert_int_eq(runs_fit_residuals(fit), RLHFSIM_OK);
    for (size_t i = 0; i < fit->point_count; i++)
        ck_assert_double_le(fabs(fit->points[i].residual), 1e-9);
}

START_TEST(made_coefficients_are_found_again) {
    struct runs_fit fit;
    size_t share = coefficient(FRAMEWORK_MATMUL_SHARE, "verl ");
    size_t host = coefficient(FRAMEWORK_MICROBATCH_HOST_MS, "verl ");
    ck_assert_int_eq(runs_fit_make(catalog, &table, diagnostics, &fit), RLHFSIM_OK);
    ck_assert_uint_gt(fit.point_count, runs_coefficient_count());
    double shipped_share = fit.values[share], shipped_host = fit.values[host];
    fit.values[share] = 0.8 * shipped_share;
    fit.values[host] = 1.5 * shipped_host;
    make_figures(&fit);
    double made_share = fit.values[share], made_host = fit.values[host];
    fit.values[share] = shipped_share;
    fit.values[host] = shipped_host;
    ck_assert_int_eq(runs_fit_solve(&fit, 12), RLHFSIM_OK);
    assert_relative(fit.values[share], made_share, 0.04);
    assert_relative(fit.values[host], made_host, 0.08);
    runs_fit_release(&fit);
}
END_TEST

/* Where every figure is met there is nothing to move to. */
START_TEST(a_perfect_forecast_stays) {
    struct runs_fit fit;
    ck_assert_int_eq(runs_fit_make(catalog, &table, diagnostics, &fit), RLHFSIM_OK);
    make_figures(&fit);
    ck_assert_int_eq(runs_fit_solve(&fit, 2), RLHFSIM_OK);
    for (size_t i = 0; i < runs_coefficient_count(); i++)
        assert_relative(fit.values[i], fit.starts[i], 1e-3);
    runs_fit_release(&fit);
}
END_TEST

/* One source's figures are made twice as long: the fit without it stays, the fit to all does not,
 * and the source is then forecast at half of its figures. */
START_TEST(a_source_that_is_left_out_has_no_say) {
    struct runs_fit fit;
    size_t share = coefficient(FRAMEWORK_MATMUL_SHARE, "verl ");
    ck_assert_int_eq(runs_fit_make(catalog, &table, diagnostics, &fit), RLHFSIM_OK);
    make_figures(&fit);
    double shipped = fit.values[share];
    for (size_t i = 0; i < fit.point_count; i++)
        if (strcmp(runs_fit_run(&fit.points[i])->source, "AMD-VERL") == 0)
            ((struct run_figure *)fit.points[i].figure)->value *= 2.0;
    ck_assert_int_eq(runs_fit_solve(&fit, 6), RLHFSIM_OK);
    double all = fit.values[share];
    ck_assert_double_lt(all, 0.99 * shipped);
    ck_assert_int_eq(runs_fit_leave_out(&fit, "AMD-VERL"), RLHFSIM_OK);
    ck_assert_double_gt(fit.values[share], all);
    assert_relative(fit.values[share], shipped, 0.1);
    runs_fit_release(&fit);
}
END_TEST

/* At most 30, each of a column of its own for every preset, and none for fewer than three runs. */
START_TEST(coefficients_are_few) {
    ck_assert_uint_le(runs_coefficient_count(), 30);
    for (size_t i = 0; i < runs_coefficient_count(); i++)
        for (size_t j = 0; j < i; j++)
            ck_assert(runs_coefficient_at(i)->column != runs_coefficient_at(j)->column ||
                      strcmp(runs_coefficient_at(i)->presets, runs_coefficient_at(j)->presets) !=
                          0);
}
END_TEST

static Suite *runs_fit_suite(void) {
    Suite *suite = suite_create("calibration.runs_fit");
    TCase *tests = tcase_create("fit");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, made_coefficients_are_found_again);
    tcase_add_test(tests, a_perfect_forecast_stays);
    tcase_add_test(tests, a_source_that_is_left_out_has_no_say);
    tcase_add_test(tests, coefficients_are_few);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(runs_fit_suite)
