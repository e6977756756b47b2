/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libFuzzer: any bytes as a scenario file. What follows the first 0x1E byte is a `--set` argument.
 */
#include "models/base/utf8.h"
#include "models/scenario/sets.h"
#include "models/scenario/values.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file's text is checked before the parser sees it; arguments check themselves. */
static void read_scenario(char *text, const char *set, struct rlhfsim_diagnostics *diagnostics,
                          struct base_arena *arena) {
    struct tree_source source = {"fuzz.yaml", text, strlen(text), 1};
    struct scenario_values values;
    struct tree_node *root;
    if (base_utf8_check(text, source.length).message != NULL)
        return;
    (void)tree_read(arena, &source, diagnostics, &root);
    if (root == NULL)
        return;
    (void)scenario_sets_apply(arena, &set, set == NULL ? 0 : 1, diagnostics, &root);
    (void)scenario_values_read(root, diagnostics, &values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct base_arena arena = {0};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    char *text = malloc(size + 1);
    if (text != NULL && diagnostics != NULL) {
        if (size > 0)
            memcpy(text, data, size);
        text[size] = '\0';
        char *set = strchr(text, 0x1E);
        if (set != NULL)
            *set++ = '\0';
        read_scenario(text, set, diagnostics, &arena);
    }
    free(text);
    rlhfsim_diagnostics_free(diagnostics);
    base_arena_release(&arena);
    return 0;
}
