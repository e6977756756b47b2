/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_LLM_TRAITS_H
#define MODELS_LLM_TRAITS_H

/*
 * Traits: what sets an architecture apart from a uniform dense model, as a user types it,
 *
 *     "experts=128;experts_per_token=8;moe_ffn=768;moe_layers=48"
 *     "norm=layer;positions=2050"
 *
 * words of one table, numbers with "=", flags alone. Names and meanings are those of the fields of
 * struct llm_architecture.
 */

#include "models/llm/architecture.h"

struct llm_trait {
    const char *name;
    enum { LLM_TRAIT_NUMBER, LLM_TRAIT_FLAG, LLM_TRAIT_WORD } kind;
    size_t offset;     /* of an int64_t, a bool or an enum in struct llm_architecture */
    int64_t limit;     /* numbers: from 1 to this */
    const char *words; /* words: "rms,layer" in the order of the enum */
    const char *meaning;
};

/* NULL past the last one. */
const struct llm_trait *llm_trait_at(size_t index);

#define LLM_TRAIT_FAULT_SIZE 256

/* Reads a list of traits, which may be empty, into the architecture. False with what is wrong in
 * `fault` and the byte where it stands in *position; the architecture may be half written then. */
bool llm_traits_read(const char *text, struct llm_architecture *architecture,
                     char fault[LLM_TRAIT_FAULT_SIZE], size_t *position);

/* Writes the traits of an architecture in the order of the table, as snprintf does. */
int llm_traits_format(const struct llm_architecture *architecture, char *buffer, size_t size);

#endif
