/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/llm/config_json.h"
#include "tests/models/llm/config_fixture.h"

#include <jansson.h>

/* ---- what is understood ---------------------------------------------------------------------- */

/* Qwen2.5-7B as published, 7,615,616,512 parameters (Hugging Face's listing of its tensors). */
START_TEST(a_published_file) {
    struct config_outcome outcome = config_read_text(
        "{\"architectures\": [\"Qwen2ForCausalLM\"], \"attention_dropout\": 0.0,\n"
        " \"bos_token_id\": 151643, \"eos_token_id\": 151643, \"hidden_act\": \"silu\",\n"
        " \"hidden_size\": 3584, \"initializer_range\": 0.02, \"intermediate_size\": 18944,\n"
        " \"max_position_embeddings\": 131072, \"max_window_layers\": 28,\n"
        " \"model_type\": \"qwen2\", \"num_attention_heads\": 28, \"num_hidden_layers\": 28,\n"
        " \"num_key_value_heads\": 4, \"rms_norm_eps\": 1e-06, \"rope_theta\": 1000000.0,\n"
        " \"sliding_window\": 131072, \"tie_word_embeddings\": false,\n"
        " \"torch_dtype\": \"bfloat16\", \"transformers_version\": \"4.40.1\",\n"
        " \"use_cache\": true, \"use_mrope\": false, \"use_sliding_window\": false,\n"
        " \"vocab_size\": 152064}\n");
    ck_assert_int_eq(outcome.status, RLHFSIM_OK);
    struct llm_architecture *a = &outcome.architecture;
    ck_assert_str_eq(a->family, "qwen2");
    ck_assert_int_eq(a->layers, 28);
    ck_assert_int_eq(a->kv_heads, 4);
    ck_assert_int_eq(a->head_dim, 128);
    ck_assert_int_eq(a->max_position, 131072);
    ck_assert(a->qkv_bias && !a->output_bias && !a->ffn_bias && !a->qk_norm && a->gated_ffn);
    ck_assert_int_eq(llm_parameters(a, LLM_HEAD_VOCABULARY), 7615616512);
}
END_TEST

/* The defaults of the library's configuration classes: models/llama, mistral, qwen2, qwen3. */
START_TEST(absent_keys_mean_what_the_library_means) {
    static const struct {
        const char *family;
        int64_t kv_heads, head_dim, max_position;
        bool qkv_bias, qk_norm;
    } expected[] = {
        {"llama", 32, 64 / 32, 2048, false, false},
        {"mistral", 8, 64 / 32, 131072, false, false},
        {"qwen2", 32, 64 / 32, 32768, true, false},
        {"qwen3", 32, 128, 32768, false, true},
    };
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        struct config_outcome outcome = config_read_with(expected[i].family, "");
        struct llm_architecture *a = &outcome.architecture;
        ck_assert_int_eq(outcome.status, RLHFSIM_OK);
        ck_assert_int_eq(a->kv_heads, expected[i].kv_heads);
        ck_assert_int_eq(a->head_dim, expected[i].head_dim);
        ck_assert_int_eq(a->max_position, expected[i].max_position);
        ck_assert(a->qkv_bias == expected[i].qkv_bias && a->qk_norm == expected[i].qk_norm);
        ck_assert(!a->tied_embeddings && !a->output_bias && !a->ffn_bias && a->gated_ffn);
    }
}
END_TEST

/* null is how the library writes what is not set; kv heads that are null are as many as heads. */
START_TEST(null_is_absent) {
    struct config_outcome outcome = config_read_with(
        "mistral", "\"num_key_value_heads\": null, \"head_dim\": null, \"architectures\": null,"
                   "\"quantization_config\": null, \"rope_scaling\": null,");
    ck_assert_int_eq(outcome.status, RLHFSIM_OK);
    ck_assert_int_eq(outcome.architecture.kv_heads, 32);
    ck_assert_int_eq(outcome.architecture.head_dim, 2);
}
END_TEST

