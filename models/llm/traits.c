/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/llm/traits.h"

#include "models/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NUMBER(field, most, text) \
    { #field, LLM_TRAIT_NUMBER, offsetof(struct llm_architecture, field), most, NULL, text }
#define FLAG(field, text) \
    { #field, LLM_TRAIT_FLAG, offsetof(struct llm_architecture, field), 0, NULL, text }
#define WORD(field, list, text) \
    { #field, LLM_TRAIT_WORD, offsetof(struct llm_architecture, field), 0, list, text }

static const struct llm_trait traits[] = {
    NUMBER(positions, LLM_POSITION_LIMIT, "rows of learned positions"),
    NUMBER(embedding_width, LLM_HIDDEN_LIMIT, "width of the embedding where it is not hidden"),
    FLAG(embedding_norm, "a norm behind the embedding"),
    FLAG(no_final_norm, "no norm before the head"),
    FLAG(head_bias, "a bias on the head"),
    WORD(norm, "rms,layer", "norms have a scale (rms), or a scale and a shift (layer)"),
    WORD(block_norms, "two,four,one", "norms of a block"),
    NUMBER(kv_lora_rank, LLM_HIDDEN_LIMIT, "latent attention: width of what is cached"),
    NUMBER(q_lora_rank, LLM_HIDDEN_LIMIT, "latent attention: width of the compressed queries"),
    NUMBER(rope_head_dim, LLM_HEAD_DIM_LIMIT, "latent attention: rotated part of head_dim"),
    NUMBER(v_head_dim, LLM_HEAD_DIM_LIMIT, "latent attention: width of a head's value"),
    NUMBER(index_heads, LLM_HEADS_LIMIT, "sparse attention: heads of the indexer"),
    NUMBER(index_head_dim, LLM_HEAD_DIM_LIMIT, "sparse attention: width of an indexer head"),
    NUMBER(index_topk, LLM_POSITION_LIMIT, "sparse attention: tokens that are seen"),
    FLAG(sinks, "a learned number a head in the softmax"),
    NUMBER(window, LLM_POSITION_LIMIT, "tokens that a layer with a window sees"),
    NUMBER(window_layers, LLM_LAYERS_LIMIT, "layers with a window"),
    NUMBER(experts, LLM_EXPERTS_LIMIT, "experts of a layer"),
    NUMBER(experts_per_token, LLM_EXPERTS_LIMIT, "experts that a token goes through"),
    NUMBER(moe_ffn, LLM_FFN_LIMIT, "width of an expert"),
    NUMBER(shared_ffn, LLM_FFN_LIMIT, "width of the expert that every token goes through"),
    NUMBER(moe_layers, LLM_LAYERS_LIMIT, "layers with experts"),
    NUMBER(window_moe_layers, LLM_LAYERS_LIMIT, "layers with experts and a window"),
    FLAG(router_bias, "a number an expert in the router"),
    FLAG(expert_bias, "biases on the experts' projections"),
    FLAG(shared_gate, "a gate on the shared expert"),
    FLAG(fused_qkv, "queries, keys and values are one tensor"),
    FLAG(fused_up, "gate and up are one tensor"),
    FLAG(packed_experts, "a projection of all experts is one tensor"),
    NUMBER(pretraining_tokens, LLM_PRETRAINING_LIMIT,
           "tokens that the published weights have seen"),
};

#define TRAITS (sizeof traits / sizeof *traits)

const struct llm_trait *llm_trait_at(size_t index) {
    return index < TRAITS ? &traits[index] : NULL;
}

/* The enums are read and written as the int that they are stored as. */
_Static_assert(sizeof(enum llm_norm) == sizeof(int) && sizeof(enum llm_block_norms) == sizeof(int),
               "an enum is an int");

static const void *field_of(const struct llm_architecture *architecture,
                            const struct llm_trait *trait) {
    return (const char *)architecture + trait->offset;
}

/* ---- reading --------------------------------------------------------------------------------- */

#define ITEM_SIZE 64

struct item {
    char name[ITEM_SIZE];
    const char *value; /* behind the "=" in `name`; NULL without one */
};

/* Copies one item up to ";" or the end and cuts it at "="; its length, 0 where it is too long. */
static size_t take_item(const char *text, struct item *item) {
    size_t length = strcspn(text, ";");
    item->value = NULL;
    if (length == 0 || length >= ITEM_SIZE)
        return 0;
    memcpy(item->name, text, length);
    item->name[length] = '\0';
    char *equals = strchr(item->name, '=');
    if (equals != NULL) {
        *equals = '\0';
        item->value = equals + 1;
    }
    return length;
}

static const struct llm_trait *find_trait(const char *name) {
    for (size_t i = 0; i < TRAITS; i++)
        if (strcmp(traits[i].name, name) == 0)
            return &traits[i];
    return NULL;
}

static void unknown_trait(const char *name, char *fault) {
    char quoted[BASE_QUOTE_SIZE];
    struct base_nearest nearest;
    base_nearest_start(&nearest, name);
    for (size_t i = 0; i < TRAITS; i++)
        base_nearest_offer(&nearest, traits[i].name);
    const char *near = base_nearest_name(&nearest);
    (void)snprintf(fault, LLM_TRAIT_FAULT_SIZE, "unknown trait %s%s%s%s", base_quote(name, quoted),
                   near == NULL ? "" : "; did you mean '", near == NULL ? "" : near,
                   near == NULL ? "" : "'?");
}

/* The place of a word in a list "a,b,c"; -1 if it is not there. */
static int word_index(const char *list, const char *word) {
    size_t length = strlen(word);
    for (int index = 0;; index++) {
        size_t end = strcspn(list, ",");
        if (end == length && memcmp(list, word, length) == 0)
            return index;
        if (list[end] == '\0')
            return -1;
        list += end + 1;
    }
}

static bool read_number(const struct llm_trait *trait, const char *value, void *field) {
    int64_t number = 0;
    if (value == NULL || base_integer_read(value, &number) != BASE_NUMBER_OK || number < 1 ||
        number > trait->limit)
        return false;
    memcpy(field, &number, sizeof number);
    return true;
}

static bool read_flag(const char *value, void *field) {
    bool on = true;
    if (value != NULL)
        return false;
    memcpy(field, &on, sizeof on);
    return true;
}

static bool read_word(const struct llm_trait *trait, const char *value, void *field) {
    int index = value == NULL ? -1 : word_index(trait->words, value);
    if (index < 0)
        return false;
    memcpy(field, &index, sizeof index);
    return true;
}

static bool read_value(const struct llm_trait *trait, const char *value,
                       struct llm_architecture *architecture) {
    void *field = (char *)architecture + trait->offset;
    switch (trait->kind) {
    case LLM_TRAIT_NUMBER:
        return read_number(trait, value, field);
    case LLM_TRAIT_FLAG:
        return read_flag(value, field);
    case LLM_TRAIT_WORD:
        return read_word(trait, value, field);
    }
    return false;
}

static void wrong_value(const struct llm_trait *trait, char *fault) {
    if (trait->kind == LLM_TRAIT_NUMBER)
        (void)snprintf(fault, LLM_TRAIT_FAULT_SIZE,
                       "%s: expected \"%s=N\", N a whole number from 1 to %" PRId64, trait->name,
                       trait->name, trait->limit);
    else if (trait->kind == LLM_TRAIT_FLAG)
        (void)snprintf(fault, LLM_TRAIT_FAULT_SIZE, "%s: stands alone, without a value",
                       trait->name);
    else
        (void)snprintf(fault, LLM_TRAIT_FAULT_SIZE, "%s: expected \"%s=WORD\", WORD one of %s",
                       trait->name, trait->name, trait->words);
}

static bool read_item(const struct item *item, bool seen[TRAITS],
                      struct llm_architecture *architecture, char *fault) {
    const struct llm_trait *trait = find_trait(item->name);
    if (trait == NULL) {
        unknown_trait(item->name, fault);
        return false;
    }
    if (seen[trait - traits]) {
        (void)snprintf(fault, LLM_TRAIT_FAULT_SIZE, "%s is written twice", trait->name);
        return false;
    }
    seen[trait - traits] = true;
    if (read_value(trait, item->value, architecture))
        return true;
    wrong_value(trait, fault);
    return false;
}

bool llm_traits_read(const char *text, struct llm_architecture *architecture,
                     char fault[LLM_TRAIT_FAULT_SIZE], size_t *position) {
    bool seen[TRAITS] = {false};
    struct item item;
    *position = 0;
    while (text[*position] != '\0' || *position > 0) {
        size_t length = take_item(text + *position, &item);
        if (length == 0) {
            (void)snprintf(fault, LLM_TRAIT_FAULT_SIZE,
                           "expected traits such as \"experts=8\" between semicolons");
            return false;
        }
        if (!read_item(&item, seen, architecture, fault))
            return false;
        *position += length;
        if (text[*position] == '\0')
            return true;
        ++*position; /* a semicolon, behind which another one stands */
    }
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int format_word(const struct llm_trait *trait, int index, char *buffer, size_t size) {
    const char *word = trait->words;
    for (; index > 0; index--)
        word += strcspn(word, ",") + 1;
    return snprintf(buffer, size, "%s=%.*s", trait->name, (int)strcspn(word, ","), word);
}

/* One trait; 0 where the architecture does not have it. */
static int format_trait(const struct llm_architecture *architecture, const struct llm_trait *trait,
                        char *buffer, size_t size) {
    int64_t number = 0;
    bool on = false;
    int index = 0;
    switch (trait->kind) {
    case LLM_TRAIT_NUMBER:
        memcpy(&number, field_of(architecture, trait), sizeof number);
        return number == 0 ? 0 : snprintf(buffer, size, "%s=%" PRId64, trait->name, number);
    case LLM_TRAIT_FLAG:
        memcpy(&on, field_of(architecture, trait), sizeof on);
        return on ? snprintf(buffer, size, "%s", trait->name) : 0;
    case LLM_TRAIT_WORD:
        memcpy(&index, field_of(architecture, trait), sizeof index);
        return index == 0 ? 0 : format_word(trait, index, buffer, size);
    }
    return 0;
}

int llm_traits_format(const struct llm_architecture *architecture, char *buffer, size_t size) {
    int length = 0;
    char text[2 * ITEM_SIZE];
    if (size > 0)
        buffer[0] = '\0';
    for (size_t i = 0; i < TRAITS; i++) {
        if (format_trait(architecture, &traits[i], text, sizeof text) <= 0)
            continue;
        size_t used = (size_t)length < size ? (size_t)length : size;
        length += snprintf(buffer + used, size - used, "%s%s", length == 0 ? "" : ";", text);
    }
    return length;
}
