/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A config.json is what the transformers library of Hugging Face builds a model from, so the rules
 * are the library's: which keys a family reads, what an absent key means, where a bias is built in
 * (transformers, src/transformers/models/, at commits 008e5743 and 001f85b3). The sizes that every
 * checkpoint states are required all the same: a default would be a guess. Keys that the library
 * does not read for a family do not change what it builds and are ignored, save those that tell of
 * an architecture outside it (see `foreign_words`).
 *
 * A file with several models in it is read for its language part alone.
 */

#include "models/llm/config_json.h"

#include "models/base/text.h"
#include "models/base/utf8.h"
#include "models/llm/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A real config.json has 1 to 3 kilobytes and three levels. */
#define SIZE_LIMIT ((size_t)1 << 20)
#define DEPTH_LIMIT 32

static const struct config_family *const families[] = {
    config_llama_families, config_qwen_families, config_deepseek_families, config_gemma_families,
    config_phi_families,   config_gpt_families,  config_expert_families};

const struct config_wrapper config_wrappers[] = {
    {"gemma3", "Gemma3", "gemma3_text"},
    {"llama4", "Llama4", "llama4_text"},
    {"mistral3", "Mistral3", "mistral"},
    {"qwen2_vl", "Qwen2VL", "qwen2_vl_text"},
    {"qwen2_5_vl", "Qwen2_5_VL", "qwen2_5_vl_text"},
    {"qwen3_vl", "Qwen3VL", "qwen3_vl_text"},
    {"qwen3_vl_moe", "Qwen3VLMoe", "qwen3_vl_moe_text"},
    {NULL, NULL, NULL}};

/* Models on top of the same blocks; the scenario's role decides which head is counted. */
static const char *const class_suffixes[] = {"ForCausalLM",
                                             "Model",
                                             "TextModel",
                                             "LMHeadModel",
                                             "ForSequenceClassification",
                                             "ForTokenClassification",
                                             "ForConditionalGeneration"};

/* Words in keys of architectures that a family is not: a value other than null, false, 0 or empty
 * is refused unless the family says that it understands the key. */
static const char *const foreign_words[] = {
    "expert",
    "moe",
    "lora",
    "nextn",
    "quantization",
    "text_config",
    "vision",
    "audio",
    "cross_attention",
    "auto_map",
    "is_encoder_decoder",
    "pruned_heads",
    "mamba",
    "ssm",
    "per_layer",
    "linear_attn",
    "linear_num",
    "index_",
};

/* ---- families -------------------------------------------------------------------------------- */

/* The families one after the other; NULL past the last one. */
static const struct config_family *family_at(size_t index) {
    for (size_t list = 0; list < sizeof families / sizeof *families; list++)
        for (const struct config_family *family = families[list]; family->model_type != NULL;
             family++)
            if (index-- == 0)
                return family;
    return NULL;
}

static const struct config_family *find_family(const char *name) {
    const struct config_family *family;
    for (size_t i = 0; (family = family_at(i)) != NULL; i++)
        if (strcmp(family->model_type, name) == 0)
            return family;
    return NULL;
}

static const struct config_wrapper *find_wrapper(const char *name) {
    for (const struct config_wrapper *wrapper = config_wrappers; wrapper->model_type != NULL;
         wrapper++)
        if (strcmp(wrapper->model_type, name) == 0)
            return wrapper;
    return NULL;
}

const char *llm_config_family_at(size_t index) {
    size_t count = 0;
    while (family_at(count) != NULL)
        count++;
    if (index < count)
        return family_at(index)->model_type;
    index -= count;
    return index < sizeof config_wrappers / sizeof *config_wrappers
               ? config_wrappers[index].model_type
               : NULL;
}

