/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * One published model of every family, as its config.json has it, with the published number of
 * parameters; and what published numbers hold beyond the model, to the digit.
 */

#include "models/llm/config_json.h"
#include "tests/models/llm/config_fixture.h"
#include "tests/oracle/tensor_listing.h"
#include "tests/testing.h"

#include <inttypes.h>
#include <string.h>

static struct llm_architecture read_model(const char *name, const char *config) {
    struct config_outcome outcome = config_read_text(config);
    ck_assert_msg(outcome.status == RLHFSIM_OK, "%s: %s", name, outcome.message);
    return outcome.architecture;
}

#define SHAPE(type, layers, hidden, heads, ffn, vocab)                                             \
    "{\"model_type\": \"" type "\", \"num_hidden_layers\": " #layers ", \"hidden_size\": " #hidden \
    ", \"num_attention_heads\": " #heads ", \"intermediate_size\": " #ffn                          \
    ", \"vocab_size\": " #vocab
#define OPT(layers, hidden, heads, ffn, width)                                                \
    "{\"model_type\": \"opt\", \"num_hidden_layers\": " #layers ", \"hidden_size\": " #hidden \
    ", \"num_attention_heads\": " #heads ", \"ffn_dim\": " #ffn ", \"vocab_size\": 50272, "   \
    "\"max_position_embeddings\": 2048, \"word_embed_proj_dim\": " #width
#define GPT2(layers, hidden, heads)                                             \
    "{\"model_type\": \"gpt2\", \"n_layer\": " #layers ", \"n_embd\": " #hidden \
    ", \"n_head\": " #heads                                                     \
    ", \"vocab_size\": 50257, \"n_positions\": 1024, \"n_inner\": null, \"n_ctx\": 1024}"
#define FALCON(layers, hidden, heads)                                                            \
    "{\"model_type\": \"falcon\", \"num_hidden_layers\": " #layers ", \"hidden_size\": " #hidden \
    ", \"num_attention_heads\": " #heads ", \"vocab_size\": 65024, \"bias\": false, "            \
    "\"parallel_attn\": true"
#define LLAMA4(experts, step)                                                                 \
    "{\"model_type\": \"llama4\", \"architectures\": [\"Llama4ForConditionalGeneration\"], "  \
    "\"vision_config\": {\"hidden_size\": 1408}, \"text_config\": " SHAPE(                    \
        "llama4_text", 48, 5120, 40, 8192,                                                    \
        202048) ", \"intermediate_size_mlp\": 16384, "                                        \
                "\"num_key_value_heads\": 8, \"head_dim\": 128, \"num_experts_per_tok\": 1, " \
                "\"num_local_experts\": " #experts ", \"interleave_moe_layer_step\": " #step  \
                ", \"attention_chunk_size\": 8192, \"max_position_embeddings\": 1048576}}"

/*
 * Where the digits are from: "HF" marks those read from Hugging Face's listing of the safetensors
 * files (in llmfit @5bdc9df9d8e2 and @026ac571bab4, hf_models.json). The others are totals as they
 * are commonly quoted, without a page that was looked up: weaker evidence each, though a wrong
 * tensor would have to hit all of the digits by chance.
 */
