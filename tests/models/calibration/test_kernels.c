/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Tables made from known laws, written out here in the terms of the essays of models/hardware/ (not
 * by its code), give the coefficients back. The GPU is A100-SXM4-80GB of the project's catalog: 312
 * TFLOP/s and 2,039 GB/s.
 */

#include "tests/testing.h"

#include <rlhfsim/rlhfsim.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PEAK 312e12
#define BANDWIDTH 2039e9

static char products[64], prompts[64], operators[64];

/* E 0.8, Em 0.7, launch 5 us, k0 150, n0 60, tau 0.25 ns, p 3. */
static double product_us(double m, double n, double k) {
    double compute = 2 * m * (n + 60) * (k + 150) / (PEAK * 0.8);
    double memory = (2 * (m * k + n * k) + 2 * m * n) / (BANDWIDTH * 0.7) + k * 0.25e-9;
    return 1e6 * (cbrt(compute * compute * compute + memory * memory * memory) + 5e-6);
}

/* Em 0.9, launch 12 us, unit 40 ns, 60 ns a root, ramp 9 us, L2 45 MB at 1.4. */
static double decode_us(double batch, double context, double kv_heads) {
    double bytes = 4 * batch * context * kv_heads * 128;
    double cold = bytes / (BANDWIDTH * 0.9) + 9e-6 * bytes / (bytes + 45e6);
    double weight = 1 / (1 + pow(45e6 / bytes, 8));
    double warm = fmin(cold, bytes / (BANDWIDTH * 1.4));
    double read = weight * cold + (1 - weight) * warm;
    double shared = hypot(read, 40e-9 * batch * kv_heads);
    return 1e6 * (12e-6 + pow(pow(shared, 1.5) + pow(60e-9 * sqrt(context), 1.5), 2.0 / 3));
}

static FILE *open_table(char path[64], const char *header) {
    snprintf(path, 64, "/tmp/rlhfsim-kernels-XXXXXX");
    FILE *file = fdopen(mkstemp(path), "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%s\n", header);
    return file;
}

static void write_products(void) {
    FILE *file = open_table(products, "source,gpu,framework,dtype,m,n,k,time_us");
    for (double m = 1; m <= 8192; m *= 4)
        for (double n = 1024; n <= 65536; n *= 2)
            for (double k = 1024; k <= 65536; k *= 2)
                fprintf(file, "made,A100,,bf16,%.0f,%.0f,%.0f,%.9g\n", m, n, k,
                        product_us(m, n, k));
    fprintf(file, "made,A100,,bf16,1,1024,1024,\nmade,Z9,,bf16,1,2,3,4\nmade,A100,,int4,1,2,3,4\n");
    fprintf(file, "made,A100,,fp8,1,2,3,4\n");
    ck_assert_int_eq(fclose(file), 0);
}

static void write_prompts(void) {
    FILE *file =
        open_table(prompts, "gpu,phase,batch,seq_len,q_heads,kv_heads,head_dim,kv_dtype,time_us");
    for (double batch = 1; batch <= 512; batch *= 2)
        for (double context = 16; context <= 65536; context *= 2)
            for (double kv = 1; kv <= 8; kv *= 2)
                fprintf(file, "A100 80GB,decode,%.0f,%.0f,32,%.0f,128,bf16,%.9g\n", batch, context,
                        kv, decode_us(batch, context, kv));
    ck_assert_int_eq(fclose(file), 0);
}

/* A norm of Llama-2-7B's row, 2 x 2 x 4,096 bytes, and of the 70B's, twice as wide: 3 us and 50 ns
 * a kB at 0.6 of the bandwidth. */
static void write_operators(void) {
    static const struct {
        const char *model;
        double bytes;
    } rows[] = {{"meta-llama/Llama-2-7b-hf", 16384}, {"meta-llama/Llama-2-70b-hf", 32768}};
    FILE *file = open_table(operators, "gpu,model,tp,num_tokens,op,time_ms");
    for (size_t i = 0; i < 2; i++)
        for (double tokens = 1; tokens <= 65536; tokens *= 2)
            fprintf(file, "A100,%s,1,%.0f,input_layernorm,%.9g\n", rows[i].model, tokens,
                    1e3 * cbrt(pow(3e-6 + 50e-12 * rows[i].bytes, 3) +
                               pow(tokens * rows[i].bytes / (BANDWIDTH * 0.6), 3)));
    ck_assert_int_eq(fclose(file), 0);
}

static struct rlhfsim_calibration *calibrate(const char *path) {
    struct rlhfsim_calibration_options options = {.catalog_directory = "scenarios/catalog"};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_calibration *calibration;
    ck_assert_int_eq(
        rlhfsim_calibration_run("kernels", &path, 1, &options, diagnostics, &calibration),
        RLHFSIM_OK);
    rlhfsim_diagnostics_free(diagnostics);
    return calibration;
}

