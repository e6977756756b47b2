/* SPDX-License-Identifier: GPL-3.0-or-later */

/* The laws with coefficients that make the expected values by hand, their limits, and that no time
 * falls when a count grows. */

#include "models/hardware/kernel.h"
#include "models/hardware/transfer.h"
#include "tests/testing.h"

#include <stdint.h>
#include <stdio.h>

/* 400 TFLOP/s at 0.5: 200; 2 TB/s at 0.75: 1.5; 4 us a launch. */
static struct hardware_gpu lawful_gpu(void) {
    struct hardware_gpu gpu = {
        .peak_flops_per_s = {[HARDWARE_BF16] = 400e12, [HARDWARE_FP8] = 800e12},
        .matmul_efficiency = 0.45,
        .attention_efficiency = 0.3,
        .attention_backward_efficiency = 0.2,
        .memory_bandwidth_bytes_per_s = 2e12,
        .memory_efficiency = 0.75,
        .kernel_launch_s = 9.0,
    };
    gpu.kernels.gemm[HARDWARE_BF16] = (struct hardware_gemm_law){
        .efficiency = 0.5, .memory_efficiency = 0.75, .launch_s = 4e-6, .sharpness = 2.0};
    gpu.kernels.gemm[HARDWARE_FP8] = gpu.kernels.gemm[HARDWARE_BF16];
    gpu.kernels.gemm[HARDWARE_FP8].quantise_efficiency = 0.25;
    gpu.kernels.prefill =
        (struct hardware_prefill_law){.efficiency = 0.25, .launch_s = 10e-6, .sharpness = 2.0};
    gpu.kernels.decode = (struct hardware_decode_law){.memory_efficiency = 0.75, .launch_s = 12e-6};
    gpu.kernels.operators[HARDWARE_NORM] =
        (struct hardware_operator_law){.memory_efficiency = 0.5, .launch_s = 2e-6};
    gpu.kernels.sustained_share = 1.0;
    return gpu;
}

/* ---- products -------------------------------------------------------------------------------- */

/* n = 1, k = 1e9 / 2 and fills that make both times round: compute 2 m (n + 149) k / 2e14 with m =
 * 1e3, k = 2e6 is 2 x 1e3 x 150 x 2e6 / 2e14 = 3 ms. Memory: 2 x (1e3 x 2e6 + 2e6) bytes + 2 x 1e3
 * = 4,004,002,000 over 1.5e12 = 2.6693 ms and 2e6 elements of k at 0.6653 ns. */
START_TEST(compute_and_memory_meet_in_a_round_corner) {
    struct hardware_gpu gpu = lawful_gpu();
    struct hardware_gemm_law *law = &gpu.kernels.gemm[HARDWARE_BF16];
    double memory_s = 4004002000.0 / 1.5e12;
    law->fill_n = 149;
    law->serial_s = (4e-3 - memory_s) / 2e6;
    /* 3, 4 and 5 ms. */
    assert_relative(hardware_gemm_s(&gpu, HARDWARE_BF16, 1e3, 1, 2e6), 5e-3 + 4e-6, 1e-12);
    law->sharpness = 1.0;
    assert_relative(hardware_gemm_s(&gpu, HARDWARE_BF16, 1e3, 1, 2e6), 7e-3 + 4e-6, 1e-12);
    law->sharpness = (double)INFINITY;
    assert_relative(hardware_gemm_s(&gpu, HARDWARE_BF16, 1e3, 1, 2e6), 4e-3 + 4e-6, 1e-12);
}
END_TEST

/* Long runs keep 0.8 of the compute rate and all of the memory's. */
START_TEST(a_sustained_share_slows_compute_only) {
    struct hardware_gpu gpu = lawful_gpu();
    gpu.kernels.gemm[HARDWARE_BF16].sharpness = (double)INFINITY;
    gpu.kernels.sustained_share = 0.8;
    assert_relative(hardware_gemm_s(&gpu, HARDWARE_BF16, 8000, 5000, 10000), 5e-3 + 4e-6, 1e-12);
    assert_relative(hardware_gemm_s(&gpu, HARDWARE_BF16, 1, 3000, 5000), 30016000 / 1.5e12 + 4e-6,
                    1e-12);
}
END_TEST