static const struct {
    const char *name, *config;
    int64_t parameters;
} published[] = {
    {"opt-125m", OPT(12, 768, 12, 3072, 768) "}", 125239296},
    /* an embedding of 512, norms behind the blocks, none at the end */
    {"opt-350m", OPT(24, 1024, 16, 4096, 512) ", \"do_layer_norm_before\": false}", 331196416},
    {"opt-2.7b", OPT(32, 2560, 32, 10240, 2560) ", \"do_layer_norm_before\": true}", 2651596800},
    {"opt-6.7b", OPT(32, 4096, 32, 16384, 4096) "}", 6658473984},
    {"gpt2", GPT2(12, 768, 12), 124439808},
    {"gpt2-xl", GPT2(48, 1600, 25), 1557611200},
    {"gpt-neox-20b", SHAPE("gpt_neox", 44, 6144, 64, 24576, 50432) "}", 20554567680},
    {"pythia-6.9b", SHAPE("gpt_neox", 32, 4096, 32, 16384, 50432) "}", 6857302016},
    {"bloom-560m", /* HF (bloomz-560m) */
     "{\"model_type\": \"bloom\", \"n_layer\": 24, \"n_embed\": 1024, \"n_head\": 16,"
     " \"vocab_size\": 250880}",
     559214592},
    {"bloom", /* the total that BigScience quotes */
     "{\"model_type\": \"bloom\", \"n_layer\": 70, \"n_embed\": 14336, \"num_attention_heads\": "
     "112,"
     " \"vocab_size\": 250880}",
     176247271424},
    {"mpt-7b",
     "{\"model_type\": \"mpt\", \"n_layers\": 32, \"d_model\": 4096, \"n_heads\": 32,"
     " \"expansion_ratio\": 4, \"vocab_size\": 50432, \"no_bias\": true, \"auto_map\": {\"A\": "
     "\"b\"},"
     " \"attn_config\": {\"attn_type\": \"multihead_attention\", \"alibi\": true, \"qk_ln\": "
     "false}}",
     6649286656},
    {"falcon-7b", FALCON(32, 4544, 71) ", \"multi_query\": true}", 6921720704},
    {"falcon-40b",
     FALCON(60, 8192, 128) ", \"num_kv_heads\": 8, \"new_decoder_architecture\": true}",
     41303293952},
    {"falcon-180b",
     FALCON(80, 14848, 232) ", \"num_kv_heads\": 8, \"new_decoder_architecture\": true,"
                            " \"tie_word_embeddings\": false}",
     179522565120},
    {"phi-2", SHAPE("phi", 32, 2560, 32, 10240, 51200) "}", 2779683840}, /* HF */
    {"phi-4", SHAPE("phi3", 40, 5120, 40, 17920, 100352) ", \"num_key_value_heads\": 10}",
     14659507200},
    {"Phi-3.5-MoE",
     SHAPE("phimoe", 32, 4096, 32, 6400, 32064) ", \"num_key_value_heads\": 8,"
                                                " \"attention_bias\": true, \"lm_head_bias\": true,"
                                                " \"num_local_experts\": 16,"
                                                " \"num_experts_per_tok\": 2}",
     41873153344},
    {"Llama-3.2-3B", /* HF */
     SHAPE("llama", 28, 3072, 24, 8192, 128256) ", \"num_key_value_heads\": 8, \"head_dim\": 128,"
                                                " \"tie_word_embeddings\": true}",
     3212749824},
    {"deepseek-llm-7b", SHAPE("llama", 30, 4096, 32, 11008, 102400) "}", 6910365696},
    {"Mixtral-8x22B",
     SHAPE("mixtral", 56, 6144, 48, 16384, 32768) ", \"num_key_value_heads\": 8,"
                                                  " \"num_local_experts\": 8}",
     140630071296},
    {"Qwen2.5-1.5B", /* HF */
     SHAPE("qwen2", 28, 1536, 12, 8960, 151936) ", \"num_key_value_heads\": 2,"
                                                " \"tie_word_embeddings\": true}",
     1543714304},
    {"Qwen1.5-MoE-A2.7B",
     SHAPE("qwen2_moe", 24, 2048, 16, 5632, 151936) ", \"num_experts\": 60,"
                                                    " \"num_experts_per_tok\": 4}",
     14315784192},
    {"deepseek-moe-16b",
     SHAPE("deepseek", 28, 2048, 16, 10944, 102400) ", \"n_routed_experts\": 64,"
                                                    " \"n_shared_experts\": 2,"
                                                    " \"num_experts_per_tok\": 6,"
                                                    " \"moe_intermediate_size\": 1408,"
                                                    " \"first_k_dense_replace\": 1}",
     16375728128},
    {"DeepSeek-V2-Lite",
     SHAPE("deepseek_v2", 27, 2048, 16, 10944, 102400) ", \"q_lora_rank\": null,"
                                                       " \"kv_lora_rank\": 512,"
                                                       " \"n_routed_experts\": 64,"
                                                       " \"n_shared_experts\": 2,"
                                                       " \"num_experts_per_tok\": 6,"
                                                       " \"moe_intermediate_size\": 1408,"
                                                       " \"first_k_dense_replace\": 1}",
     15706484224},
    {"gpt-oss-20b", SHAPE("gpt_oss", 24, 2880, 64, 2880, 201088) ", \"num_local_experts\": 32}",
     20914757184},
    {"gemma-2b", SHAPE("gemma", 18, 2048, 8, 16384, 256000) ", \"num_key_value_heads\": 1}",
     2506172416},
    {"gemma-7b", SHAPE("gemma", 28, 3072, 16, 24576, 256000) "}", 8537680896},
    {"gemma-2-27b",
     SHAPE("gemma2", 46, 4608, 32, 36864, 256000) ", \"num_key_value_heads\": 16,"
                                                  " \"head_dim\": 128}",
     27227128320},
};