START_TEST(biases_and_ties_are_read_where_the_family_has_them) {
    struct config_outcome llama =
        config_read_with("llama", "\"attention_bias\": true, \"mlp_bias\": true,"
                                  "\"tie_word_embeddings\": true,");
    ck_assert_int_eq(llama.status, RLHFSIM_OK);
    ck_assert(llama.architecture.qkv_bias && llama.architecture.output_bias &&
              llama.architecture.ffn_bias && llama.architecture.tied_embeddings);
    struct config_outcome qwen3 =
        config_read_with("qwen3", "\"attention_bias\": true, \"head_dim\": 48,");
    ck_assert_int_eq(qwen3.status, RLHFSIM_OK);
    ck_assert(qwen3.architecture.qkv_bias && qwen3.architecture.output_bias);
    ck_assert_int_eq(qwen3.architecture.head_dim, 48);
    /* Qwen2 has biases on queries, keys and values whatever is said; to say so is fine. */
    struct config_outcome qwen2 =
        config_read_with("qwen2", "\"attention_bias\": true, \"mlp_bias\": false,");
    ck_assert_int_eq(qwen2.status, RLHFSIM_OK);
    ck_assert(qwen2.architecture.qkv_bias && !qwen2.architecture.output_bias);
}
END_TEST

/* A reward model is published with its own class name and the same blocks. */
START_TEST(classes_on_the_same_blocks_are_accepted) {
    struct config_outcome outcome = config_read_with(
        "llama", "\"architectures\": [\"LlamaForSequenceClassification\"],"
                 "\"num_labels\": 1, \"num_local_experts\": 0, \"pruned_heads\": {},");
    ck_assert_int_eq(outcome.status, RLHFSIM_OK);
}
END_TEST

