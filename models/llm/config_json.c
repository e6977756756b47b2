/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A config.json is what the transformers library of Hugging Face builds a model from, so the rules
 * are the library's: which keys a family reads, what an absent key means, where a bias is built in
 * (models/{llama,mistral,qwen2,qwen3} at commits 008e5743 and 001f85b3). The sizes that every
 * checkpoint states are required all the same: a default would be a guess. Keys that the library
 * does not read for a family do not change what it builds and are ignored, save those that tell of
 * an architecture outside it (see `foreign_words`).
 */

#include "models/llm/config_json.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* A real config.json has 1 to 3 kilobytes and three levels. */
#define SIZE_LIMIT ((size_t)1 << 20)
#define DEPTH_LIMIT 32

#define VALUE_TEXT 96

/* What the library does for a model_type. */
struct family {
    const char *model_type;
    const char *class_prefix;     /* of the names in `architectures` */
    int64_t default_kv_heads;     /* num_key_value_heads absent; 0: as many as heads */
    int64_t default_head_dim;     /* head_dim absent; 0: hidden_size / num_attention_heads */
    int64_t default_max_position; /* max_position_embeddings absent */
    bool qkv_bias;                /* built in, whatever the file says */
    bool reads_attention_bias;    /* attention_bias: on queries, keys, values and output */
    bool reads_mlp_bias;          /* mlp_bias: on gate, up and down */
    bool qk_norm;
};

static const struct family families[] = {
    {"llama", "Llama", 0, 0, 2048, false, true, true, false},
    {"mistral", "Mistral", 8, 0, 131072, false, false, false, false},
    {"qwen2", "Qwen2", 32, 0, 32768, true, false, false, false},
    {"qwen3", "Qwen3", 32, 128, 32768, false, true, false, true},
};

/* Models on top of the same blocks; the scenario's role decides which head is counted. */
static const char *const class_suffixes[] = {"ForCausalLM", "Model", "ForSequenceClassification",
                                             "ForTokenClassification"};

/* Words in keys of architectures that these families are not: a value other than null, false, 0 or
 * empty is refused. */
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
};

struct reader {
    const char *path;
    struct rlhfsim_diagnostics *diagnostics;
    enum rlhfsim_status status; /* of the last error */
    json_t *root;
    const struct family *family;
    struct llm_architecture *architecture;
};

#define FAIL(reader, ...)                                                               \
    ((reader)->status = rlhfsim_diagnostics_add((reader)->diagnostics, RLHFSIM_INVALID, \
                                                (reader)->path, 0, 0, __VA_ARGS__))

/* ---- text of values for messages ------------------------------------------------------------ */

/* A value as the file has it, shortened, in printable ASCII. */
static void value_text(const json_t *value, char text[VALUE_TEXT]) {
    char *dump = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT);
    if (dump == NULL)
        (void)snprintf(text, VALUE_TEXT, "(a value)");
    else if (strlen(dump) < VALUE_TEXT)
        (void)snprintf(text, VALUE_TEXT, "%s", dump);
    else
        (void)snprintf(text, VALUE_TEXT, "%.80s...", dump);
    free(dump);
}

/* ---- keys ----------------------------------------------------------------------------------- */

/* The value of a key; NULL where it is absent or null, which the library takes as absent. */
static const json_t *value_of(const struct reader *reader, const char *key) {
    const json_t *value = json_object_get(reader->root, key);
    return json_is_null(value) ? NULL : value;
}

/* A whole number from 1 to `limit`; `absent` where the key is absent, an error if that is 0. */
static int64_t read_size(struct reader *reader, const char *key, int64_t limit, int64_t absent) {
    const json_t *value = value_of(reader, key);
    char text[VALUE_TEXT];
    if (value == NULL) {
        if (absent == 0)
            FAIL(reader, "%s is missing: expected a whole number from 1 to %lld", key,
                 (long long)limit);
        return absent;
    }
    if (json_is_integer(value) && json_integer_value(value) >= 1 &&
        json_integer_value(value) <= limit)
        return json_integer_value(value);
    value_text(value, text);
    FAIL(reader, "%s is %s: expected a whole number from 1 to %lld", key, text, (long long)limit);
    return 0;
}

static bool read_flag(struct reader *reader, const char *key, bool absent) {
    const json_t *value = value_of(reader, key);
    char text[VALUE_TEXT];
    if (value == NULL || json_is_boolean(value))
        return value == NULL ? absent : json_is_true(value);
    value_text(value, text);
    FAIL(reader, "%s is %s: expected true or false", key, text);
    return absent;
}

