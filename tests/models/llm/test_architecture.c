/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/llm/architecture.h"
#include "tests/oracle/tensor_listing.h"
#include "tests/testing.h"

#include <inttypes.h>

enum family { LLAMA, QWEN2, QWEN3 };

static struct llm_architecture make(enum family family, int64_t layers, int64_t hidden,
                                    int64_t heads, int64_t kv_heads, int64_t head_dim, int64_t ffn,
                                    int64_t vocab, bool tied) {
    return (struct llm_architecture){.layers = layers,
                                     .hidden = hidden,
                                     .heads = heads,
                                     .kv_heads = kv_heads,
                                     .head_dim = head_dim,
                                     .ffn = ffn,
                                     .vocab = vocab,
                                     .tied_embeddings = tied,
                                     .gated_ffn = true,
                                     .qkv_bias = family == QWEN2,
                                     .qk_norm = family == QWEN3};
}

static struct llm_architecture llama2_7b(void) {
    return make(LLAMA, 32, 4096, 32, 32, 128, 11008, 32000, false);
}

static struct llm_architecture qwen25_7b(void) {
    return make(QWEN2, 28, 3584, 28, 4, 128, 18944, 152064, false);
}

static struct llm_architecture qwen3_8b(void) {
    return make(QWEN3, 36, 4096, 32, 8, 128, 12288, 151936, false);
}

/* Totals of the safetensors files as Hugging Face lists them (read from llmfit @5bdc9df9d8e2,
 * hf_models.json). Llama-2-7b is listed with 2,048 more: 32 buffers of 64 rotary frequencies, which
 * are no parameters. Qwen3-0.6B is listed with the tied head counted twice: 751,632,384 - 151,936 x
 * 1,024. */
START_TEST(published_totals_to_the_digit) {
    struct {
        const char *name;
        struct llm_architecture architecture;
        int64_t parameters;
    } models[] = {
        {"Llama-2-7b", llama2_7b(), 6738417664 - 2048},
        {"Llama-2-13b", make(LLAMA, 40, 5120, 40, 40, 128, 13824, 32000, false), 13015864320},
        {"Llama-2-70b", make(LLAMA, 80, 8192, 64, 8, 128, 28672, 32000, false), 68976648192},
        {"Llama-3.1-8B", make(LLAMA, 32, 4096, 32, 8, 128, 14336, 128256, false), 8030261248},
        {"Llama-3.1-405B", make(LLAMA, 126, 16384, 128, 8, 128, 53248, 128256, false),
         405853388800},
        {"Llama-3.2-1B", make(LLAMA, 16, 2048, 32, 8, 64, 8192, 128256, true), 1235814400},
        {"Mistral-7B-v0.1", make(LLAMA, 32, 4096, 32, 8, 128, 14336, 32000, false), 7241732096},
        {"Qwen2.5-0.5B", make(QWEN2, 24, 896, 14, 2, 64, 4864, 151936, true), 494032768},
        {"Qwen2.5-7B", qwen25_7b(), 7615616512},
        {"Qwen2.5-72B", make(QWEN2, 80, 8192, 64, 8, 128, 29568, 152064, false), 72706203648},
        {"Qwen3-0.6B", make(QWEN3, 28, 1024, 16, 8, 128, 3072, 151936, true),
         751632384 - 151936 * 1024},
        {"Qwen3-4B", make(QWEN3, 36, 2560, 32, 8, 128, 9728, 151936, true), 4022468096},
        {"Qwen3-8B", qwen3_8b(), 8190735360},
        {"Qwen3-32B", make(QWEN3, 64, 5120, 64, 8, 128, 25600, 151936, false), 32762123264},
    };
    for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++) {
        int64_t parameters = llm_parameters(&models[i].architecture, LLM_HEAD_VOCABULARY);
        ck_assert_msg(parameters == models[i].parameters,
                      "%s has %" PRId64 " parameters, expected %" PRId64, models[i].name,
                      parameters, models[i].parameters);
    }
}
END_TEST

/* A critic: the vocabulary's projection goes, hidden weights come. */
START_TEST(a_scalar_head_replaces_the_vocabulary) {
    struct llm_architecture llama = llama2_7b();
    ck_assert_int_eq(llm_parameters(&llama, LLM_HEAD_SCALAR), 6738415616 - 32000 * 4096 + 4096);
    ck_assert_int_eq(llm_head_parameters(&llama, LLM_HEAD_SCALAR), 4096);
    ck_assert_int_eq(llm_head_parameters(&llama, LLM_HEAD_VOCABULARY), 131072000);
    /* A tied head has nothing of its own to lose. */
    struct llm_architecture tied = make(QWEN2, 24, 896, 14, 2, 64, 4864, 151936, true);
    ck_assert_int_eq(llm_parameters(&tied, LLM_HEAD_SCALAR), 494032768 + 896);
    ck_assert_int_eq(llm_head_parameters(&tied, LLM_HEAD_VOCABULARY), 151936 * 896);
}
END_TEST

