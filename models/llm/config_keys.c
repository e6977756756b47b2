/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/llm/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct config_key config_sizes[] = {
    CONFIG_SIZE_KEY("num_hidden_layers", layers, LLM_LAYERS_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("hidden_size", hidden, LLM_HIDDEN_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("num_attention_heads", heads, LLM_HEADS_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("intermediate_size", ffn, LLM_FFN_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("vocab_size", vocab, LLM_VOCAB_LIMIT, CONFIG_REQUIRED),
    CONFIG_KEYS_END};

const struct config_key config_heads[] = {
    CONFIG_SIZE_KEY("num_key_value_heads", kv_heads, LLM_HEADS_LIMIT, CONFIG_HEADS),
    CONFIG_SIZE_KEY("head_dim", head_dim, LLM_HEAD_DIM_LIMIT, CONFIG_HIDDEN_PER_HEAD),
    CONFIG_KEYS_END};

const struct config_key config_untied[] = {
    CONFIG_FLAG_KEY("tie_word_embeddings", tied_embeddings, false), CONFIG_KEYS_END};

const struct config_key config_tied[] = {
    CONFIG_FLAG_KEY("tie_word_embeddings", tied_embeddings, true), CONFIG_KEYS_END};

const struct config_key config_unbiased[] = {CONFIG_ALWAYS_KEY("attention_bias", false),
                                             CONFIG_ALWAYS_KEY("mlp_bias", false), CONFIG_KEYS_END};

const struct config_key config_attention_bias[] = {
    CONFIG_FLAGS_KEY("attention_bias", qkv_bias, output_bias, false),
    CONFIG_ALWAYS_KEY("mlp_bias", false), CONFIG_KEYS_END};

const struct config_key config_biases[] = {
    CONFIG_FLAGS_KEY("attention_bias", qkv_bias, output_bias, false),
    CONFIG_FLAG_KEY("mlp_bias", ffn_bias, false), CONFIG_KEYS_END};

/* ---- errors ---------------------------------------------------------------------------------- */

void config_fail(struct config_reader *reader, const char *format, ...) {
    char message[768];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    reader->status = rlhfsim_diagnostics_add(reader->diagnostics, RLHFSIM_INVALID, reader->path, 0,
                                             0, "%s", message);
}

void config_value_text(const json_t *value, char text[CONFIG_TEXT]) {
    char *dump = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT);
    if (dump == NULL)
        (void)snprintf(text, CONFIG_TEXT, "(a value)");
    else if (strlen(dump) < CONFIG_TEXT)
        (void)snprintf(text, CONFIG_TEXT, "%s", dump);
    else
        (void)snprintf(text, CONFIG_TEXT, "%.80s...", dump);
    free(dump);
}

/* ---- single values --------------------------------------------------------------------------- */

const json_t *config_value(const struct config_reader *reader, const char *key) {
    const json_t *value = json_object_get(reader->text, key);
    /* the one thing that a file of several models may say above its language part */
    if (value == NULL && strcmp(key, "tie_word_embeddings") == 0)
        value = json_object_get(reader->root, key);
    return json_is_null(value) ? NULL : value;
}

static bool is_present(const struct config_reader *reader, const char *key) {
    return json_object_get(reader->text, key) != NULL;
}

static bool is_explicit_null(const struct config_reader *reader, const char *key) {
    return json_is_null(json_object_get(reader->text, key));
}

int64_t config_number(struct config_reader *reader, const char *key, int64_t least, int64_t limit,
                      int64_t absent) {
    const json_t *value = config_value(reader, key);
    char text[CONFIG_TEXT];
    if (value == NULL)
        return absent;
    if (json_is_integer(value) && json_integer_value(value) >= least &&
        json_integer_value(value) <= limit)
        return json_integer_value(value);
    config_value_text(value, text);
    config_fail(reader, "%s is %s: expected a whole number from %lld to %lld", key, text,
                (long long)least, (long long)limit);
    return absent;
}

int64_t config_count(struct config_reader *reader, const char *key, int64_t limit, int64_t absent) {
    return is_explicit_null(reader, key) ? 0 : config_number(reader, key, 0, limit, absent);
}

bool config_flag(struct config_reader *reader, const char *key, bool absent) {
    const json_t *value = config_value(reader, key);
    char text[CONFIG_TEXT];
    if (value == NULL || json_is_boolean(value))
        return value == NULL ? absent : json_is_true(value);
    config_value_text(value, text);
    config_fail(reader, "%s is %s: expected true or false", key, text);
    return absent;
}

/* ---- tables of keys -------------------------------------------------------------------------- */

/* A flag that the family does not read: the file may say what the library builds, nothing else. */
static void expect_flag(struct config_reader *reader, const char *key, bool built) {
    if (config_flag(reader, key, built) != built)
        config_fail(reader, "%s is %s: a model of type \"%s\" is always built with %s", key,
                    built ? "false" : "true", reader->family->model_type, built ? "true" : "false");
}

/* The name under which the file has the key. */
static const char *used_name(const struct config_reader *reader, const struct config_key *key) {
    bool other = key->alias != NULL && json_object_get(reader->text, key->key) == NULL &&
                 json_object_get(reader->text, key->alias) != NULL;
    return other ? key->alias : key->key;
}

static int64_t hidden_per_head(struct config_reader *reader, const char *key) {
    const struct llm_architecture *a = reader->architecture;
    if (a->hidden == 0 || a->heads == 0)
        return 0; /* already an error */
    if (a->hidden % a->heads == 0)
        return a->hidden / a->heads;
    config_fail(reader,
                "%s is missing and hidden_size %lld is not a multiple of "
                "num_attention_heads %lld",
                key, (long long)a->hidden, (long long)a->heads);
    return 0;
}

static int64_t absent_number(struct config_reader *reader, const struct config_key *key,
                             const char *name) {
    switch (key->absent) {
    case CONFIG_REQUIRED:
        config_fail(reader, "%s is missing: expected a whole number from 1 to %lld", name,
                    (long long)key->limit);
        return 0;
    case CONFIG_HEADS:
        return reader->architecture->heads;
    case CONFIG_HIDDEN_PER_HEAD:
        return hidden_per_head(reader, name);
    case CONFIG_FOUR_HIDDEN:
        return 4 * reader->architecture->hidden;
    default:
        return key->absent;
    }
}

/* Heads of keys that are null are as many as heads, whatever an absent key would stand for. */
static bool means_heads(const struct config_reader *reader, const struct config_key *key,
                        const char *name) {
    return key->field == CONFIG_FIELD(kv_heads) && is_explicit_null(reader, name);
}

static int64_t read_number(struct config_reader *reader, const struct config_key *key) {
    const char *name = used_name(reader, key);
    if (key->kind == CONFIG_COUNT && (key->absent >= 0 || is_present(reader, name)))
        return config_count(reader, name, key->limit, key->absent);
    if (config_value(reader, name) != NULL)
        return config_number(reader, name, 1, key->limit, 0);
    return means_heads(reader, key, name) ? reader->architecture->heads
                                          : absent_number(reader, key, name);
}

static void *field_at(struct config_reader *reader, size_t offset) {
    return (char *)reader->architecture + offset;
}

static void read_key(struct config_reader *reader, const struct config_key *key) {
    if (key->kind == CONFIG_ALWAYS) {
        expect_flag(reader, key->key, key->absent != 0);
    } else if (key->kind == CONFIG_FLAG) {
        bool flag = config_flag(reader, key->key, key->absent != 0);
        memcpy(field_at(reader, key->field), &flag, sizeof flag);
        if (key->second != 0)
            memcpy(field_at(reader, key->second), &flag, sizeof flag);
    } else {
        int64_t number = read_number(reader, key);
        memcpy(field_at(reader, key->field), &number, sizeof number);
    }
}

void config_read_keys(struct config_reader *reader, const struct config_key *keys) {
    for (; keys->kind != CONFIG_END; keys++)
        read_key(reader, keys);
}

/* ---- layers ---------------------------------------------------------------------------------- */

bool config_layer_types(struct config_reader *reader) {
    const json_t *types = config_value(reader, "layer_types");
    int64_t layers = reader->architecture->layers;
    char text[CONFIG_TEXT];
    if (types == NULL)
        return false;
    if (!json_is_array(types) || json_array_size(types) != (size_t)layers) {
        config_value_text(types, text);
        config_fail(reader, "layer_types is %s: expected a list of num_hidden_layers %lld words",
                    text, (long long)layers);
        return true;
    }
    for (size_t i = 0; i < (size_t)layers; i++) {
        const json_t *type = json_array_get(types, i);
        const char *word = json_string_value(type);
        if (word != NULL &&
            (strcmp(word, "sliding_attention") == 0 || strcmp(word, "chunked_attention") == 0)) {
            reader->layers[i] |= CONFIG_LAYER_WINDOW;
        } else if (word == NULL || strcmp(word, "full_attention") != 0) {
            config_value_text(type, text);
            config_fail(reader,
                        "layer_types has %s, which is not modelled: expected "
                        "full_attention, sliding_attention or chunked_attention",
                        text);
            return true;
        }
    }
    return true;
}

void config_windows_from(struct config_reader *reader, int64_t first) {
    for (int64_t i = first; i < reader->architecture->layers; i++)
        reader->layers[i] |= CONFIG_LAYER_WINDOW;
}

void config_windows_but_every(struct config_reader *reader, int64_t period) {
    for (int64_t i = 0; i < reader->architecture->layers; i++)
        if ((i + 1) % period != 0)
            reader->layers[i] |= CONFIG_LAYER_WINDOW;
}

void config_experts_from(struct config_reader *reader, int64_t first, int64_t step,
                         bool last_of_step) {
    for (int64_t i = first; i < reader->architecture->layers; i++)
        if ((last_of_step ? i + 1 : i) % step == 0)
            reader->layers[i] |= CONFIG_LAYER_MOE;
}

bool config_expert_list(struct config_reader *reader, const char *key, bool without) {
    const json_t *list = config_value(reader, key);
    char text[CONFIG_TEXT];
    if (list == NULL)
        return false;
    bool good = json_is_array(list);
    for (size_t i = 0; good && i < json_array_size(list); i++) {
        const json_t *member = json_array_get(list, i);
        json_int_t layer = json_integer_value(member);
        good = json_is_integer(member) && layer >= 0 && layer < reader->architecture->layers;
        if (good && without)
            reader->layers[layer] &= (unsigned char)~CONFIG_LAYER_MOE;
        else if (good)
            reader->layers[layer] |= CONFIG_LAYER_MOE;
    }
    if (good)
        return true;
    config_value_text(list, text);
    config_fail(reader, "%s is %s: expected a list of layers from 0 to num_hidden_layers - 1", key,
                text);
    return true;
}
