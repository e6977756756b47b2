/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rlhfsim compare: measured steps against their forecast, phase by phase. */
#include "catalog_path.h"
#include "command.h"
#include "diagnose.h"
#include "gaps.h"
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEY_SET = 512, KEY_CATALOG, KEY_CALIBRATION };

struct compare {
    struct options options; /* of which sets, catalogs and calibration can be given */
    const char **logs;
    size_t log_count;
};

static const struct argp_option table[] = {
    {.name = "set",
     .key = KEY_SET,
     .arg = "KEY=VALUE",
     .doc = "Set one key of the scenario, such as rollout.max_new_tokens=1024 (repeatable)"},
    {.name = "catalog",
     .key = KEY_CATALOG,
     .arg = "DIR",
     .doc = "Read catalogs of your own; their rows replace those of the same name (repeatable)"},
    {.name = "calibration",
     .key = KEY_CALIBRATION,
     .arg = "FILE",
     .doc = "Multiply times by the factors of that file, which rlhfsim calibrate log makes"},
    {.key = 'h', .flags = OPTION_HIDDEN, .doc = "Give this help list"},
    {0}};

static const char documentation[] =
    "Holds the measured steps of the files LOG against the forecast of SCENARIO: each phase, the "
    "ratio of measured to forecast, and what a large gap most likely comes from. A LOG is verl's "
    "console output, or a CSV table: step, phase and seconds, or a row a step and a column a phase."
    "\v"
    "Examples:\n"
    "  rlhfsim compare my-run.yaml train.log\n"
    "  rlhfsim compare my-run.yaml steps.csv --calibration my-calibration.csv\n"
    "\n"
    "Exit status: 0 done, whatever the gaps; 2 bad usage or input; 3 this machine\n"
    "failed (files, memory).";

static error_t add_argument(struct compare *compare, const char *argument) {
    if (compare->options.scenario == NULL)
        compare->options.scenario = argument;
    else
        compare->logs[compare->log_count++] = argument;
    return 0;
}

static error_t check_complete(const struct compare *compare) {
    if (compare->log_count > 0)
        return 0;
    diagnose_usage(compare->options.program, compare->options.scenario == NULL
                                                 ? "the SCENARIO file is missing"
                                                 : "a LOG is missing");
    return EINVAL;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct compare *compare = state->input;
    switch (key) {
    case KEY_SET:
        compare->options.sets[compare->options.set_count++] = argument;
        return 0;
    case KEY_CATALOG:
        return options_add_catalog(&compare->options, argument);
    case KEY_CALIBRATION:
        return options_text("--calibration", "a file", argument, &compare->options.calibration);
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    case ARGP_KEY_ARG:
        return add_argument(compare, argument);
    case ARGP_KEY_END:
        return check_complete(compare);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void note(const struct rlhfsim_comparison *comparison) {
    struct page page;
    page_start(&page, stdout);
    gaps_table(&page, comparison, false);
    gaps_causes(&page, comparison);
    gaps_notes(&page, comparison);
}

static int execute(const struct compare *compare) {
    char catalog[PATH_MAX];
    struct rlhfsim_comparison *comparison = NULL;
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_scenario_options load = {.catalog_directory = catalog,
                                            .user_directories = compare->options.catalogs,
                                            .user_directory_count = compare->options.catalog_count,
                                            .sets = compare->options.sets,
                                            .set_count = compare->options.set_count,
                                            .calibration = compare->options.calibration};
    struct rlhfsim_comparison_options options = {.scenario = compare->options.scenario,
                                                 .load = &load,
                                                 .logs = compare->logs,
                                                 .log_count = compare->log_count};
    enum rlhfsim_status status =
        diagnostics == NULL ? RLHFSIM_NO_MEMORY : catalog_path_find(catalog, diagnostics);
    if (status == RLHFSIM_OK)
        status = rlhfsim_comparison_make(&options, diagnostics, &comparison);
    if (status == RLHFSIM_OK)
        note(comparison);
    else
        diagnose_all(compare->options.program, status, diagnostics);
    rlhfsim_comparison_free(comparison);
    rlhfsim_diagnostics_free(diagnostics);
    return rlhfsim_status_exit(status);
}

static int compare_main(int argc, char **argv) {
    static const struct argp argp = {
        .options = table, .parser = parse, .args_doc = "SCENARIO LOG...", .doc = documentation};
    struct compare compare = {0};
    int status = rlhfsim_status_exit(RLHFSIM_NO_MEMORY);
    if (!options_start(&compare.options, argc, argv[0]))
        return status;
    compare.logs = calloc((size_t)argc + 1, sizeof *compare.logs);
    if (compare.logs == NULL)
        diagnose_all(argv[0], RLHFSIM_NO_MEMORY, NULL);
    else
        status = options_parse(&argp, argc, argv, &compare) ? execute(&compare) : EXIT_USAGE;
    free(compare.logs);
    options_end(&compare.options);
    return status;
}

const struct command compare_command = {"compare", "hold measured steps against their forecast",
                                        compare_main};
