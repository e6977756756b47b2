/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/training/coefficients.h"
#include "tests/testing.h"

#include <string.h>

static const struct training_scope hopper = {
    "H100-SXM5-80GB", "fsdp", TRAINING_ATTENTION_FLASH_2, TRAINING_FUSION_EAGER,
    HARDWARE_FP8,     false,  "rowwise async_tp"};

START_TEST(scopes_fit_word_by_word) {
    static const struct {
        const char *scope;
        bool fits;
    } scopes[] = {{"all", true},          {"Hopper", true},        {"H100", true},
                  {"fsdp", true},         {"flash_2", true},       {"eager", true},
                  {"rowwise", true},      {"async_tp@fsdp", true}, {"async", false},
                  {"fp8", true},          {"dense", true},         {"H100@fp8@fsdp", true},
                  {"Hopper@bf16", false}, {"Ampere", false},       {"H100-SXM5-80GB", false},
                  {"H10", false},         {"H1000", false},        {"fsd", false},
                  {"experts", false},     {"compiled@fp8", false}, {"hopper", false}};
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++)
        ck_assert_msg(training_scope_fits(scopes[i].scope, &hopper) == scopes[i].fits, "%s",
                      scopes[i].scope);
    ck_assert(training_scope_check("a@b") && !training_scope_check("") &&
              !training_scope_check("a@") && !training_scope_check("@a") &&
              !training_scope_check("a@@b"));
}
END_TEST

/* One set of units multiplies both 2-byte formats; bf16 is no fp16, and fp32 neither. */
START_TEST(fp16_is_as_fast_as_bf16) {
    struct training_scope scope = hopper;
    scope.precision = HARDWARE_FP16;
    ck_assert(training_scope_fits("Hopper@bf16", &scope));
    ck_assert(training_scope_fits("fp16", &scope) && !training_scope_fits("fp8", &scope));
    scope.precision = HARDWARE_BF16;
    ck_assert(training_scope_fits("bf16", &scope) && !training_scope_fits("fp16", &scope));
    scope.precision = HARDWARE_FP32;
    ck_assert(!training_scope_fits("bf16", &scope));
}
END_TEST

START_TEST(generations_by_name) {
    ck_assert_str_eq(training_generation("A100-SXM4-40GB"), "Ampere");
    ck_assert_str_eq(training_generation("GH200-SXM-141GB"), "Hopper");
    ck_assert_str_eq(training_generation("GB200"), "Blackwell");
    ck_assert_str_eq(training_generation("H20-SXM5-96GB"), "Hopper");
    ck_assert_str_eq(training_generation("MI300X"), "");
}
END_TEST

/* Products of what fits; what no row speaks of is neutral; a product stays in the range. */
START_TEST(values_are_products) {
    static const struct training_coefficient_row rows[] = {
        {TRAINING_MATMUL_SHARE, "Hopper@fp8", 0.5, 1.0, true},
        {TRAINING_MATMUL_SHARE, "Hopper@bf16", 0.7, 1.0, true},
        {TRAINING_MATMUL_SHARE, "fsdp", 0.8, 1.0, true},
        {TRAINING_ELEMENTWISE_FACTOR, "eager", 50.0, 1.0, true},
        {TRAINING_JITTER, "Ampere", 0.01, 0.01, false}};
    struct training_software software;
    training_coefficients_apply(rows, sizeof rows / sizeof *rows, &hopper, &software);
    assert_relative(software.matmul_share, 0.4, 1e-15);
    ck_assert_double_eq(software.attention_share, 1.0);
    ck_assert_double_eq(software.elementwise_factor, 20.0);
    ck_assert_double_eq(software.jitter_per_doubling, 0.0);
    ck_assert_double_eq(software.microbatch_host_s, 0.0);
    training_coefficients_apply(rows, 0, &hopper, &software);
    ck_assert_double_eq(software.matmul_share, 1.0);
}
END_TEST

START_TEST(words_come_back) {
    enum training_attention attention;
    enum training_fusion fusion;
    for (int i = TRAINING_ATTENTION_MEASURED; i <= TRAINING_ATTENTION_CUDNN; i++) {
        ck_assert(training_attention_find(training_attention_name((enum training_attention)i),
                                          &attention));
        ck_assert_int_eq((int)attention, i);
    }
    ck_assert(!training_attention_find("flash_9", &attention));
    ck_assert(training_fusion_find("eager", &fusion) && fusion == TRAINING_FUSION_EAGER);
    ck_assert(!training_fusion_find("", &fusion));
    for (int i = 0; i < TRAINING_COEFFICIENTS; i++)
        ck_assert_int_eq((int)training_coefficient_find(
                             training_coefficient_type((enum training_coefficient)i)->name),
                         i);
    ck_assert_int_eq((int)training_coefficient_find("x"), TRAINING_COEFFICIENTS);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("coefficients");
    Suite *suite = suite_create("training.coefficients");
    tcase_add_test(tests, scopes_fit_word_by_word);
    tcase_add_test(tests, fp16_is_as_fast_as_bf16);
    tcase_add_test(tests, generations_by_name);
    tcase_add_test(tests, values_are_products);
    tcase_add_test(tests, words_come_back);
    suite_add_tcase(suite, tests);
    return testing_run(suite);
}