/* The number in a column of the only row of the text. */
static double cell(const struct rlhfsim_calibration *calibration, const char *column) {
    const char *text = rlhfsim_calibration_text(calibration);
    const char *row = strchr(text, '\n') + 1, *name = text;
    while (strncmp(name, column, strlen(column)) != 0 ||
           strchr(",\n", name[strlen(column)]) == NULL) {
        name += strcspn(name, ",\n") + 1;
        row += strcspn(row, ",\n") + 1;
        ck_assert_msg(name[-1] == ',', "no column %s", column);
    }
    return strtod(row, NULL);
}

START_TEST(products_give_their_law_back) {
    write_products();
    struct rlhfsim_calibration *calibration = calibrate(products);
    struct rlhfsim_calibration_line line;
    const char *reason;
    size_t count, skipped = 0;
    assert_relative(cell(calibration, "efficiency"), 0.8, 1e-3);
    assert_relative(cell(calibration, "memory_efficiency"), 0.7, 1e-3);
    assert_relative(cell(calibration, "launch_us"), 5.0, 5e-3);
    assert_relative(cell(calibration, "fill"), 150.0, 2e-2);
    assert_relative(cell(calibration, "fill_n"), 60.0, 2e-2);
    assert_relative(cell(calibration, "serial_ns"), 0.25, 1e-2);
    assert_relative(cell(calibration, "sharpness"), 3.0, 1e-2);
    ck_assert(rlhfsim_calibration_line(calibration, 0, &line));
    ck_assert_str_eq(line.subject, "A100-SXM4-80GB gemm_bf16");
    ck_assert_uint_eq(line.points, 7 * 7 * 7);
    ck_assert(line.from == NULL && line.p90_error < 1e-3 && line.held_out_p90_error < 1e-3);
    ck_assert(!rlhfsim_calibration_line(calibration, 1, &line));
    for (size_t i = 0; rlhfsim_calibration_skipped(calibration, i, &reason, &count); i++)
        skipped += count;
    ck_assert_uint_eq(skipped, 4);
    ck_assert_str_eq(rlhfsim_calibration_file(calibration), "kernels.csv");
    rlhfsim_calibration_free(calibration);
    unlink(products);
}
END_TEST

START_TEST(decode_gives_its_law_back) {
    write_prompts();
    struct rlhfsim_calibration *calibration = calibrate(prompts);
    assert_relative(cell(calibration, "memory_efficiency"), 0.9, 2e-3);
    assert_relative(cell(calibration, "launch_us"), 12.0, 5e-3);
    assert_relative(cell(calibration, "unit_ns"), 40.0, 5e-3);
    assert_relative(cell(calibration, "serial_ns"), 60.0, 2e-2);
    assert_relative(cell(calibration, "ramp_us"), 9.0, 3e-2);
    assert_relative(cell(calibration, "cache_mb"), 45.0, 1e-2);
    assert_relative(cell(calibration, "warm_rate"), 1.4, 1e-2);
    rlhfsim_calibration_free(calibration);
    unlink(prompts);
}
END_TEST

START_TEST(operators_give_their_law_back) {
    write_operators();
    struct rlhfsim_calibration *calibration = calibrate(operators);
    assert_relative(cell(calibration, "memory_efficiency"), 0.6, 2e-3);
    assert_relative(cell(calibration, "launch_us"), 3.0, 2e-2);
    assert_relative(cell(calibration, "row_ns_per_kb"), 50.0, 5e-2);
    rlhfsim_calibration_free(calibration);
    unlink(operators);
}
END_TEST

static void refuse(const char *kind, const char *path, enum rlhfsim_status status) {
    struct rlhfsim_calibration_options options = {.catalog_directory = "scenarios/catalog"};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_calibration *calibration;
    ck_assert_int_eq(rlhfsim_calibration_run(kind, &path, 1, &options, diagnostics, &calibration),
                     status);
    ck_assert_ptr_null(calibration);
    ck_assert_uint_gt(rlhfsim_diagnostics_count(diagnostics), 0);
    rlhfsim_diagnostics_free(diagnostics);
}

START_TEST(what_cannot_be_fitted_is_refused) {
    FILE *file = open_table(products, "source,gpu,framework,dtype,m,n,k,time_us");
    fprintf(file, "made,Z9,,bf16,1,2,3,4\n");
    ck_assert_int_eq(fclose(file), 0);
    refuse("kernels", products, RLHFSIM_INVALID); /* no row is left */
    refuse("kernel", products, RLHFSIM_INVALID);
    unlink(products);
    file = open_table(products, "gpu,m,n,k,time_us");
    ck_assert_int_eq(fclose(file), 0);
    refuse("kernels", products, RLHFSIM_INVALID); /* dtype is missing */
    unlink(products);
    refuse("kernels", "/nowhere/gemm.csv", RLHFSIM_INVALID);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("calibration_kernels");
    TCase *laws = tcase_create("laws");
    tcase_set_timeout(laws, 120);
    tcase_add_test(laws, products_give_their_law_back);
    tcase_add_test(laws, decode_gives_its_law_back);
    tcase_add_test(laws, operators_give_their_law_back);
    tcase_add_test(laws, what_cannot_be_fitted_is_refused);
    suite_add_tcase(result, laws);
    return result;
}

TESTING_MAIN(suite)
