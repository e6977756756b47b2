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

static Suite *suite(void) {
    Suite *s = suite_create("calibrate generation");
    TCase *cases = tcase_create("made");
    tcase_set_timeout(cases, 120.0);
    tcase_add_test(cases, test_made_table);
    suite_add_tcase(s, cases);
    return s;
}

TESTING_MAIN(suite)