static void fail_type(struct config_reader *reader, const json_t *value) {
    char text[CONFIG_TEXT];
    const char *name = json_is_string(value) ? json_string_value(value) : "", *known;
    struct base_nearest nearest;
    base_nearest_start(&nearest, name);
    for (size_t i = 0; (known = llm_config_family_at(i)) != NULL; i++)
        base_nearest_offer(&nearest, known);
    const char *near = base_nearest_name(&nearest);
    if (value == NULL) {
        config_fail(reader, "model_type is missing: expected a family such as \"llama\"");
        return;
    }
    config_value_text(value, text);
    if (near == NULL)
        config_fail(reader,
                    "model_type is %s, which is not modelled: expected a family such as "
                    "\"llama\"",
                    text);
    else
        config_fail(reader, "model_type is %s, which is not modelled; the nearest is \"%s\"", text,
                    near);
}

/* ---- what the file as a whole is ------------------------------------------------------------ */

static bool is_class_of(const char *prefix, const char *name) {
    size_t length = strlen(prefix);
    if (strncmp(name, prefix, length) != 0)
        return false;
    for (size_t i = 0; i < sizeof class_suffixes / sizeof *class_suffixes; i++)
        if (strcmp(name + length, class_suffixes[i]) == 0)
            return true;
    return false;
}

static void check_classes(struct config_reader *reader, const json_t *object, const char *prefix) {
    const json_t *value = json_object_get(object, "architectures");
    char text[CONFIG_TEXT];
    if (value == NULL || json_is_null(value))
        return;
    bool known = json_is_array(value);
    for (size_t i = 0; known && i < json_array_size(value); i++) {
        const char *name = json_string_value(json_array_get(value, i));
        known = name != NULL && is_class_of(prefix, name);
    }
    if (known)
        return;
    config_value_text(value, text);
    config_fail(reader, "architectures is %s, which is not modelled: expected [\"%sForCausalLM\"]",
                text, prefix);
}

