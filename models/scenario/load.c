/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a file to a scenario: text, tree, `--set`, values, catalogs, names, checks. Errors are found
 * by stages and sorted at the end, so that the user reads them from the top of the file down.
 */
#include "models/base/diagnostics.h"
#include "models/base/file.h"
#include "models/base/locale.h"
#include "models/scenario/draft.h"
#include "models/scenario/sets.h"

#include <stdlib.h>

/* More than this nobody reads; the number of the others is told. */
#define ERRORS_SHOWN 50

struct loading {
    const char *path;
    const struct rlhfsim_scenario_options *options;
    struct rlhfsim_diagnostics *diagnostics;
    struct base_arena arena;
    struct base_file file;
    struct catalog *catalog;
    struct scenario_draft draft;
};

/* The status of two parts: what stops everything, then what the machine failed in, then mistakes.
 */
static enum rlhfsim_status worse(enum rlhfsim_status a, enum rlhfsim_status b) {
    return rlhfsim_status_exit(b) > rlhfsim_status_exit(a) ? b : a;
}

static enum rlhfsim_status read_tree(struct loading *loading, struct tree_node **root) {
    *root = NULL;
    enum rlhfsim_status status =
        base_file_read(loading->path, loading->diagnostics, &loading->file);
    if (status != RLHFSIM_OK)
        return status;
    struct tree_source source = {loading->path, loading->file.text, loading->file.length, 1};
    status = tree_read(&loading->arena, &source, loading->diagnostics, root);
    if (*root == NULL)
        return status;
    return worse(status,
                 scenario_sets_apply(&loading->arena, loading->options->sets,
                                     loading->options->set_count, loading->diagnostics, root));
}

static enum rlhfsim_status read_catalogs(struct loading *loading) {
    const struct rlhfsim_scenario_options *options = loading->options;
    loading->catalog = catalog_new();
    if (loading->catalog == NULL)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status =
        catalog_load(loading->catalog, options->catalog_directory, true, loading->diagnostics);
    for (size_t i = 0; i < options->user_directory_count; i++)
        status = worse(status, catalog_load(loading->catalog, options->user_directories[i], false,
                                            loading->diagnostics));
    return status;
}

static void resolve(struct scenario_draft *draft) {
    static void (*const stages[])(struct scenario_draft *) = {
        scenario_resolve_algorithm, scenario_resolve_framework, scenario_resolve_cluster,
        scenario_resolve_models,    scenario_resolve_lengths,   scenario_resolve_prices,
        scenario_resolve_batches,   scenario_check_layout,      scenario_check_known,
        scenario_check_use};
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
        stages[i](draft);
}

/* Errors are counted rather than handed up through every stage. */
static enum rlhfsim_status load(struct loading *loading, size_t errors_before) {
    struct tree_node *root;
    struct scenario_draft *draft = &loading->draft;
    enum rlhfsim_status status = read_tree(loading, &root);
    if (root == NULL || status == RLHFSIM_NO_MEMORY)
        return status;
    (void)scenario_values_read(root, loading->diagnostics, &draft->values);
    scenario_values_store(&draft->values, draft->scenario);
    enum rlhfsim_status catalogs = read_catalogs(loading);
    if (catalogs != RLHFSIM_OK)
        return worse(status, catalogs);
    draft->catalog = loading->catalog;
    draft->diagnostics = loading->diagnostics;
    draft->path = loading->path;
    resolve(draft);
    if (loading->options->seed != NULL)
        draft->scenario->seed = *loading->options->seed;
    if (rlhfsim_diagnostics_count(loading->diagnostics) > errors_before)
        status = worse(status, RLHFSIM_INVALID);
    return worse(status, draft->fatal);
}

static void release(struct loading *loading) {
    catalog_free(loading->catalog);
    base_file_release(&loading->file);
    base_arena_release(&loading->arena);
    free(loading);
}

static enum rlhfsim_status load_in_c_locale(const char *path,
                                            const struct rlhfsim_scenario_options *options,
                                            struct rlhfsim_diagnostics *diagnostics,
                                            struct rlhfsim_scenario *scenario) {
    size_t errors_before = rlhfsim_diagnostics_count(diagnostics);
    struct loading *loading = calloc(1, sizeof *loading);
    if (loading == NULL)
        return RLHFSIM_NO_MEMORY;
    loading->path = path;
    loading->options = options;
    loading->diagnostics = diagnostics;
    loading->draft.scenario = scenario;
    enum rlhfsim_status status = load(loading, errors_before);
    release(loading);
    base_diagnostics_sort(diagnostics, errors_before, path);
    base_diagnostics_truncate(diagnostics, errors_before, ERRORS_SHOWN);
    return base_diagnostics_lost(diagnostics) ? RLHFSIM_NO_MEMORY : status;
}

enum rlhfsim_status rlhfsim_scenario_load(const char *path,
                                          const struct rlhfsim_scenario_options *options,
                                          struct rlhfsim_diagnostics *diagnostics,
                                          struct rlhfsim_scenario **scenario) {
    struct base_locale locale;
    *scenario = NULL;
    struct rlhfsim_scenario *loaded = calloc(1, sizeof *loaded);
    if (loaded == NULL || !base_locale_enter(&locale)) {
        free(loaded);
        return RLHFSIM_NO_MEMORY;
    }
    enum rlhfsim_status status = load_in_c_locale(path, options, diagnostics, loaded);
    base_locale_leave(&locale);
    if (status == RLHFSIM_OK)
        *scenario = loaded;
    else
        rlhfsim_scenario_free(loaded);
    return status;
}

void rlhfsim_scenario_free(struct rlhfsim_scenario *scenario) {
    free(scenario);
}

const char *rlhfsim_scenario_name(const struct rlhfsim_scenario *scenario) {
    return scenario->name;
}
