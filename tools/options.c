/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "options.h"

#include "catalog_path.h"
#include "diagnose.h"
#include "spelling.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_SET = 256,
    KEY_SEED,
    KEY_CATALOG,
    KEY_CALIBRATION,
    KEY_IGNORE_MEMORY,
    KEY_QUIET,
    KEY_JSON
};

static const struct argp_option table[] = {
    {.name = "set",
     .key = KEY_SET,
     .arg = "KEY=VALUE",
     .doc = "Set one key of the scenario, such as rollout.max_new_tokens=1024 (repeatable)"},
    {.name = "seed", .key = KEY_SEED, .arg = "N", .doc = "Replace the scenario's seed"},
    {.name = "catalog",
     .key = KEY_CATALOG,
     .arg = "DIR",
     .doc = "Read catalogs of your own; their rows replace those of the same name (repeatable)"},
    {.name = "calibration",
     .key = KEY_CALIBRATION,
     .arg = "FILE",
     .doc = "Multiply times by the factors of that file, which rlhfsim calibrate log makes"},
    {.name = "ignore-memory",
     .key = KEY_IGNORE_MEMORY,
     .doc = "Go on although the memory does not suffice"},
    {.name = "quiet", .key = KEY_QUIET, .doc = "Show no progress"},
    {.key = 'h', .flags = OPTION_HIDDEN, .doc = "Give this help list"},
    {0}};

static const struct argp_option json_table[] = {
    {.name = "json", .key = KEY_JSON, .doc = "Print summary.json in place of the note"}, {0}};

bool options_start(struct options *options, int argc, const char *program) {
    size_t room = (size_t)argc + 1;
    *options = (struct options){.program = program};
    options->sets = calloc(room, sizeof *options->sets);
    options->catalogs = calloc(room, sizeof *options->catalogs);
    if (options->sets != NULL && options->catalogs != NULL)
        return true;
    diagnose_all(program, RLHFSIM_NO_MEMORY, NULL);
    options_end(options);
    return false;
}

void options_end(struct options *options) {
    free(options->sets);
    free(options->catalogs);
}

/* Decimal digits, no sign, no leading zero. */
static bool read_number(const char *text, uint64_t *number) {
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || text[digits] != '\0' || (text[0] == '0' && digits > 1))
        return false;
    errno = 0;
    *number = strtoull(text, NULL, 10);
    return errno == 0;
}

error_t options_number(const char *option, const char *argument, uint64_t low, uint64_t high,
                       uint64_t *number) {
    uint64_t value;
    if (read_number(argument, &value) && value >= low && value <= high) {
        *number = value;
        return 0;
    }
    diagnose_value(option, "expected a whole number from %" PRIu64 " to %" PRIu64 ", got '%s'", low,
                   high, argument);
    return EINVAL;
}

error_t options_text(const char *option, const char *meaning, const char *argument,
                     const char **text) {
    *text = argument;
    if (argument[0] != '\0')
        return 0;
    diagnose_value(option, "expected %s, got nothing", meaning);
    return EINVAL;
}

error_t options_add_catalog(struct options *options, const char *directory) {
    if (!catalog_path_is_directory(directory)) {
        diagnose_value("--catalog", "expected a directory of catalogs, got '%s'", directory);
        return EINVAL;
    }
    options->catalogs[options->catalog_count++] = directory;
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct options *options = state->input;
    switch (key) {
    case KEY_SET:
        options->sets[options->set_count++] = argument;
        return 0;
    case KEY_SEED:
        options->has_seed = true;
        return options_number("--seed", argument, 0, INT64_MAX, &options->seed);
    case KEY_CATALOG:
        return options_add_catalog(options, argument);
    case KEY_CALIBRATION:
        return options_text("--calibration", "a file", argument, &options->calibration);
    case KEY_IGNORE_MEMORY:
        options->ignore_memory = true;
        return 0;
    case KEY_QUIET:
        options->quiet = true;
        return 0;
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_json(int key, char *argument, struct argp_state *state) {
    struct options *options = state->input;
    (void)argument;
    if (key != KEY_JSON)
        return ARGP_ERR_UNKNOWN;
    options->json = true;
    return 0;
}

const struct argp options_argp = {.options = table, .parser = parse};
const struct argp options_json_argp = {.options = json_table, .parser = parse_json};

error_t options_scenario(int key, char *argument, struct options *options) {
    if (key == ARGP_KEY_ARG && options->scenario == NULL) {
        options->scenario = argument;
        return 0;
    }
    if (key == ARGP_KEY_ARG) {
        diagnose_usage(options->program, "one SCENARIO at a time: '%s' is a second one", argument);
        return EINVAL;
    }
    if (key == ARGP_KEY_NO_ARGS) {
        diagnose_usage(options->program, "the SCENARIO file is missing");
        return EINVAL;
    }
    return ARGP_ERR_UNKNOWN;
}

bool options_parse(const struct argp *argp, int argc, char **argv, void *input) {
    return spelling_check(argp, argc, argv, false) &&
           argp_parse(argp, argc, argv, 0, NULL, input) == 0;
}
