/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/llm/architecture.h"
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

/* The twin: a state dictionary as the library would list it, one tensor after another. */
struct listing {
    int64_t tensors, elements, matrix_elements, lora_elements, lora_tensors;
};

static void list_vector(struct listing *listing, int64_t size) {
    listing->tensors++;
    listing->elements += size;
}

static void list_linear(struct listing *listing, int64_t outputs, int64_t inputs, bool bias,
                        int64_t rank) {
    listing->tensors++;
    listing->elements += outputs * inputs;
    listing->matrix_elements += outputs * inputs;
    listing->lora_elements += outputs * rank + rank * inputs;
    listing->lora_tensors += 2;
    if (bias)
        list_vector(listing, outputs);
}

static struct listing list_layer(const struct llm_architecture *a, int64_t rank) {
    struct listing layer = {0};
    list_vector(&layer, a->hidden); /* input_layernorm */
    list_linear(&layer, a->heads * a->head_dim, a->hidden, a->qkv_bias, rank);
    list_linear(&layer, a->kv_heads * a->head_dim, a->hidden, a->qkv_bias, rank);
    list_linear(&layer, a->kv_heads * a->head_dim, a->hidden, a->qkv_bias, rank);
    if (a->qk_norm) {
        list_vector(&layer, a->head_dim);
        list_vector(&layer, a->head_dim);
    }
    list_linear(&layer, a->hidden, a->heads * a->head_dim, a->output_bias, rank);
    list_vector(&layer, a->hidden); /* post_attention_layernorm */
    if (a->gated_ffn)
        list_linear(&layer, a->ffn, a->hidden, a->ffn_bias, rank);
    list_linear(&layer, a->ffn, a->hidden, a->ffn_bias, rank);
    list_linear(&layer, a->hidden, a->ffn, a->ffn_bias, rank);
    return layer;
}

static void check_listing(const struct llm_architecture *a, int64_t rank, enum llm_head head) {
    struct listing layer = list_layer(a, rank), all = {0};
    for (int64_t i = 0; i < a->layers; i++) {
        all.tensors += layer.tensors;
        all.elements += layer.elements;
    }
    list_vector(&all, a->vocab * a->hidden); /* embed_tokens */
    list_vector(&all, a->hidden);            /* norm */
    if (head == LLM_HEAD_SCALAR)
        list_vector(&all, a->hidden);
    else if (!a->tied_embeddings)
        list_vector(&all, a->vocab * a->hidden); /* lm_head */
    ck_assert_int_eq(llm_layer_parameters(a), layer.elements);
    ck_assert_int_eq(llm_layer_matrix_parameters(a), layer.matrix_elements);
    ck_assert_int_eq(llm_lora_parameters(a, rank), a->layers * layer.lora_elements);
    ck_assert_int_eq(llm_lora_tensors(a), a->layers * layer.lora_tensors);
    ck_assert_int_eq(llm_tensors(a, head), all.tensors);
    ck_assert_int_eq(llm_parameters(a, head), all.elements);
    ck_assert_int_eq(llm_embedding_parameters(a), a->vocab * a->hidden);
}

/* All 128 combinations of flags and head, sizes that are prime so that no two can be confused. */
START_TEST(every_combination_of_flags_against_a_listing) {
    for (unsigned flags = 0; flags < 128; flags++) {
        struct llm_architecture a = make(LLAMA, 5, 61, 6, 3, 11, 127, 1009, (flags & 1) != 0);
        a.gated_ffn = (flags & 2) != 0;
        a.qkv_bias = (flags & 4) != 0;
        a.output_bias = (flags & 8) != 0;
        a.ffn_bias = (flags & 16) != 0;
        a.qk_norm = (flags & 32) != 0;
        check_listing(&a, 7, (flags & 64) != 0 ? LLM_HEAD_SCALAR : LLM_HEAD_VOCABULARY);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("llm_architecture");
    TCase *tests = tcase_create("counts");
    tcase_add_test(tests, published_totals_to_the_digit);
    tcase_add_test(tests, a_scalar_head_replaces_the_vocabulary);
    tcase_add_test(tests, published_numbers_of_tensors);
    tcase_add_test(tests, published_lora_sizes);
    tcase_add_test(tests, keys_and_values_of_a_token);
    tcase_add_test(tests, every_combination_of_flags_against_a_listing);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
