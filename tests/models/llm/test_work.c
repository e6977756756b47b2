/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/llm/work.h"
#include "tests/testing.h"

static struct llm_architecture llama2_7b(void) {
    return (struct llm_architecture){.layers = 32,
                                     .hidden = 4096,
                                     .heads = 32,
                                     .kv_heads = 32,
                                     .head_dim = 128,
                                     .ffn = 11008,
                                     .vocab = 32000,
                                     .gated_ffn = true};
}

/* Qwen3-8B: grouped queries, and heads that do not need to fill the hidden size. */
static struct llm_architecture qwen3_8b(void) {
    return (struct llm_architecture){.layers = 36,
                                     .hidden = 4096,
                                     .heads = 32,
                                     .kv_heads = 8,
                                     .head_dim = 128,
                                     .ffn = 12288,
                                     .vocab = 151936,
                                     .gated_ffn = true,
                                     .qk_norm = true};
}

START_TEST(products_of_a_block) {
    struct llm_architecture qwen = qwen3_8b();
    struct llm_gemm gemms[LLM_LAYER_GEMMS];
    llm_layer_gemms(&qwen, gemms);
    static const struct {
        const char *name;
        int64_t n, k;
        bool split_columns;
    } expected[LLM_LAYER_GEMMS] = {
        {"qkv", 4096 + 2 * 1024, 4096, true},
        {"attention_output", 4096, 4096, false},
        {"ffn_up", 2 * 12288, 4096, true},
        {"ffn_down", 4096, 12288, false},
    };
    for (int i = 0; i < LLM_LAYER_GEMMS; i++) {
        ck_assert_str_eq(gemms[i].name, expected[i].name);
        ck_assert_int_eq(gemms[i].n, expected[i].n);
        ck_assert_int_eq(gemms[i].k, expected[i].k);
        ck_assert(gemms[i].split_columns == expected[i].split_columns);
    }
    qwen.gated_ffn = false;
    llm_layer_gemms(&qwen, gemms);
    ck_assert_int_eq(gemms[2].n, 12288);
}
END_TEST

/* The products hold each weight of the block once, for any shape. */
START_TEST(products_hold_every_weight_once) {
    for (int64_t i = 1; i < 50; i++) {
        struct llm_architecture a = {.layers = 1,
                                     .hidden = 16 * i + 3,
                                     .heads = 2 * i,
                                     .kv_heads = i,
                                     .head_dim = 7 + i,
                                     .ffn = 41 * i,
                                     .vocab = 10,
                                     .gated_ffn = i % 2 == 0};
        struct llm_gemm gemms[LLM_LAYER_GEMMS];
        llm_layer_gemms(&a, gemms);
        int64_t weights = 0;
        for (int j = 0; j < LLM_LAYER_GEMMS; j++)
            weights += gemms[j].n * gemms[j].k;
        ck_assert_int_eq(weights, llm_layer_matrix_parameters(&a));
    }
}
END_TEST

/* Every query against every key, one by one: does it see it? */
static double count_pairs(int tokens, int context) {
    double pairs = 0;
    for (int query = 0; query < tokens; query++)
        for (int key = 0; key < context + tokens; key++)
            if (key <= context + query)
                pairs++;
    return pairs;
}

START_TEST(causal_pairs_against_a_loop) {
    for (int tokens = 0; tokens <= 40; tokens++)
        for (int context = 0; context <= 30; context += 5)
            ck_assert_double_eq(llm_causal_pairs(tokens, context), count_pairs(tokens, context));
    /* A decoded token sees its context and itself. */
    ck_assert_double_eq(llm_causal_pairs(1, 768), 769);
}
END_TEST

/* Chunks of a prompt do the same pairs as the whole. */
START_TEST(causal_pairs_add_up_over_chunks) {
    double pairs = 0;
    for (int start = 0; start < 1000; start += 125)
        pairs += llm_causal_pairs(125, start);
    ck_assert_double_eq(pairs, llm_causal_pairs(1000, 0));
}
END_TEST

/* Kaplan et al.: 6 FLOPs a parameter and token for forward and backward. N here is what a token is
 * multiplied with: all 6,738,415,616 parameters of Llama-2-7b without the 32,000 x 4,096 rows of
 * the embedding and the 65 norms of 4,096. */
START_TEST(three_passes_are_6_n_d) {
    struct llm_architecture llama = llama2_7b();
    double n = 6738415616.0 - 131072000.0 - 65 * 4096.0, d = 1e6;
    struct llm_batch batch = {.sequences = 1, .tokens = d, .logit_tokens = d};
    double step = 3 * llm_forward_flops(&llama, LLM_HEAD_VOCABULARY, &batch);
    ck_assert_double_eq(step, 6 * n * d);
}
END_TEST

/* PaLM (Chowdhery et al. 2022, appendix B) adds 12 x layers x heads x head_dim x length FLOPs a
 * token for attention, forward and backward, over the whole square; causal attention does
 * (s + 1) / (2 s) of the square. */
START_TEST(attention_is_the_causal_half_of_palms_term) {
    struct llm_architecture llama = llama2_7b();
    double s = 4096, sequences = 3;
    struct llm_batch batch = {.sequences = sequences,
                              .tokens = sequences * s,
                              .score_pairs = sequences * llm_causal_pairs(s, 0)};
    double with = llm_forward_flops(&llama, LLM_HEAD_VOCABULARY, &batch);
    batch.score_pairs = 0;
    double attention = 3 * (with - llm_forward_flops(&llama, LLM_HEAD_VOCABULARY, &batch));
    double square = 12.0 * 32 * 32 * 128 * s * (sequences * s);
    assert_relative(attention, square * (s + 1) / (2 * s), 1e-12);
}
END_TEST

/* The head works for logit tokens alone, and a scalar one costs 2 x hidden. */
START_TEST(the_head_counts_for_logit_tokens) {
    struct llm_architecture qwen = qwen3_8b();
    struct llm_batch batch = {.sequences = 4, .tokens = 1000};
    double body = llm_forward_flops(&qwen, LLM_HEAD_VOCABULARY, &batch);
    batch.logit_tokens = 4;
    double last = llm_forward_flops(&qwen, LLM_HEAD_VOCABULARY, &batch);
    double values = llm_forward_flops(&qwen, LLM_HEAD_SCALAR, &batch);
    ck_assert_double_eq(last - body, 2.0 * 151936 * 4096 * 4);
    ck_assert_double_eq(values - body, 2.0 * 4096 * 4);
    /* A tied head multiplies as much as one of its own. */
    qwen.tied_embeddings = true;
    ck_assert_double_eq(llm_forward_flops(&qwen, LLM_HEAD_VOCABULARY, &batch), last);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("llm_work");
    TCase *tests = tcase_create("flops");
    tcase_add_test(tests, products_of_a_block);
    tcase_add_test(tests, products_hold_every_weight_once);
    tcase_add_test(tests, causal_pairs_against_a_loop);
    tcase_add_test(tests, causal_pairs_add_up_over_chunks);
    tcase_add_test(tests, three_passes_are_6_n_d);
    tcase_add_test(tests, attention_is_the_causal_half_of_palms_term);
    tcase_add_test(tests, the_head_counts_for_logit_tokens);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