/* Ever larger: the share of the peak; ever more columns for one row: the share of the bandwidth;
 * ever smaller: the launch. */
START_TEST(products_have_three_limits) {
    struct hardware_gpu gpu = lawful_gpu();
    gpu.kernels.gemm[HARDWARE_BF16].fill_k = 150;
    gpu.kernels.gemm[HARDWARE_BF16].serial_s = 0.2e-9;
    double s = 2e6, n = 1e9;
    assert_relative(hardware_gemm_s(&gpu, HARDWARE_BF16, s, s, s), 2 * s * s * s / 2e14, 1e-3);
    assert_relative(hardware_gemm_s(&gpu, HARDWARE_BF16, 1, n, 4096), 2 * n * 4096 / 1.5e12, 1e-3);
    assert_relative(hardware_gemm_s(&gpu, HARDWARE_BF16, 1, 1, 1), 4e-6, 1e-3);
}
END_TEST

/* Two experts do twice the work of one but pass along k at the same time. */
START_TEST(groups_share_launch_and_serial_path) {
    struct hardware_gpu gpu = lawful_gpu();
    gpu.kernels.gemm[HARDWARE_BF16].sharpness = (double)INFINITY;
    gpu.kernels.gemm[HARDWARE_BF16].serial_s = 1e-9;
    double bytes = 2 * (4096.0 + 4096.0 * 3000) + 2 * 3000;
    assert_relative(hardware_grouped_gemm_s(&gpu, HARDWARE_BF16, 2, 1, 3000, 4096),
                    2 * bytes / 1.5e12 + 4096e-9 + 4e-6, 1e-12);
    ck_assert(hardware_grouped_gemm_s(&gpu, HARDWARE_BF16, 1, 77, 3000, 4096) ==
              hardware_gemm_s(&gpu, HARDWARE_BF16, 77, 3000, 4096));
}
END_TEST

/* 1e9 elements: 2 bytes in and 1 out at a quarter of 2 TB/s, 6 ms; 2-byte formats have no cast; a
 * GPU without the coefficient moves them at its sustained rate, 1.5 TB/s. */
START_TEST(casts_of_fp8_inputs) {
    struct hardware_gpu gpu = lawful_gpu();
    assert_relative(hardware_quantise_s(&gpu, HARDWARE_FP8, 1e9), 6e-3, 1e-12);
    ck_assert_double_eq(hardware_quantise_s(&gpu, HARDWARE_BF16, 1e9), 0.0);
    gpu.kernels.gemm[HARDWARE_FP8].quantise_efficiency = 0.0;
    assert_relative(hardware_quantise_s(&gpu, HARDWARE_FP8, 1e9), 2e-3, 1e-12);
}
END_TEST

/* ---- attention ------------------------------------------------------------------------------- */

/* Sequences of 1,000 tokens, 10 heads of 100: 4 x 10 x 100 = 4,000 FLOPs a pair. */
static struct hardware_attention causal(double sequences) {
    double tokens = 1000 * sequences;
    return (struct hardware_attention){.score_pairs = tokens * 1001 / 2,
                                       .tokens = tokens,
                                       .sequences = sequences,
                                       .context_tokens = tokens,
                                       .heads = 10,
                                       .kv_heads = 2,
                                       .score_dim = 100,
                                       .value_dim = 100,
                                       .element_bytes = 2,
                                       .kv_token_bytes = 800};
}

/* One sequence: (500,500 + 1,000 x 999 / 2) pairs = 1e6, 4e9 FLOPs at 100 TFLOP/s are 40 us; 30 ns
 * a key are 30 us: 50 us together. A cache: 1,000 tokens read and, at twice a read, written: 3,000
 * x 800 / 2e12 = 1.2 us. */
