/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libFuzzer: any bytes as a model's config.json, read from a file in memory; what is accepted is
 * counted.
 */
#include "models/llm/config_json.h"
#include "models/llm/work.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void count(const struct llm_architecture *architecture) {
    if (llm_parameters(architecture, LLM_HEAD_VOCABULARY) <= 0 ||
        llm_tensors(architecture, LLM_HEAD_VOCABULARY) <= 0 ||
        llm_kv_bytes_per_token(architecture, 2.0) < 0.0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct llm_architecture architecture;
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    int file = memfd_create("config.json", 0);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (diagnostics != NULL && file >= 0 && write(file, data, size) == (ssize_t)size &&
        llm_config_read(path, diagnostics, &architecture) == RLHFSIM_OK)
        count(&architecture);
    if (file >= 0)
        close(file);
    rlhfsim_diagnostics_free(diagnostics);
    return 0;
}
