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

static const struct llm_layer_kind dense = {.count = 1};
static const struct llm_layer_kind with_experts = {.count = 1, .moe = true};

struct expected_gemm {
    const char *name;
    int64_t n, k;
    enum { COLUMNS, ROWS, WHOLE } split;
    int projections;
    int64_t experts, per_token;
};

static void check_gemms(const struct llm_architecture *a, const struct llm_layer_kind *kind,
                        const struct expected_gemm *expected, int count) {
    struct llm_gemm gemms[LLM_LAYER_GEMMS];
    ck_assert_int_eq(llm_layer_gemms(a, kind, gemms), count);
    for (int i = 0; i < count; i++) {
        ck_assert_str_eq(gemms[i].name, expected[i].name);
        ck_assert_int_eq(gemms[i].n, expected[i].n);
        ck_assert_int_eq(gemms[i].k, expected[i].k);
        ck_assert(gemms[i].whole == (expected[i].split == WHOLE));
        ck_assert(gemms[i].split_columns == (expected[i].split == COLUMNS));
        ck_assert_int_eq(gemms[i].projections, expected[i].projections);
        ck_assert_int_eq(gemms[i].experts, expected[i].experts);
        ck_assert_int_eq(gemms[i].per_token, expected[i].per_token);
    }
}

START_TEST(products_of_a_block) {
    struct llm_architecture qwen = qwen3_8b();
    static const struct expected_gemm expected[] = {
        {"qkv", 4096 + 2 * 1024, 4096, COLUMNS, 3, 0, 0},
        {"attention_output", 4096, 4096, ROWS, 1, 0, 0},
        {"ffn_up", 2 * 12288, 4096, COLUMNS, 2, 0, 0},
        {"ffn_down", 4096, 12288, ROWS, 1, 0, 0},
    };
    check_gemms(&qwen, &dense, expected, 4);
    static const struct expected_gemm plain[] = {
        {"qkv", 4096 + 2 * 1024, 4096, COLUMNS, 3, 0, 0},
        {"attention_output", 4096, 4096, ROWS, 1, 0, 0},
        {"ffn_up", 12288, 4096, COLUMNS, 1, 0, 0},
        {"ffn_down", 4096, 12288, ROWS, 1, 0, 0},
    };
    qwen.gated_ffn = false;
    check_gemms(&qwen, &dense, plain, 4);
}
END_TEST

/* DeepSeek-V3: 128 heads of 128 + 64, values of 128, latents of 1536 and 512. */
static struct llm_architecture deepseek_v3(void) {
    return (struct llm_architecture){.layers = 61,
                                     .hidden = 7168,
                                     .heads = 128,
                                     .kv_heads = 1,
                                     .head_dim = 192,
                                     .ffn = 18432,
                                     .vocab = 129280,
                                     .gated_ffn = true,
                                     .kv_lora_rank = 512,
                                     .q_lora_rank = 1536,
                                     .rope_head_dim = 64,
                                     .v_head_dim = 128,
                                     .experts = 256,
                                     .experts_per_token = 8,
                                     .moe_ffn = 2048,
                                     .shared_ffn = 2048,
                                     .moe_layers = 58,
                                     .router_bias = true};
}

START_TEST(products_of_latent_attention_and_experts) {
    struct llm_architecture a = deepseek_v3();
    static const struct expected_gemm expected[] = {
        {"q_down", 1536, 7168, WHOLE, 1, 0, 0},
        {"q_up", 128 * 192, 1536, COLUMNS, 1, 0, 0},
        {"kv_down", 512 + 64, 7168, WHOLE, 1, 0, 0},
        {"kv_up", 128 * (128 + 128), 512, COLUMNS, 1, 0, 0},
        {"attention_output", 7168, 128 * 128, ROWS, 1, 0, 0},
        {"router", 256, 7168, WHOLE, 0, 0, 0},
        {"experts_up", 2 * 2048, 7168, COLUMNS, 2, 256, 8},
        {"experts_down", 7168, 2048, ROWS, 1, 256, 8},
        {"shared_up", 2 * 2048, 7168, COLUMNS, 2, 0, 0},
        {"shared_down", 7168, 2048, ROWS, 1, 0, 0},
    };
    check_gemms(&a, &with_experts, expected, 10);
    ck_assert_int_eq(llm_ffn_columns(&a, &with_experts), 9 * 2048);
    ck_assert_int_eq(llm_ffn_columns(&a, &dense), 18432);
    ck_assert_double_eq(llm_score_width(&a), (192.0 + 128.0) / 2.0);
}
END_TEST