START_TEST(prompts_have_compute_serial_path_and_cache) {
    struct hardware_gpu gpu = lawful_gpu();
    struct hardware_attention one = causal(1);
    one.cached_tokens = 1000;
    gpu.kernels.prefill.fill_tokens = 999;
    gpu.kernels.prefill.serial_s = 30e-9;
    gpu.kernels.prefill.cache_write = 2;
    assert_relative(hardware_attention_prefill_s(&gpu, &one), 50e-6 + 1.2e-6 + 10e-6, 1e-12);
    /* 8 sequences: 320 us of compute beside the same 30 us, and 9.6 us of cache. */
    struct hardware_attention eight = causal(8);
    eight.cached_tokens = 8000;
    assert_relative(hardware_attention_prefill_s(&gpu, &eight),
                    sqrt(320.0 * 320 + 30 * 30) * 1e-6 + 9.6e-6 + 10e-6, 1e-12);
}
END_TEST

/* Units of 1 us, 64 sequences of 2 heads: 128 us, against nothing else but 2 us: (128^3 +
 * 2^3)^(1/3).
 */
START_TEST(many_short_prompts_are_bound_by_units) {
    struct hardware_gpu gpu = lawful_gpu();
    struct hardware_attention many = causal(64);
    gpu.kernels.prefill.unit_s = 1e-6;
    many.score_pairs = 50000; /* 2 us */
    many.context_tokens = 0;
    assert_relative(hardware_attention_prefill_s(&gpu, &many),
                    cbrt(128.0 * 128 * 128 + 8) * 1e-6 + 10e-6, 1e-12);
}
END_TEST

/* The backward does 2.5 times the work at its own 80 TFLOP/s and moves twice the bytes. */
START_TEST(the_backward_of_attention) {
    struct hardware_gpu gpu = lawful_gpu();
    struct hardware_attention one = causal(1);
    double compute_s = 2.5 * 500500 * 4000 / 80e12, cache_s = 2 * 800e3 / 2e12;
    assert_relative(hardware_attention_backward_s(&gpu, &one), compute_s + cache_s + 10e-6, 1e-12);
}
END_TEST

/* 16 sequences of 25,600 tokens, 800 bytes each: 327.68 MB at 1.5 TB/s. Units of 10 us x 32 beside
 * them; the root of 25,600 is 160, at 1 us each 160 us. */
START_TEST(decode_reads_the_cache) {
    struct hardware_gpu gpu = lawful_gpu();
    struct hardware_attention step = causal(16);
    step.tokens = 16;
    step.score_pairs = step.context_tokens = 16 * 25600.0;
    double read_s = 327.68e6 / 1.5e12;
    assert_relative(hardware_attention_decode_s(&gpu, &step), read_s + 12e-6, 1e-12);
    gpu.kernels.decode.unit_s = 10e-6;
    double shared_s = hypot(read_s, 320e-6);
    assert_relative(hardware_attention_decode_s(&gpu, &step), shared_s + 12e-6, 1e-12);
    gpu.kernels.decode.serial_s = 1e-6;
    assert_relative(hardware_attention_decode_s(&gpu, &step),
                    pow(pow(shared_s, 1.5) + pow(160e-6, 1.5), 2.0 / 3.0) + 12e-6, 1e-12);
}
END_TEST

/* An L2 of 327.68 MB, as much as is read: the ramp is half of its 20 us, and a cache that a
 * benchmark has just read is half warm, at 8 TB/s. A run's cache is cold. */
START_TEST(a_cache_in_the_l2_is_for_benchmarks) {
    struct hardware_gpu gpu = lawful_gpu();
    struct hardware_attention step = causal(16);
    step.tokens = 16;
    step.score_pairs = step.context_tokens = 16 * 25600.0;
    gpu.kernels.decode.ramp_s = 20e-6;
    gpu.kernels.decode.cache_bytes = 327.68e6;
    gpu.kernels.decode.warm_rate = 4;
    double cold_s = 327.68e6 / 1.5e12 + 10e-6, warm_s = 327.68e6 / 8e12;
    assert_relative(hardware_attention_decode_s(&gpu, &step), cold_s + 12e-6, 1e-12);
    step.warm = true;
    assert_relative(hardware_attention_decode_s(&gpu, &step), (cold_s + warm_s) / 2 + 12e-6, 1e-12);
}
END_TEST