START_TEST(the_name_comes_from_the_path) {
    char folder[] = "/tmp/rlhfsim_model_XXXXXX", path[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    static const struct {
        const char *file;
        bool of_the_folder;
    } names[] = {{"/config.json", true}, {"/Llama-9-tiny.json", false}};
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s%s", folder, names[i].file);
        FILE *file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        fputs("{\"model_type\": \"llama\", \"num_hidden_layers\": 1, \"hidden_size\": 8,"
              "\"num_attention_heads\": 2, \"intermediate_size\": 9, \"vocab_size\": 10}",
              file);
        ck_assert_int_eq(fclose(file), 0);
        struct config_outcome outcome = config_read_path(path);
        unlink(path);
        ck_assert_int_eq(outcome.status, RLHFSIM_OK);
        ck_assert_str_eq(outcome.architecture.name,
                         names[i].of_the_folder ? strrchr(folder, '/') + 1 : "Llama-9-tiny");
    }
    rmdir(folder);
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------- */

START_TEST(other_architectures_are_refused_by_name) {
    config_assert_refused(config_read_text("{\"hidden_size\": 8}"), "model_type is missing",
                          "\"llama\"");
    config_assert_refused(config_read_text("{\"model_type\": 3}"), "model_type is 3", "\"llama\"");
    config_assert_refused(
        config_read_with("llama", "\"architectures\": [\"LlavaLlamaForCausalLM\"],"),
        "architectures", "LlavaLlamaForCausalLM");
    config_assert_refused(
        config_read_with("llama", "\"architectures\": [\"LlamaForCausalLMEagle\"],"),
        "architectures", "LlamaForCausalLMEagle");
    config_assert_refused(
        config_read_with("llama", "\"architectures\": [\"LlamaForCausalLM\", 3],"), "architectures",
        "3");
    config_assert_refused(config_read_with("llama", "\"architectures\": \"LlamaForCausalLM\","),
                          "architectures", "[\"LlamaForCausalLM\"]");
}
END_TEST

START_TEST(keys_that_would_change_the_count_are_refused) {
    static const char *const keys[][3] = {
        {"\"num_local_experts\": 8,", "num_local_experts", "8"},
        {"\"moe_intermediate_size\": 1536,", "moe_intermediate_size", "1536"},
        {"\"kv_lora_rank\": 512,", "kv_lora_rank", "512"},
        {"\"num_nextn_predict_layers\": 1,", "num_nextn_predict_layers", "1"},
        {"\"quantization_config\": {\"bits\": 4},", "quantization_config", "{\"bits\":4}"},
        {"\"auto_map\": {\"AutoModel\": \"m.M\"},", "auto_map", "m.M"},
        {"\"vision_config\": {\"depth\": 24},", "vision_config", "24"},
        {"\"add_cross_attention\": true,", "add_cross_attention", "true"},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        config_assert_refused(config_read_with("llama", keys[i][0]), keys[i][1], keys[i][2]);
}
END_TEST

START_TEST(biases_that_the_family_cannot_have_are_refused) {
    config_assert_refused(config_read_with("qwen2", "\"attention_bias\": false,"), "attention_bias",
                          "true");
    config_assert_refused(config_read_with("mistral", "\"attention_bias\": true,"),
                          "attention_bias", "false");
    config_assert_refused(config_read_with("qwen3", "\"mlp_bias\": true,"), "mlp_bias", "false");
}
END_TEST

/* Every size, in every way that it can be wrong, one at a time. */
START_TEST(wrong_sizes_name_their_key) {
    static const char *const keys[] = {"num_hidden_layers",   "hidden_size",
                                       "num_attention_heads", "intermediate_size",
                                       "vocab_size",          "max_position_embeddings",
                                       "num_key_value_heads", "head_dim"};
    static const char *const wrong[] = {"0",        "-4",   "4096.0", "1e3",
                                        "\"4096\"", "true", "[8]",    "9000000000000000000"};
    for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++)
        for (size_t w = 0; w < sizeof(wrong) / sizeof(*wrong); w++) {
            char text[1024] = "{\"model_type\": \"llama\"";
            size_t length = strlen(text);
            for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
                length += (size_t)snprintf(text + length, sizeof(text) - length, ", \"%s\": %s",
                                           keys[i], i == k ? wrong[w] : "8");
            snprintf(text + length, sizeof(text) - length, "}");
            char expected[64];
            snprintf(expected, sizeof(expected), "%s is ", keys[k]);
            config_assert_refused(config_read_text(text), expected,
                                  "expected a whole number from 1 to ");
        }
}
END_TEST

START_TEST(every_missing_size_is_reported) {
    struct config_outcome outcome =
        config_read_text("{\"model_type\": \"qwen3\", \"vocab_size\": null}");
    ck_assert_int_eq(outcome.status, RLHFSIM_INVALID);
    ck_assert_uint_eq(outcome.errors, 5);
    ck_assert_ptr_nonnull(strstr(outcome.message, "num_hidden_layers is missing"));
}
END_TEST

START_TEST(sizes_that_do_not_divide_are_refused) {
    config_assert_refused(config_read_with("llama", "\"num_key_value_heads\": 5,"),
                          "num_key_value_heads is 5", "divisor of num_attention_heads 32");
    struct config_outcome outcome = config_read_text(
        "{\"model_type\": \"llama\", \"num_hidden_layers\": 1, \"hidden_size\": 100,"
        "\"num_attention_heads\": 32, \"intermediate_size\": 9, \"vocab_size\": 10}");
    config_assert_refused(outcome, "head_dim is missing", "hidden_size 100");
}
END_TEST

START_TEST(flags_must_be_flags) {
    config_assert_refused(config_read_with("llama", "\"tie_word_embeddings\": 1,"),
                          "tie_word_embeddings is 1", "true or false");
    config_assert_refused(config_read_with("llama", "\"attention_bias\": \"no\","),
                          "attention_bias is \"no\"", "true or false");
}
END_TEST

START_TEST(broken_json_is_placed) {
    struct config_outcome outcome = config_read_text("{\"model_type\":\n  \"llama\",,}");
    ck_assert_int_eq(outcome.status, RLHFSIM_INVALID);
    ck_assert_int_eq(outcome.line, 2);
    ck_assert_int_eq(outcome.column, 11); /* the second comma */
    static const char *const broken[] = {"",
                                         "{",
                                         "nonsense",
                                         "{\"a\": 1} x",
                                         "{\"a\": 1, \"a\": 1}",
                                         "{\"a\": 1e999}",
                                         "{\"a\": \"\xff\"}",
                                         "[1]",
                                         "3"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++)
        ck_assert_int_eq(config_read_text(broken[i]).status, RLHFSIM_INVALID);
    ck_assert_int_eq(config_read_bytes("{\"a\0b\": 1}", 10).status, RLHFSIM_INVALID);
}
END_TEST

/* 32 levels are read (and refused for lacking a model_type), 33 are not; brackets in strings, after
 * escaped quotes, do not count. */
START_TEST(depth_is_limited) {
    char text[256] = "{\"[[[[\\\"[[[[\": ";
    size_t start = strlen(text);
    for (int levels = 32; levels <= 33; levels++) {
        memset(text + start, '[', (size_t)levels - 1);
        memset(text + start + levels - 1, ']', (size_t)levels - 1);
        memcpy(text + start + 2 * (levels - 1), "}", 2);
        struct config_outcome outcome = config_read_text(text);
        ck_assert_ptr_nonnull(strstr(outcome.message, levels == 32 ? "model_type" : "deeper"));
    }
}
END_TEST

START_TEST(size_is_limited) {
    size_t limit = (size_t)1 << 20;
    char *text = malloc(limit + 1);
    ck_assert_ptr_nonnull(text);
    memset(text, ' ', limit + 1);
    text[0] = '{';
    text[limit - 1] = '}';
    ck_assert_ptr_nonnull(strstr(config_read_bytes(text, limit).message, "model_type"));
    ck_assert_ptr_nonnull(strstr(config_read_bytes(text, limit + 1).message, "larger"));
    free(text);
}
END_TEST

START_TEST(files_that_cannot_be_read) {
    ck_assert_int_eq(config_read_path("/nonexistent/config.json").status, RLHFSIM_INVALID);
    ck_assert_int_eq(config_read_path("/tmp").status, RLHFSIM_INVALID);
}
END_TEST

/* Every allocation of the parser is the first one that fails, once. The parser calls some of them
 * syntax errors, which cannot be told apart; none may crash, leak or pass as read. */
static int allocations_left;

static void *limited_malloc(size_t size) {
    return allocations_left-- > 0 ? malloc(size) : NULL;
}

START_TEST(memory_that_runs_out_is_reported) {
    json_set_alloc_funcs(limited_malloc, free);
    int refused = 0, reported = 0;
    for (int allowed = 0;; allowed++) {
        allocations_left = allowed;
        struct config_outcome outcome =
            config_read_with("llama", "\"architectures\": [\"LlamaModel\"],");
        if (outcome.status == RLHFSIM_OK)
            break;
        ck_assert(outcome.status == RLHFSIM_NO_MEMORY || outcome.status == RLHFSIM_INVALID);
        refused++;
        reported += outcome.status == RLHFSIM_NO_MEMORY;
    }
    json_set_alloc_funcs(malloc, free);
    ck_assert_int_gt(refused, 14); /* 7 keys and their values, at least */
    ck_assert_int_gt(reported, 0);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("llm_config_json");
    TCase *understood = tcase_create("understood");
    tcase_add_test(understood, a_published_file);
    tcase_add_test(understood, absent_keys_mean_what_the_library_means);
    tcase_add_test(understood, null_is_absent);
    tcase_add_test(understood, biases_and_ties_are_read_where_the_family_has_them);
    tcase_add_test(understood, classes_on_the_same_blocks_are_accepted);
    tcase_add_test(understood, the_name_comes_from_the_path);
    suite_add_tcase(result, understood);
    TCase *refused = tcase_create("refused");
    tcase_add_test(refused, other_architectures_are_refused_by_name);
    tcase_add_test(refused, keys_that_would_change_the_count_are_refused);
    tcase_add_test(refused, biases_that_the_family_cannot_have_are_refused);
    tcase_add_test(refused, wrong_sizes_name_their_key);
    tcase_add_test(refused, every_missing_size_is_reported);
    tcase_add_test(refused, sizes_that_do_not_divide_are_refused);
    tcase_add_test(refused, flags_must_be_flags);
    tcase_add_test(refused, broken_json_is_placed);
    tcase_add_test(refused, depth_is_limited);
    tcase_add_test(refused, size_is_limited);
    tcase_add_test(refused, files_that_cannot_be_read);
    tcase_add_test(refused, memory_that_runs_out_is_reported);
    suite_add_tcase(result, refused);
    return result;
}

TESTING_MAIN(suite)
