/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_LLM_CONFIG_JSON_H
#define MODELS_LLM_CONFIG_JSON_H

/*
 * Reads a Hugging Face config.json into an architecture; models/llm/families/ has what is
 * understood. A model_type that is not, or a key that would change the count and is not modelled,
 * is an error naming the key and its value. Absent keys mean what the transformers library takes
 * them to mean. Of a file with several models in it the language part is read. Files above 1 MiB or
 * 32 levels are refused.
 */

#include "models/llm/architecture.h"

#include <rlhfsim/diagnostics.h>

/* The architecture's name is that of the file without ".json", or of its folder for "config.json".
 * RLHFSIM_OK, or RLHFSIM_INVALID / RLHFSIM_IO / RLHFSIM_NO_MEMORY with the errors added, each at
 * its place in `path` as far as known (JSON values carry no position: line 0). */
enum rlhfsim_status llm_config_read(const char *path, struct rlhfsim_diagnostics *diagnostics,
                                    struct llm_architecture *architecture);

/* The values of model_type that are understood, by index; NULL past the last one. */
const char *llm_config_family_at(size_t index);

#endif
