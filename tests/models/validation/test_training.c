/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Forecasts of published training steps: anchors that are typed into tests/validation, and, where
 * they are at hand, all of the shared table. The limits are what the shipped coefficients reach,
 * with a little room: accuracy must not drift away unseen.
 */

#include "models/scenario/catalog_load.h"
#include "models/validation/training_forecast.h"
#include "tests/testing.h"

#include <rlhfsim/validation.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANCHORS "tests/validation/training_steps.csv"
#define TABLE "measurements/components/training_throughput.csv"

static struct rlhfsim_validation *validate(const char *path) {
    const struct rlhfsim_validation_options options = {.catalog_directory = "scenarios/catalog"};
    struct rlhfsim_validation *validation = NULL;
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    ck_assert_int_eq(
        rlhfsim_validation_run("training", &path, 1, &options, diagnostics, &validation),
        RLHFSIM_OK);
    rlhfsim_diagnostics_free(diagnostics);
    return validation;
}

/* Largest median of |error| of a source in the anchors. */
static const struct {
    const char *source;
    double median;
} limits[] = {{"llm-foundry", 0.05},
              {"torchtitan", 0.08},
              {"Korthikanti", 0.05},
              {"bigscience", 0.06},
              {"foundation-model-stack/fms-fsdp", 0.05},
              {"NVIDIA/dgxc-benchmarking", 0.03}};

START_TEST(anchors_hold) {
    struct rlhfsim_validation *validation = validate(ANCHORS);
    struct rlhfsim_validation_errors errors;
    size_t count = sizeof limits / sizeof *limits;
    for (size_t i = 0; i < count; i++) {
        ck_assert(rlhfsim_validation_source(validation, i, &errors));
        ck_assert_str_eq(errors.name, limits[i].source);
        ck_assert_uint_eq(errors.skipped, 0);
        ck_assert_msg(errors.median_abs_error <= limits[i].median, "%s: median %g", errors.name,
                      errors.median_abs_error);
    }
    ck_assert(!rlhfsim_validation_source(validation, count, &errors));
    ck_assert(rlhfsim_validation_overall(validation, &errors));
    ck_assert_double_le(errors.median_abs_error, 0.04);
    ck_assert_double_le(errors.p90_abs_error, 0.09);
    ck_assert_double_ge(errors.kendall_tau, 0.95);
    rlhfsim_validation_free(validation);
}
END_TEST

/* Errors of the rows of one kind in the shared table. */
struct errors_of_kind {
    double errors[2048];
    size_t count;
};

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double quantile(const struct errors_of_kind *kind, double p) {
    double place = p * (double)(kind->count - 1);
    size_t below = (size_t)place, above = below + 1 < kind->count ? below + 1 : below;
    return kind->errors[below] +
           (place - (double)below) * (kind->errors[above] - kind->errors[below]);
}

/* Whether a row states all that a step needs, and a measured one. */
static bool states_all(const struct training_cells *cells) {
    static const enum training_number needed[] = {TRAINING_NUM_GPUS,
                                                  TRAINING_SEQ_LEN,
                                                  TRAINING_TP,
                                                  TRAINING_PP,
                                                  TRAINING_GLOBAL_BATCH_TOKENS,
                                                  TRAINING_MICROBATCH};
    char lacking[128];
    bool derived;
    return !training_cells_lack(cells, needed, sizeof needed / sizeof *needed, lacking,
                                sizeof lacking) &&
           !isnan(training_cells_measured(cells, &derived));
}