/* A token meets each weight of a block once, of the experts those that it goes through. */
static void check_weights(const struct llm_architecture *a, const struct llm_layer_kind *kind) {
    struct llm_gemm gemms[LLM_LAYER_GEMMS];
    int64_t weights = 0;
    int count = llm_layer_gemms(a, kind, gemms);
    for (int j = 0; j < count; j++)
        weights += gemms[j].n * gemms[j].k * (gemms[j].experts > 0 ? gemms[j].per_token : 1);
    ck_assert_int_eq(weights, llm_layer_matrix_parameters(a, kind));
}

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
        check_weights(&a, &dense);
        a.experts = 3 * i;
        a.experts_per_token = i;
        a.moe_ffn = 5 * i + 1;
        a.shared_ffn = i % 3 == 0 ? 0 : 2 * i;
        a.shared_gate = i % 3 == 1;
        a.moe_layers = 1;
        check_weights(&a, &with_experts);
        a.kv_heads = 1;
        a.kv_lora_rank = 11 * i;
        a.q_lora_rank = i % 4 == 0 ? 0 : 9 * i;
        a.rope_head_dim = 3;
        a.v_head_dim = 4 + i;
        check_weights(&a, &with_experts);
        if (a.q_lora_rank == 0)
            continue;
        a.index_heads = 2 * i;
        a.index_head_dim = i + 1;
        check_weights(&a, &dense);
    }
}
END_TEST

/* ---- experts --------------------------------------------------------------------------------- */

/* All sequences of choices: three experts, two a token, so three pairs that are equally likely. */
static double touched_by_enumeration(int tokens) {
    static const int pairs[3] = {3, 5, 6}; /* bits */
    int choices = 1, sum = 0;
    for (int i = 0; i < tokens; i++)
        choices *= 3;
    for (int choice = 0; choice < choices; choice++) {
        int touched = 0, rest = choice;
        for (int i = 0; i < tokens; i++, rest /= 3)
            touched |= pairs[rest % 3];
        sum += (touched & 1) + (touched >> 1 & 1) + (touched >> 2 & 1);
    }
    return (double)sum / choices;
}

START_TEST(experts_touched_against_an_enumeration) {
    for (int tokens = 1; tokens <= 8; tokens++)
        assert_relative(llm_experts_touched(3, 2, tokens), touched_by_enumeration(tokens), 1e-12);
    ck_assert_double_eq(llm_experts_touched(4, 4, 1.0), 4.0);
    ck_assert_double_eq(llm_experts_touched(256, 8, 0.0), 0.0);
    assert_relative(llm_experts_touched(256, 8, 1.0), 8.0, 1e-12);
    assert_relative(llm_experts_touched(256, 8, 1e6), 256.0, 1e-12);
}
END_TEST

/* ---- attention ------------------------------------------------------------------------------- */

