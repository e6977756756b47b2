/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/hardware/cluster.h"
#include "tests/testing.h"

START_TEST(formats_have_the_bytes_of_their_bits) {
    /* Bits over 8: IEEE binary32, bfloat16, binary16, and the 8-bit formats E4M3 and E5M2. */
    ck_assert_double_eq(hardware_precision_bytes(HARDWARE_FP32), 32 / 8.0);
    ck_assert_double_eq(hardware_precision_bytes(HARDWARE_BF16), 16 / 8.0);
    ck_assert_double_eq(hardware_precision_bytes(HARDWARE_FP16), 16 / 8.0);
    ck_assert_double_eq(hardware_precision_bytes(HARDWARE_FP8), 8 / 8.0);
}
END_TEST

START_TEST(formats_have_the_names_that_scenarios_use) {
    ck_assert_str_eq(hardware_precision_name(HARDWARE_FP32), "fp32");
    ck_assert_str_eq(hardware_precision_name(HARDWARE_BF16), "bf16");
    ck_assert_str_eq(hardware_precision_name(HARDWARE_FP16), "fp16");
    ck_assert_str_eq(hardware_precision_name(HARDWARE_FP8), "fp8");
}
END_TEST

START_TEST(a_cluster_counts_the_gpus_that_are_used) {
    /* 12 nodes of 8 GPUs of which 6 are used: 72, not 96. */
    struct hardware_cluster cluster = {.node = {.gpus = 8}, .nodes = 12, .gpus_per_node = 6};
    ck_assert_int_eq(hardware_cluster_gpus(&cluster), 72);
    cluster.nodes = 0;
    ck_assert_int_eq(hardware_cluster_gpus(&cluster), 0);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("hardware_precision");
    TCase *tests = tcase_create("formats and counts");
    tcase_add_test(tests, formats_have_the_bytes_of_their_bits);
    tcase_add_test(tests, formats_have_the_names_that_scenarios_use);
    tcase_add_test(tests, a_cluster_counts_the_gpus_that_are_used);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