/* llama.cpp prints the tensors of a checkpoint when it loads one: "291 tensors" for Llama-2-7b and
 * Llama-3-8B, 339 for Qwen2.5-7B, 399 for Qwen3-8B. */
START_TEST(published_numbers_of_tensors) {
    struct llm_architecture llama = llama2_7b(), qwen25 = qwen25_7b(), qwen3 = qwen3_8b();
    ck_assert_int_eq(llm_tensors(&llama, LLM_HEAD_VOCABULARY), 291);
    ck_assert_int_eq(llm_tensors(&qwen25, LLM_HEAD_VOCABULARY), 339);
    ck_assert_int_eq(llm_tensors(&qwen3, LLM_HEAD_VOCABULARY), 399);
}
END_TEST

/* PEFT prints "trainable params: 39,976,960" for rank 16 on all seven projections of Llama-2-7b
 * (448 tensors), and 41,943,040 for Mistral-7B. */
START_TEST(published_lora_sizes) {
    struct llm_architecture llama = llama2_7b();
    struct llm_architecture mistral = make(LLAMA, 32, 4096, 32, 8, 128, 14336, 32000, false);
    ck_assert_int_eq(llm_lora_parameters(&llama, 16), 39976960);
    ck_assert_int_eq(llm_lora_tensors(&llama), 448);
    ck_assert_int_eq(llm_lora_parameters(&mistral, 16), 41943040);
    ck_assert_int_eq(llm_lora_parameters(&mistral, 0), 0);
}
END_TEST

/* Half a mebibyte a token for Llama-2-7b in 2 bytes (2 x 32 layers x 4,096 x 2); grouped queries
 * make the 70B smaller: 2 x 80 x 8 x 128 x 2. */
START_TEST(keys_and_values_of_a_token) {
    struct llm_architecture small = llama2_7b();
    struct llm_architecture large = make(LLAMA, 80, 8192, 64, 8, 128, 28672, 32000, false);
    ck_assert_double_eq(llm_kv_bytes_per_token(&small, 2.0), 524288.0);
    ck_assert_double_eq(llm_kv_bytes_per_token(&large, 2.0), 327680.0);
    ck_assert_double_eq(llm_kv_bytes_per_token(&large, 1.0), 163840.0);
}
END_TEST

/* ---- the listing ----------------------------------------------------------------------------- */

#define RANK 7

static void check_kinds(const struct llm_architecture *a) {
    struct llm_layer_kind kinds[LLM_LAYER_KINDS];
    int count = llm_layer_kinds(a, kinds);
    int64_t layers = 0, matrices = 0;
    for (int i = 0; i < count; i++) {
        struct tensor_listing layer = {0};
        list_layer(a, kinds[i].moe, RANK, &layer);
        ck_assert_int_eq(llm_layer_parameters(a, &kinds[i]), layer.elements);
        ck_assert_int_eq(llm_layer_matrix_parameters(a, &kinds[i]), layer.active_matrix_elements);
        ck_assert_int_eq(llm_layer_lora_parameters(a, &kinds[i], RANK), layer.lora_elements);
        layers += kinds[i].count;
        matrices += kinds[i].count * layer.active_matrix_elements;
    }
    ck_assert_int_eq(layers, a->layers);
    ck_assert_int_eq(llm_matrix_parameters(a), matrices);
}

static void check_listing(const struct llm_architecture *a, enum llm_head head) {
    struct tensor_listing all;
    char fault[LLM_FAULT_SIZE];
    ck_assert_msg(llm_architecture_check(a, fault), "%s", fault);
    list_model(a, head, RANK, &all);
    check_kinds(a);
    ck_assert_int_eq(llm_lora_parameters(a, RANK), all.lora_elements);
    ck_assert_int_eq(llm_lora_tensors(a), all.lora_tensors);
    ck_assert_int_eq(llm_tensors(a, head), all.tensors);
    ck_assert_int_eq(llm_parameters(a, head), all.elements);
}

/* Sizes that are prime, so that no two can be confused. */
static struct llm_architecture prime(unsigned flags) {
    struct llm_architecture a = make(LLAMA, 5, 61, 6, 3, 11, 127, 1009, (flags & 1) != 0);
    a.gated_ffn = (flags & 2) != 0;
    a.qkv_bias = (flags & 4) != 0;
    a.output_bias = (flags & 8) != 0;
    a.ffn_bias = (flags & 16) != 0;
    a.qk_norm = (flags & 32) != 0;
    return a;
}