/* A flag that the family does not read: the file may say what the library builds, nothing else. */
static void expect_flag(struct reader *reader, const char *key, bool built) {
    if (read_flag(reader, key, built) != built)
        FAIL(reader, "%s is %s: a model of type \"%s\" is always built with %s", key,
             built ? "false" : "true", reader->family->model_type, built ? "true" : "false");
}

/* ---- what the file as a whole is ------------------------------------------------------------ */

static const struct family *find_family(struct reader *reader) {
    const json_t *value = value_of(reader, "model_type");
    char text[VALUE_TEXT], known[VALUE_TEXT] = "";
    size_t length = 0;
    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
        const char *name = families[i].model_type;
        if (json_is_string(value) && strcmp(json_string_value(value), name) == 0)
            return &families[i];
        length += (size_t)snprintf(known + length, sizeof(known) - length, "%s\"%s\"",
                                   i == 0 ? "" : ", ", name);
    }
    if (value == NULL) {
        FAIL(reader, "model_type is missing: expected one of %s", known);
    } else {
        value_text(value, text);
        FAIL(reader, "model_type is %s, which is not modelled: expected one of %s", text, known);
    }
    return NULL;
}

static bool is_known_class(const struct family *family, const char *name) {
    size_t prefix = strlen(family->class_prefix);
    if (strncmp(name, family->class_prefix, prefix) != 0)
        return false;
    for (size_t i = 0; i < sizeof(class_suffixes) / sizeof(*class_suffixes); i++)
        if (strcmp(name + prefix, class_suffixes[i]) == 0)
            return true;
    return false;
}

static void check_classes(struct reader *reader) {
    const json_t *value = value_of(reader, "architectures");
    char text[VALUE_TEXT];
    if (value == NULL)
        return;
    bool known = json_is_array(value);
    for (size_t i = 0; known && i < json_array_size(value); i++) {
        const char *name = json_string_value(json_array_get(value, i));
        known = name != NULL && is_known_class(reader->family, name);
    }
    if (known)
        return;
    value_text(value, text);
    FAIL(reader, "architectures is %s, which is not modelled: expected [\"%sForCausalLM\"]", text,
         reader->family->class_prefix);
}

