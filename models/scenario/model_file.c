/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/model_file.h"

#include "models/algorithms/phase.h"
#include "models/base/file.h"
#include "models/base/hash.h"
#include "models/scenario/sets.h"

#include <stdio.h>
#include <string.h>

bool scenario_model_file_named(const char *name) {
    size_t length = strlen(name);
    return strchr(name, '/') != NULL || (length > 5 && strcmp(name + length - 5, ".json") == 0);
}

bool scenario_model_file_locate(const char *scenario_path, const char *name,
                                struct tree_place place, char *buffer, size_t size) {
    const char *slash = strrchr(scenario_path, '/');
    bool as_it_is = name[0] == '/' || place.file == scenario_set_file || slash == NULL;
    int length = as_it_is ? snprintf(buffer, size, "%s", name)
                          : snprintf(buffer, size, "%.*s/%s", (int)(slash - scenario_path),
                                     scenario_path, name);
    return length >= 0 && (size_t)length < size;
}

/* What is wrong with the file is told when a scenario is made of it. */
uint64_t scenario_model_file_hash(uint64_t hash, const char *scenario_path,
                                  const struct catalog *catalog, const struct tree_node *node) {
    char path[SCENARIO_PATH_BYTES];
    struct base_file file = {0};
    if (node == NULL || node->kind != TREE_TEXT || !scenario_model_file_named(node->text) ||
        catalog_model(catalog, node->text) != NULL ||
        !scenario_model_file_locate(scenario_path, node->text, node->place, path, sizeof path))
        return hash;
    struct rlhfsim_diagnostics *unseen = rlhfsim_diagnostics_new();
    if (unseen != NULL && base_file_read(path, unseen, &file) == RLHFSIM_OK)
        hash = base_hash_bytes(hash, file.text, file.length);
    base_file_release(&file);
    rlhfsim_diagnostics_free(unseen);
    return hash;
}

static const struct tree_node *child(const struct tree_node *node, const char *key) {
    const struct tree_entry *entry = tree_find(node, key);
    return entry == NULL ? NULL : entry->value;
}

uint64_t scenario_model_files_hash(uint64_t hash, const char *scenario_path,
                                   const struct catalog *catalog, const struct tree_node *root) {
    const struct tree_node *models = child(root, "models");
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++) {
        const char *name = algorithm_role_name((enum algorithm_role)role);
        hash = scenario_model_file_hash(hash, scenario_path, catalog,
                                        child(child(models, name), "model"));
    }
    return hash;
}
