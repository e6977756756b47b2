/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_OPTIONS_H
#define TOOLS_OPTIONS_H

/* The options that every command which reads a scenario has in common, and strict numbers. */

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct options {
    const char *program;  /* "rlhfsim run" */
    const char *scenario; /* the file; NULL until it is given */
    const char **sets;    /* KEY=VALUE, in order */
    size_t set_count;
    const char **catalogs; /* directories, in order */
    size_t catalog_count;
    const char *calibration; /* a file; NULL: none */
    uint64_t seed;
    bool has_seed, ignore_memory, quiet, json;
};

/* Starts empty, with room for what `argc` arguments can hold; false when memory is exhausted. */
bool options_start(struct options *options, int argc, const char *program);
void options_end(struct options *options);

/* The argp child of every such command, and that of those which print a summary; the input of both
 * is the struct options. */
extern const struct argp options_argp;
extern const struct argp options_json_argp;

/* The value of --catalog; EINVAL after saying that it is no directory. */
error_t options_add_catalog(struct options *options, const char *directory);

/* For a command's parser: takes SCENARIO, refuses a second one and a missing one. EINVAL after a
 * mistake that has been said, ARGP_ERR_UNKNOWN for keys that are none of its own. */
error_t options_scenario(int key, char *argument, struct options *options);

/* Parses argv with the command's parser, whose child is options_argp. False after a mistake. */
bool options_parse(const struct argp *argp, int argc, char **argv, void *input);

/* The value of `option` as digits only, from `low` to `high`; EINVAL after saying what is wrong. */
error_t options_number(const char *option, const char *argument, uint64_t low, uint64_t high,
                       uint64_t *number);

/* EINVAL after saying that the value is empty. */
error_t options_text(const char *option, const char *meaning, const char *argument,
                     const char **text);

#endif
