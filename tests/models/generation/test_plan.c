/* SPDX-License-Identifier: GPL-3.0-or-later */

/* What a replica holds and does, by hand: stages, groups, formats, graphs, speculation, windows. */

#include "models/generation/iteration.h"
#include "tests/models/generation/fixture.h"
#include "tests/testing.h"

/* Llama-3.1-8B: 8,030,261,248 parameters, of which embedding and head 2 x 4096 x 128256 and the
 * last norm 4096; 32 layers of 218,112,000 (218,103,808 of matrices, two norms). */
START_TEST(test_weights_that_a_gpu_holds) {
    struct generation_plan plan = fixture_plan();
    double layer = 218103808.0 + 2.0 * 4096.0, table = 4096.0 * 128256.0;
    double ends = 2.0 * table + 4096.0;
    assert_relative(generation_held_weight_bytes(&plan), 2.0 * 8030261248.0, 1e-12);
    plan.tp = 4;
    assert_relative(generation_held_weight_bytes(&plan), 2.0 * 8030261248.0 / 4.0, 1e-12);
    plan.format = GENERATION_FP8; /* embedding and head stay in 2 bytes */
    assert_relative(generation_held_weight_bytes(&plan), (32.0 * layer + 2.0 * ends) / 4.0, 1e-12);
    plan.format = GENERATION_INT4;
    assert_relative(generation_held_weight_bytes(&plan),
                    (32.0 * layer * 0.515625 + 2.0 * ends) / 4.0, 1e-12);
    plan.format = GENERATION_BF16;
    plan.pp = 4; /* 8 layers and one of the two tables */
    assert_relative(generation_held_weight_bytes(&plan), 2.0 * (8.0 * layer + table) / 4.0, 1e-12);
}
END_TEST

/* fixture_experts, two groups of two GPUs that share the experts: 2 layers of 32 experts of 3 x
 * 1024 x 512 are spread over four GPUs, the rest is cut in two. */
START_TEST(test_groups_share_the_experts) {
    struct generation_plan plan = fixture_plan();
    plan.architecture = &fixture_experts;
    double all = (double)llm_parameters(&fixture_experts, LLM_HEAD_VOCABULARY);
    double experts = 2.0 * 32.0 * 3.0 * 1024.0 * 512.0;
    plan.tp = plan.dp = 2;
    plan.ep = 4;
    assert_relative(generation_held_weight_bytes(&plan),
                    2.0 * ((all - experts) / 2.0 + experts / 4.0), 1e-12);
    ck_assert_int_eq(generation_plan_gpus(&plan), 4);
}
END_TEST

/* 131,072 bytes a token of 16 tokens; half of it in fp8, a quarter over four stages. */
START_TEST(test_blocks_of_the_cache) {
    struct generation_plan plan = fixture_plan();
    assert_relative(generation_held_block_bytes(&plan), 16.0 * 131072.0, 1e-12);
    plan.kv_element_bytes = 1.0;
    plan.pp = 4;
    assert_relative(generation_held_block_bytes(&plan), 16.0 * 131072.0 / 8.0, 1e-12);
    assert_relative(generation_swap_block_s(&plan), 16.0 * 131072.0 / 8.0 / 51e9, 1e-12);
}
END_TEST