/* A latent of 1,152 bytes for 128 heads of 576 and 512: 2 x 128 x 1,088 FLOPs for what 1.5 TB/s
 * bring in 0.768 ns take 2.785 ns at 100 TFLOP/s. */
START_TEST(a_latent_cache_is_bound_by_compute) {
    struct hardware_gpu gpu = lawful_gpu();
    struct hardware_attention latent = {.score_pairs = 1e6,
                                        .tokens = 100,
                                        .sequences = 100,
                                        .context_tokens = 1e6,
                                        .heads = 128,
                                        .kv_heads = 1,
                                        .score_dim = 576,
                                        .value_dim = 512,
                                        .element_bytes = 2,
                                        .kv_token_bytes = 1152};
    assert_relative(hardware_attention_decode_s(&gpu, &latent),
                    1e6 * 2 * 128 * 1088 / 100e12 + 12e-6, 1e-12);
}
END_TEST

/* ---- operators ------------------------------------------------------------------------------- */

/* One row of 10 kB at 0.4 us a kB: 2 + 4 us, beside 10 ns of traffic; 600,000 rows of it: 6 ms at 1
 * TB/s. In between, where both are 6 us, 2^(1/3) times it. */
START_TEST(operators_have_a_floor_by_width) {
    struct hardware_gpu gpu = lawful_gpu();
    gpu.kernels.operators[HARDWARE_NORM].row_s_per_byte = 0.4e-9;
    assert_relative(hardware_operator_s(&gpu, HARDWARE_NORM, 1, 1e4), 6e-6, 1e-6);
    assert_relative(hardware_operator_s(&gpu, HARDWARE_NORM, 6e5, 1e4), 6e-3, 1e-6);
    assert_relative(hardware_operator_s(&gpu, HARDWARE_NORM, 600, 1e4), 6e-6 * cbrt(2.0), 1e-12);
    /* Without a law: traffic at 1.5 TB/s and the launch of the GPU, here 9 s. */
    assert_relative(hardware_operator_s(&gpu, HARDWARE_ADD, 600, 1e4), 9.0 + 6e6 / 1.5e12, 1e-12);
}
END_TEST

/* ---- growth ---------------------------------------------------------------------------------- */

/* A law with every term, of the size that H100's has. */
static struct hardware_gpu full_gpu(void) {
    struct hardware_gpu gpu = lawful_gpu();
    gpu.peak_flops_per_s[HARDWARE_BF16] = 989e12;
    gpu.memory_bandwidth_bytes_per_s = 3350e9;
    gpu.kernels.gemm[HARDWARE_BF16] =
        (struct hardware_gemm_law){0.84, 0.9, 3.2e-6, 152, 40, 0.19e-9, 4.4, 0.0};
    gpu.kernels.prefill = (struct hardware_prefill_law){0.7, 12e-6, 1000, 12e-9, 1.8, 7.6, 30e-9};
    gpu.kernels.decode = (struct hardware_decode_law){0.96, 11e-6, 28e-9, 57e-9, 11e-6, 49e6, 1.6};
    gpu.kernels.operators[HARDWARE_NORM] = (struct hardware_operator_law){0.4, 2e-6, 0.12e-9};
    return gpu;
}

/* Marsaglia's xorshift; the seed is printed with a failure. */
static double draw(uint64_t *state, double low, double high) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return low * pow(high / low, (double)(*state >> 11) / 9007199254740992.0);
}

static void expect_growth(double before, double after, const char *what, uint64_t seed) {
    ck_assert_msg(isfinite(before) && before > 0.0 && after >= before * (1.0 - 1e-14),
                  "%s: %.17g then %.17g, seed %llu", what, before, after, (unsigned long long)seed);
}

static double product_s(const double at[4]) {
    struct hardware_gpu gpu = full_gpu();
    return hardware_grouped_gemm_s(&gpu, HARDWARE_BF16, at[3], at[0], at[1], at[2]);
}

