/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rlhfsim catalog: what is known, with sources. */
#include "catalog_path.h"
#include "catalog_view.h"
#include "command.h"
#include "diagnose.h"
#include "nearest.h"
#include "options.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

enum { KEY_CATALOG = 256, KEY_JSON };

struct request {
    struct options options;
    const char *kind, *name; /* NULL until given */
};

static const struct argp_option table[] = {
    {.name = "catalog",
     .key = KEY_CATALOG,
     .arg = "DIR",
     .doc = "Read catalogs of your own; their rows replace those of the same name (repeatable)"},
    {.name = "json", .key = KEY_JSON, .doc = "Print JSON in place of a table"},
    {.key = 'h', .flags = OPTION_HIDDEN, .doc = "Give this help list"},
    {0}};

static const char documentation[] =
    "Lists what the simulator knows, or shows one row with its units, sources and notes. KIND is "
    "gpus, nodes, models, prices, algorithms, weight-sync, frameworks, engines, lengths, keys (of "
    "a "
    "scenario, with their values, defaults and meaning), fabrics, weight-sync-rows, topologies, "
    "stores, kernels (laws of their times) or training (what software adds to it); without it the "
    "kinds are listed. A NAME is found without regard to case, spaces, - and _."
    "\v"
    "Examples:\n"
    "  rlhfsim catalog\n"
    "  rlhfsim catalog gpus\n"
    "  rlhfsim catalog nodes hgx-h100-8\n"
    "  rlhfsim catalog models meta-llama/Llama-2-7b-hf --json\n"
    "  rlhfsim catalog keys rollout\n"
    "\n"
    "Exit status: 0 done; 2 bad usage or input; 3 this machine failed (files, memory).";