static enum llm_head head_of(unsigned flag) {
    return flag != 0 ? LLM_HEAD_SCALAR : LLM_HEAD_VOCABULARY;
}

/* All combinations of the flags of a dense block. */
START_TEST(dense_blocks_against_a_listing) {
    for (unsigned flags = 0; flags < 1024; flags++) {
        struct llm_architecture a = prime(flags);
        a.fused_qkv = (flags & 128) != 0;
        a.fused_up = (flags & 256) != 0;
        a.sinks = (flags & 512) != 0;
        check_listing(&a, head_of(flags & 64));
    }
}
END_TEST

START_TEST(norms_and_ends_against_a_listing) {
    for (unsigned flags = 0; flags < 768; flags++) {
        struct llm_architecture a = prime(flags & 3);
        a.norm = (flags & 4) != 0 ? LLM_NORM_LAYER : LLM_NORM_RMS;
        a.positions = (flags & 8) != 0 ? 2053 : 0;
        a.embedding_width = (flags & 16) != 0 ? 31 : 0;
        a.embedding_norm = (flags & 32) != 0;
        a.no_final_norm = (flags & 64) != 0;
        a.head_bias = (flags & 128) != 0;
        a.block_norms = (enum llm_block_norms)(flags / 256);
        check_listing(&a, LLM_HEAD_VOCABULARY);
        check_listing(&a, LLM_HEAD_SCALAR);
    }
}
END_TEST

/* Two dense layers and three with experts. */
START_TEST(experts_against_a_listing) {
    for (unsigned flags = 0; flags < 512; flags++) {
        struct llm_architecture a = prime(flags & 3);
        a.experts = 13;
        a.experts_per_token = 3;
        a.moe_ffn = 17;
        a.moe_layers = 3;
        a.shared_ffn = (flags & 4) != 0 ? 29 : 0;
        a.shared_gate = a.shared_ffn > 0 && (flags & 8) != 0;
        a.router_bias = (flags & 16) != 0;
        a.expert_bias = (flags & 32) != 0;
        a.packed_experts = (flags & 64) != 0;
        a.fused_up = (flags & 128) != 0;
        check_listing(&a, head_of(flags & 256));
        /* What a token does not meet: 10 of 13 experts in 3 layers. */
        int64_t expert = (a.gated_ffn ? 3 : 2) * 61 * 17;
        if (a.expert_bias)
            expert += (a.gated_ffn ? 2 : 1) * 17 + 61;
        ck_assert_int_eq(llm_active_parameters(&a, LLM_HEAD_VOCABULARY),
                         llm_parameters(&a, LLM_HEAD_VOCABULARY) - 3 * 10 * expert);
    }
}
END_TEST

START_TEST(latent_attention_against_a_listing) {
    for (unsigned flags = 0; flags < 32; flags++) {
        struct llm_architecture a = prime(flags & 3);
        a.kv_heads = 1;
        a.kv_lora_rank = 19;
        a.rope_head_dim = 4;
        a.v_head_dim = 5;
        a.q_lora_rank = (flags & 12) != 0 ? 23 : 0;
        a.output_bias = (flags & 16) != 0;
        if ((flags & 8) != 0) {
            a.index_heads = 7;
            a.index_head_dim = 3;
            a.index_topk = 100;
        }
        check_listing(&a, LLM_HEAD_VOCABULARY);
        /* 19 + 4 numbers a token and layer, whatever the heads. */
        ck_assert_double_eq(llm_kv_bytes_per_token(&a, 2.0), 2.0 * 5 * 23);
    }
}
END_TEST

/* Layers by experts and windows: 10 layers, 6 with experts, 5 with a window, 2 with both. */
START_TEST(kinds_of_layers) {
    struct llm_architecture a = prime(2);
    struct llm_layer_kind kinds[LLM_LAYER_KINDS];
    ck_assert_int_eq(llm_layer_kinds(&a, kinds), 1);
    ck_assert(kinds[0].count == 5 && !kinds[0].moe && !kinds[0].windowed);
    a.layers = 10;
    a.experts = a.experts_per_token = 4;
    a.moe_ffn = 17;
    a.moe_layers = 6;
    a.window = 64;
    a.window_layers = 5;
    a.window_moe_layers = 2;
    ck_assert_int_eq(llm_layer_kinds(&a, kinds), 4);
    static const struct llm_layer_kind expected[] = {
        {1, false, false}, {3, false, true}, {4, true, false}, {2, true, true}};
    for (int i = 0; i < 4; i++)
        ck_assert(kinds[i].count == expected[i].count && kinds[i].moe == expected[i].moe &&
                  kinds[i].windowed == expected[i].windowed);
}
END_TEST

