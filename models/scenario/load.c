/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a file to a scenario: text, tree, `--set`, values, catalogs, names, checks. Errors are found
 * by stages and sorted at the end, so that the user reads them from the top of the file down.
 */
#include "models/scenario/load.h"
#include "models/base/diagnostics.h"
#include "models/base/file.h"
#include "models/base/hash.h"
#include "models/base/locale.h"
#include "models/network/graph.h"
#include "models/scenario/canonical.h"
#include "models/scenario/catalog_load.h"
#include "models/scenario/draft.h"
#include "models/scenario/length_file.h"
#include "models/scenario/model_file.h"
#include "models/scenario/sets.h"

#include <stdlib.h>
#include <string.h>

/* More than this nobody reads; the number of the others is told. */
#define ERRORS_SHOWN 50

struct rlhfsim_source {
    const char *path;
    const struct rlhfsim_scenario_options *options;
    struct base_arena arena;
    struct base_file file;
    struct tree_node *root; /* the settings of the options applied; NULL while there is no tree */
    const struct catalog *catalog; /* `own`, or lent to scenario_load_sets */
    struct catalog *own;
    struct scenario_calibration calibration;
};

/* The status of two parts: what stops everything, then what the machine failed in, then mistakes.
 */
static enum rlhfsim_status worse(enum rlhfsim_status a, enum rlhfsim_status b) {
    return rlhfsim_status_exit(b) > rlhfsim_status_exit(a) ? b : a;
}

/* ---- what is read ---------------------------------------------------------------------------- */

static enum rlhfsim_status read_tree(struct rlhfsim_source *source,
                                     struct rlhfsim_diagnostics *diagnostics) {
    const struct rlhfsim_scenario_options *options = source->options;
    enum rlhfsim_status status = base_file_read(source->path, diagnostics, &source->file);
    if (status != RLHFSIM_OK)
        return status;
    struct tree_source text = {source->path, source->file.text, source->file.length, 1};
    status = tree_read(&source->arena, &text, diagnostics, &source->root);
    if (source->root == NULL)
        return status;
    const struct tree_entry *pipeline = tree_find(source->root, "pipeline");
    if (pipeline != NULL) {
        source->root = NULL;
        return tree_error(diagnostics, pipeline->place,
                          "this is a pipeline of scenarios, which is for rlhfsim run, or rlhfsim "
                          "check without searches; expected a scenario");
    }
    return worse(status, scenario_sets_apply(&source->arena, options->sets, options->set_count,
                                             diagnostics, &source->root));
}

static enum rlhfsim_status read_catalogs(struct rlhfsim_source *source,
                                         struct rlhfsim_diagnostics *diagnostics) {
    const struct rlhfsim_scenario_options *options = source->options;
    source->catalog = source->own = catalog_new();
    if (source->catalog == NULL)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status =
        catalog_load(source->own, options->catalog_directory, true, diagnostics);
    for (size_t i = 0; i < options->user_directory_count; i++)
        status = worse(status,
                       catalog_load(source->own, options->user_directories[i], false, diagnostics));
    if (options->calibration != NULL)
        status = worse(status, scenario_calibration_read(options->calibration, diagnostics,
                                                         &source->calibration));
    return status;
}

static void source_release(struct rlhfsim_source *source) {
    catalog_free(source->own);
    base_file_release(&source->file);
    base_arena_release(&source->arena);
}

/* ---- from a tree to a scenario --------------------------------------------------------------- */

static void resolve(struct scenario_draft *draft) {
    static void (*const stages[])(struct scenario_draft *) = {
        scenario_resolve_algorithm, scenario_resolve_framework, scenario_resolve_cluster,
        scenario_resolve_stores,    scenario_resolve_attention, scenario_resolve_software,
        scenario_resolve_memory,    scenario_resolve_models,    scenario_resolve_lengths,
        scenario_resolve_prices,    scenario_resolve_batches,   scenario_resolve_engine,
        scenario_resolve_placement, scenario_resolve_holding,   scenario_check_engine,
        scenario_check_layout,      scenario_check_zones,       scenario_check_background,
        scenario_check_known,       scenario_check_use,         scenario_check_memory,
        scenario_check_turns,       scenario_resolve_bands};
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
        stages[i](draft);
}

static void start_draft(const struct rlhfsim_source *source, const struct tree_node *root,
                        struct rlhfsim_diagnostics *diagnostics, struct rlhfsim_scenario *scenario,
                        struct scenario_draft *draft) {
    *draft = (struct scenario_draft){
        .scenario = scenario, .diagnostics = diagnostics, .path = source->path};
    (void)scenario_values_read(root, diagnostics, &draft->values);
    scenario_values_store(&draft->values, scenario);
}