/* Steps of 8 up to 32, then doubled up to 100: 1 2 4 8 16 24 32 64 100. */
START_TEST(test_graphs) {
    struct generation_software software = {.graph_step = 8, .graph_dense = 32, .graph_limit = 100};
    const int64_t sizes[][2] = {{1, 1},   {2, 2},   {3, 4},   {5, 8},    {8, 8},     {9, 16},
                                {17, 24}, {32, 32}, {33, 64}, {65, 100}, {100, 100}, {101, 101}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        ck_assert_int_eq(generation_graph_batch(&software, sizes[i][0]), sizes[i][1]);
    ck_assert(!generation_has_graph(&software, 101));
    software.graph_step = 0;
    ck_assert(!generation_has_graph(&software, 1));
    ck_assert_int_eq(generation_graph_batch(&software, 5), 5);
}
END_TEST

/* A batch of 5 runs as one of 8; one that has no graph pays for every layer. */
START_TEST(test_padding_and_eager) {
    struct generation_plan plan = fixture_plan();
    struct generation_decode_cost five, eight;
    plan.software.sequence_host_s = 0.0;
    plan.software.graph_step = 8;
    plan.software.eager_layer_s = 1e-4;
    generation_decode_cost(&plan, 5, &five);
    generation_decode_cost(&plan, 8, &eight);
    ck_assert(five.base_s == eight.base_s);
    plan.software.graph_step = 0;
    struct generation_decode_cost eager;
    generation_decode_cost(&plan, 8, &eager);
    assert_relative(eager.base_s - eight.base_s, 32e-4, 1e-9);
}
END_TEST

/* Two of three draft tokens at 0.5: 1 + 0.5 + 0.25 + 0.125 tokens an iteration; without acceptance
 * one, with certainty four. An iteration checks 4 rows a sequence and makes 3 drafts. */
START_TEST(test_speculation) {
    struct generation_plan plan = fixture_plan();
    struct generation_decode_cost plain, rows, cost;
    plan.speculation = (struct generation_speculation){3, 0.5, 0.1};
    ck_assert_double_eq(generation_speculation_yield(&plan.speculation), 1.875);
    generation_decode_cost(&plan, 4, &cost);
    plan.speculation.tokens = 0;
    plan.software.sequence_host_s = 0.0;
    generation_decode_cost(&plan, 4, &plain);
    generation_decode_cost(&plan, 16, &rows);
    double host = 4e-5; /* four sequences, however many rows */
    assert_relative(cost.base_s, (rows.base_s + host + 0.3 * (plain.base_s + host)) / 1.875, 1e-12);
    assert_relative(cost.kv_token_s, plain.kv_token_s * 1.3 / 1.875, 1e-12);
}
END_TEST

/* Hidden of so many tokens to the next stage: a broadcast over two GPUs, start + one step of
 * latency
 * + bytes over NVLink. */
static double next_stage_s(double tokens) {
    return 4.4e-6 + 0.79e-6 + tokens * 4096.0 * 2.0 / (0.75 * 450e9);
}

/* Two stages: 64 sequences are two micro-batches of 32 that each pass all layers, with the host of
 * both stages and two heads; alone, a sequence passes the layers once and the head once. */
START_TEST(test_stages) {
    struct generation_plan plan = fixture_plan(), stages = plan;
    struct generation_decode_cost whole, half, alone;
    stages.pp = 2;
    generation_decode_cost(&plan, 32, &whole);
    generation_decode_cost(&stages, 64, &half);
    double head_s = 2.0 * (4096.0 * 128256.0 + 32.0 * (4096.0 + 128256.0)) / 2970e9 + 3.24e-6;
    double step_s = next_stage_s(32.0);
    assert_relative(half.base_s, whole.base_s + 1e-3 + 32e-5 + head_s + 2.0 * step_s, 1e-9);
    assert_relative(half.kv_token_s, whole.kv_token_s / 2.0, 1e-12);
    generation_decode_cost(&plan, 1, &whole);
    generation_decode_cost(&stages, 1, &alone);
    assert_relative(alone.base_s, whole.base_s + 1e-3 + 2.0 * next_stage_s(1.0), 1e-9);
    ck_assert(alone.kv_token_s == whole.kv_token_s);
}
END_TEST

/* Pairs within a window of 4 of 3 new tokens after 2: they see 3, 4 and 4. */
START_TEST(test_windows) {
    ck_assert_double_eq(llm_window_pairs(3.0, 2.0, 4.0), 11.0);
    ck_assert_double_eq(llm_window_pairs(3.0, 9.0, 4.0), 12.0);
    ck_assert_double_eq(llm_window_pairs(3.0, 0.0, 4.0), 6.0);
    struct generation_plan plan = fixture_plan();
    plan.architecture = &fixture_windows; /* half of the layers */
    struct generation_decode_cost cost;
    generation_decode_cost(&plan, 1, &cost);
    ck_assert(cost.kv_token_s == cost.window_token_s);
    assert_relative(cost.kv_token_s, 2.0 * 2.0 * 4.0 * 64.0 * 2.0 / 2970e9, 1e-12);
    ck_assert_int_eq(generation_window(&plan), 24);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("generation plan");
    TCase *cases = tcase_create("by hand");
    tcase_add_test(cases, test_weights_that_a_gpu_holds);
    tcase_add_test(cases, test_groups_share_the_experts);
    tcase_add_test(cases, test_blocks_of_the_cache);
    tcase_add_test(cases, test_graphs);
    tcase_add_test(cases, test_padding_and_eager);
    tcase_add_test(cases, test_speculation);
    tcase_add_test(cases, test_stages);
    tcase_add_test(cases, test_windows);
    suite_add_tcase(s, cases);
    return s;
}

TESTING_MAIN(suite)