/* ---- sizes that do not go together ----------------------------------------------------------- */

static void assert_fault(struct llm_architecture a, const char *expected) {
    char fault[LLM_FAULT_SIZE] = "";
    ck_assert(!llm_architecture_check(&a, fault));
    ck_assert_str_eq(fault, expected);
}

#define WITH(...)                                                                        \
    (struct llm_architecture) {                                                          \
        .layers = 4, .hidden = 64, .heads = 8, .kv_heads = 4, .head_dim = 8, .ffn = 100, \
        .vocab = 1000, __VA_ARGS__                                                       \
    }
#define EXPERTS .experts = 8, .experts_per_token = 2, .moe_ffn = 50
#define LATENT .kv_lora_rank = 16, .rope_head_dim = 4, .v_head_dim = 8

/* Later values of a field replace earlier ones on purpose. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"

START_TEST(sizes_that_do_not_go_together) {
    assert_fault(WITH(.kv_heads = 3), "kv_heads must divide heads");
    assert_fault(WITH(.experts = 8),
                 "experts, experts_per_token, moe_ffn and moe_layers come together");
    assert_fault(WITH(EXPERTS, .experts_per_token = 9, .moe_layers = 4),
                 "experts_per_token is more than there are experts");
    assert_fault(WITH(EXPERTS, .moe_layers = 5), "moe_layers are more than layers");
    assert_fault(WITH(.window = 16, .window_layers = 5), "window_layers are more than layers");
    assert_fault(WITH(.window = 16), "window and window_layers come together");
    assert_fault(WITH(EXPERTS, .moe_layers = 3, .window = 16, .window_layers = 3),
                 "window_moe_layers do not go with moe_layers, window_layers and layers");
    assert_fault(WITH(.shared_ffn = 10),
                 "shared_ffn, shared_gate, router_bias and expert_bias need experts");
    assert_fault(WITH(EXPERTS, .moe_layers = 4, .shared_gate = true),
                 "shared_gate needs shared_ffn");
    assert_fault(WITH(EXPERTS, .moe_layers = 3, .ffn = 0), "ffn is missing for the dense layers");
    assert_fault(WITH(.kv_lora_rank = 16),
                 "kv_lora_rank, rope_head_dim and v_head_dim come together");
    assert_fault(WITH(LATENT), "kv_heads must be 1 with kv_lora_rank: one vector for all");
    assert_fault(WITH(LATENT, .kv_heads = 1, .rope_head_dim = 8),
                 "rope_head_dim must be below head_dim");
    assert_fault(WITH(LATENT, .kv_heads = 1, .qkv_bias = true),
                 "qkv_bias, qk_norm, fused_qkv and windows do not go with kv_lora_rank");
    assert_fault(WITH(.q_lora_rank = 16), "q_lora_rank needs kv_lora_rank");
    assert_fault(WITH(LATENT, .kv_heads = 1, .q_lora_rank = 8, .index_heads = 2),
                 "index_heads, index_head_dim and index_topk come together");
    assert_fault(
        WITH(LATENT, .kv_heads = 1, .index_heads = 2, .index_head_dim = 2, .index_topk = 9),
        "index_heads need q_lora_rank");
    assert_fault(WITH(.layers = LLM_LAYERS_LIMIT, .hidden = LLM_HIDDEN_LIMIT,
                      .experts = LLM_EXPERTS_LIMIT, .experts_per_token = 1,
                      .moe_ffn = LLM_FFN_LIMIT, .moe_layers = LLM_LAYERS_LIMIT),
                 "the sizes multiply to more than 2^53 parameters");
}
END_TEST

#pragma GCC diagnostic pop

static Suite *suite(void) {
    Suite *result = suite_create("llm_architecture");
    TCase *tests = tcase_create("counts");
    tcase_add_test(tests, published_totals_to_the_digit);
    tcase_add_test(tests, a_scalar_head_replaces_the_vocabulary);
    tcase_add_test(tests, published_numbers_of_tensors);
    tcase_add_test(tests, published_lora_sizes);
    tcase_add_test(tests, keys_and_values_of_a_token);
    tcase_add_test(tests, dense_blocks_against_a_listing);
    tcase_add_test(tests, norms_and_ends_against_a_listing);
    tcase_add_test(tests, experts_against_a_listing);
    tcase_add_test(tests, latent_attention_against_a_listing);
    tcase_add_test(tests, kinds_of_layers);
    tcase_add_test(tests, sizes_that_do_not_go_together);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
