/* SPDX-License-Identifier: GPL-3.0-or-later */

/* calibrate generation on a made table: what vLLM would take with other host times is found again.
 */

#include "models/scenario/catalog_load.h"
#include "models/validation/generation_row.h"
#include "models/validation/kind.h"
#include "tests/testing.h"

#include <rlhfsim/calibration.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER "engine,model,gpu,tp,input_len,output_len,concurrency,tpot_ms\n"

/* A row as it stands in a table, without its time. */
static void put_row(FILE *stream, int tp, int out, int clients, double tpot_ms) {
    fprintf(stream, "vllm,Llama-3.1-8B,H100-SXM5-80GB,%d,1000,%d,%d,%.9g\n", tp, out, clients,
            tpot_ms);
}

/* The time a token of such a row when the engine's host takes thrice and twice as long. */
static double made_ms(const struct catalog *catalog, int tp, int out, int clients) {
    struct serving_case serving = {.plan = {.software = catalog_engine(catalog, "vllm")->software}};
    struct generation_software software = serving.plan.software;
    struct serving_forecast forecast;
    software.prefix_caching = false;
    software.iteration_host_s *= 3.0;
    software.sequence_host_s *= 2.0;
    serving.cluster = (struct hardware_cluster){.gpu = *catalog_gpu(catalog, "H100"),
                                                .node = *catalog_node(catalog, "dgx-h100"),
                                                .nodes = 1,
                                                .gpus_per_node = 8};
    serving.architecture = *catalog_model(catalog, "Llama-3.1-8B");
    serving.plan = (struct generation_plan){.software = software,
                                            .tp = tp,
                                            .pp = 1,
                                            .dp = 1,
                                            .ep = 1,
                                            .format = GENERATION_BF16,
                                            .kv_element_bytes = 2.0,
                                            .max_batched_tokens = 8192};
    serving.input_tokens = 1000;
    serving.output_tokens = out;
    serving.requests = clients;
    serving.memory_fraction = 0.9;
    ck_assert(serving_case_size(&serving));
    ck_assert(serving_case_forecast(&serving, &forecast));
    return 1e3 * forecast.tpot_s;
}

START_TEST(test_made_table) {
    char path[] = "/tmp/rlhfsim-calibrate-XXXXXX";
    const char *paths[] = {path};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct catalog *catalog = catalog_new();
    struct rlhfsim_calibration_options options = {.catalog_directory = "scenarios/catalog"};
    struct rlhfsim_calibration *calibration;
    struct rlhfsim_calibration_line line;
    FILE *stream = fdopen(mkstemp(path), "w");
    ck_assert_ptr_nonnull(stream);
    ck_assert_int_eq(catalog_load(catalog, "scenarios/catalog", true, diagnostics), RLHFSIM_OK);
    fputs(HEADER, stream);
    for (int tp = 1; tp <= 4; tp *= 2)
        for (int clients = 1; clients <= 128; clients *= 2)
            put_row(stream, tp, 200 + clients, clients,
                    made_ms(catalog, tp, 200 + clients, clients));
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_int_eq(
        rlhfsim_calibration_run("generation", paths, 1, &options, diagnostics, &calibration),
        RLHFSIM_OK);
    ck_assert(rlhfsim_calibration_line(calibration, 0, &line));
    ck_assert_str_eq(line.subject, "vllm");
    ck_assert_uint_eq(line.points, 24);
    ck_assert_double_lt(line.p90_error, 0.04); /* the prior keeps a little of the catalog */
    /* its only model left out: where the fit starts, which is too short */
    ck_assert_double_gt(line.held_out_median_error, line.median_error);
    ck_assert(rlhfsim_calibration_line(calibration, 1, &line));
    ck_assert_str_eq(line.subject, "Llama-3.1-8B");
    ck_assert_uint_eq(line.points, 24);
    ck_assert(rlhfsim_calibration_line(calibration, 2, &line));
    ck_assert_str_eq(line.subject, "all");
    ck_assert(!rlhfsim_calibration_line(calibration, 3, &line));
    const char *text = rlhfsim_calibration_text(calibration);
    ck_assert_ptr_nonnull(strstr(text, "\nvllm,continuous,mixed,"));
    ck_assert_ptr_nonnull(strstr(text, "rlhfsim calibrate generation"));
    ck_assert_ptr_nonnull(strstr(text, "\nhf,padded_to_batch,"));
    rlhfsim_calibration_free(calibration);
    catalog_free(catalog);
    rlhfsim_diagnostics_free(diagnostics);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

#define RUNS_HEADER "engine,model,gpu,tp,input_len,output_len,concurrency,output_tokens_per_s\n"

/* Runs of 1,000 requests as fast as nothing in the catalog has them. */
static void write_runs(const char *path) {
    FILE *stream = fopen(path, "w");
    ck_assert_ptr_nonnull(stream);
    fputs(RUNS_HEADER, stream);
    for (int tp = 1; tp <= 4; tp *= 2)
        for (int out = 64; out <= 512; out *= 2)
            fprintf(stream, "vllm,Llama-3.1-8B,H100-SXM5-80GB,%d,512,%d,,%d\n", tp, out,
                    1500 * tp + out);
    ck_assert_int_eq(fclose(stream), 0);
}

/* The file that the runs give beside a user's own catalogs. To be freed. */
static char *fitted_text(const char *path, const char *const *directories, size_t count) {
    struct rlhfsim_calibration_options options = {.catalog_directory = "scenarios/catalog",
                                                  .user_directories = directories,
                                                  .user_directory_count = count};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_calibration *calibration;
    ck_assert_int_eq(
        rlhfsim_calibration_run("generation", &path, 1, &options, diagnostics, &calibration),
        RLHFSIM_OK);
    char *text = strdup(rlhfsim_calibration_text(calibration));
    ck_assert_ptr_nonnull(text);
    rlhfsim_calibration_free(calibration);
    rlhfsim_diagnostics_free(diagnostics);
    return text;
}

/* The rows of engines.csv play no part: fitted again in their place, they give the same bytes. */
START_TEST(test_fit_of_fit) {
    char folder[] = "/tmp/rlhfsim-calibrate-XXXXXX", table[64], engines[64];
    const char *directory = mkdtemp(folder);
    ck_assert_ptr_nonnull(directory);
    (void)snprintf(table, sizeof table, "%s/runs.csv", directory);
    (void)snprintf(engines, sizeof engines, "%s/engines.csv", directory);
    write_runs(table);
    char *first = fitted_text(table, NULL, 0);
    FILE *stream = fopen(engines, "w");
    ck_assert_ptr_nonnull(stream);
    fputs(first, stream);
    ck_assert_int_eq(fclose(stream), 0);
    char *second = fitted_text(table, &directory, 1);
    ck_assert_str_eq(first, second);
    free(first);
    free(second);
    ck_assert_int_eq(unlink(table), 0);
    ck_assert_int_eq(unlink(engines), 0);
    ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("calibrate generation");
    TCase *cases = tcase_create("made");
    tcase_set_timeout(cases, 120.0);
    tcase_add_test(cases, test_made_table);
    tcase_add_test(cases, test_fit_of_fit);
    suite_add_tcase(s, cases);
    return s;
}

TESTING_MAIN(suite)