START_TEST(published_models_to_the_digit) {
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        struct llm_architecture a = read_model(published[i].name, published[i].config);
        int64_t parameters = llm_parameters(&a, LLM_HEAD_VOCABULARY);
        struct tensor_listing listing;
        list_model(&a, LLM_HEAD_VOCABULARY, 0, &listing);
        ck_assert_msg(parameters == published[i].parameters,
                      "%s has %" PRId64 " parameters, published are %" PRId64, published[i].name,
                      parameters, published[i].parameters);
        ck_assert_int_eq(listing.elements, parameters);
    }
}
END_TEST

/* Nemotron-4-340B as commonly quoted from its report (arXiv 2406.11704; not looked up): 9.4 billion
 * parameters in embeddings and 331.6 elsewhere. */
START_TEST(nemotron_as_its_report_says) {
    struct llm_architecture a =
        read_model("Nemotron-4",
                   SHAPE("nemotron", 96, 18432, 96, 73728, 256000) ", \"num_key_value_heads\": 8,"
                                                                   " \"head_dim\": 192}");
    double embeddings = 2.0 * 256000.0 * 18432.0;
    ck_assert_double_eq_tol(embeddings / 1e9, 9.4, 0.05);
    ck_assert_double_eq_tol(((double)llm_parameters(&a, LLM_HEAD_VOCABULARY) - embeddings) / 1e9,
                            331.6, 0.05);
}
END_TEST

/* ---- which layers ---------------------------------------------------------------------------- */

static void assert_layers(const char *config, int64_t window, int64_t window_layers,
                          int64_t moe_layers, int64_t both) {
    struct llm_architecture a = read_model(config, config);
    ck_assert_int_eq(a.window, window);
    ck_assert_int_eq(a.window_layers, window_layers);
    ck_assert_int_eq(a.moe_layers, moe_layers);
    ck_assert_int_eq(a.window_moe_layers, both);
}

START_TEST(windows_where_the_library_has_them) {
    assert_layers(SHAPE("mistral", 32, 4096, 32, 14336, 32000) "}", 4096, 32, 0, 0);
    assert_layers(SHAPE("mistral", 32, 4096, 32, 14336, 32000) ", \"sliding_window\": null}", 0, 0,
                  0, 0);
    /* a window that no sequence outgrows */
    assert_layers(
        SHAPE("mistral", 32, 4096, 32, 14336, 32000) ", \"max_position_embeddings\": 4096}", 0, 0,
        0, 0);
    assert_layers(SHAPE("gemma2", 27, 64, 8, 100, 1000) "}", 4096, 14, 0, 0);
    assert_layers(SHAPE("gemma3_text", 26, 64, 8, 100, 1000) ", \"sliding_window\": 512}", 512, 22,
                  0, 0);
    assert_layers(SHAPE("gemma3_text", 26, 64, 8, 100, 1000) ", \"sliding_window_pattern\": 2}",
                  4096, 13, 0, 0);
    assert_layers(SHAPE("qwen2", 4, 64, 32, 100, 1000) ", \"sliding_window\": 128}", 0, 0, 0, 0);
    assert_layers(SHAPE("qwen2", 4, 64, 32, 100, 1000) ", \"sliding_window\": 128,"
                                                       " \"use_sliding_window\": true,"
                                                       " \"max_window_layers\": 3}",
                  128, 1, 0, 0);
    assert_layers(
        SHAPE("qwen2", 4, 64, 32, 100,
              1000) ", \"sliding_window\": 128, \"use_sliding_window\": true, \"layer_types\":"
                    " [\"full_attention\", \"sliding_attention\", \"full_attention\","
                    " \"sliding_attention\"]}",
        128, 2, 0, 0);
    assert_layers(SHAPE("gpt_oss", 7, 64, 8, 100, 1000) "}", 128, 4, 7, 4);
}
END_TEST

