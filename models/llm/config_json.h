/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_LLM_CONFIG_JSON_H
#define MODELS_LLM_CONFIG_JSON_H

/*
 * Reads a Hugging Face config.json into an architecture: model_type llama (which Yi, Vicuna and
 * many others are), mistral, qwen2, qwen3. A model_type that is not understood, or a key that would
 * change the count and is not modelled, is an error naming the key and its value. Absent keys mean
 * what the transformers library takes them to mean. Files above 1 MiB or 32 levels are refused.
 */

#include "models/llm/architecture.h"

#include <rlhfsim/diagnostics.h>

/* The architecture's name is that of the file without ".json", or of its folder for "config.json".
 * RLHFSIM_OK, or RLHFSIM_INVALID / RLHFSIM_IO / RLHFSIM_NO_MEMORY with the errors added, each at
 * its place in `path` as far as known (JSON values carry no position: line 0). */
enum rlhfsim_status llm_config_read(const char *path, struct rlhfsim_diagnostics *diagnostics,
                                    struct llm_architecture *architecture);

#endif