START_TEST(attention_ends_where_it_is_not_modelled) {
    struct llm_architecture a = qwen3_8b();
    ck_assert_int_eq(llm_attention_limit(&a), INT64_MAX);
    a.window = 4096;
    a.window_layers = 18;
    ck_assert_int_eq(llm_attention_limit(&a), INT64_MAX); /* windows are counted */
    ck_assert_int_eq(llm_window(&a), 4096);
    struct llm_architecture sparse = deepseek_v3();
    sparse.index_heads = 64;
    sparse.index_head_dim = 128;
    sparse.index_topk = 2048;
    ck_assert_int_eq(llm_attention_limit(&sparse), 2048);
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

/* The same where a key that is `window` or more behind is not seen. */
START_TEST(window_pairs_against_a_loop) {
    for (int window = 1; window <= 25; window += 4)
        for (int tokens = 0; tokens <= 40; tokens += 3)
            for (int context = 0; context <= 30; context += 5) {
                double pairs = 0;
                for (int query = context; query < context + tokens; query++)
                    for (int key = 0; key <= query; key++)
                        pairs += query - key < window ? 1 : 0;
                ck_assert_double_eq(llm_window_pairs(tokens, context, window), pairs);
            }
    ck_assert_double_eq(llm_window_pairs(40, 0, 40), llm_causal_pairs(40, 0));
}
END_TEST

/* Four of six layers see 100 tokens: of 1,000 in a sequence 100 x 101 / 2 + 900 x 100 pairs, in the
 * others 1,000 x 1,001 / 2; 4 FLOPs a pair and number of a head. */
START_TEST(layers_with_windows_have_their_own_pairs) {
    struct llm_architecture llama = llama2_7b();
    struct llm_batch batch = {0};
    llama.layers = 6;
    llama.window_layers = 4;
    llama.window = 100;
    for (int i = 0; i < 3; i++)
        llm_batch_add(&batch, 1000, (double)llm_window(&llama));
    struct llm_batch equal = llm_batch_of(&llama, 3, 1000);
    double near = 5050.0 + 90000.0, all = 500500.0;
    ck_assert_double_eq(batch.window_pairs, 3 * near);
    ck_assert_double_eq(equal.window_pairs, 3 * near);
    ck_assert_double_eq(equal.score_pairs, batch.score_pairs);
    assert_relative(llm_attention_flops(&llama, &batch), 3 * 4.0 * 32 * 128 * (4 * near + 2 * all),
                    1e-12);
    llama.window = 1000;
    equal = llm_batch_of(&llama, 3, 1000);
    llama.window_layers = 0;
    struct llm_batch plain = llm_batch_of(&llama, 3, 1000);
    ck_assert_double_eq(equal.window_pairs, plain.score_pairs);
    ck_assert_double_eq(plain.window_pairs, 0);
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

/* DeepSeek-V3's card: 37 billion parameters are active, of which the embedding's 0.93 multiply
 * nothing. Latent attention: 2 x (192 + 128) FLOPs a head and pair. */
START_TEST(flops_of_deepseek_v3) {
    struct llm_architecture a = deepseek_v3();
    struct llm_batch batch = {.tokens = 1.0, .logit_tokens = 1.0};
    double weights = llm_forward_flops(&a, LLM_HEAD_VOCABULARY, &batch) / 2.0;
    ck_assert_double_eq_tol(weights / 1e9, 37.0 - 0.93, 0.6);
    batch = (struct llm_batch){.score_pairs = 1000.0};
    ck_assert_double_eq(llm_forward_flops(&a, LLM_HEAD_VOCABULARY, &batch),
                        61.0 * 128.0 * 2.0 * (192.0 + 128.0) * 1000.0);
}
END_TEST

/* OPT-350m: every token goes from 512 to 1024 and back, the head has 512 inputs. */
START_TEST(flops_of_a_narrow_embedding) {
    struct llm_architecture a = llama2_7b();
    struct llm_batch batch = {.tokens = 10.0, .logit_tokens = 3.0};
    double whole = llm_forward_flops(&a, LLM_HEAD_VOCABULARY, &batch);
    a.embedding_width = 512;
    double narrow = llm_forward_flops(&a, LLM_HEAD_VOCABULARY, &batch);
    ck_assert_double_eq(narrow - whole,
                        2.0 * 2.0 * 512.0 * 4096.0 * 10.0 - 2.0 * 32000.0 * (4096.0 - 512.0) * 3.0);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("llm_work");
    TCase *tests = tcase_create("flops");
    tcase_add_test(tests, products_of_a_block);
    tcase_add_test(tests, products_of_latent_attention_and_experts);
    tcase_add_test(tests, products_hold_every_weight_once);
    tcase_add_test(tests, experts_touched_against_an_enumeration);
    tcase_add_test(tests, attention_ends_where_it_is_not_modelled);
    tcase_add_test(tests, flops_of_deepseek_v3);
    tcase_add_test(tests, flops_of_a_narrow_embedding);
    tcase_add_test(tests, causal_pairs_against_a_loop);
    tcase_add_test(tests, window_pairs_against_a_loop);
    tcase_add_test(tests, layers_with_windows_have_their_own_pairs);
    tcase_add_test(tests, causal_pairs_add_up_over_chunks);
    tcase_add_test(tests, three_passes_are_6_n_d);
    tcase_add_test(tests, attention_is_the_causal_half_of_palms_term);
    tcase_add_test(tests, the_head_counts_for_logit_tokens);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