START_TEST(experts_where_the_library_has_them) {
    assert_layers(SHAPE("qwen3_moe", 6, 64, 8, 100, 1000) ", \"decoder_sparse_step\": 2}", 0, 0, 3,
                  0);
    assert_layers(SHAPE("qwen3_moe", 6, 64, 8, 100, 1000) ", \"mlp_only_layers\": [0, 5]}", 0, 0, 4,
                  0);
    assert_layers(SHAPE("deepseek_v3", 6, 64, 8, 100, 1000) ", \"n_routed_experts\": 8,"
                                                            " \"num_experts_per_tok\": 2,"
                                                            " \"moe_intermediate_size\": 30,"
                                                            " \"n_shared_experts\": null,"
                                                            " \"first_k_dense_replace\": 1,"
                                                            " \"moe_layer_freq\": 2}",
                  0, 0, 2, 0);
    /* Llama 4: 12 of 48 layers see everything, every fourth; experts in all or every second one. */
    assert_layers(LLAMA4(16, 1), 8192, 36, 48, 36);
    assert_layers(LLAMA4(128, 2), 8192, 36, 24, 12);
}
END_TEST

/* The language part of a file with several models is what it is alone; older files have it at the
 * top. */
START_TEST(language_parts) {
    static const char *const files[] = {
        "{\"model_type\": \"qwen2_5_vl\", \"architectures\": "
        "[\"Qwen2_5_VLForConditionalGeneration\"],"
        " \"vision_config\": {\"depth\": 32}, \"num_hidden_layers\": 28, \"hidden_size\": 3584,"
        " \"num_attention_heads\": 28, \"num_key_value_heads\": 4, \"intermediate_size\": 18944,"
        " \"vocab_size\": 152064, \"tie_word_embeddings\": false, \"vision_start_token_id\": 5}",
        "{\"model_type\": \"qwen2_5_vl\", \"vision_config\": {\"depth\": 32}, \"text_config\": "
        "{\"model_type\": \"qwen2_5_vl_text\", \"num_hidden_layers\": 28, \"hidden_size\": 3584,"
        " \"num_attention_heads\": 28, \"num_key_value_heads\": 4, \"intermediate_size\": 18944,"
        " \"vocab_size\": 152064}}",
    };
    for (size_t i = 0; i < 2; i++) {
        struct llm_architecture a = read_model("Qwen2.5-VL-7B", files[i]);
        ck_assert_int_eq(llm_parameters(&a, LLM_HEAD_VOCABULARY), 7615616512); /* Qwen2.5-7B */
    }
    /* Tied or not is said above or in the language part, which is nearer. */
    struct llm_architecture above =
        read_model("tied above", "{\"model_type\": \"mistral3\", \"tie_word_embeddings\": true,"
                                 " \"text_config\": " SHAPE("mistral", 2, 64, 32, 100, 1000) "}}");
    struct llm_architecture inside = read_model(
        "untied inside", "{\"model_type\": \"mistral3\", \"tie_word_embeddings\": true,"
                         " \"text_config\": " SHAPE("mistral", 2, 64, 32, 100,
                                                    1000) ", \"tie_word_embeddings\": false}}");
    ck_assert(above.tied_embeddings && !inside.tied_embeddings);
}
END_TEST

/* ---- what published numbers hold beyond the model -------------------------------------------- */

/* Vision tower and projector of Llama 4, by its vision_config: 588 values a patch, 577 positions,
 * 34 layers of 1408 with biases and layer norms, an adapter of 5632 x 4096 x 4096, a projector. */
static int64_t llama4_vision(void) {
    int64_t h = 1408, f = 5632;
    int64_t layer = 4 * (h * h + h) + 2 * h * f + f + h + 4 * h;
    return 588 * h + h + 577 * h + 4 * h + 34 * layer + f * 4096 + 4096 * 4096 + 4096 * 5120;
}

/* Totals of Meta's Llama 4 checkpoints as commonly quoted; that one tower explains both is the
 * check. */