static double step_s(const double at[4], bool warm) {
    struct hardware_gpu gpu = full_gpu();
    struct hardware_attention step = causal(at[0]);
    step.tokens = at[0];
    step.score_pairs = step.context_tokens = at[0] * at[1];
    step.heads = at[2];
    step.kv_token_bytes = at[3];
    step.warm = warm;
    return hardware_attention_decode_s(&gpu, &step);
}

static double cold_s(const double at[4]) {
    return step_s(at, false);
}

static double warm_s(const double at[4]) {
    return step_s(at, true);
}

static double prefill_s(const double at[4]) {
    struct hardware_gpu gpu = full_gpu();
    struct hardware_attention step = causal(at[0]);
    step.tokens = step.context_tokens = step.cached_tokens = at[0] * at[1];
    step.score_pairs = step.tokens * (at[1] + 1) / 2;
    step.heads = at[2];
    step.kv_token_bytes = at[3];
    return hardware_attention_prefill_s(&gpu, &step);
}

static double operator_s(const double at[4]) {
    struct hardware_gpu gpu = full_gpu();
    return hardware_operator_s(&gpu, HARDWARE_NORM, at[0], at[1]);
}

START_TEST(no_time_falls_when_a_count_grows) {
    static const struct {
        const char *what;
        double (*time_s)(const double at[4]);
        double high[4];
        int counts;
    } kernels[] = {{"product", product_s, {1e5, 1e5, 1e5, 256}, 4},
                   {"prefill", prefill_s, {512, 1e5, 128, 1e5}, 4},
                   {"decode", cold_s, {2048, 1e6, 128, 1e5}, 4},
                   {"warm decode", warm_s, {2048, 1e6, 128, 1e5}, 4},
                   {"operator", operator_s, {1e6, 1e6, 1, 1}, 2}};
    for (size_t kernel = 0; kernel < sizeof kernels / sizeof *kernels; kernel++)
        for (uint64_t seed = 1; seed <= 3000; seed++) {
            uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15);
            double at[4], before;
            for (int i = 0; i < 4; i++)
                at[i] = draw(&state, 1.0, kernels[kernel].high[i]);
            before = kernels[kernel].time_s(at);
            at[seed % (uint64_t)kernels[kernel].counts] *= draw(&state, 1.0 + 1e-6, 3.0);
            expect_growth(before, kernels[kernel].time_s(at), kernels[kernel].what, seed);
        }
}
END_TEST

/* ---- transfer -------------------------------------------------------------------------------- */

/* Twice the rates in dense products and in memory: 2 x ln 2 apart, both ways; shares go by the
 * shares of the GPUs (0.36 / 0.45 = 0.8 and 0.6 / 0.75 = 0.8) and end at 1; latencies stay. */