/* Errors are counted rather than handed up through every stage. */
static enum rlhfsim_status finish_draft(const struct rlhfsim_source *source, size_t errors_before,
                                        struct scenario_draft *draft) {
    draft->catalog = source->catalog;
    draft->scenario->calibration = source->calibration;
    resolve(draft);
    if (source->options->seed != NULL)
        draft->scenario->seed = *source->options->seed;
    bool mistaken = rlhfsim_diagnostics_count(draft->diagnostics) > errors_before;
    return worse(mistaken ? RLHFSIM_INVALID : RLHFSIM_OK, draft->fatal);
}

static enum rlhfsim_status load(struct rlhfsim_source *source,
                                struct rlhfsim_diagnostics *diagnostics,
                                struct rlhfsim_scenario *scenario) {
    size_t errors_before = rlhfsim_diagnostics_count(diagnostics);
    enum rlhfsim_status status = read_tree(source, diagnostics);
    if (source->root == NULL || status == RLHFSIM_NO_MEMORY)
        return status;
    struct scenario_draft *draft = malloc(sizeof *draft);
    if (draft == NULL)
        return RLHFSIM_NO_MEMORY;
    start_draft(source, source->root, diagnostics, scenario, draft);
    enum rlhfsim_status catalogs = read_catalogs(source, diagnostics);
    status = worse(status,
                   catalogs == RLHFSIM_OK ? finish_draft(source, errors_before, draft) : catalogs);
    free(draft);
    return status;
}

/* As load, from what was read before; what the settings change is in an arena of its own. */
static enum rlhfsim_status make(const struct rlhfsim_source *source, const char *const *sets,
                                size_t set_count, struct rlhfsim_diagnostics *diagnostics,
                                struct rlhfsim_scenario *scenario) {
    size_t errors_before = rlhfsim_diagnostics_count(diagnostics);
    struct base_arena arena = {0};
    struct tree_node *root = source->root;
    struct scenario_draft *draft = malloc(sizeof *draft);
    if (draft == NULL)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status = scenario_sets_apply(&arena, sets, set_count, diagnostics, &root);
    if (status != RLHFSIM_NO_MEMORY) {
        start_draft(source, root, diagnostics, scenario, draft);
        status = worse(status, finish_draft(source, errors_before, draft));
    }
    base_arena_release(&arena);
    free(draft);
    return status;
}

/* ---- the public functions -------------------------------------------------------------------- */

/* Every public reader begins with the first of these and ends with the second. */
struct reading {
    struct base_locale locale;
    size_t errors_before;
};

static bool begin(struct reading *reading, const struct rlhfsim_diagnostics *diagnostics) {
    reading->errors_before = rlhfsim_diagnostics_count(diagnostics);
    return base_locale_enter(&reading->locale);
}

static enum rlhfsim_status end(struct reading *reading, const char *path,
                               struct rlhfsim_diagnostics *diagnostics,
                               enum rlhfsim_status status) {
    base_locale_leave(&reading->locale);
    base_diagnostics_sort(diagnostics, reading->errors_before, path);
    base_diagnostics_truncate(diagnostics, reading->errors_before, ERRORS_SHOWN);
    return base_diagnostics_lost(diagnostics) ? RLHFSIM_NO_MEMORY : status;
}

/* Hands a good scenario over and frees a bad one. */
static enum rlhfsim_status deliver(enum rlhfsim_status status, struct rlhfsim_scenario *loaded,
                                   struct rlhfsim_scenario **scenario) {
    if (status == RLHFSIM_OK)
        *scenario = loaded;
    else
        rlhfsim_scenario_free(loaded);
    return status;
}

enum rlhfsim_status rlhfsim_scenario_load(const char *path,
                                          const struct rlhfsim_scenario_options *options,
                                          struct rlhfsim_diagnostics *diagnostics,
                                          struct rlhfsim_scenario **scenario) {
    struct reading reading;
    struct rlhfsim_source source = {.path = path, .options = options};
    *scenario = NULL;
    struct rlhfsim_scenario *loaded = calloc(1, sizeof *loaded);
    if (loaded == NULL || !begin(&reading, diagnostics)) {
        free(loaded);
        return RLHFSIM_NO_MEMORY;
    }
    enum rlhfsim_status status = load(&source, diagnostics, loaded);
    source_release(&source);
    return deliver(end(&reading, path, diagnostics, status), loaded, scenario);
}

enum rlhfsim_status rlhfsim_source_read(const char *path,
                                        const struct rlhfsim_scenario_options *options,
                                        struct rlhfsim_diagnostics *diagnostics,
                                        struct rlhfsim_source **source) {
    struct reading reading;
    *source = NULL;
    struct rlhfsim_source *read = calloc(1, sizeof *read);
    if (read == NULL || !begin(&reading, diagnostics)) {
        free(read);
        return RLHFSIM_NO_MEMORY;
    }
    read->path = path;
    read->options = options;
    enum rlhfsim_status status = read_tree(read, diagnostics);
    if (status != RLHFSIM_NO_MEMORY)
        status = worse(status, read_catalogs(read, diagnostics));
    status = end(&reading, path, diagnostics, status);
    if (status == RLHFSIM_OK)
        *source = read;
    else
        rlhfsim_source_free(read);
    return status;
}