START_TEST(the_shared_table) {
    static struct errors_of_kind dense, experts, adapters;
    const char *shared = testing_shared_directory();
    char path[4096];
    struct base_arena arena = {0};
    struct csv_table table;
    struct training_columns columns;
    size_t stated = 0, compared = 0;
    snprintf(path, sizeof path, "%s/" TABLE, shared == NULL ? "" : shared);
    FILE *there = shared == NULL ? NULL : fopen(path, "r");
    if (there == NULL) {
        printf("skipped: the shared measurements are not there\n");
        return;
    }
    fclose(there);
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct catalog *catalog = catalog_new();
    ck_assert_int_eq(catalog_load(catalog, "scenarios/catalog", true, diagnostics), RLHFSIM_OK);
    ck_assert_int_eq(validation_read_csv(&arena, path, diagnostics, &table), RLHFSIM_OK);
    ck_assert_int_eq(training_columns_find(&table, path, diagnostics, &columns), RLHFSIM_OK);
    for (const struct csv_row *cells = table.rows; cells != NULL; cells = cells->next) {
        static struct training_row row;
        struct training_cells statement;
        training_cells_read(&columns, cells, &statement);
        training_row_read(catalog, &statement, &row);
        bool forecast = row.reason[0] == '\0';
        stated += states_all(&statement) ? 1 : 0;
        compared += states_all(&statement) && forecast ? 1 : 0;
        if (!forecast)
            continue;
        training_forecast_software(catalog, &row);
        struct errors_of_kind *kind = row.plan.lora_rank > 0         ? &adapters
                                      : row.architecture.experts > 0 ? &experts
                                                                     : &dense;
        kind->errors[kind->count++] = fabs(training_forecast_s(&row) / row.measured_s - 1.0);
    }
    ck_assert_double_ge((double)compared, 0.95 * (double)stated);
    struct errors_of_kind *kinds[] = {&dense, &experts, &adapters};
    static const double medians[] = {0.03, 0.09, 0.11}, p90s[] = {0.09, 0.2, 0.15};
    for (size_t i = 0; i < 3; i++) {
        qsort(kinds[i]->errors, kinds[i]->count, sizeof *kinds[i]->errors, compare);
        printf("%zu rows: median %.3f, P90 %.3f\n", kinds[i]->count, quantile(kinds[i], 0.5),
               quantile(kinds[i], 0.9));
        ck_assert_double_le(quantile(kinds[i], 0.5), medians[i]);
        ck_assert_double_le(quantile(kinds[i], 0.9), p90s[i]);
    }
    catalog_free(catalog);
    rlhfsim_diagnostics_free(diagnostics);
    base_arena_release(&arena);
}
END_TEST

/* Scaling curves keep the order of what all GPUs get done; the order of all rows of a project is
 * that of single iterations in places. */
START_TEST(scaling_curves_keep_their_order) {
    const char *shared = testing_shared_directory();
    char path[4096];
    snprintf(path, sizeof path, "%s/" TABLE, shared == NULL ? "" : shared);
    FILE *there = shared == NULL ? NULL : fopen(path, "r");
    if (there == NULL) {
        printf("skipped: the shared measurements are not there\n");
        return;
    }
    fclose(there);
    struct rlhfsim_validation *validation = validate(path);
    struct rlhfsim_validation_curves strong, weak;
    struct rlhfsim_validation_errors errors;
    ck_assert(rlhfsim_validation_scaling(validation, &strong, &weak));
    ck_assert(rlhfsim_validation_overall(validation, &errors));
    printf("%zu strong curves: tau %.3f; %zu weak: %.3f, %.3f by time; all rows: %.3f\n",
           strong.curves, strong.kendall_tau, weak.curves, weak.kendall_tau, weak.time_kendall_tau,
           errors.kendall_tau);
    ck_assert(strong.curves >= 5 && weak.curves >= 50);
    ck_assert_double_ge(strong.kendall_tau, 0.95);
    ck_assert_double_ge(weak.kendall_tau, 0.95);
    ck_assert_double_ge(errors.kendall_tau, 0.92);
    rlhfsim_validation_free(validation);
}
END_TEST

static Suite *training_suite(void) {
    Suite *suite = suite_create("validation.training");
    TCase *tests = tcase_create("steps");
    tcase_set_timeout(tests, 60.0); /* 664 steps, on a busy machine */
    tcase_add_test(tests, anchors_hold);
    tcase_add_test(tests, the_shared_table);
    tcase_add_test(tests, scaling_curves_keep_their_order);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(training_suite)
