/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rlhfsim program: options before the command are the program's own, the rest is the command's.
 */
#include "command.h"
#include "diagnose.h"
#include "nearest.h"
#include "spelling.h"
#include "standard_streams.h"

#include <rlhfsim/rlhfsim.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command *const commands[] = {
    &run_command,     &check_command,    &sweep_command,     &merge_command,
    &catalog_command, &validate_command, &calibrate_command, &compare_command};
#define COMMANDS (sizeof commands / sizeof commands[0])

static const char documentation[] =
    "Forecasts RLHF and RL post-training runs on virtual GPU clusters: time, money, memory."
    "\v";

/* The whole of what follows the options in --help: the commands, then examples. */
static char *commands_help(void) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return NULL;
    fputs("Commands:\n", stream);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(stream, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\nExamples:\n"
          "  rlhfsim check my-run.yaml            does it fit?\n"
          "  rlhfsim run my-run.yaml --out out    how long, how much, and why\n"
          "  rlhfsim catalog gpus                 what is known, with sources\n"
          "  rlhfsim run --help                   the options of a command\n"
          "\nExit status: 0 done, 1 the scenario does not fit, 2 bad usage or input, 3 this\n"
          "machine failed (files, memory), 130 interrupted.",
          stream);
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

static char *filter_help(int key, const char *text, void *input) {
    (void)input;
    return key == ARGP_KEY_HELP_POST_DOC ? commands_help() : (char *)text;
}

static const struct command *find_command(const char *name) {
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    }
    return NULL;
}

static int refuse_command(const char *name) {
    const char *best = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < COMMANDS; i++) {
        size_t distance = nearest_distance(name, commands[i]->name);
        if (distance < least) {
            least = distance;
            best = commands[i]->name;
        }
    }
    if (best != NULL && nearest_is_near(name, least))
        return diagnose_usage("rlhfsim", "unknown command '%s'; did you mean '%s'?", name, best);
    return diagnose_usage("rlhfsim", "unknown command '%s'", name);
}

/* The arguments from the command's name on, its name replaced by "rlhfsim NAME". */
static int dispatch(int argc, char **argv) {
    const struct command *command = find_command(argv[0]);
    if (command == NULL)
        return refuse_command(argv[0]);
    char program[64];
    snprintf(program, sizeof program, "rlhfsim %s", command->name);
    argv[0] = program;
    return command->run(argc, argv);
}

/* The first argument that is no option ends the program's own part. */
static error_t parse(int key, char *argument, struct argp_state *state) {
    int *command_index = state->input;
    (void)argument;
    if (key == ARGP_KEY_ARG) {
        *command_index = state->next - 1;
        state->next = state->argc;
        return 0;
    }
    if (key == 'h')
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
    if (key == ARGP_KEY_NO_ARGS) {
        diagnose_usage("rlhfsim", "a command is missing");
        return EINVAL;
    }
    return ARGP_ERR_UNKNOWN;
}

static void print_version(FILE *stream, struct argp_state *state) {
    (void)state;
    fprintf(stream, "rlhfsim %s\n", rlhfsim_version());
}

int main(int argc, char **argv) {
    static const struct argp_option table[] = {
        {.key = 'h', .flags = OPTION_HIDDEN, .doc = "Give this help list"}, {0}};
    static const struct argp argp = {.options = table,
                                     .parser = parse,
                                     .args_doc = "COMMAND [ARGUMENT...]",
                                     .doc = documentation,
                                     .help_filter = filter_help};
    static char name[] = "rlhfsim";
    int command_index = 0;
    standard_streams_guard();
    argp_err_exit_status = EXIT_USAGE;
    argp_program_version_hook = print_version;
    if (argc > 0)
        argv[0] = name;
    if (!spelling_check(&argp, argc, argv, true) ||
        argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &command_index) != 0)
        return EXIT_USAGE;
    return dispatch(argc - command_index, argv + command_index);
}