static error_t take_word(struct request *request, const char *word) {
    if (request->kind == NULL)
        request->kind = word;
    else if (request->name == NULL)
        request->name = word;
    else {
        diagnose_usage(request->options.program, "one NAME at a time: '%s' is a second one", word);
        return EINVAL;
    }
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct request *request = state->input;
    switch (key) {
    case KEY_CATALOG:
        return options_add_catalog(&request->options, argument);
    case KEY_JSON:
        request->options.json = true;
        return 0;
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    case ARGP_KEY_ARG:
        return take_word(request, argument);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool find_kind(const char *word, enum rlhfsim_catalog_kind *kind) {
    for (int index = 0; index < RLHFSIM_CATALOG_KINDS; index++) {
        *kind = (enum rlhfsim_catalog_kind)index;
        if (strcmp(rlhfsim_catalog_kind_name(*kind), word) == 0)
            return true;
    }
    return false;
}

/* A word that is no kind may be the name of a row, or a mistyped kind. */
static int refuse_kind(const struct request *request, const struct rlhfsim_catalog *catalog) {
    const char *program = request->options.program, *best = NULL;
    size_t least = SIZE_MAX;
    for (int index = 0; index < RLHFSIM_CATALOG_KINDS; index++) {
        enum rlhfsim_catalog_kind kind = (enum rlhfsim_catalog_kind)index;
        const char *name = rlhfsim_catalog_find(catalog, kind, request->kind);
        size_t distance = nearest_distance(request->kind, rlhfsim_catalog_kind_name(kind));
        if (name != NULL)
            return diagnose_usage(program, "unknown kind '%s'; did you mean 'catalog %s %s'?",
                                  request->kind, rlhfsim_catalog_kind_name(kind), name);
        best = distance < least ? rlhfsim_catalog_kind_name(kind) : best;
        least = distance < least ? distance : least;
    }
    if (nearest_is_near(request->kind, least))
        return diagnose_usage(program, "unknown kind '%s'; did you mean '%s'?", request->kind,
                              best);
    return diagnose_usage(
        program,
        "unknown kind '%s', expected gpus, nodes, models, prices, algorithms, "
        "weight-sync, frameworks, engines, lengths, keys, fabrics, weight-sync-rows, topologies, "
        "stores, kernels or training",
        request->kind);
}

static int refuse_name(const struct request *request, const struct rlhfsim_catalog *catalog,
                       enum rlhfsim_catalog_kind kind) {
    const char *near = rlhfsim_catalog_nearest(catalog, kind, request->name);
    if (near != NULL)
        return diagnose_usage(request->options.program,
                              "unknown name '%s' in %s; did you mean "
                              "'%s'?",
                              request->name, request->kind, near);
    return diagnose_usage(request->options.program, "unknown name '%s' in %s", request->name,
                          request->kind);
}

/* ---- the command ----------------------------------------------------------------------------- */

static void show_list(const struct request *request, const struct rlhfsim_catalog *catalog,
                      enum rlhfsim_catalog_kind kind, const char *section) {
    if (request->options.json)
        catalog_json_list(stdout, catalog, kind, section);
    else
        catalog_view_list(stdout, catalog, kind, section);
}

/* Whether the name is a section of keys. */
static bool is_section(const struct rlhfsim_catalog *catalog, enum rlhfsim_catalog_kind kind,
                       const char *name) {
    const char *key = NULL;
    for (size_t i = 0;
         kind == RLHFSIM_CATALOG_KEYS && (key = rlhfsim_catalog_name(catalog, kind, i)) != NULL;
         i++)
        if (catalog_view_is_below(name, key))
            break;
    return key != NULL;
}

static int show_row(const struct request *request, const struct rlhfsim_catalog *catalog,
                    enum rlhfsim_catalog_kind kind) {
    const char *name = rlhfsim_catalog_find(catalog, kind, request->name);
    if (name == NULL && is_section(catalog, kind, request->name)) {
        show_list(request, catalog, kind, request->name);
        return 0;
    }
    if (name == NULL)
        return refuse_name(request, catalog, kind);
    if (request->options.json)
        catalog_json_row(stdout, catalog, kind, name);
    else
        catalog_view_row(stdout, catalog, kind, name);
    return 0;
}

static int show(const struct request *request, const struct rlhfsim_catalog *catalog) {
    enum rlhfsim_catalog_kind kind;
    if (request->kind == NULL && request->options.json)
        catalog_json_kinds(stdout, catalog);
    else if (request->kind == NULL)
        catalog_view_kinds(stdout, catalog);
    else if (!find_kind(request->kind, &kind))
        return refuse_kind(request, catalog);
    else if (request->name == NULL)
        show_list(request, catalog, kind, NULL);
    else
        return show_row(request, catalog, kind);
    return 0;
}

static int execute(const struct request *request) {
    char path[PATH_MAX];
    struct rlhfsim_catalog *catalog = NULL;
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    enum rlhfsim_status status =
        diagnostics == NULL ? RLHFSIM_NO_MEMORY : catalog_path_find(path, diagnostics);
    if (status == RLHFSIM_OK)
        status = rlhfsim_catalog_load(path, request->options.catalogs,
                                      request->options.catalog_count, diagnostics, &catalog);
    int exit_status = rlhfsim_status_exit(status);
    if (status == RLHFSIM_OK)
        exit_status = show(request, catalog);
    else
        diagnose_all(request->options.program, status, diagnostics);
    rlhfsim_catalog_free(catalog);
    rlhfsim_diagnostics_free(diagnostics);
    return exit_status;
}

static int catalog_main(int argc, char **argv) {
    static const struct argp argp = {table, parse, "[KIND [NAME]]", documentation, NULL,
                                     NULL,  NULL};
    struct request request = {0};
    if (!options_start(&request.options, argc, argv[0]))
        return rlhfsim_status_exit(RLHFSIM_NO_MEMORY);
    int status = options_parse(&argp, argc, argv, &request) ? execute(&request) : EXIT_USAGE;
    options_end(&request.options);
    return status;
}

const struct command catalog_command = {
    "catalog", "what is known: hardware, models, prices and their sources", catalog_main};