/* Does a value switch nothing on? */
static bool is_void(const json_t *value) {
    return json_is_null(value) || json_is_false(value) ||
           (json_is_number(value) && json_number_value(value) == 0.0) ||
           (json_is_string(value) && json_string_length(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

static bool is_foreign(const char *key) {
    for (size_t i = 0; i < sizeof(foreign_words) / sizeof(*foreign_words); i++)
        if (strstr(key, foreign_words[i]) != NULL)
            return true;
    return false;
}

static void check_foreign_keys(struct reader *reader) {
    const char *key;
    json_t *value;
    char name[VALUE_TEXT], text[VALUE_TEXT];
    json_object_foreach(reader->root, key, value) {
        if (!is_foreign(key) || is_void(value))
            continue;
        json_t *key_value = json_string(key);
        value_text(key_value, name);
        json_decref(key_value);
        value_text(value, text);
        FAIL(reader, "%s is %s, which is not modelled for model_type \"%s\"", name, text,
             reader->family->model_type);
    }
}

/* ---- the architecture ----------------------------------------------------------------------- */

static void read_head_dim(struct reader *reader) {
    struct llm_architecture *a = reader->architecture;
    int64_t absent = reader->family->default_head_dim;
    if (absent == 0 && value_of(reader, "head_dim") == NULL) {
        if (a->hidden == 0 || a->heads == 0)
            return; /* already an error */
        absent = a->hidden / a->heads;
        if (a->hidden % a->heads != 0) {
            FAIL(reader,
                 "head_dim is missing and hidden_size %lld is not a multiple of "
                 "num_attention_heads %lld",
                 (long long)a->hidden, (long long)a->heads);
            return;
        }
    }
    a->head_dim = read_size(reader, "head_dim", LLM_HEAD_DIM_LIMIT, absent);
}

static void read_kv_heads(struct reader *reader) {
    struct llm_architecture *a = reader->architecture;
    int64_t absent = a->heads;
    /* The library's default is for the key that is absent; null always means heads. */
    if (json_object_get(reader->root, "num_key_value_heads") == NULL &&
        reader->family->default_kv_heads != 0)
        absent = reader->family->default_kv_heads;
    if (absent == 0)
        return; /* num_attention_heads is already an error */
    a->kv_heads = read_size(reader, "num_key_value_heads", LLM_HEADS_LIMIT, absent);
    if (a->heads != 0 && a->kv_heads != 0 && a->heads % a->kv_heads != 0)
        FAIL(reader, "num_key_value_heads is %lld: expected a divisor of num_attention_heads %lld",
             (long long)a->kv_heads, (long long)a->heads);
}

static void read_sizes(struct reader *reader) {
    struct llm_architecture *a = reader->architecture;
    a->layers = read_size(reader, "num_hidden_layers", LLM_LAYERS_LIMIT, 0);
    a->hidden = read_size(reader, "hidden_size", LLM_HIDDEN_LIMIT, 0);
    a->heads = read_size(reader, "num_attention_heads", LLM_HEADS_LIMIT, 0);
    a->ffn = read_size(reader, "intermediate_size", LLM_FFN_LIMIT, 0);
    a->vocab = read_size(reader, "vocab_size", LLM_VOCAB_LIMIT, 0);
    a->max_position = read_size(reader, "max_position_embeddings", INT32_MAX,
                                reader->family->default_max_position);
    read_kv_heads(reader);
    read_head_dim(reader);
}

static void read_flags(struct reader *reader) {
    struct llm_architecture *a = reader->architecture;
    const struct family *family = reader->family;
    a->gated_ffn = true;
    a->qk_norm = family->qk_norm;
    a->qkv_bias = family->qkv_bias;
    a->tied_embeddings = read_flag(reader, "tie_word_embeddings", false);
    if (family->reads_attention_bias)
        a->qkv_bias = a->output_bias = read_flag(reader, "attention_bias", false);
    else
        expect_flag(reader, "attention_bias", family->qkv_bias);
    if (family->reads_mlp_bias)
        a->ffn_bias = read_flag(reader, "mlp_bias", false);
    else
        expect_flag(reader, "mlp_bias", false);
}

/* Does `text` of `length` end in `ending`, with something before it? */
static bool ends_in(const char *text, size_t length, const char *ending) {
    size_t tail = strlen(ending);
    return length > tail && memcmp(text + length - tail, ending, tail) == 0;
}

static void read_name(struct reader *reader) {
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

static void read_architecture(struct reader *reader) {
    if (!json_is_object(reader->root)) {
        FAIL(reader, "expected an object with the keys of a Hugging Face config.json");
        return;
    }
    reader->family = find_family(reader);
    if (reader->family == NULL)
        return;
    (void)snprintf(reader->architecture->family, sizeof(reader->architecture->family), "%s",
                   reader->family->model_type);
    read_name(reader);
    check_classes(reader);
    check_foreign_keys(reader);
    read_sizes(reader);
    read_flags(reader);
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Where the user names a wrong file it is bad input; anything else is the machine's failure. */
static enum rlhfsim_status io_error(struct reader *reader, int error) {
    bool wrong_name = error == ENOENT || error == ENOTDIR || error == EISDIR ||
                      error == ENAMETOOLONG || error == ELOOP;
    return rlhfsim_diagnostics_add(reader->diagnostics, wrong_name ? RLHFSIM_INVALID : RLHFSIM_IO,
                                   reader->path, 0, 0, "cannot read the model's config: %s",
                                   strerror(error));
}

/* Reads up to the limit plus one byte, so that a longer file is noticed. */
static enum rlhfsim_status read_file(struct reader *reader, char *buffer, size_t *length) {
    enum rlhfsim_status status = RLHFSIM_OK;
    FILE *file = fopen(reader->path, "rb");
    if (file == NULL)
        return io_error(reader, errno);
    errno = 0;
    *length = fread(buffer, 1, SIZE_LIMIT + 1, file);
    if (ferror(file))
        status = io_error(reader, errno);
    else if (*length > SIZE_LIMIT)
        status = FAIL(reader, "the file is larger than %zu bytes: not a config.json", SIZE_LIMIT);
    (void)fclose(file); /* only read */
    return status;
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

static enum rlhfsim_status parse(struct reader *reader, const char *text, size_t length,
                                 json_t **root) {
    json_error_t error;
    if (depth_of(text, length) > DEPTH_LIMIT)
        return FAIL(reader, "nested deeper than %d levels: not a config.json", DEPTH_LIMIT);
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
    struct reader reader = {.path = path, .diagnostics = diagnostics, .architecture = architecture};
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