START_TEST(vision_towers_explain_llama_4) {
    struct llm_architecture scout = read_model("Scout", LLAMA4(16, 1));
    struct llm_architecture maverick = read_model("Maverick", LLAMA4(128, 2));
    ck_assert_int_eq(llm_parameters(&scout, LLM_HEAD_VOCABULARY), 108641793536 - llama4_vision());
    ck_assert_int_eq(llm_parameters(&maverick, LLM_HEAD_VOCABULARY),
                     401583781376 - llama4_vision());
}
END_TEST

enum gap {
    SAME,           /* the listing is the model */
    ROTARY,         /* 32 buffers of 64 rotary frequencies */
    TIED_TWICE,     /* the tied head is counted as a tensor of its own */
    PREDICTION,     /* a layer for multi-token prediction */
    PREDICTION_OWN, /* the same, with its own embedding and head */
    SCALES,         /* PREDICTION_OWN, and fp8 scales of all linear layers */
    SCALES_KIMI,    /* fp8 scales, and 56 numbers a layer whose place is not known */
    VISION          /* a vision tower, of SigLIP: 27 layers of 1152, and a projector */
};

/* SigLIP so400m/14 at 896 pixels as in Gemma 3's vision_config: patches of 588 values, 64 x 64
 * positions, layers of 1152 and 4304 with biases, layer norms, and the last one; then a projector
 * of 1152 x hidden with its norm. */
static int64_t siglip(int64_t hidden) {
    int64_t h = 1152, f = 4304;
    int64_t layer = 4 * (h * h + h) + 2 * h * f + f + h + 4 * h;
    return 588 * h + h + 4096 * h + 27 * layer + 2 * h + h * hidden + h;
}

static int64_t beyond_the_model(const struct llm_architecture *a, enum gap gap) {
    struct tensor_listing model, prediction;
    list_model(a, LLM_HEAD_VOCABULARY, 0, &model);
    switch (gap) {
    case SAME:
        return 0;
    case ROTARY:
        return 32 * 64;
    case TIED_TWICE:
        return a->vocab * a->hidden;
    case PREDICTION:
        list_prediction_layer(a, false, &prediction);
        return prediction.elements;
    case PREDICTION_OWN:
        list_prediction_layer(a, true, &prediction);
        return prediction.elements;
    case SCALES:
        list_prediction_layer(a, true, &prediction);
        return prediction.elements + prediction.scales + model.scales;
    case SCALES_KIMI:
        return model.scales + 56 * a->layers;
    case VISION:
        return siglip(a->hidden);
    }
    return -1;
}

#define GLM(layers, hidden, ffn, experts, width, dense)                                         \
    SHAPE("glm4_moe", layers, hidden, 96, ffn, 151552)                                          \
    ", \"num_key_value_heads\": 8, \"head_dim\": 128, \"attention_bias\": true, "               \
    "\"n_routed_experts\": " #experts ", \"num_experts_per_tok\": 8, \"n_shared_experts\": 1, " \
    "\"moe_intermediate_size\": " #width ", \"first_k_dense_replace\": " #dense                 \
    ", \"num_nextn_predict_layers\": 1"
#define GEMMA3(layers, hidden, ffn, heads, kv_heads, head_dim)                                   \
    "{\"model_type\": \"gemma3\", \"vision_config\": {\"hidden_size\": 1152}, \"text_config\": " \
    "{\"model_type\": \"gemma3_text\", \"num_hidden_layers\": " #layers                          \
    ", \"hidden_size\": " #hidden ", \"intermediate_size\": " #ffn                               \
    ", \"num_attention_heads\": " #heads ", \"num_key_value_heads\": " #kv_heads                 \
    ", \"head_dim\": " #head_dim ", \"sliding_window\": 1024}}"