START_TEST(a_law_of_another_gpu) {
    struct hardware_gpu donor = full_gpu(), gpu = full_gpu();
    gpu.peak_flops_per_s[HARDWARE_BF16] *= 2 / 0.8;
    gpu.memory_bandwidth_bytes_per_s *= 2 / 0.8;
    gpu.matmul_efficiency = 0.36;
    gpu.memory_efficiency = 0.6;
    gpu.kernels = (struct hardware_kernel_laws){0};
    assert_relative(hardware_distance(&donor, &gpu), 2 * log(2), 1e-12);
    assert_relative(hardware_distance(&gpu, &donor), 2 * log(2), 1e-12);
    hardware_transfer_law(&donor, HARDWARE_KERNEL_GEMM_BF16, &gpu);
    const struct hardware_gemm_law *law = &gpu.kernels.gemm[HARDWARE_BF16];
    assert_relative(law->efficiency, 0.84 * 0.8, 1e-12);
    assert_relative(law->memory_efficiency, 0.9 * 0.8, 1e-12);
    ck_assert(law->launch_s == 3.2e-6 && law->fill_k == 152 && law->serial_s == 0.19e-9 &&
              law->sharpness == 4.4);
    ck_assert(!hardware_kernel_is_known(&gpu.kernels, HARDWARE_KERNEL_DECODE));
    hardware_transfer_law(&donor, HARDWARE_KERNEL_DECODE, &gpu);
    assert_relative(gpu.kernels.decode.unit_s, 28e-9 / sqrt(2), 1e-12);
    assert_relative(gpu.kernels.decode.cache_bytes, 49e6 * sqrt(2), 1e-12);
    /* Twice the L2's rate where memory has 2.5 times its own; a ramp of more processors. */
    assert_relative(gpu.kernels.decode.warm_rate, donor.kernels.decode.warm_rate * 2.0 / 2.5,
                    1e-12);
    assert_relative(gpu.kernels.decode.ramp_s, donor.kernels.decode.ramp_s / sqrt(2), 1e-12);
    hardware_transfer_law(&donor, HARDWARE_KERNEL_GEMM_FP8, &gpu);
    assert_relative(gpu.kernels.gemm[HARDWARE_FP8].quantise_efficiency,
                    donor.kernels.gemm[HARDWARE_FP8].quantise_efficiency * sqrt(2) / 2.5, 1e-12);
    ck_assert(gpu.kernels.decode.launch_s == 11e-6);
    gpu.matmul_efficiency = 0.9;
    hardware_transfer_law(&donor, HARDWARE_KERNEL_GEMM_BF16, &gpu);
    ck_assert_double_eq(law->efficiency, 1.0);
    gpu.memory_efficiency = (double)NAN;
    ck_assert(isinf(hardware_distance(&gpu, &donor)));
}
END_TEST

/* The best sustained product over what the law tends to. */
START_TEST(the_default_sustained_share) {
    struct hardware_gpu gpu = lawful_gpu();
    assert_relative(hardware_sustained_share(&gpu), 0.9, 1e-12);
    gpu.matmul_efficiency = 0.6;
    ck_assert_double_eq(hardware_sustained_share(&gpu), 1.0);
}
END_TEST

START_TEST(launches_are_scaled_everywhere) {
    struct hardware_gpu gpu = full_gpu();
    hardware_scale_launches(&gpu, 0.5);
    ck_assert(gpu.kernel_launch_s == 4.5 && gpu.kernels.gemm[HARDWARE_BF16].launch_s == 1.6e-6 &&
              gpu.kernels.decode.launch_s == 5.5e-6 && gpu.kernels.prefill.launch_s == 6e-6 &&
              gpu.kernels.operators[HARDWARE_NORM].launch_s == 1e-6);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("hardware_law");
    TCase *forms = tcase_create("closed forms");
    tcase_add_test(forms, compute_and_memory_meet_in_a_round_corner);
    tcase_add_test(forms, a_sustained_share_slows_compute_only);
    tcase_add_test(forms, products_have_three_limits);
    tcase_add_test(forms, groups_share_launch_and_serial_path);
    tcase_add_test(forms, casts_of_fp8_inputs);
    tcase_add_test(forms, prompts_have_compute_serial_path_and_cache);
    tcase_add_test(forms, many_short_prompts_are_bound_by_units);
    tcase_add_test(forms, the_backward_of_attention);
    tcase_add_test(forms, decode_reads_the_cache);
    tcase_add_test(forms, a_cache_in_the_l2_is_for_benchmarks);
    tcase_add_test(forms, a_latent_cache_is_bound_by_compute);
    tcase_add_test(forms, operators_have_a_floor_by_width);
    suite_add_tcase(result, forms);
    TCase *growth = tcase_create("growth");
    tcase_add_test(growth, no_time_falls_when_a_count_grows);
    suite_add_tcase(result, growth);
    TCase *transfer = tcase_create("transfer");
    tcase_add_test(transfer, a_law_of_another_gpu);
    tcase_add_test(transfer, the_default_sustained_share);
    tcase_add_test(transfer, launches_are_scaled_everywhere);
    suite_add_tcase(result, transfer);
    return result;
}

TESTING_MAIN(suite)
