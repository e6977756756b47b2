/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

/*
 * A subcommand is one file that ends in one const table; main.c lists the tables. argv[0] is the
 * name to speak under, such as "rlhfsim run".
 */

struct command {
    const char *name;
    const char *summary;               /* one line of `rlhfsim --help` */
    int (*run)(int argc, char **argv); /* gives the exit status */
};

extern const struct command run_command;
extern const struct command check_command;
extern const struct command sweep_command;
extern const struct command merge_command;
extern const struct command catalog_command;
extern const struct command validate_command;
extern const struct command calibrate_command;
extern const struct command compare_command;
extern const struct command sweep_command;
extern const struct command merge_command;

#endif