/* Hugging Face's listings, as above. */
START_TEST(gaps_of_models_without_a_file) {
    static const struct {
        const char *name, *config;
        int64_t listed;
        enum gap gap;
    } models[] = {
        {"GLM-4.5", GLM(92, 5120, 12288, 160, 1536, 3) ", \"use_qk_norm\": true}", 358337791296,
         PREDICTION_OWN},
        {"GLM-4.5-Air", GLM(46, 4096, 10944, 128, 1408, 1) ", \"use_qk_norm\": false}",
         110468824832, PREDICTION_OWN},
        {"gemma-3-12b", GEMMA3(48, 3840, 15360, 16, 8, 256), 12187325040, VISION},
        {"gemma-3-27b", GEMMA3(62, 5376, 21504, 32, 16, 128), 27432406640, VISION},
        {"falcon-7b", FALCON(32, 4544, 71) "}", 7217189760, TIED_TWICE},
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct llm_architecture a = read_model(models[i].name, models[i].config);
        int64_t gap = models[i].listed - llm_parameters(&a, LLM_HEAD_VOCABULARY);
        ck_assert_msg(gap == beyond_the_model(&a, models[i].gap),
                      "%s: %" PRId64 " beyond the model, explained are %" PRId64, models[i].name,
                      gap, beyond_the_model(&a, models[i].gap));
    }
}
END_TEST

/* ---- the files of the shared catalog --------------------------------------------------------- */

/* Which published number is how much more than the model; a model that is not here has no gap.
 * gpt-oss is listed in packed MXFP4 blocks: its card's 116.8 billion is the model. */
static const struct {
    const char *name;
    enum gap gap;
} gaps[] = {
    {"Llama-2-7b-hf", ROTARY}, {"Qwen3-0.6B", TIED_TWICE},        {"Qwen3-1.7B", TIED_TWICE},
    {"DeepSeek-V3", SCALES},   {"DeepSeek-R1", SCALES},           {"DeepSeek-V3.2", SCALES},
    {"GLM-5", PREDICTION},     {"Kimi-K2-Instruct", SCALES_KIMI}, {"gemma-3-4b-it", VISION},
};

static enum gap gap_of(const char *name) {
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++)
        if (strcmp(gaps[i].name, name) == 0)
            return gaps[i].gap;
    return SAME;
}

static void check_file(char **fields) {
    char path[1024];
    snprintf(path, sizeof path, "%s/catalog/%s", testing_shared_directory(), fields[MODELS_CONFIG]);
    struct config_outcome outcome = config_read_path(path);
    ck_assert_msg(outcome.status == RLHFSIM_OK, "%s: %s", path, outcome.message);
    const struct llm_architecture *a = &outcome.architecture;
    int64_t parameters = llm_parameters(a, LLM_HEAD_VOCABULARY);
    struct tensor_listing listing;
    list_model(a, LLM_HEAD_VOCABULARY, 0, &listing);
    ck_assert_int_eq(listing.elements, parameters);
    ck_assert_int_eq(listing.tensors, llm_tensors(a, LLM_HEAD_VOCABULARY));
    const char *computed = fields[MODELS_COMPUTED], *active = fields[MODELS_ACTIVE];
    const char *listed = fields[MODELS_PUBLISHED], *name = fields[MODELS_NAME];
    ck_assert_msg(*computed == '\0' || parameters == atoll(computed),
                  "%s: %" PRId64 " parameters, expected %s", name, parameters, computed);
    ck_assert_msg(*active == '\0' || llm_active_parameters(a, LLM_HEAD_VOCABULARY) == atoll(active),
                  "%s: active parameters, expected %s", name, active);
    if (*listed == '\0' || strcmp(name, "gpt-oss-120b") == 0)
        return;
    int64_t gap = atoll(listed) - parameters, explained = beyond_the_model(a, gap_of(name));
    ck_assert_msg(gap == explained, "%s: %" PRId64 " beyond the model, explained are %" PRId64,
                  name, gap, explained);
}

START_TEST(every_file_of_the_catalog_and_its_gap) {
    char *fields[MODELS_COLUMNS];
    int files = 0;
    FILE *table = models_table_open();
    if (table == NULL)
        return;
    while (models_table_next(table, fields)) {
        if (fields[MODELS_CONFIG] == NULL || *fields[MODELS_CONFIG] == '\0')
            continue;
        check_file(fields);
        files++;
    }
    fclose(table);
    ck_assert_int_eq(files, 43);
}
END_TEST

/* ---- what is not understood ------------------------------------------------------------------ */