void rlhfsim_source_free(struct rlhfsim_source *source) {
    if (source == NULL)
        return;
    source_release(source);
    free(source);
}

enum rlhfsim_status rlhfsim_source_scenario(const struct rlhfsim_source *source,
                                            const char *const *sets, size_t set_count,
                                            struct rlhfsim_diagnostics *diagnostics,
                                            struct rlhfsim_scenario **scenario) {
    struct reading reading;
    *scenario = NULL;
    struct rlhfsim_scenario *made = calloc(1, sizeof *made);
    if (made == NULL || !begin(&reading, diagnostics)) {
        free(made);
        return RLHFSIM_NO_MEMORY;
    }
    enum rlhfsim_status status = make(source, sets, set_count, diagnostics, made);
    return deliver(end(&reading, source->path, diagnostics, status), made, scenario);
}

enum rlhfsim_status scenario_load_sets(const struct catalog *catalog, const char *name,
                                       const char *const *sets, size_t set_count,
                                       struct rlhfsim_diagnostics *diagnostics,
                                       struct rlhfsim_scenario **scenario) {
    static const char empty[] = "{}";
    static const struct rlhfsim_scenario_options no_options;
    struct rlhfsim_source source = {.path = name, .options = &no_options, .catalog = catalog};
    struct tree_source text = {name, empty, sizeof empty - 1, 1};
    *scenario = NULL;
    enum rlhfsim_status status = tree_read(&source.arena, &text, diagnostics, &source.root);
    if (status == RLHFSIM_OK)
        status = rlhfsim_source_scenario(&source, sets, set_count, diagnostics, scenario);
    base_arena_release(&source.arena);
    return status;
}

uint64_t rlhfsim_source_fingerprint(const struct rlhfsim_source *source, const char *const *texts,
                                    size_t count) {
    const struct rlhfsim_scenario_options *options = source->options;
    uint64_t hash = base_hash_text(BASE_HASH_START, rlhfsim_version());
    hash = base_hash_bytes(hash, source->file.text, source->file.length);
    hash = base_hash_number(hash, catalog_fingerprint(source->catalog));
    hash = scenario_model_files_hash(hash, source->path, source->catalog, source->root);
    hash = scenario_length_files_hash(hash, source->path, source->root);
    hash = scenario_calibration_hash(hash, &source->calibration);
    hash = base_hash_number(hash, options->set_count);
    for (size_t i = 0; i < options->set_count; i++)
        hash = base_hash_text(hash, options->sets[i]);
    hash = base_hash_number(hash, options->seed != NULL);
    if (options->seed != NULL)
        hash = base_hash_number(hash, *options->seed);
    for (size_t i = 0; i < count; i++)
        hash = base_hash_text(hash, texts[i]);
    return hash;
}

static bool is_model_key(const char *key) {
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        if (scenario_schema_find(key) ==
            scenario_model_key((enum algorithm_role)role, SCENARIO_MODEL_MODEL))
            return true;
    return false;
}

uint64_t rlhfsim_source_value_fingerprint(const struct rlhfsim_source *source, const char *key,
                                          const char *value) {
    if (!is_model_key(key) && !scenario_length_file_named(key))
        return 0;
    uint64_t hash = BASE_HASH_START;
    struct base_arena arena = {0};
    struct tree_node *node = NULL;
    struct tree_source text = {scenario_set_file, value, strlen(value), 1};
    struct rlhfsim_diagnostics *unseen = rlhfsim_diagnostics_new();
    if (unseen != NULL && tree_read(&arena, &text, unseen, &node) == RLHFSIM_OK)
        hash = is_model_key(key)
                   ? scenario_model_file_hash(hash, source->path, source->catalog, node)
                   : scenario_length_file_hash(hash, source->path, key, node);
    rlhfsim_diagnostics_free(unseen);
    base_arena_release(&arena);
    return hash == BASE_HASH_START ? 0 : hash;
}

char *rlhfsim_source_canonical_value(const struct rlhfsim_source *source, const char *key,
                                     const char *value) {
    struct base_locale locale;
    if (!base_locale_enter(&locale))
        return NULL;
    char *form = scenario_canonical(source->catalog, key, value);
    base_locale_leave(&locale);
    return form;
}

void rlhfsim_scenario_free(struct rlhfsim_scenario *scenario) {
    if (scenario == NULL)
        return;
    scenario_release_lengths(scenario);
    network_graph_free(scenario->cluster.topology.graph);
    free(scenario);
}

const char *rlhfsim_scenario_name(const struct rlhfsim_scenario *scenario) {
    return scenario->name;
}
