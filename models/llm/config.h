/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_LLM_CONFIG_H
#define MODELS_LLM_CONFIG_H

/*
 * What families of models are made of. A family is a const table: the model_type that names it,
 * which keys of a config.json it reads into which fields, what is built in, and a function for what
 * is more than a key and a field (which layers have experts or windows). The tables stand in
 * models/llm/families/, config_json.c goes through them.
 *
 * The rules are those of the transformers library of Hugging Face, which builds a model from the
 * file: which keys it reads, what an absent key means, where a bias is built in.
 */

#include "models/llm/architecture.h"

#include <rlhfsim/diagnostics.h>

#include <jansson.h>

/* ---- tables ---------------------------------------------------------------------------------- */

enum config_kind {
    CONFIG_END,   /* of an array of keys */
    CONFIG_SIZE,  /* a whole number from 1, into an int64_t */
    CONFIG_COUNT, /* a whole number from 0, into an int64_t; null is 0 */
    CONFIG_FLAG,  /* into one or two bools */
    CONFIG_ALWAYS /* a flag that the library does not read: the file may say what is built only */
};

/* For `absent`: what an absent key stands for, where it is not a number. */
enum {
    CONFIG_REQUIRED = -1,
    CONFIG_HEADS = -2,
    CONFIG_HIDDEN_PER_HEAD = -3,
    CONFIG_FOUR_HIDDEN = -4
};

struct config_key {
    const char *key;
    const char *alias; /* another name of the key, or NULL */
    enum config_kind kind;
    size_t field, second; /* offsets in struct llm_architecture; second 0: there is none */
    int64_t limit;        /* of sizes and counts */
    int64_t absent;       /* see above; flags: 0 or 1; CONFIG_ALWAYS: what is built */
};

#define CONFIG_FIELD(name) offsetof(struct llm_architecture, name)
#define CONFIG_SIZE_KEY(key, field, limit, absent) \
    { key, NULL, CONFIG_SIZE, CONFIG_FIELD(field), 0, limit, absent }
#define CONFIG_ALIAS_KEY(key, alias, field, limit, absent) \
    { key, alias, CONFIG_SIZE, CONFIG_FIELD(field), 0, limit, absent }
#define CONFIG_COUNT_KEY(key, field, limit, absent) \
    { key, NULL, CONFIG_COUNT, CONFIG_FIELD(field), 0, limit, absent }
#define CONFIG_FLAG_KEY(key, field, absent) \
    { key, NULL, CONFIG_FLAG, CONFIG_FIELD(field), 0, 0, absent }
#define CONFIG_FLAGS_KEY(key, field, second, absent) \
    { key, NULL, CONFIG_FLAG, CONFIG_FIELD(field), CONFIG_FIELD(second), 0, absent }
#define CONFIG_ALWAYS_KEY(key, built) \
    { key, NULL, CONFIG_ALWAYS, 0, 0, 0, built }
#define CONFIG_KEYS_END \
    { NULL, NULL, CONFIG_END, 0, 0, 0, 0 }

/* Keys that most families read. */
extern const struct config_key config_sizes[];  /* layers, hidden, heads, ffn, vocab */
extern const struct config_key config_heads[];  /* as many keys as queries unless said; head_dim */
extern const struct config_key config_untied[]; /* tie_word_embeddings, false where absent */
extern const struct config_key config_tied[];   /* the same, true */
extern const struct config_key config_unbiased[];       /* attention_bias, mlp_bias: never */
extern const struct config_key config_attention_bias[]; /* the first read, the second never */
extern const struct config_key config_biases[];         /* both read */

struct config_reader;

#define CONFIG_KEY_ARRAYS 5

struct config_family {
    const char *model_type;
    const char *class_prefix; /* of the names in `architectures` */
    struct llm_architecture built;
    const struct config_key *keys[CONFIG_KEY_ARRAYS]; /* read one after the other; NULL: no more */
    /* Keys that would be taken for those of a foreign architecture (see config_json.c) and are not:
     * read by `finish`, or without influence on the parameters; ends in NULL, may be NULL. */
    const char *const *understood;
    void (*finish)(struct config_reader *reader); /* may be NULL */
};

/* The families, sorted into files; each list ends in a family without model_type. */
extern const struct config_family config_llama_families[];
extern const struct config_family config_qwen_families[];
extern const struct config_family config_deepseek_families[];
extern const struct config_family config_gemma_families[];
extern const struct config_family config_phi_families[];
extern const struct config_family config_gpt_families[];
extern const struct config_family config_expert_families[];

/* A file of several models, whose language part is the object `text_config` (or, in older files,
 * the file itself) and is read by the family that its model_type names. */
struct config_wrapper {
    const char *model_type;
    const char *class_prefix;
    const char *text_type; /* the family where text_config names none */
};

extern const struct config_wrapper config_wrappers[];

/* ---- the reader, as the families see it ------------------------------------------------------ */

enum { CONFIG_LAYER_MOE = 1, CONFIG_LAYER_WINDOW = 2 };

struct config_reader {
    const char *path;
    struct rlhfsim_diagnostics *diagnostics;
    enum rlhfsim_status status; /* of the last error */
    const json_t *root;         /* the file */
    const json_t *text;         /* the object that describes the language model */
    const struct config_family *family;
    struct llm_architecture *architecture;
    unsigned char layers[LLM_LAYERS_LIMIT]; /* CONFIG_LAYER_* of each layer */
};

/* Adds an error about the file. */
void config_fail(struct config_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define CONFIG_TEXT 96
/* A value as the file has it, shortened, in printable ASCII. */
void config_value_text(const json_t *value, char text[CONFIG_TEXT]);

/* The value of a key; NULL where it is absent or null, which the library takes as absent. */
const json_t *config_value(const struct config_reader *reader, const char *key);

/* A whole number from `least` to `limit`; `absent` where there is none, also after an error. */
int64_t config_number(struct config_reader *reader, const char *key, int64_t least, int64_t limit,
                      int64_t absent);
/* The same, where null means 0. */
int64_t config_count(struct config_reader *reader, const char *key, int64_t limit, int64_t absent);
bool config_flag(struct config_reader *reader, const char *key, bool absent);

void config_read_keys(struct config_reader *reader, const struct config_key *keys);

/* ---- layers ---------------------------------------------------------------------------------- */

/* `layer_types`, where the file has it, says which layers have a window; false where it has not. */
bool config_layer_types(struct config_reader *reader);
/* All layers from `first` on have a window. */
void config_windows_from(struct config_reader *reader, int64_t first);
/* Every period-th layer sees everything, the last of each period; the others have a window. */
void config_windows_but_every(struct config_reader *reader, int64_t period);
/* Layers from `first` on have experts, every step-th of them, the last (`last_of_step`) or the
 * first of each step. */
void config_experts_from(struct config_reader *reader, int64_t first, int64_t step,
                         bool last_of_step);
/* A list of layer numbers under `key` that have experts (or, `without`, have none). False where
 * the key is absent. */
bool config_expert_list(struct config_reader *reader, const char *key, bool without);

#endif