START_TEST(unknown_types_are_refused_with_the_nearest) {
    static const char *const refused[][2] = {
        {"mixtrall", "the nearest is \"mixtral\""},
        {"qwen2.5", "the nearest is \"qwen2\""},
        {"deepseek_v4", "the nearest is \"deepseek_v2\""},
        {"zamba2", "such as \"llama\""},
        {"qwen3_next", "such as \"llama\""},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char type[64];
        snprintf(type, sizeof type, "model_type is \"%s\", which is not modelled", refused[i][0]);
        config_assert_refused(config_read_with(refused[i][0], ""), type, refused[i][1]);
    }
    config_assert_refused(
        config_read_text("{\"model_type\": \"gemma3\", \"text_config\": {\"model_type\": \"t5\"}}"),
        "model_type is \"t5\"", "not modelled");
    config_assert_refused(config_read_text("{\"model_type\": \"gemma3\", \"text_config\": [1]}"),
                          "text_config is [1]", "expected an object");
}
END_TEST

START_TEST(keys_that_are_not_modelled_are_refused) {
    static const char *const refused[][4] = {
        {"mpt", "\"n_layers\": 2, \"d_model\": 64, \"n_heads\": 8,", "attn_config is missing",
         "alibi"},
        {"mpt",
         "\"n_layers\": 2, \"d_model\": 64, \"n_heads\": 8, \"attn_config\": {\"alibi\": false},",
         "attn_config is {\"alibi\":false}", "not modelled"},
        {"mpt", "\"n_layers\": 2, \"d_model\": 64, \"n_heads\": 8, \"no_bias\": false,",
         "no_bias is false", "always built with true"},
        {"phi", "\"qk_layernorm\": true,", "qk_layernorm is true", "always built with false"},
        {"deepseek_v3",
         "\"n_routed_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 30,"
         " \"n_shared_experts\": 1, \"index_topk\": 2048,",
         "\"index_topk\" is 2048", "deepseek_v3"},
        {"deepseek_v32",
         "\"n_routed_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 30,"
         " \"n_shared_experts\": 1, \"index_n_heads\": 4, \"index_head_dim\": 8,",
         "index_topk is missing", "whole number"},
        {"qwen3_moe", "\"num_experts\": 4, \"num_experts_per_tok\": 5,",
         "experts_per_token is more than there are experts", ""},
        {"qwen3_moe", "\"mlp_only_layers\": [2],", "mlp_only_layers is [2]", "list of layers"},
        {"gemma2", "\"layer_types\": [\"full_attention\"],", "layer_types is", "2 words"},
        {"gemma2", "\"layer_types\": [\"full_attention\", \"mamba\"],", "layer_types has \"mamba\"",
         "not modelled"},
        {"llama4_text", "\"no_rope_layers\": [1],", "no_rope_layers is [1]", "zeros and ones"},
        {"mixtral", "\"n_shared_experts\": 2,", "\"n_shared_experts\" is 2", "mixtral"},
        {"glm4_moe", "\"quantization_config\": {\"bits\": 8},", "quantization_config", "glm4_moe"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        config_assert_refused(config_read_with(refused[i][0], refused[i][1]), refused[i][2],
                              refused[i][3]);
}
END_TEST

START_TEST(families_are_listed) {
    size_t count = 0;
    bool llama = false, gemma3 = false;
    for (const char *name; (name = llm_config_family_at(count)) != NULL; count++) {
        llama |= strcmp(name, "llama") == 0;
        gemma3 |= strcmp(name, "gemma3") == 0;
    }
    ck_assert(llama && gemma3 && count > 30);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("llm_families");
    TCase *tests = tcase_create("published");
    tcase_add_test(tests, published_models_to_the_digit);
    tcase_add_test(tests, nemotron_as_its_report_says);
    tcase_add_test(tests, windows_where_the_library_has_them);
    tcase_add_test(tests, experts_where_the_library_has_them);
    tcase_add_test(tests, language_parts);
    tcase_add_test(tests, vision_towers_explain_llama_4);
    tcase_add_test(tests, gaps_of_models_without_a_file);
    tcase_add_test(tests, every_file_of_the_catalog_and_its_gap);
    suite_add_tcase(result, tests);
    TCase *refused = tcase_create("refused");
    tcase_add_test(refused, unknown_types_are_refused_with_the_nearest);
    tcase_add_test(refused, keys_that_are_not_modelled_are_refused);
    tcase_add_test(refused, families_are_listed);
    suite_add_tcase(result, refused);
    return result;
}

TESTING_MAIN(suite)