/* Does a value switch nothing on? */
static bool is_void(const json_t *value) {
    return json_is_null(value) || json_is_false(value) ||
           (json_is_number(value) && json_number_value(value) == 0.0) ||
           (json_is_string(value) && json_string_length(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

static bool is_foreign(const struct config_family *family, const char *key) {
    for (const char *const *known = family->understood; known != NULL && *known != NULL; known++)
        if (strcmp(*known, key) == 0)
            return false;
    for (const struct config_key *const *keys = family->keys;
         keys < family->keys + CONFIG_KEY_ARRAYS; keys++)
        for (const struct config_key *read = *keys; read != NULL && read->kind != CONFIG_END;
             read++)
            if (strcmp(read->key, key) == 0 ||
                (read->alias != NULL && strcmp(read->alias, key) == 0))
                return false;
    for (size_t i = 0; i < sizeof foreign_words / sizeof *foreign_words; i++)
        if (strstr(key, foreign_words[i]) != NULL)
            return true;
    return false;
}

/* Of a wrapper, which holds other models beside the one that is read. */
static bool is_beside(const char *key) {
    return strcmp(key, "text_config") == 0 || strstr(key, "vision") != NULL;
}

static void check_foreign_keys(struct config_reader *reader, const json_t *object, bool wrapper) {
    const char *key;
    json_t *value;
    char name[CONFIG_TEXT], text[CONFIG_TEXT];
    json_object_foreach((json_t *)object, key, value) {
        if (!is_foreign(reader->family, key) || is_void(value) || (wrapper && is_beside(key)))
            continue;
        json_t *key_value = json_string(key);
        config_value_text(key_value, name);
        json_decref(key_value);
        config_value_text(value, text);
        config_fail(reader, "%s is %s, which is not modelled for model_type \"%s\"", name, text,
                    reader->family->model_type);
    }
}

/* ---- the architecture ----------------------------------------------------------------------- */

/* Does `text` of `length` end in `ending`, with something before it? */
static bool ends_in(const char *text, size_t length, const char *ending) {
    size_t tail = strlen(ending);
    return length > tail && memcmp(text + length - tail, ending, tail) == 0;
}

static void read_name(struct config_reader *reader) {
    const char *path = reader->path;
    size_t end = strlen(path);
    if (ends_in(path, end, "/config.json"))
        end -= strlen("/config.json");
    else if (ends_in(path, end, ".json"))
        end -= strlen(".json");
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    char *name = reader->architecture->name;
    size_t size = sizeof(reader->architecture->name);
    (void)snprintf(name, size, "%.*s", (int)(end - start), path + start);
    if (strcmp(name, "") == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        (void)snprintf(name, size, "config"); /* a folder without a name of its own */
}

/* The language part of a file of several models: the object, or in older files the file itself. */
static void unwrap(struct config_reader *reader, const struct config_wrapper *wrapper) {
    const json_t *text = json_object_get(reader->root, "text_config");
    char shown[CONFIG_TEXT];
    reader->family = find_family(wrapper->text_type);
    if (text == NULL || json_is_null(text))
        return;
    if (!json_is_object(text)) {
        config_value_text(text, shown);
        config_fail(reader, "text_config is %s: expected an object", shown);
        reader->family = NULL;
        return;
    }
    reader->text = text;
    const json_t *type = json_object_get(text, "model_type");
    if (type == NULL || json_is_null(type))
        return;
    reader->family = json_is_string(type) ? find_family(json_string_value(type)) : NULL;
    if (reader->family == NULL)
        fail_type(reader, type);
}

/* Finds the family and the object to read; *wrapper is NULL for a file of one model. */
static void find_model(struct config_reader *reader, const struct config_wrapper **wrapper) {
    const json_t *type = config_value(reader, "model_type");
    const char *name = json_is_string(type) ? json_string_value(type) : "";
    *wrapper = find_wrapper(name);
    if (*wrapper != NULL) {
        unwrap(reader, *wrapper);
        return;
    }
    reader->family = find_family(name);
    if (reader->family == NULL)
        fail_type(reader, type);
}

/* A window that no sequence outgrows is none. */
static void count_layers(struct config_reader *reader) {
    struct llm_architecture *a = reader->architecture;
    bool windows = a->window > 0 && a->window < a->max_position;
    for (int64_t i = 0; i < a->layers; i++) {
        bool moe = (reader->layers[i] & CONFIG_LAYER_MOE) != 0;
        bool windowed = windows && (reader->layers[i] & CONFIG_LAYER_WINDOW) != 0;
        a->moe_layers += moe;
        a->window_layers += windowed;
        a->window_moe_layers += moe && windowed;
    }
    if (a->window_layers == 0)
        a->window = 0;
}

/* Sizes that are right one by one and wrong together, in the file's words where they are known. */
static void check_together(struct config_reader *reader) {
    const struct llm_architecture *a = reader->architecture;
    char fault[LLM_FAULT_SIZE];
    if (a->heads % a->kv_heads != 0)
        config_fail(reader,
                    "num_key_value_heads is %lld: expected a divisor of num_attention_heads %lld",
                    (long long)a->kv_heads, (long long)a->heads);
    else if (!llm_architecture_check(a, fault))
        config_fail(reader, "%s", fault);
}

static void read_family(struct config_reader *reader) {
    struct llm_architecture *a = reader->architecture;
    char name[sizeof a->name];
    memcpy(name, a->name, sizeof name);
    *a = reader->family->built;
    memcpy(a->name, name, sizeof name);
    (void)snprintf(a->family, sizeof a->family, "%s", reader->family->model_type);
    for (int i = 0; i < CONFIG_KEY_ARRAYS && reader->family->keys[i] != NULL; i++)
        config_read_keys(reader, reader->family->keys[i]);
    if (reader->status == RLHFSIM_OK && reader->family->finish != NULL)
        reader->family->finish(reader);
    if (reader->status != RLHFSIM_OK)
        return;
    count_layers(reader);
    check_together(reader);
}

static void read_architecture(struct config_reader *reader) {
    if (!json_is_object(reader->root)) {
        config_fail(reader, "expected an object with the keys of a Hugging Face config.json");
        return;
    }
    reader->text = reader->root;
    const struct config_wrapper *wrapper;
    find_model(reader, &wrapper);
    if (reader->family == NULL)
        return;
    read_name(reader);
    check_classes(reader, reader->root,
                  wrapper != NULL ? wrapper->class_prefix : reader->family->class_prefix);
    check_foreign_keys(reader, reader->root, wrapper != NULL);
    if (reader->text != reader->root)
        check_foreign_keys(reader, reader->text, false);
    read_family(reader);
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Where the user names a wrong file it is bad input; anything else is the machine's failure. */
static enum rlhfsim_status io_error(struct config_reader *reader, int error) {
    bool wrong_name = error == ENOENT || error == ENOTDIR || error == EISDIR ||
                      error == ENAMETOOLONG || error == ELOOP;
    return rlhfsim_diagnostics_add(reader->diagnostics, wrong_name ? RLHFSIM_INVALID : RLHFSIM_IO,
                                   reader->path, 0, 0, "cannot read the model's config: %s",
                                   strerror(error));
}

/* Reads up to the limit plus one byte, so that a longer file is noticed. */
static enum rlhfsim_status read_file(struct config_reader *reader, char *buffer, size_t *length) {
    enum rlhfsim_status status = RLHFSIM_OK;
    FILE *file = fopen(reader->path, "rb");
    if (file == NULL)
        return io_error(reader, errno);
    errno = 0;
    *length = fread(buffer, 1, SIZE_LIMIT + 1, file);
    if (ferror(file))
        status = io_error(reader, errno);
    else if (*length > SIZE_LIMIT)
        config_fail(reader, "the file is larger than %zu bytes: not a config.json", SIZE_LIMIT);
    (void)fclose(file); /* only read */
    return status == RLHFSIM_OK ? reader->status : status;
}

/* Levels of nesting outside of strings; the parser recurses as deep as that. */
static int depth_of(const char *text, size_t length) {
    int depth = 0, deepest = 0;
    bool in_string = false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (in_string && c == '\\')
            i++; /* whatever is escaped is not a quote that ends the string */
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '{' || c == '['))
            deepest = ++depth > deepest ? depth : deepest;
        else if (!in_string && (c == '}' || c == ']'))
            depth--;
    }
    return deepest;
}

static enum rlhfsim_status parse(struct config_reader *reader, const char *text, size_t length,
                                 json_t **root) {
    json_error_t error;
    size_t mark = base_utf8_mark(text, length);
    text += mark;
    length -= mark;
    if (depth_of(text, length) > DEPTH_LIMIT)
        config_fail(reader, "nested deeper than %d levels: not a config.json", DEPTH_LIMIT);
    if (reader->status != RLHFSIM_OK)
        return reader->status;
    *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (*root != NULL)
        return RLHFSIM_OK;
    /* The parser reports some failed allocations without a text. */
    if (json_error_code(&error) == json_error_out_of_memory || error.text[0] == '\0')
        return rlhfsim_diagnostics_add(reader->diagnostics, RLHFSIM_NO_MEMORY, reader->path, 0, 0,
                                       "out of memory");
    int line = error.line > 0 ? error.line : 0;
    int column = line == 0 || error.column > 0 ? error.column : 1;
    return rlhfsim_diagnostics_add(reader->diagnostics, RLHFSIM_INVALID, reader->path, line,
                                   line == 0 ? 0 : column, "not valid JSON: %s", error.text);
}

enum rlhfsim_status llm_config_read(const char *path, struct rlhfsim_diagnostics *diagnostics,
                                    struct llm_architecture *architecture) {
    struct config_reader reader = {
        .path = path, .diagnostics = diagnostics, .architecture = architecture};
    enum rlhfsim_status status;
    json_t *root = NULL;
    size_t length = 0;
    *architecture = (struct llm_architecture){0};
    char *buffer = malloc(SIZE_LIMIT + 1);
    if (buffer == NULL)
        return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_NO_MEMORY, path, 0, 0, "out of memory");
    status = read_file(&reader, buffer, &length);
    if (status == RLHFSIM_OK)
        status = parse(&reader, buffer, length, &root);
    if (status == RLHFSIM_OK) {
        reader.root = root;
        read_architecture(&reader);
        status = reader.status;
    }
    json_decref(root);
    free(buffer);
    return status;
}
